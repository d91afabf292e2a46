"""Background knowledge of an adversary, represented as a division of the databases into buckets."""

from dataclasses import dataclass, replace

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadValue
from dpjax.empirical._panel import Panel
from dpjax.empirical._samples import JaxQuery, sample_query


@dataclass(frozen=True, eq=False)
class Adversary:
    """An adversary who has background knowledge about the queried database.

    Attributes:
        knows: What the adversary knows about each database: a query whose answer is known, or an
            array with one value or label per database.
        num_buckets: Maximum number of buckets for numeric knowledge. If more than `num_buckets`
            distinct numbers occur, the databases are sorted by their numbers and split into
            `num_buckets` buckets of nearly equal size. If there are at most `num_buckets` distinct
            numbers, or if the values are labels, each distinct value gets its own bucket.

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
        levels = np.unique(known)
        if len(levels) <= self.num_buckets or known.dtype.kind not in "iuf":
            parts = [(f"adversary value {v}", np.flatnonzero(known == v)) for v in levels]
        else:
            order = np.argsort(known, kind="stable")
            parts = [
                (f"adversary value {known[m[0]]:.4g} to {known[m[-1]]:.4g}", np.sort(m))
                for m in np.array_split(order, self.num_buckets)
            ]
        for label, members in parts:
            if len(members) < 2:
                raise BadValue(
                    "num_buckets must leave every bucket with at least 2 databases, but was "
                    f"{self.num_buckets!r}: the bucket '{label}' holds only {len(members)}."
                )
        return parts


def _answers(query: object, panel: Panel, key: int) -> np.ndarray:
    # Only the answers on complete databases are needed, so all individuals are treated as one
    # individual. JAX queries are an exception because their input is arranged by individual.
    if not isinstance(query, JaxQuery):
        everybody = np.zeros_like(panel.individual)
        panel = replace(panel, individuals=("everybody",), individual=everybody)
    answers = sample_query(query, panel, key=key).full
    return answers[:, 0] if answers.shape[1] == 1 else answers
