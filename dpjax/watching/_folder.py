"""Folders to which a running system writes its outputs, one file per chunk."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from dpjax.core.wording import BadValue, term
from dpjax.sources.readers import read_samples

_UNFINISHED = (".tmp", ".part")
"""Suffixes of files that are still being written; such files are skipped."""

_MARKERS = ("_SUCCESS", "_committed_", "_started_")
"""Beginnings of the names of files in which Spark stores no outputs; these names have no suffix."""

Column = str | int | Sequence[str | int] | None
"""A column of a file, multiple columns that form a vector, or None for the default column."""


class Folder:
    """The complete files of a folder, in the order of their names.

    Args:
        path: Path of the folder.
        columns: Columns with the outputs for the database and for its neighbor. None stands for the
            default column, which is "x" for the database and "y" for the neighbor. In npy files,
            whose columns have no names, the default columns are 0 and 1.
        state: Path of the state file, which is not read as outputs if it is in the folder.

    Raises:
        ValueError: If the path is not a folder.
    """

    def __init__(
        self,
        path: Path,
        columns: tuple[Column, Column] = (None, None),
        state: Path | None = None,
    ):
        if not path.is_dir():
            said = "is a file" if path.exists() else "does not exist"
            raise ValueError(f"folder {path} must be a folder of recorded outputs, but {said}.")
        self._path, self._columns = path, columns
        # Unlike `Path.resolve`, `realpath` accepts a link to itself.
        self._state = None if state is None else os.path.realpath(state)
        self._seen: dict[str, tuple[int, int]] = {}

    def chunks(self) -> Iterator[tuple[str, object, object]]:
        """Yield (name, x, y) for every file that is new or has changed since the last call.

        The arrays x and y contain the outputs for the database and for its neighbor.

        A file that is removed before it is read is skipped.

        Raises:
            ValueError: If a file cannot be read, if a file lacks one of the columns, or if both
                sides would be read from one column.
        """
        for path in self._listed():
            if path.name.startswith(".") or path.suffix in _UNFINISHED or path.is_dir():
                continue
            if path.name.startswith(_MARKERS) and not path.suffix:
                continue
            if os.path.realpath(path) == self._state:
                continue
            try:
                found = path.stat()
                look = found.st_size, found.st_mtime_ns
                if self._seen.get(path.name) == look:
                    continue
                x, y = self._read(path)
            except FileNotFoundError:  # The file was removed after the folder was listed.
                continue
            yield path.name, x, y
            self._seen[path.name] = look

    def _listed(self) -> list[Path]:
        """Return the folder's files in the order of their names, without a gap.

        While a large folder is listed, the listing may miss a new file and still contain files that
        were created after it. If files are created in the order of their names, a second listing
        contains all files whose names sort before the last name of the first listing.
        """
        last = max((path.name for path in self._path.iterdir()), default="")
        listed = (path for path in self._path.iterdir() if path.name <= last)
        return sorted(listed, key=lambda path: path.name)

    def _read(self, path: Path) -> tuple[object, object]:
        usual: tuple[Column, Column] = (0, 1) if path.suffix.lower() == ".npy" else ("x", "y")
        first, second = (
            usual[side] if column is None else column for side, column in enumerate(self._columns)
        )
        if str(first) == str(second):
            raise BadValue(
                f"{term('columns', '--column and --column-y')} must name different columns, but "
                f"both sides of {path} would be read from {first}."
            )
        return read_samples(path, first), read_samples(path, second)
