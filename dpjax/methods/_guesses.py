"""Audit by guesses about coins: which canaries one run included, or which database each call got.

A fair coin decides whether each canary is included, and guesses are made from the canaries' scores.
By default, two sets of guesses are made, and each set uses a part of the error probability:

- The planned set contains guesses about all canaries. The number of guesses depends only on the
  number of canaries, and the bound is exact.
- The chosen set contains guesses about a random subset of the canaries. The coins of the other
  canaries are revealed to choose the number of guesses.

The set with the larger bound is reported. See `_guesses_of_calls` for calls.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpjax.core import random, validate
from dpjax.core.options import option
from dpjax.core.wording import EVENTS, BadValue, Powerless, Sentence, term
from dpjax.inference import Guessed
from dpjax.methods._guesses_of_calls import Plan, finding_of_calls
from dpjax.methods._numbers_of_guesses import (
    LARGEST_SHARE,
    Numbers,
    best_numbers,
    count,
    planned_error,
)
from dpjax.notions import Epsilon, Gdp, GuessCounts, Notion, Terms, level_of
from dpjax.results import NOT_REFUTED, VIOLATED, Conclusion, Finding, Findings, Observed, conclude
from dpjax.sources import ONE_RUN, Source
from dpjax.sources._coin_scores import order_by_learned_scores
from dpjax.sources._flips import in_order

_PLANNED_FACTOR = 2.5
"""Factor for the size of the planned set.

If there are n canaries, the planned set has _PLANNED_FACTOR sqrt(n) guesses for the highest scores
and the same number of guesses for the lowest scores. The factor was chosen for Gaussian canaries;
see `benchmarks/one_run.py`.
"""

_CALLS = 20_000
"""Default number of calls."""

_ORDER, _REVEALED = 1, 2
"""Seeds for two random generators: one orders equal scores, and one selects the revealed coins."""


@dataclass(frozen=True)
class Guesses:
    """Lower bound from guesses about which canaries one run included, or which database calls got.

    **One run.** Canaries with the highest scores are guessed to be included, and canaries with the
    lowest scores are guessed to be left out. The bound is valid even if the scores of different
    canaries are dependent.

    If both `num_in` and `num_out` are None, two sets of guesses are made, each with a part of the
    error probability. The set with the larger bound is reported. If there are n canaries, the
    planned set contains about 2.5 sqrt(n) guesses for the highest scores and the same number of
    guesses for the lowest scores. For the chosen set, the coins of some canaries are revealed. The
    numbers of guesses are chosen to maximize the expected bound, which is estimated from the
    revealed coins. The chosen set contains only guesses about canaries whose coins are not
    revealed.

    **Calls of a function or program.** A fair coin decides before each call whether the call gets
    the database or the neighbor. The outputs of the first calls, whose coins are revealed,
    determine a score and the numbers of guesses. The coins of all later calls are then guessed. At
    most one worker makes the calls, so that the function keeps its state. The bound is valid even
    if outputs depend on earlier calls, as running times do, provided that the claim is about the
    sequence of all outputs. If the claim is not pure epsilon, it must hold for each call given the
    earlier outputs.

    **Recorded calls.** If somebody else made the calls, pass the outputs and the coins in the order
    of the calls as `dpjax.Recorded.of_calls`, or as `dpjax.Recorded.from_file` if a column of a
    file names the database of each row.

    Attributes:
        num_in: Number of guesses that a canary was included, or that a call got the database.
        num_out: Number of guesses that a canary was left out, or that a call got the neighbor.
        reveal_fraction: Fraction of the coins that are revealed: for canaries, in the chosen set;
            for calls, of the first calls.
        num_calls: Number of calls, or None for 20,000 calls. It must be None for canaries and for
            recorded calls.

    Raises:
        TypeError: If a number of guesses or calls is not an integer.
        ValueError: If a number of guesses is negative, if both numbers are 0, if `num_calls` is
            below 1, or if `reveal_fraction` is outside (0, 1).

    References:
        Steinke, Nasr, Jagielski (2023), Algorithm 1.
    """

    num_in: int | None = option(
        "Number of guesses that a canary was included, or that a call got the database. Default: "
        "chosen by dpjax.",
        default=None,
    )
    num_out: int | None = option(
        "Number of guesses that a canary was left out, or that a call got the neighbor. Default: "
        "chosen by dpjax.",
        default=None,
    )
    reveal_fraction: float = option(
        "Share of the coins that are revealed to choose the number of guesses.",
        default=0.3,
    )
    num_calls: int | None = option(
        "Number of calls of a function or program. If it is left out, there are 20000 calls.",
        default=None,
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
        if self.num_calls is not None:
            validate.positive_int(num_calls=self.num_calls)

    @property
    def _plan(self) -> Plan:
        return Plan(self.num_calls or _CALLS, self.reveal_fraction, self._given)

    @property
    def _given(self) -> Numbers | None:
        if self.num_in is None and self.num_out is None:
            return None
        return Numbers(self.num_in or 0, self.num_out or 0)

    def accepts(self, source: Source) -> str | None:
        """Return None if a source can be audited, and otherwise a message that explains why not."""
        if source.flips_coins:
            if source.repeatable or self.num_calls is None:
                return None
            return Sentence(
                f"{term('num_calls', '--num-calls')} must be left out for recorded calls, because "
                "all of them are used."
            )
        if source.has_canaries:
            if self.num_calls is None:
                return None
            return Sentence(
                f"{term('num_calls', '--num-calls')} must be left out for the canaries of one run, "
                "because there are no calls."
            )
        return Sentence(
            f"{term('Guesses', '--method guesses')} needs the scores of canaries in one run "
            f"({term('dpjax.OneRun', '--one-run')}), a function or program that draws its own "
            f"random numbers, or recorded outputs in the order of the calls with fair coins "
            f"({term('dpjax.Recorded.of_calls', '--by')}), but {source.name} is none of these: use "
            f"{EVENTS}."
        )

    def run(
        self, source: Source, pairs: object, terms: Terms, runs: NDArray[np.int32] = ONE_RUN
    ) -> Findings:
        """Return the findings of a batch of runs.

        Args:
            source: Source with canaries, such as `OneRun`, or a host mechanism.
            pairs: Pairs for calls. For canaries, which take the place of pairs, it must be None.
            terms: Notion, claim and confidence of the audit.
            runs: int32 [runs], indices of the runs. A recorded run has the index 0.

        Raises:
            ValueError: If canaries have pairs or a distance other than 1, if guesses give no bound
                for the notion, or if there are more guesses than canaries or calls.
        """
        level_of(Guessed(1, 1, 0), terms.notion, 0.5)  # Raise the error for other notions.
        if terms.distance != 1:
            raise BadValue(
                "distance must be 1 if coins are guessed, because each canary or call is one unit "
                f"of privacy, but was {terms.distance}."
            )
        if not source.has_canaries:
            found = partial(finding_of_calls, source, pairs, terms, self._plan)
            return Findings.of(*map(found, runs.tolist()))
        if pairs is not None:
            raise BadValue(
                "pairs must be left out for one run because canaries take the place of pairs."
            )
        return Findings.of(*(self._found(source, terms, run) for run in runs.tolist()))

    def _found(self, source: Source, terms: Terms, run: int) -> Finding:
        words = random.words_of(terms.root).tolist()
        scores, included = source.canaries(words, run)
        generator = np.random.default_rng([*words, _ORDER, run])
        mask = self._mask(len(included), [*words, _REVEALED, run])
        learned: list[str] = []
        if scores.ndim == 1:
            coins, revealed = in_order(scores, included, generator), None
        else:
            coins, revealed = order_by_learned_scores(scores, included, mask, generator)
            learned = [
                f"The score of a canary was learned from its {scores.shape[1]} numbers and from "
                f"{len(revealed):,} canaries whose coins were revealed."
            ]
        counted = self._counted(coins, revealed, mask, terms)
        settings = {"canaries": len(included), "generator": "PCG64"}
        if source.repeatable:
            settings["repeatable"] = True
        observed = Observed(counted, settings)
        stated = conclude(counted, terms)
        doubts = source.doubts_about(included)
        notes = [*terms.notes(), *doubts, *(learned or _direction(counted))]
        if stated.verdict == NOT_REFUTED:
            # No scores lead to a larger bound than those that separate the two kinds of canaries.
            coins = np.sort(coins)[::-1]
            revealed = None if revealed is None else np.sort(revealed)[::-1]
            notes += _powerless(conclude(self._counted(coins, revealed, mask, terms), terms))
        return Finding(stated, observed, notes)

    def _mask(self, number: int, seed: list[int]) -> NDArray[np.bool_]:
        """Return which coins of canaries are revealed, bool [number]."""
        mask = np.zeros(number, bool)
        revealed = min(max(round(self.reveal_fraction * number), 1), number - 2)
        mask[np.random.default_rng(seed).permutation(number)[:revealed]] = True
        return mask

    def _counted(
        self,
        coins: NDArray[np.bool_],
        revealed: NDArray[np.bool_] | None,
        mask: NDArray[np.bool_],
        terms: Terms,
    ) -> GuessCounts:
        """Return the reported set of guesses.

        Args:
            coins: Whether each canary was included, bool [n], in decreasing order of score. If
                scores were learned, there are only the canaries whose coins are hidden.
            revealed: Coins from which scores were learned, in decreasing order of score, or None if
                scores were given.
            mask: Which coins are revealed if scores were given, bool [n].
            terms: Notion, claim and confidence of the audit.
        """
        if self._given is not None:
            return count(coins, self._given)
        if revealed is not None:
            return _chosen(coins, revealed, terms, 1.0)
        share = 1 - planned_error(terms.notion)
        return _better(
            _planned(coins, terms), _chosen(coins[~mask], coins[mask], terms, share), terms
        )


def _planned(coins: NDArray[np.bool_], terms: Terms) -> GuessCounts:
    """Make the planned set of guesses about all coins, and count the correct guesses."""
    most = math.floor(LARGEST_SHARE * len(coins))
    size = min(round(_PLANNED_FACTOR * math.sqrt(len(coins))), most)
    return count(coins, Numbers(size, size), share=planned_error(terms.notion))


def _chosen(
    judged: NDArray[np.bool_], revealed: NDArray[np.bool_], terms: Terms, share: float
) -> GuessCounts:
    """Choose numbers of guesses using revealed coins; count correct guesses about hidden coins.

    Args:
        judged: Hidden coins in decreasing order of score, bool [n].
        revealed: Revealed coins in decreasing order of score, bool [m].
        terms: Notion, claim and confidence of the audit.
        share: Fraction of the error probability that is used for these guesses.
    """
    error = share * (1 - terms.own_confidence)
    numbers = best_numbers(revealed, len(judged), terms.notion, error)
    return count(judged, numbers, len(revealed), share)


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


def _searched_for(notion: Notion) -> Notion:
    """Return the notion whose bounds decide which of the two sets of guesses is reported."""
    return notion if isinstance(notion, Epsilon) else Gdp()


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
