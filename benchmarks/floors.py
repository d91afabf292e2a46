"""Compare CPU times of audits with hand-written NumPy, and of sweeps of events with `Local`.

The hand-written code, called the floor, does only what every audit must do. It draws (or splits)
the same number of outputs, computes quantile bins of a search set, chooses the half-line with the
largest loss, and bounds its loss by two Clopper-Pearson intervals from a confirmation set. It does
not validate or describe anything, and the kind of outputs is known in advance.

Both contenders of a row are called alternately in one process, without compilation. The result is
the smallest of several CPU times over all threads. Each row of the Markdown table is printed as
soon as it is measured.

    scripts/benchmark floors [--only audits,sweeps] [--letters abcdefgh] [--seconds 6]
"""

import argparse
import datetime
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray
from scipy import special

import dpjax
from benchmarks.presets.experiments import EXPERIMENTS, LEVELS, experiment
from benchmarks.speed.harness import machine
from benchmarks.speed.mpl import whole_batch
from dpjax.cli._sweep import use_all_cores
from dpjax.mechanisms import SVT4, Laplace
from dpjax.sweeps import Entry

CONFIDENCE, NUM_BINS = 0.999, 64

SEARCH_SHARE = 0.3
"""Fraction of recorded outputs in the search set, as in `dpjax.Recorded`."""

WORDS = np.array([f"answer {number}" for number in range(200)])

SWEEP_GOAL = 1.5

Sides = tuple[np.ndarray, np.ndarray]
Draw = Callable[[Any, int], np.ndarray]


class Row(NamedTuple):
    """A task and two contenders. The reported ratio is dpjax's CPU time divided by the floor's.

    Attributes:
        name: Name of the task.
        goal: Largest acceptable ratio; None if no goal was set.
        floor: Function that does the task with hand-written code, or with `Local`.
        ours: Function that does the task with dpjax.
        units: Number of audits in one call.
    """

    name: str
    goal: float | None
    floor: Callable[[], object]
    ours: Callable[[], object]
    units: int = 1


class Cost(NamedTuple):
    """CPU time of all threads and wall time of one call, in seconds."""

    cpu: float
    wall: float


def main() -> None:
    """Measure the requested rows, and print each row as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="audits,sweeps", help="comma-separated parts")
    parser.add_argument("--letters", default="".join(EXPERIMENTS), help="presets of the sweeps")
    parser.add_argument("--seconds", type=float, default=6.0, help="time limit per contender")
    options = parser.parse_args()
    use_all_cores()
    facts = machine()
    print(
        f"# Floors, {datetime.date.today()}\n\n{facts['processor']}, {facts['cores']} cores, ",
        end="",
    )
    print(", ".join(f"{name} {facts['versions'][name]}" for name in ("dpjax", "jax", "numpy")))
    print("Each time is the smallest of several calls in one process. Ratios compare CPU times.\n")
    parts = {"audits": audits, "sweeps": partial(sweeps, options.letters)}
    for part in options.only.split(","):
        beside = "NumPy" if part == "audits" else "Local"
        print(f"\n| {part} | {beside}, CPU ms | wall ms | dpjax, CPU ms | wall ms | ratio | goal |")
        print("|---|---|---|---|---|---|---|")
        for row in parts[part]():
            floor, ours = measured(row, options.seconds)
            times = [1e3 * time / row.units for time in (*floor, *ours)]
            cells = [f"{time:.2f}" for time in times]
            goal = "" if row.goal is None else f"{row.goal:g}"
            cells += [f"{ours.cpu / floor.cpu:.2f}", goal]
            print(f"| {row.name} | {' | '.join(cells)} |", flush=True)


def measured(row: Row, seconds: float) -> tuple[Cost, Cost]:
    """Call both contenders alternately; return their smallest times, without the first call."""
    times: list[list[Cost]] = [[], []]
    for place, call in enumerate((row.floor, row.ours)):
        _cost(call)
        times[place].append(_cost(call))
    spent, most = sum(cost.wall for (cost,) in times), 2 * seconds
    while spent < most and len(times[0]) < 200:
        for place, call in enumerate((row.floor, row.ours)):
            times[place].append(_cost(call))
            spent += times[place][-1].wall
    floor, ours = (Cost(*(min(column) for column in zip(*of, strict=True))) for of in times)
    return floor, ours


def _cost(call: Callable[[], object]) -> Cost:
    began, cpu = time.perf_counter(), time.process_time()
    jax.block_until_ready(call())
    return Cost(time.process_time() - cpu, time.perf_counter() - began)


# Audits


def release(key: jax.Array, count: jax.Array) -> jax.Array:
    """Add Laplace noise, as in a user's code."""
    return count + jax.random.laplace(key)


def on_host(count: float, num_samples: int, seed: int = 0) -> np.ndarray:
    """Add Laplace noise with NumPy; all draws are made in one call."""
    return count + np.random.default_rng(seed).laplace(0.0, 1.0, num_samples)


def one_by_one(count: float, rng: np.random.Generator) -> float:
    """Add Laplace noise with NumPy; each call returns one number."""
    return count + rng.laplace()


def audits() -> Iterator[Row]:
    """Yield rows of single audits, all with the default numbers of draws."""
    rng = np.random.default_rng(0)
    one, ten = [(0.0, 1.0)], [(0.0, 0.1 * k) for k in range(1, 11)]
    noise: Draw = lambda count, size: count + rng.laplace(0.0, 1.0, size)  # noqa: E731

    def of_pairs(pairs: Sequence[tuple], draw: Draw, best: Callable) -> Callable[[], float]:
        return partial(drawn_floor, pairs, draw, best)

    yield Row(
        "own JAX function, Laplace, one pair",
        2.0,
        of_pairs(one, noise, half_line),
        partial(dpjax.audit, release, one, claim=1.0),
    )
    yield Row(
        "own JAX function, Laplace, ten pairs",
        2.0,
        of_pairs(ten, noise, half_line),
        partial(dpjax.audit, release, ten, claim=1.0),
    )
    svt = SVT4.at_level(1.0)
    stacked = svt.standard_pairs()
    answers = list(zip(np.asarray(stacked.database), np.asarray(stacked.neighbor), strict=True))
    yield Row(
        "SVT4, ten pairs",
        None,
        of_pairs(answers, partial(_svt4, rng, svt), outcomes),
        partial(dpjax.audit, svt, claim=1.0),
    )
    yield Row(
        "Laplace of the catalogue",
        2.0,
        of_pairs(one, noise, half_line),
        partial(dpjax.audit, Laplace(1.0), one, claim=1.0),
    )
    yield Row(
        "host function, vectorised",
        2.0,
        of_pairs(one, noise, half_line),
        partial(_audit_host, one),
    )
    singly: Draw = lambda count, size: np.array([one_by_one(count, rng) for _ in range(size)])  # noqa: E731
    yield Row(
        "Python function, one number per call",
        None,
        of_pairs(one, singly, half_line),
        partial(dpjax.audit, one_by_one, one, claim=1.0),
    )
    yield Row(
        "Python function, sequential, 20,000 calls per side",
        None,
        lambda: [singly(count, 20_000) for count in one[0]],
        partial(dpjax.audit, one_by_one, one, claim=1.2, method=dpjax.Sequential(20_000)),
    )
    for size, goal in ((10_000_000, 2.0), (10_000, 6.0)):
        x, y = rng.laplace(0.0, 1.0, size), rng.laplace(1.0, 1.0, size)
        yield Row(
            f"recorded numbers, {size:.0e} per side",
            goal,
            partial(recorded_floor, (x, y), half_line),
            partial(_audit_recorded, x, y),
        )
    tilt = np.exp(np.linspace(0.0, 1.0, len(WORDS)))
    x, y = (rng.choice(WORDS, 1_000_000, p=p / p.sum()) for p in (tilt, tilt[::-1]))
    yield Row(
        "recorded labels, 200 kinds, 1e6 per side",
        1.5,
        partial(recorded_floor, (x, y), _labels),
        partial(_audit_recorded, x, y),
    )


def _audit_host(pairs: list) -> object:
    return dpjax.audit(dpjax.HostMechanism(on_host), pairs, claim=1.0)


def _audit_recorded(x: np.ndarray, y: np.ndarray) -> object:
    return dpjax.audit(dpjax.Recorded(x, y), claim=1.0)


def _svt4(rng: np.random.Generator, svt: SVT4, answers: np.ndarray, size: int) -> np.ndarray:
    """Draw the index of the first query above the noisy threshold; 10 if there is none."""
    threshold = svt.threshold + rng.laplace(0.0, 4 / svt.epsilon, size)
    noisy = answers + rng.laplace(0.0, 4 / (3 * svt.epsilon), (size, len(answers)))
    above = noisy >= threshold[:, None]
    return np.where(above.any(axis=1), above.argmax(axis=1), len(answers))


def drawn_floor(pairs: Sequence[tuple], draw: Draw, best: Callable) -> float:
    """Audit drawn outputs with the numbers of draws that `Events` uses for these pairs."""
    rounds = dpjax.Events().rounds(len(pairs))
    num_search = rounds.searched(len(pairs)) // len(pairs)
    found = [best(*(draw(side, num_search) for side in pair)) for pair in pairs]
    chosen = max(range(len(pairs)), key=lambda number: found[number][0])
    inside = found[chosen][1]
    first, second = (draw(side, rounds.num_confirm) for side in pairs[chosen])
    return _bound((first, second), inside)


def recorded_floor(sides: Sides, best: Callable) -> float:
    """Audit recorded outputs after a random split into search set and confirmation set."""
    rng = np.random.default_rng(0)
    splits = [rng.random(len(side), np.float32) < SEARCH_SHARE for side in sides]
    pairs = zip(sides, splits, strict=True)
    inside = best(*(side[split] for side, split in pairs))[1]
    first, second = (side[~split] for side, split in zip(sides, splits, strict=True))
    return _bound((first, second), inside)


Event = tuple[float, Callable[[np.ndarray], NDArray[np.bool_]]]
"""Estimated level of an event, and a function that tests which outputs are in the event."""


def half_line(x: np.ndarray, y: np.ndarray) -> Event:
    """Choose a half-line that ends at a quantile of the search set."""
    quantiles = np.linspace(0.0, 1.0, NUM_BINS + 1)[1:-1]
    edges = np.quantile(np.concatenate([x, y]), quantiles)
    counts = [
        np.bincount(np.searchsorted(edges, side, "right"), minlength=NUM_BINS) for side in (x, y)
    ]
    below = np.cumsum(counts, axis=1)[:, :-1]
    sizes = np.array([[len(x)], [len(y)]])
    levels = np.stack([_loss(k, sizes) for k in (below, sizes - below)])
    is_above, place = np.unravel_index(np.argmax(levels), levels.shape)
    edge = edges[place]
    return float(levels.max()), lambda z: z >= edge if is_above else z < edge


def outcomes(x: np.ndarray, y: np.ndarray) -> Event:
    """Choose a set of outcomes (integers) after sorting them by the ratio of their counts."""
    size = int(max(x.max(), y.max())) + 1
    counts = np.stack([np.bincount(side, minlength=size) for side in (x, y)])
    order = np.argsort((counts[0] + 0.5) / (counts[1] + 0.5))
    sums, sizes = np.cumsum(counts[:, order], axis=1)[:, :-1], np.array([[len(x)], [len(y)]])
    levels = _loss(sums, sizes)
    member = np.zeros(size, bool)
    member[order[: np.argmax(levels) + 1]] = True
    return float(levels.max()), lambda z: member[z]


def _labels(x: np.ndarray, y: np.ndarray) -> Event:
    """Choose a set of labels after sorting them by the ratio of their counts."""
    names, place = np.unique(np.concatenate([x, y]), return_inverse=True)
    level, inside = outcomes(place[: len(x)], place[len(x) :])
    chosen = names[inside(np.arange(len(names)))]
    return level, lambda z: np.isin(z, chosen)


def _loss(counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the absolute log ratio of two fractions, minus three standard errors."""
    x, y = (counts + 0.5) / (sizes + 1)
    return np.abs(np.log(x / y)) - 3 * np.sqrt((1 / (counts + 0.5)).sum(axis=0))


def _bound(sides: Sides, inside: Callable[[np.ndarray], NDArray[np.bool_]]) -> float:
    """Bound an event's loss by two Clopper-Pearson intervals, in the direction of the estimate."""
    counts, sizes = [np.count_nonzero(inside(z)) for z in sides], [len(z) for z in sides]
    if counts[0] * sizes[1] < counts[1] * sizes[0]:
        counts, sizes = counts[::-1], sizes[::-1]
    error = (1 - CONFIDENCE) / 2
    low = special.betaincinv(counts[0], sizes[0] - counts[0] + 1, error)
    high = special.betaincinv(counts[1] + 1, sizes[1] - counts[1], 1 - error)
    return float(np.log(low / high))


# Sweeps


def sweeps(letters: str) -> Iterator[Row]:
    """Yield a row for each preset, which compares `Events` with `Local` for the same draws."""
    for letter in letters:
        local = experiment(letter, LEVELS[-1])
        events = Entry(
            mechanism=local.mechanism,
            label=local.label,
            num_runs=local.num_runs,
            method=dpjax.Events(
                num_samples=local.method.num_samples, num_confirm=local.method.num_confirm
            ),
        )
        runs = range(200 if letter in "abcd" else 16)
        yield Row(
            f"{letter} {local.mechanism.name}",
            SWEEP_GOAL,
            partial(whole_batch, local, runs),
            partial(whole_batch, events, runs),
            len(runs),
        )


if __name__ == "__main__":
    main()
