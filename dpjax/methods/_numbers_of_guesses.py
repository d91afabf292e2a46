"""Numbers of guesses, and the number of correct guesses."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.core.wording import BadValue
from dpjax.inference import (
    Guessed,
    delta_of_curves,
    epsilon_of_chosen,
    gaussian_gain,
    pure_epsilon,
    refutes,
)
from dpjax.notions import Epsilon, Gdp, GuessCounts, Notion, level_of

_PLANNED_ERROR, _PLANNED_ERROR_FOR_MU = 0.7, 0.9
"""Fraction of the error probability that is used for the planned guesses.

The rest of the error probability is used for the chosen guesses. _PLANNED_ERROR_FOR_MU applies to
mu of Gaussian differential privacy, and _PLANNED_ERROR applies to other notions.
"""

_SIZES, LARGEST_SHARE, _LEAST_SHARE, _LEAST_GUESSES = 14, 0.45, 3e-4, 10
"""Candidate sizes of the chosen set.

There are _SIZES sizes, from the fraction _LEAST_SHARE to the fraction LARGEST_SHARE of the number
of canaries. Each size is at least _LEAST_GUESSES.
"""


class Numbers(NamedTuple):
    """Numbers of guesses: first the guesses "included", then the guesses "left out"."""

    inside: int
    outside: int


def count(
    coins: NDArray[np.bool_],
    numbers: Numbers,
    revealed: int = 0,
    share: float = 1.0,
    kind: type[GuessCounts] = GuessCounts,
) -> GuessCounts:
    """Count the correct guesses about coins, which must be sorted by decreasing score.

    Args:
        coins: bool [canaries], whether each canary was included, in decreasing order of score.
        numbers: Number of guesses for the highest scores, and number of guesses for the lowest
            scores.
        revealed: Number of other canaries whose coins were revealed.
        share: Fraction of the error probability that is used for the guesses.
        kind: Class of the counts.
    """
    inside, outside = numbers
    if inside + outside > len(coins):
        raise BadValue(
            f"the sum of num_in and num_out must not exceed the number of {kind.noun} whose coins "
            f"are guessed, {len(coins)}, but they were {inside} and {outside}."
        )
    right = int(coins[:inside].sum()) + int((~coins[len(coins) - outside :]).sum())
    return kind(len(coins), inside, outside, right, revealed, share)


def planned_error(notion: Notion) -> float:
    """Return the fraction of the error probability that is used for the planned guesses."""
    return _PLANNED_ERROR_FOR_MU if isinstance(notion, Gdp) else _PLANNED_ERROR


def best_numbers(revealed: NDArray[np.bool_], judged: int, notion: Notion, error: float) -> Numbers:
    """Return the numbers of guesses with the largest expected bound.

    Args:
        revealed: bool [revealed], revealed coins in decreasing order of score.
        judged: Number of canaries whose coins are not revealed.
        notion: Notion of the bound.
        error: Error probability of the bound.
    """
    # For other notions, rank numbers of guesses by their bound on epsilon at a suitable delta.
    delta = notion.delta if isinstance(notion, Epsilon) else delta_of_curves(judged, error)
    best, numbers = -math.inf, None
    for share in _shares(judged):
        size, tried = max(round(share * judged), 1), max(round(share * len(revealed)), 1)
        ends_of_revealed = revealed[:tried], ~revealed[-tried:]
        accuracy = [*map(cautious, ends_of_revealed)]
        for ends in ((1, 1), (1, 0), (0, 1)):
            right = sum(e * math.floor(a * size) for e, a in zip(ends, accuracy, strict=True))
            guessed = Guessed(judged, sum(ends) * size, right)
            if isinstance(notion, Gdp):
                # Rank numbers of guesses by the bound for numbers fixed in advance, which is faster
                # to compute and leads to a similar order.
                if numbers is not None and not refutes(guessed, gaussian_gain(best), error):
                    continue
                found = level_of(guessed, notion, error)
            # Skip numbers whose bound at delta = 0 is too small. That bound is fast to compute.
            elif numbers is not None and (right == 0 or pure_epsilon(guessed, error) <= best):
                continue
            else:
                found = epsilon_of_chosen(guessed, delta, error)
            if found > best:
                best, numbers = found, Numbers(ends[0] * size, ends[1] * size)
    assert numbers is not None
    return numbers


def _shares(judged: int) -> Iterator[float]:
    """Yield candidate numbers of guesses at one end of the scores, as fractions of the canaries."""
    least = min(max(_LEAST_GUESSES / judged, _LEAST_SHARE), LARGEST_SHARE)
    yield from np.geomspace(least, LARGEST_SHARE, _SIZES).tolist()


def cautious(right: NDArray[np.bool_], z: float = 1.0) -> float:
    """Return the observed accuracy of guesses minus `z` standard deviations.

    Args:
        right: bool [tried], whether each guess is correct.
        z: Number of standard deviations.

    References:
        Wilson (1927).
    """
    share, tried = right.mean(), right.size
    spread = z * math.sqrt(share * (1 - share) / tried + z**2 / (4 * tried**2))
    return (share + z**2 / (2 * tried) - spread) / (1 + z**2 / tried)
