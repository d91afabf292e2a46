"""`dpjax audit --method histogram`: its options, its run, its report."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dpjax import _validate
from dpjax.results._result import AuditResult

if TYPE_CHECKING:
    from dpjax import HistogramAudit

METHODS = ("local", "histogram")
ONLY_LOCAL = (
    "samples",
    "discrete",
    "num_confirm",
    "bandwidth",
    "floor",
    "kernel",
    "guarantee",
    "num_claims",
    "plot",
)
ONLY_HISTOGRAM = (
    "lipschitz",
    "least_probability",
    "precision",
    "order",
    "input_lipschitz",
    "input_width",
    "bound",
)


def check_method(context: typer.Context, method: str) -> dict[str, Any]:
    """Refuses the options of the other method.

    Args:
        context: Of the command.
        method: One of `METHODS`.

    Returns:
        Parameter of the command -> value, for those that were written on the command line.

    Raises:
        ValueError: The method is not known, or an option belongs to the other one.
    """
    _validate.one_of(METHODS, method=method)
    others = ONLY_LOCAL if method == "histogram" else ONLY_HISTOGRAM
    given = {}
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if source is None or source.name != "COMMANDLINE":
            continue
        if option.name in others:
            other = METHODS[1 - METHODS.index(method)]
            raise ValueError(
                f"{option.opts[0]} is for --method {other}, but the method was {method}."
            )
        given[option.name] = context.params[option.name]
    return given


def audit_by_histogram(
    mechanism: Any,
    pairs: Any,
    given: dict[str, Any],
    *,
    confidence: float | None,
    **common: Any,
) -> "HistogramAudit":
    """Runs the audit.

    Args:
        mechanism: As in `dpjax.audit_histogram`.
        pairs: `dpjax.Pairs`, of which all databases are compared with each other, or None.
        given: The options that were written on the command line.
        confidence: Of the interval; left to follow where it was not written but the precision and
            the number of samples were.
        **common: Arguments of `dpjax.audit_histogram`.

    Raises:
        ValueError: Options that exclude each other.
    """
    import dpjax
    from dpjax.methods.histogram._audit import inputs_of

    width = given.get("input_width")
    if width is not None:
        _validate.positive(input_width=width)
        if pairs is not None:
            raise ValueError("--pairs and --input-width are not accepted together.")
    asked = {name: given[name] for name in ONLY_HISTOGRAM if name in given}
    asked.pop("input_width", None)
    num_samples = given.get("num_samples")
    if "precision" in given and num_samples is not None and "confidence" not in given:
        confidence = None
    return dpjax.audit_histogram(
        mechanism,
        inputs=None if pairs is None else inputs_of(pairs),
        input_interval=None if width is None else (0.0, width),
        num_samples=num_samples,
        confidence=confidence,
        **asked,
        **common,
    )


def write_report(result: "AuditResult | HistogramAudit", path: Path) -> None:
    """Writes the report of either method."""
    from dpjax import report

    if isinstance(result, AuditResult):
        report.write_report(result, path)
    else:
        report.write_histogram_report(result, path)
