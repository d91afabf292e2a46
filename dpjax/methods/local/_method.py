"""The local method, which computes a bound from density estimates at one output.

References:
    Askin, Kutta, Dette (2022), Algorithms 3 and 4.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from dpjax.core.errors import Status
from dpjax.core.execution import over_devices
from dpjax.core.numerics import finite_or_none
from dpjax.core.wording import EVENTS, BadType, BadValue, Sentence, term
from dpjax.densities import MAX_NODES, Fixed, bandwidth_at
from dpjax.methods.local._findings import evidence_of, finding_of, refuse_empty
from dpjax.methods.local._kernels import LocalStatistics, dpl_runs, mpl_runs
from dpjax.methods.local._lattices import refined
from dpjax.methods.local._options import LocalOptions
from dpjax.methods.local._search import PairSearch
from dpjax.notions import Statement, Terms
from dpjax.partitions import Box
from dpjax.results import Finding, Findings, Row
from dpjax.sources import ONE_RUN, Arrays, Source, Tally

_DIRECT = term("density='direct'", "--density 'direct'")

_CONSTANT = 1e-30
"""Outputs are treated as constant if their spread is at most this number."""

_SPREADS, _VOLUMES = (1e-18, 1e17), (1e-36, 1e27)
"""Smallest and largest spread of the outputs, and of spread^d in d dimensions, for which no density
and no variance of a density underflows or overflows in float32.
"""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Local(LocalOptions):
    """Asymptotic lower bound from densities at one output (DPL and MPL).

    The method supports JAX mechanisms and recorded arrays. In compiled programs, options that are
    sizes or names are static arguments, while the floor and the bandwidth may be traced.

    Attributes:
        num_samples: n, the number of draws per side of each pair in the search stage. For recorded
            outputs, the source determines n and N instead.
        num_confirm: N > n, the number of fresh draws per side of the chosen pair.
        region: Region in which densities are compared: (low, high) for numbers and vectors, or a
            list of outcomes for a finite space. If `region` is None, the standard region of a
            built-in mechanism, or the whole of a finite space, is used. For all other outputs, the
            region is the range of the first outputs.
        bandwidth: Name of a bandwidth rule, or a number. The confirmation stage applies the rule to
            the mean of the spreads of both sides. The paper uses Silverman's rule. Scott's rule
            leads to a larger bandwidth, a smaller error and a tighter bound. For vectors, each axis
            has a bandwidth in proportion to its spread; a number applies to every axis.
        floor: tau, the floor to which smaller densities are raised. With q = min(20 / n, 0.01), the
            default floor is q for frequencies, and q / s^d for densities of d-dimensional outputs
            with spread s.
        kernel: Name of the kernel.
        density: Method of density estimation: "binned" (only for d = 1), "direct", or "auto", which
            is "binned" if d = 1 and "direct" otherwise.
        num_nodes: Number of lattice nodes for the binned method. An audit uses more nodes if the
            bandwidth requires a finer lattice.
        objective: Objective that the search maximizes. The objective "lower-bound" is the privacy
            loss minus a multiple of the standard errors of both stages. The objective "loss" is the
            privacy loss alone, as in the paper. The bound is valid with both objectives, but it is
            tighter with "lower-bound".
        undersmoothing: gamma, a term in the exponent of the bandwidth in the confirmation stage.
            The bandwidth is proportional to N^-(1/(d+4) + gamma). If `undersmoothing` is None,
            gamma is the larger of 0.02 and the smallest value that condition (C4) allows.

    Raises:
        ValueError, TypeError: If an option is out of range, or if num_confirm <= num_samples.

    References:
        Askin, Kutta, Dette (2022), Algorithms 3 and 4, conditions (C3), (C4) and (D).
    """

    name: ClassVar[str] = "local"
    bounded: ClassVar[bool] = True

    def accepts(self, source: Source) -> str | None:
        """Return None if a source can be audited, and otherwise a message that explains why not."""
        if source.has_arrays:
            return None
        return Sentence(
            f"{term('Local', '--method local')} estimates densities of JAX mechanisms and of "
            f"recorded arrays, but {source.name} is a host mechanism: use {EVENTS}, or "
            f"record its outputs as {term('Recorded(x, y)', '--samples X Y')}."
        )

    def run(
        self, source: Source, pairs: object, terms: Terms, runs: NDArray[np.int32] = ONE_RUN
    ) -> Findings:
        """Audit a batch of runs.

        Args:
            source: JAX mechanism, or outputs recorded in memory.
            pairs: Pairs of databases, in any form that `dpjax.audit` accepts.
            terms: Notion, claim and confidence of the audit.
            runs: int32 [runs], indices of the runs.

        Raises:
            ValueError: If delta > 0, if outputs have no density, or if no output is in the region.
            TypeError: If outputs are not in memory, or if they have different types.
        """
        arrays, options = self._prepared(source, pairs, terms)
        # Compute curves only for a single run. To get the curves of one run in a batch, `finding`
        # repeats the run.
        with_curves = len(runs) == 1

        def launch(options: LocalOptions) -> LocalStatistics:
            shared = (arrays.streams, arrays.region, options)
            return over_devices(mpl_runs, shared, runs, terms.layout, with_curves=with_curves)

        tally = Tally(terms.layout.progress)
        draws = 2 * len(runs) * (len(arrays.pairs) * options.num_samples + options.num_confirm)
        tally.expect(draws if arrays.sizes is None else 0)
        found, each = refined(
            launch,
            options,
            lambda found: np.asarray(found.found.nodes_per_bandwidth),
            partial(_refuse_lattice, arrays),
        )
        # One compiled program makes all draws, so progress is reported only at the program's end.
        tally.saw(draws)

        def finding(run: int) -> Finding:
            if not with_curves:
                return self.run(source, pairs, terms, runs[[run]]).finding(0)
            of_run = jax.tree.map(lambda leaf: leaf[run], found)
            return _finding(of_run, each[run], arrays, terms)

        return Findings(finding, lambda: _rows(found, options, arrays, terms))

    def _prepared(self, source: Source, pairs: object, terms: Terms) -> tuple[Arrays, LocalOptions]:
        """Return the outputs as arrays, and the options with all sizes but without the region."""
        terms.refuse_notions("a density estimate")
        if self.floor is not None and np.ndim(self.floor):
            raise BadType(f"floor must be one number >= 0, but was {self.floor!r}.")
        # If there is a region, do not smooth, because a list of two outcomes looks like a range.
        smoothing = self.bandwidth_of if self.region is None else None
        arrays = source.arrays(pairs, self.region, terms.root, smoothing)
        num_samples, num_confirm = arrays.sizes or (self.num_samples, self.num_confirm)
        options = dataclasses.replace(
            self, region=None, num_samples=num_samples, num_confirm=num_confirm
        )
        return arrays, options

    def bandwidth_of(self, pilots: Sequence[NDArray[np.float64]], num_confirm: int) -> float:
        """Return the bandwidth of the confirmation stage; see `dpjax.sources.Smoothing`."""
        rule, num_samples = self.bandwidth, len(pilots[0])
        options = Local(num_samples=num_samples, num_confirm=num_confirm, bandwidth=rule)
        spread = [rule.spread(jnp.asarray(pilot[:, None])) for pilot in pilots]
        mean = (spread[0] + spread[1]) / 2
        return float(bandwidth_at(rule, mean, num_confirm, 1, options.confirm_undersmoothing))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LocalSearch(Local):
    """Estimate of the privacy loss from the search stage of `Local` alone (DPL), without a bound.

    The options are the same as for `Local`. There is no confirmation stage. The option
    `num_confirm` is used only if the objective is "lower-bound". In this case, the search subtracts
    a multiple of the standard error that a confirmation stage with `num_confirm` draws would have.

    References:
        Askin, Kutta, Dette (2022), Algorithm 3.
    """

    name: ClassVar[str] = "local-search"
    bounded: ClassVar[bool] = False

    def run(
        self, source: Source, pairs: object, terms: Terms, runs: NDArray[np.int32] = ONE_RUN
    ) -> Findings:
        """Run the search stage in a batch of runs; see `Local.run` for the arguments and errors."""
        arrays, options = self._prepared(source, pairs, terms)

        def launch(options: LocalOptions) -> PairSearch:
            shared = (arrays.streams, arrays.region, options)
            return over_devices(dpl_runs, shared, runs, terms.layout)

        found, _ = refined(
            launch,
            options,
            lambda found: np.min(found.nodes_per_bandwidth, axis=-1),
            partial(_refuse_lattice, arrays),
        )
        return Findings.of_rows(lambda: _searched(found))


def _refuse_lattice(
    arrays: Arrays, found: LocalStatistics | PairSearch, options: LocalOptions, run: int
) -> None:
    """Raise an error for a run that has no suitable lattice."""
    search = found.found if isinstance(found, LocalStatistics) else found
    spread = np.asarray(search.spread, float)[run]
    is_fixed = isinstance(options.bandwidth, Fixed)
    if not (is_fixed or (spread > _CONSTANT).all()):
        is_nan = np.isnan(spread).any()
        what = "hold NaN or an infinity" if is_nan else "are constant, or nearly constant,"
        raise BadValue(
            f"the outputs {what} for one of the databases, so they have no density: return "
            f"finite reals, or integers with {term('num_outcomes')}, or use {EVENTS}."
        )
    _refuse_scale(spread, arrays, is_fixed)
    if search.curves is not None:
        refuse_empty(search.curves, options.num_samples, arrays.region_text)
    if is_fixed:
        raise BadValue(
            f"bandwidth {spread.flat[0]:.3g} is too small for the {term('region')} "
            f"{arrays.region_text}: more than {MAX_NODES} lattice nodes would be required. Choose "
            f"a larger bandwidth, narrow the region, or use {_DIRECT}."
        )
    raise BadValue(
        f"region {arrays.region_text} is too wide for the bandwidth of the density estimate: the "
        f"spreads of the outputs of the two databases are {spread[0]:.3g} and {spread[1]:.3g}, so "
        f"more than {MAX_NODES} lattice nodes would be required. Narrow the region, or use "
        f"{_DIRECT}."
    )


def _refuse_scale(spread: NDArray[np.float64], arrays: Arrays, is_fixed: bool) -> None:
    """Raise an error if a spread or a bandwidth is so extreme that densities leave float32.

    Args:
        spread: Spread of the outputs, or the bandwidth if `is_fixed` is True.
        arrays: Arrays of outputs.
        is_fixed: Whether the bandwidth is a number.
    """
    if not isinstance(arrays.region, Box) or jnp.result_type(float) != jnp.float32:
        return
    dimension = arrays.region.dimension
    low, high = (
        max(_SPREADS[0], _VOLUMES[0] ** (1 / dimension)),
        min(_SPREADS[1], _VOLUMES[1] ** (1 / dimension)),
    )
    if np.all((spread >= low) & (spread <= high)):
        return
    where = f"for a density estimate in {dimension} dimension{'s' * (dimension > 1)}"
    if is_fixed:
        raise BadValue(
            f"bandwidth must lie between {low:.0e} and {high:.0e} {where}, but was "
            f"{spread.flat[0]:.3g}: choose another bandwidth, or use {EVENTS}."
        )
    raise BadValue(
        f"the outputs must have a spread between {low:.0e} and {high:.0e} {where}, but had the "
        f"spreads {spread.min():.3g} and {spread.max():.3g}: rescale the outputs, or use {EVENTS}."
    )


def _finding(
    statistics: LocalStatistics, options: LocalOptions, arrays: Arrays, terms: Terms
) -> Finding:
    """Return the finding of one run."""
    is_fixed = isinstance(options.bandwidth, Fixed)
    _refuse_scale(np.asarray(statistics.found.spread, float), arrays, is_fixed)
    return finding_of(statistics, options, arrays, terms)


def _rows(found: LocalStatistics, options: LocalOptions, arrays: Arrays, terms: Terms) -> list[Row]:
    """Return the rows of a sweep, one per run."""
    bounds = evidence_of(found, options, arrays.region).bounds(terms.own_confidence)
    return [
        Row(
            Statement(
                float(bounds.lower_bound[run]),
                finite_or_none(float(bounds.estimate[run])),
                "exact binomial" if bounds.exact[run] else "normal",
                standard_error=finite_or_none(float(bounds.standard_error[run])),
            ),
            int(pair),
            _numbers(found.found.point[run]),
            (Status.ON_FLOOR if bounds.on_floor[run] else Status.OK).name,
        )
        for run, pair in enumerate(found.pair)
    ]


def _searched(found: PairSearch) -> list[Row]:
    """Return the rows of a sweep, one per run, with the estimate for the best pair."""
    rows = []
    for run, pair in enumerate(np.argmax(found.score, axis=1)):
        on_floor = found.densities[run, pair].min() <= found.floor[run, pair]
        estimate = finite_or_none(float(found.loss[run, pair]))
        status = (Status.ON_FLOOR if on_floor else Status.OK).name
        statement = Statement(0.0, estimate, "search")
        rows.append(Row(statement, int(pair), _numbers(found.point[run, pair]), status))
    return rows


def _numbers(point: object) -> list[float]:
    """Return the coordinates of a point, or the number of an outcome, as a list of floats."""
    return np.atleast_1d(np.asarray(point, float)).tolist()
