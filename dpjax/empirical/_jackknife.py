"""How much an empirical delta depends on which databases there were: the jackknife.

References:
    Tukey (1958); Efron, Stein (1981), "The jackknife estimate of variance": its mean is at least
    the variance for a sample smaller by one.
"""

from collections.abc import Callable

import numpy as np

from dpjax.empirical._samples import Progress

_MOST_GROUPS = 50
"""Estimates that are made again; of more databases several are left out at a time."""


def jackknife_error(
    estimate: Callable[[np.ndarray], np.ndarray],
    num_databases: int,
    key: int,
    progress: Progress | None = None,
) -> np.ndarray:
    """The standard error of an estimate from independent databases.

    Args:
        estimate: Numbers of databases that are left out -> [E], the estimate from all others.
        num_databases: How many there are.
        key: Seed of the groups, where databases are not left out one by one.
        progress: Called with (done, of how many).

    Returns:
        [E].
    """
    order = np.arange(num_databases)
    if num_databases > _MOST_GROUPS:
        order = np.random.default_rng(key).permutation(num_databases)
    groups = np.array_split(order, min(num_databases, _MOST_GROUPS))
    values = []
    for number, group in enumerate(groups):
        values.append(estimate(group))
        if progress is not None:
            progress(number + 1, len(groups))
    spread = np.stack(values) - np.mean(values, axis=0)
    return np.sqrt((len(groups) - 1) / len(groups) * np.sum(spread**2, axis=0))
