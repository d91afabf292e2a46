"""A sweep: its cells, its seed, and the blocks of runs it is cut into."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dpjax import _random, _validate
from dpjax.sweeps._cell import Cell
from dpjax.sweeps._plain import check_entries


class Block(NamedTuple):
    """Runs first, ..., stop - 1 of one cell: what is computed, stored and redone as a whole.

    Attributes:
        cell: The cell.
        first: Number of the first run.
        stop: Number after the last run.
    """

    cell: Cell
    first: int
    stop: int

    @property
    def name(self) -> str:
        """Unique within a sweep, and a file name."""
        return f"{self.cell.id}-{self.first:07d}-{self.stop:07d}"


@dataclass(frozen=True)
class SweepSpec:
    """A sweep, as a value: equal specs give equal rows, wherever and however they run.

    Attributes:
        name: For people.
        cells: What is run.
        seed: Of all draws; a run's key is folded from (seed, cell, run).
        block_runs: Runs a block. It never changes a row.

    Raises:
        ValueError: There is no cell, two cells are the same, or a number is out of range.
    """

    name: str
    cells: tuple[Cell, ...]
    seed: int = 0
    block_runs: int = 50

    def __post_init__(self):
        object.__setattr__(self, "cells", tuple(self.cells))
        _validate.positive_int(block_runs=self.block_runs)
        _random.as_key(self.seed)
        if not self.cells:
            raise ValueError("cells must be at least one, but there was none.")
        # By the hash that their keys are folded from: equal keys would give equal noise.
        seen: dict[int, str] = {}
        for cell in self.cells:
            number = _random.stable_hash(cell.id)
            if number in seen:
                raise ValueError(
                    f"cells {seen[number]!r} and {cell.label!r} are the same: leave one out."
                )
            seen[number] = cell.label

    @property
    def num_runs(self) -> int:
        """Runs of all cells."""
        return sum(cell.num_runs for cell in self.cells)

    def blocks(self) -> Iterator[Block]:
        """All blocks, cell by cell, in a fixed order."""
        for cell in self.cells:
            for first in range(0, cell.num_runs, self.block_runs):
                yield Block(cell, first, min(first + self.block_runs, cell.num_runs))

    def to_dict(self) -> dict[str, Any]:
        """Plain words, numbers, lists and dicts."""
        return {
            "name": self.name,
            "seed": self.seed,
            "block_runs": self.block_runs,
            "cells": [cell.to_dict() for cell in self.cells],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "SweepSpec":
        """A spec from what `to_dict` or a person wrote.

        A cell may have a table `grid` of parameter -> list of values: it stands for one cell a
        combination, each labelled with its values.

        Raises:
            ValueError, TypeError: As `Cell.from_dict`; the message numbers the cell.
        """
        check_entries("a sweep", content, ("name", "seed", "block_runs", "cells"))
        cells = []
        for number, entry in enumerate(content.get("cells", ()), start=1):
            try:
                cells += [Cell.from_dict(one) for one in _expand(entry)]
            except (ValueError, TypeError) as error:
                raise type(error)(f"cell {number}: {error}") from None
        rest = {k: v for k, v in content.items() if k != "cells"}
        return cls(**{"name": "sweep", **rest}, cells=tuple(cells))

    @classmethod
    def from_file(cls, path: str | Path) -> "SweepSpec":
        """Reads a TOML file.

        Raises:
            FileNotFoundError: There is none.
            ValueError: It is not TOML, or not a sweep.
        """
        path = Path(path)
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"sweep file {path} is not TOML: {error}.") from None
        except IsADirectoryError:
            raise ValueError(f"sweep file {path} is a folder.") from None
        try:
            return cls.from_dict({"name": path.stem, **content})
        except (ValueError, TypeError) as error:
            raise type(error)(f"sweep file {path}: {error}") from None

    def to_toml(self) -> str:
        """The TOML text that `from_file` reads (needs tomli-w)."""
        try:
            import tomli_w
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "writing TOML needs tomli-w: pip install 'dpjax[sweeps]'."
            ) from error
        return tomli_w.dumps(self.to_dict())


def _expand(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if not isinstance(entry, Mapping):
        raise TypeError(f"a cell must be a table of entries, but was {entry!r}.")
    entry = dict(entry)
    grid = entry.pop("grid", {})
    if not isinstance(grid, Mapping) or not all(isinstance(v, list) and v for v in grid.values()):
        raise TypeError(f"grid must be a table of parameter = [values], but was {grid!r}.")
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        words = [str(entry.get("label") or entry.get("mechanism"))]
        words += [f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in chosen.items()]
        parameters = {**entry.get("parameters", {}), **chosen}
        yield {**entry, "parameters": parameters, "label": " ".join(words)}
