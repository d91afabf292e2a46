"""The front door for recorded outputs."""

import dataclasses
import time
from typing import Any

import numpy as np

from dpjax import _random
from dpjax._exact import allowed_cells, assemble_exact, cells_of, event_recorded
from dpjax._join import assemble, refine_lattice
from dpjax._mixed import held_where_mixed
from dpjax._outputs import RecordedSource
from dpjax._provenance import seed_of
from dpjax._recorded import prepare_samples
from dpjax._result import AuditResult
from dpjax._shared_draws import refuse_same_origin
from dpjax._streamed_files import audit_recordings
from dpjax._terms import (
    check_common,
    claims_note,
    own_confidence_of,
    refuse_delta,
    refuse_density_options,
)
from dpjax.databases import Pairs
from dpjax.densities import BandwidthRule, as_rule
from dpjax.estimators import LocalSettings, mpl_recorded


def audit_samples(
    x: Any,
    y: Any,
    *,
    region: Any = None,
    discrete: bool | None = None,
    search_fraction: float = 0.3,
    confidence: float = 0.95,
    claim: float | None = None,
    key: Any = 0,
    bandwidth: BandwidthRule | str | float = "scott",
    floor: float | None = None,
    kernel: str = "gaussian",
    method: str = "auto",
    objective: str = "lower-bound",
    delta: float = 0.0,
    guarantee: str = "normal",
    num_claims: int = 1,
    name: str = "recorded outputs",
) -> AuditResult:
    """A lower confidence bound on epsilon from recorded outputs at two neighbouring databases.

    The outputs are split once, at random, into a part that searches and a part that confirms.

    Args:
        x: Independent outputs at the database: numbers of shape [n] or [n, d], or labels; or a
            `dpjax.Recording`, whose files may be larger than memory and whose outputs are counted
            in cells, with an exact bound.
        y: Independent outputs at its neighbor, of the same form; none may be one of `x`.
        region: (low, high) for numbers, a list of outcomes for labels; the range of the search
            part, or all outcomes, if None.
        discrete: Whether the outputs are outcomes rather than reals; found out if None, and said
            in the notes. Integers are outcomes, unless hardly one occurs often enough to be
            compared by itself and the bandwidth spans several: then they are smoothed as reals.
        search_fraction: Share of the outputs that searches, below one half.
        confidence: Of the lower bound.
        claim: An epsilon to compare with.
        key: Integer seed or typed key of the split.
        bandwidth: As in `audit`.
        floor: As in `audit`.
        kernel: As in `audit`.
        method: As in `audit`.
        objective: As in `audit`.
        delta: As in `audit`.
        guarantee: As in `audit`. With "exact", atoms, NaN and infinities among reals are outcomes.
        num_claims: As in `audit`.
        name: What the outputs are called in the result.

    Returns:
        The result, with its verdict on the claim.

    Raises:
        ValueError: Too few outputs, NaN or infinities, constant or mixed outputs, draws that both
            sides share, or an argument out of range.
        TypeError: Outputs of two kinds or dimensions.

    References:
        Askin, Kutta, Dette (2022), Algorithm 4; for "exact", Buehler (1957).
    """
    start = time.perf_counter()
    root = _random.as_key(key)
    check_common(confidence, claim, delta)
    refuse_same_origin(x, y)
    own_confidence = own_confidence_of(confidence, guarantee, num_claims)
    mixed = None
    if guarantee == "normal" and discrete is None and region is None:
        mixed = held_where_mixed(x, y)
    if isinstance(x, RecordedSource) or mixed is not None:
        refuse_density_options(bandwidth, floor, kernel, method, objective)
        return audit_recordings(
            *((x, y, []) if mixed is None else mixed),
            more_notes=claims_note(confidence, num_claims),
            no_region=region,
            discrete=discrete,
            search_fraction=search_fraction,
            confidence=confidence,
            num_claims=num_claims,
            claim=claim,
            delta=delta,
            key=root,
            seed=seed_of(key),
            name=name,
        )
    if guarantee == "exact":
        refuse_density_options(bandwidth, floor, kernel, method, objective)
    data = prepare_samples(
        x,
        y,
        discrete=discrete,
        search_fraction=search_fraction,
        key=root,
        densities=guarantee == "normal",
        # A list of outcomes and a range look alike.
        smooth=as_rule(bandwidth) if guarantee == "normal" and region is None else None,
    )
    pairs = Pairs([0], [1], ("recorded pair",))
    notes = data.notes + claims_note(confidence, num_claims)
    if guarantee == "exact":
        region = data.region(region)
        pilot = np.concatenate([np.asarray(part) for part in data.source.search])
        cells = cells_of(data.space, region, pilot)
        result = assemble_exact(
            event_recorded(data.source, cells, own_confidence, allowed_cells(cells, region), delta),
            cells,
            pairs=pairs,
            num_samples=data.num_samples,
            num_confirm=data.num_confirm,
            confidence=confidence,
            num_claims=num_claims,
            claim=claim,
            mechanism=name,
            parameters={},
            seed=seed_of(key),
            region=data.region_text(region),
            notes=notes,
            start=start,
            delta=delta,
            named=data.named(cells),
        )
        return _as_recorded(result, search_fraction)
    refuse_delta(delta)
    settings = LocalSettings(
        num_samples=data.num_samples,
        num_confirm=data.num_confirm,
        bandwidth=as_rule(bandwidth),
        floor=floor,
        kernel=kernel,
        method=method,
        objective=objective,
    )
    region = data.region(region)
    statistics, settings = refine_lattice(
        lambda settings: mpl_recorded(data.source, region, settings), settings
    )
    result = assemble(
        statistics,
        settings,
        region,
        pairs=pairs,
        confidence=confidence,
        own_confidence=own_confidence,
        num_claims=num_claims,
        claim=claim,
        mechanism=name,
        parameters={},
        seed=seed_of(key),
        notes=notes,
        seconds=time.perf_counter() - start,
        relabel=data.relabel,
        region_text=data.region_text(region),
    )
    return _as_recorded(result, search_fraction)


def _as_recorded(result: AuditResult, search_fraction: float) -> AuditResult:
    witness = dataclasses.replace(result.witness, database="x", neighbor="y")
    settings = {**result.settings, "search_fraction": search_fraction}
    return dataclasses.replace(result, witness=witness, settings=settings)
