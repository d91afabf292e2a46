"""Reads recorded outputs from npy, npz, csv and text files."""

import csv
import warnings
import zipfile
from pathlib import Path

import numpy as np

_TEXT = (".csv", ".txt", ".tsv")
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": None}


def read_samples(path: str | Path) -> np.ndarray:
    """The outputs in a file: one a row.

    Args:
        path: A .npy file, an .npz file with one array, or a .csv, .tsv or .txt file with one output
            a line (numbers, several numbers for vectors, or labels). A first line that is no number
            while the others are is taken as a header.

    Returns:
        Numbers of shape [n] or [n, d], or labels of shape [n].

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is a folder, empty, ragged, unreadable or of another kind.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"samples file {path} is a folder; name the file in it.")
    if not path.exists():
        raise FileNotFoundError(f"samples file {path} does not exist.")
    kind = path.suffix.lower()
    if kind in (".npy", ".npz"):
        array = _read_numpy(path)
    elif kind in _TEXT:
        array = _read_text(path, _DELIMITERS[kind])
    else:
        raise ValueError(
            f"samples file {path} must end in .npy, .npz, .csv, .tsv or .txt, but ends in {kind!r}."
        )
    if array.size == 0:
        raise ValueError(f"samples file {path} holds no outputs.")
    return array


def _read_numpy(path: Path) -> np.ndarray:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # The file is opened here, so that it is closed when NumPy gives up on it.
            with path.open("rb") as file:
                content = np.load(file, allow_pickle=False)
                if isinstance(content, np.ndarray):
                    return content
                names = list(content)
                if len(names) != 1:
                    raise ValueError(f"it must hold one array, but holds {names}")
                return content[names[0]]
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, UserWarning) as error:
        raise ValueError(f"samples file {path} cannot be read: {error}.") from None


def _read_text(path: Path, delimiter: str | None) -> np.ndarray:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"samples file {path} cannot be read: {error}.") from None
    lines = text.splitlines()
    if delimiter is None:
        rows = [line.split() for line in lines if line.strip()]
    else:
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    if not rows:
        raise ValueError(f"samples file {path} holds no outputs.")
    if len(rows) > 1 and not _is_number(rows[0][0]) and _is_number(rows[1][0]):
        rows = rows[1:]
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise ValueError(
            f"samples file {path} must have one output a line, but its lines have "
            f"{min(widths)} to {max(widths)} entries."
        )
    numeric = sum(_is_number(entry) for row in rows for entry in row)
    if numeric == 0:
        if widths != {1}:
            raise ValueError(f"samples file {path} must have one label a line.")
        return np.array([row[0].strip() for row in rows])
    if numeric < len(rows) * widths.pop():
        raise ValueError(f"samples file {path} mixes numbers and other entries.")
    values = np.array(rows, dtype=float)
    # Integers as they were written stay integers: outcomes, not reals. Past 2^53 a float would
    # merge neighbours, past int64 it is all there is.
    if all(_is_integer(entry) for row in rows for entry in row) and np.all(np.abs(values) < 2**63):
        values = np.array([[int(entry) for entry in row] for row in rows], np.int64)
    return values[:, 0] if values.shape[1] == 1 else values


def _is_integer(entry: str) -> bool:
    digits = entry.strip()
    return digits.removeprefix(digits[:1] if digits[:1] in ("+", "-") else "").isdecimal()


def _is_number(entry: str) -> bool:
    try:
        float(entry)
    except ValueError:
        return False
    return True
