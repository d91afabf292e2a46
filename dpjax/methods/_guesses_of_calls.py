"""Audit of calls by guesses: fair coins decide which of two databases each call gets."""

from functools import partial
from typing import NamedTuple

import numpy as np

from dpjax.core import random
from dpjax.methods._numbers_of_guesses import Numbers, best_numbers, count, in_order
from dpjax.notions import CallGuessCounts, Terms
from dpjax.results import Finding, Observed, Witness, compared, conclude
from dpjax.sources import Flips, Source

_ORDER = 4
"""Seed of the random generator that orders equal scores."""


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
    numbers = plan.given or best_numbers(
        flipped.revealed, judged, terms.notion, error, of_same=False
    )
    coins = in_order(flipped.scores, flipped.coins, generator)
    counted = count(coins, numbers, kind=CallGuessCounts)
    ranked = np.sort(flipped.scores)[::-1]
    # Describe the outputs that lead to most of the guesses, or to guesses of the database.
    of_database = numbers.inside >= numbers.outside
    last = ranked[numbers.inside - 1] if of_database else ranked[judged - numbers.outside]
    event = partial(flipped.event, float(last), of_database)
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
