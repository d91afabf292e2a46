"""The lowest bits of floats, which can reveal the terms of a floating-point sum."""

from collections.abc import Callable

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadValue
from dpjax.partitions._batches import Outputs


def check_bits(bits: int | str | None) -> None:
    """Validate the `bits` option of `Encoder`."""
    if isinstance(bits, str):
        validate.one_of(("lowest", "auto"), bits=bits)
    elif bits is not None:
        validate.positive_int(bits=bits)
        if bits > 8:
            raise BadValue(f"bits must be at most 8 (2^8 labels), but was {bits}.")


def label_bits(
    source: str,
    base: int | None,
    raw: np.ndarray,
    outputs: Outputs,
    narrow: np.ndarray | bool,
    bits: int | str | None,
    named: Callable[[str], int],
) -> None:
    """Label outputs by their lowest bits, and mark zeros as labels without a number, in place.

    Args:
        source: Origin of the outputs, as named in messages.
        base: Number of entries of an output.
        raw: Numbers in their original dtype, in the first column of [n, d].
        outputs: The outputs, whose labels are changed.
        narrow: Whether an output is a single number, bool [n] or a single value.
        bits: Option `bits` of `Encoder`.
        named: Function that returns the index of a label.

    Raises:
        ValueError: If the outputs are vectors.
    """
    if base != 1:
        raise ValueError(
            f"a number of bits applies only to outputs that are single reals, but {source} gave "
            "vectors: use bits='lowest', or leave out bits."
        )
    labels, values, alone = outputs
    finite = ~alone & narrow
    zero = finite & (values[:, 0] == 0)
    negative = zero & np.signbit(raw[:, 0].astype(np.float64))
    alone |= zero
    for rows, text in ((zero & ~negative, "0.0"), (negative, "-0.0")):
        if rows.any():
            labels[rows] = named(text)
    rest = finite & ~zero
    # Use the original dtype, since a float32 cast to float64 ends in zero bits.
    numbers = raw[rest, 0] if raw.dtype == np.float32 else values[rest, 0]
    names, which = _names_of_bits(numbers, bits)
    labels[rest] = np.array([*map(named, names)], np.int32)[which]


def _names_of_bits(numbers: np.ndarray, bits: int | str | None) -> tuple[list[str], np.ndarray]:
    """Name the lowest bits of numbers.

    Args:
        numbers: Finite nonzero numbers, float32 [n] or float64 [n].
        bits: Number of bits of the mantissa, or a string for the lowest bit that is 1.

    Returns:
        The distinct names, and the index of each number's name, int64 [n].
    """
    if isinstance(bits, str):
        places, text = lowest_set_bit(numbers.astype(np.float64)), "lowest set bit 2^{}"
    else:
        width = int(bits or 0)
        words = numbers.view(np.int32 if numbers.dtype == np.float32 else np.int64)
        places = words.astype(np.int64) & ((1 << width) - 1)
        text = f"lowest {width} bits {{:0{width}b}}"
    kinds, which = np.unique(places, return_inverse=True)
    return [text.format(int(kind)) for kind in kinds], which


def lowest_set_bit(values: np.ndarray) -> np.ndarray:
    """Return the exponent of the largest power of two that divides each number.

    The largest power of two that divides a floating-point sum can reveal which terms were added.

    Args:
        values: Finite nonzero numbers, float64 [n].

    Returns:
        Exponents between -1074 and 1023, int64 [n].

    References:
        Mironov (2012), "On significance of the least significant bits for differential privacy",
        section 4.
    """
    words = np.ascontiguousarray(values).view(np.int64)
    exponent, mantissa = (words >> 52) & 0x7FF, words & 0xFFFFFFFFFFFFF
    # Subnormal numbers have the exponent of the smallest normal numbers, without a leading 1.
    mantissa |= (exponent > 0).astype(np.int64) << 52
    lowest = (mantissa & -mantissa).astype(np.float64)
    return np.maximum(exponent, 1) + (lowest.view(np.int64) >> 52) - 1023 - 1075
