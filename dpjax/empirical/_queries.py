"""Built-in queries, evaluated exactly with all individuals and without each individual in turn.

A query is evaluated on all databases at once. The time is linear in the number n of records, or
proportional to n log n for order statistics. The total without individual i is computed as the sum
over the individuals before i plus the sum over the individuals after i. Subtracting individual i's
value from the total over all individuals would leave a rounding error if the value is huge.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax.core import validate
from dpjax.core.errors import nearest
from dpjax.empirical._panel import Panel

_NEUTRAL = {np.add: 0.0, np.minimum: np.inf, np.maximum: -np.inf}


def leave_one_out(own: np.ndarray, reduce: np.ufunc = np.add) -> np.ndarray:
    """For each individual, reduce the values of all other individuals.

    Args:
        own: Values, one per database and individual, [databases, individuals, ...].
        reduce: np.add, np.minimum or np.maximum.

    Returns:
        For each individual, the reduction over all others, [databases, individuals, ...].
    """
    edge = np.full_like(own[:, :1], _NEUTRAL[reduce], dtype=float)
    before = reduce.accumulate(np.concatenate([edge, own[:, :-1]], axis=1), axis=1)
    after = reduce.accumulate(np.concatenate([edge, own[:, :0:-1]], axis=1), axis=1)[:, ::-1]
    return reduce(before, after)


def _where_enough(result: np.ndarray, count: np.ndarray, at_least: int = 1) -> np.ndarray:
    """Replace results with NaN where `count`, the number of records left, is below `at_least`."""
    return np.where(count >= at_least, result, np.nan)


def _over_panel(panel: Panel, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the total weight of each database's records, [databases, 1 + individuals].

    Column 0 is the total over all individuals, and column i + 1 leaves out individual i.
    """
    totals = panel.total(weights).astype(float)
    return np.concatenate([totals.sum(axis=1)[:, None], leave_one_out(totals)], axis=1)


class ExactQuery:
    """Base class of built-in queries.

    The `_exact` method returns answers, [databases, 1 + individuals]. Column 0 is the answer with
    all individuals, and column i + 1 is the answer without individual i.
    """

    column: str | None = None
    _word = ""

    @property
    def name(self) -> str:
        """Description of the query."""
        return self._word if self.column is None else f"{self._word} of {self.column}"

    def answers(self, panel: Panel, key: int = 0, progress: object = None) -> np.ndarray:
        """Return answers in the format of `Query.answers`; each is one draw of one number."""
        # `sample_query` refuses results that are not finite.
        with np.errstate(over="ignore", invalid="ignore"):
            return self._exact(panel)[:, None, :, None]

    def _exact(self, panel: Panel) -> np.ndarray:
        raise NotImplementedError


@dataclass(frozen=True)
class Count(ExactQuery):
    """Number of records in a database."""

    _word = "count"

    def _exact(self, panel: Panel) -> np.ndarray:
        return _over_panel(panel)


@dataclass(frozen=True)
class Sum(ExactQuery):
    """Sum of a column over the records."""

    column: str | None = None
    _word = "sum"

    def _exact(self, panel: Panel) -> np.ndarray:
        return _over_panel(panel, panel.column(self.column))


@dataclass(frozen=True)
class Mean(ExactQuery):
    """Mean of a column over the records; undefined (NaN) if no record is left."""

    column: str | None = None
    _word = "mean"

    def _exact(self, panel: Panel) -> np.ndarray:
        count = _over_panel(panel)
        total = _over_panel(panel, panel.column(self.column))
        return _where_enough(total / np.maximum(count, 1), count)


@dataclass(frozen=True)
class Variance(ExactQuery):
    """Variance of a column over the records, with the divisor n - ddof."""

    column: str | None = None
    ddof: int = 1
    _word = "variance"

    def __post_init__(self):
        validate.positive_int(ddof=self.ddof, at_least=0)

    def _exact(self, panel: Panel) -> np.ndarray:
        values = panel.column(self.column).copy()
        # Values are centered by the median because a single huge value would shift the mean.
        for d in range(panel.num_databases):
            values[panel.rows(d)] -= np.median(values[panel.rows(d)])
        count = _over_panel(panel)
        first, second = _over_panel(panel, values), _over_panel(panel, values**2)
        spread = np.maximum(second - first**2 / np.maximum(count, 1), 0)
        return _where_enough(spread / np.maximum(count - self.ddof, 1), count, self.ddof + 1)


@dataclass(frozen=True)
class Minimum(ExactQuery):
    """Smallest value of a column."""

    column: str | None = None
    _word, _reduce = "min", np.minimum

    def _exact(self, panel: Panel) -> np.ndarray:
        reduce = self._reduce
        own = np.full((panel.num_databases, panel.num_individuals), _NEUTRAL[reduce])
        reduce.at(own, (panel.database, panel.individual), panel.column(self.column))
        everybody = reduce.reduce(own, axis=1)[:, None]
        both = np.concatenate([everybody, leave_one_out(own, reduce)], axis=1)
        return np.where(np.isfinite(both), both, np.nan)


@dataclass(frozen=True)
class Maximum(Minimum):
    """Largest value of a column."""

    _word, _reduce = "max", np.maximum


@dataclass(frozen=True)
class Quantile(ExactQuery):
    """Quantile of a column, interpolated linearly between order statistics (NumPy's default).

    Attributes:
        level: Level of the quantile, from 0 to 1 (0.5 is the median).
        column: Column of values.
    """

    level: float = 0.5
    column: str | None = None

    def __post_init__(self):
        validate.non_negative(level=self.level)
        if self.level > 1:
            raise ValueError(f"level must be a number from 0 to 1, but was {self.level!r}.")

    @property
    def _word(self) -> str:
        return f"quantile {self.level:g}"

    def _exact(self, panel: Panel) -> np.ndarray:
        values = panel.column(self.column)
        result = np.empty((panel.num_databases, 1 + panel.num_individuals))
        for d in range(panel.num_databases):
            rows = panel.rows(d)
            order = np.argsort(values[rows], kind="stable")
            ordered = values[rows][order]
            owner = panel.individual[rows][order]
            result[d, 0] = np.quantile(ordered, self.level)
            result[d, 1:] = self._without(ordered, owner, panel.num_individuals)
        return result

    def _without(self, ordered: np.ndarray, owner: np.ndarray, num_individuals: int) -> np.ndarray:
        """Return, for each individual, the quantile of all others' records, [individuals]."""
        own = np.bincount(owner, minlength=num_individuals)
        left = len(ordered) - own
        # For each record, `rank_of_others` is the number of other individuals' records before it:
        # its position in the sorted database minus the number of its owner's records before it. The
        # record precedes the other individuals' r-th record (counted from 0) if and only if its
        # `rank_of_others` is at most r.
        by_owner = np.argsort(owner, kind="stable")
        starts = np.concatenate([[0], np.cumsum(own)])[owner[by_owner]]
        rank_of_others = by_owner - (np.arange(len(owner)) - starts)

        def order_statistic(r: np.ndarray) -> np.ndarray:
            before = rank_of_others <= r[owner[by_owner]]
            skipped = np.bincount(owner[by_owner], before, minlength=num_individuals).astype(int)
            return ordered[np.minimum(r + skipped, len(ordered) - 1)]

        place = self.level * np.maximum(left - 1, 0)
        low = np.floor(place).astype(int)
        below = order_statistic(low)
        above = order_statistic(np.minimum(low + 1, np.maximum(left - 1, 0)))
        return _where_enough(below + (place - low) * (above - below), left)


@dataclass(frozen=True)
class RegressionCoefficient(ExactQuery):
    """Coefficient in a least-squares regression of one column on others, with an intercept.

    Attributes:
        response: Name of the response column.
        on: Name or names of the explanatory columns.
        coefficient: Name of the explanatory column whose coefficient is released, or None for the
            first column in `on`.
    """

    response: str
    on: str | tuple[str, ...]
    coefficient: str | None = None

    def __post_init__(self):
        object.__setattr__(self, "on", (self.on,) if isinstance(self.on, str) else tuple(self.on))
        if not self.on:
            raise ValueError("on must name at least one explanatory column, but was empty.")
        if self.coefficient is not None:
            validate.one_of(self.on, coefficient=self.coefficient)

    @property
    def _word(self) -> str:
        which = self.coefficient or self.on[0]
        return f"coefficient of {which} in the regression of {self.response} on {self.on}"

    def _exact(self, panel: Panel) -> np.ndarray:
        data = np.stack([panel.column(c) for c in (*self.on, self.response)], axis=1)
        for d in range(panel.num_databases):
            # Subtracting the medians leaves the slopes unchanged and improves the conditioning.
            data[panel.rows(d)] -= np.median(data[panel.rows(d)], axis=0)
        design = np.concatenate([np.ones((len(data), 1)), data], axis=1)
        size = design.shape[1]
        moments = np.empty((panel.num_databases, 1 + panel.num_individuals, size, size))
        for a in range(size):
            for b in range(a, size):
                moments[:, :, a, b] = _over_panel(panel, design[:, a] * design[:, b])
                moments[:, :, b, a] = moments[:, :, a, b]
        scale = np.sqrt(np.maximum(np.einsum("dikk->dik", moments), np.finfo(float).tiny))
        moments = moments / (scale[..., :, None] * scale[..., None, :])
        normal, right = moments[..., :-1, :-1], moments[..., :-1, -1:]
        rank = np.linalg.matrix_rank(normal, tol=1e-12, hermitian=True)
        solvable = rank == size - 1
        normal = np.where(solvable[..., None, None], normal, np.eye(size - 1))
        solution = np.linalg.solve(normal, right)[..., 0]
        k = 1 + self.on.index(self.coefficient or self.on[0])
        return np.where(solvable, solution[..., k] * scale[..., -1] / scale[..., k], np.nan)


_BY_NAME = {
    "count": Count,
    "sum": Sum,
    "mean": Mean,
    "variance": Variance,
    "min": Minimum,
    "max": Maximum,
    "median": Quantile,
}


def parse_query(text: str) -> Any:
    """Return the built-in query for a short form such as 'mean:income'.

    Args:
        text: 'count', 'sum', 'mean', 'variance', 'min', 'max' or 'median', optionally with a column
            ('mean:income'); 'quantile:0.9' or 'quantile:0.9:income'; or 'regression:y~x+z', which
            stands for the coefficient of x in a regression of y on x and z.

    Raises:
        ValueError: If `text` is not the short form of a query.
    """
    head, *rest = text.split(":")
    if head == "quantile" and len(rest) in (1, 2):
        try:
            level = float(rest[0])
        except ValueError:
            raise ValueError(
                f"query {text!r} must state a level from 0 to 1, as in 'quantile:0.9'."
            ) from None
        return Quantile(level, *rest[1:])
    if head == "regression" and len(rest) == 1 and rest[0].count("~") == 1:
        response, on = rest[0].split("~")
        return RegressionCoefficient(response.strip(), tuple(c.strip() for c in on.split("+")))
    if head in _BY_NAME and len(rest) <= (head != "count"):
        return _BY_NAME[head](**({"column": rest[0]} if rest else {}))
    known = [*_BY_NAME, "quantile:LEVEL", "regression:Y~X"]
    raise ValueError(f"query {text!r} is not known; {nearest(head, known)}")
