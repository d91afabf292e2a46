"""A note, and a warning of assertions, if no scores of canaries could have refuted the claim."""

import warnings

import numpy as np
import pytest

import dpjax
from dpjax.core.wording import Powerless
from dpjax.testing import assert_private

NOTE = "would not have been refuted even if the scores revealed all coins"


def revealing(number=1001):
    """Return a run whose scores reveal all coins, so that epsilon is infinite."""
    included = np.random.default_rng(0).random(number) < 0.5
    return dpjax.OneRun(2.0 * included + np.linspace(0, 1, number), included)


def powerless(found):
    return [note for note in found.notes if isinstance(note, Powerless)]


@pytest.mark.parametrize(
    ("notion", "claim", "confidence", "refutable"),
    [
        (dpjax.Epsilon(1e-5), 1.0, 0.999, True),
        # A mechanism that reveals all coins with probability delta satisfies every such claim.
        (dpjax.Epsilon(1e-5), 1.0, 1 - 1e-6, False),
        (dpjax.Epsilon(), 4.0, 0.999, True),
        (dpjax.Epsilon(), 5.0, 0.999, False),
        (dpjax.Gdp(), 1.0, 0.999, True),
        (dpjax.Gdp(), 3.0, 0.999, False),
        (dpjax.Profile(), [(0.0, 0.3), (1.0, 1e-4)], 0.99, True),
        (dpjax.Profile(), [(0.0, 0.3), (1.0, 0.1)], 0.99, False),
    ],
)
def test_a_claim_that_cannot_be_refuted_is_noted(notion, claim, confidence, refutable):
    found = dpjax.audit(revealing(), notion=notion, claim=claim, confidence=confidence)
    assert (found.verdict == "violated") == refutable
    assert [NOTE in note for note in powerless(found)] == [True] * (not refutable)


def test_numbers_of_guesses_that_are_given_decide():
    few = dpjax.Guesses(num_in=5)
    found = dpjax.audit(revealing(), method=few, claim=2.0)
    assert found.verdict == "not refuted" and powerless(found)
    assert not powerless(dpjax.audit(revealing(), method=few))


def test_scores_that_reveal_little_are_no_reason_for_the_note():
    run = revealing()
    noise = np.random.default_rng(1).normal(size=len(run.scores))
    found = dpjax.audit(dpjax.OneRun(noise, run.included), claim=1.0)
    assert found.verdict == "not refuted" and not powerless(found)


def test_an_assertion_that_cannot_fail_warns():
    with pytest.warns(UserWarning, match=NOTE):
        assert_private(revealing(), 1.0, delta=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noise = np.random.default_rng(1).normal(size=1001)
        assert_private(dpjax.OneRun(noise, revealing().included), 1.0)
