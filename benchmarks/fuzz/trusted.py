"""Simple readers that are independent of dpjax's code and return the content of valid inputs."""

import csv
import io
import json
import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

_SPACE = " \t\r\n\v\f"


def recording(path: Path) -> list[Any]:
    """Return the outputs in a file: numbers, strings, or lists of numbers, maybe with a header."""
    match path.suffix:
        case ".npy":
            return np.load(path, allow_pickle=False).tolist()
        case ".npz":
            with np.load(path, allow_pickle=False) as content:
                (name,) = content.files
                return content[name].tolist()
        case ".parquet":
            # Convert each column separately, because columns may have different types.
            columns = [column.to_pylist() for column in pq.read_table(path).columns]
            return columns[0] if len(columns) == 1 else [*map(list, zip(*columns, strict=True))]
    text = path.read_bytes().decode("utf-8-sig").replace("\r\r\n", "\n")
    if path.suffix == ".txt":
        # Accept all line endings and ASCII whitespace.
        lines = io.StringIO(text, newline=None).read().split("\n")
        rows = [line.translate({11: 32, 12: 32, 9: 32}).split(" ") for line in lines]
        rows = [[entry for entry in row if entry] for row in rows]
    else:
        delimiter = {".csv": ",", ".tsv": "\t"}[path.suffix]
        rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]
    while rows and (
        not rows[-1] or (len(rows[-1]) == 1 and rows[-1][0] and not rows[-1][0].strip(_SPACE))
    ):
        rows.pop()
    return [row[0] if len(row) == 1 else row for row in rows]


def same_outputs(read: np.ndarray, wanted: list[Any]) -> bool:
    """Return whether an array contains these outputs, possibly without a header."""
    outputs = read.tolist()
    if len(wanted) == len(outputs) + 1:
        wanted = wanted[1:]
    return len(wanted) == len(outputs) and all(map(_same, outputs, wanted))


def _same(output: Any, wanted: Any) -> bool:
    if isinstance(output, list):
        wanted = wanted if isinstance(wanted, list) else [wanted]
        return len(output) == len(wanted) and all(map(_same, output, wanted))
    if isinstance(wanted, list):
        return len(wanted) == 1 and _same(output, wanted[0])
    if isinstance(output, str) or not isinstance(wanted, str):
        kept = wanted.strip(_SPACE) if isinstance(wanted, str) else wanted
        same = output == kept or (output != output and kept != kept)
        return type(output) is type(kept) and same
    # The file contains a string. An integer must agree in every digit, so do not compare floats.
    number = int(wanted) if isinstance(output, int) else float(wanted)
    return output == number or (math.isnan(output) and math.isnan(number))


def panel(path: Path) -> tuple[int, int, int, np.ndarray]:
    """Read a table of records.

    Returns:
        Number of records, number of databases, number of individuals, and the sorted values.
    """
    if path.suffix == ".csv":
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, low_memory=False)
    else:
        frame = pd.read_parquet(path)
    values = frame["value"].to_numpy().astype(float)
    return len(frame), frame["database"].nunique(), frame["individual"].nunique(), np.sort(values)


def pairs(path: Path) -> list[tuple[Any, Any]]:
    """Return pairs (database, neighbor) as nested lists."""
    if path.suffix == ".json":
        return [tuple(row) for row in json.loads(path.read_text("utf-8"))]
    with np.load(path, allow_pickle=False) as content:
        sides = content["database"].tolist(), content["neighbor"].tolist()
    return [*zip(*sides, strict=True)]


def num_entries(path: Path) -> int:
    """Return the number of entries of a sweep; each combination of a grid is an entry."""
    entries = tomllib.loads(path.read_text("utf-8"))["entries"]
    return sum(math.prod(map(len, entry.get("grid", {}).values())) for entry in entries)


def lines(content: bytes) -> list[Any]:
    """Split the output of a program into lines.

    Returns:
        A number for each line that contains an ASCII number, and bytes for each other line.
    """
    parts = content.split(b"\n")
    return [_line(line) for line in (parts if parts[-1] else parts[:-1])]


def _line(line: bytes) -> Any:
    if not all(byte in b"\t\v\f\r" or 32 <= byte < 127 for byte in line) or b"_" in line:
        return line
    for kind in (int, float):
        try:
            return kind(line)
        except ValueError:
            continue
    return line
