"""Functions whose calls depend on each other: audits of them are doubtful, and of others are not.

Doubts have a probability of at most 1e-6 per side if the calls are independent.
"""

import numpy as np
import pytest

import dpjax

PAIR = [(0.0, 1.0)]
FEW = dpjax.Events(2_000, 3_000)


def chain(correlation):
    """Stationary normal noise, in which successive calls have a correlation."""
    state = {}

    def release(database, rng):
        old = state.get(database, rng.normal())
        state[database] = correlation * old + np.sqrt(1 - correlation**2) * rng.normal()
        return 3 * state[database] + 0 * database

    return release


def held(calls, draw):
    """Noise that is drawn once for several calls."""
    state = {}

    def release(database, rng):
        count, noise = state.get(database, (0, None))
        noise = noise if count % calls else draw(rng)
        state[database] = count + 1, noise
        return noise if isinstance(noise, str) else database + noise

    return release


def laplace(rng):
    return rng.laplace()


def label(rng):
    return str(rng.choice(["a", "b", "c"]))


@pytest.mark.parametrize(
    "function", [chain(0.99), chain(0.3), held(20, laplace), held(2, laplace), held(20, label)]
)
def test_dependent_calls_are_doubtful(function):
    result = dpjax.audit(function, PAIR, claim=1.0, method=FEW)
    assert result.verdict == "doubtful" and len(result.doubts) == 2
    for doubt, side in zip(result.doubts, ("database", "neighbor"), strict=True):
        assert f"release ({side}): successive outputs are correlated" in doubt
        assert "Draw fresh noise in every call" in doubt


@pytest.mark.parametrize(
    "function",
    [
        chain(0.0),
        held(1, laplace),
        held(1, label),
        lambda database, rng: [rng.normal(), rng.normal() + database],
        lambda database, rng: database + rng.laplace() if rng.random() < 0.5 else None,
        lambda database: database,
    ],
)
def test_independent_calls_are_not(function):
    result = dpjax.audit(function, PAIR, claim=50.0, method=FEW)
    assert not result.doubts


def test_batches_may_be_in_any_order():
    """A function that returns many outputs may sort them, because all of them are counted."""

    def release(database, num_samples, rng):
        return np.sort(database + rng.laplace(size=num_samples))

    function = dpjax.HostMechanism(release, batch_size=100_000)
    assert not dpjax.audit(function, PAIR, claim=1.0, method=FEW).doubts
