"""Findings of one run of an event audit: the statement, the witness and the curve."""

import numpy as np

from dpjax.methods._candidates import Candidate
from dpjax.notions import Terms
from dpjax.partitions import Search
from dpjax.partitions._curve import curve_of, ranked_boxes
from dpjax.results import Finding, Observed, Witness, compared, conclude
from dpjax.sources import Opened, Rounds


def finding_of(
    opened: Opened,
    search: Search,
    plan: Candidate,
    best: int,
    counts: np.ndarray,
    terms: Terms,
    searched: tuple[Rounds, tuple[tuple[str, float | None], ...]],
) -> Finding:
    (cells, halves, _), (rounds, ranked) = search, searched
    pairs, evidence, event = opened.pairs, plan.evidence(counts), plan.event
    notes = [*terms.notes(), *pairs.equal_notes(), *opened.notes]
    if event is None:
        band = evidence.simultaneous(terms.own_confidence)
        assert plan.chain is not None and band is not None
        event = terms.notion.shown(plan.chain, band)
    # For each mark, an event contains all cells with the mark or none of them. Marks without
    # outputs may be missing at the end of `counts`.
    marks, chosen = plan.marks[event.cells], np.zeros(counts.shape[1], bool)
    chosen[marks[marks < len(chosen)]] = True
    inside, mask = (counts * chosen).sum(axis=1), event.cells
    trials = int(counts[0].sum()), int(counts[1].sum())
    if not inside.any():
        # The event never occurred. Show its complement, which occurred in every draw.
        if mask.any():
            notes.append("The chosen event did not occur in the confirmation set.")
        inside, mask = np.array(trials), ~mask
        evidence = evidence.showing(event._replace(cells=mask), inside)
    text, whole = cells.describe(mask), cells.describe(mask, whole=True)
    if not event.cells.any():
        nothing = "no event: nothing distinguishes the databases"
        reason = cells.describe(event.cells) if terms.notion.delta else nothing
        text = whole = f"{whole} ({reason})"
    settings = dict(opened.settings)
    if rounds.num_kept:
        settings["rounds"] = rounds._asdict()
    settings["num_cells"] = cells.size
    if score := cells.plain():
        settings["score"] = score
    drawn = halves.sum(axis=(0, 2)).tolist()
    if drawn[0] != drawn[1]:  # If equal, num_samples shows both.
        settings["searched"] = drawn
    if trials[0] != trials[1]:  # If equal, num_confirm shows both.
        settings["confirmed"] = list(trials)
    if plan.chain is not None:
        settings["num_sets"] = plan.chain.num_sets
    return Finding(
        statement=conclude(evidence, terms),
        evidence=Observed(
            counted=evidence,
            settings=settings,
            num_samples=min(drawn),
            num_confirm=opened.num_confirm,
            region=opened.region,
            pair_scores=ranked,
            curve=_curve(search=Search(cells, halves, None), event=mask),
        ),
        notes=notes,
        witness=Witness(
            **compared(pairs, best),
            output=text.removeprefix("the output is "),
            densities=(float(inside[0] / trials[0]), float(inside[1] / trials[1])),
            larger=("database", "neighbor")[int(event.larger)],
            event=whole,
            event_counts=(int(inside[0]), int(inside[1])),
        ),
        pairs=pairs,
    )


def _curve(search: Search, event: np.ndarray) -> dict[str, list] | None:
    """Return the curve to plot, if any: frequencies of the cells under both databases.

    If outputs have labels, the curve has one point per label. If outputs are vectors, the cells are
    boxes that are sorted by rank.
    """
    cells, halves = search.partition, search.halves
    counts, bounds, names = halves.sum(axis=0), cells.bounds(), [*cells.names, "some other label"]
    if cells.boxed.tolist() not in ([], [0]):
        # Treat a label as part of the event if the event contains all observed outputs with this
        # label.
        label, alone = cells.labels(), cells.without_numbers()
        outside = np.bincount(label, counts.sum(axis=0) * ~event, alone.size)
        counts = np.stack([np.bincount(label, c, alone.size) for c in counts])
        event, bounds = (outside == 0) & counts.any(axis=0), alone.bounds()
    elif len(cells.shape) > 1:
        groups = [np.arange(cells.size), *cells.coarser()]
        counts, event, bounds = ranked_boxes(halves, event, groups, cells.num_alone)
    return curve_of(counts, event, bounds, names.__getitem__)
