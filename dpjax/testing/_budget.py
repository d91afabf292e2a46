"""How many draws an audit of a test may take, and what it could have shown with them."""

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
"""Share of the draws for the search; most confirm, since they count at one pair."""

_LEAST_SEARCH, _LEAST_CONFIRM, _MOST = 200, 400, 10**9
"""Fewest draws a side of both stages, and the most that a budget of time may choose."""

_FEWEST_DRAWS, _PILOT_DRAWS = 20_000, 2_000
"""Draws in all of a host's audit, however short its time is, and of its first pilot."""

_GROWTH, _USED = 20, 0.85
"""Most growth from a pilot to the audit, and the part of the time left that is planned."""

_WARM_SHARE = 0.25
"""Largest share of an audit's first time that a second one takes, once it is compiled."""

_LEAST_SLOPE = 0.2
"""Least share of a pilot's time that counts as drawing, since measured times vary."""

_PILOT_KEY = random.stable_hash("dpjax.testing: pilots of a time")
"""Number that is folded into an audit's key for its pilots."""


class Sizes(NamedTuple):
    """Draws of one audit.

    Attributes:
        num_samples: n, a side and pair to search.
        num_confirm: N, a side to confirm.
    """

    num_samples: int
    num_confirm: int

    def draws(self, num_pairs: int) -> int:
        """Draws in all."""
        return 2 * (num_pairs * self.num_samples + self.num_confirm)


def sizes_of(num_draws: int, num_pairs: int, *, whole_blocks: bool = False) -> Sizes:
    """Splits a number of draws in all over the two stages of an audit.

    Args:
        num_draws: In all.
        num_pairs: Number of pairs that are searched.
        whole_blocks: Whether sizes are multiples of the largest block, one at least: all of them
            share a compiled program, which any other size would compile anew.
    """
    search = int(_SEARCH_SHARE * num_draws / (2 * num_pairs))
    confirm = int((1 - _SEARCH_SHARE) * num_draws / 2)
    sizes = Sizes(min(max(search, _LEAST_SEARCH), _MOST), min(max(confirm, _LEAST_CONFIRM), _MOST))
    if whole_blocks:
        return Sizes(*(max(size // MAX_BLOCK, 1) * MAX_BLOCK for size in sizes))
    return sizes


def fewest_sizes(num_pairs: int, *, compiled: bool) -> Sizes:
    """The sizes that an audit has, however short its time is; arguments as `audit_within`."""
    return sizes_of(0 if compiled else _FEWEST_DRAWS, num_pairs, whole_blocks=compiled)


def audit_within(
    seconds: float,
    num_pairs: int,
    audit: Callable[[Sizes, int | Array], AuditResult],
    key: int | Array,
    *,
    compiled: bool,
) -> AuditResult:
    """The largest audit that is expected to end within a time, and not much before it.

    Pilots measure how long draws and all else take here. They draw with a key of their own and
    their answers are not used, so the audit depends on nothing that was drawn before it. Only the
    first of them compiles. Where that leaves no time for another, and it was as large as the
    smallest audit, it is the audit itself.

    Args:
        seconds: For everything, pilots and compilation included.
        num_pairs: Number of pairs that are searched.
        audit: (sizes, key) -> result.
        key: Seed or typed key of the audit.
        compiled: Whether JAX compiles the audit: one program for all sizes of whole blocks.
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
    # Another pilot and the audit must fit.
    if left() < 2 * (_WARM_SHARE if compiled else 1) * cold:
        return pilot if sizes == fewest else audit(fewest, key)
    (_, took), draws = timed(sizes), sizes.draws(num_pairs)
    # The fixed part of the time is unknown yet: all of it counts as that of draws, and
    # the audit is at most twice as large, unless another pilot follows.
    fixed, each, most = 0.0, took / draws, 2
    while True:
        affordable = max(int((_USED * left() - fixed) / each), 0)
        # A short pilot promises little: go on with a longer one, that costs little of the time.
        growth = max((affordable / draws) ** 0.5, 2)
        larger = sizes_of(int(min(growth, _GROWTH) * draws), num_pairs, whole_blocks=compiled)
        if affordable <= most * draws or larger == sizes:
            return audit(max(sizes_of(affordable, num_pairs, whole_blocks=compiled), fewest), key)
        sizes, before, draws_before = larger, took, draws
        (_, took), draws = timed(sizes), sizes.draws(num_pairs)
        each = max((took - before) / (draws - draws_before), _LEAST_SLOPE * took / draws)
        fixed, most = max(took - each * draws, 0.0), _GROWTH


def detectable_epsilon(result: AuditResult, claim: float) -> float:
    """The least epsilon at the witness's event that this audit was likely to refute a claim with.

    It is of that event only: other events may hold more, and what happens less often than about
    once in all draws was not seen.

    Args:
        result: Result of an audit by events.
        claim: An epsilon, at the delta of the audit.

    Returns:
        Such that, with the event as probable at its less likely side as it was, and e^epsilon times
        that and delta more at the other, the expected lower bound is the claim; infinite where
        there is none.
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
