"""Compare bounds from learned events with an oracle that knows the distributions.

Each pair of distributions is audited with `dpjax.HostMechanism`. An audit uses an average of 20,000
search outputs and 50,000 confirmation outputs per side. The oracle divides the true log-likelihood
ratio into the same number of cells and uses the same number of outputs. It divides the confirmation
outputs either equally between both sides, or as is best for its event. The script prints a Markdown
table with median and lowest bounds.
"""

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

import dpjax
from dpjax.inference import Shared, choose_event, divided, event_lower_bound

SEARCH, CONFIRM, CONFIDENCE = 20_000, 50_000, 0.95


class Law(NamedTuple):
    """A pair of output distributions.

    Attributes:
        draw: Function of (generator, n, side) that returns n outputs.
        ratio: Function of outputs that returns the log-likelihood ratios [n] of side 0 to side 1;
            None if unknown.
        delta: Delta of the notion.
        level: True epsilon; None if unknown.
        scores: Function of (generator, n, side) that returns the log-likelihood ratios of n outputs
            without drawing the outputs; None if outputs must be drawn.
    """

    draw: Callable[[np.random.Generator, int, int], Any]
    ratio: Callable[[Any], np.ndarray] | None
    delta: float = 0.0
    level: float | None = None
    scores: Callable[[np.random.Generator, int, int], np.ndarray] | None = None

    def drawn_scores(self, random: np.random.Generator, n: int, side: int) -> np.ndarray:
        """Return the log-likelihood ratios of n outputs."""
        if self.scores is not None:
            return self.scores(random, n, side)
        assert self.ratio is not None
        return self.ratio(self.draw(random, n, side))


def _gaussian(d: int) -> Law:
    """Return d standard normal numbers whose mean moves by a vector of length 1."""
    shift = 1 / math.sqrt(d)
    return Law(
        lambda r, n, side: r.normal(size=(n, d)) + shift * side,
        lambda x: -shift * x.sum(axis=1) + 0.5,
        1e-5,
    )


def _correlated() -> Law:
    def draw(r: np.random.Generator, n: int, side: int) -> np.ndarray:
        z = r.laplace(size=(n, 2))
        return np.stack([z[:, 0], z[:, 0] + 0.3 * z[:, 1] + 0.24 * side], axis=1)

    def ratio(x: np.ndarray) -> np.ndarray:
        noise = x[:, 1] - x[:, 0]
        return (np.abs(noise - 0.24) - np.abs(noise)) / 0.3

    return Law(draw, ratio, level=0.8)


def _releases() -> Law:
    return Law(
        lambda r, n, side: r.laplace(size=(n, 3)) + side,
        lambda x: (np.abs(x - 1) - np.abs(x)).sum(axis=1),
        level=3.0,
    )


def _rappor() -> Law:
    """Return twenty bits, each flipped at random; the side determines which one of two is set."""
    keep = 1 / (1 + math.exp(-2.04 / 2))

    def draw(r: np.random.Generator, n: int, side: int) -> np.ndarray:
        bits = np.zeros((n, 20), bool)
        bits[:, 7 if side else 3] = True
        return (bits ^ (r.random((n, 20)) > keep)).astype(float)

    return Law(draw, lambda x: (x[:, 3] - x[:, 7]) * 1.02, level=2.04)


def _bits() -> Law:
    """Return randomized response at level 0.3 for twelve bits; the first six equal the side."""

    def draw(r: np.random.Generator, n: int, side: int) -> np.ndarray:
        bits = np.zeros((n, 12), bool)
        bits[:, :6] = bool(side)
        return (bits ^ (r.random((n, 12)) > 1 / (1 + math.exp(-0.3)))).astype(float)

    return Law(draw, lambda x: 0.3 * (1 - 2 * x[:, :6]).sum(axis=1), level=1.8)


def _counts() -> Law:
    """Return five counts with geometric noise at level 0.7; three counts increase by 1."""

    def draw(r: np.random.Generator, n: int, side: int) -> np.ndarray:
        noise = r.geometric(1 - math.exp(-0.7), (2, n, 5))
        return (noise[0] - noise[1] + side * np.array([1, 1, 1, 0, 0])).astype(float)

    def ratio(x: np.ndarray) -> np.ndarray:
        return 0.7 * (np.abs(x[:, :3] - 1) - np.abs(x[:, :3])).sum(axis=1)

    return Law(draw, ratio, level=2.1)


def _clipped() -> Law:
    """Return three Laplace numbers that move by 1, 1/2 and 0 and are clipped to [-1, 2]."""
    shift = np.array([1.0, 0.5, 0.0])

    def draw(r: np.random.Generator, n: int, side: int) -> np.ndarray:
        return np.clip(r.laplace(size=(n, 3)) + side * shift, -1, 2)

    # The formula for densities also gives the log ratios of the probabilities of -1 and 2.
    return Law(draw, lambda x: (np.abs(x - shift) - np.abs(x)).sum(axis=1), level=1.5)


def _histogram() -> Law:
    """Return twenty counts with noise of level 1; one count changes by 2."""

    def draw(r: np.random.Generator, n: int, side: int) -> np.ndarray:
        x = r.laplace(size=(n, 20))
        x[:, 11] += 2 * side
        return x

    return Law(draw, lambda x: np.abs(x[:, 11] - 2) - np.abs(x[:, 11]), level=2.0)


def _order_statistics() -> Law:
    """Return five sorted Laplace numbers of scale 1/2; one number moves by 1 before sorting."""

    def draw(r: np.random.Generator, n: int, side: int) -> np.ndarray:
        x = r.laplace(scale=0.5, size=(n, 5))
        x[:, 0] += side
        return np.sort(x, axis=1)

    def ratio(x: np.ndarray) -> np.ndarray:
        # Each of the five numbers has moved with the same probability.
        terms = 2 * (np.abs(x) - np.abs(x - 1))
        return -logsumexp(terms, axis=1) + math.log(5)

    return Law(draw, ratio, level=2.0)


def _mixed() -> Law:
    """Return a label and three numbers; for one of five labels, the first number moves by 1.5."""

    def draw(r: np.random.Generator, n: int, side: int) -> np.ndarray:
        label = r.integers(0, 5, n)
        x = r.laplace(size=(n, 3))
        x[:, 0] += 1.5 * side * (label == 2)
        return np.concatenate([np.eye(5)[label], x], axis=1)

    def ratio(x: np.ndarray) -> np.ndarray:
        return x[:, 2] * (np.abs(x[:, 5] - 1.5) - np.abs(x[:, 5]))

    return Law(draw, ratio, level=1.5)


def _scale(d: int, size: float) -> Law:
    def ratio(x: np.ndarray) -> np.ndarray:
        return d * math.log(size) - (x**2).sum(axis=1) / 2 * (1 - 1 / size**2)

    return Law(lambda r, n, side: r.normal(size=(n, d)) * (size if side else 1), ratio, 1e-5)


def _heavy_tails() -> Law:
    """Return 300 numbers with Student's t distribution; each mean moves by 0.17."""
    shift = 0.17 * np.random.default_rng(300).choice([-1.0, 1.0], 300)

    def ratio(x: np.ndarray) -> np.ndarray:
        return 2 * np.sum(np.log1p((x - shift) ** 2 / 3) - np.log1p(x**2 / 3), axis=1)

    return Law(lambda r, n, side: r.standard_t(3, size=(n, 300)) + shift * side, ratio, 1e-5)


def _gradients() -> Law:
    unit = np.random.default_rng(100).normal(size=100)
    unit /= np.linalg.norm(unit)

    def draw(r: np.random.Generator, n: int, side: int) -> np.ndarray:
        x = 0.6 * r.normal(size=(n, 100))
        return x + side * (r.random(n) < 0.5)[:, None] * unit

    def ratio(x: np.ndarray) -> np.ndarray:
        return -np.logaddexp(0, (x @ unit - 0.5) / 0.36) + math.log(2)

    return Law(draw, ratio, 1e-5)


def _sign() -> Law:
    """Return three normal numbers whose product has a sign chosen by randomized response."""

    def draw(r: np.random.Generator, n: int, side: int) -> np.ndarray:
        x = np.abs(r.normal(size=(n, 3))) * r.choice([-1, 1], (n, 3))
        wanted = np.where(r.random(n) < 1 / (1 + math.exp(-1)), 1, -1) * (1 if side == 0 else -1)
        x[:, 2] *= np.sign(np.prod(x, axis=1)) * wanted
        return x

    return Law(draw, lambda x: np.sign(np.prod(x, axis=1)), level=1.0)


def _equal() -> Law:
    return Law(lambda r, n, side: r.laplace(size=(n, 10)), lambda x: x[:, 0], level=0.0)


def _wide(share: float) -> Law:
    """Return 5,000 standard normal numbers, a share of which move by a vector of length 3."""
    random = np.random.default_rng(5000)
    shift = random.choice([-1.0, 1.0], 5000) * (random.random(5000) < share)
    shift *= 3 / np.linalg.norm(shift)
    return _separated(lambda r, n, side: r.normal(size=(n, 5000)) + shift * side, shift)


def _with_factors() -> Law:
    """Return 1,200 normal numbers with 5 common factors; all numbers move."""
    random = np.random.default_rng(1200)
    loadings, shift = random.normal(size=(5, 1200)), random.choice([-1.0, 1.0], 1200)
    weights = shift - loadings.T @ np.linalg.solve(
        np.eye(5) + loadings @ loadings.T, loadings @ shift
    )
    size = 3 / math.sqrt(weights @ shift)

    def draw(r: np.random.Generator, n: int, side: int) -> np.ndarray:
        factors = r.normal(size=(n, 5)) @ loadings
        return r.normal(size=(n, 1200)) + factors + size * shift * side

    return _separated(draw, size * weights)


def _walk() -> Law:
    """Return 300 steps of a random walk; the mean of one step moves by 3."""
    change = np.zeros(300)
    change[[149, 150]] = [-3, 3]

    def draw(r: np.random.Generator, n: int, side: int) -> np.ndarray:
        steps = r.normal(size=(n, 300))
        steps[:, 150] += 3 * side
        return np.cumsum(steps, axis=1)

    return _separated(draw, change)


def _separated(draw: Callable[..., np.ndarray], weights: np.ndarray) -> Law:
    """Return normal vectors, of which a linear score separates both sides by 3 deviations."""
    return Law(
        draw,
        lambda x: -(x @ weights) + 4.5,
        1e-5,
        # The products with the weights are normal, with mean 9 or 0 and standard deviation 3.
        scores=lambda r, n, side: r.normal(4.5 - 9 * side, 3, n),
    )


LAWS = {
    "Gaussian shift, 10-d, mu 1 *": _gaussian(10),
    "correlated Laplace, level .8": _correlated(),
    "3 Laplace releases, level 3": _releases(),
    "RAPPOR, 20 bits, level 2.04": _rappor(),
    "6 of 12 bits, level 1.8": _bits(),
    "5 geometric counts, 2.1": _counts(),
    "3 clipped numbers, 1.5": _clipped(),
    "histogram, 1 of 20 wrong, 2": _histogram(),
    "order statistics of 5, 2": _order_statistics(),
    "label + 3 numbers, 1.5": _mixed(),
    "scale 1.3, 5-d *": _scale(5, 1.3),
    "scale 1.12, 300-d *": _scale(300, 1.12),
    "300 numbers with t3 noise *": _heavy_tails(),
    "gradient sum, 100-d *": _gradients(),
    "all of 5,000 numbers, mu 3 *": _wide(1.0),
    "5% of 5,000 numbers, mu 3 *": _wide(0.05),
    "1,200 numbers, 5 factors, mu 3 *": _with_factors(),
    "random walk of 300 steps, mu 3 *": _walk(),
    "sign of x1 x2 x3, level 1": _sign(),
    "equal, 10-d": _equal(),
}
"""Map from a name to a pair of distributions; a name with * has delta 1e-5."""


def learned(law: Law, seed: int, confidence: float = CONFIDENCE, scale: float = 1.0) -> Any:
    """Run one audit.

    Args:
        law: Pair of distributions.
        seed: Key of the audit.
        confidence: Confidence of the bound.
        scale: Factor that multiplies the numbers of draws.
    """
    return dpjax.audit(
        dpjax.HostMechanism(_seeded(law)),
        [(0, 1)],
        method=dpjax.Events(int(scale * SEARCH), int(scale * CONFIRM)),
        notion=dpjax.Epsilon(law.delta),
        confidence=confidence,
        key=seed,
    )


def _seeded(law: Law) -> Callable[..., Any]:
    def outputs(side: int, num_samples: int, seed: int = 0) -> Any:
        return law.draw(np.random.default_rng(seed), num_samples, side)

    return outputs


def oracle(law: Law, seed: int, scale: float = 1.0) -> tuple[float, float]:
    """Return the oracle's bounds, which use events of the true likelihood ratio.

    Args:
        law: Pair of distributions.
        seed: Seed of the oracle's outputs.
        scale: Factor that multiplies the numbers of draws.

    Returns:
        Bound with equal sample sizes on both sides, and bound with the best sample sizes.
    """
    random = np.random.default_rng([seed, 7])
    search, confirm = int(scale * SEARCH), int(scale * CONFIRM)
    # With the best sizes, one side gets up to 16/9 times as many outputs as with equal sizes.
    scores = [
        [law.drawn_scores(random, n, side).astype(np.float32) for side in (0, 1)]
        for n in (search, 16 * confirm // 9 + 1)
    ]
    tails = 0.5 ** np.arange(6, 12)
    levels = np.concatenate([tails, np.arange(1, 48) / 48, 1 - tails])
    edges = np.unique(np.quantile(np.concatenate(scores[0]), levels, method="nearest"))
    cells = [[np.searchsorted(edges, part, side="right") for part in stage] for stage in scores]
    size = len(edges) + 1
    halves = [
        np.stack([np.bincount(part[h::2], minlength=size) for part in cells[0]]) for h in (0, 1)
    ]
    hypothesis = dpjax.Epsilon(law.delta).hypothesis()
    bounds = []
    for fresh in (confirm, Shared(confirm)):
        event = choose_event(
            halves[0], fresh, CONFIDENCE, judge=halves[1], hypothesis=hypothesis,
            positions=[np.arange(size)], coarser=[np.arange(size) // 3],
        )  # fmt: skip
        # The first size belongs to the side on which the event is more likely.
        first, second = (int(number) for number in divided(event.ratio, confirm))
        likelier, other = cells[1][int(event.larger)], cells[1][1 - int(event.larger)]
        counts = (int(event.cells[part].sum()) for part in (likelier[:first], other[:second]))
        bound = event_lower_bound(*counts, first, second, CONFIDENCE, hypothesis)
        bounds.append(float(bound))
    return bounds[0], bounds[1]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of the numbers of draws")
    parser.add_argument("--only", default="", help="substring of the names")
    arguments = parser.parse_args()
    columns = (
        "distributions | oracle, equal sizes | best sizes | learned | ratio | lowest | seconds | "
        "event"
    )
    print(f"| {columns} |\n|{'---|' * 8}")
    for name, law in LAWS.items():
        if arguments.only not in name:
            continue
        start = time.process_time()
        seeds, scale = range(arguments.seeds), arguments.scale
        results = [learned(law, seed, scale=scale) for seed in seeds]
        seconds = (time.process_time() - start) / arguments.seeds
        bounds = [result.lower_bound for result in results]
        bound, lowest = np.median(bounds), min(bounds)
        equal, best = np.median([oracle(law, seed, scale) for seed in seeds], axis=0)
        ratio = "" if best == 0 else f"{bound / best:.3f}"
        event = results[0].witness.event
        numbers = " | ".join(f"{number:.3f}" for number in (equal, best, bound))
        print(
            f"| {name} | {numbers} | {ratio} | {lowest:.3f} | {seconds:.1f} | {event} |", flush=True
        )


if __name__ == "__main__":
    main()
