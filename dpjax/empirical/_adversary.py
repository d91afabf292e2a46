"""Background knowledge of an adversary, represented as a division of the databases into buckets."""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadValue
from dpjax.empirical._panel import Panel
from dpjax.empirical._samples import sample_query
from dpjax.empirical._user_queries import JaxQuery


@dataclass(frozen=True, eq=False)
class Adversary:
    """An adversary who has background knowledge about the queried database.

    Attributes:
        knows: What the adversary knows about each database: a query whose answer is known, or an
            array with one value or label per database.
        num_buckets: Maximum number of buckets for numeric knowledge. If more than `num_buckets`
            distinct numbers occur, the databases are sorted by their numbers and split into at most
            `num_buckets` buckets of nearly equal size, with at least two databases each; databases
            with equal numbers share a bucket.
            If there are at most `num_buckets` distinct numbers, or if the values are labels, each
            distinct value gets its own bucket. Databases about which the adversary knows nothing
            (None or NaN) have a further bucket.

    References:
        Burchard, Daoud, Dotterrer 2020, Section 4 and Definition 4.
    """

    knows: object
    num_buckets: int = 2

    def __post_init__(self):
        validate.positive_int(num_buckets=self.num_buckets)

    def buckets(self, panel: Panel, key: int) -> list[tuple[str, np.ndarray]]:
        """Divide the databases into buckets, and return each bucket's label and database indices.

        Args:
            panel: The databases.
            key: Seed for a random query.

        Raises:
            ValueError: If `knows` does not provide exactly one value per database, or if a bucket
                holds fewer than 2 databases.
        """
        knows = self.knows
        is_query = isinstance(knows, str) or hasattr(knows, "answers") or callable(knows)
        known = _answers(knows, panel, key) if is_query else np.asarray(knows)
        if known.shape != (panel.num_databases,):
            raise BadValue(
                f"adversary must know one value for each of the {panel.num_databases} databases, "
                f"but its knowledge had shape {known.shape}."
            )
        unknown = np.array([_is_missing(value) for value in known])
        places = np.flatnonzero(~unknown)
        values = known[places]
        if values.dtype.kind == "O" and all(isinstance(value, Real) for value in values):
            values = np.array(values.tolist())
        parts = [(label, places[members]) for label, members in self._split(values)]
        if unknown.any():
            parts.append(("adversary value unknown", np.flatnonzero(unknown)))
        for label, members in parts:
            if len(members) < 2:
                raise BadValue(
                    "num_buckets must leave every bucket with at least 2 databases, but was "
                    f"{self.num_buckets!r}: the bucket '{label}' holds only {len(members)}."
                )
        return parts

    def _split(self, known: np.ndarray) -> list[tuple[str, np.ndarray]]:
        """Return the label and the indices of each bucket of known values."""
        if known.dtype.kind not in "iuf":
            return _by_label(known)
        levels, place, sizes = np.unique(known, return_inverse=True, return_counts=True)
        if len(levels) <= self.num_buckets:
            return [(f"adversary value {v}", np.flatnonzero(known == v)) for v in levels]
        # A level belongs to the bucket that contains the middle of its databases in sorted order.
        ends = np.cumsum([len(part) for part in np.array_split(known, self.num_buckets)])
        bucket = np.searchsorted(ends, np.cumsum(sizes) - sizes / 2)
        for number in range(len(levels) - 1):
            # A bucket of one database is joined with the next one, or with the one before.
            if sizes[bucket == bucket[number]].sum() == 1:
                bucket[number] = bucket[number + 1]
        if sizes[bucket == bucket[-1]].sum() == 1:
            bucket[-1] = bucket[-2]
        parts = []
        for number in np.unique(bucket):
            inside = levels[bucket == number]
            last = f" to {inside[-1]:.4g}" if len(inside) > 1 else ""
            label = f"adversary value {inside[0]:.4g}{last}"
            parts.append((label, np.flatnonzero(bucket[place] == number)))
        return parts


def _by_label(known: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Return the label and the indices of each bucket of equal labels, in the order of labels."""
    places: dict[Any, list[int]] = {}
    for place, label in enumerate(known):
        try:
            # Labels of different types, such as 1 and "1", are different.
            places.setdefault((type(label).__name__, label), []).append(place)
        except TypeError:
            raise BadValue(
                f"adversary must know numbers or labels, but knew {label!r:.80} "
                f"({type(label).__name__})."
            ) from None
    ordered = sorted(places, key=lambda key: (key[0], str(key[1])))
    return [(f"adversary value {key[1]}", np.array(places[key])) for key in ordered]


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or the missing value of another library."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas compares its missing value neither as equal nor as different.
        return True


def _answers(query: object, panel: Panel, key: int) -> np.ndarray:
    # Only the answers on complete databases are needed, so all individuals are treated as one
    # individual. JAX queries are an exception because their input is arranged by individual.
    if not isinstance(query, JaxQuery):
        everybody = np.zeros_like(panel.individual)
        panel = replace(panel, individuals=("everybody",), individual=everybody)
    answers = sample_query(query, panel, key=key).full
    return answers[:, 0] if answers.shape[1] == 1 else answers
