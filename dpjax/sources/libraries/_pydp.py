"""Reader for algorithms and mechanisms of PyDP, the Python interface to Google's library.

An algorithm states its epsilon, its delta and the maximum number of records per user. Neighboring
databases may contain any records of the right type, because algorithms clamp records.

References:
    The PyDP library, `pydp.algorithms.laplacian` and `pydp.algorithms.numerical_mechanisms`.
"""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType
from dpjax.databases import AddRemove, Domain, Within, neighbors
from dpjax.notions import Epsilon
from dpjax.sources.libraries._handed import Handed, made_by, refuse_class

_MECHANISMS = "pydp.algorithms.numerical_mechanisms"

_INTEGER_BITS = {"int": 32, "int64": 64}
"""Bit width of each integer record type. Records of any other type are treated as floats."""


@runtime_checkable
class _Algorithm(Protocol):
    """A PyDP algorithm that is applied to a list of records."""

    epsilon: float
    delta: float
    dtype: str
    linf_sensitivity: int | str

    def quick_result(self, data: list[object], /) -> object: ...


@runtime_checkable
class _Additive(Protocol):
    """A PyDP mechanism that adds noise to a number."""

    epsilon: float

    def add_noise(self, value: object, /) -> object: ...


def read(subject: object, d_in: object) -> Handed:
    """Read the claim and the neighboring databases from a PyDP object."""
    refuse_class(subject)
    name, distance = (
        f"PyDP {type(subject).__name__}",
        d_in if isinstance(d_in, int | float) else None,
    )
    if isinstance(subject, _Additive):
        return _additive(name, subject, distance)
    if isinstance(subject, _Algorithm):
        return _algorithm(name, subject, distance)
    raise BadType(
        "a PyDP object can be audited only if it is an algorithm with quick_result, or a mechanism "
        f"with add_noise, but the object was of type {type(subject).__name__}."
    )


def made(plain: JsonObject) -> _Additive:
    """Create a PyDP mechanism from its class and parameters."""
    return made_by(_MECHANISMS, plain)


class _Run:
    """Function that maps a list of records to one output of an algorithm."""

    def __init__(self, name: str, algorithm: _Algorithm):
        self.__name__, self._algorithm = name, algorithm

    def __call__(self, database: object) -> object:
        assert isinstance(database, Iterable)
        return self._algorithm.quick_result(list(database))


class _Noise:
    """Function that maps a number to the number plus noise, using a PyDP mechanism."""

    def __init__(self, name: str, mechanism: _Additive):
        self.__name__, self._mechanism = name, mechanism

    def __call__(self, database: object) -> object:
        return self._mechanism.add_noise(database)


def _algorithm(name: str, algorithm: _Algorithm, d_in: float | None) -> Handed:
    bits = _INTEGER_BITS.get(algorithm.dtype)
    domain = Domain(bounds=None if bits is None else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
    records = [0.0, 1.0, 2.0, 3.0, 4.0] if bits is None else [0, 1, 2, 3, 4]
    of_user = algorithm.linf_sensitivity
    size = (of_user if isinstance(of_user, int) else 1) if d_in is None else int(d_in)
    pairs = neighbors(records, AddRemove(size), domain)
    claim, notion = float(algorithm.epsilon), Epsilon(float(algorithm.delta))
    return Handed(name, _Run(name, algorithm), notion, claim, pairs, None)


def _additive(name: str, mechanism: _Additive, d_in: float | None) -> Handed:
    # Laplace mechanisms have no delta, and Gaussian mechanisms name the sensitivity differently.
    delta = float(getattr(mechanism, "delta", 0.0))
    sensitivity = float(getattr(mechanism, "l2_sensitivity" if delta else "sensitivity"))
    parameters = {"epsilon": float(mechanism.epsilon), "sensitivity": sensitivity}
    parameters |= {"delta": delta} if delta else {}
    plain: JsonObject = {"class": type(mechanism).__name__, "parameters": parameters}

    def anew() -> _Noise:
        return _Noise(name, made(plain))

    pairs = neighbors(0.0, Within(sensitivity if d_in is None else d_in))
    call = _Noise(name, mechanism)
    return Handed(name, call, Epsilon(delta), parameters["epsilon"], pairs, plain, anew)
