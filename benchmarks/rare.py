"""Measure bounds for rare events and similar pairs, and compare them with the best event.

The actual search, choice and bound run on counts that are drawn from known distributions, which
allows thousands of audits per minute. The script prints Markdown tables with means and quantiles of
bounds, and with their coverage.
"""

import argparse
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.few import response, shuffled
from benchmarks.guarantees import allowed_from
from dpjax import Events, mechanisms, notions, reference
from dpjax.core.types import FiniteSpace
from dpjax.inference import Ratio, Shared, known_band
from dpjax.inference._events import expected_bound
from dpjax.inference._hypotheses import Hypothesis
from dpjax.notions import Notion, Terms
from dpjax.partitions import Encoder, Search, encode_drawn, lay
from dpjax.sources import AnyPairs, Marked, Request, Source, Tally

CONFIDENCE = 0.95


class LawSource(Source):
    """Source that draws counts from known distributions instead of outputs.

    Equal distributions are treated as the same database.

    Args:
        laws: Probabilities [pairs, 2, outcomes].
        ordered: Whether the outcomes are ordered, so that adjacent outcomes are similar.
        seed: Seed of the counts.
    """

    def __init__(self, laws: NDArray[np.float64], *, ordered: bool = False, seed: int = 0):
        space, encoder = FiniteSpace(laws.shape[-1]), Encoder("the law")
        outcomes = encode_drawn(encoder, np.arange(space.size), space)
        self.cells = lay(
            [outcomes] * 2, encoder.names, outcomes=space.size, ordered=ordered, whole=True
        )
        self.laws = np.zeros((*laws.shape[:2], self.cells.size))
        self.laws[..., self.cells.index(outcomes)] = laws / laws.sum(axis=-1, keepdims=True)
        self.seed = seed

    @property
    def name(self) -> str:
        """See `Source`."""
        return "law"

    @contextmanager
    def opened(self, pairs: Any, request: Request) -> Iterator["_OpenedLaw"]:
        """See `Source`; `pairs` is ignored, because the distributions determine the pairs."""
        yield _OpenedLaw(self, request)


class _OpenedLaw:
    """Counts of a batch of runs; see `dpjax.sources.Opened`."""

    def __init__(self, source: LawSource, request: Request):
        self._laws, self._cells = source.laws, source.cells
        self._runs, self._rng = len(request.runs), np.random.default_rng(source.seed)
        self._rounds = request.rounds(len(self._laws))
        self.tally, self.num_confirm = Tally(), self._rounds.num_confirm
        self.pairs = AnyPairs.of([(first, second) for first, second in np.round(self._laws, 12)])
        self.shares, self.region, self.settings, self.notes = True, "all outputs", {}, []

    def _halves(self, draws: int, laws: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return counts [..., half, side, cells] for distributions [..., side, cells]."""
        parts = [self._rng.multinomial(part, laws) for part in (draws - draws // 2, draws // 2)]
        return np.stack(parts, axis=-3)

    def search(self) -> list[Search]:
        """See `dpjax.sources.Opened`."""
        every = np.repeat(self._laws[:, None], self._runs, axis=1)
        halves = self._halves(self._rounds.num_samples, every)
        return [Search(self._cells, of_pair, None) for of_pair in halves]

    def search_again(self, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """See `dpjax.sources.Opened`."""
        return self._halves(self._rounds.num_again, self._laws[kept])

    def count(self, marked: Marked) -> NDArray[np.int64]:
        """See `dpjax.sources.Opened`."""
        sizes, counts = marked.stops(self.num_confirm), []
        for pair, marks, of_run in zip(marked.pairs, marked.marks, sizes, strict=True):
            shares = [np.bincount(marks, law, marked.num_marks) for law in self._laws[pair]]
            counts.append(
                [
                    self._rng.multinomial(size, share / share.sum())
                    for size, share in zip(of_run, shares, strict=True)
                ]
            )
        return np.array(counts)


def audits(
    source: LawSource, method: Events, runs: int, notion: Notion, distance: int = 1
) -> NDArray[np.float64]:
    """Return the lower bounds [runs] of audits of known distributions."""
    terms = Terms(notion, None, CONFIDENCE, 1, 0, distance=distance)
    rows = method.run(source, None, terms, np.arange(runs, dtype=np.int32)).rows()
    return np.array([row.statement.lower_bound for row in rows])


def law_of(mechanism: Any) -> NDArray[np.float64]:
    """Return the distributions [pairs, 2, outcomes] of a mechanism with finitely many outcomes."""
    pairs, outcomes = mechanism.standard_pairs(), np.arange(mechanism.output_space.size)
    sides = zip(pairs.database, pairs.neighbor, strict=True)
    densities = [[reference.log_density(mechanism, x, outcomes) for x in pair] for pair in sides]
    return np.exp(np.array(densities))


def best_bound(
    laws: NDArray[np.float64],
    num_confirm: int | Shared,
    hypothesis: Hypothesis = Ratio(),  # noqa: B008 (frozen)
) -> float:
    """Return the largest expected bound of any pair and event, given the distributions.

    Args:
        laws: Probabilities [pairs, 2, outcomes].
        num_confirm: Number of confirmation draws per side. A `Shared` size is divided between both
            sides in the best ratio for each event.
        hypothesis: Hypothesis of the notion.
    """
    best = 0.0
    for law in laws:
        for p, q in (law, law[::-1]):
            order = np.argsort(-p / np.maximum(q, 1e-300))
            sets = np.cumsum(p[order])[:-1], np.cumsum(q[order])[:-1]
            found = expected_bound(*sets, num_confirm, CONFIDENCE, hypothesis)
            best = max(best, float(found.max()))
    return best


SPARSE = {
    "SVT1 at 1": mechanisms.SVT1(epsilon=1.0),
    "SVT2 at 1": mechanisms.SVT2(epsilon=1.0),
    "SVT4 at 1": mechanisms.SVT4.at_level(1.0),
    "report noisy max at 1": mechanisms.ReportNoisyMax(epsilon=1.0),
}
"""Map from a name to a mechanism with ten pairs, most of which share a database."""


def means(runs: int) -> None:
    """Print bounds of ten pairs with the default number of draws, and those of the best event."""
    print("| mechanism | mean | standard error | 5% quantile | best event, equal sizes, 56% "
          "| best sizes, 56% | best sizes, all draws |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for name, mechanism in SPARSE.items():
        laws, method = law_of(mechanism), Events()
        found = audits(LawSource(laws), method, runs, notions.Epsilon())
        rounds = method.rounds(len(laws))
        part, total = rounds.num_confirm, rounds.num_confirm + rounds.searched(len(laws))
        known = [best_bound(laws, size) for size in (part, Shared(part), Shared(total))]
        numbers = (found.mean(), found.std() / math.sqrt(runs), np.quantile(found, 0.05), *known)
        print(f"| {name} | {' | '.join(f'{x:.4f}' for x in numbers)} |", flush=True)


class Case(NamedTuple):
    """Known distributions, the settings of their audits, and the true level."""

    laws: NDArray[np.float64]
    method: Events
    notion: Notion
    ordered: bool = False
    distance: int = 1
    level: float | None = None


def _two(p: float, q: float) -> NDArray[np.float64]:
    return np.array([[[p, 1 - p], [q, 1 - q]]])


def cases() -> dict[str, Case]:
    """Return the cases of the coverage table, by name."""
    pure, small = notions.Epsilon(), Events(num_draws=20_000)
    shifts = np.concatenate([
        _coarse(stats.laplace(), stats.laplace(shift)) for shift in np.arange(1, 11) / 10
    ])  # fmt: skip
    same = np.repeat(shuffled(response(50, 1.0))[None], 10, axis=0)
    one = np.repeat(_coarse(stats.laplace(), stats.laplace())[:, :1], 2, axis=1).repeat(10, axis=0)
    one[4] = shifts[-1]
    laplace, gauss = (_coarse(kind(), kind(2)) for kind in (stats.laplace, stats.norm))
    few = Events(1_000, 2_000)
    found = {
        "SVT1, ten pairs": Case(law_of(SPARSE["SVT1 at 1"]), Events(), pure),
        "SVT4, ten pairs, few draws": Case(law_of(SPARSE["SVT4 at 1"]), small, pure),
        "noisy max, ten pairs": Case(law_of(SPARSE["report noisy max at 1"]), small, pure),
        "Laplace, ten shifts": Case(shifts, small, pure, True),
        "Laplace, one pair of ten differs": Case(one, small, pure, True),
        "50 labels, ten equal pairs": Case(same, small, pure),
        "2% and .05%": Case(_two(0.02, 0.0005), few, pure),
        "1% and .135%": Case(_two(0.01, 0.00135), few, pure),
        "randomised response .2": Case(response(2, 0.2)[None], Events(100, 250), pure),
        "Gauss 1, delta 1e-5": Case(
            _coarse(stats.norm(), stats.norm(1)), few, notions.Epsilon(1e-5), True
        ),
        "Cauchy, shift 1": Case(_coarse(stats.cauchy(), stats.cauchy(1)), few, pure, True),
        "Gauss, scale 2, delta 1e-3": Case(
            _coarse(stats.norm(), stats.norm(0, 2)), few, notions.Epsilon(1e-3), True
        ),
    }
    for notion in (
        pure, notions.Epsilon(1e-3), notions.Gdp(), notions.TotalVariation(), notions.Renyi(8),
        notions.Zcdp(), notions.Profile(),
    ):  # fmt: skip
        # The divergences of one record are known in closed form. For the other notions, the level
        # is computed from the probabilities of the cells.
        level = {"renyi": 4.0, "zcdp": 0.5}.get(notion.name)
        if level is None:
            found[f"Laplace 2, distance 2, {notion!r}"] = Case(laplace, few, notion, True, 2)
        found[f"Gauss 2, distance 2, {notion!r}"] = Case(gauss, few, notion, True, 2, level)
    return found


def _coarse(law: Any, other: Any) -> NDArray[np.float64]:
    """Return the probabilities [1, 2, 41] of bins; the bins between -4 and 5.75 have width 1/4."""
    edges = np.concatenate([[-np.inf], np.arange(-4, 6, 0.25), [np.inf]])
    return np.stack([np.diff(side.cdf(edges)) for side in (law, other)])[None]


def coverage(runs: int) -> None:
    """Print the coverage: the fraction of bounds that are at most the true level."""
    print(f"\n{runs} audits per row, required coverage {allowed_from(runs):.4f}.\n\n"
          "| distributions | level | coverage | mean bound |\n|---|---|---|---|")  # fmt: skip
    for number, (name, case) in enumerate(cases().items()):
        level = case.level
        if level is None:
            level = max(case.notion.of_band(known_band(law), case.distance) for law in case.laws)
        source = LawSource(case.laws, ordered=case.ordered, seed=number)
        found = audits(source, case.method, runs, case.notion, case.distance)
        held = np.mean(found <= level + 1e-9)
        print(f"| {name} | {level:.4f} | {held:.4f} | {found.mean():.4f} |", flush=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="scripts/benchmark rare", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=["means", "coverage", []])
    parser.add_argument("--runs", type=int, default=2000, help="audits per row")
    arguments = parser.parse_args()
    for part in arguments.parts or ("means", "coverage"):
        {"means": means, "coverage": coverage}[part](arguments.runs)


if __name__ == "__main__":
    main()
