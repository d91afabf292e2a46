"""How a report reaches its file: a path that can be written, and a page filled in."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dpjax._errors import neutral
from dpjax.report._page import CLOSING, OPENING, Page, result_text

KINDS = (".html", ".md")


def check_report_path(path: str | Path) -> Path:
    """The path, if a report can be written to it; to be asked before a long computation.

    Raises:
        ValueError: It ends in neither .html nor .md.
        FileNotFoundError: Its folder does not exist.
        ModuleNotFoundError: jinja2 is missing; the message says how to get it.
    """
    path = Path(path)
    if path.suffix.lower() not in KINDS:
        raise ValueError(f"report file must end in .html or .md, but was {path}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"report file {path} is in a folder that does not exist.")
    if find_spec("jinja2") is None:
        raise ModuleNotFoundError("reports need jinja2: pip install 'dpjax[report]'.")
    return path


def render(page: Page, kind: str) -> str:
    """A page as text.

    Args:
        page: Its content.
        kind: ".html" or ".md"; in both everything that comes from the data is escaped.

    Returns:
        The file's content.

    Raises:
        ModuleNotFoundError: jinja2 is missing; the message says how to get it.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("reports need jinja2: pip install 'dpjax[report]'.") from error
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
    """JSON or a command, which may have lines."""

    __slots__ = ()


def _code(text: str) -> _Code:
    """No line of it can be a fence, and what could be a tag is written in JSON's other way."""
    return _Code(text.replace("<", r"\u003c"))


def _in_html(value: Any) -> Any:
    """A text without control characters, which is escaped after this."""
    return neutral(value) if type(value) is str else value


def _in_markdown(value: Any) -> Any:
    """A text that is nothing but text: one line, without tags, links, formulas or cells."""
    if not isinstance(value, str) or isinstance(value, _Code):
        return value
    text = " ".join(value.replace("|", "/").split())
    for sign, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, escaped)
    return neutral(re.sub(r"(?<=\])(?=[(\[:])|(?=[`$\\])", r"\\", text))
