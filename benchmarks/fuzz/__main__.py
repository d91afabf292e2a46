"""Check that mutated inputs never lead to a wrong result, a foreign error, or high resource use.

The script reads 23,600 mutations of recordings, panels, specs, pairs, stores, outputs, results and
states, with fixed seeds. For each mutation, dpjax must return the same result as a trusted parser,
or raise one of its own errors. It must take less than 20 s and use less than 1 GB of memory.

    scripts/robustness [--only recordings,specs] [--share 0.01] [--seed 0]
"""

import argparse
import faulthandler
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from random import Random

import dpjax
from benchmarks.fuzz.kinds import KINDS
from dpjax.core.wording import BadType, BadValue
from dpjax.sources.readers._entries import MissingEntry

_PACKAGE = str(Path(dpjax.__file__).parent)
_MOST_SECONDS, _MOST_MEGABYTES = 20.0, 1000.0
_OWN = (ValueError, TypeError, BadValue, BadType, MissingEntry, FileNotFoundError)


def is_own(error: BaseException) -> bool:
    """Return whether dpjax itself raised the error, with an expected type and a message."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    said = str(error)
    return type(error) in _OWN and last.filename.startswith(_PACKAGE) and " " in said


def run(kind: str, count: int, seed: int, failures: Path) -> tuple[list[str], bool]:
    """Read mutations of one kind.

    Args:
        kind: Key of `KINDS`.
        count: Number of mutations.
        seed: Seed of the mutations.
        failures: Folder to which mutations that fail the check are copied.

    Returns:
        Cells of the table, and whether all mutations pass the check.
    """
    warnings.simplefilter("ignore")
    make, _ = KINDS[kind]
    ends: Counter[str] = Counter()
    slowest = 0.0
    folder = Path(tempfile.mkdtemp(prefix="dpjax-fuzz-"))
    try:
        with make(folder) as case:
            for number in range(count):
                name, read = case(Random(f"{seed}/{kind}/{number}"))
                # If reading hangs, end the process and print where it hangs.
                faulthandler.dump_traceback_later(200.0, exit=True, file=sys.__stderr__)
                start = time.perf_counter()
                try:
                    read()
                    end = "read"
                except Exception as error:
                    end = "refused" if is_own(error) else f"{type(error).__name__}: {error}"[:200]
                    if end != "refused":
                        traceback.print_exc()
                took = time.perf_counter() - start
                slowest = max(slowest, took)
                ends[end] += 1
                if end not in ("read", "refused") or took > _MOST_SECONDS:
                    print(f"{kind} {number} ({name}), {took:.1f} s: {end}", flush=True)
                    failures.mkdir(parents=True, exist_ok=True)
                    kept = folder / ("changed/" if kind == "stores" else "") / name
                    shutil.copyfile(kept, failures / f"{kind}-{number}-{Path(name).name}")
    finally:
        faulthandler.cancel_dump_traceback_later()
        shutil.rmtree(folder)
    good = ends["read"] + ends["refused"] == count and slowest <= _MOST_SECONDS
    cells = kind, count, ends["read"], ends["refused"], f"{slowest:.1f}"
    return [*map(str, cells)], good


def main() -> None:
    """Run the command line; exit with status 1 if a check fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(KINDS), help="comma-separated kinds")
    parser.add_argument("--share", type=float, default=1.0, help="fraction of the mutations to run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--failures", type=Path, default=Path("results/robustness"))
    options = parser.parse_args()
    kinds = options.only.split(",")
    counts = {kind: max(round(options.share * KINDS[kind][1]), 1) for kind in kinds}
    if len(kinds) == 1:
        cells, good = run(kinds[0], counts[kinds[0]], options.seed, options.failures)
        scale = 1e6 if sys.platform == "darwin" else 1e3
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale
        print(f"| {' | '.join(cells)} | {megabytes:.0f} |")
        sys.exit(0 if good and megabytes < _MOST_MEGABYTES else 1)
    print("| inputs | mutations | read | refused | slowest, s | memory, MB |")
    print("|---|---|---|---|---|---|", flush=True)
    # Run each kind in a separate process, so that its memory is measured separately.
    arguments = [sys.executable, "-m", "benchmarks.fuzz", "--failures", str(options.failures)]
    arguments += ["--share", str(options.share), "--seed", str(options.seed), "--only"]
    codes = [subprocess.run([*arguments, kind]).returncode for kind in kinds]
    sys.exit(max(map(abs, codes)))


if __name__ == "__main__":
    main()
