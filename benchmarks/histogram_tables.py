"""Tables I-V of the histogram paper: constants, mid-point pairs, theoretical and practical n.

Run `python -m benchmarks.histogram_tables [OUT_DIR]` or `dpjax reproduce histogram-tables`; about a
minute on 2 cores.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Tables I-V.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.histogram_practical import practical_num_samples
from dpjax._files import write_whole
from dpjax.estimators import Unplanned, histogram_ldp, histogram_rdp, midpoints
from dpjax.inference import plan
from dpjax.mechanisms import TruncatedLaplace
from dpjax.reference import ExactTruncatedGaussian, ExactTruncatedLaplace

# Practical n as printed, for the comparison: epsilon -> by precision 1, 0.5, 0.1, 0.05.
PRINTED_3 = {
    0.5: (56, 262, 25_600, 208_000),
    0.7: (112, 575, 68_000, 500_000),
    1.0: (625, 4_000, 460_000, 3_300_000),
    2.0: (2_600, 15_600, 1_500_000, 12_000_000),
}
# Scale -> by precision 1, 0.5, 0.1.
PRINTED_5 = {
    5.0: (56, 56, 831),
    3.0: (56, 150, 2_556),
    2.0: (293, 650, 9_812),
    1.5: (1_800, 3_962, 45_875),
}


def table_1():
    rows = []
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


def table_2(num_samples):
    """Estimates over all mid-point pairs at B = 1: the maximum, and 18 pairs as in the paper."""
    inputs = midpoints(0, 1, 91)
    start = time.perf_counter()
    result = histogram_ldp(TruncatedLaplace(1.0), inputs, Unplanned(91, num_samples), key=0)
    seconds = time.perf_counter() - start
    first, second = result.witness()
    ends = result.levels[0, 89]
    rows = [{"x1": float(first), "x2": float(second), "level": float(result.estimates[0])}]
    rows.append({"x1": inputs[0], "x2": inputs[-1], "level": float(ends)})
    for row in range(18):
        pick = row * len(result.pairs) // 18
        i, j = result.pairs[pick]
        rows.append({"x1": inputs[i], "x2": inputs[j], "level": float(result.levels[0, pick])})
    return {"seconds": seconds, "num_pairs": len(result.pairs), "rows": rows}


def table_4(num_samples):
    """Renyi levels over all mid-point pairs at B = 3.5, order 2."""
    inputs = midpoints(0, 1, 20)
    result = histogram_rdp(TruncatedLaplace(3.5), inputs, Unplanned(20, num_samples), 0, order=2)
    first, second = result.witness()
    exact = ExactTruncatedLaplace(3.5).pair_renyi(0, 1, 2)
    return {
        "largest": float(result.estimates[0]),
        "at": [float(first), float(second)],
        "exact": exact,
    }


def table_of_n(printed, precisions, confidence, order, num_runs):
    rows = []
    for parameter, practical in printed.items():
        scale = 1 / parameter if order is None else parameter
        law = ExactTruncatedLaplace(scale)
        for precision, theirs in zip(precisions, practical, strict=False):
            row = {"parameter": parameter, "precision": precision, "n": None}
            if law.lipschitz < 2:
                planned = plan(
                    lipschitz=law.lipschitz,
                    precision=precision,
                    confidence=confidence,
                    order=order,
                )
                row |= {"n": planned.num_samples, "m": planned.num_intervals}
            else:
                # Where theory is undefined the paper sets the number of intervals by hand.
                row |= {"m": round(100 / precision)}
            found = practical_num_samples(
                law, row["m"], precision, confidence, order, num_runs=num_runs
            )
            row |= {"practical": found, "printed": theirs, "ratio": found / theirs}
            rows.append(row)
    return rows


def show(title, rows):
    print(f"\n{title}")
    print("  ".join(f"{name:>12}" for name in rows[0]))
    for row in rows:
        cells = (f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values())
        print("  ".join(f"{cell:>12.12}" for cell in cells))


def main(
    out_dir: str | Path = "results/histogram-tables", *, quick: bool = False
) -> dict[str, Any]:
    """Computes all tables, prints them and writes them to `tables.json`.

    Args:
        out_dir: Folder for the file; made if need be.
        quick: Fewer draws and runs, and only the two coarsest precisions.

    Returns:
        The tables, as in the file.
    """
    num_runs = 100 if quick else 1000
    precisions = (1.0, 0.5) if quick else (1.0, 0.5, 0.1, 0.05)
    tables = {
        "table_1": table_1(),
        "table_2": table_2(20_000 if quick else 1_863_132),
        "table_3": table_of_n(PRINTED_3, precisions, 0.8, None, num_runs),
        "table_4": table_4(20_000 if quick else 2_000_000),
        "table_5": table_of_n(PRINTED_5, precisions[:3], 0.9, 2.0, num_runs),
    }
    show("Table I: constants on [0, 1]", tables["table_1"])
    seconds, pairs = tables["table_2"]["seconds"], tables["table_2"]["num_pairs"]
    show(f"Table II: B = 1, {pairs} pairs in {seconds:.1f} s", tables["table_2"]["rows"])
    show("Table III: LDP, confidence 0.8, by epsilon", tables["table_3"])
    print("\nTable IV: B = 3.5, order 2:", tables["table_4"])
    show("Table V: Renyi of order 2, confidence 0.9, by scale", tables["table_5"])
    ratios = np.array([row["ratio"] for name in ("table_3", "table_5") for row in tables[name]])
    print(f"\npractical n: {ratios.min():.2f} to {ratios.max():.2f} times the printed one")
    out = Path(out_dir)
    out.mkdir(parents=True, exist_ok=True)
    write_whole({out / "tables.json": json.dumps(tables, indent=1) + "\n"})
    return tables


if __name__ == "__main__":
    main(*sys.argv[1:2])
