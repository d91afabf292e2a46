"""The ROC curve of an attack, compared with counts by hand."""

import numpy as np
import pytest

from dpjax.inference import attack_roc

RNG = np.random.default_rng(1)

CASES = {
    "reals": (RNG.normal(1, 1, 37), RNG.normal(0, 1, 53)),
    "ties": (RNG.integers(0, 5, 40), RNG.integers(0, 4, 30)),
    "equal": (np.zeros(3), np.zeros(2)),
    "infinite": ([np.inf, 1.0, -np.inf], [0.0, -np.inf]),
}


@pytest.mark.parametrize("name", CASES)
def test_each_threshold_has_the_rates_that_counting_gives(name):
    included, excluded = (np.asarray(side, float) for side in CASES[name])
    roc = attack_roc(included, excluded)
    thresholds = sorted({*included, *excluded}, reverse=True)
    assert roc.false_positive.tolist() == [0.0, *(np.mean(excluded >= t) for t in thresholds)]
    assert roc.true_positive.tolist() == [0.0, *(np.mean(included >= t) for t in thresholds)]
    higher = [np.mean(x > excluded) + np.mean(x == excluded) / 2 for x in included]
    assert roc.area == pytest.approx(np.mean(higher), abs=1e-12)


def test_between_two_thresholds_the_attack_chooses_at_random():
    roc = attack_roc([3.0, 2.0, 2.0, 0.0], [2.0, 1.0])
    # At 2, one of two excluded and three of four included scores reach the threshold.
    np.testing.assert_allclose(
        roc.true_positive_at([0, 0.25, 0.5, 0.75, 1]), [0.25, 0.5, 0.75, 0.75, 1]
    )
    with pytest.raises(ValueError, match="false_positive"):
        roc.true_positive_at(1.5)


@pytest.mark.parametrize(
    ("included", "excluded", "words"),
    [
        ([], [1.0], "included must be a vector of scores"),
        ([1.0], [[1.0]], "excluded must be a vector of scores"),
        ([1.0], [1.0, np.nan, np.nan], "excluded must not contain NaN, but 2 scores"),
    ],
)
def test_scores_that_cannot_be_ranked_are_refused(included, excluded, words):
    with pytest.raises(ValueError, match=words):
        attack_roc(included, excluded)
