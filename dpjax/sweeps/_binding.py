"""The file of a block: its columns and its binding, the metadata that identify its runs.

The hash in a file's name shows that the file is complete. The binding in the file states the sweep,
the entry, the runs and the versions.
"""

import json
from pathlib import Path

from dpjax.core import random
from dpjax.core.types import JsonObject
from dpjax.results import provenance
from dpjax.sweeps._entry import Entry
from dpjax.sweeps._spec import Block

FORMAT = 6
"""Version number of the file format of stores and blocks."""

PLACE = b"dpjax"
"""Key of the binding in the metadata of a Parquet file."""

COLUMNS = {
    "entry": "string",
    "run": "int32",
    "lower_bound": "double",
    "estimate": "double",
    "pair": "int32",
    "output": "list<element: double>",
    "exact": "bool",
    "status": "string",
    "verdict": "string",
    "seconds": "double",
    "processor": "string",
    "state": "binary",
}

UNREPEATABLE = ("seconds", "processor")
"""Names of the columns whose values may change when the same run is computed again."""


def identity(block: Block, key: int) -> JsonObject:
    """Return, as JSON values, the format and the runs of a block of a sweep with a given key."""
    return {
        "format": FORMAT,
        "key": key,
        "entry": block.entry.id,
        "first": block.first,
        "stop": block.stop,
        "more": block.more,
    }


def binding(block: Block, key: int) -> JsonObject:
    """Return, as JSON values, the binding of a block that this process computed."""
    versions = provenance.versions()
    return {
        **identity(block, key),
        **random.numbers_of_process(),
        **{name: versions[name] for name in provenance.DECISIVE},
        "processor": provenance.processor(),
    }


def read_binding(content: bytes) -> JsonObject:
    """Read the binding from the bytes of a block.

    Raises:
        ValueError: If the bytes are not a block, or if they do not contain exactly the runs that
            the binding states.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        said = json.loads((file.schema_arrow.metadata or {})[PLACE])
        if {field.name: str(field.type) for field in file.schema_arrow} != COLUMNS:
            raise ValueError(f"its columns are not {', '.join(COLUMNS)}")
        table = file.read(["entry", "run"])
        if table["run"].to_pylist() != [*range(said["first"], said["stop"])]:
            raise ValueError("its rows are not the runs of the block, in order")
        if table["entry"].unique().to_pylist() != [said["entry"]]:
            raise ValueError("its rows belong to another entry")
        if not isinstance(said["processor"], str):
            raise ValueError(f"its processor is {said['processor']!r}")
        return said
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"it is not a block of a sweep ({error!r})") from None


def difference(said: JsonObject, expected: JsonObject) -> str | None:
    """Describe the first unexpected value in a binding; return None if there is none."""
    for name, value in expected.items():
        if said.get(name) != value:
            return f"its {name} is {said.get(name)!r}, but should be {value!r}"
    return None


def states_of(path: Path) -> list[bytes]:
    """Return the state of each run in a stored block."""
    import pyarrow.parquet as pq

    return pq.read_table(path, columns=["state"])["state"].to_pylist()


def have_equal_rows(first: Path, second: Path) -> bool:
    """Return whether two stored blocks have bitwise equal rows, apart from `UNREPEATABLE`."""
    import pyarrow.parquet as pq

    one, other = (pq.read_table(path).drop_columns(list(UNREPEATABLE)) for path in (first, second))
    return one.equals(other)


def repeats_exactly(entry: Entry, first: Path, second: Path) -> bool:
    """Return whether two files for the same runs of an entry must have equal rows.

    Another processor may round differently, and a Python function may ignore its seed.
    """
    one, other = (read_binding(path.read_bytes())["processor"] for path in (first, second))
    return one == other and entry.source.sampler is not None
