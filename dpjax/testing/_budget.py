"""Numbers of draws that fit into a time limit, and the epsilon that they could have refuted."""

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
"""Share of all draws for the search; the rest confirms, at one pair only."""

_LEAST_SEARCH, _LEAST_CONFIRM, _MOST = 200, 400, 10**9
"""Minimum numbers of draws per side in each stage, and the maximum in both."""

_FEWEST_DRAWS, _PILOT_DRAWS = 20_000, 2_000
"""Minimum total draws of an audit on the host, and draws of its first pilot."""

_GROWTH, _USED = 20, 0.85
"""Maximum ratio of an audit's draws to its pilot's, and planned share of the remaining time."""

_WARM_SHARE = 0.25
"""Longest expected time of a repeated, compiled audit, as a share of the first audit's."""

_LEAST_SLOPE = 0.2
"""Minimum share of a pilot's time that is attributed to drawing, since timings vary."""

_PILOT_KEY = random.stable_hash("dpjax.testing: pilots of a time")
"""Number folded into an audit's key to make the key of its pilots."""


class Sizes(NamedTuple):
    """Numbers of draws of one audit.

    Attributes:
        num_samples: n, search draws per side and pair.
        num_confirm: N, confirmation draws per side.
    """

    num_samples: int
    num_confirm: int

    def draws(self, num_pairs: int) -> int:
        """Return the total number of draws."""
        return 2 * (num_pairs * self.num_samples + self.num_confirm)


def sizes_of(num_draws: int, num_pairs: int, *, whole_blocks: bool = False) -> Sizes:
    """Split a total number of draws over the two stages of an audit.

    Args:
        num_draws: Total number of draws.
        num_pairs: Number of pairs searched.
        whole_blocks: Whether to make both sizes positive multiples of the maximum block size, so
            that all sizes share a compiled program.
    """
    search = int(_SEARCH_SHARE * num_draws / (2 * num_pairs))
    confirm = int((1 - _SEARCH_SHARE) * num_draws / 2)
    sizes = Sizes(min(max(search, _LEAST_SEARCH), _MOST), min(max(confirm, _LEAST_CONFIRM), _MOST))
    if whole_blocks:
        return Sizes(*(max(size // MAX_BLOCK, 1) * MAX_BLOCK for size in sizes))
    return sizes


def fewest_sizes(num_pairs: int, *, compiled: bool) -> Sizes:
    """Return the minimum sizes of an audit; arguments as in `audit_within`."""
    return sizes_of(0 if compiled else _FEWEST_DRAWS, num_pairs, whole_blocks=compiled)


def audit_within(
    seconds: float,
    num_pairs: int,
    audit: Callable[[Sizes, int | Array], AuditResult],
    key: int | Array,
    *,
    compiled: bool,
) -> AuditResult:
    """Run the largest audit that is expected to end within a given time.

    Pilots measure the time of draws and the fixed costs. They use their own key and their results
    are discarded, so the audit does not depend on earlier draws. Only the first pilot compiles. If
    no time remains for a further audit, and the pilot has the size of the smallest audit, the
    pilot's result is returned.

    Args:
        seconds: Total time, including pilots and compilation.
        num_pairs: Number of pairs searched.
        audit: Maps (sizes, key) to a result.
        key: Seed or typed key of the audit.
        compiled: Whether JAX compiles the audit, to one program for all sizes in whole blocks.
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
    # Stop here unless another pilot and the audit both fit.
    if left() < 2 * (_WARM_SHARE if compiled else 1) * cold:
        return pilot if sizes == fewest else audit(fewest, key)
    (_, took), draws = timed(sizes), sizes.draws(num_pairs)
    # The fixed costs are still unknown: attribute the whole time to draws, and make the audit at
    # most twice as large, unless another pilot follows.
    fixed, each, most = 0.0, took / draws, 2
    while True:
        affordable = max(int((_USED * left() - fixed) / each), 0)
        # A short pilot predicts poorly, so continue with a longer one that takes little time.
        growth = max((affordable / draws) ** 0.5, 2)
        larger = sizes_of(int(min(growth, _GROWTH) * draws), num_pairs, whole_blocks=compiled)
        if affordable <= most * draws or larger == sizes:
            return audit(max(sizes_of(affordable, num_pairs, whole_blocks=compiled), fewest), key)
        sizes, before, draws_before = larger, took, draws
        (_, took), draws = timed(sizes), sizes.draws(num_pairs)
        each = max((took - before) / (draws - draws_before), _LEAST_SLOPE * took / draws)
        fixed, most = max(took - each * draws, 0.0), _GROWTH


def detectable_epsilon(result: AuditResult, claim: float) -> float:
    """Return the smallest true epsilon at which this audit was likely to refute a claim.

    It concerns only the witness's event: other events may show more, and events with probability
    below about one over the number of draws were not observed.

    Args:
        result: Result of an audit by events.
        claim: Claimed epsilon, at the delta of the audit.

    Returns:
        The epsilon for which the expected lower bound equals the claim, if the event has
        probability p on the less likely side, as observed, and e^epsilon p + delta on the other;
        infinity if there is none.
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
