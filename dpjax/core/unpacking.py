"""Decompression of bz2, xz and zst files; everything that is not a whole stream is refused."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

_READ = 2**16

_MEMORY = 2**28
"""Maximum memory of an xz decompressor, in bytes. The largest preset of xz needs 2^26 bytes; a
damaged file may ask for 2^32.
"""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes: ...


def decompressor(suffix: str) -> Callable[[], _Decompressor]:
    """Return a function that creates decompressors for files with the suffix .bz2 or .xz."""
    # Import the modules here, since Python may have been built without them.
    if suffix == ".bz2":
        import bz2

        return bz2.BZ2Decompressor
    import lzma

    return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)


class _Forward:
    """A decompressed file that goes backwards by decompressing again from its beginning."""

    _at = 0

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes, or none at the end of the file."""
        raise NotImplementedError

    def _restart(self) -> None:
        raise NotImplementedError

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position, counted in decompressed bytes from the beginning."""
        assert whence == io.SEEK_SET
        if offset < self._at:
            self._restart()
            self._at = 0
        while self._at < offset and self.read(min(offset - self._at, _READ)):
            pass
        return self._at

    def tell(self) -> int:
        """Return the position, in decompressed bytes."""
        return self._at


class Streams(_Forward):
    """The decompressed content of a file that consists of one or more compressed streams.

    The files of Python's modules bz2 and lzma stop silently at bytes that begin no stream, so
    outputs in a damaged stream would be left out.

    Args:
        path: Path of the file.
        new: Function that creates a decompressor for a stream.
        is_padded: Whether null bytes may follow a stream. In xz files, their number is a multiple
            of four.
    """

    def __init__(self, path: Path, new: Callable[[], _Decompressor], is_padded: bool = False):
        self._file, self._new, self._is_padded = path.open("rb"), new, is_padded
        self._stream = new()

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes, or none at the end of the file.

        Raises:
            EOFError: If the file is cut short.
            ValueError: If the padding after a stream is damaged.
        """
        while True:
            data = b""
            if self._stream.eof:
                data = self._next_stream()
                if not data:
                    return b""
                self._stream = self._new()
            elif self._stream.needs_input:
                data = self._file.read(_READ)
                if not data:
                    raise EOFError("it is cut short")
            if content := self._stream.decompress(data, size):
                self._at += len(content)
                return content

    def _next_stream(self) -> bytes:
        """Return the first bytes of the next stream, or none at the end of the file."""
        data, padding = self._stream.unused_data or self._file.read(_READ), 0
        while self._is_padded and data:
            rest = data.lstrip(b"\0")
            padding += len(data) - len(rest)
            if rest:
                data = rest
                break
            data = self._file.read(_READ)
        if padding % 4:
            raise ValueError(f"{padding} null bytes follow a stream, which is no multiple of four")
        return data

    def _restart(self) -> None:
        self._file.seek(0)
        self._stream = self._new()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Zstandard(_Forward):
    """The decompressed content of a zst file (needs pyarrow), which refuses a damaged file."""

    def __init__(self, path: Path):
        self._path = path
        self._stream = self._new()

    def _new(self) -> "pa.CompressedInputStream":
        import pyarrow as pa

        # The decompressor refuses frames that need more memory than those of zstd's presets. It
        # closes the file at its end.
        return pa.CompressedInputStream(self._path.open("rb"), "zstd")

    def _restart(self) -> None:
        self.close()
        self._stream = self._new()

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes, or none at the end of the file.

        Raises:
            OSError: If the file is cut short or damaged.
        """
        content = self._stream.read(size)
        self._at += len(content)
        return content

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
