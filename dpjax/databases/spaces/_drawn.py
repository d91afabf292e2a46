"""Databases drawn from a Hypothesis strategy; Hypothesis is imported only for such draws."""

import sys
from typing import Any

from dpjax.core.wording import BadValue


def is_strategy(value: object) -> bool:
    """Return whether a value is a Hypothesis strategy."""
    strategies = sys.modules.get("hypothesis.strategies")
    return isinstance(value, getattr(strategies, "SearchStrategy", ()))


def drawn(strategy: Any, count: int, seed: int) -> list[Any]:
    """Return values drawn from a strategy; equal seeds yield equal values.

    Hypothesis neither reads nor writes its example database, and its deadline and health checks are
    disabled.

    Args:
        strategy: Hypothesis strategy.
        count: Maximum number of values. A strategy with few different values draws fewer values.
        seed: Integer seed.

    Raises:
        ValueError: If the strategy draws no value, for instance because a filter rejects every
            value.
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
