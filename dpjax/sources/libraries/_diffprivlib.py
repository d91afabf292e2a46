"""Readers for diffprivlib mechanisms, tools and models.

A mechanism states its epsilon, delta and sensitivity. A tool or a model states only its epsilon, so
the caller must pass the pairs of databases.
"""

import copy
import functools
import inspect
import numbers
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType, BadValue
from dpjax.databases import AnyTwo, Domain, Neighbors, Within, neighbors
from dpjax.notions import Epsilon
from dpjax.sources.libraries._handed import Handed, made_by, refuse_class

_PLAIN = (bool, int, float, str, type(None))

_OF_MATRICES = "Bingham"
"""Name of the mechanism whose database is a symmetric matrix, although it states a sensitivity."""


def read(subject: Any, d_in: object) -> Handed:
    """Read the claim and the neighboring databases from a diffprivlib object."""
    refuse_class(subject)
    if getattr(subject, "__name__", None) == "randomise":
        subject = getattr(subject, "__self__", subject)
    if hasattr(subject, "randomise"):
        return _mechanism(subject, d_in)
    if hasattr(subject, "fit"):
        call = _Fitted(subject)
        return Handed(call.__name__, call, Epsilon(), float(subject.epsilon), None, None)
    if callable(subject):
        call = _Tool(subject)
        return Handed(call.__name__, call, Epsilon(), call.epsilon, None, None)
    raise BadType(
        "a diffprivlib object can be audited only if it is a mechanism, a model or a tool, but "
        f"the object was of type {type(subject).__name__}."
    )


def made(plain: JsonObject) -> object:
    """Create a diffprivlib mechanism from its class and parameters."""
    return made_by("diffprivlib.mechanisms", plain)


class _Randomise:
    """Function that maps a database, or a list of utilities, to one output of a mechanism."""

    def __init__(self, mechanism: Any):
        self._mechanism = mechanism
        self._by_utility = hasattr(mechanism, "utility")
        self.__name__ = f"diffprivlib {type(mechanism).__name__}"
        if self._by_utility and (changed := _changed(mechanism)):
            raise BadValue(
                "subject must have the state that its constructor gives it, because the audit "
                f"creates a new {type(mechanism).__name__} for each list of utilities, but the "
                f"subject differs from a new one in {', '.join(changed)}: audit a function "
                "(utilities) that returns one output, and pass pairs and a claim."
            )

    def __call__(self, database: Any) -> object:
        if not self._by_utility:
            return self._mechanism.randomise(database)
        parameters = _parameters(self._mechanism) | {"utility": list(database)}
        return type(self._mechanism)(**parameters).randomise()


class _Tool:
    """Function that maps a database to one output of a tool whose other arguments are fixed."""

    def __init__(self, tool: Callable[..., object]):
        self._tool = tool
        self._accounts = "accountant" in inspect.signature(tool).parameters
        function = tool.func if isinstance(tool, functools.partial) else tool
        name = getattr(function, "__name__", type(function).__name__)
        given = inspect.signature(tool).parameters
        if not isinstance(getattr(given.get("epsilon"), "default", None), int | float | np.number):
            raise BadType(
                "a diffprivlib function can be audited only if its parameter epsilon has a value, "
                f"but {name} has the parameters {', '.join(given) or 'none'}: audit "
                "dpjax.HostMechanism(function, batched=False) with a claim."
            )
        self.epsilon = float(given["epsilon"].default)
        self.__name__ = f"diffprivlib {name}"

    def __call__(self, database: object) -> object:
        with warnings.catch_warnings():
            # Ignore warnings about missing bounds, which concern the claim and not the outputs.
            warnings.simplefilter("ignore")
            ledger = {"accountant": _accountant()} if self._accounts else {}
            return self._tool(database, **ledger)


class _Fitted:
    """Function that fits a copy of a model to a database and returns the fitted attributes."""

    def __init__(self, model: Any):
        if hasattr(model, "accountant"):
            model = copy.copy(model)
            model.accountant = _accountant()
        self._model = model
        self.__name__ = f"diffprivlib {type(model).__name__}"

    def __call__(self, database: object) -> object:
        fresh = copy.deepcopy(self._model)
        if hasattr(fresh, "random_state"):
            # Share the generator, since a copy of it would draw the same noise on every call.
            fresh.random_state = self._model.random_state
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fresh.fit(*database) if isinstance(database, tuple) else fresh.fit(database)
        return _fitted(fresh)


def _fitted(model: object) -> dict[str, object]:
    """Return a model's fitted attributes, which have names that end with an underscore."""
    return {
        name: _content(value)
        for name, value in sorted(vars(model).items())
        if name.endswith("_") and not name.startswith(("_", "n_features"))
    }


def _content(value: Any) -> object:
    """Convert a fitted attribute to numbers, text, or a nested list or dict of these."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return [_content(part) for part in value]
    if isinstance(value, dict):
        return {str(name): _content(part) for name, part in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.names:
        return {name: _content(value[name]) for name in value.dtype.names}
    if _is_number(value):
        return np.asarray(value, float).ravel()
    if isinstance(value, np.ndarray):
        return [_content(part) for part in value.ravel().tolist()]
    if hasattr(value, "fit"):
        return _fitted(value)
    # The trees of a forest are objects of compiled code, whose state is a dict of arrays.
    state = value.__getstate__()
    return _content(state) if isinstance(state, dict) else type(value).__name__


def _accountant() -> object:
    """Return a new budget accountant.

    The library's default accountant would charge the audit's draws to the caller's privacy budget,
    and would take O(n^2) time for n draws.
    """
    from diffprivlib import BudgetAccountant

    return BudgetAccountant()


def _is_number(value: object) -> bool:
    kind = value.dtype.kind if isinstance(value, np.ndarray) else ""
    return isinstance(value, numbers.Real) or kind in tuple("biuf")


def _mechanism(mechanism: Any, d_in: object) -> Handed:
    parameters, call = _parameters(mechanism), _Randomise(mechanism)
    plain: JsonObject | None = None
    if all(_is_plain(value) for value in parameters.values()) and not _changed(mechanism):
        # Leave the generator out, since all outputs would be equal if it were fixed.
        kept = {name: v for name, v in parameters.items() if name != "random_state"}
        plain = {"class": type(mechanism).__name__, "parameters": kept}
    notion = Epsilon(float(mechanism.delta or 0.0))

    def anew() -> _Randomise:
        return _Randomise(type(mechanism)(**parameters))

    claim, pairs = float(mechanism.epsilon), _pairs_of(mechanism, d_in)
    return Handed(call.__name__, call, notion, claim, pairs, plain, anew)


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)


def _parameters(mechanism: object) -> dict[str, object]:
    names = list(inspect.signature(type(mechanism).__init__).parameters)[1:]
    return {name: getattr(mechanism, name) for name in names if hasattr(mechanism, name)}


def _changed(mechanism: object) -> list[str]:
    """Return the attributes in which a mechanism differs from a new one with its parameters.

    A mechanism differs if it was changed after it was created, or if it is of a subclass that does
    not store the arguments of its constructor.
    """
    try:
        new = vars(type(mechanism)(**_parameters(mechanism)))
    except Exception:  # The constructor of a subclass may need other arguments.
        return ["the arguments of its constructor"]
    own = vars(mechanism)
    # Some mechanisms compute a private attribute when they are first used.
    later = {name for name, value in new.items() if name.startswith("_") and value is None}
    names = sorted({*own, *new} - {"_rng", "random_state"} - later)
    return [n for n in names if n not in own or n not in new or not _are_equal(own[n], new[n])]


def _are_equal(first: object, second: object) -> bool:
    try:
        return first is second or bool(np.all(np.asarray(first == second)))
    except Exception:  # Objects of a subclass may refuse comparisons.
        return False


def _pairs_of(mechanism: Any, d_in: object) -> Neighbors | None:
    """Return the search space: any two accepted values, or inputs at most a sensitivity apart."""
    if hasattr(mechanism, "value0"):
        values = [mechanism.value0, mechanism.value1]
        return neighbors(values[0], AnyTwo(), Domain(categories=values))
    if hasattr(mechanism, "utility_list"):
        values = sorted({name for row in mechanism.utility_list for name in row[:2]})
        return neighbors(values[0], AnyTwo(), Domain(categories=values))
    sensitivity = d_in or getattr(mechanism, "sensitivity", None)
    if type(mechanism).__name__ == _OF_MATRICES:
        return None
    if not isinstance(sensitivity, int | float | np.number) or not sensitivity > 0:
        return None
    sensitivity = float(sensitivity)
    if hasattr(mechanism, "utility"):
        monotonic = bool(getattr(mechanism, "monotonic", False))
        relation = Within(sensitivity, "linf", monotonic)
        return neighbors([float(v) for v in mechanism.utility], relation)
    whole = type(mechanism).__name__.startswith(("Geometric", "GaussianDiscrete"))
    bounds = None
    if hasattr(mechanism, "lower"):
        bounds = (mechanism.lower, mechanism.upper)
    middle = 0 if bounds is None else (bounds[0] + bounds[1]) / 2
    like = int(middle) if whole else float(middle)
    return neighbors(like, Within(sensitivity), Domain(bounds=bounds))
