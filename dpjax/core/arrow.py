"""Unpacked sizes of Arrow files (Feather, version 2), which are checked before they are unpacked.

Arrow unpacks a whole batch of rows at once, and pyarrow has no limit for its size. Therefore, this
module reads the sizes from the messages of a file, which are FlatBuffers.
"""

import struct
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from dpjax.core.files import refuse_bomb

if TYPE_CHECKING:
    import pyarrow as pa

START = 8
"""Position of the first message."""

_RAW = -1
"""Unpacked size that marks a buffer which is not packed."""

_DICTIONARY, _BATCH = 2, 3
"""Types of messages with buffers."""

_V5 = 4
"""Number of the version of messages since Arrow 1.0."""

_OLD = "it was written by Arrow before version 1.0: write it again with a newer version"


def refuse_arrow_bomb(file: BinaryIO, packed: int) -> int:
    """Check an Arrow file's unpacked size, and return the number of its record batches.

    Raises:
        ValueError: If the unpacked content is larger than the limit and also larger than a hundred
            times the file's size, or if the file is damaged.
    """
    import pyarrow as pa

    file.seek(START)
    unpacked, batches = 0, 0
    while True:
        try:
            message = pa.ipc.read_message(file)
        except EOFError:
            return batches
        try:
            unpacked += _unpacked(message)
        except struct.error:
            raise ValueError("it is damaged: a message has a wrong length") from None
        refuse_bomb(unpacked, packed)
        batches += message.type == "record batch"


def _unpacked(message: "pa.ipc.Message") -> int:
    """Return the unpacked size of all buffers of a message.

    Raises:
        ValueError: If the message has another version, or if a size is negative.
        struct.error: If a position lies outside the message.
    """
    data, body = bytes(message.metadata), memoryview(message.body or b"")
    root = _Table.at(data, 0)
    if root.number(0, "<h") < _V5:
        raise ValueError(_OLD)
    kind = root.number(1, "<B")
    if kind not in (_DICTIONARY, _BATCH):
        return 0
    batch = root.table(2)
    batch = batch.table(1) if kind == _DICTIONARY else batch
    if not batch.field(3):
        return len(body)
    start = batch.target(2)
    total = 0
    for number in range(_read(data, start, "<I")):
        place, length = (_read(data, start + 4 + 16 * number + 8 * half, "<q") for half in (0, 1))
        size = _read(body, place, "<q") if length else 0
        if size < _RAW or length < 0:
            raise ValueError("it is damaged: a buffer has a negative size")
        total += length if size == _RAW else size
    return total


class _Table(NamedTuple):
    """A table of a FlatBuffer.

    Attributes:
        data: The FlatBuffer.
        place: Position of the table.
    """

    data: bytes
    place: int

    @classmethod
    def at(cls, data: bytes, place: int) -> "_Table":
        """Return the table to which the offset at a position refers."""
        return cls(data, place + _read(data, place, "<I"))

    def field(self, number: int) -> int:
        """Return the position of a field, or 0 if the table does not have it."""
        layout = self.place - _read(self.data, self.place, "<i")
        place = 4 + 2 * number
        if place >= _read(self.data, layout, "<H"):
            return 0
        offset = _read(self.data, layout + place, "<H")
        return self.place + offset if offset else 0

    def number(self, number: int, kind: str) -> int:
        """Return an integer field, or 0 if the table does not have it."""
        place = self.field(number)
        return _read(self.data, place, kind) if place else 0

    def target(self, number: int) -> int:
        """Return the position to which the offset in a field refers."""
        place = self.field(number)
        if not place:
            raise struct.error
        return place + _read(self.data, place, "<I")

    def table(self, number: int) -> "_Table":
        """Return the table in a field."""
        return _Table(self.data, self.target(number))


def _read(data: bytes | memoryview, place: int, kind: str) -> int:
    if place < 0:  # Python would count from the end.
        raise struct.error
    return struct.unpack_from(kind, data, place)[0]
