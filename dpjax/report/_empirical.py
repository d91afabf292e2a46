"""A report on empirical privacy as Markdown or HTML, with its figures where matplotlib is there."""

import base64
import html
import io
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dpjax.calibration import NoiseCalibration
from dpjax.estimators._empirical_result import EmpiricalPrivacy

_SUFFIXES = (".md", ".html")
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{padding:.15rem .8rem;text-align:right;"
    "border-bottom:1px solid #ddd}img{max-width:100%}"
)


def write_empirical_report(
    path: str | Path, result: EmpiricalPrivacy, noise: NoiseCalibration | None = None
) -> Path:
    """Writes the report; figures go into the page (HTML) or beside it (Markdown).

    Args:
        path: A path that ends in .md or .html.
        result: What to report.
        noise: The noise for the same query, if any.

    Returns:
        The path.

    Raises:
        ValueError: The path has another suffix, or its folder does not exist.
    """
    path = Path(path)
    check_report_path(path)
    figures = _figures(result, noise) if find_spec("matplotlib") else {}
    is_html = path.suffix == ".html"
    parts = _parts(result, noise)
    if not figures:
        parts["Figures"] = ["The figures need matplotlib, which is not installed."]
    lines = []
    for title, content in parts.items():
        lines.append(f"<h2>{html.escape(title)}</h2>" if is_html else f"## {title}\n")
        for item in content:
            lines.append(_html(item) if is_html else _markdown(item))
        for name, caption, png in figures.get(title, ()):
            if is_html:
                data = base64.b64encode(png).decode()
                lines.append(
                    f'<img alt="{html.escape(caption)}" src="data:image/png;base64,{data}">'
                )
            else:
                file = path.with_name(f"{path.stem}-{name}.png")
                file.write_bytes(png)
                lines.append(f"![{caption}]({file.name})\n")
    heading = f"Empirical privacy of {' and '.join(result.queries)}"
    body = "\n".join(lines)
    if is_html:
        text = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(heading)}'
            f"</title><style>{_STYLE}</style><h1>{html.escape(heading)}</h1>\n{body}\n</html>\n"
        )
    else:
        text = f"# {heading}\n\n{body}\n"
    path.write_text(text, encoding="utf-8")
    return path


def check_report_path(path: str | Path) -> None:
    """Refuses a path that a report cannot be written to.

    Raises:
        ValueError: The suffix is not .md or .html, or the folder does not exist.
    """
    path = Path(path)
    if path.suffix not in _SUFFIXES:
        raise ValueError(f"report must end in {' or '.join(_SUFFIXES)}, but was {path.name!r}.")
    if not path.parent.is_dir():
        raise ValueError(f"report must lie in a folder that exists, but was {str(path)!r}.")


# A sentence, or a table: its first row is the head.
_Item = str | list[tuple[str, ...]]


def _parts(result: EmpiricalPrivacy, noise: NoiseCalibration | None) -> dict[str, list[_Item]]:
    shown = np.unique(
        np.linspace(0, len(result.epsilons) - 1, min(15, len(result.epsilons))).round()
    )
    curve = [("epsilon", "delta", "total risk", "individuals with delta > 0")]
    for e in shown.astype(int):
        touched = int(np.count_nonzero(result.deltas[:, e] > result.tolerance))
        curve.append(
            (
                f"{result.epsilons[e]:.4g}",
                f"{result.delta[e]:.3e}",
                f"{result.total_risk[e]:.3e}",
                str(touched),
            )
        )
    first = result.epsilons.min()
    ranking = [("individual", f"delta at epsilon = {first:.4g}")]
    ranking += [(str(name), f"{delta:.3e}") for name, delta in result.ranking()[:10]]
    density = result.density or "one for each bucket of the adversary"
    method: list[_Item] = [
        f"{len(result.individuals)} individuals, {result.num_databases} databases, "
        f"{len(result.results)} query results. Density: {density}.",
        "delta is the chance that an individual's presence shows by more than a factor e^epsilon; "
        "the total risk is that of somebody's, were the individuals independent. Both hold as far "
        "as the databases are independent draws and the density estimate is right.",
        f"Error of the integrals in each delta: about {result.integration_error:.1e}."
        if result.integration_error
        else "The integrals are in closed form.",
    ]
    parts: dict[str, list[_Item]] = {
        "Privacy": [result.vanishing_sentence(), curve],
        "Individuals": [ranking],
        "Method": method,
        "Checks of the premises": [
            *(f"Independence, {check}" for check in result.independence),
            f"Coverage: {result.coverage}",
            *result.notes,
        ],
    }
    if result.buckets:
        rows = [("bucket", "databases", f"delta at epsilon = {first:.4g}")]
        column = int(np.argmin(result.epsilons))
        rows += [(b.label, str(b.num_databases), f"{b.delta[column]:.3e}") for b in result.buckets]
        parts["Adversary"] = [rows]
    if noise is not None:
        parts["Noise"] = [f"{line}." for line in str(noise).splitlines()]
    return parts


def _figures(
    result: EmpiricalPrivacy, noise: NoiseCalibration | None
) -> dict[str, list[tuple[str, str, bytes]]]:
    from dpjax.plotting import _empirical as plots

    figures = {}
    if len(result.epsilons) > 1:
        figures["Privacy"] = [
            ("curves", "delta and total risk against epsilon", plots.plot_empirical_curves(result))
        ]
    if len(result.queries) == 1 and result.density is not None:
        caption = "density with everybody and without the worst individual"
        figures["Individuals"] = [("densities", caption, plots.plot_empirical_densities(result))]
    if noise is not None:
        caption = "histogram of draws of the noise"
        figures["Noise"] = [("noise", caption, plots.plot_empirical_noise(noise))]
    return {
        title: [(name, caption, _png(figure)) for name, caption, figure in entries]
        for title, entries in figures.items()
    }


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def _markdown(item: _Item) -> str:
    if isinstance(item, str):
        return f"{item}\n"
    rows = [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in item]
    return "\n".join([rows[0], "|" + "---|" * len(item[0]), *rows[1:], ""])


def _html(item: _Item) -> str:
    if isinstance(item, str):
        return f"<p>{html.escape(item)}</p>"
    rows = []
    for k, row in enumerate(item):
        tag = "td" if k else "th"
        rows.append("<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in row) + "</tr>")
    return f"<table>{''.join(rows)}</table>"
