"""The binding of a stored block: metadata that identify its sweep, entry, runs and versions.

Each block's file contains a binding. The hash in the file's name shows that the file is complete,
and the binding shows that the file belongs to the sweep.
"""

import json

from dpjax.core import random
from dpjax.core.types import JsonObject
from dpjax.results import provenance
from dpjax.sweeps._entry import Entry

FORMAT = 5
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


def binding(entry: Entry, first: int, stop: int, key: int, more: int) -> JsonObject:
    """Return, as JSON values, the binding of a block that this process computed."""
    versions = provenance.versions()
    return {
        "format": FORMAT,
        "key": key,
        "entry": entry.id,
        "first": first,
        "stop": stop,
        "more": more,
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
        return said
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"it is not a block of a sweep ({error!r})") from None


def difference(said: JsonObject, expected: JsonObject) -> str | None:
    """Describe the first unexpected value in a binding; return None if there is none."""
    for name, value in expected.items():
        if said.get(name) != value:
            return f"its {name} is {said.get(name)!r}, but should be {value!r}"
    return None
