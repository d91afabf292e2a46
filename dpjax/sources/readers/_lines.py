"""Lines of text files, which may be compressed."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path

from dpjax.core import validate
from dpjax.core.files import opened, refuse_wide


def start_of(path: Path) -> int:
    """Return the number of bytes before the first line: those of byte order marks.

    Raises:
        ValueError: If the encoding of the file seems to be UTF-16 or UTF-32.
    """
    start = 0
    with opened(path) as file:
        refuse_wide(file.read(4))
        file.seek(0)
        while file.read(len(BOM_UTF8)) == BOM_UTF8:  # Some programs write the BOM twice.
            start += len(BOM_UTF8)
    return start


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
