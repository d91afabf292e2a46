"""Construction of neighboring databases: changed records, grids, hypercubes, random answers.

In this module, a database is a number, or a vector with one entry per record. An entry of 0 marks
an absent record, as in an indicator vector.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from dpjax.core import random, validate
from dpjax.core.wording import BadValue
from dpjax.databases._pairs import Pairs

_MOST_PAIRS = 2**20
"""Maximum number of pairs that a function may return."""


def add_remove_one(database: Sequence[float] | np.ndarray) -> Pairs:
    """Pair a database with copies that each lack one record; there is one copy per nonzero record.

    The bounds of an audit hold for both directions of a pair, so pairs that remove a record also
    cover the addition of a record.

    Args:
        database: Vector, [records]; 0 marks an absent record.

    Returns:
        The pairs, in the order of the records.

    Raises:
        ValueError: If `database` is not a vector, or if all of its records are 0.

    References:
        Dwork, Roth (2014), Definition 2.4 (neighbors at distance one).
    """
    base = _vector(database)
    present = np.flatnonzero(base)
    if len(present) == 0:
        raise ValueError("database must hold at least one record that is not 0, but held none.")
    neighbor = np.repeat(base[None], len(present), axis=0)
    neighbor[np.arange(len(present)), present] = 0
    return Pairs(
        np.broadcast_to(base, neighbor.shape), neighbor, tuple(f"without {i}" for i in present)
    )


def change_one(database: Sequence[float] | np.ndarray, domain: Sequence[float]) -> Pairs:
    """Pair a database with copies in which one record takes another value of a finite domain.

    Args:
        database: Vector of records, [records].
        domain: Values that a record of the database can take.

    Returns:
        The pairs, in the order of the changed records; the pairs for each record are in the order
        of the new values.

    Raises:
        ValueError: If `database` or `domain` is not a vector, or if the domain has only one value
            and every record already has this value.

    References:
        Dwork, Roth (2014), section 2.3 (databases that differ in one record).
    """
    base, values = _vector(database), _vector(domain, "domain")
    changes = [(i, v) for i, v in product(range(len(base)), np.unique(values)) if base[i] != v]
    if not changes:
        raise ValueError(
            f"domain must contain a value that differs from a record, but was {values.tolist()}."
        )
    neighbor = np.repeat(base[None], len(changes), axis=0)
    neighbor[np.arange(len(changes)), [i for i, _ in changes]] = [v for _, v in changes]
    return Pairs(
        np.broadcast_to(base, neighbor.shape),
        neighbor,
        tuple(f"{i} becomes {v:g}" for i, v in changes),
    )


def interval_grid(low: float, high: float, num_points: int = 11, distance: float = 1.0) -> Pairs:
    """Pair the points of an equally spaced grid; the points of a pair are at most `distance` apart.

    Args:
        low: Smallest point in the grid.
        high: Largest point in the grid.
        num_points: Number of points in the grid, at least two.
        distance: Maximum distance between the two points of a pair. If the points are values of a
            statistic, `distance` should be the statistic's sensitivity.

    Returns:
        Pairs of numbers; the first number of each pair is the smaller number.

    Raises:
        ValueError: If `low` is not below `high`, or if all points are more than `distance` apart.

    References:
        Askin, Kutta, Dette (2022), section III (the maximum over finitely many pairs).
    """
    validate.increasing(low, high, name="low and high")
    validate.positive_int(at_least=2, num_points=num_points)
    validate.positive(distance=distance)
    points = np.linspace(low, high, num_points)
    step = (high - low) / (num_points - 1)
    # The factor allows for rounding errors if the distance is a whole number of steps.
    reach = int(np.floor(distance / step * (1 + 1e-9)))
    if reach < 1:
        raise BadValue(
            f"distance must be at least one step of the grid, {step:g}, but was {distance!r}."
        )
    pairs = [(i, j) for i in range(num_points) for j in range(i + 1, num_points) if j - i <= reach]
    _check_size(len(pairs))
    first, second = (points[list(side)] for side in zip(*pairs, strict=True))
    return Pairs(first, second, tuple(f"{a:g} / {b:g}" for a, b in zip(first, second, strict=True)))


def hypercube(dimension: int, database: Sequence[int] | np.ndarray | None = None) -> Pairs:
    """Pair one database in {0,1}^d with all others, or pair all databases that differ in one entry.

    Args:
        dimension: Number d of entries in a database.
        database: Vector of d zeros and ones to pair with all other vectors, or None to pair all
            databases that differ in one entry.

    Returns:
        The pairs, with labels that show the bits of both databases. There are 2^d - 1 pairs if
        `database` is not None. If `database` is None, there are d 2^(d-1) pairs, and the first
        database of each pair has a 0 in the entry that differs.

    Raises:
        ValueError: If `database` is not in {0,1}^d, or if there would be more than 2^20 pairs.

    References:
        Askin, Kutta, Dette (2022), Figure 5: 0^6 against {0,1}^6.
    """
    validate.positive_int(dimension=dimension)
    _check_size(2**dimension - 1 if database is not None else dimension * 2 ** (dimension - 1))
    # The rows of the cube count in binary, with entry 0 as the leading bit.
    cube = np.arange(2**dimension)[:, None] >> np.arange(dimension)[::-1] & 1
    if database is not None:
        base = _vector(database)
        if base.shape != (dimension,) or not np.all(np.isin(base, [0, 1])):
            raise ValueError(
                f"database must be {dimension} zeros and ones, but was {base.tolist()}."
            )
        neighbor = cube[np.any(cube != base, axis=1)]
        first = np.broadcast_to(base, neighbor.shape)
    else:
        corner, entry = np.nonzero(cube == 0)
        first, neighbor = cube[corner], cube[corner]
        neighbor[np.arange(len(entry)), entry] = 1
    labels = tuple(f"{_bits(a)} / {_bits(b)}" for a, b in zip(first, neighbor, strict=True))
    return Pairs(first.astype(float), neighbor.astype(float), labels)


def random_answers(
    key: int | Array, num_pairs: int, num_queries: int, low: float = 0.0, high: float = 2.0
) -> Pairs:
    """Pair random vectors of query answers with copies whose answers change by -1, 0 or 1.

    The answers in the first database of each pair are drawn uniformly from [low, high].

    Args:
        key: Integer seed or typed key that determines the pairs.
        num_pairs: Number of pairs.
        num_queries: Number of query answers in a database.
        low: Lower end of the interval of answers in the first database.
        high: Upper end of the interval of answers in the first database.

    Returns:
        `num_pairs` pairs of databases of shape [num_queries]; in each pair, at least one answer
        differs.

    Raises:
        ValueError: If the number of pairs or queries is below 1, or if `low` is not below `high`.

    References:
        Ding, Wang, Wang, Zhang, Kifer (2018), section 5 (query answers of sensitivity 1).
    """
    validate.positive_int(num_pairs=num_pairs)
    validate.positive_int(num_queries=num_queries)
    validate.increasing(low, high, name="low and high")
    root = random.as_key(key)
    count = num_pairs * num_queries
    uniforms = [
        np.asarray(random.uniform(random.fold_in(root, part), count, row), float).reshape(
            num_pairs, num_queries
        )
        for part, row in ((0, 0), (0, 1), (1, 0), (1, 1))
    ]
    database = low + (high - low) * uniforms[0]
    moves = np.ceil(3 * uniforms[1]) - 2
    # If no answer of a pair changes, a randomly chosen answer is changed.
    entry = np.ceil(num_queries * uniforms[2][:, 0]).astype(int) - 1
    direction = np.where(uniforms[3][:, 0] <= 0.5, -1.0, 1.0)
    still = np.flatnonzero(~moves.any(axis=1))
    moves[still, entry[still]] = direction[still]
    return Pairs(database, database + moves, tuple(f"random {i}" for i in range(num_pairs)))


def _vector(values: ArrayLike, name: str = "database") -> np.ndarray:
    array = validate.numbers(name, values)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"{name} must be a vector of numbers, but had shape {array.shape}.")
    return array


def _check_size(num_pairs: int) -> None:
    if num_pairs > _MOST_PAIRS:
        raise ValueError(f"the result would have {num_pairs} pairs, more than 2^20: ask for fewer.")


def _bits(row: np.ndarray) -> str:
    return "".join(str(int(x)) for x in row)
