"""MPL in NumPy and SciPy, as a good statistician would write it, for comparison with sweeps.

The code uses vectorized draws of NumPy's Generator, linear binning and one FFT for densities, and
bincount for frequencies. The sample sizes n and N, pairs, floor, bandwidth rule and kind of bound
are those of the paper's experiments. The code does not use dpjax for any computation, so it also
serves as an independent check of the bounds.

References:
    Askin, Kutta, Dette (2022), Algorithms 3 and 4, section V.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import brentq
from scipy.special import ndtri

from dpjax.sweeps import Entry

NUM_CELLS = 4096


def lower_bound(entry: Entry, rng: np.random.Generator, confidence: float = 0.95) -> float:
    """Run MPL once.

    Args:
        entry: One of the experiments a to h.
        rng: Random generator for all draws.
        confidence: Confidence of the bound.

    Returns:
        Lower bound LB from the normal quantile, at least 0.
    """
    method = entry.method
    letter = entry.label[0]
    draw = DRAWS[letter]
    sides = (np.asarray(side) for side in (entry.pairs.database, entry.pairs.neighbor))
    pairs = list(zip(*sides, strict=True))
    search = _search_reals if letter in "acd" else _search_outcomes
    found = [
        search(entry, [draw(entry, rng, side, method.num_samples) for side in pair])
        for pair in pairs
    ]
    best = int(np.argmax([loss for loss, _, _ in found]))
    _, place, spread = found[best]
    fresh = [draw(entry, rng, side, method.num_confirm) for side in pairs[best]]
    if spread is None:
        at_place = np.array([np.mean(sample == place) for sample in fresh])
        variance = np.sum(1 / np.maximum(at_place, method.floor) - 1)
        error = np.sqrt(variance / method.num_confirm)
    else:
        bandwidth = spread * method.num_confirm ** -(0.2 + method.confirm_undersmoothing)
        height = 1 / (np.sqrt(2 * np.pi) * bandwidth)
        values = [height * np.exp(-0.5 * ((s - place) / bandwidth) ** 2) for s in fresh]
        at_place = np.array([np.mean(v) for v in values])
        roughness = 1 / (2 * np.sqrt(np.pi))
        variance = roughness * np.sum(1 / np.maximum(at_place, method.floor)) / bandwidth
        error = np.sqrt(variance / method.num_confirm)
    f, g = np.maximum(at_place, method.floor)
    return max(abs(np.log(f / g)) + ndtri(1 - confidence) * error, 0.0)


def _search_outcomes(entry: Entry, samples: list) -> tuple[float, int, None]:
    """Return the largest loss of a pair, the outcome that attains it, and None."""
    size = entry.region.size
    shares = [np.bincount(s, minlength=size) / len(s) for s in samples]
    f, g = (np.maximum(share, entry.method.floor) for share in shares)
    loss = np.abs(np.log(f / g))
    place = int(np.argmax(loss))
    return loss[place], place, None


def _search_reals(entry: Entry, samples: list) -> tuple[float, float, float]:
    """Return the largest loss of a pair, the point that attains it, and Silverman's spread."""
    low, high = float(entry.region.low[0]), float(entry.region.high[0])
    spreads = [_spread(s) for s in samples]
    widths = [spread * len(s) ** -0.2 for spread, s in zip(spreads, samples, strict=True)]
    nodes = np.linspace(low - 6 * max(widths), high + 6 * max(widths), NUM_CELLS)
    inside = (nodes >= low) & (nodes <= high)
    f, g = (
        np.maximum(binned_density(s, nodes, width)[inside], entry.method.floor)
        for s, width in zip(samples, widths, strict=True)
    )
    loss = np.abs(np.log(f / g))
    place = int(np.argmax(loss))
    return loss[place], float(nodes[inside][place]), float(np.mean(spreads))


def binned_density(sample: np.ndarray, nodes: np.ndarray, bandwidth: float) -> np.ndarray:
    """Compute a Gaussian kernel density estimate by linear binning and one FFT.

    Args:
        sample: Sample [n].
        nodes: Equally spaced points [m].
        bandwidth: Bandwidth h.

    Returns:
        Density estimate at the points [m].
    """
    spacing = nodes[1] - nodes[0]
    place = (sample - nodes[0]) / spacing
    place = place[(place >= 0) & (place < len(nodes) - 1)]
    left = place.astype(np.int64)
    share = place - left
    m = len(nodes)
    weights = np.bincount(left, 1 - share, m) + np.bincount(left + 1, share, m)
    reach = int(np.ceil(6 * bandwidth / spacing))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * spacing / bandwidth) ** 2)
    kernel /= np.sqrt(2 * np.pi) * bandwidth * len(sample)
    size = next_fast_len(m + 2 * reach, real=True)
    total = irfft(rfft(weights, size) * rfft(kernel, size), size)[reach : reach + m]
    return np.maximum(total, 0)


def _spread(sample: np.ndarray) -> float:
    lower, upper = np.percentile(sample, [25, 75])
    return 0.9 * min(np.std(sample, ddof=1), (upper - lower) / 1.34)


def _laplace(entry, rng, database, size):
    return rng.laplace(database, 1 / float(entry.mechanism.epsilon), size)


def _report_noisy_max(entry, rng, answers, size):
    scale = 2 / float(entry.mechanism.epsilon)
    return np.argmax(rng.laplace(answers, scale, (size, len(answers))), axis=1)


def _continuous_noisy_max(entry, rng, answers, size):
    scale = len(answers) / float(entry.mechanism.epsilon)
    return np.max(rng.laplace(answers, scale, (size, len(answers))), axis=1)


def _exponential(entry, rng, statistic, size):
    rate = _rate(float(entry.mechanism.epsilon))
    below = -np.expm1(-rate * statistic)
    u = rng.random(size) * (1 + below)
    magnitude = rng.random(size)
    down = statistic + np.log1p(-magnitude * below) / rate
    return np.where(u <= below, np.maximum(down, 0), statistic - np.log1p(-magnitude) / rate)


@lru_cache
def _rate(epsilon: float) -> float:
    """Return the rate lambda for which the exponential mechanism has the level epsilon."""

    def excess(rate):
        return rate + np.log(2 - np.exp(-2 * rate)) - np.log(2 - np.exp(-rate)) - epsilon

    return float(brentq(excess, epsilon / 2, epsilon))


def _sparse_vector(entry, rng, answers, size):
    noise, unit = entry.mechanism.noise, 1 / float(entry.mechanism.epsilon)
    threshold = entry.mechanism.threshold + rng.laplace(0, noise.threshold * unit, (size, 1))
    shape = (size, len(answers))
    values = rng.laplace(answers, noise.query * unit, shape) if noise.query else answers[None, :]
    positive = values >= threshold
    if noise.stops:  # at the first positive, with c = 1 as in the experiments
        return np.where(positive.any(axis=1), np.argmax(positive, axis=1), len(answers))
    return positive @ (1 << np.arange(len(answers)))


DRAWS: dict[str, Callable] = {
    "a": _laplace,
    "b": _report_noisy_max,
    "c": _continuous_noisy_max,
    "d": _exponential,
    "e": _sparse_vector,
    "f": _sparse_vector,
    "g": _sparse_vector,
    "h": _sparse_vector,
}
"""Map from the first letter of a label to a function (entry, rng, database, size) -> outputs."""
