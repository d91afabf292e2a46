"""Number of draws with which an audit probably refutes a false claim."""

import math

import numpy as np
import scipy

from dpjax.core import validate
from dpjax.core.wording import BadValue, term
from dpjax.inference import Ratio, Shared, best_ratio, divided
from dpjax.notions import Epsilon
from dpjax.sources import rounds_within

_FEWEST, _MOST = 64, 2**50
"""Range of the total number of draws per side."""

_DIGITS = 2
"""Number of significant digits of the result."""

_LARGEST_ERROR = 0.49
"""Largest error probability for which the plan is computed, just below 1/2."""


def plan_draws(
    claim: float,
    epsilon: float,
    *,
    probability: float = 0.1,
    delta: float = 0.0,
    confidence: float = 0.999,
    num_claims: int = 1,
    power: float = 0.9,
) -> int:
    """Return the number of draws with which an audit by events probably refutes a claim.

    The plan is for one pair of databases, and assumes that the search finds the best event. If this
    event has the probability q on the side where it is less likely, it has the probability
    e^epsilon q + delta on the other side. The lower bound is approximated by a normal random
    variable. If the outputs are a few outcomes, the search usually finds the best event, so the
    audit refutes the claim with about the probability `power` or more. If the outputs are numbers,
    the search may find a slightly worse event. In simulations with `power` = 0.9 (2,000 audits
    each, standard error at most 0.011), audits of randomized response refuted the claim with
    probability 0.89 (claim 0, epsilon 0.1) to 0.99 (claim 1, epsilon 2), and audits of Laplace
    noise with probability 0.70 (claim 0, epsilon 0.3) to 0.97 (claim 1, epsilon 2). With twice as
    many draws, audits of Laplace noise had at least probability 0.93.

    Args:
        claim: Claimed epsilon, at least 0.
        epsilon: True epsilon, or the smallest epsilon that the audit should detect, above `claim`.
        probability: q, in (0, 1). The rarer the event, the more draws are needed. For Laplace noise
            of scale 1 / epsilon, q is e^-epsilon / 2.
        delta: Delta of the claim and of the true privacy level, in [0, 1).
        confidence: Confidence of the bound, in (0, 1).
        num_claims: Number of audits whose bounds hold simultaneously.
        power: Probability, in (0, 1), that the audit refutes the claim if the search finds the best
            event.

    Returns:
        Total number of draws per side for `Events(num_draws=...)`, rounded up to two significant
        digits. If the outputs are numbers, double the number to be safe. An audit of several pairs
        needs even more draws: 2.5 times as many for Laplace noise and the ten pairs (0, 0.1), (0,
        0.2), ..., (0, 1). If there are so few draws that all outputs from each database may be
        equal, the verdict may be *not random*, which refutes the claim, too.

    Raises:
        ValueError: If a number is out of range, if e^epsilon q + delta is above 1, or if more than
            2^50 draws would be needed.
        TypeError: If an argument is not a number.
    """
    validate.non_negative(claim=claim)
    validate.positive(epsilon=epsilon)
    validate.open_unit(probability=probability, power=power)
    Epsilon(delta)  # Validates delta.
    validate.joint_confidence(confidence, num_claims)
    if epsilon <= claim:
        raise BadValue(
            f"{term('epsilon')} must be above the claim, {claim:g}, because a true claim cannot be "
            f"refuted, but was {epsilon:g}."
        )
    q, p = probability, math.exp(min(epsilon, 700.0)) * probability + delta
    if p > 1:
        most = (1 - delta) * math.exp(-epsilon)
        raise BadValue(
            f"{term('probability')} must be at most (1 - delta) / e^epsilon, {most:.6g}, but was "
            f"{q!r}."
        )
    # At a confidence below 1/2, the normal approximation of the bound is above the estimate, and
    # would become worse again. Such an audit needs at most as many draws as at 1/2.
    false_alarm = min((1 - confidence) / num_claims, _LARGEST_ERROR)
    hypothesis = Ratio(delta)
    margin, quantile = (-float(scipy.special.ndtri(x)) for x in (1 - power, false_alarm))

    def is_enough(num_draws: int) -> bool:
        confirmed = Shared(rounds_within(1, num_draws).num_confirm)
        ratio = best_ratio(p, q, confirmed, 1 - false_alarm, hypothesis)
        first, second = (int(side) for side in divided(ratio, confirmed.mean))
        middle, error = hypothesis.order_and_error(p * first, q * second, (first, second), quantile)
        return bool(middle - margin * error >= claim)

    high = _FEWEST
    while not is_enough(high):
        high *= 2
        if high > _MOST:
            raise BadValue(
                f"more than {_MOST:.1g} draws would be needed to tell epsilon {epsilon:.12g} from "
                f"the claim {claim:.12g} if the probability of the event is {q:g}: choose a larger "
                f"{term('epsilon')} or {term('probability')}."
            )
    low = high // 2
    while high - low > 1 and high > (1 + 10.0**-_DIGITS) * low:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    unit = 10 ** max(int(np.log10(high)) + 1 - _DIGITS, 0)
    return -(-high // unit) * unit
