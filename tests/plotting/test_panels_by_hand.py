"""Every element of the panels of the notions, the window of the trade-off, and the legends."""

from functools import cache

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

import dpjax
from dpjax import mechanisms
from dpjax.inference import profile, renyi, trade_off
from dpjax.plotting import Claimed, Seen, notion_panels, plot_notions
from dpjax.plotting._canvas import (
    CLAIM,
    DATABASE,
    EVENT,
    LOSS,
    NEIGHBOR,
    QUIET,
    SERIES,
    _ink,
    legend_above,
    legend_within,
    literal,
    shorten,
    titled,
)
from dpjax.plotting._trade_off import _window


@cache
def band():
    method = dpjax.Events(2_000, 5_000, also=True)
    result = dpjax.audit(mechanisms.Laplace(1.0), [(0.0, 1.0)], method=method)
    return result.evidence.counted.simultaneous(0.999)


NO_CLAIM = Claimed(None, None)


def panels(claim):
    return plot_notions(band(), "", claim).axes


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def filled(axes, label):
    (found,) = [one for one in axes.collections if one.get_label() == label]
    assert found.get_alpha() < 0.3 and found.get_linewidth()[0] == 0
    assert to_hex(found.get_facecolor()[0]) == DATABASE
    return found.get_paths()[0].vertices


def test_the_profile_shows_both_directions_and_shades_what_is_refuted():
    axes = panels(NO_CLAIM)[0]
    found = lines(axes)
    colors = [found[f"{one} against {other}"].get_color()
              for one, other in (("database", "neighbor"), ("neighbor", "database"))]  # fmt: skip
    assert colors == [DATABASE, NEIGHBOR]
    epsilons = found["database against neighbor"].get_xdata()
    both = profile(band(), epsilons)
    for line, deltas in zip(found.values(), both, strict=False):
        np.testing.assert_array_equal(line.get_ydata(), np.where(deltas > 0, deltas, np.nan))
    assert (epsilons[0], len(epsilons)) == (0, 400) and axes.get_xlim() == (0, epsilons[-1])
    # The axis ends 15 percent beyond the epsilon from which delta 0 is not refuted.
    positive = epsilons[both.max(axis=0) > 0]
    assert epsilons[-1] == pytest.approx(1.15 * positive[-1], rel=0.01)
    x, y = filled(axes, "refuted").T
    assert y.min() == 1e-7 and y.max() == pytest.approx(both[:, 0].max())
    at = epsilons[200]
    assert y[x == at].max() == pytest.approx(both[:, 200].max())
    assert axes.get_ylim() == (1e-7, 1.5) and axes.get_yscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epsilon", "delta")
    assert axes.xaxis.get_tick_params()["pad"] == 7
    assert axes.get_title(loc="left") == "privacy profile"
    assert axes.get_legend().get_texts()[-1].get_text() == "refuted"
    assert not axes.spines["top"].get_visible() and axes.spines["left"].get_visible()


@pytest.mark.parametrize(
    ("claim", "point"),
    [
        (Claimed("epsilon", 0.5, 0.01), (0.5, 0.01)), (Claimed("epsilon", 0.5), (0.5, 1e-7)),
    ],
)  # fmt: skip
def test_a_claimed_epsilon_is_a_point_of_the_profile(claim, point):
    axes = panels(claim)[0]
    points = [line for line in axes.get_lines() if line.get_marker() == "o"]
    (only,) = points
    assert only.get_color() == CLAIM and not only.get_clip_on()
    assert only.get_label() == "claim"
    assert only.get_xydata().tolist() == [[*point]]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("claim", "panel", "label"),
    [
        (Claimed("epsilon", 5.0, 0.01), 0, "claim: to the right"),
        (Claimed("epsilon", 1e4), 0, "claim: to the right"),
        (Claimed("epsilon", 1e4), 2, "claim: above"),
        (Claimed("renyi", 50.0, order=2.0), 2, "claim: above"),
        (Claimed("zcdp", 30.0), 2, "claim: above"),
        (Claimed("gdp", 20.0), 2, "claim: above"),
    ],
)
def test_claims_far_beyond_the_bounds_are_marked_at_the_edge(claim, panel, label):
    """Such a claim does not extend the axis, and no line is drawn outside of the panel."""
    axes = panels(claim)[panel]
    usual = panels(NO_CLAIM)[panel]
    assert (axes.get_xlim(), axes.get_ylim()) == (usual.get_xlim(), usual.get_ylim())
    (only,) = [line for line in axes.get_lines() if line.get_color() == CLAIM]
    assert only.get_label() == label and not only.get_clip_on()
    ((x, y),) = only.get_xydata().tolist()
    if panel == 0:
        expected = (">", axes.get_xlim()[1], max(claim.delta, 1e-7))
    else:
        expected = ("^", 8, axes.get_ylim()[1])
    assert (only.get_marker(), x, y) == expected
    axes.figure.canvas.draw()  # Pytest turns layout warnings into errors.


def test_few_points_of_a_claimed_profile_are_marked():
    for number, marker in ((3, "."), (19, "."), (20, "")):
        points = [[e, 0.5 * np.exp(-e)] for e in np.linspace(0, 0.5, number)]
        axes = panels(Claimed("profile", points))[0]
        last = axes.get_lines()[-1]
        np.testing.assert_allclose(last.get_xydata(), points)
        drawn = "" if last.get_marker() in ("None", "", " ") else last.get_marker()
        assert (drawn, last.get_color()) == (marker, CLAIM)


def test_the_longest_bound_or_claim_determines_the_axis_of_the_profile():
    plain = panels(NO_CLAIM)[0].get_xlim()[1] / 1.15
    for level, end in ((0.5 * plain, plain), (2.9 * plain, 2.9 * plain), (3.1 * plain, plain)):
        assert panels(Claimed("epsilon", level))[0].get_xlim()[1] == pytest.approx(1.15 * end)


def test_the_trade_off_shows_both_directions_and_what_tests_reach():
    axes = panels(NO_CLAIM)[1]
    x, missed = trade_off(band())
    found = lines(axes)
    first, second = (found[f"{a} against {b}"] for a, b in
                     (("database", "neighbor"), ("neighbor", "database")))  # fmt: skip
    np.testing.assert_array_equal(first.get_xydata().T, [x, missed])
    np.testing.assert_array_equal(second.get_xydata().T, [missed, x])
    assert (first.get_color(), second.get_color()) == (DATABASE, NEIGHBOR)
    area = filled(axes, "within reach of tests")
    middle = x[len(x) // 2]
    ends = area[area[:, 0] == middle, 1]
    lowest = min(missed[len(x) // 2], np.interp(middle, missed[::-1], x[::-1]))
    assert (ends.min(), ends.max()) == pytest.approx((lowest, 1 - middle))
    (chance,) = [line for line in axes.get_lines() if line.get_linestyle() == ":"]
    assert chance.get_xydata().tolist() == [[0, 1], [1, 0]] and chance.get_color() == QUIET
    assert axes.get_xlim() == axes.get_ylim() == (0, 1) and axes.get_aspect() == 1
    assert axes.get_xlabel() == "level of the test"
    assert axes.get_ylabel() == "upper bound on the type II error"
    assert axes.get_title(loc="left") == "trade-off of errors"
    assert 4 <= len(axes.get_xticks()) <= 7


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("claim", "level"),
    [
        (NO_CLAIM, 0), (Claimed("epsilon", 2.0), 2.0), (Claimed("renyi", 2.0, order=4.0), 2.0),
        (Claimed("epsilon", 2.0, 0.01), 0), (Claimed("epsilon", 0.01), 0),
        (Claimed("zcdp", 0.1), 0),
    ],
)  # fmt: skip
def test_the_divergences_have_room_for_bound_and_claim(claim, level):
    axes = panels(claim)[2]
    orders, levels = lines(axes)["at least"].get_data()
    np.testing.assert_allclose(levels, renyi(band(), orders))
    assert axes.get_ylim() == pytest.approx((0, 1.15 * max(levels[-1], level)))
    assert axes.get_xlim() == (orders[0], orders[-1]) and axes.get_xscale() == "log"
    assert axes.get_xticks().tolist() == [2, 4, 8, 16, 32, 64]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["2", "4", "8", "16", "32", "64"]
    assert isinstance(axes.xaxis.get_minor_locator(), NullLocator)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("order", "divergence")
    assert axes.get_title(loc="left") == "Renyi divergence"
    y = filled(axes, "refuted")[:, 1]
    assert y.min() == 0 and y.max() == pytest.approx(levels.max())
    named = lines(axes)
    if claim.kind == "renyi":
        assert named["claim"].get_xydata().tolist() == [[4.0, 2.0]]
        assert named["claim"].get_color() == CLAIM
    if claim.kind == "epsilon" and not claim.delta:
        assert set(named["claim: nowhere above"].get_ydata()) == {claim.level}


def test_a_claimed_trade_off_is_drawn_as_misses_against_false_alarms():
    points = [[0.0, 1.0], [0.1, 0.5], [1.0, 0.0]]
    drawn = lines(panels(Claimed("trade-off", points))[1])["claim: no test below"]
    x, misses = drawn.get_data()
    np.testing.assert_allclose(misses, np.interp(x, *np.transpose(points)))
    assert x[0] == 0 and x[-1] == 1


def test_separate_panels_show_what_the_row_shows():
    found = [figure.axes[0] for figure in notion_panels(band(), NO_CLAIM).values()]
    for one, other in zip(found, panels(NO_CLAIM), strict=True):
        assert len(one.get_lines()) == len(other.get_lines()) > 0
        assert one.get_title(loc="left") == other.get_title(loc="left")


@pytest.mark.parametrize(
    ("counts", "window"),
    [
        (None, ((0, 1), (0, 1))),
        # For an event of probability 0.4 or 0.6, the whole square is visible.
        ((350, 400), ((0, 1), (0, 1))), ((650, 600), ((0, 1), (0, 1))),
        # At most 0.03: this is the corner of tests that rarely raise an alarm.
        ((10, 30), ((0, 0.045), (0.955, 1))),
        # At least 0.97: this is the corner of tests that nearly always raise an alarm.
        ((990, 970), ((0.955, 1), (0, 0.045))),
        # Either all outputs or no outputs are in the event, so there is no corner to enlarge.
        ((1000, 1000), ((0, 1), (0, 1))), ((0, 0), ((0, 1), (0, 1))),
    ],
)  # fmt: skip
def test_the_window_is_one_and_a_half_times_as_wide_as_the_rarer_outcome(counts, window):
    larger = 0 if counts is None or counts[0] > counts[1] else 1
    seen = None if counts is None else Seen(counts, (1000, 1000), larger, "", None)
    np.testing.assert_allclose(_window(seen), window, atol=1e-12)


def test_a_box_widens_the_window():
    alone = Seen((10, 30), (1000, 1000), 1, "", None)
    boxed = alone._replace(confidence=0.9)
    (_, right), (low, _) = boxed.box()
    (_, end), (begin, _) = _window(boxed)
    assert end == pytest.approx(1.5 * max(right, 1 - low))
    assert end > _window(alone)[0][1]
    assert begin == pytest.approx(1 - end)


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (["a"], 1), (["a", "b"], 2), (["a", "b", "c", "d"], 3), (["a" * 12, "b" * 12, "c" * 10], 3),
        (["a" * 12, "b" * 12, "c" * 11], 2), (["a" * 24, "b"], 2), (["a" * 25, "b"], 1),
    ],
)  # fmt: skip
def test_columns_of_a_legend_above_a_panel(names, columns):
    axes = Figure().add_subplot()
    for name in names:
        axes.plot([0, 1], color=CLAIM, label=name)
    legend_above(axes)
    legend = axes.get_legend()
    assert (legend._ncols, legend.get_title().get_text()) == (columns, "")
    assert [text.get_text() for text in legend.get_texts()] == names
    assert not legend.get_frame_on() and legend.borderaxespad == 0.2
    assert (legend.columnspacing, legend.handlelength) == (1.0, 1.4)
    assert (legend.handletextpad, legend.labelspacing) == (0.5, 0.35)
    assert {text.get_color() for text in legend.get_texts()} == {CLAIM}
    legend_above(axes, raised=True)
    assert axes.get_legend().borderaxespad == 1.5


def test_a_panel_without_labels_has_at_most_a_title():
    axes = Figure().add_subplot()
    axes.plot([0, 1])
    legend_above(axes)
    assert axes.get_legend() is None and axes.get_title(loc="left") == ""
    legend_within(axes, "upper right", "else")
    assert axes.get_legend() is None and axes.get_title(loc="left") == "else"


@pytest.mark.parametrize(("corner", "first"), [("upper right", False), ("lower left", True)])
def test_markers_of_a_legend_in_a_panel_are_at_its_side(corner, first):
    axes = Figure().add_subplot()
    axes.plot([0, 1], color=NEIGHBOR, label="x" * 41)
    axes.plot([0, 1], color=NEIGHBOR, label="x" * 41 + "\ny")
    legend_within(axes, corner)
    legend = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["x" * 40 + "…", "x" * 41 + "\ny"]
    assert legend._alignment == corner.split()[1]
    rows = [box for box in legend.findobj(lambda a: type(a).__name__ == "HPacker")
            if len(box.get_children()) == 2]  # fmt: skip
    assert len(rows) == 2
    assert all((type(row.get_children()[0]).__name__ == "DrawingArea") is first for row in rows)


def test_labels_have_the_ink_of_their_artists():
    axes = Figure().add_subplot()
    (line,) = axes.plot([0, 1], color=CLAIM, alpha=0.2)
    area = axes.fill_between([0, 1], 0, 1, color=DATABASE, alpha=0.1)
    bars = axes.bar([0, 1], [1, 2], color=NEIGHBOR)
    (hollow,) = axes.bar([0], [1], fill=False, edgecolor=QUIET)
    assert [_ink(a) for a in (line, area, bars, hollow)] == [CLAIM, DATABASE, NEIGHBOR, QUIET]
    for light in (EVENT, "black", *SERIES):
        assert _ink(axes.plot([0, 1], color=light)[0]) == LOSS


def test_texts_of_others_are_short_and_no_formulas():
    assert shorten("abc", 3) == "abc" and shorten("abcd", 3) == "abc…"
    assert literal("x" * 101) == "x" * 100 + "…" and literal("$x$") == r"\$x\$"
    figure = titled(Figure(), "word " * 20, 24)
    assert figure.get_suptitle().splitlines() == ["word word word word word"] * 4
    assert not titled(Figure(), "").get_suptitle()


def test_a_profile_that_refutes_nothing_has_an_axis_of_its_own():
    method = dpjax.Events(2_000, 5_000, also=True)
    result = dpjax.audit(mechanisms.Laplace(1.0), [(0.0, 1e-3)], method=method)
    shown = result.evidence.counted.simultaneous(0.999)
    assert plot_notions(shown, "", NO_CLAIM).axes[0].get_xlim() == (0, pytest.approx(0.115))
