"""The state of a watch, which is stored in a file."""

import json
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpjax.core.arrays import packed, unpacked
from dpjax.core.files import refuse_endless, write_whole
from dpjax.core.types import JsonObject
from dpjax.inference import LAYING
from dpjax.results import AuditResult
from dpjax.sources import Passages

_FORMAT = 3


class Taken(NamedTuple):
    """A chunk of outputs that a watch has taken."""

    name: str
    sizes: tuple[int, int]
    digests: tuple[str, str]


@dataclass
class State:
    """The state of a watch, from which the watch can continue.

    Attributes:
        terms: Terms that must not change: claim, notion, confidence, options, versions.
        taken: Chunks that were taken, in the order of arrival.
        kind: Kind of the outputs in words, or None before the first outputs.
        held: Outputs of each side that are kept: the first outputs, which determine the cells, and
            the outputs that are not yet counted.
        gone: Number of outputs per side that were counted and dropped. Dropped outputs arrived
            after the first outputs in `held` and before the uncounted outputs.
        result: Result so far, or None before there are enough outputs for the first cells.
        passages: Hashes of short sequences of all outputs that were taken. A repeated hash shows
            that outputs arrived a second time.
    """

    terms: JsonObject
    taken: list[Taken] = field(default_factory=list)
    kind: str | None = None
    held: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
    gone: int = 0
    result: AuditResult | None = None
    passages: Passages = field(default_factory=Passages.none)

    def write(self, path: Path) -> None:
        """Write the state to a file, which is never left incomplete.

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
        write_whole({path: json.dumps({**content, "seal": _seal(content)})})

    @classmethod
    def read(cls, path: Path) -> "State":
        """Read a state from a file that `write` wrote.

        Raises:
            ValueError: If the file is damaged, was changed, or is not the state of a watch.
            OSError: If the state file cannot be read.
        """
        refuse_endless("state", path)
        try:
            content = json.loads(path.read_text("utf-8"))
            seal = content.pop("seal")
            if seal != _seal(content) or content["watch"] != _FORMAT:
                raise ValueError("its seal does not fit")
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
        except OSError:
            raise
        except Exception as error:  # Damaged or forged content may raise any exception.
            raise ValueError(
                f"state {path} was changed or damaged, or is no state of a watch ({error}): the "
                "watch cannot go on from it. Give another file, and outputs that no watch has "
                "counted."
            ) from None

    def _refuse_misfits(self) -> None:
        """Raise ValueError unless every output was counted exactly once, or is still held.

        Anybody can compute a valid checksum ("seal") of a file, so a valid seal is no proof. The
        parts of the state must be consistent with each other.
        """
        names = [chunk.name for chunk in self.taken]
        if not isinstance(self.terms, dict) or names != sorted(set(names)):
            raise ValueError("its terms or chunk names are invalid")
        sizes = [size for chunk in self.taken for size in chunk.sizes]
        if not all(type(size) is int and size >= 0 for size in [self.gone, *sizes]):
            raise ValueError("a number of outputs in it is not a non-negative integer")
        if np.any(self.passages.chunks.astype(np.int64) // max(len(names), 1)):
            raise ValueError("its passages are of chunks that it never took")
        drawn = 0 if self.result is None else self.result.settings["drawn"]
        if max(drawn - LAYING, 0) != self.gone:
            raise ValueError("its result is of another number of outputs")
        for side, held in enumerate(self.held):
            waiting = 0 if held is None else len(held)
            if self.gone + waiting != sum(chunk.sizes[side] for chunk in self.taken):
                raise ValueError("outputs that it took are missing")
            if waiting < drawn - self.gone:
                raise ValueError("outputs that determined its cells are missing")


def _seal(content: JsonObject) -> str:
    return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16).hexdigest()
