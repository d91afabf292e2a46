"""The subject of `dpjax audit`: a mechanism, a function, a program or recorded outputs."""

import dataclasses
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dpjax.cli._audit_options import DECLARED_SOURCES, declared_values
from dpjax.cli._given import object_of, pairs_of, standard_input
from dpjax.cli._neighbors import neighbors_of
from dpjax.cli._table import Given, Value, option_of

if TYPE_CHECKING:
    from dpjax.mechanisms import Mechanism
    from dpjax.sources import CanaryRuns, OneRun, Recorded


def subject_and_pairs(source: str, written: Given, stack: ExitStack) -> tuple[Value, Value]:
    """Return the first two arguments of `dpjax.audit`: the subject, and its pairs or None.

    Raises:
        ValueError: If an option is malformed, or if a required option is missing.
    """
    if source == "samples":
        return _recorded(written, stack), None
    if source == "one_run":
        return _one_run(written), None
    if source == "canary_runs":
        return _canary_runs(written), None
    on_host = source in DECLARED_SOURCES
    path = written.get("pairs")
    own = source in ("mechanism", "object") or "input_interval" in written
    pairs = neighbors_of(written)
    if path is not None:
        pairs = pairs_of(path, any_kind=on_host, reads_tables=source == "host")
    if pairs is None and not own:
        raise ValueError(
            f"--{source} needs --pairs, such as --pairs '[[0, 1]]', or a file of pairs; or --like, "
            "an example of a database, such as --like '[30, 80]'."
        )
    if source == "mechanism":
        return _built_in(written), pairs
    if source == "function":
        return _function(written, pairs), pairs
    from dpjax.sources import SOURCES, family_of

    named, kind = written[source], DECLARED_SOURCES[source]
    if {"function", "subject"} & {*kind.required}:
        named = object_of(named, f"--{source}")
    values = declared_values(kind, written)
    if source == "object" and family_of(named) is not None:
        if values:
            raise ValueError(
                f"{option_of(next(iter(values)))} is an option of each member of a family: set its "
                "value in the function that creates the members."
            )
        return named, pairs
    make: Value = SOURCES[source]
    return make(named, **values), pairs


def _built_in(written: Given) -> "Mechanism":
    from dpjax.core.errors import nearest
    from dpjax.mechanisms import CATALOGUE, find_mechanism

    name = written["mechanism"]
    if Path(name).is_file() and name not in CATALOGUE:
        advice = (
            "to audit recorded outputs of two databases, use --samples X Y, or --by COLUMN if a "
            "column of the file names the database."
        )
        if name.endswith(".py"):
            advice = f"name a function or a library object in the file, as {name}:NAME."
        raise ValueError(f"{name} is a file, not a mechanism: {advice}")
    cls = find_mechanism(name)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    settings = [f"epsilon={written['epsilon']!r}"] if "epsilon" in written else []
    values: dict[str, float] = {}
    for setting in settings + list(written.get("param", ())):
        key, _, text = setting.partition("=")
        key = key.replace("-", "_")
        if key in values:
            first = "--epsilon" if key == "epsilon" and settings else f"an earlier --param {key}"
            raise ValueError(f"--param {setting!r} repeats {first}: give only one of them.")
        if key not in fields:
            found = nearest(key, list(fields))
            if key == "epsilon":
                found += " To set a parameter, use --param NAME=VALUE."
            raise ValueError(f"{name} has no parameter {key!r}; {found}")
        kind = int if isinstance(fields[key].default, int) else float
        try:
            values[key] = kind(text)
        except ValueError:
            raise ValueError(
                f"--param {key} must be {'an integer' if kind is int else 'a number'}, but was "
                f"{text!r}."
            ) from None
    return cls(**values)


def _function(written: Given, pairs: Value) -> Value:
    function = object_of(written["function"], "--function")
    if "num_outcomes" not in written:
        return function
    from dpjax.databases import Pairs
    from dpjax.databases.trees import nth

    if not isinstance(pairs, Pairs):
        raise ValueError(
            "--num-outcomes needs --pairs, because inputs cannot be planned for a function "
            "with finitely many outputs."
        )
    from dpjax.mechanisms import from_function

    return from_function(function, nth(pairs.database, 0), num_outcomes=written["num_outcomes"])


def _recorded(written: Given, stack: ExitStack) -> "Recorded":
    """Return recorded outputs: arrays for the local method, otherwise files to read in chunks."""
    from dpjax.core.arrays import joined
    from dpjax.sources import Recorded
    from dpjax.sources.readers import Recording

    columns = written.get("column", [])
    if len(columns) > 1:
        raise ValueError(
            f"--column must be given once, but was given {len(columns)} times: pass the columns "
            f"of a vector as --column {','.join(columns)}, and another column for Y as --column-y."
        )
    column = column_of(columns[0]) if columns else None
    other = column_of(written["column_y"]) if "column_y" in written else column
    files = list(written["samples"])
    options = declared_values(DECLARED_SOURCES["samples"], written)
    if (by := written.get("by")) is not None:
        if files[0] != files[1] or "column_y" in written:
            raise ValueError(
                "--by is for one file and one --column: use dpjax audit FILE --by COLUMN."
            )
        files = files[:1]
    if files.count("-") > 1:
        raise ValueError("--samples can read only one side from standard input, but had - twice.")
    if "-" in files:
        folder = stack.enter_context(TemporaryDirectory(prefix="dpjax-"))
        files[files.index("-")] = str(standard_input(folder))
    if by is not None:
        recorded = Recorded.from_file(files[0], by, column, **options)
    else:
        x, y = map(Recording, files, (column, other))
        names = [x.name, y.name]
        if column != other:
            names = [
                side.name if side.column is None else f"{side.name}:{_column_words(side.column)}"
                for side in (x, y)
            ]
        recorded = Recorded(x, y, name=" / ".join(names), **options)
    if written["method"] != "local":
        return recorded
    return dataclasses.replace(
        recorded, **{side: joined([*getattr(recorded, side).chunks()]) for side in "xy"}
    )


def _one_run(written: Given) -> "OneRun":
    from dpjax.sources import OneRun
    from dpjax.sources.readers import Recording

    for column in ("score", "included"):
        if column not in written:
            raise ValueError(f"--one-run needs --{column}, the name of a column of the file.")
    columns = column_of(written["score"]), written["included"]
    if isinstance(names := columns[0], list) and len({*names}) < len(names):
        raise ValueError(f"--score must name distinct columns, but was {written['score']!r}.")
    scores, included = (Recording(written["one_run"], column) for column in columns)
    options = declared_values(DECLARED_SOURCES["one_run"], written)
    return OneRun(scores, included, name=scores.name, **options)


def _canary_runs(written: Given) -> "CanaryRuns":
    from dpjax.sources import CanaryRuns

    if "num_canaries" not in written:
        raise ValueError("--canary-runs needs --num-canaries, the number of canaries.")
    function = object_of(written["canary_runs"], "--canary-runs")
    return CanaryRuns(function, written["num_canaries"])


def column_of(text: str) -> str | list[str]:
    """Parse the name of a column, or the comma-separated names of columns that form a vector."""
    names = [name.strip() for name in text.split(",")]
    return names if len(names) > 1 else text


def _column_words(column: object) -> str:
    return ",".join(map(str, column)) if isinstance(column, list) else str(column)
