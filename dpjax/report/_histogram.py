"""The report of a histogram audit."""

import json
from pathlib import Path

from dpjax._files import write_whole
from dpjax.report._files import check_report_path, render
from dpjax.results._histogram import HistogramAudit


def render_histogram_report(result: HistogramAudit, kind: str = ".html") -> str:
    """The text of a report.

    Args:
        result: Of `dpjax.audit_histogram`.
        kind: ".html" (self-contained) or ".md".

    Returns:
        The file's content.

    Raises:
        ModuleNotFoundError: jinja2 is missing; the message says how to get it.
    """
    again = {"seed": result.seed, "plan": result.plan, **result.settings}
    return render(
        "histogram",
        kind,
        r=result,
        blind_spot=result.blind_spot,
        settings=json.dumps(again, indent=2),
    )


def write_histogram_report(result: HistogramAudit, path: str | Path) -> Path:
    """Writes a report; the file appears only once it is complete.

    Args:
        result: Of `dpjax.audit_histogram`.
        path: Name that ends in .html or .md.

    Returns:
        The path.

    Raises:
        ValueError, OSError, ModuleNotFoundError: As `check_report_path`.
    """
    path = check_report_path(path)
    write_whole({path: render_histogram_report(result, path.suffix.lower())})
    return path
