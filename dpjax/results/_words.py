"""Sentences about an audit's claim, evidence and verdict."""

import math

from dpjax.core.wording import confidence_text
from dpjax.notions import NOTIONS, Rows, guesses_of
from dpjax.results._parts import (
    ASSUMPTION_REFUTED,
    DOUBTFUL,
    NO_CLAIM,
    NOT_RANDOM,
    NOT_REFUTED,
    REFUTING,
    VIOLATED,
    Conclusion,
    Witness,
)
from dpjax.results._shortcuts import Parts

_LONGEST = 160

_LARGEST = math.log(1e6)
"""Largest claimed epsilon for which a sentence states the ratio of probabilities."""

HEADLINES = {
    VIOLATED: "Violated: the claim is refuted",
    NOT_RANDOM: "Not random: outputs are a function of the data",
    NOT_REFUTED: "Not refuted, which is no proof",
    NO_CLAIM: "A lower bound; nothing was claimed",
    ASSUMPTION_REFUTED: "The assumption is refuted",
    DOUBTFUL: "Doubtful: the draws do not look independent",
}
"""Map from each verdict to the headline of a result's page; see `headline`."""

_OF_COINS = "Doubtful: perhaps not every canary had its own fair coin"
"""Headline of a doubtful audit of one run, whose bound requires no independent draws."""


def headline(result: Parts) -> str:
    """Return the headline of a result's page, which says what is in doubt if anything is."""
    if result.verdict == DOUBTFUL and guesses_of(result.evidence.counted) is not None:
        return _OF_COINS
    return HEADLINES[result.verdict]


def pretty(value: object) -> str:
    """Format a float with six significant digits, and any other value with `str`."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def initial(text: str) -> str:
    """Return the text with its first letter capitalized."""
    return text[:1].upper() + text[1:]


def short(value: object) -> str:
    """Format a value, and truncate the text if the text is long."""
    text = pretty(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def unit_of(result: Parts) -> tuple[str, str]:
    """Return the unit of a result's level, and a sentence that explains the unit."""
    name = "epsilon" if "epsilon" in result.level else result.notion.name
    if "Renyi" in result.level:
        name = "renyi"
    elif result.level.startswith("delta"):
        name = "profile"
    return NOTIONS[name].unit


def shown_rows(result: Parts, rows: Rows) -> Rows:
    """Remove a misleading infinite estimate from the rows of the evidence.

    The estimate is infinite if an event never occurred on one side. If the claim is not refuted, an
    infinite estimate only means that this event is rare. If the witness's event occurred on both
    sides, the estimate is infinite because of another, rare event, as for a Renyi divergence.
    """
    if result.estimate is not None:
        return rows
    seen = None if result.witness is None else result.witness.event_counts
    rare = result.verdict in (NOT_REFUTED, DOUBTFUL, ASSUMPTION_REFUTED)
    if not rare and (seen is None or 0 in seen):
        return rows
    return [row for row in rows if row[1] != "infinite"]


def claimed(result: Parts) -> list[str]:
    """Return sentences that state the claim."""
    claim, distance = result.claim, result.recipe["distance"]
    if claim is None:
        return ["Nothing was claimed: the audit only reports a lower bound."]
    if isinstance(claim, list):
        points = short(", ".join(f"({x:g}, {y:g})" for x, y in claim))
        said = [
            f"The claim is that {result.notion.claimable} of {result.mechanism} is within the "
            "curve below."
        ]
        said.append(f"The curve: {points}")
    else:
        said = [f"The claim is that {result.level} of {result.mechanism} is at most {claim:g}."]
    if distance > 1:
        said.append(
            "The claim is about databases that differ in one record. The databases of each pair "
            f"differ in {distance} records, and every bound on this page is converted to a bound "
            "for databases that differ in one record."
        )
    return said


def witness_story(result: Parts, witness: Witness) -> list[str]:
    """Explain the witness to a reader who does not know statistics."""
    trials, counts = result.evidence.trials, witness.event_counts
    said = [
        f"The two databases ({witness.pair}) are {short(witness.database)} and its "
        f"neighbor {short(witness.neighbor)}."
        if witness.difference is None
        else f"The two databases ({witness.pair}) differ: {witness.difference}."
    ]
    if witness.bandwidth is not None and witness.densities is not None:
        at = [pretty(float(value)) for value in witness.densities]
        said.append(
            f"At the output {short(witness.output)}, the estimated density of fresh outputs is "
            f"{at[0]} for the database and {at[1]} for its neighbor."
        )
    if counts is None:
        return said
    what = f"the output is {witness.output}" if witness.bandwidth is None else witness.event
    first = 0 if witness.larger == "database" else 1
    names = ("the database", "its neighbor")
    shares = [count / number for count, number in zip(counts, trials, strict=True)]
    seen = [
        f"{counts[side]:,} of {trials[side]:,} outputs ({100 * shares[side]:.3g}%) "
        f"from {names[side]}"
        for side in (first, 1 - first)
    ]
    high, low = shares[first], shares[1 - first]
    times = f": {high / low:.3g} times as often for {names[first]}" if 0 < low < high else ""
    said.append(
        f"The event: {what}. {result.evidence.counted.chosen} It happened in {seen[0]} and in "
        f"{seen[1]}{times}."
    )
    return [*said, *_allowed(result), _chance(result.statement)]


def _allowed(result: Parts) -> list[str]:
    """Return a sentence on how far two probabilities may differ under a claimed epsilon."""
    claim, delta = result.claim, result.delta
    if not result.notion.takes_delta or not isinstance(claim, int | float) or claim > _LARGEST:
        return []
    more = f", plus {delta:g}" if delta else ""
    factor = math.exp(result.recipe["distance"] * claim)
    return [
        f"Under the claim, an event's probability with one database is at most {factor:.4g} times "
        f"its probability with the other{more}."
    ]


def _chance(stated: Conclusion) -> str:
    """Return a sentence on how often counts like those of the audit would arise by chance."""
    error = (1 - stated.confidence) / stated.num_claims
    if stated.verdict == DOUBTFUL:
        return "The probability of such counts is known only for independent draws."
    if stated.verdict in REFUTING and stated.claim is not None:
        error = stated.smallest_error or error
        return (
            f"If the claim were true, at most one of {round(1 / error):,} audits would give "
            "evidence as strong as this."
        )
    if stated.verdict == NOT_REFUTED:
        return (
            "Such counts are not unusual if the claim is true. Such counts also occur if the "
            "claim is false, and therefore do not support the claim."
        )
    return (
        f"If {stated.level} were below {stated.lower_bound:.4g}, at most one of "
        f"{round(1 / error):,} audits would give a bound as high as this one."
    )


def outputs_caption(result: Parts, *, banded: bool, known: bool = True) -> str:
    """Return the caption of the outputs figure, which shows only levels if there is no curve.

    Args:
        result: The result that the figure shows.
        banded: Whether the figure shows a confidence band of the losses.
        known: Whether the figure shows the loss of at least one output.
    """
    witness, curve, stated = result.witness, result.evidence.curve, result.statement
    if witness is None or curve is None:
        said = f"{initial(stated.level)} is at least {stated.lower_bound:.4g}"
        if stated.upper_bound is not None:
            said += f" and, under the assumption, at most {stated.upper_bound:.4g}"
        return f"{said}, with confidence {confidence_text(stated.confidence)}."
    said = "Above: the outputs in the search set for both databases. Below: their privacy loss"
    if not known:
        said += ", which is not drawn, because it is too uncertain at every output."
    else:
        said += ", with a 95% confidence band at each output." if banded else "."
    if "event" in curve and witness.densities is not None:
        first, second = witness.densities
        said += (
            f" The shaded event contains {100 * first:.3g}% of the fresh outputs from the "
            f"database and {100 * second:.3g}% of those from its neighbor."
        )
    return said


def trade_off_caption(result: Parts) -> str:
    """Return the caption of the trade-off figure."""
    said = (
        "Somebody sees one output and tests which of the two databases it came from. Each test "
        "has a rate of false alarms and a rate of misses. The nearer a test is to the lower left "
        "corner, the more an output reveals."
    )
    if result.claim is not None:
        said += " The claim forbids every test in the shaded region."
    witness = result.witness
    if witness is not None and witness.event_counts is not None:
        said += " The dot is the test for the witness's event, with rates from fresh outputs."
    return said
