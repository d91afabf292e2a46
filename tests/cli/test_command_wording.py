"""Messages of the library in the terms of a command: marked words are replaced by options."""

import ast
import copy
import pickle
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from refusals import refusal

import dpjax
from dpjax.cli._audit_options import TABLE
from dpjax.cli._table import options_of
from dpjax.core import validate
from dpjax.core.wording import (
    CONTINUOUS,
    DISCRETE,
    EVENTS,
    NO_WORKERS,
    ON_HOST,
    ONE_BY_ONE,
    OUTCOMES,
    BadType,
    BadValue,
    Sentence,
    in_options,
    term,
)
from dpjax.mechanisms import Laplace

OPTIONS = options_of(TABLE)


@pytest.mark.parametrize(
    ("refused", "text", "said"),
    [
        (
            lambda: dpjax.Local(num_samples=9, num_confirm=8),
            "num_confirm (N) must be larger than num_samples (n), but was 8 <= 9: ",
            "--num-confirm (N) must be larger than --num-samples (n), but was 8 <= 9: ",
        ),
        (
            lambda: dpjax.audit(
                dpjax.Recorded(np.arange(50.0), np.arange(1, 51.0)),
                method=dpjax.Local(),
                notion=dpjax.Epsilon(0.1),
            ),
            "delta must be 0 for a density estimate, but was 0.1: use method=Events(), ",
            "--delta must be 0 for a density estimate, but was 0.1: use --method events, ",
        ),
        (
            lambda: dpjax.Recorded(np.zeros(9), np.ones(9), bits="x"),
            "bits ",
            "--bits ",
        ),
        (
            lambda: dpjax.Events(num_draws=9, num_confirm=9),
            "num_draws is the total number of draws, so it cannot be combined with num_confirm.",
            "--num-draws is the total number of draws, so it cannot be combined with --num-con",
        ),
        (
            lambda: dpjax.audit(Laplace(), method=dpjax.Local(), notion=dpjax.Gdp()),
            "notion must be dpjax.Epsilon() for a density estimate, but was Gdp(): use method=",
            "--notion must be epsilon for a density estimate, but was --notion gdp: use",
        ),
        (
            lambda: dpjax.audit(Laplace(), method=dpjax.Sequential(), notion=dpjax.TradeOff()),
            "notion must be dpjax.Epsilon(delta), Gdp() or TotalVariation() for sequential audits, "
            "but was TradeOff(): use method=Events().",
            "--notion must be epsilon, gdp or total-variation for sequential audits, but was "
            "--notion trade-off: use --method events.",
        ),
        (
            lambda: dpjax.resume(dpjax.audit(Laplace(), method=dpjax.Events(90, 90))),
            "result must come from an audit with dpjax.Sequential(); other audits cannot be",
            "--resume must come from an audit with --method sequential; other audits cannot be",
        ),
        (lambda: dpjax.HostMechanism(3), "function must be callable", "--host must be callable"),
        (
            lambda: validate.increasing(1.0, 0.0, name="input_interval"),
            "input_interval must have low < high",
            "--input-width must have low < high",
        ),
        (
            lambda: validate.one_of(("a", "b"), kernel="num_samples"),
            "kernel 'num_samples' is not known; known: a, b.",
            "--kernel 'num_samples' is not known; known: a, b.",
        ),
    ],
)
def test_errors_name_their_arguments(refused, text, said):
    error = refusal(refused)
    assert str(error).startswith(text)
    assert in_options(error, OPTIONS).startswith(said)
    # Errors from the processes of a pool are pickled.
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and in_options(again, OPTIONS) == in_options(error, OPTIONS)


@pytest.mark.parametrize(
    ("marked", "said"),
    [
        (f"{term('Local', '--method local')} cannot; use "
         f"{term('dpjax.Histogram()', '--method histogram')}.",
         "--method local cannot; use --method histogram."),
        (f"record its outputs as {term('Recorded(x, y)', '--samples X Y')}.",
         "record its outputs as --samples X Y."),
        (f"use {EVENTS}, or wrap it as {ON_HOST}.", "use --method events, or wrap it as --host."),
        (f"with {ONE_BY_ONE} it is; or use {NO_WORKERS}.",
         "with --one-by-one it is; or use --workers 0."),
        (f"with {OUTCOMES} it counts", "with --special 'outcomes' it counts"),
        (f"say {DISCRETE} or {CONTINUOUS}", "say --discrete or --continuous"),
        (f"{term('pairs, inputs and input_interval', '--pairs and --input-width')} are not",
         "--pairs and --input-width are not"),
        (f"{term('lipschitz')}, {term('input_lipschitz')} and {term('width')} are for",
         "--lipschitz, --input-lipschitz and width are for"),
    ],
)  # fmt: skip
def test_marked_words_become_options(marked, said):
    sentence = Sentence(marked)
    assert sentence.in_options(OPTIONS) == said
    assert not {"\x00", "\x01", "\x02"} & {*sentence}
    assert type(copy.deepcopy(sentence)) is str and copy.deepcopy(sentence) == sentence
    # Commands without these options and f-strings leave the words unchanged.
    assert sentence.in_options({}) == sentence == f"{sentence}"


@pytest.mark.parametrize(
    "text",
    [
        "the command 'prog {database} {num_samples}' printed nothing; it has no {num_samples}.",
        "it must take the arguments (database, num_samples), and none besides.",
        "database and neighbor are equal in all pairs, and the region is a claim of its own.",
        "plot file must end in one of .png, .svg.",
        "samples file data/num_samples/x.npy does not exist.",
        "laplace(epsilon=1): the probability is 0.5.",
        "--num-samples is for NAME.",
        "the label 'num_samples' is not a number.",
        "Localised outputs.",
    ],
)
def test_all_else_stays(text):
    assert in_options(ValueError(text), OPTIONS) == in_options(text, OPTIONS) == text
    assert in_options(BadValue(f"x {text}"), OPTIONS) == f"x {text}"


def test_only_the_first_word_is_the_argument():
    assert in_options(BadType("key must be a key."), OPTIONS) == "--key must be a key."
    assert in_options(BadType("key, or so"), OPTIONS) == "--key, or so"
    assert in_options(BadValue("keys must be few."), OPTIONS) == "keys must be few."
    assert in_options(BadValue(f"{EVENTS} key"), OPTIONS) == "--method events key"


def test_a_marked_word_is_never_outside_of_a_sentence():
    """Every f-string with a marked word in the package is passed to one of five classes."""
    marks = {"term", "EVENTS", "DISCRETE", "CONTINUOUS", "ON_HOST", "ONE_BY_ONE", "NO_WORKERS",
             "OUTCOMES"}  # fmt: skip
    places = 0
    for path in Path(dpjax.__file__).parent.rglob("*.py"):
        text = path.read_text()
        if not any(mark in text for mark in marks):
            continue
        tree = ast.parse(text)
        inside = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and getattr(node.func, "id", "")
            in ("BadValue", "BadType", "TooShort", "Sentence", "Doubt")
            for inner in ast.walk(node)
        }
        parents = {id(c): node for node in ast.walk(tree) for c in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in marks:
                at = parents[id(node)]
                while not isinstance(at, ast.JoinedStr | ast.Module):
                    at = parents[id(at)]
                if isinstance(at, ast.JoinedStr):
                    places += 1
                    kept = isinstance(parents[id(at)], ast.IfExp)  # Part of a sentence.
                    assert id(at) in inside or kept, f"{path}:{node.lineno}"
    assert places > 30


def test_options_are_written_as_they_are_typed():
    assert OPTIONS["as_json"] == "--json" and OPTIONS["discrete"] == "--discrete"
    assert OPTIONS["num_samples"] == "--num-samples" and "mechanism" not in OPTIONS
    assert OPTIONS["batched"] == "--one-by-one" and OPTIONS["input_interval"] == "--input-width"


ROOMS = {
    "audit": "core databases mechanisms partitions notions sources results methods",
    "plan": "inference",
    "empirical": "empirical",
}
"""Subpackages whose arguments are options, by command."""


def test_refusals_of_an_option_are_marked():
    """A plain error that begins with the name of an option would use the terms of Python."""
    plain = []
    for command, rooms in ROOMS.items():
        options = options_of(import_module(f"dpjax.cli._{command}").TABLE)
        for room in rooms.split():
            for path in (Path(dpjax.__file__).parent / room).rglob("*.py"):
                for node in ast.walk(ast.parse(path.read_text())):
                    if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
                        continue
                    if getattr(node.exc.func, "id", "") not in ("ValueError", "TypeError"):
                        continue
                    text = node.exc.args[0]
                    text = text.values[0] if isinstance(text, ast.JoinedStr) else text
                    said = str(text.value) if isinstance(text, ast.Constant) else ""
                    name, _, rest = said.partition(" ")
                    if name.rstrip(",") in options and ("_" in name or rest.startswith("must ")):
                        plain.append(f"{path.name}:{node.lineno}: {said}")
    assert not plain
