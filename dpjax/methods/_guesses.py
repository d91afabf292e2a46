"""Audit of one run, based on guesses about which canaries were included.

A fair coin decides whether each canary is included, and guesses are made from the canaries' scores.
By default, two sets of guesses are made, and each set uses a part of the error probability:

- The planned set contains guesses about all canaries. The number of guesses depends only on the
  number of canaries, and the bound is exact.
- The chosen set contains guesses about a random subset of the canaries. The coins of the other
  canaries are revealed to choose the number of guesses.

The set with the larger bound is reported.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.core import random, validate
from dpjax.core.options import option
from dpjax.core.wording import EVENTS, BadValue, Powerless, Sentence, term
from dpjax.inference import (
    Guessed,
    delta_of_curves,
    epsilon_of_chosen,
    gaussian_gain,
    pure_epsilon,
    refutes,
)
from dpjax.notions import Epsilon, Gdp, GuessCounts, Notion, Terms, level_of
from dpjax.results import NOT_REFUTED, VIOLATED, Conclusion, Finding, Findings, Observed, conclude
from dpjax.sources import ONE_RUN, Source

_PLANNED_ERROR, _PLANNED_ERROR_FOR_MU = 0.7, 0.9
"""Fraction of the error probability that is used for the planned guesses.

The rest of the error probability is used for the chosen guesses. _PLANNED_ERROR_FOR_MU applies to
mu of Gaussian differential privacy, and _PLANNED_ERROR applies to other notions.
"""

_PLANNED_FACTOR = 2.5
"""Factor for the size of the planned set.

If there are n canaries, the planned set has _PLANNED_FACTOR sqrt(n) guesses for the highest scores
and the same number of guesses for the lowest scores. The factor was chosen for Gaussian canaries;
see `benchmarks/one_run.py`.
"""

_ORDER, _REVEALED = 1, 2
"""Seeds for two random generators: one orders equal scores, and one selects the revealed coins."""

_SIZES, _LARGEST_SHARE, _LEAST_SHARE, _LEAST_GUESSES = 14, 0.45, 3e-4, 10
"""Candidate sizes of the chosen set.

There are _SIZES sizes, from the fraction _LEAST_SHARE to the fraction _LARGEST_SHARE of the number
of canaries. Each size is at least _LEAST_GUESSES.
"""


class _Numbers(NamedTuple):
    """Numbers of guesses: first the guesses "included", then the guesses "left out"."""

    inside: int
    outside: int


@dataclass(frozen=True)
class Guesses:
    """Lower bound, valid for every mechanism, from guesses about which canaries one run included.

    Canaries with the highest scores are guessed to be included, and canaries with the lowest scores
    are guessed to be left out. The bound is valid even if the scores of different canaries are
    dependent.

    If both `num_in` and `num_out` are None, two sets of guesses are made, each with a part of the
    error probability. The set with the larger bound is reported. If there are n canaries, the
    planned set contains about 2.5 sqrt(n) guesses for the highest scores and the same number of
    guesses for the lowest scores. For the chosen set, the coins of some canaries are revealed. The
    numbers of guesses are chosen to maximize the expected bound, which is estimated from the
    revealed coins. The chosen set contains only guesses about canaries whose coins are not
    revealed.

    Attributes:
        num_in: Number of canaries that are guessed to be included.
        num_out: Number of canaries that are guessed to be left out.
        reveal_fraction: Fraction of the canaries whose coins are revealed for the chosen set.

    Raises:
        TypeError: If a number of guesses is not an integer.
        ValueError: If a number of guesses is negative, if both numbers are 0, or if
            `reveal_fraction` is outside (0, 1).

    References:
        Steinke, Nasr, Jagielski (2023), Algorithm 1.
    """

    num_in: int | None = option(
        "Number of canaries that are guessed to be included. Default: chosen by dpjax.",
        default=None,
    )
    num_out: int | None = option(
        "Number of canaries that are guessed to be left out. Default: chosen by dpjax.",
        default=None,
    )
    reveal_fraction: float = option(
        "Share of the canaries whose coins are revealed to choose the number of guesses.",
        default=0.3,
    )
    name: ClassVar[str] = "guesses"
    bounded: ClassVar[bool] = True

    def __post_init__(self):
        validate.open_unit(reveal_fraction=self.reveal_fraction)
        for name in ("num_in", "num_out"):
            if (given := getattr(self, name)) is not None:
                validate.positive_int(0, **{name: given})
        if self._given is not None and sum(self._given) == 0:
            raise BadValue("num_in and num_out must not both be 0.")

    @property
    def _given(self) -> _Numbers | None:
        if self.num_in is None and self.num_out is None:
            return None
        return _Numbers(self.num_in or 0, self.num_out or 0)

    def accepts(self, source: Source) -> str | None:
        """Return None if a source can be audited, and otherwise a message that explains why not."""
        if source.has_canaries:
            return None
        return Sentence(
            f"{term('Guesses', '--method guesses')} needs the scores of canaries in one run "
            f"({term('dpjax.OneRun', '--one-run')}), but {source.name} has none: use {EVENTS}."
        )

    def run(
        self, source: Source, pairs: object, terms: Terms, runs: NDArray[np.int32] = ONE_RUN
    ) -> Findings:
        """Return the findings of a batch of runs.

        Args:
            source: Source with canaries, such as `OneRun`.
            pairs: Must be None because the audit uses canaries instead of pairs.
            terms: Notion, claim and confidence of the audit.
            runs: int32 [runs], indices of the runs. A recorded run has the index 0.

        Raises:
            ValueError: If `pairs` is not None, if the distance is not 1, if guesses give no bound
                for the notion, or if there are more guesses than canaries.
        """
        if pairs is not None:
            raise BadValue(
                "pairs must be left out for one run because canaries take the place of pairs."
            )
        if terms.distance != 1:
            raise BadValue(
                "distance must be 1 in a one-run audit, because each canary is one unit of "
                f"privacy, but was {terms.distance}."
            )
        level_of(Guessed(1, 1, 0), terms.notion, 0.5)  # Raise the error for other notions.
        return Findings.of(*(self._found(source, terms, run) for run in runs.tolist()))

    def _found(self, source: Source, terms: Terms, run: int) -> Finding:
        words = random.words_of(terms.root).tolist()
        scores, included = source.canaries(words, run)
        coins = _in_order(scores, included, np.random.default_rng([*words, _ORDER, run]))
        counted = self._counted(coins, [*words, _REVEALED, run], terms)
        settings = {"canaries": len(coins), "generator": "PCG64"}
        if source.repeatable:
            settings["repeatable"] = True
        observed = Observed(counted, settings)
        stated = conclude(counted, terms)
        notes = [*terms.notes(), *_direction(counted)]
        if stated.verdict == NOT_REFUTED:
            # No scores lead to a larger bound than those that separate the two kinds of canaries.
            best = self._counted(np.sort(coins)[::-1], [*words, _REVEALED, run], terms)
            notes += _powerless(conclude(best, terms))
        return Finding(stated, observed, notes)

    def _counted(self, coins: NDArray[np.bool_], seed: list[int], terms: Terms) -> GuessCounts:
        """Return the reported set of guesses.

        Args:
            coins: bool [canaries], whether each canary was included, in decreasing order of score.
            seed: Seed for the choice of the coins that are revealed.
            terms: Notion, claim and confidence of the audit.
        """
        if self._given is not None:
            return _count(coins, self._given)
        revealed = np.zeros(len(coins), bool)
        number = min(max(round(self.reveal_fraction * len(coins)), 1), len(coins) - 2)
        revealed[np.random.default_rng(seed).permutation(len(coins))[:number]] = True
        return _better(_planned(coins, terms), _chosen(coins, revealed, terms), terms)


def _in_order(
    scores: NDArray[np.float64], included: NDArray[np.bool_], generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Return the coins of the canaries sorted by decreasing score, with ties in random order."""
    shuffled = generator.permutation(len(scores))
    return included[shuffled[np.argsort(-scores[shuffled], kind="stable")]]


def _count(
    coins: NDArray[np.bool_], numbers: _Numbers, revealed: int = 0, share: float = 1.0
) -> GuessCounts:
    """Count the correct guesses about coins, which must be sorted by decreasing score.

    Args:
        coins: bool [canaries], whether each canary was included, in decreasing order of score.
        numbers: Number of guesses for the highest scores, and number of guesses for the lowest
            scores.
        revealed: Number of other canaries whose coins were revealed.
        share: Fraction of the error probability that is used for the guesses.
    """
    inside, outside = numbers
    if inside + outside > len(coins):
        raise BadValue(
            f"the sum of num_in and num_out must not exceed the number of canaries, {len(coins)}, "
            f"but they were {inside} and {outside}."
        )
    right = int(coins[:inside].sum()) + int((~coins[len(coins) - outside :]).sum())
    return GuessCounts(len(coins), inside, outside, right, revealed, share)


def _planned_error(notion: Notion) -> float:
    """Return the fraction of the error probability that is used for the planned guesses."""
    return _PLANNED_ERROR_FOR_MU if isinstance(notion, Gdp) else _PLANNED_ERROR


def _planned(coins: NDArray[np.bool_], terms: Terms) -> GuessCounts:
    """Make the planned set of guesses about all coins, and count the correct guesses."""
    most = math.floor(_LARGEST_SHARE * len(coins))
    size = min(round(_PLANNED_FACTOR * math.sqrt(len(coins))), most)
    return _count(coins, _Numbers(size, size), share=_planned_error(terms.notion))


def _chosen(coins: NDArray[np.bool_], revealed: NDArray[np.bool_], terms: Terms) -> GuessCounts:
    """Choose numbers of guesses using revealed coins; count correct guesses about hidden coins."""
    judged = coins[~revealed]
    numbers = _best_numbers(coins[revealed], len(judged), terms)
    return _count(judged, numbers, int(revealed.sum()), 1 - _planned_error(terms.notion))


def _better(planned: GuessCounts, chosen: GuessCounts, terms: Terms) -> GuessCounts:
    """Return the set of guesses with the larger bound.

    The bounds from the planned set and from the chosen set hold jointly.
    """
    notion = _searched_for(terms.notion)
    bound = planned.answer(notion, terms.own_confidence, 1, None).lower_bound
    # First compute the bound that would be valid if the chosen numbers had been fixed in advance.
    # If this bound is too small, the valid bound, which is smaller and slower to compute, is not
    # needed.
    if level_of(chosen.guessed, notion, chosen.share * (1 - terms.own_confidence)) <= bound:
        return planned
    other = chosen.answer(notion, terms.own_confidence, 1, None).lower_bound
    return chosen if other > bound else planned


def _best_numbers(revealed: NDArray[np.bool_], judged: int, terms: Terms) -> _Numbers:
    """Return the numbers of guesses with the largest expected bound.

    Args:
        revealed: bool [revealed], revealed coins in decreasing order of score.
        judged: Number of canaries whose coins are not revealed.
        terms: Notion, claim and confidence of the audit.
    """
    notion = terms.notion
    error = (1 - _planned_error(notion)) * (1 - terms.own_confidence)
    # For other notions, rank numbers of guesses by their bound on epsilon at a suitable delta.
    delta = notion.delta if isinstance(notion, Epsilon) else delta_of_curves(judged, error)
    best, numbers = -math.inf, None
    for share in _shares(judged):
        size, tried = max(round(share * judged), 1), max(round(share * len(revealed)), 1)
        accuracy = [_cautious(part, tried) for part in (revealed[:tried], ~revealed[-tried:])]
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
                best, numbers = found, _Numbers(ends[0] * size, ends[1] * size)
    assert numbers is not None
    return numbers


def _searched_for(notion: Notion) -> Notion:
    """Return the notion whose bounds decide which of the two sets of guesses is reported."""
    return notion if isinstance(notion, Epsilon) else Gdp()


def _shares(judged: int) -> Iterator[float]:
    """Yield candidate numbers of guesses at one end of the scores, as fractions of the canaries."""
    least = min(max(_LEAST_GUESSES / judged, _LEAST_SHARE), _LARGEST_SHARE)
    yield from np.geomspace(least, _LARGEST_SHARE, _SIZES).tolist()


def _cautious(right: NDArray[np.bool_], tried: int) -> float:
    """Return the observed accuracy of guesses minus one standard deviation.

    Args:
        right: bool [tried], whether each guess is correct.
        tried: Number of guesses.

    References:
        Wilson (1927).
    """
    share = right.mean()
    spread = math.sqrt(share * (1 - share) / tried + 1 / (4 * tried**2))
    return (share + 1 / (2 * tried) - spread) / (1 + 1 / tried)


def _direction(counted: GuessCounts) -> list[str]:
    """Return a note if the scores probably have the wrong sign."""
    _, made, right = counted.guessed
    if right >= made / 2 - 4 * math.sqrt(made / 4):
        return []
    return [
        "Fewer guesses were correct than expected by chance: scores must be higher for canaries "
        "that are more likely to have been included."
    ]


def _powerless(best: Conclusion) -> list[str]:
    """Return a note if not even the best scores would have refuted the claim.

    For instance, a mechanism that reveals all coins with probability delta satisfies every claim at
    delta, so guesses refute such a claim only if the error probability is above delta.

    Args:
        best: Conclusion of the same audit with scores that reveal all coins.
    """
    if best.verdict == VIOLATED:
        return []
    more = term("num_in and num_out", "--num-in and --num-out")
    return [
        Powerless(
            "The claim would not have been refuted even if the scores revealed all coins: use a "
            f"lower confidence, more canaries, or more guesses ({more})."
        )
    ]
