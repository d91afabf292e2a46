"""Typical first calls of `audit` by new users, and the suggestions in the error messages."""

from dataclasses import fields
from functools import partial
from inspect import signature
from pathlib import Path

import jax
import numpy as np
import pytest
from refusals import refusal

import dpjax
from dpjax.cli._audit_options import TABLE
from dpjax.cli._table import options_of
from dpjax.core.wording import in_options
from dpjax.databases import Pairs
from dpjax.empirical import panel_from_table
from dpjax.mechanisms import Laplace
from dpjax.methods import METHODS
from dpjax.notions import NOTIONS
from dpjax.report._files import check_report_path
from dpjax.sources import SOURCES
from dpjax.sweeps import Entry, Store, SweepSpec

ONE = [(0.0, 1.0)]
OPTIONS = options_of(TABLE)


def release(key, count):
    return count + jax.random.laplace(key)


def batch(database, num_samples):
    return np.random.default_rng().laplace(database, 1.0, num_samples)


def one(database):
    return np.random.laplace(database)


def seeded(database, seed):
    return np.random.default_rng(seed).laplace(database)


def unknown(left, right):
    return np.asarray(left) + np.asarray(right)


def counted(database, count):
    return np.random.default_rng().laplace(database, 1.0, count)


def scaled(database, epsilon):
    return np.random.laplace(database, 1 / epsilon)


def scaled_and_seeded(database, epsilon, delta, rng):
    return rng.laplace(database, 1 / (epsilon + delta))


class Net(type("Module", (), {"__module__": "torch.nn.modules.module"})):
    """Class that resembles a PyTorch model, which is recognized even without PyTorch."""

    def __call__(self, *batch):
        return batch


@pytest.mark.parametrize("given", [3, None, [1], {}])
def test_what_is_no_path(given, tmp_path):
    calls = {
        "path": [dpjax.AuditResult.from_file, SweepSpec.from_file],
        "folder": [Store.open, lambda folder: Store.create(folder, None)],
        "result": [dpjax.rerun, lambda result: dpjax.resume(result, release)],
        "where": [dpjax.Recording] if given is None or given == 3 else [],
    }
    for name, readers in calls.items():
        for reader in readers:
            with pytest.raises(TypeError, match=rf"^{name} must be .* path.*, but was "):
                reader(given)


@pytest.mark.parametrize("kind", [str, Path])
def test_no_path_contains_a_null_character(kind):
    """The operating system refuses such paths, but names neither the argument nor the path."""
    spec = SweepSpec("s", (Entry(Laplace()),))
    calls = {
        "state": lambda path: dpjax.watch([], claim=1.0, state=path),
        "samples": dpjax.Recording,
        "each file": lambda path: dpjax.Recording([path]),
        "path": dpjax.AuditResult.from_file,
        "folder": lambda path: Store.create(path, spec),
        "report file": check_report_path,
        "table": panel_from_table,
    }
    for name, reader in calls.items():
        message = rf"^{name} must be a path without null characters, but was 'a.x00b.csv'"
        with pytest.raises(ValueError, match=message):
            reader(kind("a\0b.csv"))


def test_files_in_a_list_are_paths():
    with pytest.raises(TypeError, match=r"^each file must be a string or a path, but was 3 \(int"):
        dpjax.Recording(["x.csv", 3])
    with pytest.raises(ValueError, match=r"^samples must name at least one file"):
        dpjax.Recording(iter(()))


@pytest.mark.parametrize("name", ["x.csv", "data/x", "module.function"])
def test_a_name_of_a_file_or_a_function_is_no_mechanism(name):
    with pytest.raises(TypeError, match=r": pass a function itself .* dpjax\.Recorded\(dpjax\.Rec"):
        dpjax.audit(name)


@pytest.mark.parametrize("given", [(ONE, 1.0), (1.0, ONE), (ONE, None, 1.0)])
def test_arguments_without_names_are_named(given):
    with pytest.raises(TypeError, match=r"only subject and pairs by position.* such as claim=1.0"):
        dpjax.audit(release, *given)


@pytest.mark.parametrize(
    ("function", "python", "command"),
    [
        (counted, "dpjax.HostMechanism(counted)", "--host"),
        (unknown, "dpjax.HostMechanism", "--host"),
        (np.random.default_rng().laplace, "dpjax.HostMechanism", "--host"),
    ],
)
def test_functions_of_numpy_are_told_how_they_are_audited(function, python, command):
    error = refusal(dpjax.audit, function, ONE)
    assert f"as {python}." in str(error)
    assert f"as {command}" in in_options(error, OPTIONS)


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (scaled, "functools.partial(scaled, epsilon=...)."),
        (scaled_and_seeded, "functools.partial(scaled_and_seeded, epsilon=..., delta=...)."),
    ],
)
def test_functions_with_further_parameters_are_told_to_bind_them(function, advice):
    assert str(refusal(dpjax.audit, function, ONE)).endswith(advice)
    few = dpjax.Events(300, 500)
    bound = partial(function, **dict.fromkeys([*signature(function).parameters][1:-1], 0.5))
    bound = bound if function is scaled_and_seeded else partial(function, epsilon=0.5)
    assert dpjax.audit(bound, ONE, method=few).num_confirm == 500


def test_the_form_that_is_named_works():
    """Each suggestion works exactly as written."""
    subject = dpjax.HostMechanism(counted)
    assert dpjax.audit(subject, ONE, method=dpjax.Events(300, 500)).num_confirm == 500


def test_a_jax_function_that_fails_gets_no_advice_on_numpy():
    def fails(key, count):
        raise RuntimeError("its own fault")

    assert str(refusal(dpjax.audit, fails, ONE)).endswith("RuntimeError: its own fault")


def test_noise_of_numpy_in_a_jax_function():
    error = refusal(dpjax.audit, lambda key, x: x + np.random.normal(), ONE)
    assert "from the key with jax.random" in str(error) and "as --host." in in_options(
        error, OPTIONS
    )


def test_data_and_models_are_told_where_they_go():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [30.0, 40.0], "count": [1.0, 2.0]})
    for data in (frame, np.zeros(5), [1.0, 2.0]):
        said = str(refusal(dpjax.audit, data, ONE))
        assert "dpjax.Recorded(x, y)" in said and "pairs=[(database, neighbor)]" in said
    said = str(refusal(dpjax.audit, Net(), ONE))
    assert "the torch module Net" in said
    assert "dpjax.HostMechanism" in said and "dpjax.OneRun(scores, included)" in said


@pytest.mark.parametrize(
    "pair", [(0.0, 1.0), [0.0, 1.0], ([0.0, 1, 2], [0.0, 1, 3]), (np.zeros(3), np.ones(3))]
)
@pytest.mark.parametrize("subject", [release, dpjax.HostMechanism(batch)])
def test_a_bare_pair_is_shown_the_list_around_it(subject, pair):
    error = refusal(dpjax.audit, subject, pair)
    assert str(error).endswith("; one pair is written as [(database, neighbor)].")


def test_a_tuple_that_is_one_pair_or_two_is_refused():
    """As two pairs, two rows of two numbers would compare 0 with 1 and 0 with 2."""
    for row in (list, np.asarray, jax.numpy.asarray):
        error = refusal(dpjax.audit, release, (row([0.0, 1.0]), row([0.0, 2.0])))
        assert "may mean one pair or two" in str(error)
    # A list of tuples or a single array is unambiguous.
    for rows in ([(0.0, 1.0), (0.0, 2.0)], ((0.0, 1.0), (0.0, 2.0)), np.array([[0.0, 1], [0, 2]])):
        assert Pairs.of(rows).neighbor.tolist() == [1.0, 2.0]
    assert Pairs.of([([0.0, 1.0], [0.0, 2.0])]).neighbor.tolist() == [[0.0, 2.0]]


def test_frames_of_numbers_and_labels_are_recorded_outputs():
    """Rows are outputs with numbers and labels, like dicts, and keep the column names."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    columns = [
        {"count": rng.laplace(side, 1.0, 2000), "status": rng.choice(["ok", "late"], 2000)}
        for side in (0.0, 1.0)
    ]
    found, rows = (
        dpjax.audit(dpjax.Recorded(*map(form, columns)), claim=0.5)
        for form in (
            pandas.DataFrame,
            lambda c: [{"count": n, "status": str(s)} for n, s in zip(*c.values(), strict=True)],
        )
    )
    assert found.lower_bound == rows.lower_bound > 0.5
    assert "'status': 'ok'" in found.witness.output


def test_two_frames_are_no_rows_of_names():
    """Iterating over a frame would yield the names of its columns."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [30.0, 40.0], "count": [1.0, 2.0]})
    mechanism = dpjax.HostMechanism(lambda rows, n: np.zeros(n))
    said = str(refusal(dpjax.audit, mechanism, (frame, frame[:1])))
    assert "entry 0 was a DataFrame; one pair is written as [(database, neighbor)]." in said
    assert str(refusal(dpjax.audit, mechanism, frame)).endswith("but was DataFrame.")
    result = dpjax.audit(mechanism, [(frame, frame[:1])], method=dpjax.Events(300, 500))
    assert result.lower_bound == 0


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("epsilon", "write claim=EPSILON."),
        ("delta", "write notion=dpjax.Epsilon(delta=...)."),
        ("order", "write method=dpjax.Histogram(order=...), or notion=dpjax.Renyi(order=...)."),
        ("gdp", "write notion=dpjax.Gdp(), claim=LEVEL."),
        ("seconds", "write method=dpjax.Sequential(seconds=...)."),
        ("num_samples", "write method=dpjax.Events(num_samples=...) or "),
        ("time_limit", "write dpjax.HostMechanism(..., time_limit=...) or "),
        ("batched", "write dpjax.HostMechanism(..., batched=...) as the subject."),
        ("seed", "write key=INTEGER."),
        ("confidense", "did you mean 'confidence'?"),
    ],
)
def test_a_misplaced_argument_is_told_where_it_goes(name, place):
    error = refusal(dpjax.audit, release, ONE, **{name: 1.0})
    assert isinstance(error, TypeError)
    assert str(error).startswith(f"audit() has no argument {name!r}: {place}")


@pytest.mark.parametrize("name", ["num_samples", "num_confirm", "time_limit", "region", "bits"])
def test_at_most_three_calls_are_suggested_of_each_place(name):
    """The suggestions are the first calls that have the option, in the order of the tables."""
    said = str(refusal(dpjax.audit, release, ONE, **{name: 1.0}))
    kinds = {
        "method=": [kind for kind in METHODS.values() if kind.bounded],
        "notion=": [*NOTIONS.values()],
        "": [kind for kind in SOURCES.values() if kind.asked[0]],
    }
    places = []
    for before, of_place in kinds.items():
        owners = [k.__name__ for k in of_place if name in [f.name for f in fields(k)]][:3]
        dots = "" if before else "..., "
        if owners:
            calls = " or ".join(f"{before}dpjax.{owner}({dots}{name}=...)" for owner in owners)
            places.append(calls if before else f"{calls} as the subject")
    assert said.endswith(f": write {', or '.join(places)}.")


def test_a_claim_in_quotes():
    for notion in (dpjax.Epsilon(), dpjax.Gdp()):
        said = str(refusal(dpjax.audit, release, ONE, claim="1", notion=notion))
        assert said == "claim must be a number or a curve, but was the string '1': write claim=1."
    said = str(refusal(dpjax.audit, release, ONE, claim="one"))
    assert said == "claim must be a number or a curve, but was the string 'one'."
