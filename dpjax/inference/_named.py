"""Conversion of hypotheses to and from dictionaries of JSON values, for files."""

from collections.abc import Mapping

from dpjax.core import validate
from dpjax.inference._hypotheses import Difference, Hypothesis, Ratio
from dpjax.inference._shift import Shift

_BY_NAME: dict[str, type[Ratio] | type[Difference] | type[Shift]] = {
    "ratio": Ratio,
    "difference": Difference,
    "shift": Shift,
}


def hypothesis_to_plain(hypothesis: Hypothesis) -> dict[str, object]:
    """Return a dictionary with the name and the parameters of a hypothesis."""
    name = next(name for name, kind in _BY_NAME.items() if isinstance(hypothesis, kind))
    return {"name": name, **vars(hypothesis)}


def hypothesis_from_plain(plain: Mapping[str, float]) -> Hypothesis:
    """Return the hypothesis that a dictionary from `hypothesis_to_plain` describes.

    Raises:
        KeyError, TypeError, ValueError: If the dictionary does not describe a hypothesis.
    """
    options = dict(plain)
    kind = _BY_NAME[str(options.pop("name"))]
    validate.positive_int(distance=options["distance"])
    if not 0 <= options.get("delta", 0.0) < 1:
        raise ValueError(f"the delta {options['delta']!r} is not in [0, 1)")
    return kind(**options)  # type: ignore[arg-type]
