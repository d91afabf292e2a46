"""Outputs that never vary are a separate verdict, for every source, with or without a claim.

Subjects here are constant or have a false-alarm probability below 1e-9, so no test fails by chance.
"""

import math

import jax
import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax.core.types import RealSpace
from dpjax.partitions import Outputs, Partition, Search
from dpjax.results._unvaried import epsilon_of_constants
from dpjax.sources import HostMechanism
from dpjax.sources._searched import notes_of_search
from dpjax.testing import assert_not_private, assert_private

FEW = dpjax.Events(num_draws=3_000)
DRAWS = {"num_samples": 1_000, "num_confirm": 2_000}
PAIR = [(0.0, 1.0)]


def added(database):
    """Add noise with a fixed seed: the same number in every call."""
    return database + np.random.default_rng(5).laplace()


def drawn_added(key, database):
    return database + jax.random.laplace(jax.random.key(5))


def drawn_integer(key, database):
    return jax.numpy.int32(3 * database)


HOST = HostMechanism(added, batched=False)
SUBJECTS = {
    "host": lambda: (HOST, PAIR),
    "recorded numbers": lambda: (dpjax.Recorded(np.full(3000, 0.4), np.full(3000, 1.4)), None),
    "recorded labels": lambda: (dpjax.Recorded(["a"] * 3000, ["b"] * 3000), None),
    "drawn": lambda: (drawn_added, PAIR),
    "drawn integers": lambda: (drawn_integer, PAIR),
}


@pytest.mark.parametrize("claim", [1.0, None])
@pytest.mark.parametrize("name", SUBJECTS)
def test_constant_outputs_that_differ_are_a_verdict(name, claim):
    subject, pairs = SUBJECTS[name]()
    result = dpjax.audit(subject, pairs, method=FEW, claim=claim)
    assert result.verdict == "not random" and result.lower_bound > 5
    # It comes first, followed by the bound.
    second = " ".join(str(result).split("\n")[1].split())
    assert second.startswith("NOT RANDOM: All ") and "outputs from the database" in second
    assert "With confidence 0.999, epsilon is at least" in result.sentence
    assert not any("the same" in note or "one side alone" in note for note in result.notes)
    assert dpjax.AuditResult.from_json(result.to_json()).verdict == "not random"


@pytest.mark.parametrize("claim", [1.0, None])
def test_one_constant_at_both_databases_is_no_violation(claim):
    def nothing(database):
        return 3.0

    both = np.full(3000, 0.4)
    subjects = [
        (HostMechanism(nothing, batched=False), PAIR),
        (dpjax.Recorded(both, both.copy()), None),
        (lambda key, database: 0.0 * database, PAIR),
    ]
    for subject, pairs in subjects:
        result = dpjax.audit(subject, pairs, method=FEW, claim=claim)
        assert result.verdict == ("no claim" if claim is None else "not refuted")
        assert any("were the same" in note for note in result.notes)


def fails(database):
    raise ZeroDivisionError("of a missing package, for instance")


def fails_at_the_neighbor(database):
    return 3.0 / (0.0 if database else 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("method", [FEW, dpjax.Sequential(300)])
def test_calls_that_all_fail_are_no_verdict(method):
    """One output of one pair, or other errors on the other side, are outcomes to compare."""
    subject, pairs = HostMechanism(fails, batched=False), [(0, 1), (1, 2)]
    with pytest.raises(ValueError, match="every call ended with 'error: ZeroDivisionError'"):
        dpjax.audit(subject, pairs, method=method, claim=1.0)
    subject = HostMechanism(fails_at_the_neighbor, batched=False)
    assert dpjax.audit(subject, [(0, 1)], method=method, claim=1.0).verdict == "not random"
    assert dpjax.audit(subject, [(1, 2), (0, 0)], method=method, claim=1.0).verdict == "not refuted"
    text = HostMechanism(lambda database: "error: a word", batched=False)
    assert dpjax.audit(text, [(0, 1)], method=method, claim=1.0).verdict == "not refuted"


def seeds_numpy(database, seed):
    np.random.seed(seed)
    return database + np.random.laplace()


def test_a_seed_that_numpy_does_not_accept_is_explained():
    with pytest.raises(ValueError, match=r"'error: ValueError'.* use seed % 2\*\*32 instead"):
        dpjax.audit(seeds_numpy, [(0, 1)], method=FEW, claim=1.0)


def forgets(database, rng):
    database + rng.laplace()


@pytest.mark.parametrize("method", [FEW, dpjax.Sequential(300)])
def test_functions_that_always_return_none_get_no_verdict(method):
    with pytest.raises(ValueError, match=r"every call returned None, .* lacks a return statement"):
        dpjax.audit(forgets, [(0, 1), (1, 2)], method=method, claim=1.0)


def test_none_is_an_output_if_there_is_another():
    """A label 'None' is an output, and so is None if only one database gives it."""
    for function, verdict in (
        (lambda database: "None", "not refuted"),
        (lambda database: database or None, "not random"),
        (lambda database, rng: None if rng.random() < 0.5 else database, "violated"),
    ):
        assert dpjax.audit(function, [(0, 1)], method=FEW, claim=1.0).verdict == verdict
    # None may be the only output at one of several pairs.
    found = dpjax.audit(lambda count: count // 2 or None, [(2, 3), (0, 1)], method=FEW, claim=1.0)
    assert found.verdict == "not refuted"


def test_recordings_count_one_at_a_time_too():
    x, y = np.full(3000, 0.4), np.full(3000, 1.4)
    result = dpjax.audit(dpjax.Recorded(x, y), method=dpjax.Sequential(), claim=1.0)
    assert result.verdict == "not random" and "All 3000 outputs" in result.sentence
    chunks = [(x[:1500], y[:1500]), (x[1500:], y[1500:])]
    assert [found.verdict for found in dpjax.watch(chunks, claim=1.0)] == ["not random"]


def test_outputs_that_vary_at_one_database_are_random():
    noise = np.random.default_rng(0).laplace(size=3000)
    recorded = dpjax.audit(dpjax.Recorded(np.full(3000, 0.4), noise), claim=1.0)
    drawn = dpjax.audit(
        lambda key, database: database * jax.random.laplace(key), PAIR, method=FEW, claim=1.0
    )
    assert recorded.verdict == drawn.verdict == "violated"


def test_a_cell_of_many_numbers_shows_no_constant():
    """The bins are the numbers below 0, the number 0, and the numbers of at least 5e-324."""
    edges = np.array([0.0, 5e-324])
    cells = Partition(("",), (edges,), (np.array([0.0]),), np.array([0]))
    places = cells.index(
        Outputs(np.zeros(2, np.int64), np.array([[0.0], [3.0]]), np.zeros(2, bool))
    )
    for occupied, found in ((places[[0, 0]], 1), (places, 0)):
        halves = np.zeros((1, 2, 2, cells.size), np.int64)
        halves[..., 0, occupied[0]] = halves[..., 1, occupied[1]] = 50
        notes = notes_of_search([Search(cells, halves, None)], RealSpace(), ["a pair"])
        assert len(notes) == found and all(note.pair == "a pair" for note in notes)


def test_a_known_independence_keeps_the_verdict():
    recorded = dpjax.Recorded(np.full(3000, 0.4), np.full(3000, 1.4), independent=True)
    assert dpjax.audit(recorded, claim=1.0).verdict == "not random"


def test_the_claim_decides_and_without_one_a_level_of_four():
    """An event of probability 1 - p at one database and p at the other has the level log(1/p - 1).

    At a claim of 20, constant outputs are what an honest mechanism releases; and 200 of them
    without a claim are no verdict, since a level of 4 would often show them.
    """
    result = dpjax.audit(HOST, PAIR, method=FEW, claim=20.0)
    assert result.verdict == "not refuted" and any("were the same" in n for n in result.notes)
    few = dpjax.audit(HOST, PAIR, method=dpjax.Events(num_samples=30, num_confirm=100))
    assert few.verdict == "no claim"


@pytest.mark.parametrize("trials", [(100, 100), (50, 400), (1000, 7)])
def test_the_bound_of_constants_is_rarely_too_high(trials):
    """At the level that is stated, constant outputs have a probability of at most the error.

    Every mechanism with outputs v and w of probabilities p and q that would show them must have
    P(all v at one, all w at the other) = p^n q^m <= error, over all p, q of that level.
    """
    error = 1e-3
    level = epsilon_of_constants(trials, error)
    q = np.linspace(1e-4, 1 - 1e-9, 20_000)  # The probability of the other constant.
    p = np.minimum(np.exp(level) * (1 - q), 1 - np.exp(-level) * q)
    log = trials[0] * np.log(np.clip(p, 1e-300, 1)) + trials[1] * np.log(q)
    assert log.max() <= math.log(error) + 1e-9
    # It is also not far below the best possible bound.
    assert level > min(math.log(n / -math.log(error / 2)) for n in trials) - 0.5


@pytest.mark.parametrize("claim", [1.0, 100.0])
def test_a_note_on_many_pairs_is_stated_once(claim):
    pairs = [(0.0, 1.0), (0.0, 2.0), (0.0, 3.0)]
    result = dpjax.audit(drawn_added, pairs, method=FEW, claim=claim)
    assert result.verdict == ("not random" if claim == 1 else "not refuted")
    stated = [result.sentence, *result.notes]
    assert sum("Perhaps the mechanism draws no random numbers" in text for text in stated) == 1


def test_other_notions_and_assertions():
    for notion in (dpjax.Gdp(), dpjax.Zcdp(), dpjax.TotalVariation()):
        assert dpjax.audit(HOST, PAIR, method=FEW, notion=notion).verdict == "not random"
    with pytest.raises(AssertionError, match=r"is not private\. All "):
        assert_private(HOST, 1.0, PAIR, **DRAWS)
    assert assert_not_private(HOST, 1.0, PAIR, **DRAWS).verdict == "not random"


def test_a_page_says_it_first(tmp_path):
    pytest.importorskip("jinja2")
    text = dpjax.audit(HOST, PAIR, method=FEW).report(tmp_path / "r.md").read_text()
    assert "Not random: outputs are a function of the data" in text
    assert "breaks the promise" not in text
    claimed = dpjax.audit(HOST, PAIR, method=FEW, claim=1.0).report(tmp_path / "c.md").read_text()
    assert "breaks the promise" in claimed


@pytest.mark.parametrize("trials", [(100, 100), (40, 300), (1, 7)])
@pytest.mark.parametrize("error", [0.05, 1e-6])
def test_the_bound_of_constants_joins_two_bounds_of_clopper_and_pearson(trials, error):
    least = [stats.beta.ppf(error / 2, number, 1) for number in trials]
    ratios = least[0] / (1 - least[1]), least[1] / (1 - least[0])
    assert epsilon_of_constants(trials, error) == pytest.approx(math.log(max(ratios)), rel=1e-9)
