"""Audits are doubtful if outputs of one batch share noise, or if later batches differ from earlier.

Doubts have a probability of at most 1e-6 per audit if all outputs are independent.
"""

import numpy as np
import pytest

import dpjax
from dpjax.partitions import Encoder
from dpjax.sources._between_batches import BetweenBatches

PAIR = [(0.0, 1.0)]
FEW = dpjax.Events(2_000, 3_000)


def one_noise(count, num_samples, rng):
    """Return the same output `num_samples` times."""
    return np.full(num_samples, count + rng.laplace())


def one_model(count, num_samples, rng):
    """Draw synthetic records from one noisy model."""
    share = 1 / (1 + np.exp(-count - rng.laplace(scale=3)))
    return rng.choice(["no", "yes"], num_samples, p=[1 - share, share])


def second_entry(count, num_samples, rng):
    """Share noise only in the second entry of a vector."""
    return np.stack([rng.normal(size=num_samples), np.full(num_samples, rng.laplace())], axis=1)


@pytest.mark.parametrize("function", [one_noise, one_model, second_entry])
def test_noise_that_a_batch_shares_is_doubtful(function):
    result = dpjax.audit(function, PAIR, claim=1.0, method=FEW)
    assert result.verdict == "doubtful"
    assert "two batches of outputs have different distributions" in result.doubts[0]
    assert "Draw fresh noise for every output" in result.doubts[0]


@pytest.mark.parametrize(
    "function",
    [
        lambda count, num_samples, rng: count + rng.laplace(size=num_samples),
        lambda count, num_samples, rng: np.sort(count + rng.laplace(size=num_samples)),
        lambda count, num_samples, rng: rng.integers(0, 9**4, num_samples).astype(str),
        lambda count, num_samples, rng: rng.normal(size=(num_samples, 3)) + count,
    ],
)
def test_fresh_noise_is_not(function):
    assert not dpjax.audit(function, PAIR, method=FEW).doubts


def test_a_service_that_fails_after_many_calls_is_doubtful():
    """The search set does not show that calls fail later, and the neighbor is called later."""
    calls = []

    def release(count, rng):
        calls.append(count)
        if len(calls) > 7_500:
            raise PermissionError("the budget is used up")
        return count + rng.laplace()

    result = dpjax.audit(release, PAIR, claim=1.0, method=FEW)
    assert result.verdict == "doubtful"
    assert all("No call may depend on earlier calls" in doubt for doubt in result.doubts)


def test_the_chance_of_a_difference_by_hand():
    """Of 400 outputs, all are 0; of 100 later outputs, 90 are 1: c = .9 / (1/20 + 1/10) = 6."""
    compared, encoder = BetweenBatches(), Encoder("f")
    for batch in (np.zeros(400), np.repeat([0.0, 1.0], [10, 90])):
        compared.add(encoder.encode(batch), encoder.names)
    # P <= 4 exp(-2 * 36), for up to 17 entries (the label and 16 numbers), comparison 1: 1/(1 * 2).
    nats, gap = compared._worst
    assert gap == pytest.approx(0.9)
    assert nats == pytest.approx(72 - np.log(4 * 17 * 2))
    most = np.exp(nats) / 1e6
    assert compared.doubt("f", int(0.99 * most), True) is not None
    assert compared.doubt("f", int(1.01 * most), True) is None


@pytest.mark.parametrize("later", [-1.0, 1.0])
def test_a_constant_that_changes_is_seen_in_both_directions(later):
    compared, encoder = BetweenBatches(), Encoder("f")
    for value in (0.0, later):
        compared.add(encoder.encode(np.full(1000, value)), encoder.names)
    assert compared.doubt("f", 2, True) is not None


def test_small_batches_and_new_labels_cause_no_doubt():
    compared, encoder = BetweenBatches(), Encoder("f")
    compared.add(encoder.encode(np.zeros(99)), encoder.names)
    compared.add(encoder.encode(np.ones(1000)), encoder.names)
    assert compared.doubt("f", 1, True) is None
    # No label of one batch occurs in another, but the shares of all hashes are alike.
    compared = BetweenBatches()
    for start in (0, 5000, 10_000):
        labels = [f"label {number}" for number in range(start, start + 5000)]
        compared.add(encoder.encode(labels), encoder.names)
    assert compared.doubt("f", 1, True) is None


@pytest.mark.parametrize("num_pairs", [1, 3])
def test_the_chance_is_divided_among_both_sides_of_all_pairs(monkeypatch, num_pairs):
    asked = []
    monkeypatch.setattr(BetweenBatches, "doubt", lambda self, *given: asked.append(given[1:]))
    dpjax.audit(dpjax.HostMechanism(one_noise), PAIR * num_pairs, method=dpjax.Events(200, 300))
    assert asked and set(asked) == {(2 * num_pairs, True)}
