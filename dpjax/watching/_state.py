"""The state of a watch, as stored in a file."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpjax.core.arrays import packed, unpacked
from dpjax.core.files import refuse_endless, unreadable, write_whole
from dpjax.core.seals import seal_of
from dpjax.core.types import JsonObject
from dpjax.inference import LAYING
from dpjax.results import AuditResult
from dpjax.sources import Passages

_FORMAT = 3


class _OtherFormat(ValueError):
    """The error for a state file of another version of dpjax; its text is the file's format."""


class Taken(NamedTuple):
    """A chunk of outputs that a watch has accepted: name, numbers of outputs and digests."""

    name: str
    sizes: tuple[int, int]
    digests: tuple[str, str]


@dataclass
class State:
    """The state of a watch, from which a later watch can continue.

    Attributes:
        terms: Terms that must not change: claim, notion, confidence, options, versions.
        taken: Accepted chunks, in the order of arrival.
        kind: Kind of the outputs in words, or None if no outputs have arrived.
        held: Outputs of each side that are kept in memory: the first 4,096 outputs (`LAYING`),
            which determine the cells, and outputs that are not yet counted.
        gone: Number of outputs per side that were counted and then discarded. The discarded outputs
            arrived after the first outputs and before the uncounted outputs.
        result: Current result, or None if too few outputs for the first cells have arrived.
        passages: Hashes of short sequences of outputs, for all accepted outputs. A repeated hash
            shows that outputs have arrived a second time.
    """

    terms: JsonObject
    taken: list[Taken] = field(default_factory=list)
    kind: str | None = None
    held: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
    gone: int = 0
    result: AuditResult | None = None
    passages: Passages = field(default_factory=Passages.none)

    def write(self, path: Path) -> None:
        """Write the state to a file; an interrupt never leaves an incomplete file.

        Raises:
            OSError: If the state file cannot be written.
        """
        content = {
            "watch": _FORMAT,
            "terms": self.terms,
            "taken": [[chunk.name, *chunk.sizes, *chunk.digests] for chunk in self.taken],
            "kind": self.kind,
            "held": [None if side is None else packed(side) for side in self.held],
            "gone": self.gone,
            "result": None if self.result is None else self.result.to_json(),
            "passages": self.passages.to_plain(),
        }
        try:
            write_whole({path: json.dumps({**content, "seal": seal_of(content)})})
        except OSError as error:
            raise OSError(
                f"state {path} cannot be written: {error.strerror}. The file still contains the "
                "state before the last chunk, from which the same watch continues."
            ) from None

    @classmethod
    def read(cls, path: Path) -> "State":
        """Read a state from a file that `write` created.

        Raises:
            ValueError: If the file is damaged or was modified, or if it is not the state of a
                watch.
            OSError: If the state file cannot be read.
        """
        refuse_endless("state", path)
        try:
            content = json.loads(path.read_text("utf-8"))
            seal = content.pop("seal")
            if type(content["watch"]) is int and content["watch"] != _FORMAT:
                raise _OtherFormat(content["watch"])
            if seal != seal_of(content) or content["watch"] != _FORMAT:
                raise ValueError("its checksum does not match")
            first, second = (None if side is None else unpacked(side) for side in content["held"])
            text = content["result"]
            found = cls(
                content["terms"],
                [Taken(name, (x, y), (a, b)) for name, x, y, a, b in content["taken"]],
                content["kind"],
                (first, second),
                content["gone"],
                None if text is None else AuditResult.from_json(text),
                Passages.from_plain(content["passages"]),
            )
            found._refuse_misfits()
            return found
        except OSError as error:
            raise unreadable("state", path, error) from None
        except _OtherFormat as error:
            raise ValueError(
                f"state file {path} has the format {error}, but this version of dpjax reads "
                f"{_FORMAT}: install the version that wrote the file, or pass another state file, "
                "and outputs that no watch has counted."
            ) from None
        except Exception as error:  # Damaged or forged content may raise any exception.
            raise ValueError(
                f"state file {path} was changed or damaged, or not written by a watch ({error}): "
                "the watch cannot continue from this file. Pass another state file, and outputs "
                "that no watch has counted."
            ) from None

    def _refuse_misfits(self) -> None:
        """Raise ValueError if the state is inconsistent: each output must be held or discarded.

        Anybody can compute the checksum ("seal") of a file, so a valid checksum does not prove that
        the state is genuine. The parts of the state must therefore be consistent with each other.
        """
        names = [chunk.name for chunk in self.taken]
        if not isinstance(self.terms, dict) or names != sorted(set(names)):
            raise ValueError("its terms or chunk names are invalid")
        sizes = [size for chunk in self.taken for size in chunk.sizes]
        if not all(type(size) is int and size >= 0 for size in [self.gone, *sizes]):
            raise ValueError("a number of outputs in it is negative or not an integer")
        if np.any(self.passages.chunks.astype(np.int64) // max(len(names), 1)):
            raise ValueError("it contains hashes for chunks that it does not list")
        drawn = 0 if self.result is None else self.result.settings["drawn"]
        if max(drawn - LAYING, 0) != self.gone:
            raise ValueError("its result is for a different number of outputs")
        for side, held in enumerate(self.held):
            waiting = 0 if held is None else len(held)
            if self.gone + waiting != sum(chunk.sizes[side] for chunk in self.taken):
                raise ValueError("some outputs of its chunks are missing")
            if waiting < drawn - self.gone:
                raise ValueError("some outputs that determine its cells are missing")
