"""Detection of row numbers and IDs that were recorded as an entry of the outputs.

Row numbers could distinguish the two sides of any mechanism, also in a random order. They are
integers that are all different, although they lie in a short range. For n independent draws from
one distribution, and for a fixed range of R integers that contains a draw with probability p, the
probability that all draws lie in the range and are different is at most

    p^n (1 - 1/R) (1 - 2/R) ... (1 - (n - 1)/R) <= p exp(-n (n - 1) / (2 R)).

For all ranges of R integers together, the probabilities p add up to R. The probability that n
independent draws are all different, with a largest draw that is the smallest plus R - 1, is
therefore at most R exp(-n (n - 1) / (2 R)). This bound increases with R, so the bounds for the
ranges of 1, ..., R integers add up to at most R^2 exp(-n (n - 1) / (2 R)).
"""

import math
from collections.abc import Sequence

import numpy as np

_CHANCE = 1e-9
"""Maximum probability that independent outputs are refused."""

_LOOKED_AT = 2**14
"""Maximum number of outputs, from the first one on, that are examined."""


class RowNumbers:
    """The first vectors of a side, in which an entry may be a row number."""

    def __init__(self):
        self._rows: np.ndarray | None = None

    def add(self, outputs: np.ndarray) -> None:
        """Keep the first vectors; other outputs have no further entry, so they are left out."""
        if outputs.ndim != 2 or outputs.shape[1] < 2 or outputs.dtype.kind not in "iuf":
            return
        known = outputs[:0] if self._rows is None else self._rows
        if len(known) < _LOOKED_AT and known.shape[1] == outputs.shape[1]:
            self._rows = np.concatenate([known, outputs[: _LOOKED_AT - len(known)]])

    def refuse(self, name: str, entries_named: Sequence[str] = ()) -> None:
        """Raise an error if an entry of the vectors seems to be a row number.

        Args:
            name: Name of the recording.
            entries_named: Words for each entry, or () to name entries by their indices.

        Raises:
            ValueError: If the integers in an entry are all different, and the probability of this
                is below 1e-9 for independent outputs.
        """
        entries = () if self._rows is None else self._rows.T
        for place, entry in enumerate(entries):
            if _nats(entry) > math.log(len(entries) / _CHANCE):
                words = entries_named[place] if entries_named else f"entry {place} of its vectors"
                raise ValueError(
                    f"{name} must hold independent outputs, but {words} seems to contain row "
                    f"numbers or IDs: {len(entry)} different integers from {int(entry.min())} to "
                    f"{int(entry.max())}. Leave them out."
                )


def _nats(entry: np.ndarray) -> float:
    """Return the surprise, in nats, that the integers of an entry are all different.

    The result is 0 if the entry holds other numbers, or equal ones.
    """
    number = len(entry)
    if not np.all(np.isfinite(entry)) or np.any(entry != np.rint(entry)):
        return 0.0
    if len(np.unique(entry)) < number:
        return 0.0
    width = int(entry.max()) - int(entry.min()) + 1
    return number * (number - 1) / (2 * width) - 2 * math.log(width)
