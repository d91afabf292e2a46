"""The evidence of guesses passes its counts and its error to the right bound."""

import pytest

from dpjax.inference import (
    Guessed,
    delta_of_chosen,
    delta_of_curves,
    delta_of_guesses,
    epsilon_of_chosen,
    epsilon_of_guesses,
    mu_of_chosen,
    mu_of_guesses,
    one_run_p_value,
)
from dpjax.notions import Epsilon, Gdp, GuessCounts, Profile, Renyi, TotalVariation
from dpjax.notions.evidence._evidence import evidence_from_plain
from dpjax.notions.evidence._guesses import _at_one_point, _of_points, guesses_of

GUESSED = Guessed(1000, 100, 90)
FIXED = GuessCounts(1000, 60, 40, 90)
CHOSEN = GuessCounts(1000, 60, 40, 90, revealed=300, share=0.8)


@pytest.mark.parametrize(
    ("notion", "fixed", "chosen"),
    [
        (Epsilon(), lambda e: epsilon_of_guesses(GUESSED, 0.0, e),
         lambda e: epsilon_of_chosen(GUESSED, 0.0, e)),
        (Epsilon(1e-5), lambda e: epsilon_of_guesses(GUESSED, 1e-5, e),
         lambda e: epsilon_of_chosen(GUESSED, 1e-5, e)),
        (Gdp(), lambda e: mu_of_guesses(GUESSED, e), lambda e: mu_of_chosen(GUESSED, e)),
        (Profile(), lambda e: delta_of_guesses(GUESSED, 0.0, e),
         lambda e: delta_of_chosen(GUESSED, 0.0, e)),
        (TotalVariation(), lambda e: delta_of_guesses(GUESSED, 0.0, e),
         lambda e: delta_of_chosen(GUESSED, 0.0, e)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)  # fmt: skip
def test_bounds_use_the_share_of_the_error(notion, fixed, chosen):
    found = FIXED.answer(notion, 0.99, 1, None)
    assert (found.lower_bound, found.estimate) == (fixed(1 - 0.99), None)
    assert found.basis == "exact, one run"
    found = CHOSEN.answer(notion, 0.99, 1, None)
    assert found.lower_bound == chosen(0.8 * (1 - 0.99)) > 0 and found.basis == "one run"


def test_notions_that_guesses_do_not_bound():
    with pytest.raises(ValueError, match="guesses about coins, which cannot bound"):
        FIXED.answer(Renyi(2.0), 0.99, 1, None)


def test_a_claimed_profile_is_compared_point_by_point():
    """The point at .5 is refuted most clearly; points with delta 1 are never refuted."""
    claim = ((0.0, 1.0), (0.5, 1e-8), (3.0, 1e-8))
    p_values = [one_run_p_value(*GUESSED, epsilon, delta) for epsilon, delta in claim[1:]]
    assert p_values[0] < 1e-6 < p_values[1] and _of_points(GUESSED, claim) == (1, p_values[0])
    excess, crossing = FIXED.compare(Profile(), 0.99, claim, 1)
    assert crossing == (0.5, delta_of_guesses(GUESSED, 0.5, 1 - 0.99), 1e-8)
    assert 1 - 0.99 - p_values[0] <= excess <= 1 - 0.99
    # If a claim is not refuted, no point is named.
    excess, crossing = FIXED.compare(Profile(), 0.99, ((4.0, 0.1),), 1)
    assert crossing is None and excess < 0
    # A share of the error has the same effect as a higher confidence.
    half = GuessCounts(1000, 60, 40, 90, share=0.5)
    weak = ((2.0, 1e-5),)
    p_value = one_run_p_value(*GUESSED, *weak[0])
    for factor, refuted in ((1.01, True), (0.99, False)):
        found = half.compare(Profile(), 1 - 2 * factor * p_value, weak, 1)[1]
        assert (found is not None) == refuted


def test_chosen_numbers_compare_a_profile_at_one_point():
    error = 0.8 * (1 - 0.99)
    most = delta_of_curves(1000, error)
    claim = ((0.0, 0.9), (0.5, most * 1.01), (1.0, most), (2.0, most / 2))
    shown = delta_of_chosen(GUESSED, 1.0, error)
    assert shown > most
    expected = shown - most, (1.0, shown, most)
    assert CHOSEN.compare(Profile(), 0.99, claim, 1) == _at_one_point(GUESSED, claim, error)
    assert _at_one_point(GUESSED, claim, error) == expected
    # If no delta is small enough, it is the first point with the smallest delta.
    large = ((0.0, 0.95), (0.25, 0.9), (6.0, 0.9))
    assert most < 0.9
    shown = delta_of_chosen(GUESSED, 0.25, error)
    assert _at_one_point(GUESSED, large, error) == (shown - 0.9, None)


def test_rows_and_parts_name_the_counts():
    found = FIXED.answer(Epsilon(), 0.99, 1, None)
    (_, bound), (_, said) = FIXED.rows(found, "sure")
    assert bound == f"{found.lower_bound:.4f}, sure (exact, one run)"
    assert said == "90 of 100 right (60 in, 40 out), of 1000 canaries"
    (_, said) = CHOSEN.rows(CHOSEN.answer(Epsilon(), 0.99, 1, None), "sure")[1]
    assert said == (
        "90 of 100 right (60 in, 40 out), of 1000 canaries; the numbers of guesses were chosen "
        "with the coins of 300 others; using 80% of the error probability"
    )
    assert FIXED.table(found, "sure") == [
        ("Lower bound (exact, one run, sure)", f"{found.lower_bound:.4f}")
    ]
    (part,), (other,) = FIXED.parts(), CHOSEN.parts()
    assert [value for _, value in part.rows] == ["1,000", "0", "60", "40", "90"]
    assert [value for _, value in other.rows] == ["1,000", "300", "60", "40", "90"]
    assert "No larger bound follows" in part.text and "80%" not in part.text
    assert (
        "choice of the numbers of guesses from the output" in other.text
        and "80% of the error" in other.text
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"right": 1.0}, "guesses must be whole numbers"),
        ({"canaries": True}, "guesses must be whole numbers"),
        ({"revealed": -1}, "guesses must be whole numbers"),
        ({"share": 0.0}, "share must lie in"),
        ({"share": 1.01}, "share must lie in"),
        ({"share": "1"}, "share must lie in"),
        ({"guessed_in": 961}, "r must be at most n"),
    ],
)
def test_damaged_counts_are_refused(change, message):
    plain = CHOSEN.to_plain()
    assert guesses_of(evidence_from_plain(plain)) == CHOSEN
    for share in (1, 0.001):
        assert evidence_from_plain({**plain, "share": share}).share == share
    with pytest.raises(ValueError, match=message):
        evidence_from_plain({**plain, **change})


def test_numbers_that_were_chosen_for_a_notion_bound_no_other():
    """Bounds on two notions would each use the whole error probability."""
    said = "chose its number of guesses for epsilon, so it has no bound for mu of Gaussian"
    with pytest.raises(ValueError, match=said):
        CHOSEN.state(Gdp(), 0.99, named=Epsilon())
    assert CHOSEN.state(Gdp(), 0.99, named=Gdp()) == CHOSEN.state(Gdp(), 0.99)
    assert FIXED.state(Gdp(), 0.99, named=Epsilon()) == FIXED.state(Gdp(), 0.99)
