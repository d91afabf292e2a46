"""Runs of events for notions that need a chain of sets: one kernel counts those of all runs."""

from collections.abc import Callable, Sequence

import numpy as np

from dpjax.inference import MOST_SETS
from dpjax.methods import Events
from dpjax.notions import Terms
from dpjax.partitions import Partition
from dpjax.sources import Search
from dpjax.sweeps._devices import Columns
from dpjax.sweeps._entry import Entry


def chained(
    entry: Entry,
    laid: Sequence[Partition],
    searched: tuple[np.ndarray, np.ndarray],
    num_confirm: int,
    confirmed: Callable[[np.ndarray, np.ndarray, int], np.ndarray],
) -> Columns:
    """Lays a chain for each run, confirms all of them and bounds.

    Args:
        entry: With a notion without an event of its own, or with a chain beside it.
        laid: Partition of each pair.
        searched: int64 [runs, kept, half, side, cells], counts of the search; int [runs, kept], the
            numbers of the pairs.
        num_confirm: N.
        confirmed: (pairs [runs], marks [runs, cells], number of marks) -> int64 [runs, 2, marks].
    """
    method, notion = entry.method, entry.notion
    assert isinstance(method, Events)
    terms = Terms(notion, None, entry.confidence, num_claims=1, key=0)
    counts, kept = searched
    best, chosen = np.zeros(len(kept), np.int64), []
    for run, pairs in enumerate(kept):
        plans = []
        for pair, halves in zip(pairs, counts[run], strict=True):
            part = laid[pair]
            search = Search(part, halves[..., : part.size], part.inside(entry.region))
            plans.append(method.plan(search, terms, num_confirm, len(pairs)))
        place = max(range(len(plans)), key=[(p.predicted, p.tie) for p in plans].__getitem__)
        best[run] = pairs[place]
        chosen.append(plans[place])
    marks = [np.pad(plan.marks, (0, counts.shape[-1] - len(plan.marks))) for plan in chosen]
    # As many marks for all runs, so that they share a program.
    sizes = 1 if notion.hypothesis() is None else 2
    inside = confirmed(best, np.stack(marks), sizes * (MOST_SETS + 1))
    stated = [
        plan.evidence(of_run).state(notion, entry.confidence, distance=entry.distance)
        for plan, of_run in zip(chosen, inside, strict=True)
    ]
    return {
        "lower_bound": np.array([s.lower_bound for s in stated]),
        "estimate": np.array([np.nan if s.estimate is None else s.estimate for s in stated]),
        "pair": best,
        "exact": np.ones(len(best), bool),
    }
