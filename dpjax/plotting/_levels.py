"""What was found on one line: bound or interval, estimate and claim."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

from dpjax.plotting._audit import CLAIM, as_plain, plot_audit
from dpjax.plotting._canvas import WIDTH, legend_above, new_figure, plain, save_figure
from dpjax.plotting._notions import has_chain, plot_notions
from dpjax.plotting._outcomes import DATABASE


def plot_levels(result: Any, path: str | Path | None = None) -> Any:
    """The lower bound, or the interval of a histogram, with the estimate and the claim.

    Args:
        result: A `dpjax.AuditResult`, or its `to_dict()`.
        path: File to write (.png, .svg, .pdf), or None.

    Returns:
        The matplotlib figure.

    Raises:
        ValueError: The file has another ending.
        ModuleNotFoundError: matplotlib is missing.
    """
    found = as_plain(result)
    low, high, estimate, claim = (
        found[name] for name in ("lower_bound", "upper_bound", "estimate", "claim")
    )
    claim = claim if isinstance(claim, float) else None
    figure, axes = new_figure(size=(WIDTH, 2.0))
    right = 1.15 * max(v for v in (low, high, estimate, claim, 0.1) if v is not None)
    sure = f"confidence {found['confidence']:g}"
    label = f"at least {low:.3f} ({sure})" if high is None else f"interval ({sure})"
    axes.barh([0], [(right if high is None else high) - low], 0.4, low, color=DATABASE, alpha=0.4,
              label=label)  # fmt: skip
    if estimate is not None:
        axes.plot([estimate], [0], "o", color="black", label=f"estimate {estimate:.3f}")
    if claim is not None:
        axes.axvline(claim, color=CLAIM, label=f"claim {claim:g}")
    axes.set(xlim=(0, right), ylim=(-0.5, 0.5), yticks=[], xlabel=plain(found["level"]))
    legend_above(axes)
    figure.suptitle(fill(plain(f"{found['mechanism']}: {found['verdict']}"), 54), fontsize="medium")
    if path is not None:
        save_figure(figure, path)
    return figure


def plot_result(result: Any, path: str | Path | None = None) -> Any:
    """The picture that tells most: of every notion, of the outputs, or of the levels alone.

    Args, returns and raises as `plot_levels`.
    """
    found: Mapping[str, Any] = as_plain(result)
    if has_chain(found):
        return plot_notions(found, path)
    return (plot_levels if found["curve"] is None else plot_audit)(found, path)
