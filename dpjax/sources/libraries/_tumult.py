"""Reader for Tumult Core measurements: claims come from measures, and neighbors from domains.

References:
    The Tumult Core library, guide on measurements, domains, metrics and measures.
"""

from fractions import Fraction
from importlib import import_module

from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType, BadValue
from dpjax.databases import AddRemove, ChangeOne, Domain, Neighbors, Within, neighbors
from dpjax.databases.spaces import Relation
from dpjax.notions import Epsilon, Notion, Zcdp
from dpjax.sources.libraries._handed import Foreign, Handed, finite, refuse_class

_EXAMPLES: dict[str, list[int] | list[float] | list[str]] = {
    "NumpyIntegerDomain": [0, 1, 2, 3, 4],
    "NumpyFloatDomain": [0.0, 1.0, 2.0, 3.0, 4.0],
    "NumpyStringDomain": ["a", "b", "a", "c", "a"],
}
"""Example values for each domain of numbers or strings."""

_SUMMED = {"SumOf": "l1", "RootSumOfSquared": "l2"}
"""Map from each metric that aggregates absolute differences to dpjax's name for its norm."""

_NOISE = {
    "AddLaplaceNoise": "scale",
    "AddGaussianNoise": "sigma_squared",
    "AddGeometricNoise": "alpha",
    "AddDiscreteGaussianNoise": "sigma_squared",
}
"""Map from the name of each measurement that adds noise to the name of its parameter."""

_INT64, _EXACT = (-(2**63), 2**63 - 1), (-(2**52), 2**52)
"""Bounds of integer records. _INT64 contains the bounds of int64. _EXACT contains bounds for the
entries of vectors, because float64 must represent their noisy values exactly.
"""


class _Measurement:
    """Function that maps a database to one output of a measurement.

    A list becomes a pandas series if the measurement expects a series.
    """

    def __init__(self, measurement: Foreign):
        self._measurement = measurement
        self.__name__ = f"Tumult {type(measurement).__name__}"

    def __call__(self, database: object) -> object:
        domain = self._measurement.input_domain
        if type(domain).__name__ == "PandasSeriesDomain" and isinstance(database, list):
            import pandas

            database = pandas.Series(database, dtype=domain.element_domain.carrier_type)
        output = self._measurement(database)
        # A measurement whose input is a series or a frame may also output a series or a frame.
        if hasattr(output, "to_dict"):
            values = output.to_dict("list") if hasattr(output, "columns") else output.tolist()
            labels = output.index.tolist()
            # The labels of rows are part of the output, unless they are just the row numbers.
            return values if labels == [*range(len(labels))] else [labels, values]
        return output.tolist() if hasattr(output, "tolist") else output


def read(measurement: Foreign, d_in: object) -> Handed:
    """Read the claim and the neighboring databases from a measurement."""
    refuse_class(measurement)
    if not hasattr(measurement, "privacy_function"):
        raise BadType(
            "a Tumult Core object can be audited only if it is a Measurement, but was of type "
            f"{type(measurement).__name__}: chain a transformation with a measurement first."
        )
    if measurement.is_interactive:
        raise BadType(
            "a Tumult Core measurement can be audited only if it returns its output, but "
            f"{type(measurement).__name__} is interactive: audit a function that asks the queries."
        )
    distance = 1 if d_in is None else d_in
    notion, claim = _claim_of(measurement, distance)
    call = _Measurement(measurement)
    pairs = _pairs_of(measurement, distance)
    return Handed(call.__name__, call, notion, claim, pairs, _plain(measurement))


def made(plain: JsonObject) -> object:
    """Create a measurement that adds noise to a number, given its class and noise parameter."""
    root = "tmlt.core"
    kind = getattr(import_module(f"{root}.measurements.noise_mechanisms"), str(plain["class"]))
    if plain["domain"] == "NumpyIntegerDomain":
        return kind(str(plain["parameter"]))
    domain = getattr(import_module(f"{root}.domains.numpy_domains"), str(plain["domain"]))
    return kind(domain(), str(plain["parameter"]))


def _plain(measurement: Foreign) -> JsonObject | None:
    name, domain = type(measurement).__name__, type(measurement.input_domain).__name__
    if name not in _NOISE:
        return None
    exact = getattr(measurement, _NOISE[name])
    return {"class": name, "domain": domain, "parameter": str(exact)}


def _claim_of(measurement: Foreign, d_in: Foreign) -> tuple[Notion, object]:
    """Return the claim's notion, and the level that the privacy function gives for `d_in`."""
    # The library rejects floats because a float may only approximate the intended distance.
    stated = measurement.privacy_function(Fraction(d_in) if isinstance(d_in, float) else d_in)
    measure = type(measurement.output_measure).__name__
    if measure == "PureDP":
        return Epsilon(), finite(_rounded_up(stated), measure, d_in)
    if measure == "ApproxDP":
        epsilon, delta = map(_rounded_up, stated)
        return Epsilon(delta), finite(epsilon, measure, d_in)
    if measure == "RhoZCDP":
        return Zcdp(), finite(_rounded_up(stated), measure, d_in)
    raise BadValue(
        "subject must state its privacy in a measure for which dpjax has a notion, but states "
        f"{measure}: audit dpjax.HostMechanism(subject, batched=False) with a notion and a claim."
    )


def _rounded_up(exact: Foreign) -> float:
    return float(exact.to_float(round_up=True))


def _pairs_of(measurement: Foreign, d_in: Foreign) -> Neighbors | None:
    """Return the search space of neighbors, or None if the domain or the metric is unknown."""
    domain, relation = measurement.input_domain, _relation_of(measurement.input_metric, d_in)
    if relation is None:
        return None
    if type(domain).__name__ == "PandasDataFrameDomain":
        return _frames(domain, relation)
    is_list = type(domain).__name__ in ("ListDomain", "PandasSeriesDomain")
    atom, size = domain, None
    if is_list:
        atom, size = domain.element_domain, getattr(domain, "length", None)
    values = _EXAMPLES.get(type(atom).__name__)
    if values is None:
        return None
    whole = _INT64 if type(measurement).__name__ in _NOISE else _EXACT
    made_of = _domain_of(atom, whole, size if relation.of_records else None)
    like = [values[i % len(values)] for i in range(len(values) if size is None else size)]
    return neighbors(like if is_list else values[0], relation, made_of)


def _frames(domain: Foreign, relation: Relation) -> Neighbors | None:
    """Return the space of neighboring data frames, or None if some column's domain is unknown."""
    import pandas

    atoms = {name: column.element_domain for name, column in domain.schema.items()}
    if not {type(atom).__name__ for atom in atoms.values()} <= set(_EXAMPLES):
        return None
    like = pandas.DataFrame({name: _EXAMPLES[type(atom).__name__] for name, atom in atoms.items()})
    columns = {name: _domain_of(atom, _EXACT) for name, atom in atoms.items()}
    return neighbors(like, relation, Domain(columns=columns))


def _domain_of(atom: Foreign, whole: tuple[int, int], size: int | None = None) -> Domain:
    """Return the domain of databases whose values belong to a given domain.

    Args:
        atom: Domain of the values in a database.
        whole: Bounds for values that are integers.
        size: Number of values in a database, or None if the number is not fixed.
    """
    return Domain(
        bounds=whole if type(atom).__name__ == "NumpyIntegerDomain" else None,
        nan=getattr(atom, "allow_nan", False),
        infinite=getattr(atom, "allow_inf", False),
        size=size,
    )


def _relation_of(metric: Foreign, d_in: Foreign) -> Relation | None:
    kind = type(metric).__name__
    if kind == "AbsoluteDifference":
        return Within(float(d_in))
    if kind in _SUMMED and type(metric.inner_metric).__name__ == "AbsoluteDifference":
        return Within(float(d_in), _SUMMED[kind])
    if kind == "SymmetricDifference":
        return AddRemove(int(d_in))
    return ChangeOne(int(d_in)) if kind == "HammingDistance" else None
