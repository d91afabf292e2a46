"""Python code that repeats the audit of a failed assertion."""

import dataclasses
import math
import os

import numpy as np

from dpjax.core.errors import name_of_function
from dpjax.core.exact import columns_of, is_plain_frame
from dpjax.mechanisms import Mechanism, is_built_in
from dpjax.mechanisms.named import parameters_of
from dpjax.methods import METHODS
from dpjax.results import AuditResult
from dpjax.results.recipes import pairs_from_plain
from dpjax.sources import as_source

_MOST_PAIRS_SHOWN = 12

_LONGEST = 2000


def replay_lines(result: AuditResult, subject: object, pairs: object) -> list[str]:
    """Return code that repeats an audit; a value that has no code becomes `...` with a comment."""
    setting, made = _mechanism(subject)
    method = dict(result.recipe["method"])
    kind, distance = METHODS[method.pop("name")].__name__, result.recipe["distance"]
    if "region" in method:
        method["region"] = _region(method["region"])
    arguments = {
        **_pairs(result, subject, pairs),
        "method": f"dpjax.{kind}({', '.join(f'{k}={v!r}' for k, v in method.items())})",
        "notion": f"dpjax.{result.notion!r}",
        "claim": repr(result.claim),
        "confidence": repr(result.confidence),
        **({} if distance == 1 else {"distance": repr(distance)}),
        "key": _key(result.recipe["key"]),
    }
    open_ones = [
        f"{name} = ...  # as in the test" for name, text in arguments.items() if text is None
    ]
    setting = setting if isinstance(result.recipe["key"], int) else ["import jax", *setting]
    modules = [name for name in ("numpy", "pandas") if f"{name}." in (arguments.get("pairs") or "")]
    setting = [*(f"import {name}" for name in modules), *setting]
    lines = ["import dpjax", *setting, f"subject = {made}", *open_ones]
    written = [f"    {name}={text or name}" for name, text in arguments.items()]
    return [*lines, "print(dpjax.audit(subject,", ",\n".join(written) + "))"]


def _region(region: object) -> object:
    """Convert a recipe's region to bounds or outcomes, the forms that `dpjax.Events` accepts."""
    if not isinstance(region, dict):
        return region
    return region["outcomes"] if "outcomes" in region else (region["low"], region["high"])


def _key(key: object) -> str:
    """Return code for a key, given as an integer seed or as the two words of a typed key."""
    if isinstance(key, int):
        return repr(key)
    return f"jax.random.wrap_key_data(jax.numpy.array({key}, 'uint32'), impl='threefry2x32')"


def running_test() -> str | None:
    """Return the id of the test that pytest is running, or None outside pytest."""
    current = os.environ.get("PYTEST_CURRENT_TEST")
    return current.rsplit(" ", 1)[0] if current else None


def _mechanism(mechanism: object) -> tuple[list[str], str]:
    """Return lines of code that import the mechanism's class, and an expression that creates it."""
    kind = type(mechanism)
    parameters = parameters_of(mechanism)
    call = f"{kind.__name__}({', '.join(f'{k}={v!r}' for k, v in parameters.items())})"
    if is_built_in(mechanism):
        return [f"from dpjax.mechanisms import {kind.__name__}"], call
    drawn = as_source(mechanism).sampler is not None
    if isinstance(mechanism, Mechanism) and drawn:
        plain = dataclasses.is_dataclass(mechanism) and all(
            isinstance(value, int | float) for value in parameters.values()
        )
        if plain and _importable(kind):
            return [f"from {kind.__module__} import {kind.__name__}"], call
        return [], f"...  # the {call} in the test"
    if _importable(mechanism):
        name = getattr(mechanism, "__qualname__", "")
        return [f"from {mechanism.__module__} import {name}"], name
    if getattr(mechanism, "__name__", "") == "<lambda>":
        return [], f"...  # {name_of_function(mechanism)}"
    return [], f"...  # the {getattr(mechanism, '__qualname__', kind.__name__)} in the test"


def _importable(thing: object) -> bool:
    name = getattr(thing, "__qualname__", "")
    return name.isidentifier() and getattr(thing, "__module__", None) is not None


def _pairs(result: AuditResult, subject: object, pairs: object) -> dict[str, str | None]:
    """Return code for the argument `pairs`, as a dict with the key "pairs".

    If the audit needs no such argument, the dict is empty. If the pairs cannot be written as code
    of moderate length, the value is None.
    """
    if pairs is None:
        # Built-in mechanisms have standard pairs, and recordings contain both sides of a pair, so
        # no argument is needed.
        return {}
    held = result.recipe["pairs"]
    if not held or len(held["labels"]) > _MOST_PAIRS_SHOWN:
        return {"pairs": None}
    made = pairs_from_plain(held, stacked=False)
    text = _code(list(zip(made.database, made.neighbor, strict=True)))
    return {"pairs": text if len(text) <= _LONGEST else None}


def _code(database: object) -> str:
    """Return an expression for a database."""
    if isinstance(database, np.ndarray | np.generic):
        # The index () turns an array without dimensions into a scalar.
        scalar = "" if np.ndim(database) else "[()]"
        return f"numpy.array({_code(database.tolist())}, {str(database.dtype)!r}){scalar}"
    if is_plain_frame(database):
        columns = columns_of(database)
        entries = _code({name: values for name, _, values in columns})
        dtypes = {name: dtype for name, dtype, _ in columns}
        return f"pandas.DataFrame({entries}).astype({dtypes})"
    if isinstance(database, dict):
        return f"{{{', '.join(f'{name!r}: {_code(part)}' for name, part in database.items())}}}"
    if isinstance(database, list):
        return f"[{', '.join(map(_code, database))}]"
    if isinstance(database, tuple):
        return f"({', '.join(map(_code, database))}{',' if len(database) == 1 else ''})"
    if isinstance(database, float) and not math.isfinite(database):
        return f"float('{database}')"
    return repr(database)
