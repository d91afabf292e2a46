"""Decimals as numbers."""

from decimal import Decimal
from typing import Any


def number_of_decimal(decimal: Decimal) -> float | None:
    """Return the number that stands for a decimal, or None if the decimal is a label.

    Two decimals have equal numbers if and only if they are equal: the number is the nearest float,
    provided that the float's shortest text is the decimal again. That is so if the decimal has at
    most 15 significant digits. Other decimals would be rounded.
    """
    if decimal.is_snan():
        return None
    number = float(decimal)
    return number if not decimal.is_finite() or Decimal(repr(number)) == decimal else None


def without_decimal(entry: Any) -> Any:
    """Return the number that stands for a decimal, and any other entry unchanged."""
    number = number_of_decimal(entry) if isinstance(entry, Decimal) else None
    return entry if number is None else number
