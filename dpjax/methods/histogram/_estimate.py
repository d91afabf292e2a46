"""Histogram estimates of privacy levels for pairs of inputs, in one or more runs.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Algorithms 1-4.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from dpjax.core import validate
from dpjax.core.errors import Status
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadValue
from dpjax.inference import Plan


@dataclass(frozen=True)
class Unplanned:
    """Number of intervals and number of samples for an estimate without a guarantee.

    Attributes:
        num_intervals: m, the number of intervals.
        num_samples: n, the number of draws for each input.
    """

    num_intervals: int
    num_samples: int

    def __post_init__(self):
        """Validate both numbers."""
        validate.positive_int(num_intervals=self.num_intervals, num_samples=self.num_samples)


@dataclass(frozen=True)
class HistogramResult:
    """Histogram estimates of one or more runs.

    A pair fails if its level cannot be estimated because an interval has no draws. A run fails, and
    has no estimate, if all of its pairs fail.

    Attributes:
        inputs: Array [k, ...], sampled inputs.
        pairs: int [num_pairs, 2], indices of the two inputs of each pair.
        levels: float64 [num_runs, num_pairs], level of each pair. Failed pairs are masked.
        counts: int64 [num_runs, k, m], number of draws in each interval for each input.
        plan: Plan of the estimate, or `Unplanned`.
        order: alpha of a Renyi level, or None for LDP.
    """

    inputs: np.ndarray
    pairs: np.ndarray
    levels: np.ma.MaskedArray = field(repr=False)
    counts: np.ndarray = field(repr=False)
    plan: Plan | Unplanned
    order: float | None

    @property
    def estimates(self) -> np.ma.MaskedArray:
        """Largest level over all pairs, for each run. Failed runs are masked."""
        return np.ma.masked_array(self.levels.max(axis=-1))

    @property
    def num_runs(self) -> int:
        """Number of independent runs."""
        return len(self.levels)

    @property
    def num_failed(self) -> int:
        """Number of failed runs."""
        return int(np.sum(np.ma.getmaskarray(self.estimates)))

    @property
    def status(self) -> Status:
        """EMPTY_INTERVAL if all runs failed, and OK otherwise."""
        return Status.EMPTY_INTERVAL if self.num_failed == self.num_runs else Status.OK

    @property
    def confidence(self) -> float | None:
        """Guaranteed probability that the error is at most the precision. None without a plan."""
        return self.plan.confidence if isinstance(self.plan, Plan) else None

    def witness(self, run: int = 0) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the pair of inputs with the largest level in a run, or None if the run failed."""
        if np.ma.getmaskarray(self.estimates)[run]:
            return None
        first, second = self.pairs[int(self.levels[run].argmax())]
        return self.inputs[first], self.inputs[second]

    def of_run(self, run: int) -> "HistogramResult":
        """Return a result that contains only the estimates of one run."""
        only = slice(run, run + 1)
        return replace(self, levels=self.levels[only], counts=self.counts[only])

    def to_dict(self) -> JsonObject:
        """Return the estimates as JSON values. The estimate of a failed run is None."""
        settings = self.plan.to_dict() if isinstance(self.plan, Plan) else vars(self.plan)
        witness = self.witness(0)
        return {
            "estimates": self.estimates.tolist(),
            "status": self.status.name,
            "message": self.status.sentence,
            "num_runs": self.num_runs,
            "num_failed": self.num_failed,
            "order": self.order,
            "witness": None if witness is None else [end.tolist() for end in witness],
            "plan": settings,
        }


def midpoints(low: float, high: float, num_inputs: int) -> np.ndarray:
    """Divide the input interval [low, high] into equal subintervals, and return their midpoints.

    Args:
        low: Lower end of the interval.
        high: Upper end of the interval.
        num_inputs: k, the number of subintervals, which equals the number of inputs.

    Returns:
        Midpoints, float64 [k].

    References:
        Gorla et al., Algorithm 2.
    """
    validate.increasing(low, high, name="the input interval")
    validate.positive_int(num_inputs=num_inputs)
    if not np.isfinite(float(high) - float(low)):
        raise BadValue(f"the input interval is too wide: its width, {high} - {low}, is infinite.")
    return low + (high - low) * (np.arange(num_inputs) + 0.5) / num_inputs
