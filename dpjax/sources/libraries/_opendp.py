"""Reader for OpenDP measurements: claims come from output measures, and neighbors from domains.

References:
    The OpenDP library, user guide on measurements, domains and metrics.
"""

import re
import warnings
from functools import partial
from typing import Any

from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType, BadValue
from dpjax.databases import AddRemove, AnyTwo, ChangeOne, Domain, Neighbors, Within, neighbors
from dpjax.databases.spaces import Relation
from dpjax.notions import Epsilon, Notion, Profile, Renyi, Zcdp
from dpjax.sources.libraries._handed import Handed, finite

_EXAMPLES = {
    "bool": [True, False, True, False, True],
    "String": ["a", "b", "a", "c", "a"],
    "f32": [0.0, 1.0, 2.0, 3.0, 4.0],
    "f64": [0.0, 1.0, 2.0, 3.0, 4.0],
}
"""Example values for each carrier type of an atom domain. Any other type has integer examples."""

_ORDER = 2.0
"""Order at which the audit tests a claimed curve of Renyi divergences."""

_BOUNDED = {"AbsoluteDistance": "absolute", "L1Distance": "l1", "L2Distance": "l2",
            "LInfDistance": "linf"}  # fmt: skip
"""Map from each metric for numbers or vectors to dpjax's name for its norm."""

_FIXED_SIZE_DISTANCE = 2
"""Symmetric distance between two databases of equal size that differ in one record."""


class _Measurement:
    """Function that maps a database to one output of a measurement.

    The function is pickled as the string to which OpenDP serializes the measurement.
    """

    def __init__(self, measurement: object):
        self._measurement: Any = measurement
        self.__name__ = _name_of(measurement)

    def __call__(self, database: object) -> object:
        return self._measurement(database)

    def __getstate__(self) -> str:
        from opendp.mod import serialize

        return serialize(self._measurement)

    def __setstate__(self, text: str) -> None:
        self.__init__(made({"text": text}))


def read(measurement: object, d_in: object) -> Handed:
    """Read the claim and the neighboring databases from a measurement."""
    from opendp.mod import Measurement

    if not isinstance(measurement, Measurement):
        raise BadType(
            "an OpenDP object can be audited only if it is a Measurement, but the object was of "
            f"type {type(measurement).__name__}: chain a transformation with a measurement first."
        )
    _refuse_amplified(measurement)
    pairs, d_in = _pairs_of(measurement, d_in)
    notion, claim = _claim_of(measurement, d_in)
    call = _Measurement(measurement)
    return Handed(call.__name__, call, notion, claim, pairs, _plain(call))


def made(plain: JsonObject) -> object:
    """Create a measurement from the string to which OpenDP serialized it."""
    from opendp.mod import deserialize, enable_features

    # Enable the features that the measurement may need; otherwise, constructors raise an error.
    enable_features("contrib", "honest-but-curious")
    return deserialize(str(plain["text"]))


def _refuse_amplified(part: object) -> None:
    """Raise ValueError if a part of a measurement requires a secret sample as its database."""
    made_by = getattr(part, "__opendp_dict__", None)
    if not isinstance(made_by, dict):
        return
    if made_by["__function__"] == "make_population_amplification":
        raise BadValue(
            "subject must state a claim for all databases, but the claim of "
            "make_population_amplification assumes that the database is a secret random sample of "
            "a population: audit the measurement that was amplified, or a function that draws the "
            "sample from a population, with a notion and a claim."
        )
    for value in made_by["__kwargs__"].values():
        for inner in value if isinstance(value, list | tuple) else [value]:
            _refuse_amplified(inner)


def _plain(call: _Measurement) -> JsonObject | None:
    try:
        return {"text": call.__getstate__()}
    except Exception:  # A measurement of a user's function cannot be serialized.
        return None


def _name_of(measurement: object) -> str:
    """Return the names of a measurement's constructors, such as "make_sum >> make_laplace"."""
    names: list[str] = []

    def walk(node: object) -> None:
        made_by = getattr(node, "__opendp_dict__", None)
        if made_by is None:
            return
        # The arguments of a chain are numbered: transformation0 runs before measurement1.
        chained = {key[-1]: part for key, part in made_by["__kwargs__"].items() if key[-1] in "01"}
        for _, part in sorted(chained.items()):
            walk(part)
        if not chained:
            names.append(made_by["__function__"])

    walk(measurement)
    return " >> ".join(names) or "OpenDP measurement"


def _claim_of(measurement: Any, d_in: Any) -> tuple[Notion, object]:
    """Return the claim's privacy notion, and the level that the privacy map gives for `d_in`."""
    measure, stated = str(measurement.output_measure), measurement.map(d_in)
    if measure == "MaxDivergence":
        return Epsilon(), finite(stated, measure, d_in)
    if measure == "Approximate(MaxDivergence)":
        epsilon, delta = stated
        return Epsilon(float(delta)), finite(epsilon, measure, d_in)
    if measure == "ZeroConcentratedDivergence":
        return Zcdp(), finite(stated, measure, d_in)
    if measure == "SmoothedMaxDivergence":
        return Profile(), stated
    if measure == "Approximate(ZeroConcentratedDivergence)" and not stated[1]:
        return Zcdp(), finite(stated[0], measure, d_in)
    if measure.startswith("RenyiDivergence"):
        return Renyi(_ORDER), finite(stated(_ORDER), measure, d_in)
    raise BadValue(
        "subject must state its privacy in a measure for which dpjax has a notion, but states "
        f"{measure}: convert it with an OpenDP combinator, such as make_zCDP_to_approxDP, or "
        "audit dpjax.HostMechanism(subject, batched=False) with a notion and a claim."
    )


def _pairs_of(measurement: Any, d_in: object) -> tuple[Neighbors | None, object]:
    """Return the search space (None if the domain is unknown), and the distance within a pair."""
    domain, metric = measurement.input_domain, str(measurement.input_metric)
    kind, atom, size = type(domain).__name__, domain, None
    if kind == "VectorDomain":
        atom, size = domain.element_domain, domain.size
    of_records, _, options = metric.partition("(")
    counts = of_records in ("SymmetricDistance", "InsertDeleteDistance")
    if d_in is None:
        d_in = _FIXED_SIZE_DISTANCE if counts and size is not None else 1
    relation = _relation_of(of_records, d_in, "monotonic" in options)
    if relation is None or type(atom).__name__ != "AtomDomain":
        return None, d_in
    carrier = str(atom.carrier_type)
    bounds, categories = _bounds_of(atom), _categories_of(measurement)
    example = categories or _example(carrier, bounds, size)
    made_of = Domain(
        bounds=bounds,
        categories=categories,
        # If there are bounds, NaN is excluded, even if the domain states that NaN is allowed.
        nan=carrier in ("f32", "f64") and bounds is None and bool(atom.nan),
        infinite=carrier in ("f32", "f64") and bounds is None and relation.of_records,
        size=size if relation.of_records else None,
        member=partial(_is_member, domain),
    )
    like: object = example if kind == "VectorDomain" else example[0]
    return neighbors(like, relation, made_of), d_in


def _is_member(domain: Any, database: Any) -> bool:
    """Return whether a database is in the domain, and suppress warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(domain.member(database))


def _relation_of(metric: str, d_in: Any, monotonic: bool) -> Relation | None:
    if metric == "SymmetricDistance":
        return AddRemove(int(d_in))
    if metric == "InsertDeleteDistance":
        return AddRemove(int(d_in), ordered=True)
    if metric == "ChangeOneDistance":
        return ChangeOne(int(d_in))
    if metric == "HammingDistance":
        return ChangeOne(int(d_in), ordered=True)
    if metric == "DiscreteDistance":
        return AnyTwo()
    if metric in _BOUNDED:
        return Within(float(d_in), _BOUNDED[metric], monotonic)
    return None


def _bounds_of(atom: Any) -> tuple[float, float] | None:
    try:
        return atom.bounds
    except Exception:  # The library raises an exception if the atom has no bounds.
        return None


def _categories_of(measurement: object) -> list[object] | None:
    """Return the categories of a randomized response measurement."""
    made_by = getattr(measurement, "__opendp_dict__", {"__kwargs__": {}})["__kwargs__"]
    found = made_by.get("categories")
    return list(found) if found else None


def _example(carrier: str, bounds: tuple[float, float] | None, size: int | None) -> list[object]:
    """Return example values of a carrier type, within the bounds if there are any."""
    values: list[Any] = _EXAMPLES.get(carrier, [0, 1, 2, 3, 4])
    if bounds is not None:
        low, high = bounds
        values = [low + (high - low) * step / 4 for step in range(5)]
        if not re.match("f", carrier):
            values = [int(value) for value in values]
    count = len(values) if size is None else size
    return [values[place % len(values)] for place in range(count)]
