"""Scores of trainings for given steps, and models, batches and canaries for given numbers."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import random
from dpjax.mechanisms import _batches
from dpjax.mechanisms._models import Logistic, Network
from dpjax.mechanisms.training import (
    SCORES,
    DpSgd,
    FullBatch,
    Poisson,
    Shuffle,
    Step,
    canaries,
    likelihood_score,
)

X = np.array([0.5, -1.0, 2.0, 0.25], np.float32)
MOVED = np.array([0.0, 1.0, 0.0, 4.0], np.float32)
OWN = np.array([[3.0, 4.0, 1.0, 1.0]], np.float32)
START, LAST = np.array([0.5, 0.25, 0.0], np.float32), np.array([0.25, 0.5, 1.0], np.float32)


def scored(score, **parameters):
    made = DpSgd(score=score, **parameters)
    steps = Step(jnp.asarray(X), jnp.asarray(MOVED))
    return float(made._scored(steps, (jnp.asarray(START), jnp.asarray(LAST)), OWN, 8.0))


@pytest.mark.parametrize(
    ("score", "value"),
    [("range", 3.0), ("max", 2.0), ("energy", 5.0), ("idle", 2.0), ("likelihood", 1.75)],
)  # fmt: skip
def test_scores_of_steps(score, value):
    assert scored(score, noise_multiplier=3.0) == value
    assert scored(score, sampling=Shuffle(2)) == value


def test_scores_of_batches_drawn_at_a_rate():
    rate, sigma = 0.25, 1.5
    expected = sum(math.log(1 - rate + rate * math.exp((x - 0.5) / sigma**2)) for x in X)
    found = scored("likelihood", noise_multiplier=sigma, sampling=Poisson(rate))
    assert found == pytest.approx(expected, rel=1e-6)
    assert float(likelihood_score(X, sigma, rate)) == pytest.approx(expected, rel=1e-6)
    assert float(likelihood_score(X, sigma)) == 1.75


def test_scores_of_the_last_parameters():
    # The logit of the canary is .25 * 3 + .5 * 4 + 1 = 3.75, and its label is 1.
    assert scored("loss") == pytest.approx(-math.log1p(math.exp(-3.75)), rel=1e-5)
    # Its gradient points along -(3, 4, 1): the parameters moved by (.25, -.25, -1).
    along = -(0.25 * 3 - 0.25 * 4 - 1) / math.sqrt(26)
    found = scored("final", clip=0.5, learning_rate=0.25)
    assert found == pytest.approx(along * 8 / (0.5 * 0.25), rel=1e-5)
    assert SCORES == ("likelihood", "final", "loss", "range", "max", "energy", "idle")


def test_levels_of_full_batches():
    assert DpSgd(noise_multiplier=2.0, num_steps=36).mu == 3.0
    with pytest.raises(
        ValueError, match=r"^mu is defined for FullBatch\(\) only, but sampling was"
    ):
        _ = DpSgd(sampling=Poisson(0.5)).mu


def test_batches_by_hand():
    assert [rule.expected_size(12) for rule in (FullBatch(), Poisson(0.25), Shuffle(4))] == [
        12,
        3,
        4,
    ]
    keys = _batches.Keys(jax.random.key(1), jax.random.key(2))
    nothing = jnp.zeros(0, jnp.int32)
    assert FullBatch().batch(keys, nothing, jnp.uint32(0), 5)[0] is None
    for number in (5, 6):
        taken, _ = Poisson(0.3).batch(keys, nothing, jnp.uint32(0), number)
        words = np.concatenate(random.words(jax.random.key(2), 3))[:number]
        np.testing.assert_array_equal(taken, words < round(0.3 * 2**32))
    rule, carried = Shuffle(2), Shuffle(2).start(6)
    for step in range(7):
        taken, carried = rule.batch(keys, carried, jnp.uint32(step), 6)
        words = random.words(random.fold_in(jax.random.key(1), step // 3), 6)
        ranks = np.argsort(np.lexsort([np.asarray(words[1]) >> 3, np.asarray(words[0])]))
        np.testing.assert_array_equal(taken, ranks // 2 == step % 3)
    with pytest.raises(ValueError, match="size must divide the number of records, 7, but was 2"):
        rule.check(7)
    rule.check(6), FullBatch().check(7), Poisson(0.5).check(7)


def test_first_parameters_of_networks():
    made = Network(hidden=3, seed=4)
    draw = np.random.default_rng(4)
    first = np.zeros((3, 6))
    first[:, :5] = draw.normal(size=(3, 5)) / math.sqrt(5)
    second = [*(draw.normal(size=3) / math.sqrt(3)), 0.0]
    expected = [*first.ravel(), *second]
    np.testing.assert_allclose(made.start(5, np.float32), expected, rtol=1e-6)
    assert made.width == 3 and Logistic().width == 1
    np.testing.assert_array_equal(Logistic().start(5, np.float32), np.zeros(6))
    assert made.start(5, np.float32).dtype == np.float32
    for wrong, words in (
        (dict(hidden=0), "hidden must be .* >= 1"),
        (dict(seed=-1), "seed .*>= 0"),
    ):
        with pytest.raises(ValueError, match=words):
            Network(**wrong)


def test_canaries_by_hand():
    rows, labels = np.arange(12, dtype=np.float32).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1.0])
    wrong = canaries(rows, labels, 2, kind="mislabelled", seed=3)
    taken = sorted(np.random.default_rng(3).permutation(6)[:2])
    np.testing.assert_array_equal(wrong.own, rows[taken])
    np.testing.assert_array_equal(wrong.own_labels, 1 - labels[taken])
    np.testing.assert_array_equal(wrong.features, np.delete(rows, taken, axis=0))
    np.testing.assert_array_equal(wrong.labels, np.delete(labels, taken))
    far = canaries(rows, labels, 3, kind="out of distribution", seed=3)
    rng = np.random.default_rng(3)
    np.testing.assert_allclose(far.own, rng.uniform([0, 1], [10, 11], (3, 2)), rtol=1e-6)
    np.testing.assert_array_equal(far.own_labels, rng.random(3) < 0.5)
    loud = canaries(rows, labels, 2, amplitude=7.0)
    assert loud.own.tolist() == [[0, 0, 7, 0], [0, 0, 0, 7]] and loud.own_labels.tolist() == [1, 1]
    assert loud.features.shape == (6, 4) and not loud.features[:, 2:].any()
    database = loud.records(np.array([True, False]))
    np.testing.assert_array_equal(database[:, -1], [1] * 6 + [1, 0])
    np.testing.assert_array_equal(database[:, -2], [*labels, 1, 1])
    np.testing.assert_array_equal(database[-2:, :-2], loud.own)
    assert {*canaries(rows, labels, 5, kind="mislabelled").own_labels.tolist()} == {0.0, 1.0}
    several = canaries(rows, labels, 5, kind="mislabelled")
    for number in range(5):
        pair, own = several.pair(number), (*several.own[number], several.own_labels[number])
        np.testing.assert_array_equal(pair.database[0, -1], [*own, 1])
        np.testing.assert_array_equal(pair.neighbor[0, -1], [*own, 0])
    np.testing.assert_array_equal(pair.database[0, :-1], pair.neighbor[0, :-1])
    with pytest.raises(
        ValueError, match="number must be below 6, the number of records, but was 6"
    ):
        canaries(rows, labels, 6, kind="mislabelled")
    assert len(canaries(rows, labels, 5, kind="mislabelled").features) == 1
