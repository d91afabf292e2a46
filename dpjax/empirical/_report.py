"""The report of an empirical privacy estimate, with its figures where matplotlib is there."""

import base64
import io
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dpjax._files import write_whole
from dpjax.empirical._calibrate import NoiseCalibration
from dpjax.empirical._result import EmpiricalPrivacy
from dpjax.inference import blind_spot
from dpjax.report._files import check_report_path, render

_CURVE_ROWS = 15
_RANKING_ROWS = 10

CAPTIONS = {
    "curves": "delta and total risk against epsilon",
    "densities": "density with everybody and without the worst individual",
    "noise": "histogram of draws of the noise",
}
"""What each figure shows."""


def render_empirical_report(
    result: EmpiricalPrivacy,
    noise: NoiseCalibration | None = None,
    kind: str = ".html",
    figures: dict[str, str] | None = None,
) -> str:
    """The text of a report.

    Args:
        result: What to report.
        noise: The noise for the same query, if any.
        kind: ".html" or ".md".
        figures: Name of each figure of `CAPTIONS` that there is -> where the page finds it.

    Returns:
        The file's content.

    Raises:
        ModuleNotFoundError: jinja2 is missing; the message says how to get it.
    """
    return render(
        "empirical",
        kind,
        r=result,
        title=f"Empirical privacy of {' and '.join(result.queries)}",
        curve=result.curve(_CURVE_ROWS),
        first=float(result.epsilons.min()),
        column=int(np.argmin(result.epsilons)),
        ranking=result.ranking()[:_RANKING_ROWS],
        noise=noise,
        figures=figures or {},
        captions=CAPTIONS,
        blind_spot=blind_spot(result.num_databases, "databases"),
        without_figures=figures is None,
        settings=json.dumps(result.to_dict()["settings"], indent=2),
    )


def write_empirical_report(
    result: EmpiricalPrivacy, path: str | Path, noise: NoiseCalibration | None = None
) -> Path:
    """Writes a report; no file appears before all are complete.

    Args:
        result: What to report.
        path: Name that ends in .html (the figures are in the page) or .md (they lie beside it).
        noise: The noise for the same query, if any.

    Returns:
        The path.

    Raises:
        ValueError, OSError, ModuleNotFoundError: As `check_report_path`.
    """
    path = check_report_path(path)
    kind = path.suffix.lower()
    files: dict[Path, str | bytes] = {}
    places = None
    if find_spec("matplotlib"):
        pictures = _pictures(result, noise)
        places = {name: f"{path.stem}-{name}.png" for name in pictures}
        if kind == ".html":
            encoded = {name: base64.b64encode(png).decode() for name, png in pictures.items()}
            places = {name: f"data:image/png;base64,{text}" for name, text in encoded.items()}
        else:
            files = {path.with_name(places[name]): png for name, png in pictures.items()}
    write_whole({**files, path: render_empirical_report(result, noise, kind, places)})
    return path


def _pictures(result: EmpiricalPrivacy, noise: NoiseCalibration | None) -> dict[str, bytes]:
    from dpjax.empirical import _figures

    pictures = {}
    if len(result.epsilons) > 1:
        pictures["curves"] = _png(_figures.plot_empirical_curves(result))
    if len(result.queries) == 1 and result.density is not None:
        pictures["densities"] = _png(_figures.plot_empirical_densities(result))
    if noise is not None:
        pictures["noise"] = _png(_figures.plot_empirical_noise(noise))
    return pictures


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
