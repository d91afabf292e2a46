"""Jackknife standard error of an empirical delta under random sampling of the databases.

References:
    Tukey (1958); Efron, Stein (1981), "The jackknife estimate of variance", who prove that the
    expected jackknife variance is at least the variance of the estimator on samples with one fewer
    element.
"""

from collections.abc import Callable

import numpy as np

from dpjax.empirical._user_queries import Progress

_MOST_GROUPS = 50
"""Maximum number of groups of databases; the jackknife leaves out one group at a time."""


def jackknife_error(
    estimate: Callable[[np.ndarray], np.ndarray],
    parts: list[np.ndarray],
    key: int,
    progress: Progress | None = None,
) -> np.ndarray:
    """Return the jackknife standard errors of estimates from independent databases.

    Args:
        estimate: Function from the indices of the left-out databases to the estimates from all
            other databases, float [E].
        parts: Indices of the databases in each bucket. The databases of a bucket are spread over
            the groups, so that no group contains a whole bucket.
        key: Seed for the random division into groups, used only if there are more than 50
            databases.
        progress: Callback `(groups done, total number of groups)`.

    Returns:
        Standard errors, [E].
    """
    order = np.concatenate(parts)
    num_groups = min(len(order), _MOST_GROUPS)
    if len(order) > num_groups:
        rng = np.random.default_rng(key)
        order = np.concatenate([rng.permutation(members) for members in parts])
    groups = [order[first::num_groups] for first in range(num_groups)]
    values = []
    for number, group in enumerate(groups):
        values.append(estimate(group))
        if progress is not None:
            progress(number + 1, len(groups))
    spread = np.stack(values) - np.mean(values, axis=0)
    return np.sqrt((len(groups) - 1) / len(groups) * np.sum(spread**2, axis=0))
