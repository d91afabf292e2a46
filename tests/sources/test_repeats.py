"""Repeated noise is a verdict, but outputs that hardly vary are not.

Outputs that vary agree by chance with probability e^-40, so no test here fails by chance.
"""

import math
import sys
import textwrap
from collections import Counter

import numpy as np
import pytest

import dpjax
from dpjax.notions import RepeatedRuns, evidence_from_plain
from dpjax.partitions import Outputs
from dpjax.sources import HostMechanism, LibraryMechanism
from dpjax.sources._repeats import nats_of
from dpjax.testing import assert_not_private, assert_private

FEW = dpjax.Events(num_draws=3_000)


def fixed(database, num_samples):
    return database + np.random.default_rng(0).laplace(size=num_samples)


def fixed_in_each_call(database):
    return database + np.random.default_rng(0).laplace()


@pytest.fixture(scope="module")
def repeated():
    return dpjax.audit(HostMechanism(fixed), [(0.0, 1.0)], claim=1.0)


def test_the_same_batches_are_a_verdict(repeated):
    counted = repeated.evidence.counted
    assert repeated.verdict == "not random" and repeated.lower_bound == 0
    assert (counted.runs, counted.outputs) == ("batches", 100)
    # A hundred different reals have a frequency of 1 / 100 each.
    assert counted.nats == pytest.approx(100 * math.log(100)) and counted.chance == "1e-199"
    assert "had the same first 100 outputs in the same order" in repeated.sentence
    assert any("must not set a fixed seed" in note for note in repeated.notes)


def test_it_is_printed_written_and_read(repeated, tmp_path):
    assert "NOT RANDOM: Two batches of the function fixed" in str(repeated)
    read = dpjax.AuditResult.from_json(repeated.to_json())
    assert read == repeated and read.evidence.counted == repeated.evidence.counted
    assert dpjax.rerun(read, HostMechanism(fixed)).verdict == "not random"
    pytest.importorskip("jinja2")
    text = repeated.report(tmp_path / "r.md").read_text()
    assert "Not random: outputs are a function of the data" in text
    assert "The claim is refuted at" not in text
    with pytest.raises(ValueError, match="repeated runs must have outputs and nats above 0"):
        evidence_from_plain({"kind": RepeatedRuns.kind, "runs": "x", "outputs": 0, "nats": 1.0})


def test_assertions_take_it_for_a_failure():
    with pytest.raises(AssertionError, match="had the same first 100 outputs"):
        assert_private(HostMechanism(fixed), 1.0, [(0.0, 1.0)])
    assert assert_not_private(HostMechanism(fixed), 1.0, [(0.0, 1.0)]).verdict == "not random"


def test_one_output_for_each_database_is_a_verdict_where_it_refutes_the_claim():
    source = HostMechanism(fixed_in_each_call, batched=False)
    result = dpjax.audit(source, [(0.0, 1.0)], method=FEW, claim=1.0)
    assert result.verdict == "not random" and 5 < result.lower_bound < 9
    assert "outputs from the database were the same, and all" in result.sentence
    assert "above the claimed 1." in result.sentence and result.smallest_error == 1e-12
    assert dpjax.audit(source, [(0.0, 1.0)], method=FEW).verdict == "not random"


def test_a_failure_for_one_database_is_named():
    def first(records, rng):
        return records[0]

    source = HostMechanism(first, batched=False)
    result = dpjax.audit(source, [([], [1])], method=FEW, claim=1.0)
    assert "outputs from the database were 'error: IndexError', and all" in result.sentence
    assert "neighbor were the same. The first error was IndexError: list index" in result.sentence


@pytest.mark.parametrize("claim", [1.0, 20.0])
def test_honest_outputs_that_hardly_vary_are_no_verdict(claim):
    """A release that is nearly always empty, and the exponential mechanism at a large epsilon."""

    def empty(records, num_samples, seed=0):
        return np.zeros(num_samples)

    def best(scores, num_samples, rng):
        weights = np.exp(10.0 * (np.asarray(scores) - max(scores)))
        return rng.choice(2, num_samples, p=weights / weights.sum())

    if claim == 1.0:
        result = dpjax.audit(HostMechanism(empty), [([], [1])], method=FEW, claim=claim)
        assert any("were the same" in note for note in result.notes)
    else:  # The level is 20 for scores that change by 2, and one output has probability 1 - e^-20.
        pair = ([2.0, 0.0], [0.0, 2.0])
        result = dpjax.audit(HostMechanism(best), [pair], method=FEW, claim=claim)
    assert result.verdict == "not refuted"


@pytest.mark.slow
def test_rare_outputs_repeat_by_chance_and_are_no_verdict(tmp_path, monkeypatch):
    """Two processes without a common seed return equal outputs if the outputs hardly vary."""
    write(tmp_path, monkeypatch, "rare_outputs", "return [0.0] * num_samples")
    source = HostMechanism(sys.modules["rare_outputs"].release, restart=True)
    assert dpjax.audit(source, [(0.0, 1.0)], method=FEW, claim=1.0).verdict == "not refuted"


@pytest.mark.slow
def test_a_seed_that_is_set_at_import_shows_in_new_processes(tmp_path, monkeypatch):
    body = "return [database + generator.gauss(0, 1) for _ in range(num_samples)]"
    write(tmp_path, monkeypatch, "seeded_at_import", body)
    release = sys.modules["seeded_at_import"].release
    pairs = [(0.0, 0.1)]
    unseen = dpjax.audit(HostMechanism(release), pairs, method=FEW, claim=1.0)
    assert unseen.verdict == "not refuted"
    result = dpjax.audit(HostMechanism(release, restart=True), pairs, method=FEW, claim=1.0)
    assert result.verdict == "not random" and "Two processes of" in result.sentence


def write(folder, monkeypatch, name, body):
    """Write a module with a function `release` that new processes can import."""
    text = textwrap.dedent(f"""
        import random

        generator = random.Random(7)


        def release(database, num_samples):
            {body}
    """)
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, name, raising=False)
    __import__(name)


def test_restart_needs_what_can_be_pickled():
    with pytest.raises(TypeError, match=r"restart needs .* use restart=False"):
        HostMechanism(lambda database, num_samples: [0.0] * num_samples, restart=True)


@pytest.mark.parametrize("kind", ["fixed", "none", "shared"])
def test_an_object_made_anew_shows_a_fixed_seed(kind):
    """A shared generator continues; only a seed gives two objects the same noise."""
    mechanisms = pytest.importorskip("diffprivlib.mechanisms")
    state = {"fixed": 0, "none": None, "shared": np.random.RandomState(1)}[kind]
    made = mechanisms.Laplace(epsilon=1.0, sensitivity=1.0, random_state=state)
    source = LibraryMechanism(made, bits=None, time_limit=None)
    result = dpjax.audit(source, [(0.0, 1.0)], method=FEW)
    assert result.verdict == ("not random" if kind == "fixed" else "not refuted")
    if kind == "fixed":
        assert "Two objects of diffprivlib Laplace" in result.sentence


def test_a_model_with_a_generator_draws_anew_at_every_call():
    models = pytest.importorskip("diffprivlib.models")
    model = models.StandardScaler(
        epsilon=1.0, bounds=(0, 1), random_state=np.random.RandomState(1)
    )  # fmt: skip
    call = LibraryMechanism(model)._handed.call
    rows = np.array([[0.2], [0.4], [0.9]])
    assert call(rows)["mean_"] != call(rows)["mean_"]


@pytest.mark.parametrize("kinds", [3, 50, 10**9])
def test_the_surprise_is_that_of_the_counts_of_rows(kinds):
    """Rows with equal first numbers may differ in their labels or in other numbers."""
    rng = np.random.default_rng(kinds)
    for values in ([0], [0, 0], [0, 1], [1, 0]):
        labels = rng.integers(0, 3, 100).astype(np.int32)
        numbers = np.stack([rng.integers(0, kinds if each else 2, 100) for each in values], axis=1)
        outputs = Outputs(labels, numbers.astype(float), np.zeros(100, bool))
        rows = Counter(zip(labels.tolist(), map(tuple, numbers.tolist()), strict=True))
        expected = -sum(count * np.log(count / 100) for count in rows.values())
        assert nats_of(outputs, 100) == pytest.approx(expected)
