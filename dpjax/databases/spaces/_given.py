"""Conversion of the pairs that a user passes to a space of pairs."""

from dpjax.databases.spaces._drawn import is_strategy


def as_space(pairs: object) -> object:
    """Convert a Hypothesis strategy to a space of pairs; return any other value unchanged."""
    if not is_strategy(pairs):
        return pairs
    from dpjax.databases.spaces._drawn_pairs import DrawnPairs

    return DrawnPairs(pairs)
