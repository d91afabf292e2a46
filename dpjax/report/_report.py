"""The report of an audit."""

import datetime
import io
import json
from pathlib import Path
from typing import Any

from dpjax._files import write_whole
from dpjax.inference import blind_spot
from dpjax.report._files import check_report_path, render
from dpjax.results._result import AuditResult

_EVERYWHERE = "all outputs"

NOT_TESTED = (
    "Databases other than the pairs listed above.",
    "Outputs outside the region.",
    "Side channels: running time, memory, errors that were not recorded as outputs.",
)
"""What no reader should take the report to say; rare events are in `blind_spot`."""


def render_report(result: AuditResult, kind: str = ".html") -> str:
    """The text of a report.

    Args:
        result: Of an audit.
        kind: ".html" (self-contained, with the figure) or ".md".

    Returns:
        The file's content.

    Raises:
        ModuleNotFoundError: jinja2 or matplotlib is missing; the message says how to get them.
    """
    figure = _figure(result) if kind == ".html" and result.curve is not None else None
    everywhere = result.region == _EVERYWHERE
    return render(
        "audit",
        kind,
        r=result,
        figure=figure,
        not_tested=[NOT_TESTED[0], *([] if everywhere else NOT_TESTED[1:2]), NOT_TESTED[2]],
        trials=result.settings.get("confirmed", [result.num_confirm] * 2),
        # What events are chosen by is the bound to be expected; densities have a loss.
        column="Expected bound" if result.standard_error is None else "Estimate of the search",
        order="expected bound" if result.standard_error is None else "estimated loss",
        today=datetime.date.today().isoformat(),
        again=_again(result),
        blind_spot=blind_spot(result.num_samples),
        settings=json.dumps({"seed": result.seed, **result.settings}, indent=2),
    )


def write_report(result: AuditResult, path: str | Path) -> Path:
    """Writes a report; the file appears only once it is complete.

    Args:
        result: Of an audit.
        path: Name that ends in .html or .md.

    Returns:
        The path.

    Raises:
        ValueError, OSError, ModuleNotFoundError: As `check_report_path` and `render_report`.
    """
    path = check_report_path(path)
    write_whole({path: render_report(result, path.suffix.lower())})
    return path


def _again(result: AuditResult) -> str:
    """How to repeat the audit, in words."""
    seed = f"seed {result.seed}"
    if result.replay is not None:
        return f"Call dpjax.rerun with this result's JSON, or audit the same mechanism with {seed}."
    if "search_fraction" in result.settings:
        return f"Call dpjax.audit_samples with the same recorded outputs, with {seed}."
    return (
        f"Call dpjax.audit with the same mechanism, the same pairs and {seed}; where the mechanism "
        "draws its own randomness the numbers will differ within their confidence."
    )


def _figure(result: AuditResult) -> Any:
    from markupsafe import Markup

    buffer = io.StringIO()
    result.plot().savefig(buffer, format="svg")
    svg = buffer.getvalue()
    return Markup(svg[svg.index("<svg") :])
