"""The rungs of a search: how many pairs and draws each rung has, and how it scores its pairs."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core import random
from dpjax.core.execution import Execution
from dpjax.core.wording import BadValue, amount
from dpjax.databases.spaces import Proposed
from dpjax.methods._candidates import promised
from dpjax.methods._stacks import stacks_of
from dpjax.notions import Notion, Terms
from dpjax.partitions import Budget, RegionLike, Search
from dpjax.sources import Request, Rounds, Source

FEWEST = 24
"""Minimum number of draws per side of each pair in the first rung."""

RUNG_DRAWS = 12_000
"""Default total number of draws in a rung, on both sides of all pairs."""

_VARIED = 0.5
"""Number of variations that a later rung adds for each kept pair."""

_PLANNED, _LEAST_PLANNED = 20_000, 50
"""Limits on the number of confirmation draws per side from which expected bounds are computed.

_PLANNED is the upper limit. If the time limit allows fewer than _LEAST_PLANNED draws for a pair,
the pair is dropped.
"""

_FIRST_SHARE, _FIRST_DRAWS = 0.35, 6
"""Share of the time limit that the first rung may take to make _FIRST_DRAWS draws per side of each
pair. With 3 draws, a search would lose the only pair of level 2 in one of four cases; with 6, in
none of 40.
"""

_LEAST_SHARE = 0.25
"""Minimum time that a side of a pair is given, divided by its equal share of the remaining time."""

_AUDIT_SHARE = 1.5
"""Assumed duration of the audit, divided by the duration of the search."""

JUMP_SHARE = 0.25
"""Largest share of the budget and of the time limit that the search for jumps may use.

If there is a time limit, scoring the pairs that the search finds may take another quarter of its
time.
"""


@dataclass(frozen=True)
class Ladder:
    """Plan of a search: its limits, and the numbers of pairs that its rungs keep.

    Attributes:
        budget: Total number of draws in all rungs, over both sides of all pairs, or None for the
            default.
        seconds: Time limit for all rungs in seconds, or None for no limit.
        keep: Number of pairs that the search returns.
        factor: Number of pairs in a rung, divided by the number of pairs that are kept for the next
            rung.
        each: Total number of draws in each rung if there is no budget.
    """

    budget: int | None
    seconds: float | None
    keep: int
    factor: int
    each: int = RUNG_DRAWS

    def rungs(self, num_pairs: int) -> list[tuple[int, int]]:
        """Return, for each rung, the number of pairs and the number of draws per side of each pair.

        Raises:
            ValueError: If the budget is too small.
        """
        sizes = self._sizes(num_pairs)
        each = self.each if self.budget is None else self.budget // len(sizes)
        rungs = [(size, each // (2 * size)) for size in sizes]
        if self.budget is None:
            return [(size, max(draws, FEWEST)) for size, draws in rungs]
        if rungs[0][1] < FEWEST:
            raise BadValue(
                f"budget must be at least {_least(sizes)} draws for "
                f"{amount(num_pairs, 'pair')} in {amount(len(sizes), 'round')}, but was "
                f"{self.budget}."
            )
        return rungs

    def time_of_rung(self, number: int, count: int, spent: float) -> tuple[float, float]:
        """Return the time limit of a rung in seconds, and the extended limit; see `Rung.ranked`.

        Args:
            number: Index of the rung.
            count: Number of rungs.
            spent: Time that the earlier rungs took, in seconds.
        """
        assert self.seconds is not None
        if number:
            left = (self.seconds - spent) / (count - number)
            return min(self.seconds / count, left), 0.0
        return self.seconds / count, _FIRST_SHARE * self.seconds

    def spare(self, num_pairs: int) -> float:
        """Return the maximum number of draws that a search for jumps may make."""
        if self.budget is None:
            return np.inf
        return min(JUMP_SHARE * self.budget, self.budget - _least(self._sizes(num_pairs)))

    def without_jumps(self, draws: float) -> "Ladder":
        """Return the plan of the rungs, if a search for jumps may make a number of draws."""
        seconds = None if self.seconds is None else (1 - JUMP_SHARE) * self.seconds
        budget = None if self.budget is None else self.budget - int(draws)
        return replace(self, budget=budget, seconds=seconds)

    def _sizes(self, num_pairs: int) -> list[int]:
        """Return the number of pairs in each rung."""
        sizes = [num_pairs]
        while sizes[-1] > self.keep * self.factor:
            kept = max(self.keep, -(-sizes[-1] // self.factor))
            # With variations, a factor of 2 would not reduce a few pairs any further.
            sizes.append(min(kept + round(_VARIED * kept), sizes[-1] - 1))
        return sizes


def _least(sizes: list[int]) -> int:
    """Return the smallest budget for rungs with the given numbers of pairs."""
    return 2 * FEWEST * len(sizes) * sizes[0]


class Ranked(NamedTuple):
    """Scores of the pairs in a rung.

    Attributes:
        scores: float64 [pairs], expected bounds. The score of a pair is -infinity if the pair is
            too slow, if the rung had no time for it, or if a JAX mechanism does not accept it.
        paces: float64 [pairs], measured time per output in seconds, or 0 without a time limit.
        drawn: Total number of outputs on both sides of all pairs.
    """

    scores: NDArray[np.float64]
    paces: NDArray[np.float64]
    drawn: int

    @property
    def pace(self) -> float:
        """Median time per output of the pairs whose time was measured, or 0 if there is none."""
        measured = self.paces[self.paces > 0]
        return float(np.median(measured)) if len(measured) else 0.0

    def joined(self, other: "Ranked", places: list[int]) -> "Ranked":
        """Return the scores of all pairs of this rung, and of some pairs of another rung."""
        return Ranked(
            np.concatenate([self.scores, other.scores[places]]),
            np.concatenate([self.paces, other.paces[places]]),
            self.drawn + other.drawn,
        )

    def best(self, count: int) -> list[int]:
        """Return the indices of the pairs with the largest finite scores, by decreasing score."""
        order = np.argsort(-self.scores, kind="stable")[:count].tolist()
        # If every pair is too slow, return the first pair. The audit then reports the problem.
        return [place for place in order if self.scores[place] > -np.inf] or [0]


Asked = Callable[[Proposed], tuple[Notion, float]]
"""Type of functions that return a pair's notion and the claim that the bound should exceed."""


@dataclass(frozen=True)
class Rung:
    """One rung of a search, which makes draws for every remaining pair.

    Attributes:
        source: Source of the outputs.
        alive: Remaining pairs.
        draws: Number of draws per side of each pair.
        terms: Claim, confidence and notion of the audit that will use the pairs.
        region: Region of the outputs that events may contain, or None for all outputs.
        key: Typed JAX key for the draws in the rung.
        asked: Function that returns each pair's notion and the level that its bound should exceed,
            or None for the notion of `terms` and the level 0.
        began: Value of `time.perf_counter()` at the start of the search.
        tell: Function that is called with the number of outputs that the rung has drawn so far, or
            None.
    """

    source: Source
    alive: list[Proposed]
    draws: int
    terms: Terms
    region: RegionLike | None
    key: Array
    asked: Asked | None
    began: float
    tell: Callable[[int], object] | None = None

    def ranked(
        self, seconds: float | None, whole: float | None = None, extended: float = 0.0
    ) -> Ranked:
        """Return the expected bounds of the pairs.

        Args:
            seconds: Time limit of the rung in seconds, or None for no limit. If there is a limit,
                outputs are drawn for one pair after another, and the remaining time is divided
                equally among the remaining pairs. The score of a pair is -infinity if the pair is
                too slow to be audited, or if the rung has no time for the pair.
            whole: Time limit for all rungs in seconds, or None for no limit.
            extended: Time limit in seconds that replaces a smaller `seconds` for a pair that would
                otherwise have fewer than _FIRST_DRAWS draws per side.
        """
        count = len(self.alive)
        if seconds is None or whole is None:
            scores, drawn = self.compared(None)
            return Ranked(scores, np.zeros(count), drawn)
        scores, paces, total = np.full(count, -np.inf), np.zeros(count), 0
        start, longer = time.perf_counter(), []
        for place in range(count):
            began, part = time.perf_counter(), range(place, place + 1)
            spent, sides = began - start, 2 * (count - place)
            needed = _FIRST_DRAWS * Ranked(scores, paces, total).pace
            over = float(np.median(longer or 0.0))
            most = _given(extended - spent, sides, over)
            each = max(_given(seconds - spent, sides, over), min(needed, most))
            if each <= 0:
                break
            searches = self._searches(part, each)
            total += _drawn(searches)
            # With a time limit, the slower side has fewer draws. Include only as many draws from
            # the faster side because the audit needs equal numbers.
            even = 2 * sum(
                int(search.halves.sum(axis=(0, 1, 3)).min()) for search in searches if search
            )
            paces[place] = (time.perf_counter() - began) / max(even, 1)
            # Compute the number of draws per side that a confirmation would have time for.
            planned = min(int(_AUDIT_SHARE * whole / (4 * paces[place])), _PLANNED)
            if planned >= _LEAST_PLANNED:
                (scores[place],) = self._promised(part, searches, planned)
            longer.append(max((time.perf_counter() - began) / 2 - each, 0.0))
        return Ranked(scores, paces, total)

    def within(self, seconds: float) -> "Rung":
        """Return the rung with a source whose time limit, if any, ends after `seconds`."""
        limit = getattr(self.source, "time_limit", None)
        if limit is None:
            return self
        return replace(self, began=time.perf_counter() - (limit - seconds))

    def compared(self, seconds: float | None) -> tuple[NDArray[np.float64], int]:
        """Return the expected bounds of all pairs, float64 [pairs], and the number of outputs.

        Args:
            seconds: Time limit of the draws in seconds, or None for no limit. Every database has an
                equal part of the time.
        """
        part = range(len(self.alive))
        searches = self._searches(part, None if seconds is None else seconds / (2 * len(part)))
        return self._promised(part, searches, _PLANNED), _drawn(searches)

    def _promised(
        self, part: range, searches: list[Search | None], planned: int
    ) -> NDArray[np.float64]:
        budget = Budget(planned, self.terms.own_confidence, len(self.alive))
        scores = []
        for place, search in zip(part, searches, strict=True):
            if search is None:
                scores.append(-np.inf)
                continue
            notion, level = self.terms.notion, 0.0
            if self.asked is not None:
                notion, level = self.asked(self.alive[place])
            scores.append(float(notion.promise(search.at(0), budget)) - level)
        return np.array(scores)

    def _searches(self, part: range, each: float | None) -> list[Search | None]:
        """Return search sets of some pairs; drawing takes at most about `each` seconds per side.

        The search set of a pair that the source does not accept is None.
        """
        request = Request(
            lambda num_pairs: Rounds(self.draws, 0, 0, _PLANNED),
            self.region,
            partial(promised, self.terms),
            self.key,
            self.terms.layout,
            seconds=each,
        )
        # The search and the audit have a common time limit.
        source = self.source.with_time_used(time.perf_counter() - self.began)
        found, seen = dict[int, Search](), 0
        for places, pairs in stacks_of(source, [self.alive[place] for place in part]):
            key = random.fold_in(self.key, part.start + places[0])
            request = replace(request, key=key, execution=self._telling(seen))
            with source.opened(pairs, request) as opened:
                found.update(zip(places, opened.search(), strict=True))
                seen += opened.tally.seen
        return [found.get(place) for place in range(len(part))]

    def _telling(self, before: int) -> Execution:
        """Return execution options that report outputs drawn after `before` earlier outputs."""
        tell = self.tell
        progress = None if tell is None else lambda done, _: tell(before + done)
        return replace(self.terms.layout, progress=progress)


def _given(left: float, sides: int, over: float) -> float:
    """Return the time to draw from one side of a pair, in seconds.

    Args:
        left: Remaining time, in seconds.
        sides: Number of sides that share the remaining time.
        over: Time by which a side exceeds the time that it is given, for instance because calls
            have been started, in seconds.
    """
    share = left / sides
    return max(share - over, _LEAST_SHARE * share)


def _drawn(searches: list[Search | None]) -> int:
    return sum(int(search.halves.sum()) for search in searches if search)
