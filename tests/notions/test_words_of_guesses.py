"""Descriptions of guesses in one run, and the point of a curve to which they are compared."""

import math

import pytest

from dpjax import Epsilon, Gdp, Profile, Renyi, TotalVariation
from dpjax.inference import (
    Guessed,
    delta_of_chosen,
    delta_of_guesses,
    epsilon_of_chosen,
    epsilon_of_guesses,
    mu_of_chosen,
    mu_of_guesses,
    one_run_p_value,
)
from dpjax.notions import GuessCounts
from dpjax.notions.evidence._guesses import _of_curve, level_of

FIXED, CHOSEN = GuessCounts(2000, 70, 50, 100), GuessCounts(2000, 70, 50, 100, revealed=1000)
SHARED = GuessCounts(2000, 70, 50, 100, share=0.4)


@pytest.mark.parametrize(
    ("counts", "basis", "more"),
    [
        (FIXED, "exact, one run", ""),
        (CHOSEN, "one run",
         "; the numbers of guesses were chosen with the coins of 1000 others"),
        (SHARED, "exact, one run", "; using 40% of the error probability"),
    ],
)  # fmt: skip
def test_rows_of_guesses(counts, basis, more):
    stated = counts.state(Epsilon(), 0.95)
    assert (stated.basis, stated.estimate) == (basis, None)
    shown = f"{stated.lower_bound:.4f}"
    assert counts.rows(stated, "sure") == [
        ("lower bound", f"{shown}, sure ({basis})"),
        ("guesses", f"100 of 120 right (70 in, 50 out), of 2000 canaries{more}"),
    ]
    assert counts.table(stated, "sure") == [(f"Lower bound ({basis}, sure)", shown)]
    (part,) = counts.parts()
    assert [text for _, text in part.rows] == [
        "2,000", "1,000" if counts is CHOSEN else "0", "70", "50", "100",
    ]  # fmt: skip
    assert part.title == "Guesses" and part.numbers
    assert ("choice of the numbers of guesses" in part.text) == (counts is CHOSEN)
    assert ("No larger bound follows from the number" in part.text) == (counts is not CHOSEN)
    assert (" 40% of the error" in part.text) == (counts is SHARED)
    assert part.text.endswith("The bound applies only to the privacy of the canaries.")


def test_levels_of_fixed_and_of_chosen_guesses():
    guessed, error = FIXED.guessed, 0.05
    assert guessed == Guessed(2000, 120, 100)
    for notion, fixed, chosen in (
        (Epsilon(1e-4), epsilon_of_guesses(guessed, 1e-4, error),
         epsilon_of_chosen(guessed, 1e-4, error)),
        (Gdp(), mu_of_guesses(guessed, error), mu_of_chosen(guessed, error)),
        (TotalVariation(), delta_of_guesses(guessed, 0.0, error),
         delta_of_chosen(guessed, 0.0, error)),
    ):  # fmt: skip
        assert fixed != chosen
        assert level_of(guessed, notion, error) == fixed
        assert level_of(guessed, notion, error, True) == chosen
        assert FIXED.state(notion, 0.95).lower_bound == pytest.approx(fixed, rel=1e-9)
        assert CHOSEN.state(notion, 0.95).lower_bound == pytest.approx(chosen, rel=1e-9)
        share = SHARED.state(notion, 0.95).lower_bound
        assert share == pytest.approx(level_of(guessed, notion, 0.02), rel=1e-9) and share < fixed
    assert level_of(guessed, Profile(), error) == level_of(guessed, TotalVariation(), error)
    with pytest.raises(ValueError, match="which cannot bound the Renyi divergence of order 2"):
        level_of(guessed, Renyi(2.0), error)


def test_chosen_guesses_are_compared_at_the_first_point_with_a_small_delta():
    """It has delta at most 0.4 error / n^(1/3), or else the smallest claimed delta."""
    most = 0.4 * 0.05 / 2000 ** (1 / 3)
    for claim, place in (
        (((0.1, 0.3), (0.2, 1.001 * most), (0.5, most), (0.9, 0.0)), 2),
        (((0.1, 0.3), (0.2, 0.005), (0.5, 0.005), (0.9, 0.3)), 1),
    ):
        counts = GuessCounts(2000, 350, 250, 500, revealed=9)
        margin, crossing = counts.compare(Profile(), 0.95, claim, 1)
        epsilon, delta = claim[place]
        shown = delta_of_chosen(counts.guessed, epsilon, 0.05)
        assert margin == pytest.approx(shown - delta, rel=1e-9) and margin > 0
        assert crossing == pytest.approx((epsilon, shown, delta), rel=1e-9)
    above, nothing = CHOSEN.compare(Profile(), 0.95, ((3.0, 0.0),), 1)
    assert (above, nothing) == (0, None)


def test_fixed_guesses_are_compared_at_the_point_with_the_smallest_p_value():
    claim = ((0.0, 0.9), (0.3, 0.0015), (0.6, 0.0003), (1.2, 0.0003), (5.0, 1.0))
    values = [one_run_p_value(*FIXED.guessed, *point) if point[1] < 1 else 1.0 for point in claim]
    place = min(range(5), key=values.__getitem__)
    assert 0 < place < 4 and 1e-12 < values[place] < 0.01, values
    epsilon, delta = claim[place]
    margin, crossing = FIXED.compare(Profile(), 0.95, claim, 1)
    shown = delta_of_guesses(FIXED.guessed, epsilon, 0.05 * (1 + 1e-12))
    assert crossing == pytest.approx((epsilon, shown, delta), rel=1e-6) and shown > delta
    assert 0.05 - values[place] <= margin < 0.05
    # If the error is smaller than the p-value, no point of the curve is exceeded.
    margin, crossing = FIXED.compare(Profile(), 1 - 0.9 * values[place], claim, 1)
    assert crossing is None
    # A number is compared with its own level.
    bound = FIXED.state(Epsilon(), 0.95).lower_bound
    margin, crossing = FIXED.compare(Epsilon(), 0.95, 0.5, 1)
    assert margin == pytest.approx(bound - 0.5) and crossing is None
    assert math.isfinite(margin)


def test_a_share_of_the_error_is_all_that_a_curve_is_compared_with():
    claim = ((0.3, 0.0015), (0.6, 0.0003))
    values = [one_run_p_value(*FIXED.guessed, *point) for point in claim]
    least = min(values)
    for share, is_refuted in ((1.0, True), (0.4, False)):
        counts = GuessCounts(2000, 70, 50, 100, share=share)
        # The whole error is twice the p-value.
        margin, crossing = counts.compare(Profile(), 1 - 2 * least, claim, 1)
        assert (crossing is not None) == is_refuted
        whole = FIXED.compare(Profile(), 1 - 2 * least, claim, 1)[0]
        assert margin == pytest.approx(whole - 2 * (1 - share) * least, rel=1e-6)


def test_p_values_of_whole_curves_are_at_least_1e_14():
    found = _of_curve(Guessed(1000, 900, 900), ((0.1, 0.0), (0.5, 0.0)))
    assert found == pytest.approx(1e-14, rel=1e-6)
