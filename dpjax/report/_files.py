"""Rendering of reports, and validation of report paths."""

import re
from pathlib import Path

from dpjax.core.errors import needs, neutral
from dpjax.core.files import refuse_unwritable
from dpjax.report._page import CLOSING, OPENING, Page, result_text

KINDS = (".html", ".md")


def check_report_path(path: str | Path) -> Path:
    """Validate the path of a report before a long computation starts.

    Raises:
        ValueError: If the path ends in neither .html nor .md.
        OSError: If the folder of the report does not exist, or if no file can be written to the
            folder.
        ModuleNotFoundError: If jinja2 is not installed; the message says how to install it.
    """
    path = Path(path)
    if path.suffix.lower() not in KINDS:
        raise ValueError(f"report file must end in .html or .md, but was {path}.")
    needs("reports", "report", "jinja2")
    refuse_unwritable("report file", path)
    return path


def render(page: Page, kind: str) -> str:
    """Render a page as text.

    Args:
        page: Page to render.
        kind: ".html" or ".md". Both formats escape text that comes from data.

    Returns:
        The content of the report's file.

    Raises:
        ModuleNotFoundError: If jinja2 is not installed; the message says how to install it.
    """
    needs("reports", "report", "jinja2")
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("dpjax.report", "templates"),
        autoescape=kind == ".html",
        finalize=_in_html if kind == ".html" else _in_markdown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["code"] = _Code if kind == ".html" else _code
    marks = {"opening": Markup(OPENING), "closing": Markup(CLOSING)}
    data = _Code(result_text(page.result))
    return environment.get_template(f"page{kind}").render(p=page, data=data, **marks)


class _Code(str):
    """JSON text or a command, which may have multiple lines."""

    __slots__ = ()


def _code(text: str) -> _Code:
    """Replace each `<` by its JSON escape, so that the text contains no HTML tag."""
    return _Code(text.replace("<", r"\u003c"))


def _in_html(value: object) -> object:
    """Escape control characters; jinja2 escapes other special characters."""
    return neutral(value) if type(value) is str else value


def _in_markdown(value: object) -> object:
    """Escape text as one line of Markdown, without tags, links, formulas or table cells."""
    if not isinstance(value, str) or isinstance(value, _Code):
        return value
    text = " ".join(value.replace("|", "/").split())
    for sign, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, escaped)
    return neutral(re.sub(r"(?<=\])(?=[(\[:])|(?=[`$\\])", r"\\", text))
