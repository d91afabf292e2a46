"""Histogram estimates without a plan, whose precision is not guaranteed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpjax.core import validate
from dpjax.core.wording import BadValue
from dpjax.inference import check_order
from dpjax.methods.histogram._estimate import Unplanned
from dpjax.methods.histogram._findings import rows_of
from dpjax.methods.histogram._levels import compared, counts_of_runs
from dpjax.methods.histogram._method import NeedsMechanism
from dpjax.notions import Terms
from dpjax.results import Findings
from dpjax.sources import ONE_RUN, Source
from dpjax.sources._subject import mechanism_of


@dataclass(frozen=True)
class HistogramEstimate(NeedsMechanism):
    """Histogram estimate without a plan and without a guaranteed precision.

    Attributes:
        num_intervals: m, the number of intervals.
        num_samples: n, the number of draws for each input.
        inputs: At least two numbers, the inputs of the mechanism. All pairs of inputs are compared.
        order: alpha of a Renyi level, or None for LDP.

    Raises:
        ValueError, TypeError: If a number is out of range or of the wrong type, or if there are
            fewer than two inputs.

    References:
        Gorla et al., Algorithms 1-4.
    """

    num_intervals: int
    num_samples: int
    inputs: tuple[float, ...]
    order: float | None = None
    name: ClassVar[str] = "histogram-estimate"
    bounded: ClassVar[bool] = False

    def __post_init__(self):
        validate.positive_int(num_intervals=self.num_intervals, num_samples=self.num_samples)
        inputs = validate.numbers("inputs", self.inputs)
        if inputs.ndim != 1 or len(inputs) < 2:
            raise ValueError(f"inputs must hold at least two numbers, but was {self.inputs!r:.80}.")
        validate.finite(inputs=inputs)
        object.__setattr__(self, "inputs", tuple(inputs.tolist()))
        if self.order is not None:
            check_order(self.order)

    def run(
        self, source: Source, pairs: object, terms: Terms, runs: NDArray[np.int32] = ONE_RUN
    ) -> Findings:
        """Estimate the level in a batch of runs.

        Args:
            source: JAX mechanism.
            pairs: Must be None because the estimate uses the option `inputs` instead of pairs.
            terms: Terms of the audit. The key in the terms determines the draws.
            runs: int32 [runs], indices of the runs.

        Raises:
            ValueError: If `pairs` is not None, or if outputs lie outside the output interval.
        """
        if pairs is not None:
            raise BadValue(
                "pairs must be left out for a histogram estimate, which compares all of its inputs."
            )
        mechanism = mechanism_of(source.sampler, self.inputs[0])
        sizes = Unplanned(self.num_intervals, self.num_samples)
        counts, inputs = counts_of_runs(
            mechanism,
            self.inputs,
            sizes,
            terms.root,
            runs,
            output_interval=None,
            execution=terms.layout,
        )
        return Findings.of_rows(lambda: rows_of(compared(inputs, counts, sizes, self.order)))
