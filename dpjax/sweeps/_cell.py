"""A cell of a sweep: one estimation, to be run many times. A plain value that serialises."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpjax import _validate
from dpjax.databases import Pairs
from dpjax.methods.local import LocalSettings
from dpjax.partitions import as_region
from dpjax.sources._subject import mechanism_of
from dpjax.sweeps._plain import (
    STANDARD,
    check_entries,
    mechanism_from_plain,
    mechanism_name,
    mechanism_parameters,
    pairs_from_plain,
    pairs_to_plain,
    region_from_plain,
    region_to_plain,
    settings_from_plain,
    settings_to_plain,
)


@dataclass(frozen=True)
class HistogramSettings:
    """Settings of the histogram estimators: what is counted, and where is drawn.

    Attributes:
        num_intervals: m.
        num_samples: n, draws at each input.
        inputs: Inputs to draw at; all pairs of them are compared.
        order: alpha of a Renyi level, or None for LDP.

    Raises:
        ValueError, TypeError: A number is out of range, or there are fewer than two inputs.
    """

    num_intervals: int
    num_samples: int
    inputs: tuple[float, ...]
    order: float | None = None

    def __post_init__(self):
        _validate.positive_int(num_intervals=self.num_intervals, num_samples=self.num_samples)
        object.__setattr__(self, "inputs", tuple(float(x) for x in self.inputs))
        if len(self.inputs) < 2:
            raise ValueError(f"inputs must be at least two, but were {len(self.inputs)}.")
        if self.order is not None and not self.order > 1:
            raise ValueError(f"order must be above 1, but was {self.order}.")


ESTIMATORS = {
    "mpl": LocalSettings,
    "dpl": LocalSettings,
    "histogram": HistogramSettings,
    "histogram-law": HistogramSettings,
}
"""Estimator -> what its settings are: MPL's lower bound, DPL's estimate, the histogram estimate,
and the same on counts from the exact law of a truncated mechanism."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One estimation and how often it is run.

    Attributes:
        mechanism: Of the catalogue, or a class or function that can be imported by its name.
        settings: Of the estimator.
        pairs: To search; None for the mechanism's standard pairs (and for histograms).
        region: C; None for the mechanism's standard region.
        estimator: "mpl", "dpl", "histogram" or "histogram-law".
        confidence: Of MPL's bound.
        num_runs: Runs 0, ..., num_runs - 1.
        label: For people; the cell's identity does not depend on it.

    Raises:
        ValueError: An entry is out of range, or does not fit the others.
        TypeError: Settings of another estimator.
    """

    mechanism: Any
    settings: Any
    pairs: Any = None
    region: Any = None
    estimator: str = "mpl"
    confidence: float = 0.95
    num_runs: int = 1000
    label: str = ""

    def __post_init__(self):
        _validate.one_of(ESTIMATORS, estimator=self.estimator)
        _validate.positive_int(num_runs=self.num_runs)
        _validate.open_unit(confidence=self.confidence)
        if not isinstance(self.settings, ESTIMATORS[self.estimator]):
            raise TypeError(
                f"settings of the estimator {self.estimator!r} must be "
                f"{ESTIMATORS[self.estimator].__name__}, but were {type(self.settings).__name__}."
            )
        if self._searches_pairs:
            object.__setattr__(self, "pairs", self._pairs())
            looked_at = mechanism_of(self.mechanism, self.pairs.database[0], None)
            object.__setattr__(self, "mechanism", looked_at)
            region = self.region
            if region is None:
                region = getattr(self.mechanism, "standard_region", None)
            region = as_region(region, self.mechanism.output_space)
            object.__setattr__(self, "region", region)
        object.__setattr__(self, "label", self.label or self.mechanism_name)

    @property
    def _searches_pairs(self) -> bool:
        """Histograms compare their inputs with each other instead, on all of the outputs."""
        return isinstance(self.settings, LocalSettings)

    def _pairs(self) -> Pairs:
        if self.pairs is not None:
            return Pairs.of(self.pairs)
        if not hasattr(self.mechanism, "standard_pairs"):
            raise ValueError("pairs must be given for a mechanism that is not built in.")
        return self.mechanism.standard_pairs()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def mechanism_name(self) -> str:
        """A name of the catalogue, or MODULE:NAME."""
        return mechanism_name(self.mechanism)

    @cached_property
    def id(self) -> str:
        """Stable name of the cell: all that sets the law of a run, and neither label nor runs."""
        content = self.to_dict()
        for free in ("label", "runs"):
            del content[free]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return f"{content['mechanism'].rpartition(':')[2].lower()}-{digest[:12]}"

    def to_dict(self) -> dict[str, Any]:
        """Plain words, numbers, lists and dicts; `from_dict` reads them back."""
        content = {
            "label": self.label,
            "mechanism": self.mechanism_name,
            "parameters": mechanism_parameters(self.mechanism),
            "estimator": self.estimator,
            "runs": self.num_runs,
            "settings": settings_to_plain(self.settings),
        }
        if self.estimator == "mpl":
            content["confidence"] = float(self.confidence)
        if self._searches_pairs:
            content["pairs"] = pairs_to_plain(self.pairs, self.mechanism)
            content["region"] = region_to_plain(self.region, self.mechanism)
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Cell":
        """A cell from what a person or `to_dict` wrote; everything but the mechanism has a default.

        Raises:
            ValueError: An unknown entry or name, or a value that is out of range.
            TypeError: A value of the wrong kind.
        """
        known = ("label", "mechanism", "parameters", "estimator", "runs", "settings")
        known = (*known, "confidence", "pairs", "region")
        parameter = next((name for name in content if name in ("epsilon", "sigma", "scale")), None)
        if parameter is not None:
            raise ValueError(
                f"a cell has no entry {parameter!r}: parameters of its mechanism are written as "
                f"parameters = {{{parameter} = {content[parameter]!r}}}, several values as "
                f"grid = {{{parameter} = [...]}}."
            )
        # "grid" is taken by whoever makes several cells of one entry.
        check_entries("a cell", content, known, "grid")
        if "runs" in content:
            _validate.positive_int(runs=content["runs"])
        if "mechanism" not in content:
            raise ValueError("a cell must name its mechanism, but had no such entry.")
        estimator = content.get("estimator", "mpl")
        _validate.one_of(ESTIMATORS, estimator=estimator)
        pairs, region = content.get("pairs", STANDARD), content.get("region", STANDARD)
        pairs = None if pairs == STANDARD else pairs_from_plain(pairs)
        return cls(
            mechanism=mechanism_from_plain(
                content["mechanism"], content.get("parameters", {}), pairs
            ),
            settings=settings_from_plain(ESTIMATORS[estimator], content.get("settings", {})),
            pairs=pairs,
            region=None if region == STANDARD else region_from_plain(region),
            estimator=estimator,
            confidence=content.get("confidence", 0.95),
            num_runs=content.get("runs", 1000),
            label=content.get("label", ""),
        )
