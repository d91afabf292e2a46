"""An entry of a sweep: a mechanism, the method that audits it, and the number of audits."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

from jax import Array

from dpjax.core import random, validate
from dpjax.core.types import FiniteSpace, JsonObject, MixedSpace
from dpjax.core.validate import check_names
from dpjax.core.wording import BadType, BadValue
from dpjax.databases import Pairs
from dpjax.databases.trees import nth
from dpjax.mechanisms.named import (
    mechanism_from_plain,
    mechanism_name,
    mechanism_parameters,
)
from dpjax.methods import METHODS, Events, Histogram, Local, Method, Sequential
from dpjax.notions import Epsilon, Notion, Terms
from dpjax.partitions import Region, as_box, as_region
from dpjax.results.recipes import (
    STANDARD,
    notion_from_plain,
    notion_to_plain,
    options_from_plain,
    options_to_plain,
    pairs_from_plain,
    pairs_to_plain,
)
from dpjax.sources import SOURCES, AnyPairs, Drawn, Source, Trust, as_source

_RECORDED = "cannot: audit recorded outputs with dpjax.audit(...) or dpjax audit, not in a sweep."
"""End of the message about sources without new outputs."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A mechanism, the method that audits it, and the number of runs.

    Attributes:
        mechanism: A mechanism from the catalogue, an importable class or function in any form that
            `dpjax.audit` accepts, or a `dpjax.HostMechanism` or `dpjax.CanaryRuns` that wraps an
            importable function.
        method: A method of `dpjax.audit` with its options, or `LocalSearch` or `HistogramEstimate`,
            which provide estimates without a bound.
        pairs: Pairs to search, or None for the mechanism's standard pairs. Histogram methods that
            compare all of their inputs accept no pairs.
        notion: Privacy notion to bound; local and histogram methods accept only epsilon at
            delta = 0.
        claim: Claimed level to compare with every run, as in `dpjax.audit`, or None.
        confidence: Confidence level of the bounds, if the method provides bounds. The default is
            0.95, which is lower than the default of `dpjax.audit`.
        distance: Number of records in which the two databases of each pair differ. All bounds are
            converted to bounds for databases that differ in one record.
        num_runs: Number of runs. The runs are numbered 0, ..., num_runs - 1.
        label: Label for display; the entry's identity does not depend on the label.

    Raises:
        ValueError: If a value is out of range, or if two values are incompatible.
        TypeError: If `method` or `notion` has the wrong type, or if the method cannot audit the
            mechanism.
    """

    mechanism: Any
    method: Any = Events()  # noqa: RUF009 (frozen)
    pairs: Any = None
    _: KW_ONLY
    notion: Notion = Epsilon()  # noqa: RUF009 (frozen)
    claim: object = None
    confidence: float = 0.95
    distance: int = 1
    num_runs: int = 1000
    label: str = ""

    def __post_init__(self):
        if not isinstance(self.method, Method) or isinstance(self.method, type):
            known = ", ".join(f"{kind.__name__}(...)" for kind in METHODS.values())
            raise BadType(f"method must be one of {known}, but was {self.method!r}.")
        terms = self.terms(0)
        if isinstance(self.method, Local | Histogram):
            terms.refuse_notions(f"the method {self.method.name!r}")
        validate.positive_int(num_runs=self.num_runs)
        validate.within_limit("runs", self.num_runs, "an entry has too many runs")
        self._look()
        # Equal regions are stored in the same form, so that equal entries have the same identity.
        if self.region is not None and getattr(self.method, "region", None) is not None:
            object.__setattr__(self, "method", replace(self.method, region=self.region))
        if not isinstance(self.label, str):
            raise TypeError(f"label must be a string, but was {self.label!r}.")
        object.__setattr__(self, "label", self.label or self.mechanism_name)

    def terms(self, key: int | Array) -> Terms:
        """Return the terms of the entry's audits: notion, claim, confidence, distance and key."""
        return Terms(self.notion, self.claim, self.confidence, 1, key, None, self.distance)

    def _look(self) -> None:
        """Check that the method can audit the mechanism; normalize the mechanism and its pairs."""
        if reason := self.source.refuses(self.method.name) or self.method.accepts(self.source):
            raise TypeError(reason)
        if not self.source.repeatable:
            raise TypeError(
                f"mechanism must draw new outputs in every run, but {self.source.name} {_RECORDED}"
            )
        if not self.source.takes_pairs:
            if self.pairs is not None:
                name = self.source.name
                raise BadValue(f"pairs must be left out for {name}, which accepts no pairs.")
            return
        if not self.source.stacks_pairs:
            object.__setattr__(self, "pairs", AnyPairs.of(self.pairs))
            return
        inputs = getattr(self.method, "inputs", None)
        if inputs is None and getattr(self.method, "input_interval", None) is None:
            mechanism, pairs = Drawn(self.mechanism).at(self.pairs)
            object.__setattr__(self, "mechanism", mechanism)
            object.__setattr__(self, "pairs", pairs)
        elif self.pairs is not None:
            raise BadValue(
                "pairs must be left out for a histogram estimate, which compares all of its inputs."
            )

    @cached_property
    def source(self) -> Source:
        """Source that draws outputs from the mechanism."""
        return as_source(self.mechanism)

    @cached_property
    def region(self) -> Region | None:
        """Region in which outputs are compared: a `Box`, `Outcomes`, or None for all outputs.

        If the region is None, methods that estimate densities use the range of the outputs of a
        pilot sample.
        """
        given = getattr(self.method, "region", None)
        if not self.source.stacks_pairs:
            return as_box(given)
        space = self.mechanism.output_space
        if isinstance(self.method, Local):
            if isinstance(space, MixedSpace):
                raise ValueError(
                    f"Local cannot run on outputs that are {space}: outputs with atoms have no "
                    "density; use Events()."
                )
            if given is None:
                given = getattr(self.mechanism, "standard_region", None)
            if given is None and isinstance(space, FiniteSpace):
                return as_region(None, space)
        return None if given is None else as_region(given, space)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def mechanism_name(self) -> str:
        """Name of the mechanism in the catalogue, or MODULE:NAME for other mechanisms."""
        if self.source.stacks_pairs:
            return mechanism_name(self.mechanism)
        content = self.source.to_plain() or {}
        if "name" not in content:
            raise ValueError(
                f"mechanism must be importable by its name for a sweep, but was "
                f"{self.source.name}: use a HostMechanism or CanaryRuns of a function at the top "
                "level of a module that every process can import, and not of the running script."
            )
        return content["name"]

    @cached_property
    def id(self) -> str:
        """Stable identity: mechanism name, and hash of all fields except `label` and `num_runs`."""
        content = self.to_dict()
        for free in ("label", "runs"):
            del content[free]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return f"{content['mechanism'].rpartition(':')[2].lower()}-{digest[:12]}"

    @property
    def goes_on(self) -> bool:
        """Whether the runs can be continued; True for sequential audits without a time limit."""
        limits = getattr(self.method, "seconds", None), getattr(self.source, "time_limit", None)
        return isinstance(self.method, Sequential) and limits == (None, None)

    def longer(self, more: int) -> Method:
        """Return the sequential method with `more` additional draws per side."""
        assert isinstance(self.method, Sequential)
        return self.method.longer(more) if more else self.method

    def key(self, root: object) -> Array:
        """Return the typed key for the runs: the sweep's key with the entry's identity folded in.

        Args:
            root: Integer seed or typed key of the sweep.
        """
        return random.fold_in(random.as_key(root), random.stable_hash(self.id))

    def to_dict(self) -> JsonObject:
        """Return the entry as JSON values that `from_dict` can read."""
        drawn = self.source.stacks_pairs
        content = {
            "label": self.label,
            "mechanism": self.mechanism_name,
            **({} if drawn else {"source": self.source.kind}),
            "parameters": mechanism_parameters(self.mechanism) if drawn else self._options(),
            "method": self.method.name,
            "options": options_to_plain(self.method),
            "runs": self.num_runs,
        }
        if self.method.bounded:
            content["notion"] = notion_to_plain(self.notion, implied=Epsilon.name)
            content["confidence"] = float(self.confidence)
            if self.distance != 1:
                content["distance"] = self.distance
            if self.claim is not None:
                content["claim"] = self.terms(0).plain_claim
        if self.pairs is not None:
            content["pairs"] = pairs_to_plain(self.pairs, self.mechanism)
        return content

    def _options(self) -> JsonObject:
        """Return a host source's options, apart from its name, as JSON values."""
        return {k: v for k, v in (self.source.to_plain() or {}).items() if k != "name"}

    @classmethod
    def from_dict(cls, content: JsonObject, allow_import: Collection[str] = ()) -> "Entry":
        """Read an entry written by a user or by `to_dict`.

        Args:
            content: The entry as JSON values; only `mechanism` is required.
            allow_import: Modules from which a mechanism MODULE:NAME may be imported. A name without
                a module is looked up in the catalogue.

        Raises:
            ValueError: If a name in the entry is unknown, or if a value is out of range.
            TypeError: If a value in the entry has the wrong type.
        """
        validate.check_table("an entry", content)
        parameter = next((name for name in content if name in ("epsilon", "sigma", "scale")), None)
        if parameter is not None:
            raise ValueError(
                f"an entry has no {parameter!r}: write a parameter of its mechanism as "
                f"parameters = {{{parameter} = {content[parameter]!r}}}, or multiple values of the "
                f"parameter as grid = {{{parameter} = [...]}}."
            )
        # "grid" is accepted here because `SweepSpec.from_dict` expands it into multiple entries.
        check_names("an entry", content, _NAMES, "grid")
        if "mechanism" not in content:
            raise ValueError("an entry must name its mechanism, but did not.")
        name = content.get("method", Events.name)
        if not isinstance(name, str):
            raise BadType(f"method must be a name, but was {name!r}.")
        validate.one_of(METHODS, method=name)
        if "runs" in content:
            validate.positive_int(runs=content["runs"])
        method = options_from_plain(METHODS[name], content.get("options", {}))
        pairs = content.get("pairs", STANDARD)
        kind = content.get("source", Drawn.kind)
        validate.one_of(SOURCES, source=kind)
        if not SOURCES[kind].repeatable:
            raise BadValue(f"source must draw new outputs in every run, but {kind!r} {_RECORDED}")
        stacked = SOURCES[kind].stacks_pairs
        pairs = None if pairs == STANDARD else pairs_from_plain(pairs, stacked)
        if stacked:
            database = nth(pairs.database, 0) if isinstance(pairs, Pairs) else None
            inputs = getattr(method, "inputs", None)
            database = database if inputs is None else inputs[0]
            given = content["mechanism"], content.get("parameters", {})
            mechanism = mechanism_from_plain(*given, database, allow_import)
        else:
            named = {"name": content["mechanism"], **content.get("parameters", {})}
            mechanism = SOURCES[kind].from_plain(named, None, Trust(allow_import))
        return cls(
            mechanism,
            method,
            pairs,
            notion=notion_from_plain(content.get("notion", {})),
            claim=content.get("claim"),
            confidence=content.get("confidence", 0.95),
            distance=content.get("distance", 1),
            num_runs=content.get("runs", 1000),
            label=content.get("label", ""),
        )


_NAMES = ("label", "mechanism", "source", "parameters", "method", "options", "notion", "claim")
_NAMES = (*_NAMES, "confidence", "distance", "runs", "pairs")
"""Names of the fields that an entry in a specification file may contain."""
