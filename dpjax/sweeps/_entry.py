"""An entry of a sweep: one method on one mechanism, run many times. A plain value."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

from jax import Array

from dpjax.core import random, validate
from dpjax.core.types import MixedSpace
from dpjax.databases.trees import nth
from dpjax.methods import Events, Local
from dpjax.notions import Epsilon, Notion, Terms
from dpjax.partitions import as_region
from dpjax.results.recipes import (
    STANDARD,
    check_names,
    mechanism_from_plain,
    mechanism_name,
    mechanism_parameters,
    notion_from_plain,
    notion_to_plain,
    options_from_plain,
    options_to_plain,
    pairs_from_plain,
    pairs_to_plain,
)
from dpjax.sources import Drawn
from dpjax.sources._subject import mechanism_of
from dpjax.sweeps._methods import BOUNDED, METHODS, HistogramEstimate


@dataclass(frozen=True, eq=False)
class Entry:
    """A method on a mechanism, and how often it is run.

    Attributes:
        mechanism: Of the catalogue, or a class or function that can be imported by its name.
        method: `dpjax.Events`, `dpjax.Local`, `LocalSearch` or `HistogramEstimate`, with its
            options.
        pairs: To search; None for a built-in mechanism's standard pairs. Histograms have none.
        notion: What is bounded; all but epsilon at delta = 0 is for events.
        confidence: Of the bounds, where the method has one.
        distance: k, records in which the databases of every pair differ; bounds are of one record.
        num_runs: Runs 0, ..., num_runs - 1.
        label: For people; the entry's identity does not depend on it.

    Raises:
        ValueError: A part is out of range, or does not fit the others.
        TypeError: The method or the notion is none.
    """

    mechanism: Any
    method: Any = Events()  # noqa: RUF009 (frozen)
    pairs: Any = None
    _: KW_ONLY
    notion: Notion = Epsilon()  # noqa: RUF009 (frozen)
    confidence: float = 0.95
    distance: int = 1
    num_runs: int = 1000
    label: str = ""

    def __post_init__(self):
        if type(self.method) not in METHODS.values():
            known = ", ".join(f"{kind.__name__}(...)" for kind in METHODS.values())
            raise TypeError(f"method must be one of {known}, but was {self.method!r}.")
        # For its checks.
        terms = Terms(
            self.notion, None, self.confidence, num_claims=1, key=0, distance=self.distance
        )
        if not isinstance(self.method, Events):
            terms.refuse_notions(f"the method {self.method.name!r}")
        validate.positive_int(num_runs=self.num_runs)
        validate.within_limit("runs", self.num_runs, "an entry of too many runs")
        mechanism, pairs = self._looked_at()
        object.__setattr__(self, "mechanism", mechanism)
        object.__setattr__(self, "pairs", pairs)
        # One form, so that regions that are the same have one identity.
        if self.region is not None and self.method.region is not None:
            object.__setattr__(self, "method", replace(self.method, region=self.region))
        if not isinstance(self.label, str):
            raise TypeError(f"label must be a text, but was {self.label!r}.")
        object.__setattr__(self, "label", self.label or self.mechanism_name)

    def _looked_at(self) -> tuple[Any, Any]:
        """The mechanism, looked at on a database if it is new, and its pairs."""
        if not isinstance(self.method, HistogramEstimate):
            return Drawn(self.mechanism).at(self.pairs)
        if self.pairs is not None:
            raise ValueError(
                "pairs must be left out for a histogram estimate, which compares all of its inputs."
            )
        return mechanism_of(self.mechanism, self.method.inputs[0]), None

    @cached_property
    def region(self) -> Any:
        """`Box` or `Outcomes` where outputs are compared; None for all of them."""
        if isinstance(self.method, HistogramEstimate):
            return None
        given, space = self.method.region, self.mechanism.output_space
        if isinstance(self.method, Local):
            if isinstance(space, MixedSpace):
                raise ValueError(
                    f"Local cannot run on outputs that are {space}: beside an atom there is no "
                    "density; use Events()."
                )
            if given is None:
                given = getattr(self.mechanism, "standard_region", None)
        elif given is None:
            return None
        return as_region(given, space)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def is_chained(self) -> bool:
        """Whether runs count a chain of sets."""
        if not isinstance(self.method, Events):
            return False
        return self.method.also or self.notion.hypothesis() is None

    @property
    def mechanism_name(self) -> str:
        """A name of the catalogue, or MODULE:NAME."""
        return mechanism_name(self.mechanism)

    @cached_property
    def id(self) -> str:
        """Stable name of the entry: all that sets the law of a run, and neither label nor runs."""
        content = self.to_dict()
        for free in ("label", "runs"):
            del content[free]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return f"{content['mechanism'].rpartition(':')[2].lower()}-{digest[:12]}"

    def key(self, root: Any) -> Array:
        """The typed key of the entry's runs, folded from a sweep's key and the identity."""
        return random.fold_in(random.as_key(root), random.stable_hash(self.id))

    def to_dict(self) -> dict[str, Any]:
        """Plain words, numbers, lists and dicts; `from_dict` reads them back."""
        content = {
            "label": self.label,
            "mechanism": self.mechanism_name,
            "parameters": mechanism_parameters(self.mechanism),
            "method": self.method.name,
            "options": options_to_plain(self.method),
            "runs": self.num_runs,
        }
        if type(self.method) in BOUNDED:
            content["notion"] = notion_to_plain(self.notion, implied=Epsilon.name)
            content["confidence"] = float(self.confidence)
            if self.distance != 1:
                content["distance"] = self.distance
        if self.pairs is not None:
            content["pairs"] = pairs_to_plain(self.pairs, self.mechanism)
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], allow_import: Collection[str] = ()) -> "Entry":
        """An entry from what a person or `to_dict` wrote; all but the mechanism has a default.

        Args:
            content: Plain words, numbers, lists and dicts.
            allow_import: Modules that a mechanism MODULE:NAME may be imported from; without one
                the mechanism is of the catalogue.

        Raises:
            ValueError: An unknown name, or a value that is out of range.
            TypeError: A value of the wrong kind.
        """
        if not isinstance(content, Mapping):
            raise TypeError(f"an entry must be a table, but was {content!r}.")
        parameter = next((name for name in content if name in ("epsilon", "sigma", "scale")), None)
        if parameter is not None:
            raise ValueError(
                f"an entry has no {parameter!r}: parameters of its mechanism are written as "
                f"parameters = {{{parameter} = {content[parameter]!r}}}, several values as "
                f"grid = {{{parameter} = [...]}}."
            )
        # "grid" is taken by whoever makes several entries of one.
        check_names("an entry", content, _NAMES, "grid")
        if "mechanism" not in content:
            raise ValueError("an entry must name its mechanism, but did not.")
        name = content.get("method", Events.name)
        if not isinstance(name, str):
            raise TypeError(f"method must be a name, but was {name!r}.")
        validate.one_of(METHODS, method=name)
        if "runs" in content:
            validate.positive_int(runs=content["runs"])
        method = options_from_plain(METHODS[name], content.get("options", {}))
        pairs = content.get("pairs", STANDARD)
        pairs = None if pairs == STANDARD else pairs_from_plain(pairs)
        database = None if pairs is None else nth(pairs.database, 0)
        if isinstance(method, HistogramEstimate):
            database = method.inputs[0]
        return cls(
            mechanism_from_plain(
                content["mechanism"], content.get("parameters", {}), database, allow_import
            ),
            method,
            pairs,
            notion=notion_from_plain(content.get("notion", {})),
            confidence=content.get("confidence", 0.95),
            distance=content.get("distance", 1),
            num_runs=content.get("runs", 1000),
            label=content.get("label", ""),
        )


_NAMES = ("label", "mechanism", "parameters", "method", "options", "notion", "confidence")
_NAMES = (*_NAMES, "distance", "runs", "pairs")
"""Of what a person writes."""
