"""Tables I-V of the histogram paper: constants, mid-point pairs, theoretical and practical n.

Run `python -m benchmarks.histogram_tables [OUT_DIR]` or `dpjax reproduce histogram-tables`; about a
minute on 2 cores.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Tables I-V.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.from_store import filled
from dpjax._files import write_whole
from dpjax.inference import plan
from dpjax.methods.histogram._estimate import all_pairs_of
from dpjax.reference import ExactTruncatedGaussian, ExactTruncatedLaplace
from dpjax.sweeps._presets_histogram import PRACTICAL


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


def largest(store, name):
    """The largest level over all mid-point pairs, and where it was found."""
    cell = next(cell for cell in store.spec.cells if cell.label == name)
    rows = store.columns()[cell.id]
    inputs = cell.settings.inputs
    pairs = all_pairs_of(len(inputs))
    return {
        "seconds": float(rows["seconds"][0]),
        "num_pairs": len(pairs),
        "largest": float(rows["estimate"][0]),
        "at": [inputs[i] for i in pairs[rows["pair"][0]]],
    }


def single_pairs(store):
    """Table II's pairs one by one, with their exact levels."""
    law = ExactTruncatedLaplace(1.0)
    columns = store.columns()
    return [
        {
            "x1": cell.settings.inputs[0],
            "x2": cell.settings.inputs[1],
            "level": float(columns[cell.id]["estimate"][0]),
            "exact": law.pair_epsilon(*cell.settings.inputs),
        }
        for cell in store.spec.cells
        if cell.label.startswith("table2 ")
    ]


def table_of_n(store, table):
    """Tables III and V: the planned n beside the smallest of the grid that is enough."""
    columns = store.columns()
    rows = []
    for row in PRACTICAL:
        cells = [c for c in store.spec.cells if c.label.startswith(f"{row.label} n=")]
        if row.table != table or not cells:
            continue
        law = ExactTruncatedLaplace(row.scale)
        exact = law.epsilon if row.order is None else law.pair_renyi(0, 1, row.order)
        shares = [
            np.mean(np.abs(columns[cell.id]["estimate"] - exact) <= row.precision) for cell in cells
        ]
        enough = cells[int(np.argmax(np.array(shares) >= row.confidence))].settings.num_samples
        found = {"scale": row.scale, "precision": row.precision, "n": None, "m": row.num_intervals}
        # Where theory is undefined the paper sets the number of intervals by hand.
        if law.lipschitz < 2:
            planned = plan(
                lipschitz=law.lipschitz,
                precision=row.precision,
                confidence=row.confidence,
                order=row.order,
                bound="published",
            )
            found |= {"n": planned.num_samples, "m": planned.num_intervals}
        ratio = enough / row.printed
        rows.append(found | {"practical": enough, "printed": row.printed, "ratio": ratio})
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
    drawn = filled(out_dir, "histogram-tables", quick=quick)
    practical = filled(out_dir, "histogram-practical", quick=quick, folder="store-practical")
    law = ExactTruncatedLaplace(3.5)
    tables = {
        "table_1": table_1(),
        "table_2": largest(drawn, "table2") | {"exact": 1.0, "rows": single_pairs(drawn)},
        "table_3": table_of_n(practical, "table3"),
        "table_4": largest(drawn, "table4") | {"exact": law.pair_renyi(0, 1, 2.0)},
        "table_5": table_of_n(practical, "table5"),
    }
    show("Table I: constants on [0, 1]", tables["table_1"])
    two = tables["table_2"]
    print(
        f"\nTable II: B = 1, the largest of {two['num_pairs']} pairs in {two['seconds']:.1f} s is "
        f"{two['largest']:.4f} at {two['at']}"
    )
    show("Table II: single pairs", two["rows"])
    show("Table III: LDP, confidence 0.8", tables["table_3"])
    print("\nTable IV: B = 3.5, order 2:", tables["table_4"])
    show("Table V: Renyi of order 2, confidence 0.9", tables["table_5"])
    ratios = np.array([row["ratio"] for name in ("table_3", "table_5") for row in tables[name]])
    print(f"\npractical n: {ratios.min():.2f} to {ratios.max():.2f} times the printed one")
    out = Path(out_dir)
    out.mkdir(parents=True, exist_ok=True)
    write_whole({out / "tables.json": json.dumps(tables, indent=1) + "\n"})
    return tables


if __name__ == "__main__":
    main(*sys.argv[1:2])
