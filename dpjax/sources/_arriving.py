"""Outputs that arrive over time in chunks, and the part that a sequential audit keeps."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar, NamedTuple, Self

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType
from dpjax.sources._hashes import hashes_of
from dpjax.sources._held import as_outputs, columns_of, refuse_other_columns
from dpjax.sources._opened import Request
from dpjax.sources._passages import Words
from dpjax.sources._recorded import Recorded
from dpjax.sources._recorded_counts import kind_of
from dpjax.sources._recorded_in_order import OpenedInOrder
from dpjax.sources._side_values import cannot_recur


class Chunk(NamedTuple):
    """A chunk of outputs that arrived together.

    Attributes:
        name: Name for display. Sorting chunks by name gives the order in which the chunks arrived.
        sides: Outputs from the database and from its neighbor, [n] or [n, d]. The two sides may
            have different numbers of outputs n.
        hashes: Hash of each output, one array uint64 [n] per side.
        digests: For each side, a digest of all its outputs, or "" if the side is empty.
        telling: For each side, whether its sequence of outputs is too long to occur twice by
            chance.
        together: Whether the sequences of both sides together are too long to occur twice by
            chance.
        columns: Names of the columns if the outputs are rows of a table, in order, or [].
    """

    name: str
    sides: tuple[np.ndarray, np.ndarray]
    hashes: tuple[Words, Words]
    digests: tuple[str, str]
    telling: tuple[bool, bool]
    together: bool
    columns: list[str]

    @classmethod
    def of(cls, name: str, x: object, y: object) -> Self:
        """Create a chunk from arrays or lists of outputs.

        Raises:
            ValueError: If a side does not have shape [n] or [n, d], or if the sides are tables with
                different columns.
            TypeError: If a side contains neither numbers nor labels, or a mixture of numbers and
                labels.
        """
        refuse_other_columns(x, y)
        sides = _side("x", name, x), _side("y", name, y)
        hashes = _hashes(sides[0]), _hashes(sides[1])
        digests = _digest(hashes[0]), _digest(hashes[1])
        telling = cannot_recur(hashes[0]), cannot_recur(hashes[1])
        together = cannot_recur(np.concatenate(hashes))
        return cls(name, sides, hashes, digests, telling, together, columns_of(x) or columns_of(y))

    @property
    def kinds(self) -> list[str | None]:
        """Kind of the outputs on each nonempty side, in words such as "labels"."""
        found = [
            "labels of bytes" if side.dtype.kind == "S" else kind_of(side)
            for side in self.sides
            if len(side)
        ]
        if len(self.columns) > 1:
            return [f"{kind} in the columns {', '.join(self.columns)}" for kind in found]
        return found


def _hashes(outputs: np.ndarray) -> Words:
    return hashes_of(outputs) if len(outputs) else np.empty(0, np.uint64)


def _digest(hashes: Words) -> str:
    return blake2b(hashes.tobytes(), digest_size=16).hexdigest() if len(hashes) else ""


def _side(side: str, name: str, outputs: object) -> np.ndarray:
    array = as_outputs(side, outputs)
    if array.dtype.kind != "O":
        return array
    if all(isinstance(output, str) and not output.endswith("\0") for output in array):
        return array.astype(np.str_)
    raise BadType(
        f"chunks must each hold only numbers, only vectors of numbers, or only strings as labels, "
        f"but {side} of {name} held outputs of another kind or of several kinds. Convert such "
        "outputs to JSON texts, whose contents are compared: json.dumps(output), or "
        "table.to_json(orient='records') for a data frame."
    )


@dataclass(frozen=True)
class Arriving(Recorded):
    """Outputs of a running system, except outputs that the audit has already counted and dropped.

    Attributes:
        gone: Number of outputs per side that were counted and then dropped. The first
            `dpjax.inference.LAYING` outputs, which define the partition, are never dropped.
    """

    gone: int = 0
    usual_method: ClassVar[str] = "sequential"
    counts_again: ClassVar[bool] = False
    has_arrays: ClassVar[bool] = False

    def refuses(self, method: str) -> str | None:
        """Refuse all methods except sequential audits, because they need all outputs in advance."""
        if method == "sequential":
            return None
        return f"method must be dpjax.Sequential() for arriving outputs, but was {method!r}."

    @contextmanager
    def opened(self, pairs: object, request: Request) -> Iterator[OpenedInOrder]:
        """Open the outputs for the next part of an audit; see `Recorded.opened`."""
        self.refuse_pairs(pairs)
        yield OpenedInOrder(self, request, self.gone)

    def to_plain(self) -> JsonObject | None:
        """Return None, because a recipe cannot refer to outputs that a `dpjax.Watch` holds."""
        return None
