"""Validation of a JAX mechanism and its pairs before an audit, and pilot draws."""

from typing import Any

import jax
import numpy as np
from jax import Array

from dpjax.core import random
from dpjax.core.jit import jit_by_class
from dpjax.core.types import Database
from dpjax.core.wording import EVENTS, ON_HOST, BadType, BadValue, term
from dpjax.databases import Pairs
from dpjax.databases.trees import nth, shape_of
from dpjax.mechanisms import FromFunction, Mechanism, check_mechanism, from_function, is_built_in
from dpjax.mechanisms.named import name_of

_PILOT_SAMPLES = 4096
_PILOT_TAIL = 0.005

_SHOWN = 8
"""Maximum number of methods that a message lists."""


def pairs_of(mechanism: object, pairs: Any) -> Pairs:
    if isinstance(mechanism, str):
        if "." in mechanism or "/" in mechanism:
            raise TypeError(
                f"mechanism must be a mechanism or a function, but was the string {mechanism!r}: "
                "pass a function itself and not its name, and files of outputs as "
                "dpjax.Recorded(dpjax.Recording(x), dpjax.Recording(y)), where x and y are paths."
            )
        raise TypeError(
            f"mechanism must be a mechanism or a function, but was the name {mechanism!r}: make "
            f"one with dpjax.mechanisms.find_mechanism({mechanism!r})()."
        )
    if isinstance(mechanism, type):
        raise TypeError(
            f"mechanism must be an instance, but was the class {mechanism.__name__}: write "
            f"{mechanism.__name__}(...) with its parameters."
        )
    _refuse_outputs(mechanism)
    if pairs is not None:
        return Pairs.of(pairs)
    if standard := getattr(mechanism, "standard_pairs", None):
        return standard()
    from dpjax.mechanisms.training import DpSgd

    if isinstance(mechanism, DpSgd):
        raise BadValue(
            f"pairs must be given for {type(mechanism).__name__}: make a pair with "
            "dpjax.mechanisms.training.canary_pair(features, labels)."
        )
    raise BadValue(
        "pairs must be given for a mechanism that is not built in: a list of (database, neighbor)."
    )


def _refuse_outputs(mechanism: object) -> None:
    """Raise an error if the subject is data or a model instead of a mechanism."""
    classes = type(mechanism).__mro__
    if any(c.__name__ == "Module" and c.__module__.startswith("torch.") for c in classes):
        raise BadType(
            f"mechanism must be a mechanism or a function, but was the torch module "
            f"{type(mechanism).__name__}: to audit its training, pass a function (database, "
            f"num_samples) that trains it and returns the released values, as {ON_HOST}, or the "
            "scores of the canaries from one training run, as "
            f"{term('dpjax.OneRun(scores, included)', '--one-run')}."
        )
    if callable(mechanism) or isinstance(mechanism, Mechanism):
        return
    methods = [name for name, value in vars(type(mechanism)).items() if callable(value)]
    public = [name for name in methods if not name.startswith("_")]
    if public and not hasattr(mechanism, "__len__"):
        raise BadType(
            "mechanism must be a mechanism or a function, but was of type "
            f"{type(mechanism).__name__}, which cannot be called: pass the method that computes a "
            f"release from a database. The type has the methods {', '.join(public[:_SHOWN])}"
            f"{', ...' if len(public) > _SHOWN else ''}."
        )
    raise BadType(
        "mechanism must be a mechanism or a function, but was of type "
        f"{type(mechanism).__name__}: pass outputs that were recorded for two databases as "
        f"{term('dpjax.Recorded(x, y)', '--samples X Y')}, but pass databases as "
        f"{term('pairs=[(database, neighbor)]', '--pairs')}, together with the function that "
        "computes a release from them."
    )


def mechanism_at(mechanism: object, pairs: Pairs) -> Mechanism:
    """Convert a subject to a mechanism, and validate its outputs for the first pair.

    Outputs from the first pair's database are validated. If the neighbor has a different shape,
    outputs from the neighbor are validated, too.

    Raises:
        ValueError: If the outputs from the two databases are of different kinds.
    """
    sides = [nth(side, 0) for side in (pairs.database, pairs.neighbor)]
    found = mechanism_of(mechanism, sides[0])
    if shape_of(sides[0]) != shape_of(sides[1]):
        space = mechanism_of(mechanism, sides[1]).output_space
        if space != found.output_space:
            raise BadValue(
                f"{name_of(mechanism)} has outputs that are {found.output_space} for the database "
                f"and {space} for its neighbor: if a mechanism has outputs of different kinds, "
                f"wrap it as {ON_HOST}."
            )
    return found


def mechanism_of(mechanism: Any, database: Any) -> Mechanism:
    """Convert a subject to a mechanism; validate its outputs unless the mechanism is built in."""
    if isinstance(mechanism, Mechanism):
        if not is_built_in(mechanism) and not isinstance(mechanism, FromFunction):
            check_mechanism(mechanism, database)
        return mechanism
    return from_function(mechanism, database)


def check_shape(mechanism: Mechanism, pairs: Pairs) -> None:
    """Raise an error if the mechanism does not accept the databases, or their shape."""
    refuse = getattr(mechanism, "refuse_pairs", None)
    if refuse is not None:
        refuse(pairs)
    expected = getattr(mechanism, "num_queries", None)
    if expected is None and not hasattr(mechanism, "standard_pairs"):
        return
    shapes = {shape_of(nth(side, 0)) for side in (pairs.database, pairs.neighbor)}
    if len(shapes) > 1 or not isinstance(pairs.database, np.ndarray):
        raise BadValue(
            "pairs must hold databases of the same shape for this mechanism, but had "
            f"{' and '.join(sorted(shapes))}."
        )
    shape = pairs.database.shape[1:]
    if expected is not None and shape != (expected,):
        raise BadValue(
            f"pairs must hold databases with {expected} query answers for this mechanism "
            f"(num_queries), but had the shape {shape}."
        )
    if expected is None and shape != ():
        raise BadValue(
            f"pairs must hold single numbers for this mechanism, but had the shape {shape}."
        )


def pilot_outputs(mechanism: Mechanism, pairs: Pairs, root: Array) -> np.ndarray:
    """Return pilot outputs from all databases, [n] or [n, d]; each side has its own key."""
    pilot = random.fold_in(root, random.stable_hash("pilot"))
    sides = [
        np.asarray(_draw_pilot(mechanism, side, random.fold_in(pilot, number)))
        for number, side in enumerate((pairs.database, pairs.neighbor))
    ]
    return np.concatenate([side.reshape(-1, *side.shape[2:]) for side in sides])


@jit_by_class()
def _draw_pilot(mechanism: Mechanism, databases: Database, key: Array) -> object:
    return jax.vmap(lambda database: mechanism.sample(key, database, _PILOT_SAMPLES))(databases)


def inner_range(outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each dimension, the ends of the central interval with 99% of the outputs.

    Raises:
        ValueError: If an output is not finite, or if all outputs are equal.
    """
    if not np.all(np.isfinite(outputs)):
        raise BadValue(
            "in a pilot, the mechanism returned NaN or an infinity: density estimates require "
            f"finite outputs; {EVENTS} counts NaN and infinities as outcomes."
        )
    low, high = np.quantile(outputs, [_PILOT_TAIL, 1 - _PILOT_TAIL], axis=0)
    if np.any(low >= high):
        raise BadValue(
            "in a pilot, the mechanism returned a constant, which has no density: return integers, "
            f"or use {EVENTS}."
        )
    return low, high
