"""The specification of a sweep: its entries, its key, and its blocks of runs."""

import itertools
import math
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dpjax.core import random, validate
from dpjax.core.errors import needs
from dpjax.core.files import as_path, read_document
from dpjax.core.types import JsonObject
from dpjax.core.validate import check_names
from dpjax.core.wording import BadValue
from dpjax.partitions.previews import preview_database
from dpjax.sweeps._entry import Entry


class Block(NamedTuple):
    """Consecutive runs of an entry that are computed and stored together.

    Attributes:
        entry: Entry that specifies the runs.
        first: Number of the first run.
        stop: Number of the last run plus 1.
        more: Number of draws per side in addition to those specified by the entry's method; 0
            unless the entry is sequential.
    """

    entry: Entry
    first: int
    stop: int
    more: int = 0

    @property
    def name(self) -> str:
        """Name of the block, unique within a sweep and valid as a file name."""
        runs = f"{self.entry.id}-{self.first:07d}-{self.stop:07d}"
        return f"{runs}-more{self.more}" if self.more else runs


@dataclass(frozen=True)
class SweepSpec:
    """The specification of a sweep; it determines the sweep's rows on every machine.

    Attributes:
        name: Name for display.
        entries: Entries to run.
        key: Integer seed for all draws; a run's key is derived from (key, entry, run number).
        block_runs: Number of runs per block; it does not affect the rows.
        more: Number of additional draws per side for all runs of sequential entries. Runs continue
            from the states in the store. A continued run has the same row as a run that specified
            the larger number of draws from the start.

    Raises:
        ValueError: If there is no entry, if two entries are equal, or if a value is out of range.
    """

    name: str
    entries: tuple[Entry, ...]
    key: int = 0
    block_runs: int = 50
    more: int = 0

    def __post_init__(self):
        object.__setattr__(self, "entries", tuple(self.entries))
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a string, but was {self.name!r}.")
        validate.positive_int(block_runs=self.block_runs)
        validate.positive_int(at_least=0, more=self.more)
        if self.more and not any(entry.goes_on for entry in self.entries):
            raise BadValue(
                f"more must be left out, but was {self.more}: it applies only to sequential "
                "entries without a time limit, and there is no such entry."
            )
        for entry in self.entries:
            if entry.goes_on:
                self._check_more(entry)
        random.as_key(self.key)
        if not self.entries:
            raise ValueError("entries must hold at least one entry, but were empty.")
        # Entries with equal hashes would have equal keys and thus the same noise, so the hashes are
        # compared.
        seen: dict[int, str] = {}
        for entry in self.entries:
            number = random.stable_hash(entry.id)
            if number in seen:
                raise ValueError(
                    f"entries {seen[number]!r} and {entry.label!r} are equal: remove one of them."
                )
            seen[number] = entry.label
        blocks = sum(-(-entry.num_runs // self.block_runs) for entry in self.entries)
        validate.within_limit("blocks", blocks, "a sweep has too many blocks of block_runs runs")

    def _check_more(self, entry: Entry) -> None:
        """Raise ValueError if `more` is too large: a store would keep this value forever."""
        try:
            entry.longer(self.more)
        except ValueError as error:
            raise BadValue(
                f"more must be smaller, but was {self.more}: in the entry {entry.label!r}, {error}"
            ) from None

    @property
    def num_runs(self) -> int:
        """Total number of runs of all entries."""
        return sum(entry.num_runs for entry in self.entries)

    @property
    def modules(self) -> set[str]:
        """Names of the modules from which mechanisms outside the catalogue are imported."""
        names = (entry.mechanism_name.partition(":") for entry in self.entries)
        return {module for module, colon, _ in names if colon}

    def blocks(self) -> Iterator[Block]:
        """Yield all blocks, entry by entry, in a fixed order."""
        for entry in self.entries:
            for first in range(0, entry.num_runs, self.block_runs):
                stop = min(first + self.block_runs, entry.num_runs)
                yield Block(entry, first, stop, self.more if entry.goes_on else 0)

    def to_dict(self) -> JsonObject:
        """Return the specification as JSON values."""
        return {
            "name": self.name,
            "key": self.key,
            "block_runs": self.block_runs,
            **({"more": self.more} if self.more else {}),
            "entries": [entry.to_dict() for entry in self.entries],
        }

    @classmethod
    def from_dict(cls, content: JsonObject, allow_import: Collection[str] = ()) -> "SweepSpec":
        """Read a specification written by a user or by `to_dict`.

        The table of an entry may have a `grid`, which maps parameters to lists of values. A table
        with a `grid` stands for multiple entries, one per combination of values. The label of each
        resulting entry shows its combination of values.

        Args:
            content: The specification as JSON values.
            allow_import: Modules from which mechanisms may be imported, as in `Entry.from_dict`.

        Raises:
            ValueError, TypeError: If `Entry.from_dict` rejects an entry; the message names the
                entry.
        """
        check_names("a sweep", content, ("name", "key", "block_runs", "more", "entries"))
        entries: list[Entry] = []
        written = content.get("entries", ())
        if not isinstance(written, list | tuple):
            raise TypeError(f"entries must be tables, but were {preview_database(written)}.")
        for number, table in enumerate(written, start=1):
            try:
                size = len(entries) + _size(table)
                validate.within_limit("entries", size, "a sweep has too many entries")
                entries += [Entry.from_dict(one, allow_import) for one in _expand(table)]
            except (ValueError, TypeError) as error:
                raise _of(error, f"entry {number}: {error}") from None
            except (ArithmeticError, AttributeError, LookupError, RecursionError) as error:
                # Some values are used before they are validated, so each of these exceptions may
                # mean that a value has the wrong type.
                raise TypeError(
                    f"entry {number} holds a value of the wrong type "
                    f"({type(error).__name__}: {error})."
                ) from error
        rest: JsonObject = {k: v for k, v in content.items() if k != "entries"}
        return cls(**{"name": "sweep", **rest}, entries=tuple(entries))

    @classmethod
    def from_file(cls, path: str | Path, allow_import: Collection[str] = ()) -> "SweepSpec":
        """Read a specification from a TOML file.

        Args:
            path: Path of the file.
            allow_import: Modules from which mechanisms may be imported, as in `Entry.from_dict`.

        Raises:
            FileNotFoundError: If the TOML file does not exist.
            ValueError: If the file is not valid TOML, or if it does not describe a sweep.
        """
        path = as_path("path", path)
        text = read_document("sweep file", path)
        try:
            content = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"sweep file {path} is not TOML: {error}.") from None
        try:
            return cls.from_dict({"name": path.stem, **content}, allow_import)
        except (ValueError, TypeError) as error:
            raise _of(error, f"sweep file {path}: {error}") from None

    def to_toml(self) -> str:
        """Return the specification as TOML text that `from_file` can read; requires tomli-w."""
        needs("functions that write TOML", "sweeps", "tomli_w")
        import tomli_w

        return tomli_w.dumps(self.to_dict())


def _of(error: Exception, text: str) -> Exception:
    """Return a new TypeError with message `text` if `error` is a TypeError, else a ValueError."""
    return TypeError(text) if isinstance(error, TypeError) else ValueError(text)


def _size(entry: object) -> int:
    """Return the number of entries that a table describes, or 1 if it has no valid `grid`."""
    grid = entry.get("grid") if isinstance(entry, Mapping) else None
    lists = grid.values() if isinstance(grid, Mapping) else ()
    return math.prod(len(values) for values in lists if isinstance(values, list))


def _expand(entry: object) -> Iterator[JsonObject]:
    entry = validate.check_table("an entry", entry)
    grid = entry.pop("grid", {})
    if not isinstance(grid, Mapping) or not all(isinstance(v, list) and v for v in grid.values()):
        raise TypeError(f"grid must be a table of parameter = [values], but was {grid!r}.")
    given = entry.get("parameters", {})
    validate.check_table("parameters", given)
    seen: set[str] = set()
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        words = [f"{name}={_shown(value)}" for name, value in chosen.items()]
        label = " ".join([str(entry.get("label") or entry.get("mechanism")), *words])
        if label in seen:
            raise ValueError(
                f"grid must list every value once, but describes two entries {label!r}."
            )
        seen.add(label)
        yield {**entry, "parameters": {**given, **chosen}, "label": label}


def _shown(value: object) -> str:
    """Return a value of a grid as text; only equal numbers, such as 1 and 1.0, look equal."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
