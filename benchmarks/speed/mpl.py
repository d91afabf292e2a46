"""Time a run of MPL: dpjax alone and in a batch, NumPy and SciPy, and the paper's Table II."""

from functools import partial

import numpy as np

from benchmarks.presets.experiments import EXPERIMENTS, LEVELS, experiment
from benchmarks.presets.table2 import PAPER
from benchmarks.speed.harness import Contender, Goal, Timing, by_name, measure, ratio
from benchmarks.speed.plain_mpl import lower_bound
from dpjax.sweeps import Entry, compute
from dpjax.sweeps._blocks import on_all_devices

LIMITS = {"a": 0.010, "b": 0.020, "c": 0.010, "d": 0.010, "e": 0.2, "f": 0.2, "g": 0.2, "h": 0.3}
"""Goals for the seconds per run in a batch."""

LEAST_SPEEDUP = 8.0


def whole_batch(entry: Entry, runs: range) -> dict:
    """Return the columns of runs that are distributed over all devices, as in `dpjax sweep`."""
    return compute(entry, runs, 0, execution=on_all_devices(None))


def run(*, quick: bool = False, letters: str | None = None) -> tuple[list[Timing], list[Goal]]:
    """Return timings and goals.

    Args:
        quick: Whether to use only two experiments by default, and fewer runs and rounds.
        letters: Letters of the experiments.
    """
    entries, goals = [], []
    for letter in letters or ("ae" if quick else "".join(EXPERIMENTS)):
        entry = experiment(letter, LEVELS[-1])
        batch = range((40 if letter in "abcd" else 8) // (4 if quick else 1))
        rng = np.random.default_rng(0)
        timed = measure(
            "mpl",
            f"{letter} {entry.mechanism.name}",
            {
                "dpjax, batch": Contender(
                    partial(whole_batch, entry, batch), len(batch), {"runs at once": len(batch)}
                ),
                "dpjax, single run": Contender(partial(compute, entry, [0], 0)),
                "NumPy and SciPy": Contender(partial(lower_bound, entry, rng)),
            },
            unit="run",
            rounds=3 if quick else 9,
        )
        entries += timed
        named = by_name(timed)
        entries.append(
            Timing("mpl", timed[0].case, "paper's Table II", PAPER[letter], 0, 1, 0, "run")
        )
        plain, fast = named["NumPy and SciPy"], named["dpjax, batch"]
        goals += [
            Goal("mpl", f"{letter}: times faster than NumPy", ratio(plain, fast), LEAST_SPEEDUP),
            Goal("mpl", f"{letter}: seconds per batch run", fast.seconds, LIMITS[letter], False),
        ]
    return entries, goals
