"""The report of an audit."""

import io
import json
from pathlib import Path
from typing import Any

from dpjax._files import write_whole
from dpjax._result import AuditResult
from dpjax.inference import blind_spot
from dpjax.report._files import check_report_path, render

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
    return render(
        "audit",
        kind,
        r=result,
        figure=figure,
        not_tested=NOT_TESTED,
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


def _figure(result: AuditResult) -> Any:
    from markupsafe import Markup

    buffer = io.StringIO()
    result.plot().savefig(buffer, format="svg")
    svg = buffer.getvalue()
    return Markup(svg[svg.index("<svg") :])
