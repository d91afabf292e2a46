"""The options of `dpjax audit` that specify the notion and the claim."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from dpjax.cli._audit_options import DECLARED_NOTIONS, declared_values
from dpjax.cli._table import Given, Value

if TYPE_CHECKING:
    from dpjax.notions import Notion


def notion_of(written: Given) -> "Notion":
    """Return the notion named on the command line, with its order or its delta.

    Raises:
        ValueError: If the order or delta of a notion is missing or out of range, or is passed for a
            notion that has neither.
    """
    from dpjax.notions import NOTIONS

    text = written.get("notion", "epsilon")
    name, _, number = text.partition(":")
    kind = DECLARED_NOTIONS[name]
    if bool(number) != bool(kind.required):
        form = f"{name}:ORDER, such as {name}:2" if kind.required else name
        raise ValueError(f"--notion must be {form}, but was {text!r}.")
    options = declared_values(kind, written)
    make: Value = NOTIONS[name]
    if not number:
        return make(**options)
    try:
        return make(float(number), **options)
    except ValueError as error:
        raise ValueError(f"--notion {text!r}: {error}") from None


def claim_of(written: Given) -> Value:
    """Return the claim: a number, the points of a curve as a list, or None if there is no claim.

    Raises:
        ValueError: If the claim is neither a number, nor JSON, nor the path of a file that
            contains JSON.
    """
    claim = written.get("claim")
    if not isinstance(claim, str):
        return claim
    from dpjax.core.files import read_document
    from dpjax.partitions.previews import shortened

    form = "a number, JSON [[epsilon, delta], ...] or a file with such JSON"
    inline = claim.lstrip().startswith("[")
    if not inline and not Path(claim).exists():
        raise ValueError(f"--claim must be {form}, but was {claim!r}, and there is no such file.")
    try:
        return json.loads(claim if inline else read_document("--claim", Path(claim)))
    except json.JSONDecodeError as error:
        shown = shortened(claim)
        raise ValueError(f"--claim must be {form}, but {shown} is not JSON: {error}.") from None
