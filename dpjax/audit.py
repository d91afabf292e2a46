"""The front door: audit a mechanism, by the local approach or by an exactly counted event.

References:
    Askin, Kutta, Dette (2022), Algorithm 4 (MPL).
"""

import dataclasses
import time
from typing import Any

import numpy as np

from dpjax import _random
from dpjax._batching import Execution, default_execution
from dpjax._types import FiniteSpace, MixedSpace
from dpjax.databases import Pairs
from dpjax.densities import BandwidthRule, as_rule
from dpjax.mechanisms import Mechanism, is_built_in
from dpjax.methods.events._drawn import allowed_cells, assemble_exact, cells_of, event_runs
from dpjax.methods.events._host import audit_host
from dpjax.methods.local import LocalSettings, LocalStatistics, check_sizes, mpl_runs
from dpjax.methods.local._assemble import assemble, first_run, refine_lattice
from dpjax.notions._terms import (
    check_terms,
    claims_note,
    equal_notes,
    own_confidence_of,
    refuse_delta,
    refuse_density_options,
)
from dpjax.partitions import Cells, Region, as_region
from dpjax.partitions._outputs import HostSource
from dpjax.results._provenance import name_of, parameters_of, seed_of
from dpjax.results._replay import replay_of
from dpjax.results._result import AuditResult
from dpjax.sources._lost_outcomes import note_lost_outcomes, refuse_lost_outcomes
from dpjax.sources._subject import (
    PILOT_NOTE,
    check_shape,
    inner_range,
    mechanism_of,
    pairs_of,
    pilot_outputs,
)


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
        delta: Of (epsilon, delta)-differential privacy, with the exact guarantee: the bound is then
            on epsilon at this delta.
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
    check_terms(confidence, claim, delta, guarantee)
    own_confidence = own_confidence_of(confidence, num_claims)
    if isinstance(mechanism, HostSource):
        refuse_density_options(bandwidth, floor, kernel, method, objective)
        if pairs is None:
            raise ValueError("pairs must be given: a list of (database, neighbor).")
        return audit_host(
            mechanism,
            pairs,
            notes=claims_note(confidence, num_claims),
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
    if guarantee == "exact":
        refuse_density_options(bandwidth, floor, kernel, method, objective)
        check_sizes(num_samples=num_samples, num_confirm=num_confirm)
        pairs = pairs_of(mechanism, pairs)
        mechanism = mechanism_of(mechanism, pairs.database[0], num_outcomes)
        check_shape(mechanism, pairs)
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
            delta=delta,
        )
        space = mechanism.output_space
        if isinstance(space, FiniteSpace):
            # The outer two cells hold all other integers.
            shares = found.search_counts[0, :, 1:-1] / num_samples
            notes += note_lost_outcomes(shares, region, space.size, exact=True)
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
            notes=notes
            + equal_notes(pairs.database, pairs.neighbor, pairs.labels)
            + claims_note(confidence, num_claims),
            start=start,
            delta=delta,
        )
        return dataclasses.replace(result, replay=replay_of(pairs, region, num_outcomes))
    refuse_delta(delta)
    settings = LocalSettings(
        num_samples=num_samples,
        num_confirm=num_confirm,
        bandwidth=as_rule(bandwidth),
        floor=floor,
        kernel=kernel,
        method=method,
        objective=objective,
    )
    pairs = pairs_of(mechanism, pairs)
    mechanism = mechanism_of(mechanism, pairs.database[0], num_outcomes)
    check_shape(mechanism, pairs)
    notes = equal_notes(pairs.database, pairs.neighbor, pairs.labels)
    notes += claims_note(confidence, num_claims)
    space = mechanism.output_space
    if isinstance(space, MixedSpace):
        raise ValueError(
            f"guarantee must be 'exact' for outputs that are {space}: beside an atom there is no "
            "density, and the normal bound is one of densities."
        )
    if region is None:
        region = getattr(mechanism, "standard_region", None)
    if region is None and not isinstance(space, FiniteSpace):
        region = inner_range(pilot_outputs(mechanism, pairs, root), finite=True)
        notes.append(PILOT_NOTE)
    region = as_region(region, space)
    if isinstance(space, FiniteSpace) and not is_built_in(mechanism):
        refuse_lost_outcomes(pilot_outputs(mechanism, pairs, root), space.size)
    execution = execution or default_execution()

    def run(settings: LocalSettings) -> LocalStatistics:
        return mpl_runs(
            mechanism,
            pairs.database,
            pairs.neighbor,
            region,
            settings,
            root,
            np.zeros(1, np.int32),
            execution=execution,
            with_curves=True,
        )

    statistics, settings = refine_lattice(run, settings)
    statistics = first_run(statistics)
    if isinstance(space, FiniteSpace) and statistics.found.curves is not None:
        shares = np.asarray(statistics.found.curves.densities, float)
        notes += note_lost_outcomes(shares, region, space.size, exact=False)
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


def _exact_cells(
    mechanism: Mechanism, pairs: Pairs, region: Any, root: Any
) -> tuple[Region, Cells, list[str]]:
    """Region, cells and notes of an audit by events."""
    space = mechanism.output_space
    if isinstance(space, FiniteSpace):
        region = as_region(region, space)
        return region, cells_of(space, region), []
    notes = []
    pilot = pilot_outputs(mechanism, pairs, root)
    if region is None:
        region = getattr(mechanism, "standard_region", None)
    if region is None:
        numbers = pilot[:, 1:] if isinstance(space, MixedSpace) else pilot
        region = inner_range(numbers, finite=False)
        notes.append(PILOT_NOTE)
    region = as_region(region, space)
    return region, cells_of(space, region, pilot), notes
