"""Run the speed benchmarks, and write DATE-speed.json and DATE-speed.md.

scripts/benchmark [--quick] [--only density,noise] [--out FOLDER] [--note TEXT]
scripts/benchmark --compare OLD.json NEW.json
"""

import argparse
import datetime
import json
import time
from pathlib import Path

from benchmarks.speed import compare, counts, density, mpl, noise, overhead, startup
from benchmarks.speed.harness import as_json, machine
from benchmarks.speed.table import table
from dpjax.cli._sweep import use_all_cores
from dpjax.core.files import write_whole

SUITES = {
    "density": density.run,
    "counts": counts.run,
    "noise": noise.run,
    "mpl": mpl.run,
    "overhead": overhead.run,
    "startup": startup.run,
}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument("--only", default=",".join(SUITES), help="comma-separated suites")
    parser.add_argument("--out", type=Path, default=Path("results/speed"), help="output folder")
    parser.add_argument("--note", action="append", default=[], help="note to add to the files")
    parser.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"), help="compare result files")
    options = parser.parse_args()
    if options.compare:
        compare.main(options.compare)
    names = options.only.split(",")
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        parser.error(f"--only must name suites of {', '.join(SUITES)}, but was {unknown[0]!r}")
    # Use one device per core, as in a sweep. Tasks that run on a single device are not affected.
    use_all_cores()
    result = {
        "date": str(datetime.date.today()),
        "quick": options.quick,
        "notes": options.note,
        "machine": machine(),
    }
    entries, goals = [], []
    for name in names:
        start = time.perf_counter()
        more_entries, more_goals = SUITES[name](quick=options.quick)
        entries += more_entries
        goals += more_goals
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    result |= as_json(entries, goals)
    text = table(result)
    options.out.mkdir(parents=True, exist_ok=True)
    stem = options.out / f"{result['date']}-speed"
    write_whole(
        {
            stem.with_suffix(".json"): json.dumps(result, indent=1) + "\n",
            stem.with_suffix(".md"): text,
        }
    )
    print(text)


if __name__ == "__main__":
    main()
