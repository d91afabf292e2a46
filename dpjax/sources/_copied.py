"""Detection of copies within one side: repeated files, doubled rows, or resamples.

Bounds assume that the outputs of a side are independent. If outputs have copies, the confirmation
set may repeat chance patterns of the search set. Copies are detected in four ways.

Counts: if a value occurs, its count is divisible by d >= 2 with a probability of at most 1/2,
whatever the distribution is. Proof: counts are nearly Poisson with some mean a, so P(even | not 0)
is at most (cosh a - 1) / (e^a - 1) <= 1/2, and P(divisible by d | not 0) is smaller for d > 2. The
evidence from many values is combined as in `_shared_draws`. For example, a recording is refused if
each of its values occurs d times.

Order: a long sequence of outcomes does not occur twice by chance.

Spacings: copies with a little noise lie close to each other; see `_spacings`.

Sides: resamples (draws from recorded outputs) have values that repeat on one side only. A value
that repeats because of a large probability usually occurs on the other side, too, unless the two
distributions are far apart. If many repeated values occur on one side only, the result has a note.
If the spacings of the repeated values are as irregular as spacings of draws from a density, the
note is a `Doubt`, which changes the verdict.
"""

import numpy as np

from dpjax.core.wording import Doubt, Sentence
from dpjax.sources._side_values import SideValues, log_evidence

_CHANCE, _NOTE_CHANCE = 1e-9, 1e-6
"""For independent outputs, the maximum probability of a refusal (_CHANCE) and of a note
(_NOTE_CHANCE). The probability of a note is valid if no value is more than _RATIO times as likely
on one side as on the other.
"""

_DIVISORS = (2, 3, 5, 7, 11, 13)
"""Divisors d for which counts are tested."""

_RATIO = 5.0
"""Largest ratio of a value's probabilities on the two sides that the probability of a note assumes.
"""

_ONCE = "Give every output once."


def refuse_copies(name: str, side: SideValues) -> None:
    """Raise an error if a side contains copies or a repeated sequence.

    Args:
        name: Name of the recording.
        side: Values of the side.

    Raises:
        ValueError: If the side contains copies or repeats a sequence. If outputs are independent,
            the probability of an error is below 1e-9.
    """
    if side.again is not None:
        raise ValueError(
            f"{name} must hold independent outputs, but repeats itself: a sequence that starts at "
            f"output {side.again[0] + 1} starts again at output {side.again[1] + 1}. {_ONCE}"
        )
    half = np.full(side.counts.size, 0.5)
    needed = np.log((side.total + 1) * len(_DIVISORS) / _CHANCE)
    for divisor in _DIVISORS:
        divisible = side.counts % divisor == 0
        if log_evidence(half, divisible) > needed:
            raise ValueError(
                f"{name} must hold independent outputs, but holds copies: of {divisible.size} "
                f"values that were compared, {divisible.sum()} occur a multiple of {divisor} "
                f"times; independent outputs do so with a probability below {_CHANCE:g}. {_ONCE}"
            )


def notes_of_near_copies(x: SideValues, y: SideValues) -> list[Doubt]:
    """Return a warning if many outputs are almost equal to other outputs of the same side.

    Args:
        x: Values from the database.
        y: Values from its neighbor.
    """
    found = x.spacings.near_copies(y.spacings)
    if found.chance >= _CHANCE:
        return []
    return [
        Doubt(
            f"Of {found.pairs} pairs of adjacent spacings between sorted outputs, {found.close} "
            "have one spacing that is over a thousand times the other; in "
            f"{found.alone} of these pairs, both close outputs are from one side. Independent "
            f"outputs show this with a probability below {_CHANCE:g}. If outputs were copied or "
            "resampled and a little noise was added, the bound does not hold, because it treats "
            "every output as an independent draw."
        )
    ]


def notes_of_copies(x: SideValues, y: SideValues) -> list[str]:
    """Return a note or a doubt if many values repeat on one side only.

    Args:
        x: Values from the database.
        y: Values from its neighbor.
    """
    hashes = np.union1d(x.hashes, y.hashes)
    hashes = hashes[hashes <= min(x.limit, y.limit)]
    counts = np.stack([x.counts_of(hashes), y.counts_of(hashes)])
    counts = counts[:, counts.sum(axis=0) > 1]
    apart = counts.min(axis=0) == 0
    pooled = counts.sum(axis=0)
    # Bound the chance that a value occurs on one side only. The chance is largest when the ratio of
    # the value's two probabilities is at either extreme.
    shares = np.array([x.total * r / (x.total * r + y.total) for r in (1 / _RATIO, _RATIO)])
    chance = np.max(shares[:, None] ** pooled + (1 - shares[:, None]) ** pooled, axis=0)
    if log_evidence(np.clip(chance, 1e-300, 1 - 1e-9), apart) <= -np.log(_NOTE_CHANCE):
        return []
    # A few outcomes on one side only, or different lattices on the two sides, mean a privacy leak
    # rather than copies.
    many = log_evidence(np.clip(chance, 0.5, 1 - 1e-9), apart) > -np.log(_NOTE_CHANCE)
    irregular = x.spacings.irregular or y.spacings.irregular
    return [
        (Doubt if many and irregular else Sentence)(
            f"{apart.sum()} of {apart.size} values that repeat occur on one side only. If outputs "
            "were copied or resampled (a bootstrap), or rows doubled, the bound does not hold, "
            "because it treats every output as an independent draw."
        )
    ]
