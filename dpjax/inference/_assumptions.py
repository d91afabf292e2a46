"""Assumptions about a mechanism, and the numbers of intervals and inputs that they require.

The precision of an estimate can be guaranteed only if a positive lower bound on the probabilities
of outputs is known. This module defines two assumptions that imply such a bound:

- `LipschitzOutputs`: outputs lie in an interval of width W, and every density is C-Lipschitz in the
  output, with C < 2 / W^2. If the inputs form an interval, every density must also be D-Lipschitz
  in the input.
- `FiniteOutputs`: there are finitely many outputs, and each output has at least a stated
  probability.

Each assumption's `layout` method computes a `Layout` from the required precision and, for Renyi
privacy, from the order. The layout contains the numbers of intervals and inputs, a lower bound on
the probability of each interval, and the tolerated error of counts.

Notation: C and W are `lipschitz` and `width` of `LipschitzOutputs`; D and W_X are `lipschitz` and
`width` of an `InputInterval`. Every density is at least tau and at most tau_1. The number of
intervals is m, the width of an interval is w, the number of inputs is k, the precision is gamma,
and the order of a Renyi divergence is alpha.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Lemma 1, eqs. (6), (12)-(16), Algorithms 1-4,
    Remark 2.
"""

import math
from dataclasses import dataclass

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue, term
from dpjax.inference._chernoff import UnionBound

_WIDTHS = 1e-100, 1e100
"""Smallest and largest accepted width of the outputs, whose squares are finite float64 numbers."""

_LARGEST_LOG = 600.0
"""Largest accepted value of ln((tau_1 / tau)^(2 alpha - 1)); a limit avoids overflow in float64."""


def _given(**arguments: float | None) -> None:
    # Reject None here because the shared validators accept None.
    for name, value in arguments.items():
        if value is None:
            raise BadType(f"{name} must be a number > 0, but was not given.")


def _whole(value: float) -> int:
    """Return the value rounded up, with a tolerance for floating-point errors.

    For example, the float64 value of 6 / (0.6 / 3) is slightly above 30, but the result is 30.
    """
    if not math.isfinite(value):
        raise BadValue(
            "precision, lipschitz and the width of inputs require infinitely many intervals or "
            "inputs: use a coarser precision or smaller constants."
        )
    return math.ceil(value * (1 - 1e-12))


def check_order(order: float) -> None:
    """Check that the order of a Renyi divergence is above 1.

    Raises:
        TypeError: If the order is not a number.
        ValueError: If the order is not a finite number above 1.
    """
    validate.finite(order=order)
    if order <= 1:
        raise BadValue(f"order must be a number > 1 (LDP has no order), but was {order!r}.")


@dataclass(frozen=True)
class Layout:
    """Numbers of intervals and inputs, and tolerances, for a given precision.

    Attributes:
        num_intervals: m, the number of output intervals, or the number of outputs if there are
            finitely many outputs.
        num_inputs: k, the number of inputs that are sampled.
        least_probability: w tau, a lower bound on the probability of every interval.
        deviation: Error in the logarithm of a count that the paper's proof allows.
        enough: The error that suffices if the union bound covers all counts, as in `all_intervals`.
            `enough` is at least `deviation`.
        all_counts_used: Whether the paper's union bound covers all counts (True for Renyi levels).
        all_pairs: Whether more than one pair of inputs is compared.
    """

    num_intervals: int
    num_inputs: int
    least_probability: float
    deviation: float
    enough: float
    all_counts_used: bool
    all_pairs: bool

    def published(self) -> UnionBound:
        """Return the paper's union bound for one pair: Theorem 2 for LDP, Theorem 6 for Renyi.

        Theorem 2 requires 4 counts to be close to their means. Theorem 6 requires all 2 m counts to
        be close to their means.
        """
        of_one_pair = 2 * self.num_intervals
        tails = of_one_pair if self.all_counts_used else 4
        return UnionBound(self.least_probability, self.deviation, of_one_pair, tails)

    def all_intervals(self) -> UnionBound:
        """Return the union bound over all counts for all inputs.

        For one pair of inputs and LDP, this bound has 4 m terms, while the paper's bound has 4
        terms. For one pair, 2 m terms would suffice, one for each count, but this bound keeps the
        paper's factor of 2.
        """
        counts = self.num_inputs * self.num_intervals
        tails = counts if self.all_counts_used else 2 * counts
        return UnionBound(self.least_probability, self.enough, counts, tails)


@dataclass(frozen=True)
class InputInterval:
    """An interval of inputs, sampled at the midpoints of subintervals of equal length.

    Attributes:
        width: W_X > 0, the length of the interval.
        lipschitz: D > 0, a Lipschitz constant, in density per unit of input. As a function of the
            input, the density at every output must be D-Lipschitz.

    Raises:
        TypeError, ValueError: If an argument is not a positive number.

    References:
        Gorla et al., Algorithms 2 and 4.
    """

    width: float
    lipschitz: float

    def __post_init__(self):
        """Validate the arguments."""
        _given(width=self.width, lipschitz=self.lipschitz)
        validate.positive(input_width=self.width, input_lipschitz=self.lipschitz)


@dataclass(frozen=True)
class LipschitzOutputs:
    """The assumption that outputs lie in an interval and have Lipschitz-continuous densities.

    Attributes:
        lipschitz: C, the Lipschitz constant in density per unit of output, positive and below
            2 / W^2.
        width: W > 0, the length of the output interval.
        inputs: Number of inputs that are compared (2 for one pair), or an interval of inputs.

    Raises:
        TypeError: If an argument is not a number.
        ValueError: If an argument is out of range; in particular, if C is at least 2 / W^2.

    References:
        Gorla et al., Lemma 1, eqs. (6) and (15), Algorithms 1-4.
    """

    lipschitz: float
    width: float = 1.0
    inputs: int | InputInterval = 2

    def __post_init__(self):
        """Validate the arguments."""
        _given(lipschitz=self.lipschitz, width=self.width)
        validate.positive(lipschitz=self.lipschitz, width=self.width)
        low, high = _WIDTHS
        if not low <= self.width <= high:
            raise BadValue(
                f"width must be a number from {low:g} to {high:g}, but was {self.width!r}: rescale "
                "the outputs."
            )
        limit = 2 / self.width**2
        # If C is just below the limit, tau may be rounded to 0.
        if self.lipschitz >= limit or self.lower_density <= 0:
            raise BadValue(
                f"lipschitz must be below 2 / width^2 = {limit:g}, but was {self.lipschitz!r}: "
                "with this constant, a density may be 0, so no number of samples suffices."
            )
        if not isinstance(self.inputs, InputInterval):
            validate.positive_int(at_least=2, inputs=self.inputs)

    @property
    def lower_density(self) -> float:
        """Lower bound tau on every density (Lemma 1)."""
        return 1 / self.width - self.lipschitz * self.width / 2

    @property
    def upper_density(self) -> float:
        """Upper bound tau_1 on every density (Lemma 1)."""
        return 1 / self.width + self.lipschitz * self.width / 2

    def layout(self, precision: float, order: float | None) -> Layout:
        """Return the layout for estimating LDP, or Renyi LDP of `order`, with a given precision."""
        # Algorithms 2 and 4 allow a third of the precision for the error of each pair's estimate,
        # and the rest for the replacement of inputs by midpoints.
        everywhere = isinstance(self.inputs, InputInterval)
        of_pair = precision / 3 if everywhere else precision
        tau = self.lower_density
        flatness = self.lipschitz * self.width / tau
        if order is None:
            num_intervals = _whole(6 * flatness / of_pair)
            deviation = of_pair / 12
            # Let f be the density at an output. The log probability of the output's interval
            # differs from ln(w f) by at most C w / tau <= of_pair / 6. The discretization error of
            # a log ratio is therefore at most of_pair / 3, which leaves of_pair / 3 for each of the
            # two counts.
            enough = of_pair / 3
            inputs_scale = 3.0
        else:
            # The paper's constants K and K' occur only in the ratio K / K', which equals
            # 2 (tau_1 / tau)^(2 alpha - 1).
            loss = _renyi_ratio(self.upper_density / tau, order) * (2 * order - 1) / (order - 1)
            num_intervals = _whole(2 * flatness * loss / of_pair)
            enough = deviation = min(of_pair / (4 * loss), math.log(2) / (2 * order - 1))
            inputs_scale = 3 * loss
        inputs = self.inputs
        if isinstance(inputs, InputInterval):
            # With a single input, there would be no pair to compare.
            range_ = inputs.lipschitz * inputs.width
            num_inputs = max(2, _whole(inputs_scale * range_ / (tau * precision)))
        else:
            num_inputs = inputs
        return Layout(
            num_intervals=num_intervals,
            num_inputs=num_inputs,
            # A single interval may have the probability 1, up to rounding.
            least_probability=min(self.width / num_intervals * tau, math.nextafter(1.0, 0.0)),
            deviation=deviation,
            enough=enough,
            all_counts_used=order is not None,
            all_pairs=everywhere or num_inputs > 2,
        )


def _renyi_ratio(density_ratio: float, order: float) -> float:
    log_ratio = (2 * order - 1) * math.log(density_ratio)
    if log_ratio > _LARGEST_LOG:
        raise BadValue(
            "order must be small enough that (tau_1 / tau)^(2 order - 1) does not overflow, but "
            f"was {order!r} with tau_1 / tau = {density_ratio:g}: use a smaller order, or "
            "order=None (LDP), which is the limit of large orders."
        )
    return math.exp(log_ratio)


@dataclass(frozen=True)
class FiniteOutputs:
    """The assumption that there are finitely many outputs, each with at least a given probability.

    Because the outputs are discrete, there is no discretization error. Suppose that the logarithm
    of every count has an error of at most z. Then a log ratio has an error of at most 2 z, and a
    Renyi divergence has an error of at most (2 alpha - 1) z / (alpha - 1).

    Attributes:
        num_outputs: Number of outputs (at least 2).
        least_probability: Lower bound on the probability of every output for every input.
        num_inputs: Number of inputs that are compared (2 for one pair).

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument is out of range.

    References:
        Gorla et al., Remark 2 (without constants).
    """

    num_outputs: int
    least_probability: float
    num_inputs: int = 2

    def __post_init__(self):
        """Validate the arguments."""
        validate.positive_int(at_least=2, num_outputs=self.num_outputs, num_inputs=self.num_inputs)
        _given(least_probability=self.least_probability)
        validate.positive(least_probability=self.least_probability)
        if self.least_probability * self.num_outputs > 1 + 1e-12:
            raise BadValue(
                f"least_probability must be at most 1 / {term('num_outputs')} = "
                f"{1 / self.num_outputs:g}, but was {self.least_probability!r}."
            )

    def layout(self, precision: float, order: float | None) -> Layout:
        """Return the layout for estimating LDP, or Renyi LDP of `order`, with a given precision."""
        share = 1 / 2 if order is None else (order - 1) / (2 * order - 1)
        return Layout(
            num_intervals=self.num_outputs,
            num_inputs=self.num_inputs,
            least_probability=self.least_probability,
            deviation=precision * share,
            enough=precision * share,
            all_counts_used=order is not None,
            all_pairs=self.num_inputs > 2,
        )
