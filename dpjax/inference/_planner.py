"""How many samples are enough, before anything is drawn.

`plan` answers three questions about the histogram estimators, by which of `precision`,
`confidence` and `num_samples` it is not given: the smallest number of samples per input for a
precision and a confidence; the finest precision that a number of samples reaches; the confidence
that it reaches. `plan_finite` does the same for finitely many outputs.

Two union bounds are offered. "all-intervals" covers every count of every input, and so holds
whichever interval and pair turn out largest. "published" is the paper's: for LDP it covers only
the counts of the two intervals that decide (4 of them) and, over all pairs, asks each pair for the
square root of the confidence. Which intervals decide is known only after the draw, and pairs that
share an input share its draws, so as it stands it is no proof.

- LDP, densities on an interval: the paper lets a count be off by gamma / 12 where gamma / 3 would
  do. That room is worth more than the union: covering every count at gamma / 3 costs a 4th
  to a 15th of the published samples, and so shows that those are enough as well.
- Renyi, densities, one pair: the two bounds coincide.
- Finitely many outputs: nothing leaves room, and four counts are too few. With 200 outputs at 200
  inputs the published bound's precision was missed in 2 of 3 runs that asked for a confidence of
  0.95. It is refused there.

Notation: gamma precision, n num_samples, m num_intervals, k num_inputs, alpha order,
tau and tau_1 lower_density and upper_density.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Theorems 2, 4, 6, Algorithms 1-4, eqs. (7), (16).
"""

import math
from dataclasses import asdict, dataclass
from typing import NamedTuple

from dpjax.core import validate
from dpjax.core.wording import BadValue, term
from dpjax.inference._assumptions import (
    FiniteOutputs,
    InputInterval,
    LipschitzOutputs,
    check_order,
)

BOUNDS = ("all-intervals", "published")

MOST_SAMPLES = 2**53
"""Draws up to which a count is a whole number in float64; at 1e9 per second, 104 days."""

_COARSEST_PRECISION = 100.0
"""A log-ratio of probabilities past which nothing is said about privacy any more."""


@dataclass(frozen=True)
class Plan:
    """A number of samples with the precision and the confidence that it buys.

    Attributes:
        num_intervals: m, intervals of the output interval (or outputs) that are counted.
        num_samples: n, draws at each input.
        num_inputs: k, inputs at which n outputs are drawn (2: one pair; mid-points for Algorithms
            2 and 4).
        precision: gamma, the largest error of the estimate, natural logarithm.
        confidence: Least probability that the error is at most the precision.
        order: alpha of Renyi LDP, or None for LDP.
        bound: "all-intervals" or "published".
        assumption: What was assumed about the mechanism.
    """

    num_intervals: int
    num_samples: int
    num_inputs: int
    precision: float
    confidence: float
    order: float | None
    bound: str
    assumption: LipschitzOutputs | FiniteOutputs

    @property
    def least_probability(self) -> float:
        """Below the probability of every interval at every input (w tau)."""
        return self.assumption.layout(self.precision, self.order).least_probability

    @property
    def total_samples(self) -> int:
        """Draws at all inputs together, k n."""
        return self.num_inputs * self.num_samples

    def seconds(self, draws_per_second: float) -> float:
        """Time of the whole plan in seconds, at a measured rate of drawing and counting.

        Raises:
            ValueError: `draws_per_second` is not above 0.
        """
        validate.positive(draws_per_second=draws_per_second)
        return self.total_samples / draws_per_second

    def to_dict(self) -> dict[str, object]:
        """Plain numbers and strings, one entry per field; the assumption is nested."""
        fields = {name: value for name, value in vars(self).items() if name != "assumption"}
        return {
            **fields,
            "total_samples": self.total_samples,
            "assumption": asdict(self.assumption),
        }


def plan(
    *,
    lipschitz: float,
    width: float = 1.0,
    precision: float | None = None,
    confidence: float | None = None,
    num_samples: int | None = None,
    order: float | None = None,
    inputs: int | InputInterval = 2,
    bound: str = "all-intervals",
    max_samples: int = MOST_SAMPLES,
) -> Plan:
    """Plans a histogram estimate for outputs in an interval.

    Exactly two of `precision`, `confidence` and `num_samples` are given; the third is solved for.

    Args:
        lipschitz: C > 0, every density is C-Lipschitz in the output; C < 2 / width^2.
        width: W > 0, the length of the output interval.
        precision: gamma > 0, the largest error wanted, natural logarithm.
        confidence: Least probability of that precision, strictly between 0 and 1.
        num_samples: n >= 1, draws at each input.
        order: alpha > 1 for Renyi LDP (Algorithms 3 and 4); None for LDP (Algorithms 1 and 2).
        inputs: How many inputs are compared (2: one pair), or the `InputInterval` of which all
            are (Algorithms 2 and 4).
        bound: "all-intervals", which covers every count, or "published", as the paper counts.
        max_samples: The most draws per input that can be run.

    Returns:
        The plan. With `num_samples` given, its precision or confidence is the best reached.

    Raises:
        TypeError: An argument is not a number, or not an integer.
        ValueError: An argument is out of its range; C >= 2 / W^2; more than `max_samples` would be
            needed; or `num_samples` reaches nothing.

    References:
        Gorla et al., Theorems 2, 4 and 6, Algorithms 1-4.
    """
    assumption = LipschitzOutputs(lipschitz, width, inputs)
    return _solve(assumption, precision, confidence, num_samples, order, bound, max_samples)


def plan_finite(
    *,
    num_outputs: int,
    least_probability: float,
    precision: float | None = None,
    confidence: float | None = None,
    num_samples: int | None = None,
    order: float | None = None,
    num_inputs: int = 2,
    bound: str = "all-intervals",
    max_samples: int = MOST_SAMPLES,
) -> Plan:
    """Plans a histogram estimate for finitely many outputs; as `plan` where not said otherwise.

    Args:
        num_outputs: How many outputs there are (at least 2).
        least_probability: Below the probability of every output at every input.
        precision: As in `plan`.
        confidence: As in `plan`.
        num_samples: As in `plan`.
        order: As in `plan`.
        num_inputs: How many inputs are compared (2: one pair).
        bound: "all-intervals"; the published bound does not hold for finitely many outputs.
        max_samples: As in `plan`.

    Returns:
        The plan.

    Raises:
        TypeError: An argument is not a number, or not an integer.
        ValueError: As `plan`; `least_probability` is above 1 / num_outputs; or `bound` is
            "published".

    References:
        Gorla et al., Remark 2.
    """
    assumption = FiniteOutputs(num_outputs, least_probability, num_inputs)
    # For Renyi and one pair the two are the same.
    if bound == "published" and (order is None or num_inputs > 2):
        raise BadValue(
            "bound must be 'all-intervals' for finitely many outputs, but was 'published': that "
            "covers four counts, and the precision would be missed more often than stated."
        )
    return _solve(assumption, precision, confidence, num_samples, order, bound, max_samples)


def _solve(
    assumption: LipschitzOutputs | FiniteOutputs,
    precision: float | None,
    confidence: float | None,
    num_samples: int | None,
    order: float | None,
    bound: str,
    max_samples: int,
) -> Plan:
    validate.one_of(BOUNDS, bound=bound)
    validate.positive_int(max_samples=max_samples)
    if order is not None:
        check_order(order)
    if precision is not None:
        validate.positive(precision=precision)
    if confidence is not None:
        validate.open_unit(confidence=confidence)
    if num_samples is not None:
        validate.positive_int(num_samples=num_samples)
    guarantee = _Guarantee(assumption, order, bound)
    if precision is not None and confidence is not None and num_samples is None:
        num_samples = guarantee.num_samples(precision, confidence, max_samples)
    elif precision is not None and num_samples is not None and confidence is None:
        confidence = guarantee.confidence(precision, num_samples)
        if confidence <= 0:
            raise BadValue(
                f"num_samples {num_samples!r} reaches no confidence at precision {precision!r}: "
                "draw more, or ask for a coarser precision."
            )
    elif num_samples is not None and confidence is not None and precision is None:
        precision = guarantee.precision(num_samples, confidence)
    else:
        raise BadValue(
            f"exactly two of {term('precision')}, {term('confidence')} and {term('num_samples')} "
            "are accepted, but they were "
            f"{precision!r}, {confidence!r} and {num_samples!r}."
        )
    layout = assumption.layout(precision, order)
    return Plan(
        num_intervals=layout.num_intervals,
        num_samples=num_samples,
        num_inputs=layout.num_inputs,
        precision=precision,
        confidence=confidence,
        order=order,
        bound=bound,
        assumption=assumption,
    )


class _Guarantee(NamedTuple):
    """A union bound over counts: precision, confidence and samples, each from the other two."""

    assumption: LipschitzOutputs | FiniteOutputs
    order: float | None
    bound: str

    def confidence(self, precision: float, num_samples: int) -> float:
        """The confidence that is reached; at most 0 where the bound is vacuous."""
        layout = self.assumption.layout(precision, self.order)
        if self.bound == "all-intervals":
            return 1 - layout.all_intervals().shortfall(num_samples)
        of_pair = 1 - layout.published().shortfall(num_samples)
        return of_pair * abs(of_pair) if layout.all_pairs else of_pair

    def num_samples(self, precision: float, confidence: float, max_samples: int) -> int:
        """The fewest draws per input."""
        layout = self.assumption.layout(precision, self.order)
        allowed, union = 1 - confidence, layout.all_intervals()
        if self.bound == "published":
            union = layout.published()
            # Theorem 4 multiplies the probabilities of two pairs, the one that is largest in truth
            # and the one that is answered; a bound over every count has nothing to multiply.
            allowed = -math.expm1(math.log(confidence) / 2) if layout.all_pairs else allowed
        found = union.smallest_num_samples(allowed, max_samples)
        if found is None:
            raise ValueError(
                f"precision {precision!r} with confidence {confidence!r} needs more than "
                f"max_samples = {max_samples} draws per input ({layout.num_intervals} intervals): "
                "accepted are a coarser precision, a lower confidence or, for Renyi, a smaller "
                "order."
            )
        return found

    def precision(self, num_samples: int, confidence: float) -> float:
        """The finest precision, by bisection on a logarithmic scale to a relative 1e-12."""
        coarse = 1.0
        while self.confidence(coarse, num_samples) < confidence:
            coarse *= 2
            if coarse > _COARSEST_PRECISION:
                raise BadValue(
                    f"num_samples {num_samples!r} reaches no precision up to "
                    f"{_COARSEST_PRECISION:g} with confidence {confidence!r}: draw more, or ask "
                    "for a lower confidence."
                )
        fine = coarse / 2
        while self.confidence(fine, num_samples) >= confidence:
            coarse, fine = fine, fine / 2
        while coarse / fine > 1 + 1e-12:
            middle = math.sqrt(coarse * fine)
            if self.confidence(middle, num_samples) >= confidence:
                coarse = middle
            else:
                fine = middle
        return coarse
