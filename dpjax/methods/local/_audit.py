"""One audit by the local approach, of what JAX draws or of recorded arrays."""

import dataclasses
from typing import Any

import numpy as np

from dpjax.core.types import FiniteSpace, MixedSpace
from dpjax.core.wording import EVENTS, BadType, BadValue, Sentence, term
from dpjax.mechanisms import is_built_in
from dpjax.methods.local._findings import finding_of, first_run, refine_lattice
from dpjax.methods.local._kernels import LocalStatistics, mpl_recorded, mpl_runs
from dpjax.methods.local._options import Local
from dpjax.methods.local._recorded import Prepared, prepare_samples
from dpjax.notions import Terms
from dpjax.partitions import Outcomes, Region, as_region
from dpjax.results import Finding
from dpjax.sources import AnyPairs, Drawn, Recorded, Source, Tally
from dpjax.sources._held import Chunked
from dpjax.sources._subject import PILOT_NOTE, inner_range, pilot_outputs


def audit_local(method: Local, source: Source, pairs: Any, terms: Terms) -> Finding:
    """See `Local.run`."""
    terms.refuse_notions("a density estimate")
    if isinstance(source, Drawn):
        return _audit_drawn(method, source, pairs, terms)
    if isinstance(source, Recorded):
        source.refuse_pairs(pairs)
        return _audit_recorded(method, source, terms)
    raise BadType(
        f"{term('Local', '--method local')} estimates densities of what JAX draws and of recorded "
        f"arrays, but {source.name} is a mechanism of the host: use {EVENTS}, or record its "
        f"outputs as {term('Recorded(x, y)', '--samples X Y')}."
    )


def _audit_drawn(method: Local, source: Drawn, pairs: Any, terms: Terms) -> Finding:
    mechanism, stacked = source.at(pairs)
    space, notes, region = mechanism.output_space, [], method.region
    if isinstance(space, MixedSpace):
        raise BadValue(
            f"{term('Local', '--method local')} cannot audit outputs that are {space}: beside an "
            f"atom there is no density; use {EVENTS}."
        )
    if region is None:
        region = getattr(mechanism, "standard_region", None)
    if region is None and not isinstance(space, FiniteSpace):
        region = inner_range(pilot_outputs(mechanism, stacked, terms.root))
        notes.append(PILOT_NOTE)
    region = as_region(region, space)
    if isinstance(space, FiniteSpace) and not is_built_in(mechanism):
        _refuse_lost_outcomes(pilot_outputs(mechanism, stacked, terms.root), space.size)

    def run(settings: Local) -> LocalStatistics:
        return mpl_runs(
            mechanism,
            stacked.database,
            stacked.neighbor,
            region,
            settings,
            terms.root,
            np.zeros(1, np.int32),
            execution=terms.layout,
            with_curves=True,
        )

    settings = dataclasses.replace(method, region=None)
    tally = Tally(terms.layout.progress)
    tally.expect(draws := 2 * (len(stacked) * method.num_samples + method.num_confirm))
    statistics, settings = refine_lattice(run, settings, str(region))
    # They are one compiled program, within which nothing is heard of it.
    tally.saw(draws)
    statistics = first_run(statistics)
    notes += _note_lost_outcomes(statistics, region, space)
    return finding_of(
        statistics,
        settings,
        region,
        AnyPairs.of(stacked),
        terms,
        options={},
        notes=notes,
    )


def _audit_recorded(method: Local, source: Recorded, terms: Terms) -> Finding:
    data = _prepared(method, source, terms)
    settings = dataclasses.replace(
        method, num_samples=data.num_samples, num_confirm=data.num_confirm, region=None
    )
    region = data.region(method.region)
    statistics, settings = refine_lattice(
        lambda settings: mpl_recorded(data.source, region, settings),
        settings,
        data.region_text(region),
    )
    return finding_of(
        statistics,
        settings,
        region,
        AnyPairs((["x"], ["y"]), ("recorded pair",)),
        terms,
        options={
            "discrete": source.discrete,
            "search_fraction": source.search_fraction,
            "generator": "NumPy's PCG64",
        },
        notes=data.notes,
        relabel=data.relabel,
        region_text=data.region_text(region),
    )


def _prepared(method: Local, source: Recorded, terms: Terms) -> Prepared:
    for side, outputs in (("x", source.x), ("y", source.y)):
        if isinstance(outputs, Chunked):
            raise BadType(
                f"{term('Local', '--method local')} needs outputs in memory, but {side} was "
                f"{type(outputs).__name__}: read it into an array by "
                f"dpjax.sources.readers.read_samples, or use {EVENTS}."
            )
    if source.bits is not None:
        raise BadValue(
            f"bits must be left out where a density is estimated, but was {source.bits!r}: use "
            f"{EVENTS}, which counts bit patterns as outcomes."
        )
    if source.blocks is not None:
        raise BadValue(
            "blocks must be left out where a density is estimated, but was "
            f"{source.blocks}: use {EVENTS}."
        )
    return prepare_samples(
        source.x,
        source.y,
        discrete=source.discrete,
        search_fraction=source.search_fraction,
        key=terms.root,
        # A list of outcomes and a range look alike.
        smooth=method.bandwidth if method.region is None else None,
    )


def _refuse_lost_outcomes(outputs: np.ndarray, size: int) -> None:
    """Refuses integers outside of 0, ..., size - 1, which a count of these would lose."""
    outside = outputs[(outputs < 0) | (outputs >= size)]
    if outside.size:
        raise BadValue(
            f"num_outcomes is {size}, but {int(outside[0])} and others outside of 0 .. {size - 1} "
            f"were returned in {outside.size / outputs.size:.2%} of a pilot's outputs: give a "
            f"larger {term('num_outcomes')} (or FiniteSpace), or use {EVENTS}, which counts those "
            "below and those above as one outcome each."
        )


def _note_lost_outcomes(statistics: LocalStatistics, region: Region, space: Any) -> list[str]:
    """Says what share of the outputs was outside of the finite space."""
    if not isinstance(space, FiniteSpace) or statistics.found.curves is None:
        return []
    if not isinstance(region, Outcomes) or (region.low, region.size) != (0, space.size):
        return []
    shares = np.asarray(statistics.found.curves.densities, float)
    lost = 1 - shares.sum(axis=1).min()
    if lost < 1e-6:
        return []
    return [
        Sentence(
            f"{lost:.2%} of the outputs at one side of the chosen pair were integers outside of 0 "
            f".. {space.size - 1} ({term('num_outcomes')}) and were in no event; {EVENTS} counts "
            "them too."
        )
    ]
