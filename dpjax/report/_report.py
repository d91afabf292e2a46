"""The report of an audit."""

import datetime
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpjax._files import write_whole
from dpjax.inference import blind_spot, searched_text
from dpjax.notions import Epsilon, Evidence, Gdp, Renyi, TotalVariation, Zcdp, evidence_from_plain
from dpjax.partitions import EVERYWHERE
from dpjax.plotting import as_plain, has_chain, plot_audit, plot_notions
from dpjax.report._files import check_report_path, render

NOT_TESTED = (
    "Databases other than the pairs listed above.",
    "Outputs outside the region.",
    "Side channels: running time, memory, errors that were not recorded as outputs.",
)
"""What no reader should take the report to say; rare events are in `blind_spot`."""


def render_report(result: Any, kind: str = ".html") -> str:
    """The text of a report.

    Args:
        result: A `dpjax.AuditResult`, or its `to_dict()`, such as a JSON file holds.
        kind: ".html" (self-contained, with the figure) or ".md".

    Returns:
        The file's content.

    Raises:
        ModuleNotFoundError: jinja2 or matplotlib is missing; the message says how to get them.
    """
    found = as_plain(result)
    everywhere = found["region"] == EVERYWHERE
    events = found["recipe"]["method"]["name"] == "events"
    settings = found["settings"]
    return render(
        "audit" if found["assumption"] is None else "histogram",
        kind,
        r=found,
        a=found["assumption"],
        figures=_figures(found) if kind == ".html" else [],
        not_tested=[NOT_TESTED[0], *([] if everywhere else NOT_TESTED[1:2]), NOT_TESTED[2]],
        trials=settings.get("confirmed", [found["num_confirm"]] * 2),
        column="Expected bound" if events else "Score in the search",
        today=datetime.date.today().isoformat(),
        again=_again(found["device"]),
        searched=searched_text(found),
        blind_spot=blind_spot(found["num_samples"]),
        answers=_answers(found),
        settings=json.dumps({"recipe": found["recipe"], **settings}, indent=2),
    )


def write_report(result: Any, path: str | Path) -> Path:
    """Writes a report; the file appears only once it is complete.

    Args:
        result: As in `render_report`.
        path: Name that ends in .html or .md.

    Returns:
        The path.

    Raises:
        ValueError, OSError, ModuleNotFoundError: As `check_report_path` and `render_report`.
    """
    path = check_report_path(path)
    write_whole({path: render_report(result, path.suffix.lower())})
    return path


def _answers(found: Mapping[str, Any]) -> list[tuple[str, float]]:
    """What the counts of a chain say of every notion that is a number; none of one event."""
    if not has_chain(found):
        return []
    evidence = evidence_from_plain(found["evidence"])
    own = evidence.confidence(1 - (1 - found["confidence"]) / found["num_claims"])
    chain, distance = Evidence(chain=evidence.chain), found["recipe"]["distance"]
    asked = [Epsilon(), Epsilon(1e-5), Gdp(), Zcdp(), TotalVariation()]
    asked += [] if distance > 1 else [Renyi(2), Renyi(8)]
    return [(n.symbol, n.state(chain, own, distance=distance).lower_bound) for n in asked]


def _again(device: str) -> str:
    """How to repeat the audit, in words."""
    said = "Call dpjax.rerun with this result's JSON"
    if device != "host":
        return f"{said}; for a function of your own, also with the function."
    return (
        f"{said} and what was audited; where that draws its own randomness the numbers will differ "
        "within their confidence."
    )


def _figures(found: Mapping[str, Any]) -> list[Any]:
    """Of the outputs, and of every notion, as far as there are such."""
    from markupsafe import Markup

    drawn = [plot_audit] if found["curve"] is not None else []
    drawn += [plot_notions] if has_chain(found) else []
    texts = []
    for draw in drawn:
        buffer = io.StringIO()
        draw(found).savefig(buffer, format="svg")
        svg = buffer.getvalue()
        texts.append(Markup(svg[svg.index("<svg") :]))
    return texts
