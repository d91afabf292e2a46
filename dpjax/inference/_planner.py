"""Plans for histogram estimates: precision, confidence and number of samples.

The caller passes two of `precision`, `confidence` and `num_samples`. From these two values, `plan`
computes the third: the finest precision, the confidence, or the smallest number of samples per
input. `plan_finite` computes plans for mechanisms with finitely many outputs.

A plan uses one of two union bounds. The bound "all-intervals" covers all counts for all inputs. The
bound "published" is the bound in the paper. For LDP, the published bound covers only 4 counts: for
each of the two intervals that determine the estimate, the counts for both inputs of a pair. If
there are many pairs, the published confidence is the product of two confidences, one for the pair
with the largest level and one for the pair with the largest estimate. The paper's proof is
incomplete because the intervals that determine the estimate are known only after the draws, and
because pairs with a common input share draws. The consequences of the gap in the proof depend on
the plan:

- LDP, densities on an interval: the paper requires the logarithm of each count to have an error of
  at most gamma / 12, but an error of at most gamma / 3 suffices. With the limit gamma / 3, the
  bound "all-intervals" usually requires between 1/15 and 1/4 of the published number of samples, so
  the published number is sufficient. It is rejected where it is not, for instance at a precision of
  20 nats.
- Renyi levels, densities on an interval, one pair: the bounds "all-intervals" and "published" are
  equal.
- Finitely many outputs: the published bound, which covers 4 counts, is invalid and therefore
  rejected. In an experiment with 200 outputs, 200 inputs and a confidence of 0.95, the error
  exceeded the published precision in 2 of 3 runs.

Notation: gamma is `precision`, n is `num_samples`, m is `num_intervals`, k is `num_inputs`, and
alpha is `order`.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Theorems 2, 4, 6, Algorithms 1-4, eqs. (7), (16).
"""

import math
from dataclasses import asdict, dataclass
from typing import NamedTuple

from dpjax.core import validate
from dpjax.core.notebook import html_titled
from dpjax.core.wording import BadValue, term
from dpjax.inference._assumptions import (
    FiniteOutputs,
    InputInterval,
    LipschitzOutputs,
    check_order,
)

BOUNDS = ("all-intervals", "published")

MOST_SAMPLES = 2**53
"""Largest number of draws for which float64 represents all counts exactly."""

_COARSEST_PRECISION = 100.0
"""Largest error, in nats, that is considered in the search for the finest precision."""


@dataclass(frozen=True)
class Plan:
    """A sample size, together with the precision and the confidence that it achieves.

    Attributes:
        num_intervals: m, the number of intervals (or outputs) that are counted.
        num_samples: n, the number of draws for each input.
        num_inputs: k, the number of sampled inputs: 2 for one pair, or the number of midpoints for
            an interval of inputs (Algorithms 2 and 4).
        precision: gamma, the largest error of the estimate, in nats.
        confidence: Guaranteed probability that the error is at most the precision.
        order: alpha of Renyi LDP, or None for LDP.
        bound: "all-intervals" or "published".
        assumption: Assumption about the mechanism.
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
        """Lower bound on the probability of every interval for every input (w tau)."""
        return self.assumption.layout(self.precision, self.order).least_probability

    @property
    def total_samples(self) -> int:
        """Total number of draws for all inputs, k n."""
        return self.num_inputs * self.num_samples

    def seconds(self, draws_per_second: float) -> float:
        """Return the duration of the run in seconds.

        Args:
            draws_per_second: Number of draws that are made and counted per second.
        """
        validate.positive(draws_per_second=draws_per_second)
        return self.total_samples / draws_per_second

    def rows(self) -> list[tuple[str, str]]:
        """Return the names and the formatted values of the plan's numbers."""
        what = "LDP epsilon" if self.order is None else f"Renyi level of order {self.order:g}"
        finite = isinstance(self.assumption, FiniteOutputs)
        return [
            ("estimate of", what),
            ("precision", f"{self.precision:.6g}"),
            ("confidence", f"{self.confidence:.6g}"),
            ("outputs" if finite else "intervals", str(self.num_intervals)),
            ("inputs", str(self.num_inputs)),
            ("samples per input", f"{self.num_samples:,}"),
            ("samples in total", f"{self.total_samples:,}"),
            ("union bound", self.bound),
        ]

    def __str__(self) -> str:
        """Return the plan as text, with one line per number."""
        pad = max(len(name) for name, _ in self.rows())
        return "\n".join(f"{name:<{pad}}  {value}" for name, value in self.rows())

    def _repr_html_(self) -> str:
        """Show the plan in a notebook."""
        return html_titled("Plan of a histogram estimate", self.rows())

    def to_dict(self) -> dict[str, object]:
        """Return the fields as JSON values, with the assumption as a nested dictionary."""
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
    """Plan a histogram estimate for outputs in an interval.

    Pass exactly two of `precision`, `confidence` and `num_samples`. The third is computed.

    Args:
        lipschitz: C, a Lipschitz constant of every density as a function of the output, positive
            and below 2 / W^2.
        width: W > 0, the length of the output interval.
        precision: gamma > 0, the largest accepted error, in nats.
        confidence: Guaranteed probability that the error is at most the precision, strictly between
            0 and 1.
        num_samples: n >= 1, the number of draws for each input.
        order: alpha > 1 for Renyi LDP (Algorithms 3 and 4), or None for LDP (Algorithms 1 and 2).
        inputs: Number of inputs that are compared (2 for one pair), or an `InputInterval`
            (Algorithms 2 and 4).
        bound: Name of the union bound: "all-intervals", which covers all counts, or "published",
            the bound in the paper.
        max_samples: Largest number of draws per input that the caller can make.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument is out of range, if C >= 2 / W^2, if more than `max_samples`
            draws per input are required, if `num_samples` is too small to guarantee any precision
            or any confidence, or if `bound` is "published" but the published number of draws does
            not guarantee the confidence.

    References:
        Gorla et al., Theorems 2, 4 and 6, Algorithms 1-4.
    """
    assumption = LipschitzOutputs(lipschitz, width, inputs)
    found = _solve(assumption, precision, confidence, num_samples, order, bound, max_samples)
    if bound == "published" and order is None:
        shown = _Guarantee(assumption, order, "all-intervals").confidence(
            found.precision, found.num_samples
        )
        if shown < found.confidence:
            raise BadValue(
                f"bound must be 'all-intervals' for precision {found.precision:g} and confidence "
                f"{found.confidence:g}: the published number of draws, {found.num_samples}, only "
                f"guarantees the confidence {max(shown, 0):.4g}."
            )
    return found


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
    """Plan a histogram estimate for finitely many outputs.

    Args:
        num_outputs: Number of outputs (at least 2).
        least_probability: Lower bound on the probability of every output for every input.
        precision: As in `plan`.
        confidence: As in `plan`.
        num_samples: As in `plan`.
        order: As in `plan`.
        num_inputs: Number of inputs that are compared (2 for one pair).
        bound: Name of the union bound. The name "published" is accepted only for a Renyi level of
            one pair, for which both bounds are equal.
        max_samples: As in `plan`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `plan` would raise a ValueError for the shared arguments, if
            `least_probability` is above 1 / `num_outputs`, or if `bound` is "published" but the
            published bound is invalid for this plan.

    References:
        Gorla et al., Remark 2.
    """
    assumption = FiniteOutputs(num_outputs, least_probability, num_inputs)
    # The two bounds are equal for a Renyi level of one pair.
    if bound == "published" and (order is None or num_inputs > 2):
        raise BadValue(
            "bound must be 'all-intervals' for finitely many outputs, but was 'published': the "
            "published bound covers only four counts, and the error would exceed the precision "
            "more often than stated."
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
                f"num_samples {num_samples!r} is too small for a confidence above 0 at precision "
                f"{precision!r}: make more draws, or ask for a coarser precision."
            )
    elif num_samples is not None and confidence is not None and precision is None:
        precision = guarantee.precision(num_samples, confidence)
    else:
        number = sum(value is not None for value in (precision, confidence, num_samples))
        given = ("none was", "one was", "", "all were")[number]
        raise BadValue(
            f"exactly two of {term('precision')}, {term('confidence')} and {term('num_samples')} "
            f"must be given, but {given} given."
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
    """A union bound over counts, to be solved for the precision, the confidence or the sample size.

    The attributes have the same meaning as in `Plan`.
    """

    assumption: LipschitzOutputs | FiniteOutputs
    order: float | None
    bound: str

    def confidence(self, precision: float, num_samples: int) -> float:
        """Return the confidence, which is 0 or negative if the union bound is vacuous."""
        layout = self.assumption.layout(precision, self.order)
        if self.bound == "all-intervals":
            return 1 - layout.all_intervals().shortfall(num_samples)
        of_pair = 1 - layout.published().shortfall(num_samples)
        return of_pair * abs(of_pair) if layout.all_pairs else of_pair

    def num_samples(self, precision: float, confidence: float, max_samples: int) -> int:
        """Return the smallest sufficient number of draws per input.

        Raises:
            ValueError: If the number is above `max_samples`.
        """
        layout = self.assumption.layout(precision, self.order)
        allowed, union = 1 - confidence, layout.all_intervals()
        if self.bound == "published":
            union = layout.published()
            # Theorem 4 multiplies the confidences of two pairs, so each pair requires the square
            # root of the confidence. A union bound over all counts requires no product.
            allowed = -math.expm1(math.log(confidence) / 2) if layout.all_pairs else allowed
        found = union.smallest_num_samples(allowed, max_samples)
        if found is None:
            number = layout.num_intervals
            intervals = f"{number}" if number < MOST_SAMPLES else f"{number:.3g}"
            raise ValueError(
                f"precision {precision!r} with confidence {confidence!r} needs more than "
                f"max_samples = {max_samples} draws per input ({intervals} intervals): "
                "ask for a coarser precision, a lower confidence or, for Renyi, a smaller order."
            )
        return found

    def precision(self, num_samples: int, confidence: float) -> float:
        """Return the finest sufficient precision, by bisection on a logarithmic scale.

        Raises:
            ValueError: If the required confidence cannot be reached even with a precision of 100
                nats.
        """
        coarse = 1.0
        while self.confidence(coarse, num_samples) < confidence:
            coarse *= 2
            if coarse > _COARSEST_PRECISION:
                raise BadValue(
                    f"num_samples {num_samples!r} is too small to reach even the coarsest "
                    f"supported precision, {_COARSEST_PRECISION:g}, with confidence "
                    f"{confidence!r}: make more draws, or ask for a lower confidence."
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
