"""Audit by events that are chosen using the search set and counted in the confirmation set.

The bound is computed only from the counts of an event. Therefore, the method supports every kind of
output, and the bound is valid at every sample size without assumptions. For notions whose level
cannot be bounded from one event, a chain of nested sets is counted instead.

References:
    Askin, Kutta, Dette (2022), Algorithm 4, for the two stages; Buehler (1957) for the bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpjax.core import validate
from dpjax.core.numerics import finite_or_none
from dpjax.core.options import option
from dpjax.core.wording import BadValue, term
from dpjax.methods._candidates import num_marks, promised
from dpjax.methods._findings import finding_of
from dpjax.methods._pooled import Pools
from dpjax.methods._ranking import Chosen, choices, searched_again
from dpjax.methods._stopped import saying_so_far
from dpjax.notions import Statement, Terms
from dpjax.partitions import RegionLike, Search
from dpjax.results import NOT_RANDOM, Finding, Findings, Row
from dpjax.results._unvaried import is_not_random
from dpjax.sources import (
    ONE_RUN,
    Marked,
    Opened,
    Request,
    Rounds,
    Source,
    rounds_of,
    rounds_within,
)
from dpjax.sources._searched import unvaried_runs

_SEARCH, _CONFIRM = 20_000, 50_000
"""Default numbers of search and confirmation draws per side."""

_MANY_PAIRS, _SEARCH_MANY = 1_000, 300
"""Default sizes if there are more than _MANY_PAIRS pairs.

Each pair after the first _MANY_PAIRS pairs increases the total by only _SEARCH_MANY search draws
per side.
"""

_FEWEST = 10
"""Minimum number of draws per side for each pair."""


@dataclass(frozen=True)
class Events:
    """Lower bound from the counts of an event. The bound is valid for all sample sizes and outputs.

    The search chooses the event with the largest expected bound. The bound is then computed from
    the number of fresh draws in this event. If there are more than two pairs, the search has two
    rounds. The first round uses 5/11 of all search draws, divided equally among all pairs. The
    second round uses the remaining search draws for the best quarter of the pairs (at least 2 and
    at most 2,500 pairs). The last pair of the second round is chosen by another rule: expected
    bounds are computed as if every pair had more search draws with the same frequencies. Among the
    remaining pairs, the pair with the largest of these bounds is chosen. If multiple pairs contain
    the same database and divide its outputs into the same cells, each of these pairs uses all
    search draws from this database. For recorded outputs, the source determines the sizes of the
    search set and the confirmation set.

    Attributes:
        num_samples: n, the number of search draws per side of a pair, averaged over the pairs. If
            `num_samples` is None, n is 20,000.
        num_confirm: N, the number of fresh draws for the chosen pair, averaged over both sides. If
            `num_confirm` is None, N is 50,000. The side on which the event is rarer may have up to
            eight times as many draws as the other side.
        region: Outputs that the event may contain: (low, high) for numbers and vectors, or a list
            of outcomes for a finite space. If `region` is None, the event may contain all outputs.
        num_draws: Total number of draws per side, passed instead of `num_samples` and
            `num_confirm`. The search uses 44% of the total if there are multiple pairs, and 2/7 of
            the total if there is one pair. If no number of draws is passed, the total is 50,000
            plus 20,000 for each of the first 1,000 pairs and 300 for each additional pair.
        also: Whether to count a chain of sets in addition to the event. The option is ignored if
            the notion requires a chain. If an event and a chain are both counted, each uses half of
            the error probability, and `AuditResult.bound` works for every notion.

    Raises:
        TypeError, ValueError: If a number of draws is not an integer in [2, 2^31), or if
            `num_draws` is combined with `num_samples` or `num_confirm`.

    References:
        Karnin, Koren, Somekh (2013), for sequential halving.
    """

    num_samples: int | None = option(
        "Search draws per side of each pair (n). Default: 20000.",
        default=None,
        only=("mechanism", "function", "host", "command", "object"),
    )
    num_confirm: int | None = option(
        "Draws per side for the confirmation (N). Default: 50000.",
        default=None,
        only=("mechanism", "function", "host", "command", "object"),
    )
    region: RegionLike | None = option(
        "Range of the outputs that are compared.",
        default=None,
        kind="tuple[float, float]",
        metavar="LOW HIGH",
    )
    num_draws: int | None = option(
        "Total draws per side, for the search and the confirmation together.",
        default=None,
        only=("mechanism", "function", "host", "command", "object"),
    )
    also: bool = option(
        "Also count a chain of sets, with half of the error probability, to bound every notion.",
        default=False,
        flag="--also",
    )
    name: ClassVar[str] = "events"
    bounded: ClassVar[bool] = True

    def __post_init__(self):
        names = ("num_samples", "num_confirm", "num_draws")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        validate.draws(**given)
        if self.num_draws is not None and len(given) > 1:
            raise BadValue(
                "num_draws is the total number of draws, so it cannot be combined with "
                f"{' and '.join(map(term, sorted(given.keys() - {'num_draws'})))}."
            )

    def rounds(self, num_pairs: int) -> Rounds:
        """Return the number of draws in each round of the search and in the confirmation.

        Args:
            num_pairs: Number of pairs, at least 1.

        Raises:
            ValueError: If `num_draws` is too small for the number of pairs.
        """
        if self.num_samples is not None or self.num_confirm is not None:
            search = num_pairs * (self.num_samples or _SEARCH)
            return rounds_of(num_pairs, search, self.num_confirm or _CONFIRM)
        if self.num_draws is None:
            further = max(num_pairs - _MANY_PAIRS, 0)
            usual = rounds_within(num_pairs, (num_pairs - further) * _SEARCH + _CONFIRM)
            if not further:
                return usual
            search = usual.searched(num_pairs) + further * _SEARCH_MANY
            return rounds_of(num_pairs, search, usual.num_confirm)
        if self.num_draws < _FEWEST * num_pairs:
            raise BadValue(
                f"num_draws must be at least {_FEWEST * num_pairs} ({_FEWEST} for each pair), but "
                f"was {self.num_draws}."
            )
        return rounds_within(num_pairs, self.num_draws)

    def accepts(self, source: Source) -> str | None:
        """Return None because events can be counted for every kind of output."""
        return None

    def run(
        self, source: Source, pairs: object, terms: Terms, runs: NDArray[np.int32] = ONE_RUN
    ) -> Findings:
        """Audit a batch of runs.

        Args:
            source: Source of any kind.
            pairs: Pairs of databases, in any form that `dpjax.audit` accepts.
            terms: Notion, claim and confidence of the audit.
            runs: int32 [runs], indices of the runs.

        Raises:
            ValueError: If the region does not match the kind of the outputs, or if it contains no
                output of the search set.
        """
        request = Request(
            self.rounds,
            self.region,
            partial(promised, terms),
            terms.root,
            terms.layout,
            runs,
            terms.kept,
        )
        with (
            source.opened(pairs, request) as opened,
            saying_so_far(opened.tally, terms) as so_far,
        ):
            searches = opened.search()
            _refuse_empty_region(searches, opened)
            unvaried = unvaried_runs(searches)
            rounds = self.rounds(len(searches))
            pools = Pools(searches, opened.pairs)
            ranks = searched_again(searches, pools, opened, terms, rounds, len(runs))
            chosen = choices(searches, pools, ranks, terms, opened, self.also)
            pairs_chosen = np.array([each.pair for each in chosen])
            size = max(len(each.candidate.marks) for each in chosen)
            marks = [each.candidate.marks for each in chosen]
            padded = np.stack([np.pad(row, (0, size - len(row))) for row in marks])
            if len(chosen) == 1:
                so_far.evidence = chosen[0].candidate.evidence
            marked = Marked(pairs_chosen, padded, num_marks(chosen[0].candidate))
            if opened.shares:
                sizes = [each.candidate.sizes(opened.num_confirm) for each in chosen]
                marked = marked._replace(sides=np.stack(sizes))
            counts = opened.count(marked)

        def finding(run: int) -> Finding:
            search, candidate, pair, scores = chosen[run]
            ranked = tuple((opened.pairs.labels[p], finite_or_none(s)) for p, s in scores)
            return finding_of(opened, search, candidate, pair, counts[run], terms, (rounds, ranked))

        def rows() -> list[Row]:
            found = _rows(chosen, counts, terms)
            for run, row in enumerate(found):
                if unvaried[run, row.pair] and _is_not_random(finding(run)):
                    found[run] = row._replace(verdict=NOT_RANDOM)
            return found

        return Findings(finding, rows)


def _is_not_random(found: Finding) -> bool:
    """Return whether a run whose outputs never varied has the verdict "not random"."""
    counts = None if found.witness is None else found.witness.event_counts
    error = 1 - found.statement.own_confidence
    return is_not_random(found.statement.verdict, counts, found.evidence.trials, error)


def _refuse_empty_region(searches: list[Search], opened: Opened) -> None:
    """Raise an error if the region contains no output of the search set."""
    for search in searches:
        if search.allowed is None or search.halves[..., search.allowed].any():
            return
    raise ValueError(
        f"region {opened.region} lies outside the support of the outputs: no output of the search "
        "set lies in the region."
    )


def _rows(chosen: Sequence[Chosen], counts: NDArray[np.int64], terms: Terms) -> list[Row]:
    """Return the rows of a sweep, one per run."""
    notion, sure, distance = terms.notion, terms.own_confidence, terms.distance
    if chosen[0].candidate.chain is not None:
        curve = terms.claimed if isinstance(terms.claimed, tuple) else None
        return [
            Row(c.candidate.evidence(of_run).state(notion, sure, 1, curve, distance), c.pair)
            for c, of_run in zip(chosen, counts, strict=True)
        ]
    larger = np.array([c.candidate.event.larger for c in chosen if c.candidate.event is not None])
    # Put the side on which the event is likelier first.
    sides = np.stack([larger, 1 - larger], axis=1)
    inside = np.take_along_axis(counts[..., 1], sides, axis=1)
    trials = np.take_along_axis(counts.sum(axis=2), sides, axis=1)
    sizes, place = np.unique(trials, axis=0, return_inverse=True)
    bounds, estimates = np.empty((2, len(chosen)))
    for number, (first, second) in enumerate(sizes.tolist()):
        of_size = place.ravel() == number
        x, y = inside[of_size].T
        bounds[of_size] = notion.of_event(x, y, (first, second), sure, distance)
        estimates[of_size] = notion.of_shares(x / first, y / second, distance)
    return [
        Row(Statement(float(bound), finite_or_none(float(estimate)), "exact binomial"), c.pair)
        for c, bound, estimate in zip(chosen, bounds, estimates, strict=True)
    ]
