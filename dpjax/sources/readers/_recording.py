"""Recorded outputs in one or more files, which can be read in chunks as often as needed."""

import glob
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from dpjax.core.arrays import joined
from dpjax.core.errors import needs
from dpjax.core.files import PACKED, as_path, needs_of_packed, refuse_endless
from dpjax.core.wording import BadType, BadValue, term
from dpjax.sources.readers._arrow import arrow_chunks, arrow_columns
from dpjax.sources.readers._columns import place_of, without_indices
from dpjax.sources.readers._json_lines import json_chunks, json_columns
from dpjax.sources.readers._naming import naming
from dpjax.sources.readers._numpy import npy_chunks, npz_chunks
from dpjax.sources.readers._parquet import parquet_chunks, parquet_columns
from dpjax.sources.readers._rows import add_ends, beside_each_other, rows_with, texts_of
from dpjax.sources.readers._text import first_row_note, text_chunks, text_columns

_MOST_LISTED = 1000
"""Maximum number of files in a folder that are examined to propose a pattern."""

_ROWS = 2**18
"""Maximum number of outputs per chunk. Only one chunk at a time is in memory."""

_Reader = Callable[[Path, str | int | None, int], Iterator[np.ndarray]]

_READERS: dict[str, _Reader] = {
    ".npy": npy_chunks,
    ".npz": npz_chunks,
    ".csv": text_chunks,
    ".tsv": text_chunks,
    ".txt": text_chunks,
    ".jsonl": json_chunks,
    ".ndjson": json_chunks,
    ".parquet": parquet_chunks,
    ".feather": arrow_chunks,
    ".arrow": arrow_chunks,
}

_COLUMNS: dict[_Reader, Callable[[Path], list[str]]] = {
    text_chunks: text_columns,
    json_chunks: json_columns,
    parquet_chunks: parquet_columns,
    arrow_chunks: arrow_columns,
}
"""Functions that return the names of a file's columns, by the reader of the file."""

_TEXTS = [kind for kind, reader in _READERS.items() if reader in (text_chunks, json_chunks)]
"""Suffixes of files that may be compressed."""

_ACCEPTED = f"{', '.join(_READERS)}, where {', '.join(PACKED)} may follow {', '.join(_TEXTS)}"

_LINES = (
    " In a jsonl file, each line is the JSON of one output; `jq -c '.[]' x.json > x.jsonl` writes "
    "the entries of an array in this way."
)
"""Advice on files that end in .json."""

_READERS |= {kind + packed: _READERS[kind] for kind in _TEXTS for packed in PACKED}

_NEED_PYARROW = {".parquet": "Parquet", ".feather": "Feather", ".arrow": "Arrow"}
"""Names of the formats that need pyarrow, by the suffix of a file."""


@dataclass(frozen=True)
class Recording:
    """Outputs that were recorded in files. The files may be larger than memory.

    Attributes:
        where: A file, multiple files separated by commas, a pattern with * or ?, or a list of
            files. The suffix selects the format: .npy, .npz, .csv, .tsv, .txt, .jsonl, .ndjson,
            .parquet, .feather or .arrow. A suffix .gz, .bz2, .xz or .zst may follow .csv, .tsv,
            .txt, .jsonl or .ndjson. Text files have one output per line: a number, multiple numbers
            that form a vector, or a label. The first line may contain the names of the columns;
            names that are numbers, such as years, must be chosen with `column`. In JSON lines,
            outputs are numbers, lists and strings; or the fields of an object are columns. A
            column of a Parquet or Feather file may contain lists of equal length.
        column: Column of the outputs, given by its name or its index (from 0); or a list of
            columns. If `column` is a list, the numbers in each row form a vector. In an npz file,
            `column` may be the name of an array. If `column` is None, all columns are read.
        by: Column that names the database of each row, or None to read all rows.
        value: Value of the column `by`, as text, in the rows to read.
        paths: Paths of the files, in the given order.

    Raises:
        FileNotFoundError: If a file does not exist.
        ModuleNotFoundError: If a file needs a package that is not installed.
        ValueError: If a file is a folder or has an unknown suffix, if no file matches the pattern,
            or if a column or a file is given twice; or if only one of `by` and `value` is given,
            or `by` without `column`.
        TypeError: If `value` is not a text.
    """

    where: str | Path | Sequence[str | Path]
    column: str | int | Sequence[str | int] | None = None
    by: str | int | None = None
    value: str | None = None
    paths: list[Path] = field(init=False, repr=False, compare=False)
    _folder: Path = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        # Find the files now, since a mechanism may change the working directory later.
        object.__setattr__(self, "paths", _found(self.where))
        object.__setattr__(self, "_folder", Path.cwd())
        if isinstance(self.column, list | tuple):
            names = [str(name) for name in self.column]
            if not names or len(set(names)) < len(names):
                raise BadValue(
                    f"column must name one or more distinct columns, but was {self.column!r}."
                )
        if (self.by is None) != (self.value is None) or (self.by is not None is self.column):
            raise BadValue(
                "by and value must be given together, and with column, but were "
                f"{self.by!r} and {self.value!r}, and column was {self.column!r}."
            )
        if not isinstance(self.value, str | None):
            raise BadType(f"value must be a text, such as '1', but was {self.value!r}.")
        seen: set[Path] = set()
        for path in self.paths:
            if path.is_dir():
                raise ValueError(
                    f"samples file {path} is a folder: pass the path of a file, or a pattern of "
                    f"files, such as '{path / _pattern_in(path)}'."
                )
            refuse_endless("samples file", path)
            if path.resolve() in seen:
                raise ValueError(
                    f"samples file {path} is named twice: outputs that are counted twice are not "
                    "independent."
                )
            seen.add(path.resolve())
            if kind := _NEED_PYARROW.get(_ending(path)):
                needs(f"{kind} files", "io", "pyarrow")
            needs_of_packed(path)
            if _ending(path) not in _READERS:
                advice = _LINES if _ending(path) == ".json" else ""
                raise ValueError(
                    f"samples file {path} must end in {_ACCEPTED}, but ends in {_ending(path)!r}."
                    f"{advice}"
                )

    @property
    def name(self) -> str:
        """Name of the first file, followed by the number of other files if there are any."""
        first, *rest = self.paths
        return first.name + (f" and {len(rest)} more" if rest else "")

    @property
    def origins(self) -> dict[tuple[int, int, str | None], str]:
        """Map from (device, inode, column) to the path of the file."""
        names = [None if column is None else str(column) for column in self._chosen or [None]]
        if self.by is not None:
            names = [f"{name} where {self.by} is {self.value}" for name in names]
        found = [(self._at(path).stat(), path) for path in self.paths]
        return {
            (entry.st_dev, entry.st_ino, name): str(path) for entry, path in found for name in names
        }

    @property
    def _chosen(self) -> list[str | int]:
        """Columns to read, or [] if no column was chosen."""
        if self.column is None:
            return []
        return [self.column] if isinstance(self.column, str | int) else [*self.column]

    def places(self, path: str | Path) -> tuple[list[str | int], str | int | None]:
        """Return the columns to read and the column `by` of a file, so that equal ones are equal.

        A column is given by its index, or by its name if the format does not list the columns.

        Args:
            path: One of the paths of the files.
        """
        found = self._at(Path(path))

        def place(column: str | int) -> str | int:
            names = names_in(found, column)
            index = place_of(column, names) if names else None
            return str(column) if index is None else index

        return [*map(place, self._chosen)], None if self.by is None else place(self.by)

    @property
    def names(self) -> list[str]:
        """Names of the columns in the first file that were not chosen by name, or []."""
        path, chosen = self._at(self.paths[0]), self._chosen
        try:
            found = without_indices(names_in(path, chosen[0] if chosen else None))
            places = [place_of(column, found) for column in chosen] if found else []
        except (ValueError, OSError):  # Reading the outputs reports the error.
            return []
        if not chosen:
            return found
        return [
            found[place]
            for place, column in zip(places, chosen, strict=False)
            if place is not None and found[place] != column
        ]

    def refuse_same_columns(self) -> None:
        """Raise ValueError if an output is the name of its own database."""
        for path in self.paths if self.by is not None else []:
            columns, by = self.places(path)
            if by in columns:
                raise BadValue(
                    f"{term('column')} must be another column than {term('by')}, but both were "
                    f"{self.by!r}."
                )

    @property
    def notes(self) -> list[str]:
        """Notes for the result if no column was chosen: on the columns of vectors, and on row 1."""
        names = self._columns_of(self.paths[0])
        told, path = "", self._at(self.paths[0])
        if names and _READERS[_ending(path)] is text_chunks:
            with naming(path):
                told = first_row_note(path)
        if len(names) < 2:
            return [f"{self.name}:{told}"] if told else []
        return [f"{self.name}: read {len(names)} columns as vectors: {', '.join(names)}.{told}"]

    @property
    def columns(self) -> list[str]:
        """Names of the columns that form vectors, or [] if they are unknown or were chosen.

        Raises:
            ValueError: If two files have different columns, or the same columns in another order.
        """
        # Files without a header have indices instead of names.
        found = [(path, without_indices(self._columns_of(path))) for path in self.paths]
        named = [(path, names) for path, names in found if names]
        for path, names in named[1:]:
            first, usual = named[0]
            if names != usual and min(len(names), len(usual)) > 1:
                raise BadValue(
                    f"samples files {first} and {path} must have the same columns in the same "
                    f"order, but have {', '.join(usual)} and {', '.join(names)}: choose the "
                    f"columns with {term('column=[...]', '--column')}."
                )
        return named[0][1] if named else []

    def _columns_of(self, path: Path) -> list[str]:
        refuse_endless("samples file", self._at(path))
        columns = _COLUMNS.get(_READERS[_ending(path)])
        with naming(path):
            return columns(self._at(path)) if columns is not None and self.column is None else []

    def chunks(self) -> Iterator[np.ndarray]:
        """Yield all outputs in order, as arrays [n] or [n, d].

        Raises:
            ValueError: If a file cannot be read, if its outputs do not have the same kind and
                dimension as the outputs in the first file, or if no 64-bit type can represent all
                of the integers together with the other numbers.
        """
        self.refuse_same_columns()
        first: tuple[bool, tuple[int, ...]] | None = None
        ends = dict[str, np.ndarray]()
        for path in self.paths:
            empty = True
            for chunk in self._of(path):
                if chunk.size == 0:
                    continue
                empty = False
                if chunk.ndim == 2 and chunk.shape[1] == 1:
                    chunk = chunk[:, 0]
                kind = (chunk.dtype.kind in "USO", chunk.shape[1:])
                if first is None:
                    first = kind
                if kind != first:
                    raise ValueError(
                        f"samples file {path} holds {_words(*kind)}, but the first file holds "
                        f"{_words(*first)}."
                    )
                if chunk.dtype.kind in "iuf":
                    add_ends(ends, chunk, path)
                yield chunk
            if empty and self.by is None:
                advice = ": leave it out." if len(self.paths) > 1 else "."
                raise ValueError(f"samples file {path} holds no outputs{advice}")
        if first is None:
            raise BadValue(f"value must be in column {self.by!r}, but {self.value!r} is not.")

    def marks(self) -> Iterator[np.ndarray]:
        """Yield, for each row of the files, whether the column `by` has the value, bool [n]."""
        assert self.by is not None
        for path in self.paths:
            with naming(path):
                for chunk in _READERS[_ending(path)](self._at(path), self.by, _ROWS):
                    yield texts_of(chunk) == self.value

    def _of(self, path: Path) -> Iterator[np.ndarray]:
        with naming(path):
            read, column = _READERS[_ending(path)], self.column
            if isinstance(column, list | tuple):
                parts = [read(self._at(path), name, _ROWS) for name in column]
                chunks = beside_each_other(parts, [str(name) for name in column])
            else:
                assert column is None or isinstance(column, str | int)
                chunks = read(self._at(path), column, _ROWS)
            if self.by is None or self.value is None:
                yield from chunks
            else:
                named = read(self._at(path), self.by, _ROWS)
                yield from rows_with(self.by, self.value, chunks, named)

    def _at(self, path: Path) -> Path:
        """Return the absolute path of a file, even if the working directory has changed."""
        return self._folder / path


def names_in(path: Path, column: str | int | None = None) -> list[str]:
    """Return the names or indices of a file's columns, or [] if the format does not list them.

    Args:
        path: Path of the file.
        column: A column of the file, which may show whether a text file has a header.
    """
    reader = _READERS[_ending(path)]
    with naming(path):
        if reader is text_chunks:
            return text_columns(path, column)
        return _COLUMNS[reader](path) if reader in _COLUMNS else []


def read_samples(
    path: str | Path, column: str | int | Sequence[str | int] | None = None
) -> np.ndarray:
    """Read all outputs of a file into memory; see `Recording` for the formats.

    Returns:
        Numbers of shape [n] or [n, d], or labels of shape [n].

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is a folder, is empty or damaged, or has an unknown suffix or rows
            of different lengths; or if no 64-bit dtype can represent all of its integers.
    """
    return joined(list(Recording(path, column).chunks()))


def _ending(path: Path) -> str:
    """Return the suffix of a file, which selects its reader."""
    return "".join(path.suffixes[-2:] if path.suffix.lower() in PACKED else [path.suffix]).lower()


def _pattern_in(folder: Path) -> str:
    """Return a pattern for the files in a folder: that of the first file with a known suffix."""
    try:
        files = (path for path in islice(folder.iterdir(), _MOST_LISTED) if not path.is_dir())
        known = sorted(ending for path in files if (ending := _ending(path)) in _READERS)
    except OSError:  # The user may not list the folder.
        known = []
    return f"*{known[0] if known else '.csv'}"


def _found(where: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the paths of the files specified by `where`, in order."""
    if isinstance(where, Path):
        return [as_path("samples", where)]
    if not isinstance(where, str):
        if not isinstance(where, Iterable):
            raise TypeError(f"where must be a path or a list of paths, but was {where!r}.")
        found = [as_path("each file", path) for path in where]
        if not found:
            raise BadValue("samples must name at least one file, but was an empty list.")
        return found
    # Look for an existing file of this name first, since a name may contain a comma or a star.
    if as_path("samples", where).exists():
        return [Path(where)]
    return [path for part in where.split(",") for path in _expanded(part.strip())]


def _expanded(part: str) -> list[Path]:
    if not any(sign in part for sign in "*?["):
        return [Path(part)]
    found = sorted(glob.glob(part))
    if not found:
        raise FileNotFoundError(f"samples file {part}: no file matches this pattern.")
    return [Path(path) for path in found]


def _words(labels: bool, shape: tuple[int, ...]) -> str:
    if labels:
        return "labels"
    return f"vectors of {shape[0]} numbers" if shape else "numbers"
