"""Files of blocks: their names, and writing them.

The name of a block's file includes the hash of the file's bytes. A file gets its final name only
when it is complete, so incomplete files are recognized.
"""

import hashlib
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_FILE = re.compile(r"(?P<name>[^.]+)\.[0-9a-f]{32}\.parquet")
"""Pattern of the file names of finished blocks: block name, hash, suffix."""

_BEGINNING = re.compile(rf"\.{_FILE.pattern}\.[0-9a-f]{{8}}")
"""Pattern of the file names of incomplete blocks."""

_MORE = re.compile(r"-more(\d+)$")
"""Pattern of the suffix that marks the names of blocks whose runs have additional draws."""


class Named(NamedTuple):
    """The meaning of a file name.

    Attributes:
        block: Name of the block, or "" if the file is not named like a block.
        is_begun: Whether the file is named like an incomplete block.
    """

    block: str
    is_begun: bool = False

    @property
    def without_more(self) -> str:
        """Name of the block whose runs have no additional draws."""
        return _MORE.sub("", self.block)

    @property
    def more(self) -> int:
        """Number of additional draws of the block's runs."""
        found = _MORE.search(self.block)
        return int(found[1]) if found else 0


def named(path: Path) -> Named:
    """Return the meaning of a file's name."""
    if whole := _FILE.fullmatch(path.name):
        return Named(whole["name"])
    begun = _BEGINNING.fullmatch(path.name)
    return Named(begun["name"], is_begun=True) if begun else Named("")


def is_complete(path: Path, content: bytes) -> bool:
    """Return whether the name of a block's file contains the hash of its content."""
    return f".{_digest(content)}." in path.name


def is_regular(path: Path) -> bool | None:
    """Return whether a path is a regular file, or None if nothing has this path any longer."""
    with suppress(FileNotFoundError):
        return stat.S_ISREG(path.lstat().st_mode)
    return None


def write_file(folder: Path, name: str, content: bytes) -> None:
    """Write the file of a block, which gets its final name when it is complete.

    Raises:
        OSError: If the file cannot be written. The incomplete file is removed.
    """
    path = folder / f"{name}.{_digest(content)}.parquet"
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
