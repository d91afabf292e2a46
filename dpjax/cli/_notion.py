"""The notion and the claim of `dpjax audit`."""

import json
from pathlib import Path
from typing import Any


def notion_of(written: dict[str, Any]) -> Any:
    """The notion that was named, with its order or its delta.

    Args:
        written: Parameter of the command -> value, of those that were given.

    Raises:
        ValueError: There is no such notion, or its options are those of another.
    """
    from dpjax.core.errors import nearest
    from dpjax.notions import NOTIONS, Epsilon

    name, _, order = written.get("notion", Epsilon.name).partition(":")
    if name not in NOTIONS:
        raise ValueError(f"--notion {name!r} is not known; {nearest(name, list(NOTIONS))}")
    if "delta" in written and name != Epsilon.name:
        raise ValueError(f"--delta is for --notion epsilon, not for --notion {name}.")
    if bool(order) != (name == "renyi"):
        example = "renyi:2" if name == "renyi" else name
        raise ValueError(f"--notion must be {example}, but was {written['notion']!r}.")
    if name == Epsilon.name:
        return Epsilon(written.get("delta", 0.0))
    kind: Any = NOTIONS[name]
    if not order:
        return kind()
    try:
        return kind(float(order))
    except ValueError as error:
        raise ValueError(f"--notion {written['notion']!r}: {error}") from None


def claim_of(written: dict[str, Any]) -> Any:
    """The claim: a number, or points of a curve from a file; None where there is none.

    Raises:
        ValueError: It is no number, and no file with points.
    """
    claim = written.get("claim")
    if not isinstance(claim, str):
        return claim
    from dpjax.core.files import read_document

    form = "a number or a JSON file [[epsilon, delta], ...]"
    if not Path(claim).exists():
        raise ValueError(f"--claim must be {form}, but was {claim!r}, and there is no such file.")
    try:
        return json.loads(read_document("--claim", Path(claim)))
    except json.JSONDecodeError as error:
        raise ValueError(f"--claim must be {form}, but {claim} is no JSON: {error}.") from None
