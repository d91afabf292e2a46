"""A watch: a sequential audit that continues whenever a chunk of outputs arrives."""

from collections.abc import Iterable, Iterator
from numbers import Real
from os import PathLike
from pathlib import Path

import numpy as np

from dpjax.audit import audit, resume
from dpjax.core.arrays import joined
from dpjax.core.errors import Stopped
from dpjax.core.files import as_path, refuse_unwritable
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType, BadValue
from dpjax.inference import LAYING, first_round
from dpjax.methods import Sequential
from dpjax.notions import Epsilon, Notion, Terms
from dpjax.results import DOUBTFUL, REFUTING, AuditResult
from dpjax.results.provenance import DECISIVE, seed_of, versions
from dpjax.results.recipes import notion_to_plain
from dpjax.sources import Arriving, Chunk, Passages
from dpjax.watching._state import State, Taken

_LEAST = first_round(1, few=False)
"""Number of outputs per side that determine the first cells and are not counted."""


class Watch:
    """A sequential audit of arriving outputs; the function `watch` creates it.

    Attributes:
        state: Current state of the watch. If there is a state file, the file contains this state,
            too.
        known: Map from the name of each accepted chunk to the chunk.
    """

    def __init__(
        self,
        claim: float,
        notion: Notion | None,
        terms: JsonObject,
        options: JsonObject,
        path: str | PathLike[str] | None,
    ):
        if isinstance(claim, bool) or not isinstance(claim, Real | np.number):
            raise BadType(f"claim must be a number for a watch, but was {claim!r}.")
        self._arguments = {"notion": notion or Epsilon(), "claim": claim, **terms}
        checked = Terms(**self._arguments)
        checked.require_one_event("a watch")
        self._options = options
        self._path = None if path is None else as_path("state", path)
        stated = {
            **terms,
            "claim": checked.plain_claim,
            "notion": notion_to_plain(checked.notion),
            "key": seed_of(terms["key"]),
            **options,
            **{name: versions()[name] for name in DECISIVE},
        }
        self.state, self._written = State(stated), None
        if self._path is not None:
            refuse_unwritable("state", self._path)
            if self._path.exists():
                self.state = State.read(self._path)
                self._refuse_other_terms(stated)
                self._written = _look_of(self._path)
        self.known = {chunk.name: chunk for chunk in self.state.taken}

    @property
    def result(self) -> AuditResult | None:
        """Current result of the watch, or None if too few outputs have arrived."""
        return self.state.result

    @property
    def is_over(self) -> bool:
        """Whether the watch has ended: the claim is refuted, or the outputs look dependent."""
        return self.result is not None and self.result.verdict in (*REFUTING, DOUBTFUL)

    @property
    def waiting(self) -> tuple[int, int]:
        """Number of accepted outputs on each side that are not yet counted."""
        first, second = (0 if side is None else len(side) for side in self.state.held)
        counted = 0 if self.result is None else self.result.settings["drawn"] - self.state.gone
        return first - counted, second - counted

    def take(self, name: str | None, x: object, y: object) -> bool:
        """Accept and count a chunk, unless the chunk was accepted before.

        Args:
            name: Name of the chunk, which must sort after all earlier names. If `name` is None, the
                name is derived from the number of the chunk.
            x: Outputs for the database.
            y: Outputs for the neighbor.

        Returns:
            True if the chunk is new, and False if the same chunk was accepted before.

        Raises:
            ValueError: If the chunk is out of order, if a different chunk with the same name was
                accepted before, if the same outputs were accepted under another name, or if the
                chunk repeats a long sequence of outputs.
            TypeError: If the chunk's outputs are of a different kind from the earlier outputs.
        """
        taken = self.state.taken
        # Nine digits ensure that the names of chunks sort in numerical order.
        name = f"chunk {len(taken) + 1:09d}" if name is None else name
        chunk = Chunk.of(name, x, y)
        if name in self.known:
            if self.known[name].digests != chunk.digests:
                raise ValueError(
                    f"{name} has changed since its outputs were counted: counted outputs must not "
                    "change. Give new outputs a new name."
                )
            return False
        if taken and name < taken[-1].name:
            raise ValueError(
                f"{name} is out of order: it sorts before {taken[-1].name}, which was already "
                "counted. Names must sort in the order in which the outputs were drawn."
            )
        self._refuse_again(chunk)
        self._refuse_other_kind(chunk)
        self._count(chunk, self._passages_after(chunk))
        return True

    def _refuse_other_terms(self, stated: JsonObject) -> None:
        for name, value in stated.items():
            before = self.state.terms.get(name)
            if before != value:
                raise BadValue(
                    f"{name} must not change when a watch is continued: it is {before!r} in "
                    f"{self._path}, but {value!r} was passed."
                )

    def _refuse_again(self, chunk: Chunk) -> None:
        again = {d for d, tells in zip(chunk.digests, chunk.telling, strict=True) if tells}
        for before in self.state.taken:
            both = chunk.together and before.digests == chunk.digests
            if both or not again.isdisjoint(before.digests):
                raise ValueError(
                    f"{chunk.name} contains the same outputs as {before.name}, but each output "
                    "may be counted only once. Remove the new chunk, or draw new outputs."
                )
        if chunk.digests[0] == chunk.digests[1] and all(chunk.telling):
            raise ValueError(
                f"{chunk.name} contains the same outputs on both sides: draw the outputs of each "
                "side independently."
            )

    def _passages_after(self, chunk: Chunk) -> Passages:
        """Add the chunk's hashes to the earlier hashes; refuse a long repeated sequence."""
        number = len(self.state.taken)
        passages, first = self.state.passages.after(number, chunk.hashes)
        if first is None:
            return passages
        where = "itself" if first == number else self.state.taken[first].name
        raise ValueError(
            f"{chunk.name} repeats a long sequence of outputs from {where}, but each output may "
            "be counted only once. Include each output in only one chunk."
        )

    def _refuse_other_kind(self, chunk: Chunk) -> None:
        kinds = dict.fromkeys([*([self.state.kind] if self.state.kind else []), *chunk.kinds])
        if len(kinds) > 1:
            first, second = [*kinds][:2]
            raise TypeError(
                f"{chunk.name} contains {second}, but other outputs were {first}: all outputs "
                "must be of the same kind."
            )

    def _count(self, chunk: Chunk, passages: Passages) -> None:
        """Continue the audit with a chunk, and write the state once the whole chunk is counted."""
        before = self.state
        try:
            held = tuple(map(_joined, before.held, chunk.sides))
        except ValueError as error:
            raise ValueError(
                f"{chunk.name} cannot be counted together with earlier outputs: they contain "
                f"{error} together. Write all outputs as numbers of one type."
            ) from None
        kind = before.kind or next(iter(chunk.kinds), None)
        sizes = len(chunk.sides[0]), len(chunk.sides[1])
        taken = [*before.taken, Taken(chunk.name, sizes, chunk.digests)]
        ends = held[0], held[1]
        after = State(before.terms, taken, kind, ends, before.gone, before.result, passages)
        least = min(0 if side is None else len(side) for side in held)
        if least > _LEAST:
            x, y = held
            source = Arriving(x, y, name="arriving outputs", gone=before.gone, **self._options)
            result = before.result
            if result is None:
                result = audit(source, method=Sequential(), **self._arguments)
            elif result.settings["drawn"] < before.gone + least:
                result = resume(result, source)
            drawn = result.settings["drawn"]
            all_counted = drawn == before.gone + least
            if not all_counted and result.verdict not in REFUTING and not result.doubts:
                # An interrupt left part of the chunk uncounted. The new state is not stored, so the
                # chunk will be counted again from its start.
                raise Stopped(f"Stopped after {len(before.taken)} chunks.")
            after.result, after.gone = result, max(drawn - LAYING, 0)
            dropped = after.gone - before.gone
            after.held = _without(x, dropped), _without(y, dropped)
        if self._path is not None:
            self._refuse_other_writer()
            after.write(self._path)
            self._written = _look_of(self._path)
        self.state = after
        self.known[chunk.name] = taken[-1]

    def _refuse_other_writer(self) -> None:
        assert self._path is not None
        now = _look_of(self._path) if self._path.exists() else None
        if now is None and self._written is not None:
            raise ValueError(
                f"state {self._path} was removed while the watch used it, so the watch cannot be "
                "continued later. Restore the file, and start the same watch again."
            )
        if now != self._written:
            raise ValueError(
                f"state {self._path} was written by another process: only one watch may use a "
                "state file at a time."
            )


def watch(
    chunks: Iterable[object],
    *,
    claim: float,
    notion: Notion | None = None,
    confidence: float = 0.999,
    num_claims: int = 1,
    distance: int = 1,
    key: object = 0,
    discrete: bool | None = None,
    independent: bool = False,
    state: str | Path | None = None,
) -> Iterator[AuditResult]:
    """Audit outputs as they arrive from a running system, with a bound after every chunk.

    All bounds hold simultaneously, as for `dpjax.Sequential`, and the watch may stop at any time.
    The first 16 outputs of each side determine the first cells, so the first result appears once
    each side has more than 16 outputs. Each output after the first 16 is counted once. The first
    4,096 outputs of each side are kept in memory; every other output is discarded once it is
    counted. The two sides of a chunk may have different lengths: surplus outputs of the longer side
    wait for later chunks.

    Args:
        chunks: Pairs (x, y) of independent outputs for the database and for its neighbor: numbers
            [n] or [n, d], or labels or texts [n]. Tables, sets and other outputs must be converted
            to JSON texts, whose contents are compared if hardly any two are equal. Chunks may also
            be triples (name, x, y), whose names sort in the order of the chunks. If a chunk arrives
            again with the same name and the same outputs, it is skipped.
        claim: Claimed level, in the notion's unit.
        notion: `dpjax.Epsilon(delta)`, `Gdp()` or `TotalVariation()`; None for epsilon at delta =
            0.
        confidence: Joint confidence, as in `dpjax.audit`.
        num_claims: Number of audits whose bounds hold jointly, as in `dpjax.audit`.
        distance: Number of records in which the databases differ, as in `dpjax.audit`.
        key: Integer seed or typed key, as in `dpjax.audit`.
        discrete: Whether every distinct number is a separate outcome, as in `dpjax.Recorded`.
        independent: Whether the outputs are known to be independent, as in `dpjax.Recorded`.
        state: Path of a file that stores the complete state after every chunk, so that a later
            watch can continue. If `state` is None, the state is kept only in memory.

    Yields:
        First the result in the state file, if there is one, and then the result after every new
        chunk. The watch ends when `chunks` ends, or after a result that refutes the claim or is
        doubtful.

    Raises:
        ValueError: If a chunk is out of order, has changed, was accepted under another name, or
            repeats a long sequence of outputs; or if the state file is damaged, or was written with
            other arguments or versions.
        TypeError: If outputs are of a different kind from the earlier outputs, or if an argument
            has the wrong type.
    """
    if not isinstance(chunks, Iterable):
        raise BadType(f"chunks must be an iterable of pairs (x, y), but was {chunks!r}.")
    terms = {
        "confidence": confidence,
        "num_claims": num_claims,
        "distance": distance,
        "key": key,
    }
    options = {"discrete": discrete, "independent": independent}
    # Create the watch before the generator starts so that arguments are validated immediately.
    return _results(Watch(claim, notion, terms, options, state), chunks)


def _results(watched: Watch, chunks: Iterable[object]) -> Iterator[AuditResult]:
    if watched.result is not None:
        yield watched.result
    if watched.is_over:
        return
    for chunk in chunks:
        if not isinstance(chunk, list | tuple) or len(chunk) not in (2, 3):
            raise BadType(
                "chunks must contain pairs (x, y) or triples (name, x, y), but one chunk was "
                f"{chunk!r:.80}."
            )
        name, x, y = chunk if len(chunk) == 3 else (None, *chunk)
        if name is not None and not isinstance(name, str):
            raise BadType(f"names of chunks must be strings, but one name was {name!r}.")
        if watched.take(name, x, y) and watched.result is not None:
            yield watched.result
        if watched.is_over:
            return


def _joined(held: np.ndarray | None, new: np.ndarray) -> np.ndarray | None:
    if not len(new):
        return held
    return new if held is None else joined([held, new])


def _without(held: np.ndarray | None, dropped: int) -> np.ndarray | None:
    """Drop `dropped` counted outputs; keep the first `LAYING` outputs, which define the cells."""
    assert held is not None
    return np.concatenate([held[:LAYING], held[LAYING + dropped :]])


def _look_of(path: Path) -> tuple[int, int, int]:
    """Return a file's inode, size and modification time, to detect a replacement or change."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns
