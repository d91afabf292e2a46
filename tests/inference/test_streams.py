"""Streams of draws: how rarely a true level is refuted, and how soon a false one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpjax.inference import Difference, Ratio, Shift
from dpjax.inference._wealth import gained, start, step

ERROR = 0.05


def answers(epsilon):
    """Return randomized response at its level."""
    p = 1 / (1 + math.exp(-epsilon))
    return np.array([p, 1 - p]), np.array([1 - p, p])


def geometric(epsilon, cells=41):
    """Return clipped two-sided geometric noise on counts 0 and 1: its level is epsilon."""
    line = np.arange(cells) - cells // 2
    laws = []
    for centre in (0, 1):
        law = np.exp(-epsilon * np.abs(line - centre))
        ratio = math.exp(-epsilon)
        law[0] /= 1 - ratio
        law[-1] /= 1 - ratio
        laws.append(law / law.sum())
    return laws[0], laws[1]


def with_atoms(epsilon):
    """Return bins of Laplace noise whose output is replaced by a constant with probability .4."""
    edges = np.linspace(-4, 5, 60)
    laws = []
    for centre in (0, 1):
        noise = np.diff(np.concatenate([[0], stats.laplace.cdf(edges, centre, 1 / epsilon), [1]]))
        noise *= 0.6
        noise[20] += 0.4
        laws.append(noise)
    return laws[0], laws[1]


def shifted(epsilon, cells=512):
    """Return cells of Laplace noise of scale 1 / epsilon at 0 and 1."""
    edges = np.linspace(-7 / epsilon, 1 + 7 / epsilon, cells - 1)
    p, q = (
        np.diff(np.concatenate([[0], stats.laplace.cdf(edges, centre, 1 / epsilon), [1]]))
        for centre in (0, 1)
    )
    return p, q


def blocks(first, most, growth):
    """Return the sizes of blocks up to a number of draws."""
    done, sizes = 0, []
    while done < most:
        sizes.append(min(first if not done else max(int(growth * done), 4), most - done))
        done += sizes[-1]
    return sizes


def stream(laws, sizes, seed, **options):
    """Return the state after each block of a stream."""
    rng = np.random.default_rng(seed)
    p, q = laws
    state = start(1, len(p), ERROR, **options)
    for size in sizes:
        state = step(state, rng.multinomial(size, p)[None], rng.multinomial(size, q)[None])
        yield state


def refuted_at(laws, sizes, streams, *, claim, **options):
    """Return the numbers of draws after which streams refute a claim; infinite if never.

    All streams are in one state, in which each has the place of a pair and its own wealth.
    """
    state = start(streams, len(laws[0]), ERROR, claim=claim, grid=[claim], **options)
    generators = [np.random.default_rng(seed) for seed in range(streams)]
    wealth, found = np.repeat(state.log_wealth, streams, axis=1), np.full(streams, math.inf)
    for size in sizes:
        drawn = np.array([[rng.multinomial(size, law) for law in laws] for rng in generators])
        x, y = drawn[:, 0], drawn[:, 1]
        wealth += gained(state, x, y)[:, :, 0]
        state = replace(state, first=state.first + x, second=state.second + y)
        over = np.logaddexp.reduce(wealth, axis=0) >= math.log(len(wealth) / ERROR)
        found[over & np.isinf(found)] = state.first[0].sum()
        if np.isfinite(found).all():
            break
    return found


@pytest.mark.parametrize("few", [False, True])
def test_streams_in_one_state_are_streams_by_themselves(few):
    """The sizes are such that some claims are refuted, and others are not."""
    laws, options, sizes = shifted(1.0), {"claim": 0.8, "few": few}, blocks(40, 1000, 0.3)
    alone = []
    for seed in range(6):
        states = stream(laws, sizes, seed, grid=[0.8], **options)
        alone.append(next((s.draws[0, 0] for s in states if s.is_claim_refuted), math.inf))
    np.testing.assert_array_equal(refuted_at(laws, sizes, 6, **options), alone)
    assert 0 < np.isinf(alone).sum() < 6


@pytest.mark.parametrize("few", [False, True])
def test_the_bound_never_falls_and_all_levels_below_it_were_refuted(few):
    before = start(1, 512, ERROR)
    for state in stream(shifted(1.0), blocks(40, 4000, 0.2), 3, few=few):
        assert state.bound >= before.bound
        assert np.all(before.is_refuted <= state.is_refuted)
        assert np.all(state.is_refuted[: state.place])
        assert state.place == state.grid.size or not state.is_refuted[state.place]
        before = state
    assert 0.5 < before.bound < 1


def normal(mu, cells=60):
    """Return cells of Gaussian noise."""
    edges = np.linspace(-4, 4 + mu, cells - 1)
    p, q = (
        np.diff(np.concatenate([[0], stats.norm.cdf(edges, centre), [1]])) for centre in (0, mu)
    )
    return p, q


LAWS = {
    "answers": (answers(1.0), 1.0, Ratio()),
    "geometric": (geometric(0.5), 0.5, Ratio()),
    "atoms": (with_atoms(1.0), 1.0, Ratio()),
    "gaussian": (normal(1.0), 1.0, Shift()),
    "difference": (answers(1.0), math.tanh(0.5), Difference()),
}


def false_alarms(name, few, streams, most, error_of_test):
    """Count streams at the boundary that ever refute it; also return the allowed number."""
    laws, level, hypothesis = LAWS[name]
    options = {"claim": level, "few": few, "hypothesis": hypothesis}
    wrong = np.isfinite(refuted_at(laws, blocks(16, most, 0.15), streams, **options)).sum()
    return wrong, stats.binom.isf(error_of_test, streams, ERROR)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("name", "few"),
    [("answers", True), ("geometric", False), ("atoms", True), ("gaussian", False)],
)
def test_false_alarms_at_the_boundary(name, few):
    """Fails with probability 1e-5 if a false alarm has probability .05, or less if it is rarer."""
    wrong, most = false_alarms(name, few, 40, 1500, 1e-5)
    assert wrong <= most


@pytest.mark.slow
@pytest.mark.parametrize(("name", "few"), [(name, k % 2 == 0) for k, name in enumerate(LAWS)])
def test_false_alarms_of_300_streams(name, few):
    """Fails with probability 1e-6 if a false alarm has probability .05."""
    wrong, most = false_alarms(name, few, 300, 3000, 1e-6)
    assert wrong <= most


@pytest.mark.slow
def test_a_bet_at_the_boundary_that_gains_would_be_seen():
    """A claim that is a fifth below the level is refuted by nearly all streams of this length."""
    laws, level, _ = LAWS["answers"]
    found = refuted_at(laws, blocks(16, 3000, 0.15), 40, claim=0.8 * level, few=False)
    assert np.mean(np.isfinite(found)) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("laws", "claim", "mean", "streams"),
    [(answers(0.5), 0.4, 2122, 30), (shifted(1.0), 0.8, 1256, 30)],
)
def test_a_claim_below_the_level_is_refuted_soon(laws, claim, mean, streams):
    """The prototype had means of 2122 and 1256; the deviation of a stream is two thirds of it.

    A mean of 30 streams that is 1.6 times the prototype's is about five standard errors away.
    """
    sizes = blocks(16, 20_000, 0.12)
    found = refuted_at(laws, sizes, streams, claim=claim)
    assert np.mean(found) < 1.6 * mean


@pytest.mark.slow
@pytest.mark.parametrize(
    ("laws", "claim", "mean"), [(answers(0.5), 0.4, 2122), (shifted(1.0), 0.8, 1256)]
)
def test_the_mean_of_many_streams_is_the_prototypes(laws, claim, mean):
    """Within a tenth, plus two standard errors of the mean of 200 streams."""
    found = refuted_at(laws, blocks(16, 60_000, 0.12), 200, claim=claim)
    assert np.mean(found) < 1.1 * mean + 2 * np.std(found) / math.sqrt(200)
