"""Computation, in bounded memory, of every individual's delta at each epsilon.

Individuals are processed in blocks. For each block, the density estimate (Laplace kernels, other
kernels, 'ecdf' or joint) yields a function that maps epsilons to deltas.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dpjax.empirical._density import Density
from dpjax.empirical._ecdf import ecdf_pieces
from dpjax.empirical._joint import JointGrid
from dpjax.empirical._laplace import laplace_pieces
from dpjax.empirical._mixture import Mixture, mixture_pieces
from dpjax.empirical._pieces import Pieces, hockey_stick, smallest_epsilon
from dpjax.empirical._samples import QuerySamples
from dpjax.empirical._user_queries import Progress

_BLOCK_SIZE = 2**20

_Delta = Callable[[np.ndarray], tuple[np.ndarray, float]]
"""Function from epsilons [E] to deltas [rows, E] and the error of the deltas."""


@dataclass(frozen=True, eq=False)
class Risk:
    """Privacy risk that a query causes for every individual.

    Attributes:
        deltas: Failure probability of each individual, [individuals, E].
        epsilon_at_zero: Smallest epsilon at which no individual's delta exceeds the tolerance.
        integration_error: Error of numerical integration in `deltas`; 0 if the integrals have a
            closed form.
    """

    deltas: np.ndarray
    epsilon_at_zero: float
    integration_error: float


def individual_risk(
    samples: QuerySamples,
    density: Density,
    epsilons: np.ndarray,
    *,
    tolerance: float | None = None,
    progress: Progress | None = None,
) -> Risk:
    """Compute the delta of every individual at every epsilon.

    Args:
        samples: Results of the query.
        density: Kernel and bandwidth of the density estimates with and without an individual.
        epsilons: Privacy levels [E], from 0 to 500.
        tolerance: Largest delta that is treated as 0 in `epsilon_at_zero`, or None to set
            `epsilon_at_zero` to NaN.
        progress: Callback `(individuals done, total number of individuals)`.

    Returns:
        The risk. If the removal of an individual changes no result, that individual has delta 0. An
        undefined result is a result of its own, which never occurs with the individual. If the
        removal leaves the query undefined in every database, the individual therefore has delta 1.

    References:
        Burchard, Daoud, Dotterrer 2020, Algorithms 1 and 2.
    """
    deltas = np.zeros((len(samples.without), len(epsilons)))
    undefined = np.any(np.isnan(samples.without), axis=2).mean(axis=1)
    lost = undefined == 1
    deltas[lost] = 1.0
    affected = np.flatnonzero((samples.without != samples.full).any(axis=(1, 2)) & ~lost)
    at_zero, error, done = (float("inf") if lost.any() else 0.0), 0.0, 0
    for rows, delta in _blocks(samples, affected, density, len(epsilons), undefined):
        deltas[rows], block_error = delta(epsilons)
        error = max(error, block_error)
        if tolerance is not None:
            at_zero = smallest_epsilon(_exceeds(delta, tolerance), at_zero)
        done += len(rows)
        if progress is not None:
            progress(done, len(affected))
    return Risk(deltas, float("nan") if tolerance is None else at_zero, error)


def _exceeds(delta: _Delta, tolerance: float) -> Callable[[float], bool]:
    return lambda epsilon: bool((delta(np.array([epsilon]))[0] > tolerance).any())


def _blocks(
    samples: QuerySamples,
    rows: np.ndarray,
    density: Density,
    num_epsilons: int,
    undefined: np.ndarray,
) -> Iterator[tuple[np.ndarray, _Delta]]:
    """Yield each block of individuals, with the function that computes the deltas of the block.

    For a Laplace kernel with a fixed bandwidth and a query that returns one number, a block holds
    many individuals. In all other cases, a block holds one individual.
    """
    full, without = samples.full, samples.without
    if full.shape[1] == 1 and density.kernel == "laplace" and density.scales:
        num_pieces = 2 * len(full) + 1
        size = max(1, _BLOCK_SIZE // (num_pieces * max(num_epsilons, 4)))
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            pieces = laplace_pieces(full[:, 0], without[block, :, 0], density.scales[0])
            yield block, _integral(pieces, undefined[block])
        return
    for row in rows:
        second = without[row][~np.isnan(without[row]).any(axis=1)]
        if full.shape[1] > 1:
            yield np.array([row]), _joint(full, second, density, float(undefined[row]))
            continue
        pair = (full[:, 0], second[:, 0])
        if density.kernel == "ecdf":
            pieces = ecdf_pieces(*pair)
        else:
            p, q = (Mixture(density.kernel, s, density.widths(s)) for s in pair)
            pieces = mixture_pieces(p, q)
        yield np.array([row]), _integral(pieces, undefined[row])


def _integral(pieces: Pieces, undefined: np.ndarray | float) -> _Delta:
    return lambda epsilon: (hockey_stick(pieces, epsilon, undefined), pieces.error)


def _joint(first: np.ndarray, second: np.ndarray, density: Density, undefined: float) -> _Delta:
    grid = JointGrid(first, second, density.kernel, density.scales, density.cells)

    def delta(epsilon: np.ndarray) -> tuple[np.ndarray, float]:
        value, error = grid.delta(epsilon, undefined)
        return value[None], float(error.max())

    return delta
