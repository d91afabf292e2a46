"""delta of every individual over a grid of epsilons, in bounded memory.

One function per kind of density turns a block of individuals into something that answers for any
epsilon; the loop over blocks, the shortcut for individuals without effect and the search for the
epsilon at which delta vanishes are written once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dpjax.empirical._bandwidth import DensityChoice
from dpjax.empirical._ecdf import ecdf_pieces
from dpjax.empirical._joint import JointGrid
from dpjax.empirical._laplace import laplace_pieces
from dpjax.empirical._mixture import Mixture, mixture_pieces
from dpjax.empirical._pieces import MAX_EPSILON, hockey_stick, smallest_epsilon
from dpjax.empirical._samples import Progress, QuerySamples

# Numbers per temporary array: 8 MB each in float64.
_BLOCK_SIZE = 2**20

# [E] epsilons -> [rows, E] delta, and a bound or estimate of its error.
_Delta = Callable[[np.ndarray], tuple[np.ndarray, float]]


@dataclass(frozen=True, eq=False)
class Risk:
    """What a query gives away about every individual.

    Attributes:
        deltas: [individuals, E] failure probability of each individual.
        epsilon_at_zero: Smallest epsilon at which no individual's delta is above the tolerance.
        integration_error: Error of the integrals: 0 where they are in closed form.
    """

    deltas: np.ndarray
    epsilon_at_zero: float
    integration_error: float


def individual_risk(
    samples: QuerySamples,
    density: DensityChoice,
    epsilons: np.ndarray,
    *,
    tolerance: float = 1e-9,
    cells: int | None = None,
    progress: Progress | None = None,
) -> Risk:
    """Delta of every individual at every epsilon.

    Args:
        samples: Results of the query.
        density: Kernel and bandwidth of the densities with and without an individual.
        epsilons: [E] privacy levels, from 0 to 500.
        tolerance: What counts as delta = 0.
        cells: Cells per axis of the grid for joint queries.
        progress: Called with (individuals done, individuals).

    Returns:
        The risk. An individual without effect on any result has delta 0; one without whom the
        query is undefined in every database has delta 1.

    References:
        Burchard, Daoud, Dotterrer 2020, Algorithms 1 and 2.
    """
    full, without = samples.full, samples.without
    deltas = np.zeros((len(without), len(epsilons)))
    lost = np.all(np.any(np.isnan(without), axis=2), axis=1)
    deltas[lost] = 1.0
    affected = (without != full).any(axis=(1, 2)) & ~lost
    at_zero = float("inf") if lost.any() else 0.0
    error, done = 0.0, 0
    for rows, delta in _blocks(full, without, np.flatnonzero(affected), density, epsilons, cells):
        deltas[rows], block_error = delta(epsilons)
        error = max(error, block_error)
        at_zero = smallest_epsilon(_exceeds(delta, tolerance), at_zero)
        done += len(rows)
        if progress is not None:
            progress(done, int(affected.sum()))
    return Risk(deltas, at_zero, error)


def _exceeds(delta: _Delta, tolerance: float) -> Callable[[float], bool]:
    def exceeds(epsilon: float) -> bool:
        level = np.array([min(epsilon, MAX_EPSILON)])
        return bool((delta(level)[0] > tolerance).any())

    return exceeds


def _blocks(
    full: np.ndarray,
    without: np.ndarray,
    rows: np.ndarray,
    density: DensityChoice,
    epsilons: np.ndarray,
    cells: int | None,
) -> Iterator[tuple[np.ndarray, _Delta]]:
    if full.shape[1] == 1 and density.kernel == "laplace" and density.variable is None:
        num_pieces = 2 * len(full) + 1
        size = max(1, _BLOCK_SIZE // (num_pieces * max(len(epsilons), 4)))
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            yield block, _laplace(full[:, 0], without[block, :, 0], density.bandwidth[0])
        return
    one = {True: _ecdf, False: _mixture}[density.kernel == "ecdf"]
    for row in rows:
        second = without[row][~np.isnan(without[row]).any(axis=1)]
        if full.shape[1] > 1:
            yield np.array([row]), _joint(full, second, density, cells)
        else:
            yield np.array([row]), one(full[:, 0], second[:, 0], density)


def _laplace(first: np.ndarray, second: np.ndarray, bandwidth: float) -> _Delta:
    pieces = laplace_pieces(first, second, bandwidth)
    return lambda epsilon: (hockey_stick(pieces, epsilon), 0.0)


def _ecdf(first: np.ndarray, second: np.ndarray, density: DensityChoice) -> _Delta:
    pieces = ecdf_pieces(first, second)
    return lambda epsilon: (hockey_stick(pieces, epsilon), 0.0)


def _mixture(first: np.ndarray, second: np.ndarray, density: DensityChoice) -> _Delta:
    p, q = (Mixture(density.kernel, s, density.widths(s)) for s in (first, second))
    pieces = mixture_pieces(p, q)

    def delta(epsilon: np.ndarray) -> tuple[np.ndarray, float]:
        pieces.errors.clear()
        value = hockey_stick(pieces, epsilon)
        return value, max(pieces.errors, default=0.0)

    return delta


def _joint(
    first: np.ndarray, second: np.ndarray, density: DensityChoice, cells: int | None
) -> _Delta:
    grid = JointGrid(first, second, density.kernel, density.bandwidth, cells)

    def delta(epsilon: np.ndarray) -> tuple[np.ndarray, float]:
        value, error = grid.delta(epsilon)
        return value[None], float(error.max())

    return delta
