"""Lines of text files, which may be compressed."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path

from dpjax.core import validate
from dpjax.core.files import opened, refuse_wide

_BINARY = {
    b"\x1f\x8b": ("compressed by gzip", "let its name end in .gz"),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", "let its name end in .zst"),
    b"BZh91AY&SY": ("compressed by bzip2", "let its name end in .bz2"),
    b"\xfd7zXZ": ("compressed by xz", "let its name end in .xz"),
    b"PK\x03\x04": ("a zip archive (such as xlsx)", "extract its files, or export csv"),
    b"\xd0\xcf\x11\xe0": ("an Office file (such as xls)", "export csv"),
    b"PAR1\x15": ("a Parquet file", "let its name end in .parquet"),
    b"\x93NUMPY": ("a NumPy file", "let its name end in .npy"),
}
"""For the first bytes of a file that is not text: what the file is, and what to do."""

_TAR, _TAR_AT = b"ustar", 257
"""Bytes that mark a tar archive, and their place in the file."""


def start_of(path: Path) -> int:
    """Return the number of bytes before the first line: those of byte order marks.

    Raises:
        ValueError: If the encoding of the file seems to be UTF-16 or UTF-32, or if the file is an
            archive or has another binary format.
    """
    start = 0
    with opened(path) as file:
        first = file.read(_TAR_AT + len(_TAR))
        refuse_wide(first[:4])
        _refuse_binary(first)
        file.seek(0)
        while file.read(len(BOM_UTF8)) == BOM_UTF8:  # Some programs write the BOM twice.
            start += len(BOM_UTF8)
    return start


def _refuse_binary(first: bytes) -> None:
    """Raise ValueError if the first bytes of a file are those of an archive or a binary format."""
    if first[_TAR_AT:] == _TAR:
        raise ValueError("it is not text but a tar archive: extract its files, and pass them")
    for beginning, (what, advice) in _BINARY.items():
        if first.startswith(beginning):
            raise ValueError(f"it is not text but {what}: {advice}")


def text_from(path: Path, offset: int) -> TextIOWrapper:
    """Open a UTF-8 file for reading, after skipping `offset` bytes."""
    file = opened(path)
    file.seek(offset)
    return TextIOWrapper(file, encoding="utf-8", newline="")


def lines_of(file: TextIOWrapper) -> Iterator[str]:
    r"""Yield lines; the sequence \r\r\n counts as a single line end."""
    held, most = "", validate.limit("line_bytes")
    while line := file.readline(most + 1):
        if len(line) > most:
            validate.within_limit("line_bytes", len(line), "has a line that is too long")
        if held and line == "\r\n":
            line, held = held + line, ""
        elif held:
            yield held
            held = ""
        if line.endswith("\r"):
            held = line
        else:
            yield line
    if held:
        yield held
