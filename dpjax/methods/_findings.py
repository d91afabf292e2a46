"""What events and chains found in one run, as a finding: statement, witness and curve."""

import numpy as np

from dpjax.inference import Rounds
from dpjax.methods._candidates import Candidate
from dpjax.notions import EventCounts, Terms
from dpjax.partitions._curve import curve_of, ranked_bounds
from dpjax.results import Finding, Witness, plain_database
from dpjax.sources import Opened, Search


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
    notes = [*terms.notes(), *opened.pairs.equal_notes(), *opened.notes]
    evidence, sure = plan.evidence(counts), terms.own_confidence
    if evidence.event is not None:
        found = evidence.event
    else:
        assert plan.chain is not None and evidence.chain is not None
        event = terms.notion.shown(plan.chain, evidence.chain, evidence.confidence(sure))
        # All cells of a mark are in the event, or none.
        chosen = np.zeros(counts.shape[1], bool)
        chosen[plan.chain.place[event.cells]] = True
        found = EventCounts(event, (counts * chosen).sum(axis=1), evidence.chain.trials)
    event, inside, trials = found
    mask = event.cells
    if not inside.any():
        # Its probability on either side is unknown, so what always happened is shown instead.
        if mask.any():
            notes.append("The event that the search chose did not happen in the draws to confirm.")
        inside, mask = np.array(trials), ~mask
        if evidence.event is not None:
            found = EventCounts(event._replace(cells=mask), inside, trials)
            evidence = evidence._replace(event=found)
    text, whole = cells.describe(mask), cells.describe(mask, whole=True)
    if not event.cells.any():
        reason = (
            cells.describe(event.cells)
            if getattr(terms.notion, "delta", 0.0)
            else ("no event: nothing tells the two apart")
        )
        text = whole = f"{whole} ({reason})"
    pairs = opened.pairs
    settings = {} if plan.chain is None else {"num_sets": plan.chain.num_sets}
    return Finding(
        statement=terms.notion.state(
            evidence, sure, terms.num_claims, terms.claimed, terms.distance
        ),
        witness=Witness(
            pair=pairs.labels[best],
            database=plain_database(pairs.sides[0][best]),
            neighbor=plain_database(pairs.sides[1][best]),
            output=text.removeprefix("the output is "),
            densities=(float(inside[0] / trials[0]), float(inside[1] / trials[1])),
            larger=("database", "neighbor")[int(event.larger)],
            event=whole,
            event_counts=(int(inside[0]), int(inside[1])),
        ),
        pairs=pairs,
        pair_scores=ranked,
        region=opened.region,
        num_samples=int(halves.sum(axis=(0, 2)).min()),
        num_confirm=min(trials),
        settings={
            **opened.settings,
            **({"rounds": rounds._asdict()} if rounds.num_kept else {}),
            "num_cells": cells.size,
            **({"score": score} if (score := cells.plain()) else {}),
            # Else N says it.
            **({"confirmed": list(trials)} if len(set(trials)) > 1 else {}),
            **settings,
        },
        notes=notes,
        evidence=evidence.to_plain(),
        curve=_curve(search=Search(cells, halves, None), event=mask),
    )


def _curve(search: Search, event: np.ndarray) -> dict[str, list]:
    """For a plot: labels that came with numbers are taken without them, and boxes by their rank."""
    cells, counts = search.partition, search.halves.sum(axis=0)
    if cells.boxed.tolist() not in ([], [0]):
        # In the event are the labels of which all that happened is.
        label, alone = cells.labels(), cells.without_numbers()
        outside = np.bincount(label, counts.sum(axis=0) * ~event, alone.size)
        cells, counts = alone, np.stack([np.bincount(label, c, alone.size) for c in counts])
        event = (outside == 0) & counts.any(axis=0)
    names = [*cells.names, "some other label"]
    boxes = len(cells.shape) > 1
    bounds = ranked_bounds(counts, cells.num_alone) if boxes else cells.bounds()
    return curve_of(counts, event, bounds, names.__getitem__)
