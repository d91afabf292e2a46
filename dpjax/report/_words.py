"""An audit in sentences: what was claimed, what was seen, and what that says of the claim."""

import math
from collections.abc import Mapping
from typing import Any

_LONGEST = 160
"""Characters of a database in a sentence."""

HEADLINES = {
    "violated": "Violated: the claim is refuted",
    "not refuted": "Not refuted, which is no proof",
    "no claim": "A lower bound; nothing was claimed",
    "assumption refuted": "The assumption is refuted",
}
"""Verdict -> what a page says first."""


def pretty(value: Any) -> str:
    """A number with six digits, anything else as it is."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def short(value: Any) -> str:
    """The beginning of a text, where it is long."""
    text = pretty(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def claimed(found: Mapping[str, Any]) -> list[str]:
    """What was claimed."""
    claim, distance = found["claim"], found["recipe"]["distance"]
    if claim is None:
        return ["Nothing: the audit looked for a level that is refuted, and compares it with none."]
    what = f"at most {claim:g}" if isinstance(claim, int | float) else "within the curve below"
    level = found["level"]
    if not isinstance(claim, int | float):
        trade_off = found["recipe"]["notion"].get("name") == "trade-off"
        level = "the trade-off curve" if trade_off else "the privacy profile"
    said = [f"That {level} of {found['mechanism']} is {what}."]
    if not isinstance(claim, int | float):
        said.append(f"The curve: {short(', '.join(f'({x:g}, {y:g})' for x, y in claim))}")
    if distance > 1:
        said.append(
            f"The claim is of databases that differ in one record. Those of each pair differ in "
            f"{distance}, and every bound here is turned into one of a single record."
        )
    return said


def witness_story(found: Mapping[str, Any], trials: list[int]) -> list[str]:
    """The witness, for a reader who knows no statistics."""
    witness, density = found["witness"], found["witness"]["bandwidth"]
    counts, events = witness["event_counts"], found["recipe"]["method"]["name"] == "events"
    what = f"the output is {witness['output']}" if events else witness["event"]
    first = 0 if witness["larger"] == "database" else 1
    names = ("the database", "its neighbor")
    said = [
        f"The two databases ({witness['pair']}) are {short(witness['database'])} and, its "
        f"neighbor, {short(witness['neighbor'])}."
    ]
    if density is not None:
        at = [pretty(float(value)) for value in witness["densities"]]
        said.append(
            f"About the output {short(witness['output'])}, fresh outputs have a density of {at[0]} "
            f"at the database and of {at[1]} at its neighbor."
        )
    shares = [count / number for count, number in zip(counts, trials, strict=True)]
    seen = [
        f"{counts[side]:,} of {trials[side]:,} ({100 * shares[side]:.3g} %) at {names[side]}"
        for side in (first, 1 - first)
    ]
    high, low = shares[first], shares[1 - first]
    times = f", {high / low:.3g} times as often" if 0 < low < high else ""
    said.append(
        f"The event: {what}. It was chosen by outputs that searched, and then counted on fresh "
        f"ones. It happened in {seen[0]} and in {seen[1]}{times}."
    )
    return [*said, *_allowed(found), _chance(found)]


def _allowed(found: Mapping[str, Any]) -> list[str]:
    """What a claimed epsilon allows, in whole factors."""
    claim, recipe = found["claim"], found["recipe"]
    if "name" in recipe["notion"] or not isinstance(claim, int | float) or claim > math.log(1e6):
        return []
    delta = recipe["notion"].get("delta", 0.0)
    more = f", and {delta:g} more," if delta else ""
    factor = math.exp(recipe["distance"] * claim)
    return [
        f"The claim allows an event to be at most {factor:.4g} times as likely{more} at one of the "
        "two as at the other."
    ]


def _chance(found: Mapping[str, Any]) -> str:
    """How chance comes in."""
    error = (1 - found["confidence"]) / found["num_claims"]
    if found["verdict"] == "violated":
        error = found["smallest_error"] or error
        return (
            "Were the claim true, chance would refute it like this at most once in "
            f"{round(1 / error):,} times."
        )
    if found["verdict"] == "not refuted":
        return (
            "Where the claim is true, such counts are nothing unusual. They may also be seen where "
            "it is not true, so they say nothing for it."
        )
    return (
        f"Were {found['level']} below {found['lower_bound']:.4g}, chance would give such a bound "
        f"at most once in {round(1 / error):,} times."
    )


def picture(found: Mapping[str, Any]) -> str:
    """What the figure of the outputs shows."""
    witness = found["witness"]
    said = (
        "Above, how outputs that searched are spread at the database and at its neighbor. Below, "
        "the privacy loss that they show."
    )
    if found["recipe"]["method"]["name"] == "events":
        first, second = witness["densities"]
        said += (
            f" The shaded event, the output is {short(witness['output'])}, has a share of "
            f"{first:.4g} of fresh outputs at the database and of {second:.4g} at its neighbor."
        )
    return said


def levels(found: Mapping[str, Any]) -> str:
    """What the figure of the levels shows."""
    said = f"{found['level']} is at least {found['lower_bound']:.4g}"
    if found["upper_bound"] is not None:
        said += f" and, under the assumption, at most {found['upper_bound']:.4g}"
    return f"{said}, with confidence {found['confidence']:g}."
