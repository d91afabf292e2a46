"""What one chain of sets shows of every notion: profile, trade-off of errors, Renyi divergences."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import scipy

from dpjax.inference import Band, band, epsilon_of, largest, profile, renyi, trade_off
from dpjax.plotting._audit import CLAIM, as_plain
from dpjax.plotting._canvas import (
    WIDTH,
    check_figure_path,
    legend_above,
    new_figure,
    plain,
    save_figure,
)
from dpjax.plotting._outcomes import DATABASE, NEIGHBOR

_ORDERS = np.geomspace(1.1, 64, 40)
"""Of Renyi divergences."""

_HEIGHT = 4.0
"""Inches of a panel with its legend."""

_LEAST_DELTA = 1e-7
"""Smaller ones are not drawn."""

_TOP = 1.15
"""Room to the right of the largest epsilon."""


def plot_notions(result: Any, path: str | Path | None = None, *, stacked: bool = False) -> Any:
    """The privacy profile, the trade-off curve and Renyi divergences with their bounds.

    Everything is of the pair as it is, whatever its distance, and all bounds hold at once.

    Args:
        result: A `dpjax.AuditResult` whose evidence is a chain of sets, or its `to_dict()`.
        path: File to write (.png, .svg, .pdf), or None.
        stacked: Whether the panels lie below each other, for a narrow page, or in a row.

    Returns:
        The matplotlib figure.

    Raises:
        ValueError: The evidence has no chain, or the file has another ending.
        ModuleNotFoundError: matplotlib is missing.
    """
    found = as_plain(result)
    if not has_chain(found):
        raise ValueError(
            "the evidence of this audit has no chain of sets to draw curves of: audit with "
            "notion=dpjax.Profile(), or with method=dpjax.Events(also=True)."
        )
    if path is not None:
        check_figure_path(path)
    shown = _band_of(found)
    size = (WIDTH, 3 * _HEIGHT) if stacked else (3 * WIDTH, _HEIGHT)
    figure, axes = new_figure(*((3, 1) if stacked else (1, 3)), size=size)
    claim = _Claim(found)
    _profile_panel(axes[0], shown, claim)
    _trade_off_panel(axes[1], shown, claim)
    _renyi_panel(axes[2], shown, claim)
    sure = f"confidence {found['confidence']:g}, all of them together"
    title = plain(f"{found['mechanism']} ({found['witness']['pair']}): bounds with {sure}")
    figure.suptitle(fill(title, 54) if stacked else title, fontsize="medium")
    if path is not None:
        save_figure(figure, path)
    return figure


def has_chain(found: Mapping[str, Any]) -> bool:
    """Whether a plain result has the counts of a chain."""
    return "chain" in (found["evidence"] or {})


def _band_of(found: Mapping[str, Any]) -> Band:
    held = found["evidence"]["chain"]
    error = (1 - found["confidence"]) / found["num_claims"]
    # Beside an event, the chain has half of the error.
    error /= len(found["evidence"])
    first, second = held["trials"]
    end, start = held["usable"]
    return band(held["inside"], (first, second), error, usable=(end, start))


class _Claim:
    """What is claimed, as curves of other notions where it is one of them."""

    def __init__(self, found: Mapping[str, Any]):
        options = found["recipe"]["notion"]
        # A claim is of one record, and curves are of the pair.
        claim = found["claim"] if found["recipe"]["distance"] == 1 else None
        self.kind = None if claim is None else options.get("name", "epsilon")
        self.points = np.array(claim, float) if isinstance(claim, list) else np.empty((0, 2))
        self.level = claim if isinstance(claim, float) else 0.0
        self.delta, self.order = options.get("delta", 0.0), options.get("order")

    def deltas(self, epsilons: np.ndarray) -> np.ndarray | None:
        """Of a claim of Gaussian privacy."""
        if self.kind != "gdp" or self.level == 0:
            return None
        a, b = (s * self.level / 2 - epsilons / self.level for s in (1, -1))
        return scipy.special.ndtr(a) - np.exp(epsilons) * scipy.special.ndtr(b)

    def errors(self, x: np.ndarray) -> np.ndarray | None:
        """Least errors of the second kind under the claim."""
        if self.kind == "trade-off":
            return np.interp(x, self.points[:, 0], self.points[:, 1])
        if self.kind == "gdp":
            return scipy.special.ndtr(scipy.special.ndtri(1 - x) - self.level)
        if self.kind in ("epsilon", "total-variation"):
            epsilon = self.level if self.kind == "epsilon" else 0.0
            delta = self.delta if self.kind == "epsilon" else self.level
            first = 1 - delta - np.exp(epsilon) * x
            return np.maximum(np.maximum(first, np.exp(-epsilon) * (1 - delta - x)), 0)
        return None

    def divergences(self, orders: np.ndarray) -> np.ndarray | None:
        """Largest divergences under the claim."""
        if self.kind == "zcdp":
            return self.level * orders
        if self.kind == "gdp":
            return self.level**2 / 2 * orders
        return None


def _profile_panel(axes: Any, shown: Band, claim: _Claim) -> None:
    top = max(largest(shown, epsilon_of(0.0)), 0.1)
    marked = [claim.level] if claim.kind == "epsilon" else claim.points[:, 0]
    right = _TOP * max([top, *(e for e in marked if e <= 1.5 * top)])
    epsilons = np.linspace(0, right, 400)
    both = profile(shown, epsilons)
    sides = (("database against neighbor", DATABASE), ("neighbor against database", NEIGHBOR))
    for deltas, (label, color) in zip(both, sides, strict=True):
        axes.plot(epsilons, np.where(deltas > 0, deltas, np.nan), color=color, label=label)
    # What is below either curve is refuted.
    axes.fill_between(
        epsilons, _LEAST_DELTA, np.maximum(both.max(axis=0), _LEAST_DELTA), color=DATABASE,
        alpha=0.12, linewidth=0, label="refuted",
    )  # fmt: skip
    if (deltas := claim.deltas(epsilons)) is not None:
        axes.plot(epsilons, deltas, color=CLAIM, label="claim")
    if claim.kind == "profile":
        few = "." if len(claim.points) < 20 else ""
        axes.plot(*claim.points.T, color=CLAIM, marker=few, label="claim")
    if claim.kind == "epsilon":
        at = max(claim.delta, _LEAST_DELTA)
        axes.plot([claim.level], [at], "o", color=CLAIM, clip_on=False, label="claim")
    axes.set(xlim=(0, right), ylim=(_LEAST_DELTA, 1.5), yscale="log")
    axes.set(xlabel="epsilon", ylabel="delta")
    legend_above(axes, title="privacy profile")


def _trade_off_panel(axes: Any, shown: Band, claim: _Claim) -> None:
    x, missed = trade_off(shown)
    axes.plot(x, missed, color=DATABASE, label="null hypothesis: neighbor")
    axes.plot(missed, x, color=NEIGHBOR, label="null hypothesis: database")
    least = np.minimum(missed, np.interp(x, missed[::-1], x[::-1]))
    axes.fill_between(
        x, least, 1 - x, color=DATABASE, alpha=0.12, linewidth=0, label="within reach of tests"
    )
    axes.plot([0, 1], [1, 0], color="gray", linewidth=0.8, linestyle=":")
    if (errors := claim.errors(x)) is not None:
        axes.plot(x, errors, color=CLAIM, label="claim: no test below")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="level of the test", aspect="equal")
    axes.set(ylabel="error of the second kind, at most")
    legend_above(axes, title="trade-off of errors")


def _renyi_panel(axes: Any, shown: Band, claim: _Claim) -> None:
    levels = renyi(shown, _ORDERS)
    axes.plot(_ORDERS, levels, color=DATABASE, label="at least")
    top = levels[-1]
    axes.fill_between(_ORDERS, 0, levels, color=DATABASE, alpha=0.12, linewidth=0, label="refuted")
    if (claimed := claim.divergences(_ORDERS)) is not None:
        axes.plot(_ORDERS, claimed, color=CLAIM, label="claim")
    if claim.kind == "renyi":
        axes.plot([claim.order], [claim.level], "o", color=CLAIM, label="claim")
        top = max(top, claim.level)
    if claim.kind == "epsilon" and claim.delta == 0:
        axes.axhline(claim.level, color=CLAIM, label="claim: nowhere above")
        top = max(top, claim.level)
    axes.set(xlim=(_ORDERS[0], _ORDERS[-1]), ylim=(0, _TOP * max(top, 1e-3)), xscale="log")
    ticks = [2, 4, 8, 16, 32, 64]
    axes.set_xticks(ticks, [str(order) for order in ticks])
    axes.minorticks_off()
    axes.set(xlabel="order", ylabel="divergence")
    legend_above(axes, title="Renyi divergence")
