"""Detection of outputs that were copied within one side, for example by resampling.

Bounds assume that the outputs of a side are independent. If some outputs are copies of others,
random patterns in the search set can recur in the confirmation set, and then the bound does not
hold. Copies are detected in four ways.

Counts: let N be the number of times that a value occurs, and let d >= 2 be an integer. For every
distribution of independent outputs, P(d divides N | N > 0) is at most 1/2. Proof: the distribution
of N is approximately a Poisson distribution with some mean a. Therefore P(2 divides N | N > 0) is
at most (cosh a - 1) / (e^a - 1) <= 1/2. For d > 2, the probability is smaller. The evidence from
many values is combined as in `_shared_draws`. For example, a recording in which each value occurs
exactly twice is refused.

Order: if the same long sequence of outcomes occurs twice, the sequence was almost certainly copied.

Spacings: copies to which a little noise was added lie close to each other; see `_spacings`.

Sides: if outputs are resampled, that is, drawn from recorded outputs, many values occur repeatedly
on one side and never on the other. A value that repeats because its probability is large, however,
usually occurs on both sides, unless the two distributions are far apart. If many of the repeated
values occur on one side only, the result contains a note. If, in addition, the spacings between
values are as irregular as for draws from a density, the note is a `Doubt`, which changes the
verdict.
"""

import numpy as np

from dpjax.core.wording import Doubt, Sentence
from dpjax.sources._side_values import SideValues, counts_on_both_sides, log_evidence

_CHANCE, _NOTE_CHANCE = 1e-9, 1e-6
"""Maximum probabilities that independent outputs are refused (_CHANCE) and that a note is added to
their result (_NOTE_CHANCE). For _NOTE_CHANCE, it is assumed that no value is more than _RATIO times
as likely on one side as on the other.
"""

_DIVISORS = (2, 3, 5, 7, 11, 13)
"""Divisors d. For each divisor d, the test counts the values whose number of occurrences is a
multiple of d.
"""

_RATIO = 5.0
"""Largest assumed ratio of a value's probabilities on the two sides; see _NOTE_CHANCE."""

_ONCE = "Pass every output only once."


def refuse_copies(name: str, side: SideValues) -> None:
    """Raise an error if the outputs of a side contain copies or a repeated sequence.

    Raises:
        ValueError: If the side contains copies or repeats a sequence. For independent outputs, the
            probability of this error is below 1e-9.
    """
    if side.again is not None:
        raise ValueError(
            f"{name} must hold independent outputs, but repeats itself: the sequence of outputs "
            f"that begins at output {side.again[0] + 1} begins again at output "
            f"{side.again[1] + 1}. {_ONCE}"
        )
    half = np.full(side.counts.size, 0.5)
    needed = np.log((side.total + 1) * len(_DIVISORS) / _CHANCE)
    for divisor in _DIVISORS:
        divisible = side.counts % divisor == 0
        if log_evidence(half, divisible) > needed:
            raise ValueError(
                f"{name} must hold independent outputs, but holds copies: of {divisible.size} "
                f"values that were compared, {divisible.sum()} have counts divisible by {divisor}. "
                f"For independent outputs, the probability of this is below {_CHANCE:g}. {_ONCE}"
            )


def notes_of_near_copies(x: SideValues, y: SideValues) -> list[Doubt]:
    """Return a warning if many outputs are almost equal to other outputs of the same side."""
    found = x.spacings.near_copies(y.spacings)
    if found.chance >= _CHANCE:
        return []
    return [
        Doubt(
            f"In {found.close} of {found.pairs} pairs of adjacent spacings between sorted outputs, "
            f"one spacing is over a thousand times the other. In {found.alone} of these "
            f"{found.close} pairs, the two outputs that are close to each other are from the same "
            "side. If outputs are independent, the probability of such counts is below "
            f"{_CHANCE:g}. If outputs were copied or resampled and then changed by a little noise, "
            "the bound does not hold, because it treats every output as an independent draw."
        )
    ]


def notes_of_copies(x: SideValues, y: SideValues) -> list[str]:
    """Return a note or a doubt if many values repeat on one side only."""
    counts = counts_on_both_sides(x, y)
    counts = counts[:, counts.sum(axis=0) > 1]
    apart = counts.min(axis=0) == 0
    pooled = counts.sum(axis=0)
    # Bound the chance that a value occurs on one side only. The chance is largest when the ratio of
    # the value's two probabilities is at either extreme.
    shares = np.array([x.total * r / (x.total * r + y.total) for r in (1 / _RATIO, _RATIO)])
    chance = np.max(shares[:, None] ** pooled + (1 - shares[:, None]) ** pooled, axis=0)
    if log_evidence(np.clip(chance, 1e-300, 1 - 1e-9), apart) <= -np.log(_NOTE_CHANCE):
        return []
    # A few outcomes that occur on one side only, or different lattices on the two sides, indicate a
    # privacy leak rather than copies.
    many = log_evidence(np.clip(chance, 0.5, 1 - 1e-9), apart) > -np.log(_NOTE_CHANCE)
    irregular = x.spacings.irregular or y.spacings.irregular
    return [
        (Doubt if many and irregular else Sentence)(
            f"{apart.sum()} of {apart.size} repeated values occur on one side only. If outputs "
            "were copied or resampled (a bootstrap), the bound does not hold, because it treats "
            "every output as an independent draw."
        )
    ]
