"""Files that are written whole or not at all, and read only where that has an end."""

import gzip
import io
import os
import secrets
import stat
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

from dpjax.core import validate

_MANY_TIMES = 100
"""What numbers and texts hardly ever shrink by; a file that was made to be small shrinks more."""

_BUFFER = 2**18
"""Bytes that are unpacked at once."""


def refuse_endless(what: str, path: Path) -> None:
    """Refuses what is no file with a size: a folder, a pipe, a device, a socket.

    Args:
        what: The file is, for the message.
        path: Of the file.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It is something else.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise FileNotFoundError(f"{what} {path} does not exist.") from None
    except OSError as error:
        raise OSError(f"{what} {path} cannot be read: {error.strerror}.") from None
    if stat.S_ISDIR(mode):
        raise ValueError(f"{what} {path} is a folder; name the file in it.")
    if not stat.S_ISREG(mode):
        raise ValueError(
            f"{what} {path} must be a file, but is a pipe or a device: save what comes from it in "
            "a file first."
        )


def refuse_unwritable(what: str, path: Path) -> None:
    """Refuses a path at which no file can be made, before the work whose result it shall hold.

    Args:
        what: The file is, for the message.
        path: Of the file, which may exist.

    Raises:
        FileNotFoundError: Its folder does not exist.
        OSError: Its folder takes no new files, or it is a folder itself.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{what} {path} is in a folder that does not exist.")
    if path.is_dir():
        raise IsADirectoryError(f"{what} {path} is a folder; name a file in it.")
    try:
        # Only the system knows: access is also a matter of mounts and quotas.
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise OSError(
            f"{what} {path} cannot be written, for its folder takes no new files: {error.strerror}."
        ) from None


def read_document(what: str, path: Path) -> str:
    """The text of a small file, such as a JSON or TOML file, in UTF-8.

    Args:
        what: The file is, for the message.
        path: Of the file.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It is no file, too large, or no UTF-8.
    """
    refuse_endless(what, path)
    with path.open("rb") as file:
        most = validate.limit("document_bytes")
        content = file.read(most + 1)
        size = os.fstat(file.fileno()).st_size
    if len(content) > most:
        validate.within_limit("document_bytes", size, f"{what} {path} has too many bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{what} {path} cannot be read: {error}; save it as UTF-8.") from None


def refuse_bomb(unpacked: int, packed: int) -> None:
    """Refuses a small file that would unpack to a large content.

    Args:
        unpacked: Bytes of its content.
        packed: Bytes in the file.

    Raises:
        ValueError: The content is above the limit, and a hundred times what the file holds.
    """
    if unpacked > _MANY_TIMES * max(packed, 1):
        validate.within_limit("unpacked_bytes", unpacked, f"its {packed} bytes unpack to very many")


def opened(path: Path) -> BinaryIO:
    """A file to be read; of one that ends in .gz, what is packed in it.

    It may be sought forwards. Reading raises a ValueError as `refuse_bomb` does.
    """
    if path.suffix.lower() != ".gz":
        return path.open("rb")
    return io.BufferedReader(_Unpacked(path), _BUFFER)


class _Unpacked(io.RawIOBase):
    """What is packed in a gz file, as far as it is no bomb."""

    def __init__(self, path: Path):
        self._file, self._packed = gzip.open(path), path.stat().st_size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
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
    """Writes files so that none appears before all are complete.

    Args:
        files: Path -> content; texts are written in UTF-8, with an escape for what that cannot
            hold, such as a file's name in other bytes.

    Raises:
        OSError: A file cannot be written; nothing half-written stays behind.
    """
    temporary = {}
    try:
        for path, content in files.items():
            # An ordinary `open`, so that the file's permissions are those of any other file.
            temporary[path] = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            with open(temporary[path], "xb") as file:
                if isinstance(content, str):
                    content = content.encode("utf-8", "backslashreplace")
                file.write(content)
        for path, complete in temporary.items():
            os.replace(complete, path)
    finally:
        for rest in temporary.values():
            rest.unlink(missing_ok=True)
