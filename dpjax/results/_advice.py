"""Advice on the next steps after an audit, for each verdict."""

from dpjax.notions import guesses_of
from dpjax.results._parts import (
    ASSUMPTION_REFUTED,
    DOUBTFUL,
    NO_CLAIM,
    NOT_RANDOM,
    NOT_REFUTED,
    VIOLATED,
    is_from_calls,
)
from dpjax.results._shortcuts import Parts

_KEEP = (
    "Add the audit to your tests with dpjax.testing.assert_private, so that the tests detect "
    "later bugs."
)


def advice(result: Parts) -> list[str]:
    """Return the next steps that a result suggests, in decreasing order of importance."""
    return {
        VIOLATED: _violated,
        NOT_RANDOM: _not_random,
        NOT_REFUTED: _not_refuted,
        NO_CLAIM: _no_claim,
        DOUBTFUL: _doubtful,
        ASSUMPTION_REFUTED: _assumption,
    }[result.verdict](result)


def _violated(result: Parts) -> list[str]:
    said = ["Do not publish the claim, because this mechanism violates it."]
    if isinstance(result.claim, int | float):
        shown = f"not {result.claim:g} but at least {result.lower_bound:.4g}"
        if f"{result.lower_bound:.4g}" == f"{result.claim:.4g}":
            shown = f"above {result.claim:g}"
        said = [
            f"Do not publish the claim: {result.level} is {shown}. Add more noise, or claim less "
            "privacy."
        ]
    if result.is_recorded:
        return [*said, "After the repair, record new outputs, and audit these outputs."]
    if result.witness is not None:
        said.append(
            "Read the witness below, which names two databases and an event that distinguishes "
            "them. The witness usually shows where the code is wrong."
        )
    return [*said, "After the repair, audit again with another key. " + _KEEP]


def _not_random(result: Parts) -> list[str]:
    untested = ": this audit has not tested any level of privacy"
    counted = result.witness is not None and result.witness.event_counts is not None
    return [
        "Find out why the noise repeats: the code or a library may set a fixed seed, or the "
        "mechanism may add no noise at all.",
        f"Draw fresh randomness on every call, and audit again{'' if counted else untested}.",
    ]


def _not_refuted(result: Parts) -> list[str]:
    said = []
    claim, estimate = result.claim, result.estimate
    if isinstance(claim, int | float) and estimate is not None and estimate > claim:
        said.append(
            f"Audit again: the estimate {estimate:.4g} lies above the claim, and more draws may "
            "refute the claim."
        )
    said.append("To look harder: " + _lower(result.evidence.counted.more))
    if result.witness is not None:
        said.append(
            "Audit other pairs of databases: dpjax.neighbors proposes pairs, and "
            "dpjax.search_pairs finds the best of many pairs."
        )
    return [*said, _KEEP]


def _no_claim(result: Parts) -> list[str]:
    return [
        "To get a verdict, audit again and claim the level that the mechanism is meant to "
        "guarantee.",
        "For a larger bound: " + _lower(result.evidence.counted.more),
    ]


def _doubtful(result: Parts) -> list[str]:
    if is_from_calls(result.evidence.settings):
        return ["Change the audited code so that every output has its own noise, and audit again."]
    if (made := guesses_of(result.evidence.counted)) is not None:
        stated_by = "fair_coins=True" if made.unit == "canary" else "independent=True"
        return [
            f"Next time, toss a separate fair coin for each {made.unit}.",
            f"If you know that each {made.unit} had its own coin, pass {stated_by} to get a "
            "verdict.",
        ]
    return [
        "Record the outputs again, each from a separate call that draws fresh noise.",
        "If you know that the outputs are independent, pass independent=True to get a verdict.",
    ]


def _assumption(result: Parts) -> list[str]:
    return [
        "Do not use the interval, because the counts contradict its assumption.",
        "Audit with method=dpjax.Events(), which needs no such assumption, or with a weaker "
        "assumption.",
    ]


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
