"""How a report reaches its file: a path that can be written, and a template."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

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


def render(name: str, kind: str, **content: Any) -> str:
    """A template filled in.

    Args:
        name: Of the template, without its ending.
        kind: ".html", where everything that comes from the data is escaped, or ".md".
        **content: What the template names; leaving one out is an error.

    Returns:
        The file's content.

    Raises:
        ModuleNotFoundError: jinja2 is missing; the message says how to get it.
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
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = _cell
    return environment.get_template(f"{name}{kind}").render(pretty=_pretty, **content)


def _pretty(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _cell(value: Any) -> str:
    """A text that does not break out of its cell of a Markdown table."""
    return " ".join(str(value).replace("|", "/").split())
