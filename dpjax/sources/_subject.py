"""What is audited: the mechanism, its pairs, and a first look at its outputs."""

from typing import Any

import jax
import numpy as np

from dpjax import _random
from dpjax._jit import jit_by_class
from dpjax.databases import Pairs
from dpjax.mechanisms import FromFunction, Mechanism, check_mechanism, from_function, is_built_in

PILOT_NOTE = "The region was set from the range of a pilot's outputs."
_PILOT_SAMPLES = 4096
_PILOT_TAIL = 0.005


def pairs_of(mechanism: Any, pairs: Any) -> Pairs:
    if isinstance(mechanism, str):
        raise TypeError(
            f"mechanism must be a mechanism or a function, but was the name {mechanism!r}: make "
            f"one with dpjax.mechanisms.find_mechanism({mechanism!r})()."
        )
    if isinstance(mechanism, type):
        raise TypeError(
            f"mechanism must be an instance, but was the class {mechanism.__name__}: write "
            f"{mechanism.__name__}(...) with its parameters."
        )
    if pairs is not None:
        return Pairs.of(pairs)
    if hasattr(mechanism, "standard_pairs"):
        return mechanism.standard_pairs()
    raise ValueError(
        "pairs must be given for a mechanism that is not built in: a list of (database, neighbor)."
    )


def mechanism_of(mechanism: Any, database: Any, num_outcomes: int | None) -> Mechanism:
    """A mechanism, or a function made into one, that was looked at on a database if it is new."""
    if isinstance(mechanism, Mechanism):
        if num_outcomes is not None:
            raise ValueError(
                "num_outcomes is for functions; a mechanism states its outputs by itself."
            )
        if not is_built_in(mechanism) and not isinstance(mechanism, FromFunction):
            check_mechanism(mechanism, database)
        return mechanism
    return from_function(mechanism, database, num_outcomes=num_outcomes)


def check_shape(mechanism: Mechanism, pairs: Pairs) -> None:
    """A clear sentence where the databases do not fit the mechanism, before anything compiles."""
    expected = getattr(mechanism, "num_queries", None)
    shape = pairs.database.shape[1:]
    if expected is not None and shape != (expected,):
        raise ValueError(
            f"pairs must hold databases of {expected} query answers for this mechanism "
            f"(num_queries), but had the shape {shape}."
        )
    if expected is None and hasattr(mechanism, "standard_pairs") and shape != ():
        raise ValueError(f"pairs must hold single numbers for this mechanism, but had {shape}.")


def pilot_outputs(mechanism: Mechanism, pairs: Pairs, root: Any) -> np.ndarray:
    """Outputs over all databases, [n] or [n, d], from draws of their own."""
    pilot = _random.fold_in(root, _random.stable_hash("pilot"))
    sides = [
        np.asarray(_draw_pilot(mechanism, side, _random.fold_in(pilot, number)))
        for number, side in enumerate((pairs.database, pairs.neighbor))
    ]
    return np.concatenate([side.reshape(-1, *side.shape[2:]) for side in sides])


@jit_by_class()
def _draw_pilot(mechanism: Mechanism, databases: Any, key: Any) -> Any:
    return jax.vmap(lambda database: mechanism.sample(key, database, _PILOT_SAMPLES))(databases)


def inner_range(outputs: np.ndarray, *, finite: bool) -> Any:
    """The range of the inner 99% of outputs; with `finite` all must be, and have a width."""
    usable = outputs[np.isfinite(outputs.reshape(len(outputs), -1)).all(axis=1)]
    if len(usable) < len(outputs) and finite:
        raise ValueError(
            "the mechanism returned NaN or an infinity in a pilot: its outputs must be finite for "
            "the normal bound; guarantee='exact' counts them as outcomes."
        )
    if len(usable) == 0:
        usable = np.zeros((1, *outputs.shape[1:]))
    low, high = np.quantile(usable, [_PILOT_TAIL, 1 - _PILOT_TAIL], axis=0)
    if np.any(low >= high) and finite:
        raise ValueError(
            "the mechanism returned a constant in a pilot: it is not a real-valued one; return "
            "integers and give num_outcomes, or use guarantee='exact'."
        )
    return np.where(low < high, low, low - 1), np.where(low < high, high, high + 1)
