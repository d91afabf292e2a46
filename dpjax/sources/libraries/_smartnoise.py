"""Reader for SmartNoise mechanisms and synthesizers (the packages snsql and snsynth).

A mechanism states its epsilon, its delta, the bounds of a record, and the maximum number of records
per person. A synthesizer states only its epsilon and delta, so the caller must pass the pairs of
databases.

References:
    The SmartNoise library, additive mechanisms in `snsql.sql` and synthesizers in `snsynth`.
"""

import copy
import functools

from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType, BadValue
from dpjax.databases import Within, neighbors
from dpjax.notions import Epsilon
from dpjax.partitions import summarize
from dpjax.sources.libraries._handed import Foreign, Handed, made_by, refuse_class

_MECHANISMS = "snsql.sql._mechanisms"

_ROWS = 1000
"""Number of synthetic rows that are sampled from each fitted synthesizer."""


def read(subject: Foreign, d_in: object) -> Handed:
    """Read the claim and the neighboring databases from a SmartNoise object."""
    refuse_class(subject)
    fit = subject.func if isinstance(subject, functools.partial) else subject
    owner: Foreign = getattr(fit, "__self__", fit)
    if hasattr(owner, "fit") and hasattr(owner, "sample"):
        given = subject.keywords if isinstance(subject, functools.partial) else {}
        call = _Synthesized(owner, given)
        notion = Epsilon(float(getattr(owner, "delta", None) or 0.0))
        return Handed(call.__name__, call, notion, float(owner.epsilon), None, None)
    if hasattr(subject, "release") and hasattr(subject, "max_contrib"):
        return _mechanism(subject, d_in)
    raise BadType(
        "a SmartNoise object can be audited only if it is a mechanism with release, or a "
        f"synthesizer, but the object was of type {type(subject).__name__}: instead, audit a "
        "function that maps a database to an answer, and pass a notion and a claim."
    )


def made(plain: JsonObject) -> Foreign:
    """Create a SmartNoise mechanism from its class and parameters."""
    return made_by(_MECHANISMS, plain)


class _Release:
    """Function that maps an exact number to one noisy number."""

    def __init__(self, mechanism: Foreign):
        self._mechanism = mechanism
        self.__name__ = f"SmartNoise {type(mechanism).__name__}"

    def __call__(self, database: object) -> object:
        return self._mechanism.release([database])[0]


class _Synthesized:
    """Function that fits a copy of a synthesizer to a table, and summarizes synthetic rows.

    The number of rows is constant, because it would otherwise reveal the size of the database.
    """

    def __init__(self, synthesizer: Foreign, given: dict[str, object]):
        self._synthesizer, self._given = synthesizer, given
        self.__name__ = f"SmartNoise {type(synthesizer).__name__}"

    def __call__(self, database: Foreign) -> object:
        fresh = copy.deepcopy(self._synthesizer)
        fresh.fit(database, **self._given)
        return summarize(fresh.sample(_ROWS))


def _mechanism(mechanism: Foreign, d_in: object) -> Handed:
    names = ("sensitivity",) if mechanism.sensitivity is not None else ("lower", "upper")
    parameters = {
        name: float(getattr(mechanism, name)) for name in ("epsilon", "delta", *names)
    } | {"max_contrib": int(mechanism.max_contrib)}
    plain: JsonObject = {"class": type(mechanism).__name__, "parameters": parameters}
    # Each person adds at most `max_contrib` records to a sum, and each record lies within the
    # bounds.
    moved = max(abs(float(mechanism.lower)), abs(float(mechanism.upper))) * mechanism.max_contrib
    distance = float(d_in) if isinstance(d_in, int | float) else moved
    if not 0 < distance < float("inf"):
        raise BadValue(
            f"subject must have a sensitivity that is positive and finite, but had {distance!r}: "
            "set its bounds, or wrap it in dpjax.LibraryMechanism with d_in."
        )
    call = _Release(mechanism)

    def anew() -> _Release:
        return _Release(made(plain))

    claim, notion = parameters["epsilon"], Epsilon(parameters["delta"])
    pairs = neighbors(0.0, Within(distance))
    return Handed(call.__name__, call, notion, claim, pairs, plain, anew)
