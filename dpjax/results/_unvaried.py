"""Verdict on outputs that never varied, which suggests that the mechanism adds no noise.

Constant outputs alone prove nothing, because a correct mechanism may almost always release the same
output. With a claim, the verdict is "not random" if the counts refute the claim. Without a claim,
the verdict is "not random" if the lower bound on epsilon is above `_USEFUL`.
"""

import math
from dataclasses import replace

from dpjax.core.wording import ERRORS, NOTHING, BadValue, Unvaried
from dpjax.results._parts import NO_CLAIM, NOT_RANDOM, VIOLATED, Conclusion, Witness

_USEFUL = 4.0
"""Largest epsilon that is considered a meaningful guarantee if there is no claim."""

_SEEDS = (
    " If the function hands its seed to numpy.random.seed or to scikit-learn, which require a seed "
    "below 2^32, use seed % 2**32 instead."
)
"""Cause of many a ValueError: dpjax gives seeds below 2^63."""


def verdict_on_unvaried(
    stated: Conclusion, witness: Witness | None, trials: tuple[int, int], notes: list[str]
) -> tuple[Conclusion, list[str]]:
    """Return the statement and the notes, after changing the verdict to "not random" if needed."""
    for note in notes:
        if not isinstance(note, Unvaried) or witness is None or note.pair != witness.pair:
            continue
        error = (1 - stated.confidence) / stated.num_claims
        if is_not_random(stated.verdict, witness.event_counts, trials, error):
            others = [other for other in notes if other != note]
            sentence = f"{note} {stated.sentence}"
            return replace(stated, verdict=NOT_RANDOM, sentence=sentence), others
    return stated, notes


def is_not_random(
    verdict: str, counts: tuple[int, int] | None, trials: tuple[int, int], error: float
) -> bool:
    """Return whether "not random" takes the place of a verdict on outputs that never varied.

    Args:
        verdict: Verdict that follows from the bound and the claim.
        counts: Counts of the event for the database and for its neighbor, or None.
        trials: Numbers of outputs for the database and for its neighbor.
        error: Maximum probability that the bound exceeds the true level.
    """
    if verdict == VIOLATED:
        return True
    apart = verdict == NO_CLAIM and _apart(counts, trials)
    return apart and epsilon_of_constants(trials, error) > _USEFUL


def refuse_failures(notes: list[str]) -> None:
    """Raise a ValueError if every call failed or returned None, so that nothing was audited."""
    for note in notes:
        failure, first = (note.failure, note.first) if isinstance(note, Unvaried) else (None, "")
        if failure == NOTHING:
            raise BadValue(
                "there is no verdict, because every call returned None, for both databases of "
                "every pair: audited code must return an output. Perhaps a function lacks a return "
                "statement. If None is the output, return a label such as 'none' in its place."
            )
        if failure is not None:
            raise BadValue(
                f"there is no verdict, because every call ended with {failure!r}, for both "
                f"databases of every pair: audited code must return an output.{first} "
                f"{ERRORS} shows the whole error.{_SEEDS if failure == 'error: ValueError' else ''}"
            )


def _apart(counts: tuple[int, int] | None, trials: tuple[int, int]) -> bool:
    """Return whether an event occurred in all draws on one side and in no draws on the other."""
    return counts in ((trials[0], 0), (0, trials[1]))


def epsilon_of_constants(trials: tuple[int, int], error: float) -> float:
    """Return a lower bound on epsilon if an event separates the outputs of two databases.

    The event occurred in all draws on one side and in no draws on the other side. For each side, an
    exact one-sided bound on the probability of the event (Clopper and Pearson, 1934) uses half of
    `error`. From these two bounds, the function derives two lower bounds on epsilon: one from the
    probability ratio of the event, and one from the probability ratio of its complement. The result
    is the larger lower bound.

    Args:
        trials: Numbers of outputs for the database and for its neighbor.
        error: Maximum probability that the bound exceeds the true epsilon.
    """
    if not min(trials):
        return 0.0
    least = [math.log(error / 2) / number for number in trials]
    return max(least[side] - math.log(-math.expm1(least[1 - side])) for side in (0, 1))
