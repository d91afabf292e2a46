"""Compare mean bounds from few draws and weak evidence with the bounds of the best event.

The counts of the cells are drawn from known distributions. Each audit uses n search draws and 2.5 n
confirmation draws per side. The script prints a Markdown table.
"""

import argparse
import math
from typing import NamedTuple

import numpy as np
from scipy import stats

from dpjax.inference import Event, Ratio, Shared, choose_event, divided, event_lower_bound
from dpjax.inference._events import best_ratio, expected_bound

CONFIDENCE = 0.95
NUM_BINS = 66


class Case(NamedTuple):
    """A pair of distributions on finitely many cells.

    Attributes:
        name: Name in the table.
        law: Array [2, cells] with the probabilities of the cells on both sides.
        is_line: Whether the cells are consecutive intervals of the real line.
    """

    name: str
    law: np.ndarray
    is_line: bool = False


def laplace(epsilon: float) -> np.ndarray:
    """Return Laplace noise around 0 and 1, in bins that are equally likely around 0."""
    edges = stats.laplace.ppf(np.linspace(0, 1, NUM_BINS + 1), scale=1 / epsilon)
    return np.stack([np.diff(stats.laplace.cdf(edges, x, 1 / epsilon)) for x in (0, 1)])


def rare(p: float, q: float) -> np.ndarray:
    """Return two outcomes; the first has probability p on one side and q on the other."""
    return np.array([[p, 1 - p], [q, 1 - q]])


def response(size: int, epsilon: float) -> np.ndarray:
    """Return randomized response with `size` answers, for the true answers 0 and 1."""
    law = np.ones((2, size))
    law[[0, 1], [0, 1]] = math.exp(epsilon)
    return law / law.sum(axis=1, keepdims=True)


def halved(size: int, epsilon: float) -> np.ndarray:
    """Return labels; half of them are more likely on one side, and half on the other side."""
    p = np.repeat([math.exp(epsilon), 1.0], size // 2)
    return np.stack([p, p[::-1]]) / p.sum()


def shuffled(law: np.ndarray) -> np.ndarray:
    """Return the same labels in random order, because a rule might use the order to break ties."""
    return law[:, np.random.default_rng(0).permutation(law.shape[1])]


CASES = [
    Case("Laplace 0.2", laplace(0.2), True),
    Case("Laplace 1", laplace(1.0), True),
    Case("one outcome, 5% and 1.8%", rare(0.05, 0.018)),
    Case("one outcome, 1% and 0.135%", rare(0.01, 0.00135)),
    Case("200 labels, ratios e^0.5 and e^-0.5", shuffled(halved(200, 0.5))),
    Case("200-ary response, level 3", shuffled(response(200, 3.0))),
    Case("randomised response, level 0.2", response(2, 0.2)),
]


def bounds(law: np.ndarray, event: Event, size: int, seed: int) -> np.ndarray:
    """Return the bounds of events, each computed from fresh draws.

    Args:
        law: Array [2, cells] with the probabilities of the cells on both sides.
        event: Events with cells [runs, cells]. Each event determines how the draws are divided
            between the sides.
        size: Average number of draws per side.
        seed: Seed of the draws.

    Returns:
        Lower bounds [runs].
    """
    rng, found = np.random.default_rng(seed), np.empty(len(event.cells))
    shares = np.einsum("sc,rc->rs", law, event.cells).clip(0, 1)
    sides = np.stack([event.larger, 1 - event.larger], axis=1)
    shares = np.take_along_axis(shares, sides, axis=1)
    sizes = np.stack(divided(event.ratio, size), axis=1)
    counts = rng.binomial(sizes, shares)
    for first, second in np.unique(sizes, axis=0):
        same = np.all(sizes == (first, second), axis=1)
        larger, smaller = counts[same].T
        found[same] = event_lower_bound(larger, smaller, int(first), int(second), CONFIDENCE)
    return found


def searched(case: Case, num_search: int, runs: int) -> np.ndarray:
    """Return the bounds [runs] of events that are chosen by a search with `num_search` draws."""
    halves = np.random.default_rng(1).multinomial(num_search // 2, case.law, (2, runs, 2))
    size = 5 * num_search // 2
    lines = [np.arange(case.law.shape[1])] if case.is_line else []
    event = choose_event(halves[0], Shared(size), CONFIDENCE, judge=halves[1], positions=lines)
    return bounds(case.law, event, size, 2)


def known(case: Case, num_search: int, runs: int, *, shared: bool) -> float:
    """Return the mean bound of the best event, which is chosen using the exact distributions.

    The candidates are the sets of all cells whose likelihood ratio is above a threshold, and their
    complements. The candidate with the largest expected bound is chosen.

    Args:
        case: The pair of distributions.
        num_search: Number of search draws per side. The search is not run, but the number of
            confirmation draws is 2.5 times this number, as in `searched`.
        runs: Number of audits.
        shared: Whether the draws are divided between the sides in the best ratio for each set.
            Otherwise, both sides get the same number of draws.
    """
    size = 5 * num_search // 2
    order = np.argsort(-case.law[0] / case.law[1], kind="stable")
    first = np.arange(len(order))[:, None] > np.argsort(order)
    sets = np.concatenate([first[1:], ~first[1:]])
    larger = np.repeat([0, 1], len(order) - 1)
    shares, rows = sets @ case.law.T, np.arange(len(sets))
    p, q = shares[rows, larger], shares[rows, 1 - larger]
    fresh = Shared(size)
    expected = expected_bound(p, q, fresh if shared else size, CONFIDENCE, Ratio())
    best = int(np.argmax(expected))
    ratio = best_ratio(p, q, fresh, CONFIDENCE, Ratio())[best] if shared else 1.0
    event = Event(sets[best], larger[best], expected[best], ratio)
    same = Event.stacked([event] * runs, (runs,))
    return float(bounds(case.law, same, size, 3).mean())


def main() -> None:
    """Run the audits and print the table."""
    parser = argparse.ArgumentParser(prog="scripts/benchmark few", description=__doc__)
    parser.add_argument(
        "--runs", type=int, default=4000, help="audits with n = 100; a quarter of them for n = 2000"
    )
    runs = parser.parse_args().runs
    print(
        "| distribution | n | mean bound | standard error | best event, equal sizes | best sizes |"
    )
    print("|---|---|---|---|---|---|")
    for case in CASES:
        for num_search, share in ((100, 1), (2_000, 4)):
            found = searched(case, num_search, runs // share)
            error = found.std() / math.sqrt(len(found))
            numbers = [found.mean(), error]
            numbers += [
                known(case, num_search, runs // share, shared=shared) for shared in (False, True)
            ]
            texts = " | ".join(f"{number:.3f}" for number in numbers)
            print(f"| {case.name} | {num_search} | {texts} |", flush=True)


if __name__ == "__main__":
    main()
