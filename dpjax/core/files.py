"""Read files up to a maximum size, and write files atomically."""

import codecs
import gzip
import io
import os
import secrets
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from dpjax.core import validate
from dpjax.core.errors import needs
from dpjax.core.unpacking import Streams, Zstandard, decompressor

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MANY_TIMES = 100
"""Largest plausible compression ratio of numbers or text."""

PACKED = (".gz", ".bz2", ".xz", ".zst")
"""Suffixes of compressed files that `opened` decompresses."""

_BUFFER = 2**18

_WIDE = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
"""Encoding that each byte order mark denotes; the mark of UTF-32 begins with one of UTF-16."""


def refuse_endless(what: str, path: Path) -> None:
    """Raise an error if a path is not a regular file but a folder, a pipe, a device or a socket.

    Args:
        what: Role of the file, such as "report file". Error messages begin with this role.
        path: Path to check.

    Raises:
        FileNotFoundError: If the path does not exist.
        OSError: If the path cannot be read.
        ValueError: If the path is not a regular file.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise FileNotFoundError(f"{what} {path} does not exist.") from None
    except OSError as error:
        raise unreadable(what, path, error) from None
    if stat.S_ISDIR(mode):
        raise ValueError(f"{what} {path} is a folder: pass the path of a file.")
    if not stat.S_ISREG(mode):
        raise ValueError(
            f"{what} {path} must be a file, but is a pipe or a device: save its output to a file "
            "first."
        )


def unreadable(what: str, path: Path, error: OSError) -> OSError:
    """Return an error that names a file that cannot be read and, if possible, says what to do.

    Args:
        what: Role of the file, such as "report file". The message begins with this role.
        path: Path of the file.
        error: Error that the operating system raised.
    """
    said = f"{what} {path} cannot be read: {error.strerror}."
    if isinstance(error, PermissionError):
        said += " Give this user permission to read the file and to enter its folders."
    return type(error)(said)


def as_path(name: str, value: object) -> Path:
    """Return an argument as a path.

    Raises:
        TypeError: If the argument is neither a string nor a path.
        ValueError: If the path contains a null character, which no file name can contain.
    """
    if not isinstance(value, str | os.PathLike):
        kind = type(value).__name__
        raise TypeError(f"{name} must be a string or a path, but was {value!r} ({kind}).")
    path = Path(value)
    if "\0" in (text := str(path)):
        raise ValueError(f"{name} must be a path without null characters, but was {text!r}.")
    return path


def path_to_write(what: str, path: str | Path, endings: tuple[str, ...]) -> Path:
    """Return the path of a file to write, after checking its ending and its folder.

    Args:
        what: Role of the file, such as "report file". Error messages begin with this role.
        path: Path of the file to write.
        endings: Accepted endings of the file name, in lower case, such as (".html", ".md").

    Raises:
        ValueError: If the file name has another ending.
        TypeError: If `path` is neither a string nor a path.
        OSError: If `refuse_unwritable` rejects the path.
    """
    path = as_path(what, path)
    if path.suffix.lower() not in endings:
        few = len(endings) <= 2
        accepted = " or ".join(endings) if few else f"one of {', '.join(endings)}"
        raise ValueError(f"{what} must end in {accepted}, but was {path}.")
    refuse_unwritable(what, path)
    return path


def refuse_unwritable(what: str, path: Path) -> None:
    """Check that a file can be written, before its content is computed.

    If the path is a link, the file to which it points will be written.

    Args:
        what: Role of the file, such as "report file". Error messages begin with this role.
        path: Path of the file to write.

    Raises:
        FileNotFoundError: If the file's folder does not exist.
        OSError: If no new files can be created in the folder, or if the path itself is a folder.
    """
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{what} {path} is in a folder that does not exist.")
    if path.is_dir():
        raise IsADirectoryError(f"{what} {path} is a folder: pass the path of a file.")
    try:
        # Checking permissions is not enough: the mount may be read-only, or a quota may be
        # exhausted.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"{what} {path} cannot be written, since its folder accepts no new files: "
            f"{error.strerror}."
        ) from None


def read_document(what: str, path: Path) -> str:
    """Read a small UTF-8 file, such as a JSON or TOML file.

    Args:
        what: Role of the file, such as "report file". Error messages begin with this role.
        path: Path of the file.

    Raises:
        FileNotFoundError, OSError: If `refuse_endless` rejects the path.
        ValueError: If the path is not a regular file, or if the file is too large or not in UTF-8.
    """
    refuse_endless(what, path)
    most = validate.limit("document_bytes")
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise unreadable(what, path, error) from None
    if len(content) > most:
        validate.within_limit("document_bytes", size, f"{what} {path} has too many bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{what} {path} cannot be read: {error}; save it as UTF-8.") from None


def refuse_bomb(unpacked: int, packed: int) -> None:
    """Reject a decompression bomb.

    Args:
        unpacked: Size of the unpacked content, in bytes.
        packed: Size of the packed file, in bytes.

    Raises:
        ValueError: If `unpacked` is larger than the limit and also larger than a hundred times
            `packed`.
    """
    if unpacked > MANY_TIMES * max(packed, 1):
        validate.within_limit(
            "unpacked_bytes", unpacked, f"its {packed} bytes unpack to too many bytes"
        )


def needs_of_packed(path: Path) -> None:
    """Check that the package that decompresses a file is installed.

    Args:
        path: Path of a file, which need not be compressed.

    Raises:
        ModuleNotFoundError: If the package is not installed; the message says how to install it.
    """
    if path.suffix.lower() == ".zst":
        needs("zst files", "io", "pyarrow")


def opened(path: Path) -> BinaryIO:
    """Open a file for reading, decompressing it if its name ends in one of `PACKED`.

    After a seek backwards, the file is decompressed again from its beginning. If the file is a
    decompression bomb, reading raises ValueError.
    """
    if path.suffix.lower() not in PACKED:
        return path.open("rb")
    return io.BufferedReader(_Unpacked(path), _BUFFER)


def refuse_wide(start: bytes) -> None:
    """Raise an error if a text file seems to be encoded in UTF-16 or UTF-32.

    Args:
        start: First four bytes of the file, or all bytes of a shorter file.

    Raises:
        ValueError: If the file starts with a byte order mark of UTF-16 or UTF-32; or if, of its
            first four bytes, every second byte is zero and the others are not.
    """
    kind = next((kind for mark, kind in _WIDE.items() if start.startswith(mark)), None)
    if [byte == 0 for byte in start[:4]] in ([False, True] * 2, [True, False] * 2):
        kind = "UTF-16"
    if kind is not None:
        raise ValueError(f"it is not UTF-8 but {kind}; save it as UTF-8")


class _Unpacked(io.RawIOBase):
    """The decompressed content of a file. Reading raises ValueError for a decompression bomb."""

    def __init__(self, path: Path):
        suffix, self._packed = path.suffix.lower(), path.stat().st_size
        if suffix == ".zst":
            self._file = Zstandard(path)
        elif suffix == ".gz":
            self._file = gzip.open(path)
        else:
            self._file = Streams(path, decompressor(suffix), is_padded=suffix == ".xz")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        content = self._file.read(len(view))
        view[: len(content)] = content
        refuse_bomb(self._file.tell(), self._packed)
        return len(content)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()


def write_whole(files: dict[Path, str | bytes]) -> None:
    """Write multiple files in such a way that no file appears until all of them are complete.

    If a path is a link, the file to which it points is written, and the link stays.

    Args:
        files: Map from the path of each file to its content. Text is written in UTF-8. Characters
            that UTF-8 cannot encode, such as lone surrogates from file names, are escaped.

    Raises:
        OSError: If a file cannot be written. After this error, no partial file is left behind.
    """
    temporary = {}
    try:
        for link, content in files.items():
            path = Path(os.path.realpath(link))
            # The built-in `open` gives the file default permissions; `tempfile` would not.
            temporary[path] = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            with open(temporary[path], "xb") as file:
                if isinstance(content, str):
                    content = content.encode("utf-8", "backslashreplace")
                file.write(content)
                # Without this, a file could be empty after a power failure.
                file.flush()
                os.fsync(file.fileno())
        for path, complete in temporary.items():
            os.replace(complete, path)
    finally:
        for rest in temporary.values():
            rest.unlink(missing_ok=True)
