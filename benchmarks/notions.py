"""Measure bounds of every notion from one chain of nested sets: misses, medians, memory and time.

A miss is a bound above the true level. Misses are counted for distributions on finitely many cells
with known probabilities. The counts of the cells are drawn from multinomial distributions, so
thousands of audits take seconds. To save time, the levels are computed only for audits whose band
(a quarter circle for each set) does not contain the true probabilities, and for some others.

The script prints Markdown tables.
"""

import argparse
import math
import resource
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from scipy import stats

import dpjax
from benchmarks.rare import best_bound
from dpjax.inference import (
    Shared,
    band,
    chain_of,
    epsilon_of,
    gdp_of,
    known_band,
    largest,
    profile,
    renyi,
    trade_off,
)
from dpjax.inference._band import radius
from dpjax.inference._divergences import ZCDP_ORDERS
from dpjax.mechanisms import Gaussian, Laplace
from dpjax.notions import ChainCounts

ERROR, RUNS, SEARCH = 0.05, 2_000, 0.4
"""Error probability of a band, number of audits, and ratio of search to confirmation draws."""

_MASSES = scipy.special.expit(np.linspace(-8, 8, 67))
"""Quantile levels of the mixture at which the cells end; their log odds are equally spaced."""


def binned(law: Any, other: Any) -> np.ndarray:
    """Divide the real line into cells that end at quantiles of a mixture of two distributions.

    Args:
        law: SciPy distribution on the first side.
        other: SciPy distribution on the second side.

    Returns:
        Array [2, cells] with the probabilities of the cells on both sides.
    """
    x = np.linspace(-60, 60, 400_001)
    edges = np.interp(_MASSES, (law.cdf(x) + other.cdf(x)) / 2, x)
    edges = np.concatenate([[-np.inf], edges, [np.inf]])
    return np.stack([np.diff(side.cdf(edges)) for side in (law, other)])


class Mixture:
    """Mixture 0.9 N(0, 1) + 0.1 N(1, 1): Gaussian noise and a sampling probability of 0.1."""

    def cdf(self, x: Any) -> Any:
        """Return the cumulative distribution function of the mixture."""
        return 0.9 * stats.norm.cdf(x) + 0.1 * stats.norm.cdf(x - 1)


def svt_law(queries: np.ndarray) -> np.ndarray:
    """Return the output probabilities of the sparse vector technique for ten queries.

    The output is the index of the first noisy query above a noisy threshold 0, or 10 if there is
    no such query.
    """
    noise, width = np.linspace(-60, 60, 24_001, retstep=True)
    below = stats.laplace.cdf(noise[:, None] - queries, scale=2)
    still = np.cumprod(np.concatenate([np.ones((len(noise), 1)), below], axis=1), axis=1)
    each = np.concatenate([still[:, :-1] * (1 - below), still[:, -1:]], axis=1)
    found = (stats.laplace.pdf(noise, scale=4)[:, None] * each).sum(axis=0) * width
    return found / found.sum()


def laws() -> dict[str, np.ndarray]:
    """Return pairs of distributions, each an array [2, cells], by name."""
    flip = 1 / (1 + math.e)
    steps = np.arange(-40, 42)
    geometric = (1 - math.exp(-1)) / (1 + math.exp(-1)) * np.exp(-np.abs(steps))
    many = np.full((2, 200), 1 / (199 + math.exp(3)))
    many[0, 0] = many[1, 1] = math.exp(3) / (199 + math.exp(3))
    queries = np.repeat([0.0, 1.0], 5)
    return {
        **{f"Laplace {e:g}": binned(stats.laplace(0, 1 / e), stats.laplace(1, 1 / e))
           for e in (0.5, 1.0, 2.0)},
        **{f"Gauss {m:g}": binned(stats.norm(0, 1), stats.norm(m, 1)) for m in (0.5, 1.0, 2.0)},
        "subsampled Gauss": binned(stats.norm(0, 1), Mixture()),
        "geometric 1": np.stack([geometric[:-1], geometric[1:]]) / geometric[:-1].sum(),
        "SVT, 11 outcomes": np.stack([svt_law(queries), svt_law(queries[::-1])]),
        "200-ary response 3": many,
        "randomised response 1": np.array([[1 - flip, flip], [flip, 1 - flip]]),
    }  # fmt: skip


EPSILONS, DELTAS, ORDERS = np.linspace(0, 5, 26), (0.0, 1e-5, 1e-3, 0.05), (1.0, 2.0, 8.0, 32.0)
LEVELS = np.linspace(0, 1, 41)


def levels_of(found: Any, nodes: Any = None) -> np.ndarray:
    """Return the bounds of all notions that follow from a band; larger means less privacy."""
    divergences = renyi(found, np.concatenate([ORDERS, ZCDP_ORDERS]), nodes)
    rho = divergences[len(ORDERS) :] / ZCDP_ORDERS
    return np.concatenate([
        [largest(found, epsilon_of(delta)) for delta in DELTAS],
        [largest(found, gdp_of), largest(found, lambda p, q: p - q)],
        profile(found, EPSILONS).ravel(),
        1 - trade_off(found, LEVELS)[1],
        divergences[: len(ORDERS)],
        [rho.max()],
    ])  # fmt: skip


def truth_of(law: np.ndarray) -> np.ndarray:
    """Return the true values of `levels_of`; the integral for Renyi is split at the losses."""
    p, q = (np.maximum(side, 1e-300) for side in law)
    return levels_of(known_band(law), np.append(np.abs(np.log(p) - np.log(q)), 0.0))


def misses(
    law: np.ndarray, size: int, runs: int, seed: int, checked: int = 20, enough: float = 0.0
) -> np.ndarray:
    """Count how often a band misses the true probabilities, and how often a level is too high.

    Args:
        law: Array [2, cells] with the probabilities of the cells on both sides.
        size: N, the number of confirmation draws per side.
        runs: Number of audits.
        seed: Seed of the draws.
        checked: The levels are also computed for those of the first `checked` audits whose band
            contains the true probabilities.
        enough: If at most this fraction of the bands misses, their levels are not computed, because
            a level is too high only if the band misses. All of these audits are then counted.

    Returns:
        Fractions of audits [2]: the band misses the true probabilities of some set; some level is
        too high.
    """
    rng, truth, broken = np.random.default_rng(seed), truth_of(law), []
    for run in range(runs):
        search = np.stack([rng.multinomial(int(SEARCH * size), side) for side in law])
        chain = chain_of(search, size)
        inside = chain.tally(np.stack([rng.multinomial(size, side) for side in law]))
        f, g = (np.bincount(chain.place, s, chain.num_sets + 1).cumsum()[:-1] for s in law)
        f, g = np.minimum(f, 1), np.minimum(g, 1)
        # P(Bin(N, F) >= X) and P(Bin(N, G) <= Y).
        tails = (
            np.where(inside[0] > 0, scipy.special.bdtrc(inside[0] - 1, size, f), 1.0),
            scipy.special.bdtr(inside[1], size, g),
        )
        z = [np.maximum(-scipy.special.ndtri(tail), 0) for tail in tails]
        holds = np.all(z[0] ** 2 + z[1] ** 2 <= radius(chain.num_sets, ERROR) ** 2)
        if not holds:
            broken.append(inside)
        elif run < checked:
            assert not _too_high(inside, size, truth)
    share = len(broken) / runs
    if share <= enough:
        return np.array([share, share])
    return np.array([share, sum(_too_high(counts, size, truth) for counts in broken) / runs])


def _too_high(counts: np.ndarray, size: int, truth: np.ndarray) -> bool:
    """Return whether some level that follows from the counts is above its true value."""
    return bool(np.any(levels_of(band(counts, (size, size), ERROR)) > truth + 1e-9))


def coverage(arguments: argparse.Namespace) -> None:
    """Print the fractions of misses for all pairs of distributions, with two sample sizes."""
    print(f"{arguments.runs} audits per row, confidence {1 - ERROR:g}.\n")
    print("| distributions | N | band missed | some level too high |\n|---|---|---|---|")
    for number, (name, law) in enumerate(laws().items()):
        for size in (1_000, 50_000):
            shares = misses(law, size, arguments.runs, 100 * number + size)
            print(f"| {name} | {size} | {shares[0]:.2%} | {shares[1]:.2%} |", flush=True)


def svt(key: Any, queries: Any) -> Any:
    """Draw an output with the distribution `svt_law`."""
    first, second = jax.random.split(key)
    above = queries + 2 * jax.random.laplace(first, (10,)) >= 4 * jax.random.laplace(second)
    return jnp.where(above.any(), jnp.argmax(above), 10).astype(jnp.int32)


def medians(arguments: argparse.Namespace) -> None:
    """Print median bounds on epsilon, mu, the Renyi divergence of order 2, and rho."""
    queries, known = np.repeat([0.0, 1.0], 5), laws()
    queries_of_both = [(queries.tolist(), queries[::-1].tolist())]
    cases = [
        ("Laplace 1", "Laplace 1", Laplace(1.0), [(0.0, 1.0)], 50_000),
        ("Gauss 1", "Gauss 1", Gaussian(1.0), [(0.0, 1.0)], 1_000),
        ("Gauss 1", "Gauss 1", Gaussian(1.0), [(0.0, 1.0)], 50_000),
        ("SVT", "SVT, 11 outcomes", svt, queries_of_both, 1_000),
    ]
    asked = [dpjax.Epsilon(), dpjax.Gdp(), dpjax.Renyi(2), dpjax.Zcdp()]
    print("| mechanism | N | best event, equal sizes: epsilon, mu | best sizes | event "
          "| chain: epsilon, mu, D_2, rho |\n|---|---|---|---|---|---|")  # fmt: skip
    for name, law, mechanism, pairs, size in cases:
        method = dpjax.Events(int(SEARCH * size), size)
        terms: dict[str, Any] = {"method": method, "confidence": 1 - ERROR}
        chains, events = [], []
        for key in range(arguments.audits):
            found = dpjax.audit(mechanism, pairs, notion=dpjax.Profile(), key=key, **terms)
            chains.append([found.bound(notion).lower_bound for notion in asked])
            events.append([
                dpjax.audit(mechanism, pairs, notion=notion, key=key, **terms).lower_bound
                for notion in asked[:2]
            ])  # fmt: skip
        best = [
            [best_bound(known[law][None], fresh, notion.hypothesis()) for notion in asked[:2]]
            for fresh in (size, Shared(size))
        ]
        rows = [*best, np.median(events, axis=0), np.median(chains, axis=0)]
        texts = " | ".join(", ".join(f"{x:.3f}" for x in row) for row in rows)
        print(f"| {name} | {size} | {texts} |", flush=True)


def costs(arguments: argparse.Namespace) -> None:
    """Print the time to compute each notion from evidence, and the memory for many draws."""
    method = dpjax.Events(20_000, 50_000)
    found = dpjax.audit(Laplace(1.0), [(0.0, 1.0)], method=method, notion=dpjax.Profile())
    counts = found.evidence.counted.counts  # type: ignore[attr-defined]
    print("| notion | CPU ms, with the band | CPU ms, band in cache |\n|---|---|---|")
    number = 50_000
    for notion in (
        dpjax.Epsilon(1e-5), dpjax.Gdp(), dpjax.TotalVariation(), dpjax.Renyi(8), dpjax.Zcdp(),
        dpjax.Profile(), dpjax.TradeOff(),
    ):  # fmt: skip
        first, again = [], []
        for _ in range(5):
            # Use different evidence each time, because the band of the same evidence is cached.
            number += 1
            evidence = ChainCounts(counts, (50_000, number), (len(counts[0]), 0))
            for times in (first, again):
                # Measure only this process, so that other load does not count.
                start = time.process_time()
                evidence.state(notion, 0.95)
                times.append(1e3 * (time.process_time() - start))
        print(f"| {notion!r} | {np.median(first):.0f} | {np.median(again):.0f} |", flush=True)
    print("\n| N | seconds | peak memory, MiB |\n|---|---|---|")
    for size in (10**6, arguments.draws):
        start = time.perf_counter()
        terms = {
            "method": dpjax.Events(20_000, size),
            "execution": dpjax.Execution(layout="streamed"),
        }
        dpjax.audit(Laplace(1.0), [(0.0, 1.0)], notion=dpjax.Profile(), **terms)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"| {size:.0e} | {time.perf_counter() - start:.1f} | {most:.0f} |", flush=True)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the delta of N(0, 1) and N(mu, 1) at epsilon."""
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return float(stats.norm.cdf(a) - math.exp(epsilon) * stats.norm.cdf(b))


def mu_of(epsilon: float, delta: float) -> float:
    """Return the mu of Gaussian DP with this epsilon at delta; 0 if epsilon is not positive."""
    if epsilon <= 0:
        return 0.0
    return float(scipy.optimize.brentq(lambda mu: gaussian_delta(mu, epsilon) - delta, 1e-3, 50))


def rivals(arguments: argparse.Namespace) -> None:
    """Compare bounds and coverage with those of jax-privacy, for the same scores.

    Install it with `pip install jax-privacy`.
    """
    from jax_privacy import auditing  # type: ignore[import-not-found]

    delta, runs = 1e-5, arguments.audits
    kinds = {
        "N(1, 1) v N(0, 1)": (stats.norm(1, 1), stats.norm(0, 1), 4.377178, 1.0),
        "Laplace, shift 1": (stats.laplace(1, 1), stats.laplace(0, 1), 0.99998, 1.030064),
    }
    print("| scores | n per side | method | median epsilon (too high) | median mu (too high) |")
    print("|---|---|---|---|---|")
    for name, (inside, outside, epsilon, mu) in kinds.items():
        for size in (1_000, 10_000):
            found: dict[str, list[tuple[float, float]]] = {}
            for seed in range(runs):
                rng = np.random.default_rng(seed)
                x, y = (law.rvs(size, random_state=rng) for law in (inside, outside))
                theirs = auditing.CanaryScoreAuditor(x, y)
                sure = {"significance": ERROR, "delta": delta, "one_sided": False}
                split = auditing.Split(seed=seed)
                found.setdefault("jax-privacy, Clopper-Pearson, Bonferroni", []).append(
                    (theirs.epsilon_clopper_pearson(**sure), math.nan)
                )
                found.setdefault("jax-privacy, Clopper-Pearson, split", []).append(
                    (theirs.epsilon_clopper_pearson(**sure, threshold_strategy=split), math.nan)
                )
                assumed = float(theirs.epsilon_from_gdp(significance=ERROR, delta=delta))
                found.setdefault("jax-privacy, Gaussian privacy assumed", []).append(
                    (assumed, mu_of(assumed, delta))
                )
                terms = {"confidence": 1 - ERROR, "key": seed}
                ours = [
                    dpjax.audit(dpjax.Recorded(x, y), notion=notion, **terms).lower_bound
                    for notion in (dpjax.Epsilon(delta), dpjax.Gdp())
                ]
                found.setdefault("dpjax, named", []).append((ours[0], ours[1]))
                chain = dpjax.audit(dpjax.Recorded(x, y), notion=dpjax.Profile(), **terms)
                ours = [chain.bound(n).lower_bound for n in (dpjax.Epsilon(delta), dpjax.Gdp())]
                found.setdefault("dpjax, every notion at once", []).append((ours[0], ours[1]))
            for method, rows in found.items():
                texts = [
                    "" if np.isnan(column).any()
                    else f"{np.median(column):.3f} ({np.mean(np.array(column) > truth):.1%})"
                    for column, truth in zip(zip(*rows, strict=True), (epsilon, mu), strict=True)
                ]  # fmt: skip
                print(f"| {name} | {size} | {method} | {texts[0]} | {texts[1]} |", flush=True)


PARTS = {"misses": coverage, "medians": medians, "costs": costs, "rivals": rivals}


def main() -> None:
    """Run the given parts, or all parts if none is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--runs", type=int, default=RUNS, help="audits per row of misses")
    parser.add_argument("--audits", type=int, default=32, help="audits per row of medians")
    parser.add_argument("--draws", type=int, default=10**8, help="draws for the memory measurement")
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        PARTS[part](arguments)
        print()


if __name__ == "__main__":
    main()
