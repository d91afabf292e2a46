"""The eleven mechanisms of StatDP, with its two lengths of databases and its three claims.

The mechanisms are those of dpjax's catalogue. In three sparse vector techniques, StatDP observes
only a count: the number of queries, among k, whose report differs from the report "the first half
is positive, the second half is not". A query without a report counts as different.

References:
    Ding, Wang, Wang, Zhang, Kifer (2018), "Detecting violations of differential privacy"; draws,
    parameters, pairs and figures of its repository, cmla-psu/statdp at commit d1f1e8f.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from benchmarks.peers.cases import Case
from benchmarks.sniper import patterns
from dpjax.core.types import FiniteSpace
from dpjax.mechanisms import find_mechanism

LENGTHS, CLAIMS = (5, 10), (0.2, 0.7, 1.5)
SEARCH, CONFIRM = 100_000, 500_000
"""StatDP's draws per side and pair to select an event, and per side to test this event."""


class Row(NamedTuple):
    """A mechanism of StatDP.

    Attributes:
        title: Name in the table.
        name: Name in dpjax's catalogue.
        published: For each claim, the largest level such that StatDP's figure rejects this level
            and all smaller levels (p-value at most 0.05). The figures end at 2, for iSVT2 at 2.9.
        differing: Whether StatDP observes only the number of differing reports.
        threshold: Threshold of a sparse vector technique, if it is not 1.
    """

    title: str
    name: str
    published: tuple[float, float, float]
    differing: bool = False
    threshold: float | None = None


ROWS = (
    Row("noisy max, index, Laplace", "report-noisy-max", (0.1, 0.6, 1.4)),
    Row("noisy max, index, exponential", "report-noisy-max-2", (0.1, 0.6, 1.4)),
    Row("noisy max, value, Laplace (wrong)", "report-noisy-max-3", (0.4, 1.7, 2.0)),
    Row("noisy max, value, exponential (wrong)", "report-noisy-max-4", (1.2, 2.0, 2.0)),
    Row("histogram", "noisy-histogram-1", (0.1, 0.6, 1.4)),
    Row("histogram, scale epsilon (wrong)", "noisy-histogram-2", (2.0, 1.4, 0.6)),
    Row("SVT", "svt1", (0.1, 0.6, 1.2), threshold=0.5),
    Row("iSVT1 (wrong)", "svt5", (2.0, 2.0, 2.0), differing=True),
    Row("iSVT2 (wrong)", "svt6", (0.6, 2.0, 2.9), differing=True),
    Row("iSVT3 (wrong)", "svt4", (0.3, 1.1, 2.3), differing=True),
    Row("iSVT4 (wrong)", "svt3", (0.45, 1.15, 1.55)),
)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Differing:
    """The number of reports that differ from the pattern "the first half is positive".

    Attributes:
        technique: Sparse vector technique whose output is a pattern or the first positive query.
    """

    technique: Any

    @property
    def output_space(self) -> FiniteSpace:
        """Numbers 0 to k."""
        return FiniteSpace(self.technique.num_queries + 1)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Draw int32 of shape [num_samples] for answers of shape [k]."""
        output = self.technique.sample(key, database, num_samples)
        k = self.technique.num_queries
        half = k // 2
        if self.technique.tells_index:
            # Before the first positive, the reports in the first half differ. The queries after the
            # first positive have no report.
            stopped = jnp.minimum(output, half) + (output >= half) + k - 1 - output
            return jnp.where(output == k, half, stopped)
        return jax.lax.population_count(output ^ (2**half - 1))


def cases() -> list[Case]:
    """Return every mechanism at every length and claim; a histogram has one count."""
    own, tenth = ({"num_samples": SEARCH // n, "num_confirm": CONFIRM // n} for n in (1, 10))
    found = []
    for row in ROWS:
        is_count = row.name.startswith("noisy-histogram")
        given = {} if row.threshold is None else {"threshold": row.threshold}
        for length in (1,) if is_count else LENGTHS:
            size = {} if is_count else {"num_queries": length}
            for claim, published in zip(CLAIMS, row.published, strict=True):
                mechanism = find_mechanism(row.name)(epsilon=claim, **size, **given)
                pairs = mechanism.standard_pairs() if is_count else patterns(length)
                subject = Differing(mechanism) if row.differing else mechanism
                about = (row.title, str(length), subject, pairs, claim, mechanism.level)
                found.append(Case(*about, (own, tenth), f"{published:g}"))
    return found
