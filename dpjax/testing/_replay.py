"""A Python snippet that draws a failed assertion's outputs again, as far as it can be written."""

import ast
import dataclasses
import os
from typing import Any

from dpjax.mechanisms import Mechanism, is_built_in
from dpjax.partitions import Box
from dpjax.partitions._outputs import HostSource
from dpjax.results._provenance import parameters_of
from dpjax.results._result import AuditResult

_MOST_PAIRS_SHOWN = 12
"""More pairs than this are not written out."""

_LONGEST = 2000
"""Characters of an argument that is written out."""


def replay_lines(
    result: AuditResult, mechanism: Any, pairs: Any, options: dict[str, Any]
) -> list[str]:
    """The snippet. What has no literal is left open, with the words to find it in the test.

    Args:
        result: Of the assertion.
        mechanism: As the assertion was given it.
        pairs: As the assertion was given them.
        options: Further arguments of `dpjax.audit`.
    """
    setting, made = _mechanism(mechanism)
    arguments = {
        **_pairs(result, mechanism, pairs),
        "num_samples": result.num_samples,
        "num_confirm": result.num_confirm,
        "confidence": result.confidence,
        "claim": result.claim,
        "key": result.seed,
        "guarantee": "exact",
        **options,
    }
    lines = ["import dpjax", *setting, f"mechanism = {made}"]
    written = []
    for name, value in arguments.items():
        text = _literal(value)
        if text is None:
            lines.append(f"{name} = ...  # of the test")
        written.append(f"    {name}={text or name}")
    return [*lines, "print(dpjax.audit(mechanism,", ",\n".join(written) + "))"]


def running_test() -> str | None:
    """The id of the test that is running under pytest."""
    current = os.environ.get("PYTEST_CURRENT_TEST")
    return current.rsplit(" ", 1)[0] if current else None


def _mechanism(mechanism: Any) -> tuple[list[str], str]:
    """Lines that must come before, and what makes the mechanism."""
    kind = type(mechanism)
    parameters = parameters_of(mechanism)
    call = f"{kind.__name__}({', '.join(f'{k}={v!r}' for k, v in parameters.items())})"
    if is_built_in(mechanism):
        return [f"from dpjax.mechanisms import {kind.__name__}"], call
    if isinstance(mechanism, Mechanism) and not isinstance(mechanism, HostSource):
        plain = dataclasses.is_dataclass(mechanism) and all(
            isinstance(value, int | float) for value in parameters.values()
        )
        if plain and _importable(kind):
            return [f"from {kind.__module__} import {kind.__name__}"], call
        return [], f"...  # the {call} of the test"
    if not isinstance(mechanism, HostSource) and _importable(mechanism):
        name = mechanism.__name__
        return [f"from {mechanism.__module__} import {name}"], name
    return [], f"...  # the {getattr(mechanism, '__qualname__', kind.__name__)} of the test"


def _importable(thing: Any) -> bool:
    name = getattr(thing, "__qualname__", "")
    return name.isidentifier() and getattr(thing, "__module__", None) is not None


def _pairs(result: AuditResult, mechanism: Any, pairs: Any) -> dict[str, Any]:
    replay = result.replay or {}
    if len(replay.get("labels", ())) <= _MOST_PAIRS_SHOWN and "database" in replay:
        return {"pairs": list(zip(replay["database"], replay["neighbor"], strict=True))}
    # A built-in mechanism has its own.
    return {} if pairs is None and hasattr(mechanism, "standard_pairs") else {"pairs": pairs}


def _literal(value: Any) -> str | None:
    """The value as Python writes it, where reading that gives it back; None where it does not."""
    if isinstance(value, Box):
        value = tuple(end.tolist() for end in (value.low, value.high))
    text = repr(value)
    try:
        same = ast.literal_eval(text) == value
        return text if bool(same) and len(text) <= _LONGEST else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
