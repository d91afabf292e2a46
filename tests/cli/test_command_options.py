"""The table of `dpjax audit`: its words are Python's, and one rule refuses what does not fit."""

import ast
import dataclasses
import inspect
import itertools
import re
from pathlib import Path

import pytest

import dpjax
from dpjax.cli import _app
from dpjax.cli._audit_options import TABLE, source_of
from dpjax.cli._method_options import METHODS, SOURCES

OTHER_WORDS = {"name", "batched", "batch_size", "inputs", "input_interval"}
"""Arguments in Python that a command line cannot write, or writes in another way."""

SUBJECTS = {
    "mechanism": (),
    "function": (inspect.signature(dpjax.from_function).parameters["num_outcomes"],),
    "host": dataclasses.fields(dpjax.HostMechanism)[1:],
    "command": dataclasses.fields(dpjax.CommandMechanism)[1:],
    "samples": dataclasses.fields(dpjax.Recorded)[2:],
}
OBJECTS = {
    "events": (dpjax.Events, dpjax.Epsilon),
    "local": (dpjax.Local,),
    "histogram": (dpjax.Histogram,),
}


def owned(owner):
    return {name for name, row in TABLE.items() if owner in row.owners}


@pytest.mark.parametrize("method", METHODS)
def test_options_of_a_method_are_its_arguments(method):
    fields = {f.name for kind in OBJECTS[method] for f in dataclasses.fields(kind)} - OTHER_WORDS
    assert fields - {"num_samples"} <= owned(method)
    assert owned(method) - fields <= {"bits", "blocks", "plot", "input_width"}


@pytest.mark.parametrize("source", SOURCES)
def test_options_of_a_source_are_its_arguments(source):
    fields = {field.name for field in SUBJECTS[source]} - OTHER_WORDS
    audits = {"pairs", "num_samples", "num_confirm", "num_draws"}
    more = {"mechanism": {"epsilon", "param"}, "samples": {"column"}, "host": {"one_by_one"}}
    assert fields <= owned(source)
    assert owned(source) - fields - audits <= more.get(source, set())
    assert (audits <= owned(source)) == (source != "samples")


def test_defaults_that_are_said_are_those_of_python():
    kinds = (dpjax.Events, dpjax.Local, dpjax.Epsilon, dpjax.Histogram, dpjax.Recorded)
    known = {f.name: f.default for kind in kinds for f in dataclasses.fields(kind)}
    known |= {f.name: f.default for f in dataclasses.fields(dpjax.HostMechanism)}
    known |= {name: p.default for name, p in inspect.signature(dpjax.audit).parameters.items()}
    said = 0
    for name, row in TABLE.items():
        for text in re.findall(r"Default: (\S+)\.$", row.info.help):
            said += 1
            assert text == {"bandwidth": "scott"}.get(name, str(known[name]).removesuffix(".0"))
    assert said >= 12


def test_every_option_is_refused_where_it_is_foreign():
    """All sources with all methods; what is foreign follows from the rows."""
    for source, method, name in itertools.product(SOURCES, METHODS, TABLE):
        if name in SOURCES:
            continue
        owners = TABLE[name].owners
        fits = all(
            ours in owners or not any(owner in known for owner in owners)
            for known, ours in ((SOURCES, source), (METHODS, method))
        )
        written = {source: "something", "method": method, name: method}
        if fits:
            assert source_of(written) == source
        else:
            with pytest.raises(ValueError, match=r"is for .*, not for ") as error:
                source_of(written)
            assert str(error.value).startswith("--" + name.replace("_", "-"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("laplace", "--lipschitz", 1), "--lipschitz is for --method histogram, not for --method"),
        (("laplace", "--order", 2), "--order is for --method histogram"),
        (("laplace", "--bandwidth", "scott"), "--bandwidth is for --method local, not for"),
        (("laplace", "--method", "local", "--delta", 0.1), "--delta is for --method events"),
        (("laplace", "--method", "histogram", "--plot", "x.png"), "--plot is for --method events"),
        (("laplace", "--method", "histogram", "--num-confirm", 9), "--num-confirm is for --method"),
        (("laplace", "--continuous"), "--discrete is for --samples, not for NAME"),
        (("laplace", "--one-by-one"), "--one-by-one is for --host, not for NAME"),
        (("laplace", "--workers", 2), "--workers is for --host and --command, not for NAME"),
        (("laplace", "--num-outcomes", 2), "--num-outcomes is for --function, not for NAME"),
        (("--function", "math:sin", "--epsilon", 1), "--epsilon is for NAME, not for --function"),
        (("--host", "math:sin", "--timeout", 1), "--timeout is for --command, not for --host"),
        (("--command", "a", "--one-by-one"), "--one-by-one is for --host, not for --command"),
        (("--samples", "x.npy", "y.npy", "--num-samples", 9), "--command, not for --samples"),
        (
            ("--samples", "x.npy", "y.npy", "--pairs", "p"),
            "--pairs is for NAME, --function, --host",
        ),
    ],
)
def test_foreign_options_on_the_command_line(refused, arguments, sentence):
    assert sentence in refused("audit", *arguments)


def test_the_help_shows_the_options_of_each_method_together(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    done = run("audit", "--help")
    panels = dict(re.findall(r"╭─ Options of (.+?) ─+╮\n(.*?)╰", done.output, re.DOTALL))
    assert done.exit_code == 0 and "--guarantee" not in done.output
    assert (
        "--lipschitz" in panels["--method histogram"] and "--bandwidth" in panels["--method local"]
    )
    assert "--timeout" in panels["--command"] and "--column" in panels["--samples"]
    assert "--region" in panels["--method events and --method local"]
    # What rich would take for its own marks.
    assert "JSON such as '[[0, 1]]'" in panels["NAME, --function, --host and --command"]


def test_no_function_of_the_command_line_has_many_arguments():
    for path in Path(_app.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                arguments = node.args
                count = len(arguments.posonlyargs + arguments.args + arguments.kwonlyargs)
                assert count <= 10, f"{path.name}:{node.lineno}"
