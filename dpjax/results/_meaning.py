"""Explanations of a result in terms of how often the database can be guessed from an output."""

import math

from dpjax.core.wording import confidence_text
from dpjax.notions import GuessCounts, guesses_of
from dpjax.results._parts import (
    ASSUMPTION_REFUTED,
    DOUBTFUL,
    NO_CLAIM,
    NOT_RANDOM,
    NOT_REFUTED,
    VIOLATED,
)
from dpjax.results._shortcuts import Parts


def meaning(result: Parts) -> list[str]:
    """Return sentences on how often a guess of the database is right, or [] if this is unknown.

    Somebody sees one output and guesses which of two equally likely databases it came from. By
    Bayes' rule, epsilon-differential privacy holds if and only if, for every output, the guess is
    right with probability at most e^epsilon / (1 + e^epsilon). For other notions, the guess depends
    only on whether the witness's event occurred. In one run with canaries, somebody guesses which
    canaries were included.
    """
    if (made := guesses_of(result.evidence.counted)) is not None:
        return _by_guesses(result, made)
    if result.notion.name == "epsilon" and not result.delta and "epsilon" in result.level:
        return [_promised(result), _shown(result)]
    return _by_event(result)


def right_at(epsilon: float) -> float:
    """Return the largest probability of a right guess: e^epsilon / (1 + e^epsilon)."""
    return 1 / (1 + math.exp(-epsilon))


def _promised(result: Parts) -> str:
    distance, claim = result.recipe["distance"], result.claim
    who = "one person" if distance == 1 else f"{distance} people"
    said = (
        f"Take two databases that differ in {who}: somebody who guesses which of them was used is "
        "right with a probability of 50% before seeing an output"
    )
    if not isinstance(claim, int | float):
        return f"{said}."
    allowed = f"{100 * right_at(distance * claim):.1f}"
    promise = f"The claim promises that this probability is at most {allowed}% after any output."
    return f"{said}. {promise}"


def _shown(result: Parts) -> str:
    witness = result.witness
    if result.verdict in (DOUBTFUL, ASSUMPTION_REFUTED):
        return "This audit cannot say how often such a guess is right."
    if result.verdict == NOT_RANDOM and (witness is None or witness.event_counts is None):
        return (
            "Somebody who has seen one run of the mechanism knows the noise of the next run and "
            "always guesses right."
        )
    bound = result.lower_bound * result.recipe["distance"]
    # The percentage is a lower bound, so it is rounded down.
    least = math.floor(1000 * right_at(bound)) / 10
    if least <= 50:
        said = "This audit found no output after which the guess is better than a coin toss"
    else:
        said = (
            f"This audit shows, with confidence {confidence_text(result.confidence)}, that there "
            "are outputs after which the guess is right with a probability of at least "
            f"{least:.1f}%"
        )
    ends = {
        VIOLATED: ", which breaks the promise.",
        NOT_RANDOM: "." if result.claim is None else ", which breaks the promise.",
        NOT_REFUTED: ", which is consistent with the claim but does not prove it.",
        NO_CLAIM: ".",
    }
    return said + ends[result.verdict]


def _by_guesses(result: Parts, made: GuessCounts) -> list[str]:
    """Return sentences on the guesses about canaries in one run."""
    _, number, right = made.guessed
    share = f" ({100 * right / number:.1f}%)" if number else ""
    said = (
        f"{made.asked()} {right:,} of these guesses{share} are right; coin tosses are right in 50% "
        "of cases."
    )
    ends = {
        VIOLATED: ["So many right guesses would be very unlikely if the claim were true."],
        NOT_REFUTED: [
            "The claim allows so many right guesses, which is consistent with the claim but does "
            "not prove it."
        ],
    }
    return [said, *ends.get(result.verdict, [])]


def _by_event(result: Parts) -> list[str]:
    """Return sentences on how often a guess is right if it uses only the witness's event."""
    witness, trials = result.witness, result.evidence.trials
    if witness is None or witness.event_counts is None or not all(trials):
        return []
    first, second = (
        count / number for count, number in zip(witness.event_counts, trials, strict=True)
    )
    right = 50 * (1 + abs(first - second))
    said = (
        "Somebody who sees one output, and uses the witness's event to guess which of the two "
        f"databases it came from, is right in about {right:.1f}% of cases; a coin toss is right "
        "in 50%."
    )
    forbidden = ["The claim does not allow an event that distinguishes the databases so well."]
    ends = {
        NOT_RANDOM: [] if result.claim is None else forbidden,
        VIOLATED: forbidden,
        NOT_REFUTED: ["The claim allows this event; other events may still violate it."],
        NO_CLAIM: [],
    }
    return [
        said,
        *ends.get(result.verdict, ["This audit cannot say how reliable this percentage is."]),
    ]
