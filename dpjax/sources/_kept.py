"""The first outputs of a sequential audit, which are drawn once and counted repeatedly."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dpjax.core.arrays import packed, unpacked
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadValue, term
from dpjax.partitions import Encoder, Outputs, joined, part_of
from dpjax.sources._definition import changed_part

_MOST_NUMBERS = 2**22
"""Maximum number of numeric entries that are kept of long vectors, for all pairs together. If there
are more, only the entries that are compared are kept, and no other entries can be chosen later.
"""


class _Stream(NamedTuple):
    """The kept batches of one side of a pair, and the total number of their outputs."""

    batches: list[Outputs]
    number: int


class Kept:
    """Storage for the first outputs on each side of each pair, up to a maximum number per side.

    Args:
        encoders: Encoder of each pair.
        most: Maximum number of outputs to keep per side.
        define: Function that returns the digests from `definition_of`.
        whole: Whether to keep all numbers of long vectors, as long as there are at most
            _MOST_NUMBERS for all pairs together.
    """

    def __init__(
        self,
        encoders: Sequence[Encoder],
        most: int,
        define: Callable[[], JsonObject],
        whole: bool = False,
    ):
        self._encoders, self._most, self._define = encoders, most, define
        self._definition = define()
        self._streams: dict[tuple[int, int], _Stream] = {}
        self._numbers = [0] * len(encoders)
        for encoder in encoders:
            encoder.keeps_all = whole

    def number(self, pair: int, side: int) -> int:
        """Return the number of kept outputs of one side."""
        return self._stream(pair, side).number

    def add(self, pair: int, side: int, batch: Outputs, first: int) -> None:
        """Keep a batch whose first output has index `first`, if all earlier outputs are kept."""
        batches, number = self._stream(pair, side)
        if number != first or number >= self._most:
            return
        part = part_of(batch, slice(self._most - number))
        batches.append(part)
        self._streams[pair, side] = _Stream(batches, number + len(part.labels))
        self._numbers[pair] += part.values.size
        if self._numbers[pair] > _MOST_NUMBERS // len(self._encoders):
            # From now on, vectors are kept in the form that is compared.
            self._encoders[pair].keeps_all = False

    def forget(self, pair: int, side: int, number: int) -> None:
        """Discard all but the first `number` outputs of one side."""
        kept = self.number(pair, side)
        if kept > number:
            part = part_of(self._joined(pair, side), slice(number))
            self._streams[pair, side] = _Stream([part], number)

    def first(self, pair: int, side: int, start: int, stop: int) -> Outputs | None:
        """Return the kept outputs among start, ..., stop - 1, or None if none of them are kept."""
        batches, number = self._stream(pair, side)
        if start >= min(number, stop):
            return None
        if len(batches) > 1:
            batches = [self._joined(pair, side)]
            self._streams[pair, side] = _Stream(batches, number)
        part = part_of(batches[0], slice(start, stop))
        return self._encoders[pair].padded(part)

    def whole(self, pair: int, stop: int) -> list[Outputs] | None:
        """Return the first `stop` outputs of both sides with all numbers of long vectors.

        The result is None if the outputs are no long vectors, or if not all numbers are kept.
        """
        if not (self._encoders[pair].keeps_all and self._encoders[pair].is_wide):
            return None
        return [part_of(self._joined(pair, side), slice(stop)) for side in (0, 1)]

    def to_plain(self) -> JsonObject | None:
        """Return the outputs and the digests of their origin as exact JSON values.

        The result is None if JSON cannot represent the labels.
        """
        encoders = [encoder.to_plain() for encoder in self._encoders]
        whole = [encoder.keeps_all for encoder in self._encoders]
        if None in encoders or not self._streams:
            return None
        streams = [
            [*stream, *(packed(column) for column in self._joined(*stream))]
            for stream in sorted(self._streams)
        ]
        # A digest that draws change, for example because an object counts its calls, says nothing
        # about the code.
        now = self._define()
        definition = {part: old for part, old in self._definition.items() if old == now[part]}
        return {
            "encoders": encoders,
            "streams": streams,
            "definition": definition,
            "whole": whole,
        }

    def restore(self, plain: JsonObject) -> None:
        """Restore the outputs from the values that `to_plain` returned; call this before any draw.

        Raises:
            ValueError: If the values are damaged, or if the mechanism or the pairs have changed.
        """
        changed = changed_part(plain.get("definition", {}), self._definition)
        if changed == "pairs":
            raise BadValue(
                f"the audit cannot be continued with other databases: {term('pairs')} must be the "
                "pairs of the earlier audit."
            )
        if changed is not None:
            raise BadValue(
                f"the audit cannot be continued because {self._encoders[0].source} is not the "
                "mechanism of the earlier audit: its code or its options changed. Start a new "
                "audit."
            )
        try:
            for encoder, state in zip(self._encoders, plain["encoders"], strict=True):
                encoder.restore(state)
            for encoder, whole in zip(self._encoders, plain["whole"], strict=True):
                encoder.keeps_all = bool(whole)
            for pair, side, *columns in plain["streams"]:
                outputs = Outputs(*(unpacked(column, "bif") for column in columns))
                self._streams[int(pair), int(side)] = _Stream([outputs], len(outputs.labels))
                self._numbers[int(pair)] += outputs.values.size
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"the outputs that the result stores are damaged: {error!r}."
            ) from None

    def refuse_other(self, pair: int, side: int, again: Sequence[Outputs]) -> None:
        """Raise an error if the first outputs, drawn again, differ from the kept outputs.

        Raises:
            ValueError: If an output differs.
        """
        drawn = joined(again)
        known = self.first(pair, side, 0, len(drawn.labels))
        if known is None:
            return
        drawn = part_of(drawn, slice(len(known.labels)))
        if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(known, drawn, strict=True)):
            raise BadValue(
                "the audit cannot be continued because its first outputs are no longer the same: "
                f"equal seeds give other outputs of {self._encoders[pair].source} than before. "
                "Start a new audit."
            )

    def _stream(self, pair: int, side: int) -> _Stream:
        return self._streams.get((pair, side), _Stream([], 0))

    def _joined(self, pair: int, side: int) -> Outputs:
        """Return all outputs of one side in the form of those that are encoded now."""
        batches, encoder = self._stream(pair, side).batches, self._encoders[pair]
        if encoder.keeps_all and encoder.is_wide:
            return joined(batches)
        return joined([encoder.padded(batch) for batch in batches])
