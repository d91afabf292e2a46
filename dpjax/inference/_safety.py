"""The safety check, which tests a claimed Lipschitz constant.

Every guarantee of the histogram estimators assumes a Lipschitz constant. Outputs cannot confirm a
claimed constant, but they can refute it. If the claim is true, then with at least a known
probability, the counts in adjacent intervals are almost equal. A `SafetyCheck` contains this
probability and a limit on the gap between the counts in adjacent intervals. The run is repeated,
and the test counts the runs in which all gaps are within the limit. If there are too few such runs,
a binomial test refutes the claim. Gaps within the limit do not confirm the claim because the
densities may vary arbitrarily inside an interval.

Notation: C is `lipschitz`, m is `num_intervals`, w is width / m, n is `num_samples`, k is
`num_inputs`, and N_j is the count in interval j. The density bounds of Lemma 1 are tau and tau_1.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Theorem 3, eq. (9), Section III-C.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpjax.core import validate
from dpjax.inference._assumptions import LipschitzOutputs
from dpjax.inference._planner import MOST_SAMPLES, Plan


@dataclass(frozen=True)
class SafetyVerdict:
    """Result of a test that uses repeated runs to check a claimed Lipschitz constant.

    Attributes:
        num_runs: Number of runs.
        num_within: Number of runs in which every gap is within the limit.
        probability: Lower bound on the probability that, if the claim is true, all gaps of a run
            are within the limit.
        p_value: P-value of the one-sided binomial test. If the claim is true, the probability that
            `num_within` or fewer runs are within the limit is at most the p-value. The p-value is 1
            if `probability` is 0 or less.
    """

    num_runs: int
    num_within: int
    probability: float
    p_value: float

    def refuted(self, significance: float = 0.05) -> bool:
        """Return whether the claim is refuted at a significance level strictly between 0 and 1."""
        validate.open_unit(significance=significance)
        return self.p_value <= significance


@dataclass(frozen=True)
class SafetyCheck:
    """A limit on the gaps between the counts in adjacent intervals.

    Attributes:
        num_intervals: m, the number of intervals.
        num_samples: n, the number of draws for each input of one run.
        num_inputs: k, the number of inputs of one run (2 for one pair).
        beta: Tolerated relative deviation of a count from its mean, strictly between 0 and 1.
        limit: C w^2 + 2 beta w tau_1, the limit on |N_j - N_(j+1)| / n.
        probability: Lower bound on the probability that, if the claim is true, all gaps of a run
            are within the limit. A value of 0 or less is vacuous.

    References:
        Gorla et al., Theorem 3 and eq. (9).
    """

    num_intervals: int
    num_samples: int
    num_inputs: int
    beta: float
    limit: float
    probability: float

    def gaps(self, counts: ArrayLike) -> np.ndarray:
        """Return each run's largest gap between adjacent intervals.

        Args:
            counts: Integers [..., k, m], counts of m intervals for k inputs. The sum of each row
                is n.

        Returns:
            The maximum of |N_j - N_(j+1)| / n over inputs and intervals, float64 [...].

        Raises:
            TypeError: If the counts are not numbers.
            ValueError: If the counts are not whole numbers >= 0, if their shape does not end in
                [k, m], or if a row does not sum to n.
        """
        validate.counts(counts=counts)
        counts = np.asarray(counts)
        if counts.shape[-2:] != (self.num_inputs, self.num_intervals):
            raise ValueError(
                f"counts must have a shape ending in [{self.num_inputs}, {self.num_intervals}], "
                f"but had {list(counts.shape)}."
            )
        # Differences of unsigned integers would wrap around.
        counts = counts.astype(np.int64)
        if np.any(counts.sum(-1) != self.num_samples):
            raise ValueError(
                f"counts must sum to num_samples = {self.num_samples} in every row, but summed to "
                f"{np.unique(counts.sum(-1))}."
            )
        return np.abs(np.diff(counts, axis=-1)).max((-2, -1), initial=0) / self.num_samples

    def verdict(self, counts: ArrayLike) -> SafetyVerdict:
        """Test the claim with the counts of repeated runs.

        Args:
            counts: Counts as in `gaps`, integers [num_runs, k, m], or [k, m] for one run.

        Raises:
            TypeError, ValueError: If `gaps` would raise this error for the counts.
        """
        gaps = np.atleast_1d(self.gaps(counts))
        num_within = int(np.sum(gaps <= self.limit))
        # The cumulative distribution function decreases with the probability, so a lower bound on
        # the probability leads to an upper bound on the p-value.
        vacuous = self.probability <= 0
        p_value = (
            1.0 if vacuous else float(scipy.special.bdtr(num_within, gaps.size, self.probability))
        )
        return SafetyVerdict(gaps.size, num_within, self.probability, p_value)


def safety_check(
    plan: Plan, beta: float | None = None, *, probability: float = 0.95
) -> SafetyCheck:
    """Return the safety check for the counts of a planned run.

    Args:
        plan: Plan for outputs in an interval. The plan's Lipschitz constant is the claim.
        beta: Tolerated relative deviation of a count from its mean, strictly between 0 and 1. If
            `beta` is None, the check uses the smallest beta for which a run passes with at least
            the required `probability`.
        probability: Required probability that one run passes the check if the claim is true. The
            argument is ignored if `beta` is not None.

    Returns:
        The safety check. The factor 4 m in the paper's union bound is valid for two inputs. For k
        inputs, this function uses the factor 2 k m instead.

    Raises:
        TypeError: If the plan assumes finitely many outputs and therefore has no Lipschitz
            constant.
        ValueError: If an argument is out of range, or if the plan has too few samples to reach the
            probability with any beta.

    References:
        Gorla et al., Theorem 3.
    """
    assumption = _claim(plan)
    w = assumption.width / plan.num_intervals
    events = 2 * plan.num_inputs * plan.num_intervals
    per_sample = w * assumption.lower_density / 3
    if beta is None:
        validate.open_unit(probability=probability)
        beta = math.sqrt(math.log(events / (1 - probability)) / (per_sample * plan.num_samples))
        if beta >= 1:
            raise ValueError(
                f"plan must have more samples for a safety check with probability {probability!r}, "
                f"but had {plan.num_samples}: use plan_safety."
            )
    validate.open_unit(beta=beta)
    exponent = beta**2 * per_sample * plan.num_samples
    return SafetyCheck(
        num_intervals=plan.num_intervals,
        num_samples=plan.num_samples,
        num_inputs=plan.num_inputs,
        beta=beta,
        limit=assumption.lipschitz * w**2 + 2 * beta * w * assumption.upper_density,
        probability=1 - events * math.exp(-exponent),
    )


def plan_safety(
    plan: Plan,
    *,
    probability: float = 0.9,
    excess: float = 1.5,
    beta: float | None = None,
    max_samples: int = MOST_SAMPLES,
) -> tuple[Plan, SafetyCheck]:
    """Choose a sample size that is large enough for a safety check to refute false claims.

    Args:
        plan: Plan for outputs in an interval. The plan's Lipschitz constant is the claim.
        probability: Required probability that one run passes the check if the claim is true.
        excess: Factor > 1. The check can detect densities whose average slope between adjacent
            intervals is above `excess` times the claimed constant.
        beta: Tolerated relative deviation of a count from its mean, strictly between 0 and 1. If
            `beta` is None, a value is computed from `excess`.
        max_samples: Largest number of draws per input that the caller can make.

    Returns:
        The plan, with its number of samples increased if necessary, and the safety check for this
        plan.

    Raises:
        TypeError: If the plan assumes finitely many outputs.
        ValueError: If an argument is out of range, or if more than `max_samples` draws per input
            are required.

    References:
        Gorla et al., Section III-E, "The safety check".
    """
    assumption = _claim(plan)
    validate.open_unit(probability=probability)
    w = assumption.width / plan.num_intervals
    if beta is None:
        validate.finite(excess=excess)
        if excess <= 1:
            raise ValueError(f"excess must be a number > 1, but was {excess!r}.")
        # With this beta, the limit is excess * C w^2.
        beta = (excess - 1) * assumption.lipschitz * w / (2 * assumption.upper_density)
    validate.open_unit(beta=beta)
    events = 2 * plan.num_inputs * plan.num_intervals
    per_sample = beta**2 * w * assumption.lower_density / 3
    enough = math.ceil(math.log(events / (1 - probability)) / per_sample)
    if enough > max_samples:
        raise ValueError(
            f"probability {probability!r} with beta {beta:g} requires {enough} draws per input, "
            f"which is more than max_samples = {max_samples}: use a larger excess or beta, or a "
            "coarser precision (wider intervals)."
        )
    raised = replace(plan, num_samples=max(plan.num_samples, enough))
    return raised, safety_check(raised, beta)


def _claim(plan: Plan) -> LipschitzOutputs:
    if not isinstance(plan.assumption, LipschitzOutputs):
        raise TypeError(
            "plan must assume Lipschitz densities (use `plan`), but it assumes finitely many "
            "outputs, so there is no Lipschitz constant to check."
        )
    return plan.assumption
