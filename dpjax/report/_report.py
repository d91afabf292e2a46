"""Renders the result of an audit from the templates beside this file."""

import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from dpjax._result import AuditResult

_KINDS = {".html": "audit.html", ".md": "audit.md"}

NOT_TESTED = (
    "Databases other than the pairs listed above.",
    "Outputs outside the region.",
    "Events too rare for the number of draws: a mechanism can leak in an event that happens once "
    "in a billion draws, and no black-box test of any kind can rule that out.",
    "Side channels: running time, memory, errors that were not recorded as outputs.",
)
"""What no reader should take the report to say."""


def check_report_path(path: str | Path) -> Path:
    """The path, if a report can be written to it.

    Raises:
        ValueError: It ends in neither .html nor .md.
        FileNotFoundError: Its folder does not exist.
    """
    path = Path(path)
    if path.suffix.lower() not in _KINDS:
        raise ValueError(f"report file must end in .html or .md, but was {path}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"report file {path} is in a folder that does not exist.")
    return path


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
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("reports need jinja2: pip install 'dpjax[report]'.") from error
    environment = Environment(
        loader=PackageLoader("dpjax.report", "templates"),
        autoescape=kind == ".html",
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template(_KINDS[kind])
    figure = _figure(result) if kind == ".html" and result.curve is not None else None
    return template.render(
        r=result,
        figure=figure,
        not_tested=NOT_TESTED,
        pretty=_pretty,
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
        ValueError, OSError: As `check_report_path`.
    """
    path = check_report_path(path)
    text = render_report(result, path.suffix.lower())
    handle, temporary = tempfile.mkstemp(suffix=path.suffix, dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def _figure(result: AuditResult) -> Any:
    from markupsafe import Markup

    buffer = io.StringIO()
    result.plot().savefig(buffer, format="svg")
    svg = buffer.getvalue()
    return Markup(svg[svg.index("<svg") :])


def _pretty(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
