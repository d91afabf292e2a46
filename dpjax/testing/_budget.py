"""Numbers of draws that fit within a time limit, and the epsilon that an audit can detect."""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jax import Array

from dpjax.core import random
from dpjax.core.numerics import MAX_BLOCK
from dpjax.inference import Ratio
from dpjax.results import AuditResult

_SEARCH_SHARE = 0.4
"""Share of all draws used for the search; the other draws form the confirmation set."""

_LEAST_SEARCH, _LEAST_CONFIRM, _MOST = 200, 400, 10**9
"""Limits on draws per side: minimum for the search, minimum for the confirmation, maximum."""

_FEWEST_DRAWS, _PILOT_DRAWS = 20_000, 2_000
"""Minimum number of draws in an audit and in its first pilot, if the audit is not compiled."""

_GROWTH, _USED = 20, 0.85
"""Limits on the size of an audit after its pilots, which are smaller audits.

An audit makes at most `_GROWTH` times as many draws as the last pilot, and its planned duration is
the share `_USED` of the remaining time.
"""

_WARM_SHARE = 0.25
"""Assumed maximum duration of an audit or a later pilot, relative to that of the first pilot.

The first pilot takes longer, because it compiles the program.
"""

_LEAST_SLOPE = 0.2
"""Minimum share of a pilot's time that is attributed to drawing instead of fixed costs.

Without this minimum, fluctuations in timing could make the time per draw seem close to 0.
"""

_OF_BETS = 2
"""Factor of `least_draws` for a sequential audit. In measurements, the factor was at least 2.4."""

_LARGEST_CLAIM = 600.0
"""Larger claims count as this one, because e^-epsilon is zero in double precision from 746 on."""

_PILOT_KEY = random.stable_hash("dpjax.testing: pilots of a time")
"""Number that is folded into the key of an audit to derive the key of its pilots."""


class Sizes(NamedTuple):
    """Numbers of draws in an audit.

    Attributes:
        num_samples: Number n of search draws per side and pair.
        num_confirm: Number N of confirmation draws per side.
    """

    num_samples: int
    num_confirm: int

    def draws(self, num_pairs: int) -> int:
        """Return the total number of draws, on both sides, for search and confirmation."""
        return 2 * (num_pairs * self.num_samples + self.num_confirm)


def sizes_of(num_draws: int, num_pairs: int, *, whole_blocks: bool = False) -> Sizes:
    """Divide a total number of draws between the search and the confirmation of an audit.

    Args:
        num_draws: Total number of draws.
        num_pairs: Number of pairs that the search compares.
        whole_blocks: Whether both sizes must be positive multiples of the maximum block size. All
            audits with such sizes share one compiled program.
    """
    search = int(_SEARCH_SHARE * num_draws / (2 * num_pairs))
    confirm = int((1 - _SEARCH_SHARE) * num_draws / 2)
    sizes = Sizes(min(max(search, _LEAST_SEARCH), _MOST), min(max(confirm, _LEAST_CONFIRM), _MOST))
    if whole_blocks:
        return Sizes(*(max(size // MAX_BLOCK, 1) * MAX_BLOCK for size in sizes))
    return sizes


def fewest_sizes(num_pairs: int, *, compiled: bool) -> Sizes:
    """Return the sizes of the smallest audit; `audit_within` describes the arguments."""
    return sizes_of(0 if compiled else _FEWEST_DRAWS, num_pairs, whole_blocks=compiled)


def audit_within(
    seconds: float,
    num_pairs: int,
    audit: Callable[[Sizes, int | Array], AuditResult],
    key: int | Array,
    *,
    compiled: bool,
) -> AuditResult:
    """Run the largest audit that is expected to end within a time limit.

    Pilots, which are smaller audits, measure the fixed cost and the time per draw. Only the first
    pilot includes compilation. Pilots use a separate key, and their results are discarded, so the
    result of the audit does not depend on the pilots. There is one exception. If the first pilot
    has the size of the smallest audit, and too little time remains for another pilot and the audit,
    the function returns the result of the first pilot.

    Args:
        seconds: Total time in seconds, including pilots and compilation.
        num_pairs: Number of pairs that the search compares.
        audit: Function (sizes, key) -> result, which runs an audit.
        key: Integer seed or typed key of the audit.
        compiled: Whether JAX compiles the audit. If `compiled` is True, all sizes are multiples of
            the block size, so all audits share one compiled program.
    """
    start = time.perf_counter()
    pilot_key = random.fold_in(random.as_key(key), _PILOT_KEY)

    def left() -> float:
        return seconds - (time.perf_counter() - start)

    def timed(sizes: Sizes) -> tuple[AuditResult, float]:
        begin = time.perf_counter()
        result = audit(sizes, pilot_key)
        return result, time.perf_counter() - begin

    fewest = fewest_sizes(num_pairs, compiled=compiled)
    sizes = sizes_of(0 if compiled else _PILOT_DRAWS, num_pairs, whole_blocks=compiled)
    pilot, cold = timed(sizes)
    # Run another pilot only if there is enough time for both the pilot and the audit.
    if left() < 2 * (_WARM_SHARE if compiled else 1) * cold:
        return pilot if sizes == fewest else audit(fewest, key)
    (_, took), draws = timed(sizes), sizes.draws(num_pairs)
    # After a single pilot, the fixed cost is unknown and assumed to be 0. Until another pilot has
    # measured the fixed cost, the audit may make at most twice as many draws as the pilot.
    fixed, each, most = 0.0, took / draws, 2
    while True:
        affordable = max(int((_USED * left() - fixed) / each), 0)
        # A small pilot predicts the time of a large audit poorly, so the next pilot is larger, but
        # still takes only a small part of the time.
        growth = max((affordable / draws) ** 0.5, 2)
        larger = sizes_of(int(min(growth, _GROWTH) * draws), num_pairs, whole_blocks=compiled)
        if affordable <= most * draws or larger == sizes:
            return audit(max(sizes_of(affordable, num_pairs, whole_blocks=compiled), fewest), key)
        sizes, before, draws_before = larger, took, draws
        (_, took), draws = timed(sizes), sizes.draws(num_pairs)
        each = max((took - before) / (draws - draws_before), _LEAST_SLOPE * took / draws)
        fixed, most = max(took - each * draws, 0.0), _GROWTH


def detectable_epsilon(result: AuditResult, claim: float) -> float:
    """Return the smallest true epsilon for which an audit would probably refute a claim.

    The result refers only to the event of the witness. Other events may reveal a larger epsilon.
    Events with a probability far below 1 / (number of draws) are rarely observed.

    Args:
        result: Result of an audit that counted an event.
        claim: Claimed epsilon, at the delta of the audit.

    Returns:
        The smallest epsilon for which the expected lower bound reaches the claim, or infinity if
        there is no such epsilon. The function assumes that the event has its observed probability p
        on the side where it is less likely, and probability e^epsilon p + delta on the other side.
    """
    delta, draws, witness = result.delta, result.num_confirm, result.witness
    if not draws or witness is None or witness.densities is None:
        return float("inf")
    side = int(witness.larger == "neighbor")
    trials = result.evidence.trials[side], result.evidence.trials[1 - side]
    rarer = max(min(witness.densities), 1 / trials[1])
    error = (1 - result.confidence) / result.num_claims
    tried = np.linspace(0.0, -np.log(rarer), 2000)
    quantile = result.evidence.counted.quantile(error, draws)
    larger = trials[0] * np.minimum(rarer * np.exp(tried) + delta, 1.0)
    smaller = np.full(tried.shape, trials[1] * rarer)
    expected = Ratio(delta).order(larger, smaller, trials, quantile)
    enough = np.flatnonzero(expected >= claim)
    return float(tried[enough[0]]) if enough.size else float("inf")


def least_draws(claim: float, delta: float, confidence: float) -> float:
    """Return the number of draws per side below which no audit can refute a claimed epsilon.

    With a correct mechanism, an output may name its database with the probability
    q = (e^epsilon + delta) / (1 + e^epsilon). If N outputs per side that all name their databases
    refute the claim, the claim of this mechanism is refuted with probability q^(2N), which must not
    exceed the error probability.

    Args:
        claim: Claimed epsilon.
        delta: Delta of the claim.
        confidence: Confidence of the audit.
    """
    # As 1 - q = (1 - delta) / (1 + e^epsilon), this form is accurate for a large epsilon.
    wrong = (1 - delta) * math.exp(-min(claim, _LARGEST_CLAIM)) / (1 + math.exp(-claim))
    return math.log(1 - confidence) / (2 * math.log1p(-wrong))


def too_few_draws(result: AuditResult) -> str | None:
    """Return a sentence if an audit had too few draws to refute the claim, and None otherwise.

    Args:
        result: Result of an audit that did not refute the claim.
    """
    drawn = result.settings.get("drawn", result.num_confirm)
    if drawn is None or not result.notion.takes_delta or not isinstance(result.claim, float):
        return None
    claim = result.recipe["distance"] * result.claim
    least = least_draws(claim, result.delta or 0.0, result.confidence)
    least *= _OF_BETS if "drawn" in result.settings else 1
    if drawn >= least:
        return None
    return (
        f"The audit had only {drawn} draws per side to refute the claim. Even if every output "
        f"revealed the database, more than {_written(least)} would be needed: allow more time or "
        "more draws."
    )


def _written(number: float) -> str:
    return f"{number:,.0f}" if number < _MOST else f"{number:.0e}"
