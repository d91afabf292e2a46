"""Tables I-V of the histogram paper: constants, pairs of midpoints, theoretical and practical n.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Tables I-V.
"""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.presets.experiments import SEED
from benchmarks.presets.output import filled
from benchmarks.presets.practical import table_of_n
from dpjax import midpoints
from dpjax.mechanisms import TruncatedLaplace
from dpjax.reference import ExactTruncatedGaussian, ExactTruncatedLaplace
from dpjax.sweeps import Entry, HistogramEstimate, Store, SweepSpec

Rows = list[dict[str, Any]]


def sweep(quick: bool) -> SweepSpec:
    """Return the sweep of all pairs of midpoints.

    It estimates LDP at B = 1 (Table II) and the Renyi divergence of order 2 at B = 3.5 (Table IV).
    As in the paper, 18 pairs of Table II are also estimated individually.
    """
    share = 100 if quick else 1
    inputs = midpoints(0, 1, 91)
    pairs = list(combinations(range(91), 2))
    parts = {"table2": inputs}
    for i, j in (pairs[k * len(pairs) // 18] for k in range(18)):
        parts[f"table2 {i} {j}"] = inputs[[i, j]]
    entries = [_entry(label, 1.0, 91, 1_863_132 // share, part) for label, part in parts.items()]
    entries.append(_entry("table4", 3.5, 20, 2**21 // share, midpoints(0, 1, 20), order=2))
    return SweepSpec("histogram-tables", tuple(entries), key=SEED, block_runs=1)


def _entry(
    label: str, scale: float, m: int, size: int, inputs: np.ndarray, order: float | None = None
) -> Entry:
    method = HistogramEstimate(m, size, tuple(inputs), order)
    return Entry(TruncatedLaplace(scale), method, num_runs=1, label=label)


def table_1() -> Rows:
    """Return the constants of truncated mechanisms."""
    rows: Rows = []
    for family, parameters in (
        (ExactTruncatedLaplace, (0.5, 0.8, 1.0, 2.0, 5.0)),
        (ExactTruncatedGaussian, (0.3, 0.5, 0.6, 1.0, 2.0)),
    ):
        for parameter in parameters:
            law = family(parameter)
            rows.append(
                {
                    "law": family.__name__,
                    "parameter": parameter,
                    "D": law.input_lipschitz,
                    "C": law.lipschitz,
                    "epsilon": law.epsilon,
                    "guaranteed": law.lipschitz < 2,
                }
            )
    return rows


def largest(store: Store, name: str) -> dict[str, Any]:
    """Return the largest level of all pairs of midpoints, and the pair that attains it."""
    entry = next(entry for entry in store.spec.entries if entry.label == name)
    rows = store.columns()[entry.id]
    inputs = entry.method.inputs
    pairs = list(combinations(inputs, 2))
    return {
        "seconds": float(rows["seconds"][0]),
        "num_pairs": len(pairs),
        "largest": float(rows["estimate"][0]),
        "at": pairs[rows["pair"][0]],
    }


def single_pairs(store: Store) -> Rows:
    """Return the individual pairs of Table II with their exact levels."""
    law = ExactTruncatedLaplace(1.0)
    columns = store.columns()
    return [
        {
            "x1": entry.method.inputs[0],
            "x2": entry.method.inputs[1],
            "level": float(columns[entry.id]["estimate"][0]),
            "exact": law.pair_epsilon(*entry.method.inputs),
        }
        for entry in store.spec.entries
        if entry.label.startswith("table2 ")
    ]


def show(title: str, rows: Rows) -> None:
    """Print a table."""
    print(f"\n{title}")
    print("  ".join(f"{name:>12}" for name in rows[0]))
    for row in rows:
        words = (f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values())
        print("  ".join(f"{word:>12.12}" for word in words))


def main(folder: Path, *, quick: bool) -> None:
    """Compute all tables, print them, and write them to `tables.json`.

    Args:
        folder: Output folder.
        quick: Whether to use fewer draws.
    """
    drawn = filled(sweep(quick), folder / "store")
    law = ExactTruncatedLaplace(3.5)
    tables = {
        "table_1": table_1(),
        "table_2": largest(drawn, "table2") | {"exact": 1.0, "rows": single_pairs(drawn)},
        "table_3": table_of_n("table3", folder, quick=quick),
        "table_4": largest(drawn, "table4") | {"exact": law.pair_renyi(0, 1, 2.0)},
        "table_5": table_of_n("table5", folder, quick=quick),
    }
    show("Table I: constants on [0, 1]", tables["table_1"])
    two = tables["table_2"]
    print(
        f"\nTable II: B = 1, largest level of {two['num_pairs']} pairs ({two['seconds']:.1f} s): "
        f"{two['largest']:.4f} at {two['at']}"
    )
    show("Table II: single pairs", two["rows"])
    show("Table III: LDP, confidence 0.8", tables["table_3"])
    four = tables["table_4"]
    print(
        f"\nTable IV: B = 3.5, order 2, largest level of {four['num_pairs']} pairs "
        f"({four['seconds']:.1f} s): {four['largest']:.5f} at {four['at']}, exactly "
        f"{four['exact']:.5f}"
    )
    show("Table V: Renyi of order 2, confidence 0.9", tables["table_5"])
    ratios = np.array([row["ratio"] for name in ("table_3", "table_5") for row in tables[name]])
    print(f"\npractical n: {ratios.min():.2f} to {ratios.max():.2f} times the n in the paper")
    (folder / "tables.json").write_text(json.dumps(tables, indent=1) + "\n")
