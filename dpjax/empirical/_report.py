"""The report of an empirical privacy estimate, with figures if matplotlib is installed."""

import io
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dpjax.core.files import write_whole
from dpjax.core.types import JsonObject
from dpjax.empirical import _figures
from dpjax.empirical._parts import Calibrated, Estimated
from dpjax.inference import blind_spot
from dpjax.report import (
    Figure,
    Page,
    Section,
    Table,
    Verdict,
    check_report_path,
    render,
    result_text,
    written,
)

_CURVE_ROWS = 15
_RANKING_ROWS = 10

CAPTIONS = {
    "curves": "Largest delta over all individuals, and total risk, against epsilon.",
    "densities": "Densities of the answer with and without the individual whose delta is largest.",
    "noise": "Histogram of noise draws, with the density of the noise.",
}
"""Dictionary from figure names to captions."""

_NOT_TESTED = (
    "Databases that were not given, and individuals who are in none of the given databases.",
    "Other queries, and what multiple answers reveal together.",
)

_MEANING = (
    "Delta is the probability by which the distribution of the answer with an individual exceeds "
    "e^epsilon times the distribution without the individual, or vice versa. The total risk "
    "combines the deltas of all individuals like probabilities of independent events. Both numbers "
    "assume that the databases are independent draws and that the density estimate is accurate."
)


def render_empirical_report(
    result: Estimated,
    noise: Calibrated | None = None,
    kind: str = ".html",
    figures: dict[str, Figure] | None = None,
) -> str:
    """Return the text of a report.

    Args:
        result: The result to report.
        noise: Calibrated noise for the result's query, or None for a report without noise.
        kind: Format of the report, ".html" or ".md".
        figures: Figures to include, with the keys of `CAPTIONS`, or None for no figures.

    Returns:
        The text of the report.

    Raises:
        ModuleNotFoundError: If jinja2 is not installed; the message explains how to install it.
    """
    return render(_page(result, noise, figures), kind)


def _page(result: Estimated, noise: Calibrated | None, figures: dict[str, Figure] | None) -> Page:
    query = " and ".join(result.queries)
    who = f"{len(result.individuals)} individuals, {result.num_databases} databases"
    asked = (
        f"The {query} of {result.num_databases} databases, with all individuals and without each "
        "individual in turn."
    )
    without = (
        () if figures is not None else ("The figures need matplotlib, which is not installed.",)
    )
    settings = result_text(result.to_dict()["settings"])
    return Page(
        f"Empirical privacy of {query}",
        verdict_of(result, f"{who}. {result.vanishing_sentence()}"),
        (
            Section("What was asked", (asked,)),
            *_sections(result, noise, figures or {}),
            Section("What to do now", items=_advice(result, noise)),
            Section("Checks of the premises", without, items=_checks(result)),
            Section(
                "What was not tested",
                (blind_spot(result.num_databases, "databases"),),
                items=_NOT_TESTED,
            ),
            Section("How to do it again", codes=(("The settings", settings),), folded=True),
        ),
        written(),
        result.to_dict(),
    )


def _advice(result: Estimated, noise: Calibrated | None) -> tuple[str, ...]:
    """Return the recommended next steps, in decreasing order of importance."""
    if any(check.dependent for check in result.independence):
        return (
            "Do not use these privacy levels. Use databases that do not depend on each other, "
            "such as years that are far apart.",
        )
    said = [
        "Choose an epsilon at which even the largest delta is small enough. For each epsilon, the "
        "table lists the largest delta over all individuals.",
        f"Look at the individual {result.worst_individual}, who has the largest delta. Removing "
        "the records of the individuals with the largest deltas usually reduces the largest delta.",
    ]
    if noise is None:
        said.append(
            "If no delta is small enough, add noise to the answer: dpjax.calibrate_noise finds "
            "how much noise is enough."
        )
    return tuple(said)


def doubt_of(result: Estimated) -> str | None:
    """Return a sentence that explains why a result is doubtful, or None if it is not doubtful."""
    if not any(check.dependent for check in result.independence):
        return None
    return "The privacy levels assume independent databases, but these databases look dependent."


def verdict_of(result: Estimated, sentence: str, headline: str | None = None) -> Verdict:
    """Return the verdict of a result.

    The verdict is 'doubtful' if the databases look dependent, and 'estimate' otherwise.

    Args:
        result: Result of an empirical privacy estimate.
        sentence: Sentence that states the finding.
        headline: Headline for the verdict 'estimate', or None for the default headline, "An
            estimate, not a proof". The verdict 'doubtful' has a fixed headline.
    """
    if (doubt := doubt_of(result)) is not None:
        headline = "Doubtful: the databases look dependent"
        return Verdict("doubtful", headline, f"{doubt} {sentence}")
    return Verdict("estimate", headline or "An estimate, not a proof", sentence)


def _sections(
    result: Estimated, noise: Calibrated | None, figures: dict[str, Figure]
) -> list[Section]:

    def pictures(name: str) -> tuple[Figure, ...]:
        return (figures[name],) if name in figures else ()

    rows = [
        (
            f"{epsilon:.4g}",
            f"{delta:.3g}" + ("" if error is None else f" ± {error:.2g}"),
            f"{risk:.3g}",
            f"{touched}",
        )
        for epsilon, delta, error, risk, touched in result.curve(_CURVE_ROWS)
    ]
    head = ("Epsilon", "Delta", "Total risk", "Individuals with delta > 0")
    column, at = int(np.argmin(result.epsilons)), f"Delta at epsilon = {result.epsilons.min():.4g}"
    ranking = [(str(name), f"{delta:.3g}") for name, delta in result.ranking()[:_RANKING_ROWS]]
    meaning = _MEANING
    if result.delta_error is not None:
        meaning += (
            " In the delta column, the number after ± is the jackknife standard error of delta."
        )
    found = [
        Section("Privacy", (meaning,), pictures("curves"), Table(rows, head)),
        Section("Individuals", (), pictures("densities"), Table(ranking, ("Individual", at))),
    ]
    if result.buckets:
        buckets = [
            (b.label, f"{b.num_databases}", f"{b.delta[column]:.3g}") for b in result.buckets
        ]
        found.append(Section("Adversary", table=Table(buckets, ("Bucket", "Databases", at))))
    if noise is not None:
        found.append(noise_section(noise, pictures("noise")))
    integrals = "The integrals are in closed form."
    if result.integration_error:
        integrals = (
            f"Error of each delta from numerical integration: about {result.integration_error:.1e}."
        )
    density = result.density or "one for each bucket of the adversary"
    method = f"{len(result.results)} query results. Density: {density}. {integrals}"
    return [*found, Section("Method", (method,))]


def noise_section(noise: Calibrated, figures: tuple[Figure, ...] = ()) -> Section:
    """Return the report section about calibrated noise."""
    said = (
        f"To reach epsilon = {noise.epsilon:g} with delta = 0, add this noise to the "
        f"{noise.query}: {noise.noise}."
    )
    return Section("Noise", (said,), figures, Table(noise.rows()))


def write_empirical_report(
    result: Estimated, path: str | Path, noise: Calibrated | None = None
) -> Path:
    """Write a report and its figures; no file appears before all files are complete.

    Args:
        result: The result to report.
        path: Path that ends in .html (figures are embedded) or .md (figures are separate files in
            the same folder).
        noise: Calibrated noise for the result's query, or None for a report without noise.

    Returns:
        The path of the report.

    Raises:
        ValueError, OSError, ModuleNotFoundError: If `check_report_path` rejects the path.
    """
    path = check_report_path(path)
    page, files = empirical_document(result, path, noise)
    write_whole({**files, path: render(page, path.suffix.lower())})
    return path


def empirical_document(
    result: Estimated, path: Path, noise: Calibrated | None = None
) -> tuple[Page, dict[Path, str | bytes]]:
    """Return a result's report page, to be written to `path`, and the files of its figures."""
    drawn = _pictures(result, noise) if find_spec("matplotlib") else None
    files, figures = beside(drawn, path)
    return _page(result, noise, figures), files


def noise_document(noise: Calibrated, path: Path) -> tuple[Page, dict[Path, str | bytes]]:
    """Return a report page about noise, to be written to `path`, and the files of its figures."""
    drawn = {"noise": _figures.plot_empirical_noise(noise)} if find_spec("matplotlib") else None
    files, figures = beside(drawn, path)
    enough = (
        f"With this noise, the largest log ratio of releases is {noise.achieved_log_ratio:.4g} for "
        "the given databases."
    )
    page = Page(
        f"Noise for the {noise.query}",
        Verdict("estimate", "Noise for these databases, not a proof", enough),
        (
            noise_section(noise, tuple((figures or {}).values())),
            Section("Checks of the premises", items=_checks_of_noise(noise)),
            Section("What was not tested", items=_NOT_TESTED),
        ),
        written(),
        noise.to_dict(),
    )
    return page, files


def beside(
    drawn: JsonObject | None, path: Path
) -> tuple[dict[Path, str | bytes], dict[str, Figure] | None]:
    """Convert figures to SVG within the page (.html), or to PNG files next to the page (.md).

    Args:
        drawn: matplotlib figures by name, or None if matplotlib is not installed.
        path: Path of the page.

    Returns:
        A dictionary from paths to file contents, and a dictionary from names to the page's figures.
        If matplotlib is not installed, the first dictionary is empty and the second is None.
    """
    from dpjax.plotting import figure_svg

    if drawn is None:
        return {}, None
    if path.suffix.lower() == ".html":
        return {}, {
            name: Figure(CAPTIONS[name], figure_svg(figure, name, CAPTIONS[name], CAPTIONS[name]))
            for name, figure in drawn.items()
        }
    places = {name: f"{path.stem}-{name}.png" for name in drawn}
    files: dict[Path, str | bytes] = {
        path.with_name(places[name]): _png(figure) for name, figure in drawn.items()
    }
    return files, {name: Figure(CAPTIONS[name], path=places[name]) for name in drawn}


def _checks(result: Estimated) -> tuple[str, ...]:
    independence = [f"Independence, {check}" for check in result.independence]
    return (*independence, f"Coverage: {result.coverage}", *result.notes)


def _checks_of_noise(noise: Calibrated) -> tuple[str, ...]:
    return (*(f"Independence, {check}" for check in noise.independence), *noise.notes)


def _pictures(result: Estimated, noise: Calibrated | None) -> JsonObject:
    pictures = {}
    if len(result.epsilons) > 1:
        pictures["curves"] = _figures.plot_empirical_curves(result)
    if len(result.queries) == 1 and result.density is not None:
        pictures["densities"] = _figures.plot_empirical_densities(result)
    if noise is not None:
        pictures["noise"] = _figures.plot_empirical_noise(noise)
    return pictures


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
