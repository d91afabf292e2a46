"""Base classes that hold the values of empirical privacy results, without display code."""

import math
from collections.abc import Hashable
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from dpjax.core import validate
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType, BadValue
from dpjax.empirical._checks import CoverageCheck, IndependenceCheck
from dpjax.empirical._density import Density
from dpjax.empirical._noise import Noise


@dataclass(frozen=True)
class Bucket:
    """Privacy against an adversary who knows that the database belongs to a given bucket.

    Attributes:
        label: Description of the bucket.
        num_databases: Number of databases in the bucket.
        density: Description of the density estimate within the bucket.
        delta: For each epsilon, the largest delta over all individuals within the bucket.
    """

    label: str
    num_databases: int
    density: str
    delta: tuple[float, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Estimated:
    """Base class of `dpjax.empirical.EmpiricalPrivacy`, whose docstring describes the values."""

    queries: tuple[str, ...]
    individuals: tuple[Hashable, ...]
    epsilons: np.ndarray
    deltas: np.ndarray
    delta: np.ndarray
    delta_error: np.ndarray | None
    total_risk: np.ndarray
    epsilon_at_zero: float
    tolerance: float
    density: Density | None
    log_likelihood: float
    integration_error: float
    num_databases: int
    independence: tuple[IndependenceCheck, ...]
    coverage: CoverageCheck
    buckets: tuple[Bucket, ...]
    notes: tuple[str, ...]
    results: np.ndarray
    results_without_worst: np.ndarray
    settings: JsonObject

    def ranking(self, epsilon: float | None = None) -> list[tuple[Hashable, float]]:
        """Return pairs (individual, delta) at one epsilon, in decreasing order of delta.

        Args:
            epsilon: One of `epsilons`, or None for the smallest of them.

        Raises:
            ValueError: If `epsilon` is not one of `epsilons`.
        """
        column = self.deltas[:, self._column(epsilon)]
        order = np.argsort(-column, kind="stable")
        return [(self.individuals[i], float(column[i])) for i in order]

    def curve(self, at_most: int) -> list[tuple[float, float, float | None, float, int]]:
        """Return a table with at most `at_most` rows, each for one epsilon.

        Each row holds epsilon, delta, the standard error of delta, the total risk, and the number
        of individuals whose delta exceeds the tolerance. If `epsilons` has more than `at_most`
        entries, the rows are for equally spaced entries. If equal spacing would result in fewer
        than half of `at_most` rows, the spacing is only approximately equal.
        """
        count = len(self.epsilons)
        steps = [step for step in range(1, count) if (count - 1) % step == 0]
        step = next((step for step in steps if (count - 1) // step < at_most), count)
        shown = np.arange(0, count, step)
        if count > at_most > 2 * len(shown):
            shown = np.linspace(0, count - 1, at_most).round().astype(int)
        return [
            (
                float(self.epsilons[e]),
                float(self.delta[e]),
                None if self.delta_error is None else float(self.delta_error[e]),
                float(self.total_risk[e]),
                int(np.count_nonzero(self.deltas[:, e] > self.tolerance)),
            )
            for e in shown
        ]

    @property
    def worst_individual(self) -> Hashable:
        """The individual with the largest delta at the smallest epsilon."""
        return self.individuals[worst_row(self.epsilons, self.deltas)]

    def to_dict(self) -> JsonObject:
        """Return a dictionary from attribute names to plain numbers, lists and strings."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)}

    def vanishing_sentence(self) -> str:
        """Return a sentence with the smallest epsilon at which no delta exceeds the tolerance."""
        if math.isinf(self.epsilon_at_zero):
            return "For every epsilon up to 500, at least one delta is above 0."
        start, limit = f"{self.epsilon_at_zero:.6g}", f"{self.tolerance:g}"
        return f"From epsilon = {start} on, every delta is below {limit}."

    def _column(self, epsilon: float | None) -> int:
        if epsilon is None:
            return int(np.argmin(self.epsilons))
        hit = np.flatnonzero(np.isclose(self.epsilons, epsilon, rtol=1e-9, atol=0))
        if not len(hit):
            raise BadValue(
                f"epsilon must be one of the {len(self.epsilons)} levels at which delta was "
                f"computed (from {self.epsilons.min():g} to {self.epsilons.max():g}), but was "
                f"{epsilon!r}."
            )
        return int(hit[0])


@dataclass(frozen=True, repr=False)
class Calibrated:
    """Base class of `dpjax.empirical.NoiseCalibration`, whose docstring describes the values."""

    query: str
    epsilon: float
    noise: Noise
    scale: float
    rule: str
    wasserstein_infinity: float
    hausdorff: float
    hausdorff_log_ratio: float
    achieved_log_ratio: float
    density: str
    expected_error: float
    classical_error: float
    sensitivity: float
    sensitivity_observed: bool
    independence: tuple[IndependenceCheck, ...]
    notes: tuple[str, ...]

    @property
    def hausdorff_suffices(self) -> bool:
        """Whether Laplace noise of scale hausdorff / epsilon keeps all log ratios <= epsilon."""
        return self.hausdorff_log_ratio <= self.epsilon + 1e-9

    def sample(self, size: int, key: int | None = None) -> np.ndarray:
        """Return draws of the noise, [size].

        Args:
            size: Number of draws.
            key: Seed for the draws, or None for a seed from the operating system.

        Raises:
            TypeError: If the size or the key is not an integer.
            ValueError: If the size or the key is negative.
        """
        validate.positive_int(size=size, at_least=0)
        if key is not None:
            validate.positive_int(key=key, at_least=0)
        return self.noise.sample(size, np.random.default_rng(key))

    def release(self, result: float) -> float:
        """Return the sum of a query result and a fresh draw of the noise.

        Raises:
            TypeError: If the result is not a single number.
            ValueError: If the result is NaN or infinite, because no noise hides such a result.
        """
        if np.ndim(result):
            raise BadType(f"result must be one number, but was {result!r}.")
        validate.finite(result=result)
        return float(result) + float(self.sample(1)[0])

    def to_dict(self) -> JsonObject:
        """Return a dictionary from attribute names to plain numbers and strings for strict JSON."""
        values = plain({k: v for k, v in vars(self).items() if k != "noise"})
        return values | {"noise": str(self.noise), "hausdorff_suffices": self.hausdorff_suffices}

    def rows(self) -> list[tuple[str, str]]:
        """Return table rows, each with the name and the formatted value of a quantity."""
        enough = "suffices" if self.hausdorff_suffices else "does NOT suffice"
        which = "largest change seen" if self.sensitivity_observed else "sensitivity"
        numbers = {
            f"Scale, by the rule {self.rule}": self.scale,
            "Largest log ratio of releases": self.achieved_log_ratio,
            "Expected absolute error": self.expected_error,
            f"Error of the classical Laplace mechanism ({which} {self.sensitivity:.6g})": (
                self.classical_error
            ),
            "Largest Wasserstein distance W_inf": self.wasserstein_infinity,
            "Largest Hausdorff distance": self.hausdorff,
            f"Log ratio at the paper's scale, Hausdorff / epsilon ({enough})": (
                self.hausdorff_log_ratio
            ),
        }
        return [(name, f"{value:.6g}") for name, value in numbers.items()]


def worst_row(epsilons: np.ndarray, deltas: np.ndarray) -> int:
    """Return the index of the individual with the largest delta at the smallest epsilon."""
    return int(np.argmax(deltas[:, int(np.argmin(epsilons))]))


def as_tuples(value: object) -> Any:
    """Convert lists, at any depth, to tuples, which `plain` converts to lists."""
    return tuple(as_tuples(v) for v in value) if isinstance(value, list) else value


def plain(value: object) -> Any:
    """Convert a value to strict JSON types; non-finite floats become strings such as 'inf'."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
