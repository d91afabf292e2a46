"""Checks that recorded coins look like separate fair coins."""

import math
from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import NDArray

from dpjax.core.arrays import to_numpy
from dpjax.core.wording import BadType, BadValue, Doubt

_DEVIATIONS = 5.2
"""Largest accepted deviation of the number of heads from its mean, in standard deviations.

If the coins are fair, only one sequence in five million has a larger deviation.
"""

_SINGULAR = {"canaries": "canary", "calls": "call"}

_WITH_COINS = {"canaries": "scores", "calls": "outputs"}
"""What is recorded together with coins."""

_CHANCE = 1e-6
"""Maximum probability that fair coins cause a doubt about their order."""

_EARLIER, _PERIODS = (0, 1, 2, 3, 4, 8), (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
"""Numbers of earlier coins, and periods, from which the next coin is predicted."""

_PIECES, _SEGMENTS = 32, (4, 8, 16)
"""Models in which the probability of heads changes: once, after any number of _PIECES pieces of
equal length, or after each of several longer segments.
"""

_LEADS = 8
"""Largest lead of heads over tails that models of balanced coins distinguish."""

_MOST, _MOST_REPEATED = 2**17, 2**20
"""Maximum numbers of coins that are predicted from the coins right before them, and from coins far
before them.
"""


def coins_from(name: str, given: object, things: str) -> NDArray[np.bool_]:
    """Return recorded coins as an array, bool [n].

    Args:
        name: Name of the argument.
        given: The coins, in any form that NumPy can convert to booleans of shape [n].
        things: What the coins decided about: "canaries" or "calls".

    Raises:
        TypeError: If the coins are not boolean, or not one-dimensional.
        ValueError: If coins are masked.
    """
    instead = f"leave out the {_WITH_COINS[things]} and the coins of those {things}"
    coins = array_of(name, given, things, instead)
    if coins.dtype != bool or coins.ndim != 1:
        raise BadType(
            f"{name} must be booleans of shape [n], but were of type {coins.dtype} and shape "
            f"{coins.shape}: write {name} == 1 for zeros and ones."
        )
    return coins


def array_of(name: str, given: object, things: str, instead: str) -> NDArray:
    """Return an array of coins or scores, also if its entries are Python objects.

    A pandas frame whose columns may lack values is an array of objects for NumPy.

    Args:
        name: Name of the argument.
        given: One or more values for each canary or call.
        things: "canaries" or "calls".
        instead: What to do about masked entries, for the end of a message.

    Raises:
        ValueError: If entries are masked, or if there are not equally many values for each canary
            or call.
    """
    if np.ma.is_masked(given):
        raise BadValue(
            f"{name} must not be masked, but {np.ma.count_masked(given)} entries were: {instead}."
        )
    try:
        found = to_numpy(given)
    except ValueError:
        raise BadValue(
            f"{name} must have equally many values for each {_SINGULAR[things]}, but the {things} "
            "had different numbers of them."
        ) from None
    if found.dtype != object:
        return found
    plain = np.array(found.tolist())
    return plain if plain.dtype.kind in "biuf" else found


def refuse_unfair(coins: NDArray[np.bool_], name: str, things: str, done: str) -> None:
    """Raise ValueError if the number of heads is too far from one half of the number of coins.

    Args:
        coins: bool [n], whether each coin showed heads.
        name: Name of the argument.
        things: What the coins decided about: "canaries" or "calls".
        done: What happened to the things whose coins showed heads.
    """
    number, heads = len(coins), int(coins.sum())
    if abs(heads - number / 2) > _DEVIATIONS * math.sqrt(number) / 2:
        raise BadValue(
            f"{name} must come from fair coins, one per {_SINGULAR[things]}, but {heads} of "
            f"{number} {things} {done}, which is too far from one half."
        )


def doubts_about_half(coins: NDArray[np.bool_], things: str, done: str) -> list[Doubt]:
    """Return a doubt if exactly half of the coins showed heads; arguments as in `refuse_unfair`."""
    number = len(coins)
    if 2 * int(coins.sum()) != number:
        return []
    return [
        Doubt(
            f"Exactly half of {number} {things} {done}, as if a fixed number had been chosen; no "
            f"bound holds then. If each {_SINGULAR[things]} had its own fair coin, the "
            f"probability of this is {_chance_of_half(number):.2g}."
        )
    ]


def doubts_about_order(coins: NDArray[np.bool_]) -> list[Doubt]:
    """Return a doubt if coins can be predicted from earlier coins, or from their positions.

    Args:
        coins: bool [n], the coins in the order in which they were tossed.
    """
    if log_evidence(coins) < -math.log(_CHANCE):
        return []
    return [
        Doubt(
            "The coins of the calls can be predicted from earlier coins or from the position of "
            "the call, so they were not tossed separately, or the calls are not in the order in "
            "which they were made; no bound holds then. For fair coins, the probability of this "
            f"is below {_CHANCE:g}."
        )
    ]


def log_evidence(coins: NDArray[np.bool_]) -> float:
    """Return the logarithm of an e-value against separate fair coins.

    The e-value is the mean likelihood ratio of several models and of fair coins. In each model, the
    probability of heads is unknown in each of several states, and Krichevsky and Trofimov's
    estimate takes its place. The state before a toss depends only on earlier coins and on the
    position. For fair coins, the mean of the e-value is 1, so by Markov's inequality it exceeds
    1 / p with probability at most p.

    Args:
        coins: bool [n], the coins in the order in which they were tossed.

    References:
        Krichevsky, Trofimov (1981), "The performance of universal encoding".
    """
    found = [
        *(_log_ratio(coins[:_MOST], states) for states in _recent(coins[:_MOST])),
        *_log_ratios_of_changes(coins),
        *(_log_ratio(coins, states) for states in _balanced(coins)),
        _log_ratio_of_repeats(coins[:_MOST_REPEATED]),
    ]
    return float(np.logaddexp.reduce(found)) - math.log(len(found))


def _recent(coins: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """Yield states that consist of the k coins before, and of the position modulo a period."""
    size = len(coins)
    history = np.zeros(size, np.int64)
    histories = {0: history}
    for distance in range(1, max(_EARLIER) + 1):
        history = history.copy()
        history[distance:] += coins[:-distance].astype(np.int64) << (distance - 1)
        histories[distance] = history
    for known in _EARLIER:
        for period in _PERIODS:
            yield histories[known] * period + np.arange(size) % period


def _log_ratios_of_changes(coins: NDArray[np.bool_]) -> Iterator[float]:
    """Yield the log-likelihood ratios of models in which the probability of heads changes."""
    pieces = np.arange(len(coins)) * _PIECES // max(len(coins), 1)
    counts = np.bincount(2 * pieces + coins, minlength=2 * _PIECES).reshape(-1, 2)
    whole = len(coins) * math.log(2)
    before = counts.cumsum(axis=0)[:-1]
    for parts in np.stack([before, counts.sum(axis=0) - before], axis=1):
        yield float(_log_likelihoods(*parts.T).sum()) + whole
    for segments in _SEGMENTS:
        parts = counts.reshape(segments, -1, 2).sum(axis=1)
        yield float(_log_likelihoods(*parts.T).sum()) + whole


def _balanced(coins: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """Yield states that consist of the lead of heads, as if coins were to fall equally often."""
    lead = np.cumsum(2 * coins.astype(np.int64) - 1)
    lead = np.concatenate([[0], lead[:-1]]) if len(coins) else lead
    for unit in (1, max(math.isqrt(len(coins)) // _LEADS, 1)):
        yield np.clip(lead // unit, -_LEADS, _LEADS) + _LEADS


def _log_ratio_of_repeats(coins: NDArray[np.bool_]) -> float:
    """Return the logarithm of the e-value against coins that repeat earlier ones, or the opposite.

    If a generator of coins is started again with the same seed, coins repeat at one distance. For
    fair coins and any distance, the comparisons of all coins with the coins at this distance before
    them are separate fair coins, too. The e-value is the mean over all distances.
    """
    size = len(coins)
    if size < 2:
        return 0.0
    signs = np.where(coins, 1.0, -1.0)
    length = 2 ** (2 * size - 1).bit_length()
    spectrum = np.fft.rfft(signs, length)
    sums = np.rint(np.fft.irfft(np.abs(spectrum) ** 2, length)[1:size])
    number = size - np.arange(1, size)
    equal = (number + sums) / 2
    ratios = _log_likelihoods(number - equal, equal) + number * math.log(2)
    return float(scipy.special.logsumexp(ratios)) - math.log(size - 1)


def _log_ratio(coins: NDArray[np.bool_], states: NDArray[np.int64]) -> float:
    """Return the log-likelihood ratio of a model with the given states and of fair coins."""
    number = int(states.max(initial=0)) + 1
    tails, heads = np.bincount(2 * states + coins, minlength=2 * number).reshape(-1, 2).T
    return float(_log_likelihoods(tails, heads).sum()) + len(coins) * math.log(2)


def _log_likelihoods(tails: NDArray, heads: NDArray) -> NDArray[np.float64]:
    """Return the log-likelihood of the coins in each state under the estimate of `log_evidence`."""
    return scipy.special.betaln(tails + 0.5, heads + 0.5) - math.log(math.pi)


def _chance_of_half(number: int) -> float:
    """Return the probability that exactly half of an even number of fair coins show heads."""
    logs = math.lgamma(number + 1) - 2 * math.lgamma(number / 2 + 1)
    return math.exp(logs - number * math.log(2))
