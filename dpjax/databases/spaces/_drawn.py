"""Databases that a strategy of Hypothesis draws; whoever has a strategy has imported Hypothesis."""

import sys
from typing import Any

from dpjax.core.wording import BadValue


def is_strategy(value: object) -> bool:
    """Return whether a value is a strategy of Hypothesis."""
    strategies = sys.modules.get("hypothesis.strategies")
    return isinstance(value, getattr(strategies, "SearchStrategy", ()))


def drawn(strategy: Any, count: int, seed: int) -> list[Any]:
    """Return values that a strategy draws, the same for the same seed.

    Hypothesis reads and writes no examples, and neither a deadline nor a health check ends the
    draws.

    Args:
        strategy: Strategy of Hypothesis.
        count: Maximum number of values. Strategies of few values draw fewer.
        seed: Integer seed.

    Raises:
        ValueError: When the strategy draws no value, for instance because a filter rejects all.
    """
    import hypothesis
    from hypothesis import HealthCheck, Phase, Verbosity
    from hypothesis.errors import Unsatisfiable

    found: list[Any] = []
    checks: Any = list(HealthCheck)

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=checks,
        verbosity=Verbosity.quiet,
    )
    @hypothesis.given(strategy)
    def collect(value: Any):
        found.append(value)

    try:
        collect()  # pyright: ignore[reportCallIssue]
    except Unsatisfiable as error:
        raise BadValue(f"the strategy {strategy!r} must draw a value, but {error}") from error
    return found
