"""The front door: audit a mechanism, or two files of its outputs, by the local approach.

References:
    Askin, Kutta, Dette (2022), Algorithm 4 (MPL).
"""

import dataclasses
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpjax import _random, _validate
from dpjax._batching import Execution, default_execution
from dpjax._exact import allowed_cells, assemble_exact, cells_of, event_recorded, event_runs
from dpjax._join import assemble, first_run
from dpjax._lost_outcomes import note_lost_outcomes, refuse_lost_outcomes
from dpjax._mixed import held_where_mixed
from dpjax._outputs import HostSource, RecordedSource
from dpjax._provenance import name_of, parameters_of, seed_of
from dpjax._recorded import prepare_samples
from dpjax._replay import replay_of
from dpjax._result import AuditResult
from dpjax._streamed import audit_host
from dpjax._streamed_files import audit_recordings
from dpjax._types import FiniteSpace, MixedSpace
from dpjax.databases import Pairs
from dpjax.densities import BandwidthRule, Cells, as_rule, find_kernel
from dpjax.estimators import (
    LocalSettings,
    LocalStatistics,
    check_sizes,
    mpl_recorded,
    mpl_runs,
)
from dpjax.loss import Region, as_region
from dpjax.mechanisms import Mechanism, from_function

GUARANTEES = ("normal", "exact")

_MAX_CELLS = 2**18
_CONSTANT = 1e-9  # a bandwidth this small against the region is that of a constant
_PILOT_SAMPLES = 4096
_PILOT_TAIL = 0.005
_PILOT_NOTE = "The region was set from the range of a pilot's outputs."


def audit(
    mechanism: Any,
    *,
    pairs: Any = None,
    region: Any = None,
    num_samples: int = 20_000,
    num_confirm: int = 50_000,
    confidence: float = 0.95,
    claim: float | None = None,
    key: Any = 0,
    num_outcomes: int | None = None,
    bandwidth: BandwidthRule | str | float = "scott",
    floor: float | None = None,
    kernel: str = "gaussian",
    method: str = "auto",
    objective: str = "lower-bound",
    delta: float = 0.0,
    guarantee: str = "normal",
    num_claims: int = 1,
    execution: Execution | None = None,
) -> AuditResult:
    """A lower confidence bound on the epsilon of a mechanism, with a witness.

    Searches every pair for the output with the largest privacy loss, then measures the loss there
    again on fresh draws.

    Args:
        mechanism: A mechanism of `dpjax.mechanisms`, or a JAX function (key, database) -> output
            that draws one output; or a `dpjax.HostMechanism` or `dpjax.CommandMechanism`, whose
            outputs are counted in cells, with an exact bound.
        pairs: `dpjax.Pairs` or a list of (database, neighbor); a built-in mechanism's standard
            pairs if None.
        region: Where outputs are compared: (low, high) for numbers and vectors, a list of outcomes
            for a finite space. If None, the standard region of a built-in mechanism, all of a
            finite space, or the range of a pilot's outputs.
        num_samples: n, draws at each side of each pair in the search.
        num_confirm: N > n, fresh draws at each side of the pair with the largest loss.
        confidence: Of the lower bound.
        claim: An epsilon to compare with.
        key: Integer seed or typed key; the same key gives the same result.
        num_outcomes: For a function with outcomes 0 .. num_outcomes - 1.
        bandwidth: Rule, name or number, for real outputs.
        floor: tau; see `dpjax.LocalSettings`.
        kernel: "gaussian", "laplace", "epanechnikov" or "biweight".
        method: "binned", "direct" or "auto".
        objective: What the search maximises: "lower-bound", or "loss" as in the paper.
        delta: Of (epsilon, delta)-differential privacy, for mechanisms of the host: the bound is
            then on epsilon at this delta.
        guarantee: "normal" for the local approach's bound at one output, which is asymptotic; or
            "exact" for that of an event, which holds at every sample size, for every kind of
            output. With it, num_confirm may be any size, and the region is where cells are fine.
        num_claims: How many audits' bounds shall hold together with the confidence; each is made
            with an error of (1 - confidence) / num_claims.
        execution: Layout on the machine; never changes the result.

    Returns:
        The result, with its verdict on the claim.

    Raises:
        ValueError: An argument is out of range, or the region holds no output.
        TypeError: An argument is of the wrong kind.

    References:
        Askin, Kutta, Dette (2022), Algorithm 4; for "exact", Buehler (1957).
    """
    start = time.perf_counter()
    root = _random.as_key(key)
    _check_common(confidence, claim)
    own_confidence = _own_confidence(confidence, guarantee, num_claims)
    if isinstance(mechanism, HostSource):
        _refuse_density_options(bandwidth, floor, kernel, method, objective)
        if pairs is None:
            raise ValueError("pairs must be given: a list of (database, neighbor).")
        return audit_host(
            mechanism,
            pairs,
            notes=_claims_note(confidence, num_claims),
            no_region=region,
            no_outcomes=num_outcomes,
            num_samples=num_samples,
            num_confirm=num_confirm,
            confidence=confidence,
            num_claims=num_claims,
            claim=claim,
            delta=delta,
            key=root,
            seed=seed_of(key),
        )
    _refuse_delta(delta)
    if guarantee == "exact":
        _refuse_density_options(bandwidth, floor, kernel, method, objective)
        check_sizes(num_samples=num_samples, num_confirm=num_confirm)
        pairs = _pairs_of(mechanism, pairs)
        mechanism = _mechanism_of(mechanism, pairs, num_outcomes)
        _check_shape(mechanism, pairs)
        region, cells, notes = _exact_cells(mechanism, pairs, region, root)
        found = event_runs(
            mechanism,
            pairs,
            cells,
            [0],
            num_samples=num_samples,
            num_confirm=num_confirm,
            confidence=own_confidence,
            key=root,
            execution=execution or default_execution(),
            allowed=allowed_cells(cells, region),
        )
        result = assemble_exact(
            found,
            cells,
            pairs=pairs,
            num_samples=num_samples,
            num_confirm=num_confirm,
            confidence=confidence,
            num_claims=num_claims,
            claim=claim,
            mechanism=name_of(mechanism),
            parameters=parameters_of(mechanism),
            seed=seed_of(key),
            region=str(region),
            notes=notes + _claims_note(confidence, num_claims),
            start=start,
        )
        return dataclasses.replace(result, replay=replay_of(pairs, region, num_outcomes))
    settings = LocalSettings(
        num_samples=num_samples,
        num_confirm=num_confirm,
        bandwidth=as_rule(bandwidth),
        floor=floor,
        kernel=kernel,
        method=method,
        objective=objective,
    )
    pairs = _pairs_of(mechanism, pairs)
    mechanism = _mechanism_of(mechanism, pairs, num_outcomes)
    _check_shape(mechanism, pairs)
    notes = _claims_note(confidence, num_claims)
    space = mechanism.output_space
    if isinstance(space, MixedSpace):
        raise ValueError(
            f"guarantee must be 'exact' for outputs that are {space}: beside an atom there is no "
            "density, and the normal bound is one of densities."
        )
    if region is None:
        region = getattr(mechanism, "standard_region", None)
    if region is None and not isinstance(space, FiniteSpace):
        region = _inner_range(_pilot_outputs(mechanism, pairs, root), finite=True)
        notes.append(_PILOT_NOTE)
    region = as_region(region, space)
    if num_outcomes is not None:
        refuse_lost_outcomes(_pilot_outputs(mechanism, pairs, root), num_outcomes)
    execution = execution or default_execution()

    def run(settings: LocalSettings) -> LocalStatistics:
        return first_run(
            mpl_runs(
                mechanism,
                pairs.database,
                pairs.neighbor,
                region,
                settings,
                root,
                jnp.zeros(1, jnp.int32),
                execution=execution,
                with_curves=True,
            )
        )

    statistics, settings = _refine_lattice(run, settings)
    if num_outcomes is not None and statistics.found.curves is not None:
        shares = np.asarray(statistics.found.curves.densities, float)
        notes += note_lost_outcomes(shares, region, num_outcomes)
    result = assemble(
        statistics,
        settings,
        region,
        pairs=pairs,
        confidence=confidence,
        own_confidence=own_confidence,
        num_claims=num_claims,
        claim=claim,
        mechanism=name_of(mechanism),
        parameters=parameters_of(mechanism),
        seed=seed_of(key),
        notes=notes,
        seconds=time.perf_counter() - start,
    )
    return dataclasses.replace(result, replay=replay_of(pairs, region, num_outcomes))


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
        y: Independent outputs at its neighbor, of the same form.
        region: (low, high) for numbers, a list of outcomes for labels; the range of the search
            part, or all outcomes, if None.
        discrete: Whether the outputs are outcomes rather than reals; found out if None, and said
            in the notes.
        search_fraction: Share of the outputs that searches, below one half.
        confidence: Of the lower bound.
        claim: An epsilon to compare with.
        key: Integer seed or typed key of the split.
        bandwidth: As in `audit`.
        floor: As in `audit`.
        kernel: As in `audit`.
        method: As in `audit`.
        objective: As in `audit`.
        delta: As in `audit`, for recordings.
        guarantee: As in `audit`. With "exact", atoms, NaN and infinities among reals are outcomes.
        num_claims: As in `audit`.
        name: What the outputs are called in the result.

    Returns:
        The result, with its verdict on the claim.

    Raises:
        ValueError: Too few outputs, NaN or infinities, constant or mixed outputs, or an argument
            out of range.
        TypeError: Outputs of two kinds or dimensions.

    References:
        Askin, Kutta, Dette (2022), Algorithm 4; for "exact", Buehler (1957).
    """
    start = time.perf_counter()
    root = _random.as_key(key)
    _check_common(confidence, claim)
    own_confidence = _own_confidence(confidence, guarantee, num_claims)
    mixed = None
    if guarantee == "normal" and discrete is None and region is None:
        mixed = held_where_mixed(x, y)
    if isinstance(x, RecordedSource) or mixed is not None:
        _refuse_density_options(bandwidth, floor, kernel, method, objective)
        return audit_recordings(
            *((x, y, []) if mixed is None else mixed),
            more_notes=_claims_note(confidence, num_claims),
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
    _refuse_delta(delta)
    if guarantee == "exact":
        _refuse_density_options(bandwidth, floor, kernel, method, objective)
    data = prepare_samples(
        x,
        y,
        discrete=discrete,
        search_fraction=search_fraction,
        key=root,
        densities=guarantee == "normal",
    )
    pairs = Pairs([0], [1], ("recorded pair",))
    notes = data.notes + _claims_note(confidence, num_claims)
    if guarantee == "exact":
        region = data.region(region)
        pilot = np.concatenate([np.asarray(part) for part in data.source.search])
        cells = cells_of(data.space, region, pilot)
        result = assemble_exact(
            event_recorded(data.source, cells, own_confidence, allowed_cells(cells, region)),
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
            named=data.named(cells),
        )
        return _as_recorded(result, search_fraction)
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
    statistics, settings = _refine_lattice(
        lambda settings: jax.block_until_ready(mpl_recorded(data.source, region, settings)),
        settings,
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


def _own_confidence(confidence: float, guarantee: str, num_claims: int) -> float:
    """What each of several bounds needs, so that they hold together (Bonferroni)."""
    _validate.one_of(GUARANTEES, guarantee=guarantee)
    _validate.positive_int(num_claims=num_claims)
    return confidence if num_claims == 1 else 1 - (1 - confidence) / num_claims


def _claims_note(confidence: float, num_claims: int) -> list[str]:
    if num_claims == 1:
        return []
    error = (1 - confidence) / num_claims
    return [
        f"This bound alone errs with a probability of at most {error:.3g}, so that {num_claims} "
        f"such bounds hold together with confidence {confidence:g} (Bonferroni)."
    ]


def _refuse_density_options(
    bandwidth: Any, floor: Any, kernel: str, method: str, objective: str
) -> None:
    """Options of density estimates mean nothing where outputs are counted in cells."""
    given = {
        "bandwidth": bandwidth != "scott",
        "floor": floor is not None,
        "kernel": kernel != "gaussian",
        "method": method != "auto",
        "objective": objective != "lower-bound",
    }
    for option in (name for name, is_given in given.items() if is_given):
        raise ValueError(
            f"{option} is of density estimates: it must be left out where outputs are counted in "
            "cells, with guarantee='exact' and for outputs of the host."
        )


def _refuse_delta(delta: float) -> None:
    if delta:
        raise ValueError(
            f"delta must be 0 for a density estimate, but was {delta}: it is for Python functions, "
            "programs and recordings, whose outputs are counted in cells."
        )


def _check_common(confidence: float, claim: float | None) -> None:
    _validate.open_unit(confidence=confidence)
    if claim is not None:
        _validate.non_negative(claim=claim)


def _pairs_of(mechanism: Any, pairs: Any) -> Pairs:
    if isinstance(mechanism, str):
        raise TypeError(
            f"mechanism must be a mechanism or a function, but was the name {mechanism!r}: make "
            f"one with dpjax.mechanisms.find_mechanism({mechanism!r})()."
        )
    if pairs is not None:
        return Pairs.of(pairs)
    if hasattr(mechanism, "standard_pairs"):
        return mechanism.standard_pairs()
    raise ValueError(
        "pairs must be given for a mechanism that is not built in: a list of (database, neighbor)."
    )


def _mechanism_of(mechanism: Any, pairs: Pairs, num_outcomes: int | None) -> Mechanism:
    if isinstance(mechanism, Mechanism):
        if num_outcomes is not None:
            raise ValueError(
                "num_outcomes is for functions; a mechanism states its outputs by itself."
            )
        return mechanism
    return from_function(mechanism, pairs.database[0], num_outcomes=num_outcomes)


def _check_shape(mechanism: Mechanism, pairs: Pairs) -> None:
    """A clear sentence where the databases do not fit the mechanism, before anything compiles."""
    expected = getattr(mechanism, "num_queries", None)
    shape = pairs.database.shape[1:]
    if expected is not None and shape != (expected,):
        raise ValueError(
            f"pairs must hold databases of {expected} query answers for this mechanism "
            f"(num_queries), but had the shape {shape}."
        )
    if expected is None and hasattr(mechanism, "standard_pairs") and shape != ():
        raise ValueError(f"pairs must hold single numbers for this mechanism, but had {shape}.")


def _exact_cells(
    mechanism: Mechanism, pairs: Pairs, region: Any, root: Any
) -> tuple[Region, Cells, list[str]]:
    """Region, cells and notes of an audit by events."""
    space = mechanism.output_space
    if isinstance(space, FiniteSpace):
        region = as_region(region, space)
        return region, cells_of(space, region), []
    notes = []
    pilot = _pilot_outputs(mechanism, pairs, root)
    if region is None:
        region = getattr(mechanism, "standard_region", None)
    if region is None:
        numbers = pilot[:, 1:] if isinstance(space, MixedSpace) else pilot
        region = _inner_range(numbers, finite=False)
        notes.append(_PILOT_NOTE)
    region = as_region(region, space)
    return region, cells_of(space, region, pilot), notes


def _pilot_outputs(mechanism: Mechanism, pairs: Pairs, root: Any) -> np.ndarray:
    """Outputs over all databases, [n] or [n, d], from draws of their own."""
    pilot = _random.fold_in(root, _random.stable_hash("pilot"))
    sides = [
        np.asarray(_draw_pilot(mechanism, jnp.asarray(side), _random.fold_in(pilot, number)))
        for number, side in enumerate((pairs.database, pairs.neighbor))
    ]
    return np.concatenate([side.reshape(-1, *side.shape[2:]) for side in sides])


@jax.jit
def _draw_pilot(mechanism: Mechanism, databases: Any, key: Any) -> Any:
    return jax.vmap(lambda database: mechanism.sample(key, database, _PILOT_SAMPLES))(databases)


def _inner_range(outputs: np.ndarray, *, finite: bool) -> Any:
    """The range of the inner 99% of outputs; with `finite` all must be, and have a width."""
    usable = outputs[np.isfinite(outputs.reshape(len(outputs), -1)).all(axis=1)]
    if len(usable) < len(outputs) and finite:
        raise ValueError(
            "the mechanism returned NaN or an infinity in a pilot: its outputs must be finite for "
            "the normal bound; guarantee='exact' counts them as outcomes."
        )
    if len(usable) == 0:
        usable = np.zeros((1, *outputs.shape[1:]))
    low, high = np.quantile(usable, [_PILOT_TAIL, 1 - _PILOT_TAIL], axis=0)
    if np.any(low >= high) and finite:
        raise ValueError(
            "the mechanism returned a constant in a pilot: it is not a real-valued one; return "
            "integers and give num_outcomes, or use guarantee='exact'."
        )
    return np.where(low < high, low, low - 1), np.where(low < high, high, high + 1)


def _refine_lattice(run: Any, settings: LocalSettings) -> tuple[LocalStatistics, LocalSettings]:
    """Runs, with as many lattice nodes as the bandwidth needs; the settings say how many."""
    needed = find_kernel(settings.kernel).min_nodes
    while True:
        statistics = jax.block_until_ready(run(settings))
        nodes = float(np.min(statistics.found.nodes_per_bandwidth))
        if nodes >= needed:
            return statistics, settings
        if not nodes > _CONSTANT * needed:
            raise ValueError(
                "the outputs hold NaN or an infinity, or are constant at one of the databases, so "
                "they have no density: return finite reals, or integers with num_outcomes."
            )
        wanted = 2 * settings.num_cells
        while wanted * nodes < 1.5 * settings.num_cells * needed and wanted <= _MAX_CELLS:
            wanted *= 2
        if wanted > _MAX_CELLS:
            raise ValueError(
                "region is so wide against the bandwidth of the density estimate that more than "
                f"{_MAX_CELLS} lattice cells would be needed: narrow the region, or use "
                "method='direct'."
            )
        settings = dataclasses.replace(settings, num_cells=wanted)
