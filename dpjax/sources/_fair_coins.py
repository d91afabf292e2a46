"""Checks that recorded coins look like separate fair coins."""

import math

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

_CHANCE = 1e-6
"""Maximum probability that fair coins cause a doubt about their order."""

_EARLIER, _PERIODS = (0, 1, 2, 3, 4, 8), (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
"""Numbers of earlier coins, and periods, from which the next coin is predicted."""

_MOST = 2**17
"""Maximum number of coins whose order is checked."""


def coins_from(given: object) -> NDArray[np.bool_]:
    """Return recorded coins as an array, bool [n].

    Raises:
        TypeError: If the coins are not boolean, or not one-dimensional.
    """
    coins = to_numpy(given)
    if coins.dtype != bool or coins.ndim != 1:
        raise BadType(
            f"coins must be booleans of shape [n], but were of type {coins.dtype} and shape "
            f"{coins.shape}: write coins == 1 for zeros and ones."
        )
    return coins


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
    if log_evidence(coins[:_MOST]) < -math.log(_CHANCE):
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
    probability of heads is unknown for each combination of the k coins before and the position
    modulo a period, and Krichevsky and Trofimov's estimate takes its place. For fair coins, the
    mean of the e-value is 1, so by Markov's inequality it exceeds 1 / p with probability at most p.

    Args:
        coins: bool [n], the coins in the order in which they were tossed.

    References:
        Krichevsky, Trofimov (1981), "The performance of universal encoding".
    """
    size = len(coins)
    history = np.zeros(size, np.int64)
    histories = {0: history}
    for distance in range(1, max(_EARLIER) + 1):
        history = history.copy()
        history[distance:] += coins[:-distance].astype(np.int64) << (distance - 1)
        histories[distance] = history
    found = []
    for known in _EARLIER:
        for period in _PERIODS:
            states = histories[known] * period + np.arange(size) % period
            pairs = np.bincount(2 * states + coins, minlength=2 * period << known).reshape(-1, 2)
            found.append(_log_likelihood(pairs) + size * math.log(2))
    return float(np.logaddexp.reduce(found)) - math.log(len(found))


def _log_likelihood(counts: NDArray[np.intp]) -> float:
    """Return the log-likelihood of coins under Krichevsky and Trofimov's estimate.

    Args:
        counts: Numbers of tails and heads in each state, int [states, 2].
    """
    tails, heads = counts.T
    return float((scipy.special.betaln(tails + 0.5, heads + 0.5) - math.log(math.pi)).sum())


def _chance_of_half(number: int) -> float:
    """Return the probability that exactly half of an even number of fair coins show heads."""
    logs = math.lgamma(number + 1) - 2 * math.lgamma(number / 2 + 1)
    return math.exp(logs - number * math.log(2))
