"""How many draws an audit of a test may take, and what it could have shown with them."""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpjax._result import AuditResult
from dpjax.inference import predicted_bound

_SEARCH_SHARE = 0.4
"""Part of the draws that searches: most confirm, where they count at one pair."""

_LEAST_SEARCH, _LEAST_CONFIRM, _MOST = 200, 400, 10**9
"""Draws a side; and the most that a budget of time may choose."""

_PILOT_DRAWS, _GROWTH, _USED = 20_000, 20, 0.85
"""Draws of the first pilot, growth to the next, and the part of the time left that is planned."""


class Sizes(NamedTuple):
    """Draws of one audit.

    Attributes:
        num_samples: n, a side and pair to search.
        num_confirm: N, a side to confirm.
    """

    num_samples: int
    num_confirm: int


def sizes_of(num_draws: int, num_pairs: int) -> Sizes:
    """Splits a number of draws in all over the two stages of an audit."""
    search = int(_SEARCH_SHARE * num_draws / (2 * num_pairs))
    confirm = int((1 - _SEARCH_SHARE) * num_draws / 2)
    return Sizes(min(max(search, _LEAST_SEARCH), _MOST), min(max(confirm, _LEAST_CONFIRM), _MOST))


def audit_within(
    seconds: float, num_pairs: int, audit: Callable[[Sizes], AuditResult]
) -> AuditResult:
    """The largest audit that is expected to end within a time, and not much before it.

    Pilots measure how long draws and compilation take here; their answers are not used, so the
    size of the last audit does not depend on what was drawn.

    Args:
        seconds: For everything, pilots and compilation included.
        num_pairs: That are searched.
        audit: Sizes -> result.
    """
    start = time.perf_counter()

    def timed(draws: int) -> tuple[float, AuditResult]:
        begin = time.perf_counter()
        result = audit(sizes_of(draws, num_pairs))
        return time.perf_counter() - begin, result

    draws = _PILOT_DRAWS
    cold, result = timed(draws)
    if seconds - (time.perf_counter() - start) < cold:
        return result
    warm, _ = timed(draws)
    compilation = max(cold - warm, 0.0)
    while True:
        left = seconds - (time.perf_counter() - start)
        affordable = int(_USED * (left - compilation) * draws / warm)
        if affordable <= draws:
            return result
        if affordable < _GROWTH * draws:
            return timed(affordable)[1]
        # A short pilot is mostly overhead, so it promises too little: go on with a longer one.
        draws *= _GROWTH
        cold, result = timed(draws)
        warm = max(cold - compilation, 0.2 * cold)


def detectable_epsilon(result: AuditResult, claim: float) -> float:
    """The least epsilon at the witness's event that this audit was likely to refute a claim with.

    Args:
        result: Of an audit with the exact guarantee.
        claim: An epsilon.

    Returns:
        Such that, with the event as probable at its less likely side as it was, and e^epsilon times
        that at the other, the expected lower bound is the claim; infinite where there is none.
    """
    rarer = max(min(result.witness.densities), 1 / result.num_confirm)
    error = (1 - result.confidence) / result.settings.get("num_claims", 1)
    tried = np.linspace(0.0, -np.log(rarer), 2000)
    expected, _ = predicted_bound(
        np.minimum(rarer * np.exp(tried), 1.0),
        np.full(tried.shape, rarer),
        result.num_confirm,
        1 - error,
    )
    enough = np.flatnonzero(expected >= claim)
    return float(tried[enough[0]]) if enough.size else float("inf")
