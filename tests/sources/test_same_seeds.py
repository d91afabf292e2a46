"""A note if a Python function gives the same outputs for both databases and the same seeds."""

import numpy as np
import pytest

import dpjax
from dpjax.core.wording import Powerless
from dpjax.sources import _host_counts
from dpjax.sources._same_keys import notes_of_same_seeds
from dpjax.testing import assert_private

FEW, MORE = dpjax.Events(200, 400), dpjax.Events(2000, 4000)
PAIRS = [(0.0, 1.0)]


def ignoring(database, num_samples, rng):
    return rng.normal(size=num_samples)


def ignoring_one(database, seed):
    return np.random.default_rng(seed).normal()


def notes(function, method=MORE, **options):
    found = dpjax.audit(function, PAIRS, method=method, **options)
    return [note for note in found.notes if isinstance(note, Powerless)]


def test_a_function_that_ignores_the_database_is_noted():
    (note,) = notes(ignoring)
    assert note.startswith("For the same seeds of 120 outputs, both databases of the pair 'pair 0'")
    (note,) = notes(ignoring_one, dpjax.Events(500, 1000))
    assert note.startswith("For the same seeds of 30 outputs, both databases")


@pytest.mark.parametrize(
    "function",
    [
        lambda database, num_samples, rng: rng.normal(size=num_samples) + 0.01 * database,
        # Without a seed, the outputs differ.
        lambda database, num_samples: np.random.default_rng().normal(size=num_samples),
        # Few outputs with few values may agree by chance.
        lambda database, num_samples, rng: rng.integers(0, 2, num_samples),
        # Outputs that do not vary have a note of their own.
        lambda database, num_samples, rng: np.ones(num_samples),
        # An error of the extra draws does not end an audit.
        lambda database, num_samples, rng: rng.normal(size=num_samples // (num_samples != 120)),
    ],
)
def test_other_functions_are_not_noted(function):
    assert not notes(function)


def test_many_outputs_are_compared_if_many_are_drawn():
    """If one percent of outputs depend on the database, 100 outputs often agree."""

    def sampling(database, num_samples, rng):
        return rng.normal(size=num_samples) + (rng.random(num_samples) < 0.01) * database

    assert not any(notes(sampling, dpjax.Events(20_000, 40_000), key=key) for key in range(6))


@pytest.mark.slow
def test_a_sequential_audit_compares_more_outputs_as_it_draws_more():
    """If three percent of outputs depend on the database, the first 20 outputs often agree."""

    def sampling(database, num_samples, rng):
        return rng.normal(size=num_samples) + (rng.random(num_samples) < 0.03) * database

    for draws, noted in ((1500, 4), (20_000, 0)):
        method = dpjax.Sequential(draws)
        every = [notes(sampling, method, claim=1.0, key=key) for key in range(10)]
        assert noted <= len([found for found in every if found]) <= 2 * noted


def test_how_many_outputs_may_differ_is_stated():
    """If 3.8% of outputs differed, 120 outputs would agree with probability 0.01."""
    (note,) = notes(ignoring)
    assert note.endswith("Or the records affect less than 3.8% of outputs.")


def test_one_pair_with_other_outputs_is_enough():
    def clipped(database, num_samples, rng):
        return np.clip(database, 0, 1) + 0.01 * rng.normal(size=num_samples)

    pairs = [(3.0, 4.0), (0.5, 0.501)]
    method = dpjax.Sequential(5000)
    found = dpjax.audit(clipped, pairs, method=method, claim=5.0)
    assert not any(isinstance(note, Powerless) for note in found.notes)
    assert notes(ignoring, method, claim=5.0)


def test_one_percent_of_few_calls_is_too_few_outputs_to_compare():
    assert not notes(ignoring_one, FEW)


def test_the_outputs_are_not_counted_and_change_no_draw(monkeypatch):
    results = []
    for drawn in (notes_of_same_seeds, lambda *given: []):
        monkeypatch.setattr(_host_counts, "notes_of_same_seeds", drawn)
        found = dpjax.audit(ignoring, PAIRS, method=MORE)
        results.append((found.lower_bound, found.evidence, found.witness, found.settings))
    assert str(results[0]) == str(results[1])


@pytest.mark.parametrize(("left", "noted"), [(None, 1), (30.0, 1), (15.0, 0), (-1.0, 0)])
def test_a_time_limit_is_respected(left, noted):
    """With 1 ms per output, two batches of 200 outputs take 0.4 s, and 2% of 20 s is 0.4 s."""
    source = dpjax.HostMechanism(ignoring, batch_size=200)
    taken = [(1500, 1.5), (1500, 1.5)]
    with source.drawing() as draw:
        found = notes_of_same_seeds(source, draw, PAIRS[0], (1, 2), "pair 0", taken, left)
    assert len(found or []) == noted


def test_fewer_outputs_are_compared_if_time_is_short():
    """With 1 ms per output, 50 outputs per side take 0.1 s, which is 2% of 5 s."""
    source = dpjax.HostMechanism(ignoring_one, batched=False)
    taken = [(50_000, 50.0), (50_000, 50.0)]
    with source.drawing() as draw:
        given = source, draw, PAIRS[0], (1, 2), "pair 0", taken
        (note,) = notes_of_same_seeds(*given, 5.0)
        assert note.startswith("For the same seeds of 50 outputs")
        assert not notes_of_same_seeds(*given, 1.9)


@pytest.mark.slow
@pytest.mark.parametrize("claim", [1.0, None])
def test_sequential_audits_compare_once_two_thousand_outputs_are_drawn(claim):
    """Two percent of 2,000 outputs are 20 per side; the seeds are those of the first outputs."""
    calls = []

    def counting(database, seed):
        calls.append((database, seed))
        return ignoring_one(database, seed)

    result = dpjax.audit(counting, PAIRS, method=dpjax.Sequential(1500), claim=claim)
    (note,) = (note for note in result.notes if isinstance(note, Powerless))
    number = int(note.split()[5])
    assert note.startswith("For the same seeds of ") and 20 <= number <= 30
    first_again = next(n for n, call in enumerate(calls) if call in calls[:n])
    assert 2000 <= first_again < 3000
    assert len(calls) == 2 * result.settings["drawn"] + 2 * number


def test_sequential_audits_of_batches_compare():
    assert len(notes(ignoring, dpjax.Sequential(5000), claim=1.0)) == 1


@pytest.mark.parametrize("method", [dpjax.Sequential(900), dpjax.Sequential(5000)])
def test_other_functions_are_not_noted_by_sequential_audits(method):
    def adding(database, num_samples, rng):
        return rng.normal(size=num_samples) + 0.01 * database

    used = adding if method.num_draws == 5000 else ignoring
    assert not notes(used, method, claim=1.0)


def test_an_assertion_warns():
    with pytest.warns(UserWarning, match="the audited code ignores the records"):
        assert_private(ignoring, 1.0, PAIRS, num_samples=2000, num_confirm=4000)
