"""Construction of pairs of neighboring query answers with sensitivity 1."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue
from dpjax.databases._pairs import Pairs


def query_patterns(num_queries: int) -> Pairs:
    """Return ten pairs of query answers: seven patterns from a published table and three more.

    Some patterns divide the queries into two halves. If the number of queries is odd, the first
    half has one query fewer than the second half.

    Args:
        num_queries: Number k of query answers in a database (k >= 2).

    Returns:
        Ten pairs, with answers of shape [10, k] on each side.

    Raises:
        ValueError: If `num_queries` is below 2 or above the limit `sizes`.

    References:
        Askin, Kutta, Dette (2022), Table I, based on Ding et al. (2018). The three additional pairs
        mirror patterns from the table, because the sparse vector technique has its largest privacy
        loss at the last queries.
    """
    validate.positive_int(at_least=2, num_queries=num_queries)
    validate.within_limit("sizes", num_queries, "num_queries is too large")
    k, half = num_queries, num_queries // 2
    ones = np.ones(k)
    first, last = ((np.arange(k) == place).astype(float) for place in (0, k - 1))
    lower = (np.arange(k) < half).astype(float)
    rows = {
        "One Above": (ones, ones + first),
        "One Below": (ones, ones - first),
        "One Above Rest Below": (ones, 2 * first),
        "One Below Rest Above": (ones, 2 * (ones - first)),
        "Half Half": (ones, ones - lower),
        "All Above All Below": (ones, 2 * ones),
        "X Shape": (lower, ones - lower),
        "Last Above Rest Below": (ones, 2 * last),
        "Last Below Rest Above": (ones, 2 * (ones - last)),
        "Half Half Mirrored": (ones, lower),
    }
    return Pairs(
        np.stack([d for d, _ in rows.values()]),
        np.stack([n for _, n in rows.values()]),
        tuple(rows),
    )


def shifts(
    database: float | Sequence[float] | np.ndarray, num_pairs: int = 10, size: float = 1.0
) -> Pairs:
    """Pair a database with copies shifted by size * b / num_pairs for b = 1, ..., num_pairs.

    Args:
        database: A number, or a vector whose entries are all shifted by the same amount.
        num_pairs: Number B of shifts.
        size: Size of the largest shift.

    Returns:
        B pairs.

    References:
        Askin, Kutta, Dette (2022), section V, which compares s = 0 with s' = b / 10.
    """
    validate.positive_int(num_pairs=num_pairs)
    validate.positive(size=size)
    base = validate.numbers("database", database)
    steps = size * np.arange(1, num_pairs + 1) / num_pairs
    neighbor = base + steps.reshape(-1, *[1] * base.ndim)
    return Pairs(
        np.broadcast_to(base, neighbor.shape), neighbor, tuple(f"shift {s:g}" for s in steps)
    )


def all_pairs(databases: Sequence) -> Pairs:
    """Return all pairs of the given databases: n (n - 1) / 2 pairs for n databases.

    Args:
        databases: At least two databases of the same shape.

    Raises:
        TypeError: If `databases` is not a sequence.
        ValueError: If there are fewer than two databases, or more pairs than the limit `pairs`.
    """
    if not isinstance(databases, Sequence | np.ndarray) or isinstance(databases, str):
        raise BadType(f"databases must be a list of databases, but was {databases!r}.")
    if len(databases) < 2:
        raise BadValue(f"databases must be at least two, but there were {len(databases)}.")
    number = len(databases) * (len(databases) - 1) // 2
    validate.within_limit("pairs", number, "databases form too many pairs")
    index = list(combinations(range(len(databases)), 2))
    stack = np.asarray(databases)
    return Pairs(
        stack[[i for i, _ in index]],
        stack[[j for _, j in index]],
        tuple(f"{databases[i]} / {databases[j]}" for i, j in index),
    )
