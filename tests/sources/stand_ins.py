"""Objects with the attributes of Tumult Core and SmartNoise objects, to test their readers.

A class belongs to a library if the name of its module does; the library itself is not needed.
"""

import sys
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

RNG = np.random.default_rng(20261125)


def pretend(monkeypatch: Any, name: str, **content: object) -> None:
    """Add a module, and the packages that contain it, to the imported modules."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        path = ".".join(parts[:end])
        if path not in sys.modules:
            monkeypatch.setitem(sys.modules, path, ModuleType(path))
    for key, value in content.items():
        setattr(sys.modules[name], key, value)


def kind(module: str, name: str, **content: object) -> type:
    """Return a class of a pretended module."""
    return type(name, (), {"__module__": module, **content})


def named(class_name: str, **attributes: object) -> Any:
    """Return an object of Tumult Core with a class of this name, such as a metric."""
    made = kind("tmlt.core", class_name)()
    for key, value in attributes.items():
        setattr(made, key, value)
    return made


class Exact(Fraction):
    """A number in the exact form that Tumult Core uses."""

    def to_float(self, round_up: bool) -> float:
        """Return the nearest float in the requested direction."""
        nearest = float(self)
        if round_up and nearest < self:
            return float(np.nextafter(nearest, np.inf))
        return nearest


class TumultMeasurement:
    """A measurement of Tumult Core with two-sided geometric noise of scale alpha on integers."""

    __module__ = "tmlt.core.measurements.noise_mechanisms"
    is_interactive = False

    def __init__(self, alpha: str, too_much: float = 1.0):
        self.alpha = Exact(alpha)
        self._alpha = float(self.alpha) / too_much
        self.input_domain = named("NumpyIntegerDomain", carrier_type=np.int64)
        self.input_metric = named("AbsoluteDifference")
        self.output_measure = named("PureDP")

    def privacy_function(self, d_in: Any) -> Any:
        """Return the level at a distance, which may not be a float."""
        assert not isinstance(d_in, float)
        return Exact(d_in / self.alpha)

    def __call__(self, value: int) -> int:
        first, second = RNG.geometric(-np.expm1(-1 / self._alpha), size=2)
        return int(value) + int(first) - int(second)


TumultMeasurement.__name__ = "AddGeometricNoise"


class SmartNoiseLaplace:
    """A mechanism of SmartNoise: Laplace noise on numbers, as multiples of 1 / 64."""

    __module__ = "snsql.sql._mechanisms.laplace"

    def __init__(
        self,
        epsilon: float,
        delta: float = 0.0,
        sensitivity: float | None = None,
        max_contrib: int = 1,
        lower: float | None = None,
        upper: float | None = None,
    ):
        self.epsilon, self.delta, self.sensitivity = epsilon, delta, sensitivity
        self.max_contrib = max_contrib
        self.lower, self.upper = (lower, upper) if sensitivity is None else (0, sensitivity)
        self.scale = max(abs(self.lower), abs(self.upper)) * max_contrib / epsilon

    def release(self, vals: list[float]) -> list[float]:
        """Return each number with noise."""
        first, second = RNG.geometric(-np.expm1(-1 / (64 * self.scale)), size=(2, len(vals)))
        return [float(v) + int(a - b) / 64 for v, a, b in zip(vals, first, second, strict=True)]


SmartNoiseLaplace.__name__ = "Laplace"


class Synthesizer:
    """A synthesizer of SmartNoise that releases a noisy majority of a column."""

    __module__ = "snsynth.base"
    delta = 1e-6

    def __init__(self, epsilon: float):
        self.epsilon = epsilon
        self.positive: bool | None = None

    def fit(self, data: Any, *, column: int = 0) -> None:
        """Fit the synthesizer to rows, once."""
        assert self.positive is None
        total = sum(2 * row[column] - 1 for row in data)
        self.positive = bool(total + RNG.laplace(scale=1 / self.epsilon) > 0)

    def sample(self, count: int) -> list[list[int]]:
        """Return synthetic rows."""
        return [[int(bool(self.positive))]] * count


Synthesizer.fit.__module__ = Synthesizer.__module__
