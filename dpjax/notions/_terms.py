"""The terms of a bound: its guarantee, how many claims share its confidence, and delta."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpjax import _validate

GUARANTEES = ("normal", "exact")


def check_terms(confidence: float, claim: float | None, delta: float, guarantee: str) -> None:
    """Refuses terms that are out of range, or a guarantee that is not known.

    Raises:
        TypeError: One is of the wrong kind.
        ValueError: One is not accepted.
    """
    _validate.open_unit(confidence=confidence)
    if claim is not None:
        _validate.non_negative(claim=claim)
    _validate.one_of(GUARANTEES, guarantee=guarantee)
    _validate.finite(delta=delta)
    # A probability that a claim leaves out: leaving out all of it claims nothing.
    if not 0 <= delta < 1:
        raise ValueError(f"delta must lie in [0, 1), but was {delta!r}.")


def own_confidence_of(confidence: float, num_claims: int) -> float:
    """What each of several bounds needs, so that they hold together (Bonferroni)."""
    _validate.positive_int(num_claims=num_claims)
    return confidence if num_claims == 1 else 1 - (1 - confidence) / num_claims


def claims_note(confidence: float, num_claims: int) -> list[str]:
    if num_claims == 1:
        return []
    error = (1 - confidence) / num_claims
    return [
        f"This bound alone errs with a probability of at most {error:.3g}, so that {num_claims} "
        f"such bounds hold together with confidence {confidence:g} (Bonferroni)."
    ]


def refuse_density_options(
    bandwidth: Any, floor: Any, kernel: str, method: str, objective: str
) -> None:
    """Options of density estimates mean nothing where outputs are counted in cells."""
    given = {
        "bandwidth": bandwidth != "scott",
        "floor": floor is not None,
        "kernel": kernel != "gaussian",
        "method": method != "auto",
        "objective": objective != "lower-bound",
    }
    for option in (name for name, is_given in given.items() if is_given):
        raise ValueError(
            f"{option} is of density estimates: it must be left out where outputs are counted in "
            "cells, with guarantee='exact' and for outputs of the host."
        )


def refuse_delta(delta: float) -> None:
    if delta:
        raise ValueError(
            f"delta must be 0 for a density estimate, but was {delta}: use guarantee='exact', "
            "which counts an event."
        )


def equal_notes(databases: Any, neighbors: Any, labels: Sequence[str]) -> list[str]:
    """Says where both databases are the same, so that nothing can tell them apart."""
    return [
        f"database and neighbor are equal in {label}, so nothing could be found there."
        for label, database, neighbor in zip(labels, databases, neighbors, strict=True)
        if _is_equal(database, neighbor)
    ]


def _is_equal(database: Any, neighbor: Any) -> bool:
    if isinstance(database, np.ndarray) or isinstance(neighbor, np.ndarray):
        return type(database) is type(neighbor) and np.array_equal(database, neighbor)
    try:
        return type(database) is type(neighbor) and bool(database == neighbor)
    except Exception:
        return False  # Of other libraries, which compare entry by entry.
