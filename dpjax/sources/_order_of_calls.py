"""A test of independence between the calls of a function that returns one output per call."""

from collections.abc import Sequence

import numpy as np

from dpjax.core.wording import Doubt, Sentence, term
from dpjax.partitions import Outputs
from dpjax.sources._serial import Advice, notes_of_order

_GUESSES = term("method=Guesses(), or num_calls=20_000 in a test", "--method guesses")
"""How to audit outputs that depend on earlier calls."""

_ADVICE = Advice(
    Sentence(
        "Draw fresh noise in every call: no call may depend on earlier calls, for example through "
        "a cache, a fixed seed or the state of a Markov chain. If outputs cannot help but depend "
        f"on earlier calls, as running times do, use {_GUESSES}"
    ),
    "no call may depend on the number of earlier calls, for example because a service refuses "
    "further calls",
)


def _most_varied(values: np.ndarray) -> np.ndarray:
    """Return the first column with the largest number of different numbers, float64 [n]."""
    best, most = values[:, 0], 0
    for column in values.T:
        if (number := np.unique(column).size) > most:
            best, most = column, number
        if most == len(values):  # No later column has more, so do not sort all columns.
            break
    return best


def notes_of_calls(name: str, pilots: Sequence[Outputs]) -> list[Doubt]:
    """Return a doubt for each side whose first outputs depend on earlier outputs.

    Args:
        name: Name of the function, for the doubt.
        pilots: First outputs of the database and of its neighbor, in the order of the calls.
    """
    found = []
    for side, outputs in zip(("database", "neighbor"), pilots, strict=True):
        # Rank vectors by the entry with the most different numbers, and labels by their indices.
        ranked = outputs.labels
        if not ranked.any():
            ranked = _most_varied(outputs.values)
        place = np.unique(ranked, return_inverse=True)[1]
        split = place >= max(np.median(place), 1)
        found += notes_of_order(f"{name} ({side})", [split], place, advice=_ADVICE)
    return found
