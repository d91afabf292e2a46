"""The front door for recorded outputs."""

import dataclasses
import time
from typing import Any

from dpjax import _random
from dpjax.databases import Pairs
from dpjax.densities import BandwidthRule, as_rule
from dpjax.methods.events._recorded import audit_recordings
from dpjax.methods.local import LocalSettings, mpl_recorded
from dpjax.methods.local._assemble import assemble, refine_lattice
from dpjax.methods.local._recorded import prepare_samples
from dpjax.notions._terms import (
    check_terms,
    claims_note,
    own_confidence_of,
    refuse_delta,
    refuse_density_options,
)
from dpjax.partitions._outputs import RecordedSource
from dpjax.results._provenance import seed_of
from dpjax.results._result import AuditResult
from dpjax.sources._held import held
from dpjax.sources._shared_draws import refuse_same_origin


def audit_samples(
    x: Any,
    y: Any,
    *,
    region: Any = None,
    discrete: bool | None = None,
    bits: int | str | None = None,
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
    guarantee: str = "exact",
    num_claims: int = 1,
    name: str = "recorded outputs",
) -> AuditResult:
    """A lower confidence bound on epsilon from recorded outputs at two neighbouring databases.

    The outputs are split once, at random, into a part that searches and a part that confirms. They
    are counted in cells, and the bound is that of an event made of cells; with "normal", it is that
    of one output, an outcome or a point of a smoothed density.

    Args:
        x: Independent outputs at the database: numbers of shape [n] or [n, d], labels, or both,
            atoms, NaN and infinities included; or a `dpjax.Recording`, whose files may be larger
            than memory.
        y: Independent outputs at its neighbor, of the same form; none may be one of `x`.
        region: With "normal" alone: (low, high) for numbers, a list of outcomes for labels; the
            range of the search part, or all outcomes, if None.
        discrete: Whether every number is an outcome (True) or none is (False); if None, those are
            that happen often. With "normal" this is found out for all outputs together, and said in
            the notes: integers are outcomes, unless hardly one occurs often enough to be compared
            by itself and the bandwidth spans several: then they are smoothed as reals.
        bits: With "exact" alone: "lowest" or a number, to look at the bit patterns of reals, or at
            what powers of 2 divide integers, besides their values; as in `dpjax.HostMechanism`.
        search_fraction: Share of the outputs that searches, below one half.
        confidence: Of the lower bound.
        claim: An epsilon to compare with.
        key: Integer seed or typed key of the split.
        bandwidth: With "normal" alone, as in `audit`.
        floor: Likewise.
        kernel: Likewise.
        method: Likewise.
        objective: Likewise.
        delta: As in `audit`.
        guarantee: "exact" for the bound of an event, which holds at every sample size and for every
            kind of output; or "normal" for the local approach's bound at one output, as in `audit`.
        num_claims: As in `audit`.
        name: What the outputs are called in the result.

    Returns:
        The result, with its verdict on the claim.

    Raises:
        ValueError: Too few outputs, draws that both sides share, labels of which none comes again,
            or an argument out of range; with "normal", also NaN, infinities, atoms beside reals and
            outputs that are all the same.
        TypeError: Outputs of two kinds or dimensions; recordings with "normal".

    References:
        Askin, Kutta, Dette (2022), Algorithm 4; for "exact", Buehler (1957).
    """
    start = time.perf_counter()
    root = _random.as_key(key)
    check_terms(confidence, claim, delta, guarantee)
    refuse_same_origin(x, y)
    own_confidence = own_confidence_of(confidence, num_claims)
    notes = claims_note(confidence, num_claims)
    if guarantee == "exact":
        refuse_density_options(bandwidth, floor, kernel, method, objective)
        return audit_recordings(
            held("x", x),
            held("y", y),
            notes=notes,
            no_region=region,
            discrete=discrete,
            bits=bits,
            search_fraction=search_fraction,
            confidence=confidence,
            num_claims=num_claims,
            claim=claim,
            delta=delta,
            key=root,
            seed=seed_of(key),
            name=name,
        )
    for side, outputs in (("x", x), ("y", y)):
        if isinstance(outputs, RecordedSource):
            raise TypeError(
                f"guarantee must be 'exact' for recordings, but was 'normal' and {side} was "
                f"{type(outputs).__name__}: read it into an array by "
                "dpjax.sources.readers.read_samples."
            )
    if bits is not None:
        raise ValueError(
            f"bits must be left out where a density is estimated, but was {bits!r}: use "
            "guarantee='exact', which counts bit patterns as outcomes."
        )
    refuse_delta(delta)
    rule = as_rule(bandwidth)
    data = prepare_samples(
        x,
        y,
        discrete=discrete,
        search_fraction=search_fraction,
        key=root,
        # A list of outcomes and a range look alike.
        smooth=rule if region is None else None,
    )
    settings = LocalSettings(
        num_samples=data.num_samples,
        num_confirm=data.num_confirm,
        bandwidth=rule,
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
        pairs=Pairs([0], [1], ("recorded pair",)),
        confidence=confidence,
        own_confidence=own_confidence,
        num_claims=num_claims,
        claim=claim,
        mechanism=name,
        parameters={},
        seed=seed_of(key),
        notes=data.notes + notes,
        seconds=time.perf_counter() - start,
        relabel=data.relabel,
        region_text=data.region_text(region),
    )
    witness = dataclasses.replace(result.witness, database="x", neighbor="y")
    settings_of_split = {**result.settings, "search_fraction": search_fraction}
    return dataclasses.replace(result, witness=witness, settings=settings_of_split)
