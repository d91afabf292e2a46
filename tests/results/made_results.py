"""Results that are made by hand, without an audit; all of their numbers differ."""

from dataclasses import replace

import numpy as np

from dpjax.inference import Event
from dpjax.notions.evidence import EventCounts
from dpjax.results import AuditResult, Conclusion, Observed, Provenance, Witness

COUNTS, TRIALS = (1_240, 56), (5_000, 7_000)
PARTS = ("statement", "witness", "evidence", "provenance")


def counted(counts=COUNTS, trials=TRIALS, larger=0):
    """Return counts of one event on both sides."""
    event = Event(np.zeros(0, bool), np.array(larger), np.array(0.0))
    return EventCounts(event, np.array(counts), trials)


def made(recipe=None, notes=(), doubts=(), **changes):
    """Return a violated claim of epsilon 0.5 with one event, with some attributes changed.

    An attribute is changed in the last part of the result that has it; a whole part is replaced.
    """
    parts = {
        "statement": Conclusion(
            1.5, 3.25, "exact binomial", level="epsilon", claim=0.5, confidence=0.99,
            num_claims=2, verdict="violated", sentence="It is violated.", smallest_error=0.002,
        ),
        "witness": Witness(
            "first pair", 0.25, 1.75, "at least 2", (0.248, 0.008), "database",
            "the output is at least 2.000001", COUNTS,
        ),
        "evidence": Observed(
            counted(), {"confirmed": list(TRIALS), "generator": "PCG64"}, 3_000, 6_000,
            "all outputs", (("first pair", 2.5), ("second pair", None)),
        ),
        "provenance": Provenance("noisy", {"scale": 0.5, "kind": "a"}, {"dpjax": "7.8", "jax": "9"},
                                 "cpu: cpu", 12.34),
    }  # fmt: skip
    for name, value in changes.items():
        if name in PARTS:
            parts[name] = value
            continue
        *_, part = (part for part in PARTS if hasattr(parts[part], name))
        parts[part] = replace(parts[part], **{name: value})
    whole = {"subject": None, "notion": {"name": "epsilon"}, "distance": 1, **(recipe or {})}
    return AuditResult(recipe=whole, notes=notes, doubts=doubts, **parts)
