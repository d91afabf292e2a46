"""Audits of recorded outputs that may be larger than memory, in two passes over them.

The first pass takes a pilot of the search part, which lays cells; the second counts both parts in
them. The search part's counts choose an event, and the confirm part's bound it exactly.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from dpjax.methods.events._choice import Found, choose_in_cells
from dpjax.methods.events._result import host_pairs, refuse_foreign, streamed_result
from dpjax.methods.local._recorded import check_search_fraction
from dpjax.methods.local._recorded_outcomes import refuse_labels_alone
from dpjax.notions._terms import own_confidence_of
from dpjax.partitions._output_cells import PILOT, OutputCells, lay_cells
from dpjax.partitions._outputs import Encoder, Outputs, RecordedSource
from dpjax.results._result import AuditResult
from dpjax.sources._shared_draws import SideValues, refuse_shared_draws

_MIN_SIDE, _MIN_SEARCH = 40, 10


def audit_recordings(
    x: RecordedSource,
    y: RecordedSource,
    *,
    notes: Sequence[str],
    no_region: Any,
    discrete: bool | None,
    bits: int | str | None,
    search_fraction: float,
    confidence: float,
    num_claims: int,
    claim: float | None,
    delta: float,
    key: jax.Array,
    seed: Any,
    name: str,
) -> AuditResult:
    """Audits recorded outputs in two passes over them.

    Arguments are those of `dpjax.audit_samples`, notes to begin with, and the region, which must
    not be given.

    Raises:
        ValueError: There are too few outputs, they cannot be compared, or both sides share draws.
        TypeError: They are of two kinds, or of two dimensions.
    """
    start = time.perf_counter()
    check_search_fraction(search_fraction)
    refuse_foreign(region=no_region)
    own_confidence = own_confidence_of(confidence, num_claims)
    encoder = Encoder("x and y", bits=bits)
    parts = [
        _Split(recording, name_of_side, key, side, search_fraction)
        for side, (recording, name_of_side) in enumerate(((x, "x"), (y, "y")))
    ]
    raw = [part.pilot() for part in parts]
    _refuse_two_kinds(parts, raw)
    pilots = [encoder.encode(outputs) for outputs in raw]
    try:
        refuse_shared_draws(parts[0].values, parts[1].values)
    except ValueError as error:
        if parts[0].name == "x":
            raise
        raise ValueError(f"{parts[0].name} and {parts[1].name}: {error}") from None
    if pilots[0].alone.all() != pilots[1].alone.all() and (encoder.dimension or 1) > 1:
        raise TypeError("x and y must be of one kind, but were labels and vectors.")
    refuse_labels_alone(
        pilots,
        encoder,
        " and ".join(part.name for part in parts),
        sum(part.values.total for part in parts),
    )
    cells = lay_cells(pilots, encoder.names, discrete=discrete)
    counts = [part.counts(encoder, cells) for part in parts]
    halves = np.stack([side[:2] for side in counts], axis=1)
    num_confirm = int(min(side[2].sum() for side in counts))
    event = choose_in_cells(cells, halves, num_confirm, own_confidence, delta)
    confirmed = [(int(side[2] @ event.cells), int(side[2].sum())) for side in counts]
    said = [
        *notes,
        *(note for source in (x, y) for note in getattr(source, "notes", ())),
        *(
            f"{side}: {count[:2].sum()} outputs searched, the other {count[2].sum()} confirmed."
            for side, count in zip("xy", counts, strict=True)
        ),
    ]
    said += _notes_of_atoms(cells, pilots)
    return streamed_result(
        [Found(cells, halves.sum(axis=0), event)],
        0,
        confirmed,
        pairs=host_pairs([("x", "y")], ("recorded pair",)),
        mechanism=name,
        confidence=confidence,
        num_claims=num_claims,
        claim=claim,
        delta=delta,
        seed=seed,
        settings={"search_fraction": search_fraction, "discrete": discrete, "bits": bits},
        notes=said,
        seconds=time.perf_counter() - start,
    )


class _Split:
    """A recording, each output of which belongs to the search or to the confirm part.

    The part of an output is decided by random words at its number in a counter-based generator
    under the audit's key, so every pass sees the same split, whatever the chunks are.

    References:
        Salmon, Moraes, Dror, Shaw (2011): Philox-4x64.
    """

    def __init__(
        self, recording: RecordedSource, name: str, key: jax.Array, side: int, fraction: float
    ):
        self._recording = recording
        self.name = name if recording.name == name else f"{name} ({recording.name})"
        words = [int(word) for word in np.asarray(jax.random.key_data(key))]
        self._key = np.array([words[0] << 32 | words[1], side], np.uint64)
        self._fraction, self._limit = fraction, np.uint64(int(fraction * 2**64))
        self.values = SideValues()

    def _numbered(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        start = 0
        for chunk in self._recording.chunks():
            yield chunk, random_words(self._key, start, len(chunk))
            start += len(chunk)

    def pilot(self) -> np.ndarray:
        """The outputs of the search part with the smallest words, which are a random choice.

        `values` then holds how often values occur.
        """
        kept: list[tuple[np.ndarray, np.ndarray]] = []
        size = total = searching = 0
        smallest = np.empty(0, np.uint64)
        for chunk, words in self._numbered():
            total += len(chunk)
            if searching < _MIN_SEARCH:
                smallest = np.sort(np.concatenate([smallest, words]))[: _MIN_SEARCH + 1]
            self.values.add(chunk)
            chosen = words < self._limit
            searching += int(chosen.sum())
            kept.append((chunk[chosen], words[chosen]))
            size += int(chosen.sum())
            if size > 4 * PILOT:
                kept = [_smallest(kept)]
                size = PILOT
        if total < _MIN_SIDE:
            raise ValueError(
                f"{self.name} must hold at least {_MIN_SIDE} outputs, but held {total}."
            )
        if int(total * self._fraction) < _MIN_SEARCH:
            raise ValueError(
                f"search_fraction must leave at least {_MIN_SEARCH} outputs of {self.name} to "
                f"search, but {self._fraction} of {total} left {int(total * self._fraction)}."
            )
        if searching < _MIN_SEARCH:
            # Of few outputs fewer than expected may have small words: some more are taken.
            self._limit = smallest[_MIN_SEARCH]
            numbered = [(chunk, words, words < self._limit) for chunk, words in self._numbered()]
            kept = [(chunk[chosen], words[chosen]) for chunk, words, chosen in numbered]
        return _smallest(kept)[0]

    def counts(self, encoder: Encoder, cells: OutputCells) -> np.ndarray:
        """int64 [3, cells]: of both halves of the search part and of the confirm part."""
        counts = np.zeros((3, cells.size), np.int64)
        for chunk, words in self._numbered():
            half = (words & np.uint64(1)).astype(np.int64)
            part = np.where(words < self._limit, half, 2)
            counts += cells.count(encoder.encode(chunk), part, 3)
        return counts


def _refuse_two_kinds(parts: Sequence[_Split], raw: Sequence[np.ndarray]) -> None:
    """Refuses labels beside numbers, or beside vectors: any two would be told apart."""
    kinds = [_kind(outputs) for outputs in raw]
    # Objects in memory may be of several kinds, on either side.
    if None in kinds or kinds[0] == kinds[1]:
        return
    held = [
        f"{part.name} holds {kind}, such as {outputs[0].tolist()!r}"
        for part, kind, outputs in zip(parts, kinds, raw, strict=True)
    ]
    raise TypeError(f"x and y must be of one kind, but {' and '.join(held)}.")


def _kind(outputs: np.ndarray) -> str | None:
    if outputs.dtype.kind == "O":
        return None
    if outputs.dtype.kind in "US":
        return "labels"
    return f"vectors of {outputs.shape[1]} numbers" if outputs.ndim == 2 else "numbers"


def _smallest(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    outputs, words = (np.concatenate(column) for column in zip(*parts, strict=True))
    if len(words) > PILOT:
        first = np.argpartition(words, PILOT)[:PILOT]
        outputs, words = outputs[first], words[first]
    return outputs, words


def random_words(key: np.ndarray, start: int, count: int) -> np.ndarray:
    """Words start .. start + count - 1 of a stream that can be entered anywhere.

    Args:
        key: uint64 [2].
        start: Number of the first word.
        count: How many.

    Returns:
        uint64 [count].
    """
    # Philox makes four words of one value of its counter.
    generator = np.random.Philox(key=key, counter=start // 4)
    return generator.random_raw(start % 4 + count)[start % 4 :]


def _notes_of_atoms(cells: OutputCells, pilots: list[Outputs]) -> list[str]:
    """Says which numbers were counted one by one, where others were not."""
    notes = []
    sides = [pilot.values[~pilot.alone] for pilot in pilots]
    for column, atoms in enumerate(cells.atoms):
        shares = [np.isin(s[:, column], atoms).mean() if len(s) else 0.0 for s in sides]
        if not len(atoms) or max(shares) >= 0.999:
            continue
        if all(np.all(side[:, column] == np.rint(side[:, column])) for side in sides):
            notes.append(
                f"Whole numbers: {len(atoms)} that happen often were counted one by one, all "
                "others in intervals."
            )
            continue
        shown = ", ".join(f"{atom:g}" for atom in atoms[:3])
        notes.append(
            f"Numbers that happen often ({shown}{', ...' if len(atoms) > 3 else ''}: "
            f"{shares[0]:.1%} of x, {shares[1]:.1%} of y) were counted apart from the density "
            "around them."
        )
    return notes
