"""Audit of calls by guesses: fair coins decide which of two databases each call gets."""

import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.core import random
from dpjax.inference import Guessed
from dpjax.methods._numbers_of_guesses import Numbers, cautious, count
from dpjax.notions import CallGuessCounts, Gdp, Notion, Profile, Terms, level_of_calls
from dpjax.results import Finding, Observed, Witness, compared, conclude
from dpjax.sources import Flips, Source
from dpjax.sources._flips import in_order

_ORDER = 4
"""Seed of the random generator that orders equal scores."""

_CAUTIONS = 2.0, 1.0, 0.0
"""Numbers of standard deviations by which the accuracy of guesses is reduced.

Smaller ones apply if the expected bound is 0 for larger ones. The mean bounds were 0.65, 0.70 and
0.66 with 1, 2 and 3 standard deviations, for equal or no guesses about the two databases, over
1,000, 3,000 and 20,000 calls and five mechanisms: Laplace, Gaussian, randomized response, and two
that rarely leak.
"""

_SIZES, _LEAST_SHARE, _LARGEST_SHARE, _LEAST_GUESSES = 16, 3e-4, 0.8, 10
"""Candidate numbers of guesses about each database.

There are _SIZES of them, from the fraction _LEAST_SHARE of the calls, but at least _LEAST_GUESSES,
to the fraction _LARGEST_SHARE; and 0.
"""


class Plan(NamedTuple):
    """Numbers of calls and guesses.

    Attributes:
        num_calls: Number of calls.
        share: Fraction of the calls whose coins are revealed.
        given: Numbers of guesses, or None to choose them from the revealed coins.
    """

    num_calls: int
    share: float
    given: Numbers | None


def finding_of_calls(source: Source, pairs: object, terms: Terms, plan: Plan, run: int) -> Finding:
    """Make the calls of one run, guess the coins, and return the findings.

    The numbers of guesses are fixed before the guessed coins are tossed, so the bound is exact for
    fixed numbers of guesses and uses the entire error probability.
    """
    words = random.words_of(terms.root).tolist()
    progress = terms.layout.progress
    flipped = source.flipped(pairs, Flips(words, run, plan.num_calls, plan.share, progress))
    generator = np.random.default_rng([*words, _ORDER, run])
    error, judged = 1 - terms.own_confidence, len(flipped.coins)
    # Claimed profiles are refuted at their most suitable point, so rank numbers of guesses by mu.
    ranked_by = Gdp() if isinstance(terms.notion, Profile) and terms.claimed else terms.notion
    numbers = plan.given or best_numbers_of_calls(flipped.revealed, judged, ranked_by, error)
    coins = in_order(flipped.scores, flipped.coins, generator)
    counted = count(coins, numbers, kind=CallGuessCounts)
    # Describe the outputs that lead to most of the guesses, or to guesses of the database.
    of_database = numbers.inside >= numbers.outside
    last = (
        _last_score(flipped.scores, numbers.inside)
        if of_database
        else -_last_score(-flipped.scores, numbers.outside)
    )
    event = partial(flipped.event, last, of_database)
    inside = flipped.scores >= last if of_database else flipped.scores <= last
    shares = [float(inside[side].mean()) for side in (flipped.coins, ~flipped.coins)]
    return Finding(
        statement=conclude(counted, terms),
        evidence=Observed(counted, {**flipped.settings, "generator": "PCG64"}),
        notes=[*terms.notes(), *flipped.notes],
        witness=Witness(
            **compared(flipped.pairs, flipped.pair),
            output=event(False).removeprefix("the output is "),
            densities=(shares[0], shares[1]),
            larger="database" if of_database else "neighbor",
            event=event(True),
        ),
        pairs=flipped.pairs,
    )


def _last_score(scores: NDArray[np.float64], guesses: int) -> float:
    """Return the lowest score of the outputs that lead to most guesses about the highest scores.

    If many outputs have the lowest score, and few of them were chosen at random for guesses, then
    the result is the next higher score.
    """
    ranked = np.sort(scores)[::-1]
    last = ranked[guesses - 1]
    higher, equal = int((scores > last).sum()), int((scores == last).sum())
    return float(ranked[higher - 1] if higher and 2 * (guesses - higher) < equal else last)


def best_numbers_of_calls(
    revealed: NDArray[np.bool_], judged: int, notion: Notion, error: float
) -> Numbers:
    """Return the numbers of guesses with the largest expected bound.

    Args:
        revealed: bool [revealed], revealed coins in decreasing order of score.
        judged: Number of calls whose coins are not revealed.
        notion: Notion of the bound.
        error: Error probability of the bound.
    """
    best, numbers = 0.0, None
    for caution in _CAUTIONS:
        for inside, outside in _candidates(judged):
            one, other = (round(n / judged * len(revealed)) for n in (inside, outside))
            right = np.append(revealed[:one], ~revealed[len(revealed) - other :])
            if not right.size:
                continue
            made = inside + outside
            share = cautious(right, caution)
            guessed = Guessed(judged, made, math.floor(share * made))
            found = level_of_calls(guessed, notion, error, above=best)
            if found > best:
                best, numbers = found, Numbers(inside, outside)
        if numbers is not None:
            return numbers
    # No numbers promise a bound above 0. Guesses about half of the calls are the best choice for
    # outputs that say little.
    return Numbers(judged // 4, judged // 4)


def _candidates(judged: int) -> Iterator[tuple[int, int]]:
    """Yield candidate numbers of guesses about the database, and about the neighbor."""
    least = min(max(_LEAST_GUESSES / judged, _LEAST_SHARE), 0.25)
    shares = np.geomspace(least, _LARGEST_SHARE, _SIZES)
    sizes = [0, *np.round(shares * judged).astype(int).tolist()]
    # Guesses about all calls are best for the total variation.
    halves = [(size, judged - size) for size in sizes]
    yield from ((a, b) for a in sizes for b in sizes if 0 < a + b <= judged)
    yield from halves
