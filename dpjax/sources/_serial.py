"""Tests of independence between outputs, based on the order in which they were recorded.

For a given event, replace each output by 1 if it lies in the event, and by 0 otherwise. If the
outputs are independent draws from one distribution, all orders of the 0s and 1s are equally likely.
A run is a maximal sequence of consecutive 1s. The number of runs therefore has a hypergeometric
distribution (Wald and Wolfowitz). The number of runs has the same distribution after any
reordering, for example after a reordering that makes outputs at distance k adjacent. If the number
of runs is very small after this reordering, outputs at distance k depend on each other.

If outputs can be ranked, there is a second statistic: the ranks of each pair of outputs at distance
k are multiplied, and the products are added up. The mean and the variance of this sum over all
orders are known. The sum of products can reveal a weak dependence that the number of runs does not
reveal.

References:
    Wald, Wolfowitz (1940), "On a test whether two samples are from the same population"; (1943),
    "An exact test for randomness in the non-parametric case based on serial correlation". Geyer
    (1992), "Practical Markov chain Monte Carlo" (for the largest distance in a sum of
    correlations).
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from dpjax.core.wording import Doubt, Sentence, term
from dpjax.inference import few_runs_p_value
from dpjax.partitions import Outputs

_DISTANCES = (1, 2, 4, 8, 16, 32, 64)
"""Distances, in positions, at which the dependence between two outputs is tested."""

_CHANCE = 1e-6
"""Maximum probability that independent outputs cause a `Doubt`."""

_FARTHEST = 2**16
"""Maximum distance up to which correlations are summed, and maximum number of ranked outputs."""

_TWO_RUNS = 2

_LEAST_RANKS, _LEAST_VARIANCE = 100, 0.04
"""Minimum number of ranks, and minimum variance of ranks scaled to [0, 1], for a test that uses
products of ranks.
"""


class Advice(NamedTuple):
    """What the user can do if outputs are correlated, and if they are sorted or change once."""

    if_correlated: Sentence
    if_sorted: str


OF_RECORDINGS = Advice(
    Sentence(
        "Record every output in a separate run. If a Markov chain draws the outputs, pass a block "
        "length at which outputs from different blocks are almost independent: "
        f"{term('blocks=LENGTH', '--blocks LENGTH')}"
    ),
    "pass the outputs in the order in which they were drawn",
)

OF_TOSSED = Advice(
    Sentence(
        "If a fair coin was tossed before each call to choose its database, use "
        f"{term('method=Guesses()', '--method guesses')}, whose bound needs no independence"
    ),
    OF_RECORDINGS.if_sorted,
)

_OF_CALLS = Advice(
    Sentence(
        "Draw fresh noise in every call: no call may depend on earlier calls, for example through "
        "a cache, a fixed seed or the state of a Markov chain. If outputs cannot help but depend "
        "on earlier calls, as running times do, use "
        f"{term('method=Guesses(), or num_calls=20_000 in a test', '--method guesses')}"
    ),
    "no call may depend on the number of earlier calls, for example because a service refuses "
    "further calls",
)


def notes_of_order(
    name: str,
    splits: Sequence[np.ndarray],
    values: np.ndarray | None = None,
    *,
    advice: Advice = OF_RECORDINGS,
) -> list[Doubt]:
    """If outputs are correlated, return a doubt that states the effective sample size.

    Args:
        name: Name of the side.
        splits: Sequences of 0s and 1s in recorded order, bool [n] each. For example, 1 means that
            the output lies in an event.
        values: Values [n] to rank, such as the positions of the outputs' cells on a line, or None
            to omit the test of ranks.
        advice: What the user can do to get independent outputs.
    """
    ways: list[tuple[np.ndarray, Callable[[np.ndarray, list[int]], list[float]]]]
    ways = [(split, _chances_of_runs) for split in splits]
    if values is not None and len(values) >= _LEAST_RANKS:
        ranks = _ranks(values[:_FARTHEST])
        ways += [(ranks, _chances_of_ranks)] if ranks.var() >= _LEAST_VARIANCE else []
    found = []
    for number, (sequence, chances_of) in enumerate(ways):
        distances = [distance for distance in _DISTANCES if 4 * distance <= sequence.size]
        chances = chances_of(sequence, distances)
        found += [(c, distance, number) for c, distance in zip(chances, distances, strict=True)]
    if not found or min(found)[0] > _CHANCE / (2 * len(found)):
        return []
    if any(_num_runs(split) + _num_runs(~split) <= _TWO_RUNS for split in splits):
        return [
            Doubt(
                "The bound requires independent outputs, but independence cannot be checked for "
                f"{name}, because its values are sorted or change only once: {advice.if_sorted}."
            )
        ]
    _, distance, number = min(found)
    sequence = ways[number][0]
    correlation, size = _correlations(sequence), sequence.size
    centred = sequence - sequence.mean()
    # `_correlations` lacks the largest distance, which is a quarter of the number of outputs.
    shown = float(centred[:-distance] @ centred[distance:] / (centred @ centred))
    return [
        Doubt(
            f"{name}: successive outputs are correlated: the correlation at distance {distance} is "
            f"{shown:.2g} (for independent draws, the probability of such a value "
            f"is below {_CHANCE:g}). The {size} outputs contain about as much information as "
            f"{effective_size(correlation, size)} independent outputs, so the bound may exceed the "
            f"true level. {advice.if_correlated.marked}."
        )
    ]


def notes_of_calls(name: str, pilots: Sequence[Outputs]) -> list[Doubt]:
    """Return a doubt for each side whose first outputs depend on earlier outputs.

    Args:
        name: Name of a function that returns one output per call, for the doubt.
        pilots: First outputs of the database and of its neighbor, in the order of the calls.
    """
    found = []
    for side, outputs in zip(("database", "neighbor"), pilots, strict=True):
        # Rank vectors by the entry with the most different numbers, and labels by their indices.
        ranked = outputs.labels
        if not ranked.any():
            ranked = _most_varied(outputs.values)
        place = np.unique(ranked, return_inverse=True)[1]
        split = place >= max(np.median(place), 1)
        found += notes_of_order(f"{name} ({side})", [split], place, advice=_OF_CALLS)
    return found


def _most_varied(values: np.ndarray) -> np.ndarray:
    """Return the first column with the largest number of different numbers, float64 [n]."""
    best, most = values[:, 0], 0
    for column in values.T:
        if (number := np.unique(column).size) > most:
            best, most = column, number
        if most == len(values):  # No later column has more, so do not sort all columns.
            break
    return best


def effective_size(correlation: np.ndarray, size: int) -> int:
    """Return the effective sample size, that is, the equivalent number of independent outputs.

    Args:
        correlation: Autocorrelation of the outputs at each distance 0, 1, ..., float [distances].
        size: Number of outputs.
    """
    # Sum correlations in pairs of adjacent distances, up to the first pair that is not positive. In
    # a reversible chain, the true sums of pairs are positive, so all later sums are noise.
    pairs = correlation[: correlation.size // 2 * 2].reshape(-1, 2).sum(axis=1)
    last = int(np.argmax(pairs <= 0)) if np.any(pairs <= 0) else pairs.size
    return max(int(size / max(2 * pairs[:last].sum() - 1, 1.0)), 1)


def _correlations(happened: np.ndarray) -> np.ndarray:
    """Compute the autocorrelation of a sequence at each distance with Fourier transforms."""
    centred = happened - happened.mean()
    spectrum = np.abs(np.fft.rfft(centred, 1 << (2 * centred.size - 1).bit_length())) ** 2
    products = np.fft.irfft(spectrum)[: min(_FARTHEST, centred.size // 4)]
    return products / products[0]


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks of values, scaled to (0, 1). Equal values get their mean rank."""
    if values.dtype.kind == "u":
        # Cells are small numbers, which need not be sorted.
        places, counts = values, np.bincount(values)
    else:
        _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return ((np.cumsum(counts) - counts / 2) / len(values))[places]


def _chances_of_ranks(ranks: np.ndarray, distances: list[int]) -> list[float]:
    """Return an approximate p-value for each distance, based on sums of products of ranks.

    A large sum over all pairs of outputs at some distance indicates dependence.
    """
    centred, found = ranks - ranks.mean(), []
    size, variance = len(ranks), centred.var()
    for distance in distances:
        pairs = size - distance
        products = float(centred[:-distance] @ centred[distance:])
        mean = -pairs * variance / (size - 1)
        found.append(NormalDist().cdf(-(products - mean) / (variance * math.sqrt(pairs))))
    return found


def _num_runs(happened: np.ndarray) -> int:
    return int(happened[:1].sum() + np.count_nonzero(happened[1:] & ~happened[:-1]))


def _chances_of_runs(happened: np.ndarray, distances: list[int]) -> list[float]:
    """Return a p-value for each distance k, from the number of runs among outputs at distance k."""
    chances = []
    for distance in distances:
        size = happened.size // distance * distance
        ordered = happened[:size].reshape(-1, distance).T.ravel()
        ones = int(np.count_nonzero(ordered))
        constant = ones in (0, size)
        chances.append(1.0 if constant else few_runs_p_value(_num_runs(ordered), size, ones))
    return chances
