"""Tables III and V of the histogram paper: the smallest n that suffices in practice.

An estimate depends only on the counts of the outputs, which have a multinomial distribution with
the exact probabilities of the intervals. Drawing the counts directly takes the same time for every
n, so a search over n up to 5e7 with a thousand runs each is feasible. It does not test a sampler.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Tables III and V.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from benchmarks.presets.experiments import SEED
from dpjax.core import random
from dpjax.inference import ldp_levels, plan, renyi_levels
from dpjax.reference import ExactTruncatedLaplace


class PracticalSize(NamedTuple):
    """A row of Table III or V.

    Attributes:
        table: "table3" (LDP) or "table5" (Renyi).
        scale: Scale B of the truncated Laplace distribution.
        precision: Precision gamma.
        num_intervals: Number m of intervals.
        printed: Practical n in the paper.
    """

    table: str
    scale: float
    precision: float
    num_intervals: int
    printed: int

    @property
    def order(self) -> float | None:
        """Order alpha, or None for LDP."""
        return None if self.table == "table3" else 2.0

    @property
    def confidence(self) -> float:
        """Fraction of runs that must be within the precision."""
        return 0.8 if self.table == "table3" else 0.9

    @property
    def label(self) -> str:
        """Name of the row."""
        return f"{self.table} B={self.scale:.4g} precision={self.precision:g}"

    @property
    def law(self) -> ExactTruncatedLaplace:
        """Exact distribution of the mechanism."""
        return ExactTruncatedLaplace(self.scale)

    @property
    def level(self) -> float:
        """Exact level of the inputs 0 and 1."""
        return self.law.epsilon if self.order is None else self.law.pair_renyi(0, 1, self.order)


PRACTICAL = [
    PracticalSize("table3", 2.0, 1.0, 6, 56),
    PracticalSize("table3", 2.0, 0.5, 12, 262),
    PracticalSize("table3", 2.0, 0.1, 56, 25_600),
    PracticalSize("table3", 2.0, 0.05, 112, 208_000),
    PracticalSize("table3", 1 / 0.7, 1.0, 12, 112),
    PracticalSize("table3", 1 / 0.7, 0.5, 23, 575),
    PracticalSize("table3", 1 / 0.7, 0.1, 114, 68_000),
    PracticalSize("table3", 1 / 0.7, 0.05, 228, 500_000),
    PracticalSize("table3", 1.0, 1.0, 46, 625),
    PracticalSize("table3", 1.0, 0.5, 91, 4_000),
    PracticalSize("table3", 1.0, 0.1, 455, 460_000),
    PracticalSize("table3", 1.0, 0.05, 909, 3_300_000),
    PracticalSize("table3", 0.5, 1.0, 100, 2_600),
    PracticalSize("table3", 0.5, 0.5, 200, 15_600),
    PracticalSize("table3", 0.5, 0.1, 1_000, 1_500_000),
    PracticalSize("table3", 0.5, 0.05, 2_000, 12_000_000),
    PracticalSize("table5", 5.0, 1.0, 3, 56),
    PracticalSize("table5", 5.0, 0.5, 6, 56),
    PracticalSize("table5", 5.0, 0.1, 29, 831),
    PracticalSize("table5", 3.0, 1.0, 10, 56),
    PracticalSize("table5", 3.0, 0.5, 20, 150),
    PracticalSize("table5", 3.0, 0.1, 97, 2_556),
    PracticalSize("table5", 2.0, 1.0, 41, 293),
    PracticalSize("table5", 2.0, 0.5, 81, 650),
    PracticalSize("table5", 2.0, 0.1, 403, 9_812),
    PracticalSize("table5", 1.5, 1.0, 195, 1_800),
    PracticalSize("table5", 1.5, 0.5, 389, 3_962),
    PracticalSize("table5", 1.5, 0.1, 1_945, 45_875),
]


def table_of_n(table: str, folder: Path, *, quick: bool) -> list[dict[str, Any]]:
    """Return Table III or V: the planned n, and the smallest n of a grid that suffices.

    Args:
        table: "table3" or "table5".
        folder: Folder with a file of previous results, which are not computed again.
        quick: Whether to use a tenth of the 1000 runs, a coarser grid, and only the two coarsest
            precisions.
    """
    runs = 100 if quick else 1000
    path = folder / f"practical-{runs}.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    rows = []
    for row in PRACTICAL:
        if row.table != table or (quick and row.precision < 0.5):
            continue
        if row.label not in known:
            known[row.label] = enough(row, runs, coarse=quick)
            path.write_text(json.dumps(known, indent=1) + "\n")
        found = {"scale": row.scale, "precision": row.precision, "n": None, "m": row.num_intervals}
        # For C >= 2, the theory is not applicable, and the paper chooses m by hand.
        if row.law.lipschitz < 2:
            planned = plan(
                lipschitz=row.law.lipschitz,
                precision=row.precision,
                confidence=row.confidence,
                order=row.order,
                bound="published",
            )
            found |= {"n": planned.num_samples, "m": planned.num_intervals}
        practical = known[row.label]
        ratio = practical / row.printed
        rows.append(found | {"practical": practical, "printed": row.printed, "ratio": ratio})
    return rows


def enough(row: PracticalSize, runs: int, *, coarse: bool) -> int:
    """Return the smallest n of a grid for which enough runs are within the precision.

    The fraction of runs within the precision must be at least the confidence. The grid has eight
    steps per octave (two if coarse), from an eighth of the printed n to four times the printed n.

    Raises:
        ValueError: If no n of the grid suffices.
    """
    grid = {round(row.printed * 2 ** (k / 8)) for k in range(-24, 17, 4 if coarse else 1)}
    for size in sorted(grid):
        counts = law_counts(row, size, runs)
        pair = [(0, 1)]
        levels = (
            ldp_levels(counts, pair)
            if row.order is None
            else renyi_levels(counts, pair, order=row.order)
        )
        # A run with an empty interval has no estimate and counts as a miss.
        within = np.abs(levels.filled(np.nan) - row.level) <= row.precision
        if within.mean() >= row.confidence:
            return size
    raise ValueError(f"no n up to {max(grid)} is enough for {row.label}.")


def law_counts(row: PracticalSize, num_samples: int, runs: int) -> NDArray[np.int64]:
    """Return counts [runs, 2, m] of n outputs for the inputs 0 and 1.

    The counts of a run depend only on the settings and the index of the run.
    """
    edges = np.linspace(0, 1, row.num_intervals + 1)
    shares = np.array([np.diff(row.law.cdf(x, edges)) for x in (0.0, 1.0)])
    shares /= shares.sum(axis=1, keepdims=True)
    generators = [
        np.random.Generator(np.random.Philox(key=words)) for words in _words(row, num_samples, runs)
    ]
    return np.stack([generator.multinomial(num_samples, shares) for generator in generators])


def _words(row: PracticalSize, num_samples: int, runs: int) -> NDArray[np.uint64]:
    """Return two words per run, derived from (seed, settings of the distribution, run)."""
    settings = {"num_intervals": row.num_intervals, "num_samples": num_samples}
    settings |= {"inputs": [0.0, 1.0]} | ({} if row.order is None else {"order": row.order})
    content = {"mechanism": "truncated-laplace", "parameters": {"scale": row.scale}}
    content |= {"estimator": "histogram-law", "settings": settings}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    name = random.stable_hash(f"truncated-laplace-{digest[:12]}")
    key = random.fold_in(random.as_key(SEED), name)
    return np.asarray(_fold_in_runs(key, jnp.arange(runs, dtype=jnp.int32)), np.uint64)


@jax.jit
def _fold_in_runs(key: jax.Array, runs: jax.Array) -> jax.Array:
    return jax.random.key_data(jax.vmap(lambda run: random.fold_in(key, run))(runs))
