"""The division of outputs into cells of a figure, and the elements drawn for each cell."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.special import ndtr

from dpjax.plotting import Claimed, plot_levels, plot_wealth
from dpjax.plotting._canvas import CLAIM, DATABASE, EVENT, LOSS, NEIGHBOR
from dpjax.plotting._labels import name_levels, name_sides
from dpjax.plotting._outcomes import (
    name_places,
    shade_event,
    share_panel,
    strip_loss_panel,
    visible_range,
)
from dpjax.plotting._outputs import Marks, Outputs, draw_densities, draw_outcomes, plot_outputs
from dpjax.plotting._overview import plot_overview
from dpjax.plotting._strips import (
    Strip,
    _groups,
    _heights,
    _joined,
    _merged,
    known_losses,
    strips_of,
)
from dpjax.plotting._trade_off import Errors


def strip(low, high, shares=None, **options):
    low, high = np.array(low, float), np.array(high, float)
    number = len(low)
    shares = np.full((2, number), 1 / number) if shares is None else np.array(shares)
    options = {
        "names": None, "per": "unit", "loss": np.zeros(number),
        "event": np.zeros(number, bool), "tail": np.zeros(number, bool),
    } | {name: np.array(value) if isinstance(value, list) and name != "names" else value
         for name, value in options.items()}  # fmt: skip
    return Strip(low, high, shares=shares, **options)


def panel():
    return Figure().add_subplot()


EDGES = np.arange(9.0)


def grouped(counts, enough, largest=np.inf, **options):
    counts = np.array(counts)
    cells = strip(EDGES[: counts.shape[1]], EDGES[1 : counts.shape[1] + 1], **options)
    return _groups(cells, counts, enough, largest).tolist()


def test_cells_are_joined_until_they_hold_enough():
    ten = [[5] * 6, [5] * 6]
    assert grouped(ten, 10) == [0, 1, 2, 3, 4, 5]
    assert grouped(ten, 11) == [0, 0, 1, 1, 2, 2]
    # The remaining cells are too small for a bin, so they are part of the last bin.
    assert grouped(ten, 21) == [0, 0, 0, 1, 1, 1] and grouped(ten, 31) == [0] * 6
    assert grouped([[5] * 5, [5] * 5], 20) == [0, 0, 1, 1, 1]


def test_the_rest_goes_into_the_bin_beside_it():
    assert grouped([[5, 5, 1], [5, 5, 1]], 10) == [0, 1, 1]
    assert grouped([[9, 5, 5, 1, 1], [9, 5, 5, 1, 1]], 10) == [0, 1, 2, 2, 2]


def test_both_panels_shade_the_event():
    cells = strip([0, 1, 2], [1, 2, 3], event=[False, True, False])
    above, below = panel(), panel()
    draw_outcomes(above, below, cells)
    for axes in (above, below):
        (band,) = (p for p in axes.patches if to_hex(p.get_facecolor()) == to_hex(EVENT))
        assert (band.get_x(), band.get_width()) == (1.0, 1.0)
    assert [text.get_text() for text in below.texts] == ["event"] and not above.texts
    assert (above.get_ylabel(), below.get_ylabel()) == ("probability", "privacy loss")
    assert below.get_xlabel() == "output"


def test_the_event_and_single_values_stay_apart():
    event = [False, True, True, False, False, False]
    assert grouped([[5] * 6, [5] * 6], 20, event=event) == [0, 1, 1, 2, 2, 2]
    cells = strip([0, 1, 2, 2, 3], [1, 2, 2, 3, 4])
    assert _groups(cells, np.full((2, 5), 1), 4, np.inf).tolist() == [0, 0, 1, 2, 2]


def test_bins_are_as_wide_as_their_noise_needs():
    """With 16 outputs per side and cell, the noise of one cell is 4, and that of two is 2.8."""
    assert grouped([[16] * 4, [9] * 4], 1, 4.0) == [0, 1, 2, 3]
    assert grouped([[16] * 4, [9] * 4], 1, 3.9) == [0, 0, 1, 1]


def test_joined_cells_have_sums_and_losses_of_counts():
    cells = strip([0, 1, 2], [1, 2, 5], [[0.1, 0.3, 0.6], [0.2, 0.2, 0.6]],
                  tail=[False, False, True], event=[True, True, False])  # fmt: skip
    found = _merged(cells, np.array([0, 0, 1]), 100)
    assert found.low.tolist() == [0, 2] and found.high.tolist() == [2, 5]
    np.testing.assert_allclose(found.shares, [[0.4, 0.6], [0.4, 0.6]])
    assert found.event.tolist() == [True, False] and found.tail.tolist() == [False, True]
    assert found.names is None and found.per == "unit"
    found = _merged(cells, np.array([0, 1, 1]), 100)
    assert found.loss[0] == pytest.approx(np.log(20.5 / 10.5))
    assert found.noise[0] == pytest.approx(np.sqrt(1 / 20.5 + 1 / 10.5))
    # A bin is a tail if at least a tenth of it comes from tails; here, at least two thirds do.
    assert found.tail.tolist() == [False, True]
    for share, tail in ((0.09, False), (0.11, True)):
        part = strip([0, 1], [1, 2], [[1 - share, share], [1.0, 0.0]], tail=[False, True])
        assert _merged(part, np.array([0, 0]), 100).tail.tolist() == [tail]


def test_densities_are_known_for_bins_with_a_width_and_enough_outputs():
    cells = strip([0, 1, 3, 3, 4], [1, 3, 3, 4, 9],
                  [[0.2, 0.4, 0.2, 0.01, 0.19], [0.3, 0.3, 0.2, 0.01, 0.19]],
                  tail=[False, False, False, False, True])  # fmt: skip
    found = _heights(cells, np.arange(5), 1000)
    np.testing.assert_allclose(found[:, :2], [[0.2, 0.2], [0.3, 0.15]])
    # Cells: a single value, 20 outputs although 60 are required, and a tail.
    assert np.isnan(found[:, 2:]).all()
    many = _heights(cells, np.arange(5), 60_001)
    np.testing.assert_allclose(many[:, 3], [0.01, 0.01])


def test_losses_that_are_too_noisy_are_left_out():
    """The noise of a step is sqrt(2) times larger; it may be 0.15 of the axis of at least 0.5."""
    noise = 0.15 / np.sqrt(2)
    cells = strip(EDGES[:3], EDGES[1:4], loss=[0.1, 0.2, 0.1],
                  noise=[0.49 * noise, 0.51 * noise, 0.1 * noise])  # fmt: skip
    assert np.isfinite(known_losses(cells)).tolist() == [True] * 3  # All bars are drawn.
    wide = strip([0, 1, 3], [1, 3, 6], loss=[0.1, 0.2, 0.1],
                 noise=[0.49 * noise, 0.51 * noise, 0.1 * noise])  # fmt: skip
    assert np.isfinite(known_losses(wide)).tolist() == [True, False, True]
    # A loss of 2 with little noise makes the axis longer.
    long = strip([0, 1, 3], [1, 3, 6], loss=[2.0, 0.2, 0.1],
                 noise=[1.9 * noise, 1.9 * noise, 2.1 * noise])  # fmt: skip
    assert np.isfinite(known_losses(long)).tolist() == [True, True, False]
    # A bound of 1.1 does too, unless most losses are still too noisy.
    for loud, known in ((1.09, [True, True, True]), (1.11, [True, False, True])):
        bound = strip([0, 1, 3], [1, 3, 6], loss=[0.1, 0.2, 0.1],
                      noise=[0.9 * noise, loud * noise, 1.0 * noise]).reaching(1.1)  # fmt: skip
        assert np.isfinite(known_losses(bound)).tolist() == known
    mostly = strip([0, 1, 3], [1, 3, 6], loss=[0.1, 0.2, 0.1],
                   noise=[0.4 * noise, 1.2 * noise, 1.2 * noise]).reaching(1.1)  # fmt: skip
    assert np.isfinite(known_losses(mostly)).tolist() == [True, False, False]
    few = mostly.__class__(**{**vars(mostly), "noise": np.array([0.6, 1.2, 1.2]) * noise})
    assert np.isnan(known_losses(few)).all() and few.top == 1.1
    assert strip([0, 1, 3], [1, 3, 6]).reaching(0.2).top == 0.5
    alone = strip([0, 1], [1, 3], loss=[1.0, np.inf])
    assert known_losses(alone).tolist() == [1.0, np.inf] and alone.has_losses
    assert not alone.banded and wide.banded and not cells.banded


def test_bars_of_both_sides_stand_beside_each_other():
    axes = panel()
    share_panel(axes, strip([-0.5, 0.5], [0.5, 1.5], [[0.7, 0.3], [0.4, 0.6]], per="value"))
    bars = axes.patches
    assert [bar.get_height() for bar in bars] == [0.7, 0.3, 0.4, 0.6]
    middles = [bar.get_x() + bar.get_width() / 2 for bar in bars]
    np.testing.assert_allclose(middles, [-0.2, 0.8, 0.2, 1.2])
    np.testing.assert_allclose([bar.get_width() for bar in bars], 0.4)
    colors = [to_hex(bar.get_facecolor()) for bar in bars]
    assert colors == [DATABASE] * 2 + [NEIGHBOR] * 2 and axes.get_ylabel() == "probability"
    assert [c.get_label() for c in axes.containers] == ["database", "neighbor"]


def test_single_values_between_intervals_have_dots_and_an_axis():
    axes = panel()
    cells = strip([0, 1, 1], [1, 1, 4], [[0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    share_panel(axes, cells)
    assert axes.get_ylabel() == "density"
    (beside,) = [other for other in axes.figure.axes if other is not axes]
    assert beside.get_ylabel() == "probability of a value (dots)"
    dots = [line for line in beside.get_lines() if line.get_marker() == "o"]
    assert [line.get_color() for line in dots] == [DATABASE, NEIGHBOR]
    np.testing.assert_allclose([line.get_xydata()[0] for line in dots],
                               [[1 - 4 / 300, 0.5], [1 + 4 / 300, 0.3]])  # fmt: skip
    stems = [c.get_segments()[0] for c in beside.collections]
    np.testing.assert_allclose([s[:, 1] for s in stems], [[0, 0.5], [0, 0.3]])
    assert beside.get_ylim()[0] == 0
    whole = panel()
    share_panel(whole, strip([0, 1], [1, 4], per="value"))
    assert whole.get_ylabel() == "probability" and len(whole.figure.axes) == 1


def test_losses_are_bars_or_steps_with_dots():
    axes = panel()
    strip_loss_panel(axes, strip([-0.5, 0.5], [0.5, 1.5], loss=[0.3, 0.1]))
    assert [bar.get_height() for bar in axes.patches] == [0.3, 0.1]
    np.testing.assert_allclose([bar.get_x() for bar in axes.patches], [-0.3, 0.7])
    assert {to_hex(bar.get_facecolor()) for bar in axes.patches} == {LOSS}
    assert axes.patches[0].get_alpha() == 0.5 and axes.get_ylabel() == "privacy loss"
    axes = panel()
    strip_loss_panel(axes, strip([0, 1, 1], [1, 1, 4], loss=[0.3, 0.2, 0.1]))
    (steps,), (dots,) = axes.patches, axes.get_lines()
    assert steps.get_data().values.tolist() == [0.3, 0.1] and steps.get_linewidth() == 1.2
    assert steps.get_data().edges.tolist() == [0, 1, 4] and not axes.collections
    assert dots.get_xydata().tolist() == [[1, 0.2]] and dots.get_marker() == "o"
    noisy = strip([0, 1, 1], [1, 1, 4], loss=[0.3, 0.2, 0.1], noise=[0.01] * 3)
    axes = panel()
    strip_loss_panel(axes, strip([0, 2], [2, 4], steps=noisy))
    assert len(axes.collections) == 2 and axes.patches[0].get_data().values.tolist() == [0.3, 0.1]


def test_steps_break_where_there_is_a_gap():
    axes = panel()
    strip_loss_panel(axes, strip([0, 2, 3], [1, 3, 5], loss=[0.3, 0.2, 0.1]))
    values, edges, _ = axes.patches[0].get_data()
    np.testing.assert_array_equal(values, [0.3, np.nan, 0.2, 0.1])
    assert edges.tolist() == [0, 1, 2, 3, 5]


def test_events_are_bands_with_one_name():
    axes = panel()
    event = [True, False, True, True, False, True]
    shade_event(axes, strip(EDGES[:6], EDGES[1:7], event=event), "event")
    bands = [(p.get_x(), p.get_x() + p.get_width()) for p in axes.patches]
    np.testing.assert_allclose(bands, [(0, 1), (2, 4), (5, 6)])
    assert {to_hex(p.get_facecolor()) for p in axes.patches} == {EVENT}
    assert all((p.get_zorder(), p.get_alpha(), p.get_linewidth()) == (0, 0.4, 0)
               for p in axes.patches)  # fmt: skip
    (name,) = axes.texts
    assert (name.get_text(), name.get_position()) == ("event", (0.5, 1.01))
    axes = panel()
    # Bands below 0.15 of the panel have no name; single values are widened to be visible.
    few = strip([0, 0, 1, 9], [0, 1, 9, 10], event=[True, False, False, True])
    shade_event(axes, few, "event")
    widths = [p.get_width() for p in axes.patches]
    left, right = visible_range(few)
    np.testing.assert_allclose(widths, [(right - left) / 300, 1])
    assert not axes.texts
    shade_event(axes, strip(EDGES[:2], EDGES[1:3], event=[True, True]))
    assert not axes.texts


@pytest.mark.parametrize(
    ("cells", "seen"),
    [
        (strip([0, 1], [1, 9]), (0, 9)), (strip([0, 1, 2], [1, 2, 3]), (0, 3)),
        # The distance between the tails is 10, and each tail may have 0.15 of it.
        (strip([-90, 0, 5, 10], [0, 5, 10, 99]), (-1.5, 11.5)),
        (strip([-1, 0, 5, 10], [0, 5, 10, 11]), (-1, 11)),
        (strip([-90, -30, -30, 0, 10], [-30, -30, 0, 10, 99]), (-36, 16)),
        (strip([-90, 0, 5, 50, 50], [0, 5, 50, 50, 99]), (-7.5, 57.5)),
        (strip([-0.5], [0.5], names=["a"]), (-1, 1)),
        (strip([-0.5, 0.5], [0.5, 1.5], names=["a", "b"]), None),
    ],
)  # fmt: skip
def test_tails_are_cut_off(cells, seen):
    found = visible_range(cells)
    assert found is None if seen is None else found == pytest.approx(seen)


def test_single_values_in_a_tail_are_in_view():
    cells = strip([-90, -50, 0, 5, 10], [-50, -50, 5, 10, 99])
    assert visible_range(cells)[0] == -59 and visible_range(cells)[1] == 19


def named(names, per="label"):
    axes = panel()
    slots = np.arange(len(names), dtype=float)
    name_places(axes, strip(slots - 0.5, slots + 0.5, names=list(names), per=per))
    return axes


def test_ticks_are_names_without_their_common_words():
    axes = named(["status ok", "status failed"])
    assert axes.get_xlabel() == "label: status ..."
    assert [t.get_text() for t in axes.get_xticklabels()] == ["ok", "failed"]
    assert named(["stable", "star"]).get_xlabel() == "label"
    assert named(["0.5", "1.5"], "number").get_xlabel() == "output"
    assert [t.get_text() for t in named(["only one"]).get_xticklabels()] == ["only one"]
    (long, _) = named(["a" * 13, "b" * 12]).get_xticklabels()
    assert long.get_text() == "a" * 11 + "…"
    hostile = named(["$x$", "b"]).get_xticklabels()[0]
    assert hostile.get_text() == r"\$x\$"


@pytest.mark.parametrize(
    ("names", "ticks", "rotation"),
    [
        (["abc"] * 9, 9, 0), (["abcd"] * 8, 8, 90), (["abcdefgh"] * 4, 4, 0),
        (["abcdefghi"] * 4, 4, 40), (["abcdefghi"] * 6, 6, 40), (["abcdef"] * 7, 7, 90),
        (list("ab") * 6, 12, 0), (["ab"] * 13, 7, 0), (["ab"] * 25, 9, 0),
    ],
)  # fmt: skip
def test_ticks_are_few_and_slanted_where_they_would_overlap(names, ticks, rotation):
    labels = named([f"{name}" for name in names]).get_xticklabels()
    assert (len(labels), labels[0].get_rotation()) == (ticks, rotation)
    assert labels[0].get_ha() == ("right" if rotation == 40 else "center")


def test_axes_of_numbers():
    axes = panel()
    name_places(axes, strip([0, 1], [1, 3]))
    axes.set_xlim(0, 2.5)
    assert axes.get_xlabel() == "output" and 0.5 in np.diff(axes.get_xticks())
    whole = panel()
    name_places(whole, strip([-0.5, 0.5], [0.5, 1.5], per="value"))
    whole.set_xlim(0, 2.5)
    assert set(np.diff(whole.get_xticks())) == {1.0}


CURVE = {
    "points": ["a", "b", "c"], "density": [0.5, 0.3, 0.2], "neighbor_density": [0.2, 0.3, 0.5],
    "loss": [0.9, 0.0, 0.9], "event": [True, False, False],
}  # fmt: skip


def test_marks_are_levels_and_a_point():
    figure = plot_outputs("what", Outputs(CURVE, Marks("b", 0.4, 0.3, 0.6), discrete=True))
    above, below = figure.axes
    point, bound, claim = below.get_lines()
    assert point.get_xydata().tolist() == [[1, 0.4]] and point.get_color() == "black"
    assert point.get_label() == "estimate at the witness" and point.get_marker() == "o"
    assert (set(bound.get_ydata()), bound.get_color()) == ({0.3}, DATABASE)
    assert (bound.get_linestyle(), claim.get_linestyle()) == ("--", "-")
    assert (set(claim.get_ydata()), claim.get_color()) == ({0.6}, CLAIM)
    assert bound.get_linewidth() == claim.get_linewidth() == 1.2
    names = {text.get_text(): text for text in below.texts}
    assert {"bound", "claim", "event"} <= set(names)
    assert (names["bound"].get_color(), names["claim"].get_color()) == (DATABASE, CLAIM)
    assert below.get_legend().borderaxespad == 1.5  # Above the name of the event.
    assert figure.get_suptitle() == "what"
    assert above.get_ylim()[0] == below.get_ylim()[0] == 0 and above.get_xlim() == below.get_xlim()
    assert below.get_ylim()[1] == pytest.approx(1.05**2 * 0.9)
    assert above.get_legend() is not None and not above.get_xlabel()
    np.testing.assert_allclose(figure.get_size_inches(), (3.4, 4.2))


@pytest.mark.parametrize(
    ("at", "estimate", "points"), [("zzz", 0.4, 0), ("b", None, 0), (2, 0.4, 1), ((1, 2), 0.4, 0)]
)
def test_a_witness_without_a_place_or_an_estimate_is_no_point(at, estimate, points):
    shown = Outputs(CURVE, Marks(at, estimate, 0.3, None), discrete=True)
    below = plot_outputs("", shown).axes[1]
    assert len([line for line in below.get_lines() if line.get_marker() == "o"]) == points
    assert [text.get_text() for text in below.texts if text.get_text() != "event"] == ["bound"]


def test_densities_are_curves_over_their_points():
    curve = {"points": [0.0, 1.0, 2.0, 3.0], "density": [0.1, 0.5, 0.3, 0.1],
             "neighbor_density": [0.1, 0.2, 0.6, 0.1], "loss": [0.0, 0.9, None, 0.0]}  # fmt: skip
    shown = Outputs(curve, Marks(1.0, 0.9, 0.5, None), discrete=False)
    above, below = plot_outputs("", shown).axes
    for line, name, color in zip(above.get_lines(), ("density", "neighbor_density"),
                                 (DATABASE, NEIGHBOR), strict=True):  # fmt: skip
        assert line.get_xdata().tolist() == curve["points"]
        assert line.get_ydata().tolist() == curve[name] and line.get_color() == color
    losses = below.get_lines()[0]
    np.testing.assert_array_equal(losses.get_ydata(), [0.0, 0.9, np.nan, 0.0])
    assert losses.get_xdata().tolist() == curve["points"] and losses.get_color() == LOSS
    assert (above.get_ylabel(), below.get_ylabel()) == ("density", "privacy loss")
    assert (above.get_xlabel(), below.get_xlabel()) == ("", "output")
    assert shown.has_losses() and not shown.banded() and not shown.strips()


def test_names_of_scores_are_broken_into_lines_of_about_equal_lengths():
    curve = {"points": ["a", "b"], "bounds": [[0, 1], [1, 3]], "density": [0.5, 0.5],
             "neighbor_density": [0.2, 0.8], "loss": [0.9, 0.5]}  # fmt: skip
    for score, lines in (("x" * 36, 1), ("word " * 8, 2), ("word " * 15, 3), ("$x$", 1)):
        shown = Outputs(curve, None, discrete=True, score=score.strip())
        label = plot_outputs("", shown).axes[1].get_xlabel()
        assert label.count("\n") == lines - 1
        assert max(map(len, label.split("\n"))) <= 36 and (score != "$x$" or label == r"\$x\$")


def test_losses_are_known_if_those_of_the_joined_cells_are():
    noisy = strip([0, 1], [1, 3], loss=[0.1, 0.1], noise=[9.0, 9.0])
    assert not strip([0, 1], [1, 3], loss=[0.1, 0.1], steps=noisy).has_losses
    assert strip([0, 1], [1, 3], loss=[np.inf, np.inf],
                 steps=strip([0, 1], [1, 3], loss=[0.1, 0.1])).has_losses  # fmt: skip
    assert strip([0, 1], [1, 3], steps=replace(noisy, noise=np.full(2, 0.01))).banded


def test_levels_without_losses_have_no_marks():
    below = plot_outputs("", Outputs(CURVE, None, discrete=True)).axes[1]
    assert not below.get_lines()


def test_numbers_and_labels_have_panels_of_their_own():
    curve = {
        "points": [0.5, 1.5, "failed"], "bounds": [[0, 1], [1, 2], None],
        "density": [0.5, 0.3, 0.2], "neighbor_density": [0.3, 0.3, 0.4], "loss": [0.5, 0.0, 0.7],
        "event": [False, False, True],
    }  # fmt: skip
    numbers, labels = strips_of(curve)
    assert numbers.high.tolist() == [1, 2] and labels.names == ["failed"]
    assert labels.event.tolist() == [True] and labels.per == "label"
    assert (labels.low.tolist(), labels.high.tolist()) == ([-0.5], [0.5])
    shown = Outputs(curve, Marks("failed", 0.7, 0.5, 0.6), discrete=True)
    first, second, third, last = plot_outputs("", shown).axes
    assert first.get_legend() is not None and third.get_legend() is None
    said = [{text.get_text() for text in axes.texts} for axes in (first, second, third, last)]
    # Levels are named only once, in the last panel.
    assert [bool({"bound", "claim"} & names) for names in said] == [False, False, False, True]
    errors = Errors(Claimed(None, None), Claimed("epsilon", 0.5), "", "bound", None, None)
    figure = plot_overview("what", errors, shown)
    np.testing.assert_allclose(figure.get_size_inches(), (4.2 + 3.2 + 1.1, 4.2))
    left, upper, upper_labels, _, lower = figure.axes
    assert upper.get_ylabel() == upper_labels.get_ylabel() == "probability"
    assert lower.get_xlabel() == "label" and lower.get_ylabel() == "privacy loss"
    figure.draw_without_rendering()
    # The trade-off panel takes 4.2 of 8.5 inches, and the labels take a quarter of the rest.
    assert left.get_tightbbox().x1 / figure.dpi < 4.3 < upper.get_tightbbox().x0 / figure.dpi + 0.2
    alone = plot_overview("what", errors, None)
    assert len(alone.axes) == 1 and alone.get_suptitle() == "what"


def test_names_of_levels_do_not_overlap():
    axes = panel()
    axes.set_ylim(0, 2)
    name_levels(axes, [(1.0, "claim", CLAIM), (0.9, "bound", DATABASE), (1.9, "top", LOSS)])
    found = {text.get_text(): text.xy for text in axes.texts}
    assert found["bound"] == (1.0, 0.45) and found["claim"] == pytest.approx((1.0, 0.57))
    assert found["top"] == pytest.approx((1.0, 0.95))
    assert all(text.get_position() == (3, 0) for text in axes.texts)


def test_names_lie_outward_beside_the_highest_excess():
    axes = panel()
    axes.set(xlim=(0, 10), ylim=(0, 1))
    x = np.linspace(0, 10, 201)
    first, second = (0.8 * np.exp(-np.abs(x - at) * 4) for at in (4.5, 5.5))
    name_sides(axes, x, first, second)
    (one, other) = axes.texts
    assert [t.get_text() for t in (one, other)] == ["database", "neighbor"]
    assert [t.get_ha() for t in (one, other)] == ["right", "left"]
    np.testing.assert_allclose(one.get_position(), (0.43, 0.8), atol=0.01)
    np.testing.assert_allclose(other.get_position(), (0.57, 0.8), atol=0.01)
    assert [t.get_color() for t in (one, other)] == [DATABASE, NEIGHBOR]
    swapped = panel()
    swapped.set(xlim=(0, 10), ylim=(0, 1))
    name_sides(swapped, x, second, first)
    assert [t.get_ha() for t in swapped.texts] == ["left", "right"]


@pytest.mark.parametrize(
    ("level", "shown"),
    [(0.9, True), (0.57, True), (0.56, False), (0.5, False), (0.44, False), (0.43, True)],
)
@pytest.mark.parametrize("side", [0, 1])
def test_a_label_may_have_curves_above_it_or_below_it(level, shown, side):
    """Labels are at a height of 0.5, beside points at 0.45 and 0.55, and are 0.13 high.

    On one side, both curves run at `level` where the label would be.
    """
    axes = panel()
    axes.set(xlim=(0, 10), ylim=(0, 1))
    x = np.array([1.0, 2, 3, 4, 4.3, 4.5, 5.5, 5.7, 6, 7, 8, 9])
    first, second = np.zeros((2, len(x)))
    first[5] = second[6] = 0.5
    beside = slice(None, 5) if side == 0 else slice(7, None)
    first[beside] = second[beside] = level
    name_sides(axes, x, first, second)
    found = {text.get_position() for text in axes.texts}
    assert len(found) == 2 * shown
    if shown:
        assert sorted(found) == [pytest.approx((0.43, 0.5)), pytest.approx((0.57, 0.5))]


@pytest.mark.parametrize(
    ("low", "high", "said", "side"),
    [
        (0.2, None, "at least 0.200 (sure)", "center"),
        (0.9, 1.0, "0.900 to 1.000 (sure)", "right"),
        (0.0, 0.2, "0.000 to 0.200 (sure)", "left"),
    ],
)  # fmt: skip
def test_bounds_of_a_level_are_a_bar(low, high, said, side):
    axes = plot_levels("", "epsilon", low, high, None, 1.0, "sure").axes[0]
    (bar,) = axes.patches
    end = 1.15 if high is None else high
    assert (bar.get_x(), bar.get_x() + bar.get_width()) == pytest.approx((low, end))
    assert (bar.get_y(), bar.get_height()) == (-0.25, 0.5) and bar.get_alpha() == 0.4
    assert to_hex(bar.get_facecolor()) == DATABASE
    (text,) = [t for t in axes.texts if "sure" in t.get_text()]
    assert (text.get_text(), text.get_ha()) == (said, side)
    assert text.get_position() == pytest.approx(((low + end) / 2, 0.3))
    assert axes.get_xlim() == pytest.approx((0, 1.15)) and axes.get_ylim() == (-0.8, 0.7)
    assert axes.get_xlabel() == "epsilon" and not len(axes.get_yticks())
    assert not any(axes.spines[name].get_visible() for name in ("left", "top", "right"))
    (claim,) = axes.get_lines()
    assert claim.get_xydata().tolist() == [[1, -0.35], [1, 0.28]] and claim.get_color() == CLAIM


@pytest.mark.parametrize(
    ("estimate", "claim", "sides"),
    [(0.3, 0.5, ["right", "left"]), (0.5, 0.3, ["left", "right"]), (0.5, None, ["right"]),
     (None, 0.02, ["left"]), (None, 0.6, ["right"]), (2.0, None, ["right"]),
     (None, 0.034, ["left"]), (None, 0.035, ["center"])],
)  # fmt: skip
def test_names_of_estimate_and_claim_extend_away_from_each_other(estimate, claim, sides):
    axes = plot_levels("", "epsilon", 0.02, None, estimate, claim, "sure").axes[0]
    below = [text for text in axes.texts if "sure" not in text.get_text()]
    assert [text.get_ha() for text in below] == sides
    gaps = {"left": 2, "right": -2} if estimate and claim else dict.fromkeys(sides, 0)
    assert [text.get_position() for text in below] == [(gaps[side], 0) for side in sides]
    values = [value for value in (estimate, claim) if value is not None]
    assert [text.xy for text in below] == [(value, -0.38) for value in values]
    if estimate is not None:
        assert below[0].get_text() == f"estimate {estimate:.3f}"
        (dot,) = [line for line in axes.get_lines() if line.get_marker() == "o"]
        assert dot.get_xydata().tolist() == [[estimate, 0]]


def test_wealth_crosses_the_line_where_the_claim_is_refuted():
    path = [(100, 0.0, 0.5), (200, 0.1, 3.0), (400, 0.2, 7.0), (999, 0.3, 9.0)]
    axes = plot_wealth("what", path, 0.5, 7.0, "epsilon").axes[0]
    wealth, line, crossed = axes.get_lines()
    assert wealth.get_xydata().tolist() == [[at, won] for at, _, won in path]
    assert wealth.get_label() == "ln wealth of bets against 0.5"
    assert (wealth.get_color(), line.get_color()) == (DATABASE, CLAIM)
    assert set(line.get_ydata()) == {7.0} and line.get_label() == "ln (1 / error): refuted"
    assert crossed.get_xydata().tolist() == [[400, 7]] and crossed.get_label() == "at 400 draws"
    assert axes.get_ylabel() == "ln wealth" and axes.get_xscale() == "linear"
    assert axes.get_xlabel() == "draws per side, summed over all pairs"
    assert axes.figure.get_suptitle() == "what" and axes.get_legend() is not None
    longer = plot_wealth("", [*path[:3], (1000, 0.3, 6.0)], 0.5, 7.1, "epsilon").axes[0]
    assert longer.get_xscale() == "log" and len(longer.get_lines()) == 2
    free = plot_wealth("", path, None, 7.0, "epsilon").axes[0]
    (bound,) = free.get_lines()
    assert bound.get_xydata().tolist() == [[at, level] for at, level, _ in path]
    assert bound.get_drawstyle() == "steps-post" and free.get_ylabel() == "epsilon"
    assert bound.get_label() == "bound after each block"


def test_curves_of_a_gaussian_claim():
    """The profile of mu-GDP is Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu)."""
    epsilons = np.array([0.0, 0.5, 2.0])
    expected = ndtr(0.4 - epsilons / 0.8) - np.exp(epsilons) * ndtr(-0.4 - epsilons / 0.8)
    np.testing.assert_allclose(Claimed("gdp", 0.8).deltas(epsilons), expected)
    orders = np.array([2.0, 5.0])
    np.testing.assert_allclose(Claimed("gdp", 0.8).divergences(orders), 0.32 * orders)
    np.testing.assert_allclose(Claimed("zcdp", 0.3).divergences(orders), 0.3 * orders)
    assert Claimed("epsilon", 0.3).divergences(orders) is None
    assert Claimed("gdp", 0.0).deltas(epsilons) is Claimed("zcdp", 0.3).deltas(epsilons) is None
    np.testing.assert_allclose(Claimed("trade-off", [[0.0, 0.9], [0.9, 0.0]]).errors(
        np.array([0.3])), [0.6])  # fmt: skip
    assert Claimed("renyi", None, order=4.0).order is None


@pytest.mark.parametrize(
    ("points", "per", "names"),
    [
        ([0.5, 2.0], "number", ["0.5", "2"]), ([0.5, 3], "number", ["0.5", "3"]),
        ([np.float32(0.5), np.int64(2)], "number", ["0.5", "2"]), (["a", "b"], "label", ["a", "b"]),
        ([1, 3], "value", None), ([np.int64(1), 3], "value", None),
    ],
)  # fmt: skip
def test_points_without_bounds_are_integers_other_numbers_or_labels(points, per, names):
    curve = {
        "points": points, "density": [0.25, 0.75], "neighbor_density": [0.5, 0.5],
        "loss": [0.5, -0.5],
    }  # fmt: skip
    (strip,) = strips_of(curve)
    assert strip.per == per and strip.names == names
    if per == "value":
        assert strip.low.tolist() == [0.5, 2.5] and strip.high.tolist() == [1.5, 3.5]


@pytest.mark.parametrize(
    ("counts", "cells"),
    [
        # 1,200 outputs suffice for a bin; with one fewer, bins are merged in pairs.
        ([1200, 0], 41), ([1199, 0], 20),
        # 3% of all outputs also suffice: here 1,320 per cell, with 41 cells and 54,120 outputs.
        ([660, 660], 20), ([0, 1201], 41),
    ],
)  # fmt: skip
def test_numbers_of_bins_in_a_panel(counts, cells):
    """A noise of 3% of the maximum density requires at least 1,112 outputs per side."""
    edges, num_samples = np.arange(42.0), 41 * max(counts)
    shares = np.repeat(np.array(counts)[:, None], 41, axis=1) / num_samples
    found = _joined(strip(edges[:-1], edges[1:], shares), num_samples)
    assert len(found.low) == cells
    # Losses are drawn for bins with 1,200 outputs, or with an eighth of all outputs.
    each = sum(counts)
    joined = -(-min(1200, 41 * each / 8) // each)
    assert len(found.steps.low) == 41 // joined


@pytest.mark.parametrize(("counts", "bins"), [(5, 8), (6, 8), (9, 8)])
def test_few_outputs_have_about_eight_bins_of_losses(counts, bins):
    edges, num_samples = np.arange(49.0), 48 * counts
    shares = np.full((2, 48), 1 / 48)
    found = _joined(strip(edges[:-1], edges[1:], shares), num_samples)
    assert len(found.steps.low) == bins


def test_limits_of_bars_ticks_and_names():
    for number, few in ((40, True), (41, False)):
        edges = np.arange(number + 1.0)
        assert strip(edges[:-1], edges[1:]).few is few
        assert strip(edges[:-1], edges[1:], names=[*map(str, range(number))]).few
    assert not strip([0, 1], [1, 3]).few and not strip([0, 1], [0, 1]).few
    for number, shown in ((12, 12), (13, 7), (25, 9)):
        axes, edges = panel(), np.arange(number + 1.0)
        name_places(axes, strip(edges[:-1], edges[1:], names=["a"] * number, per="label"))
        assert len(axes.get_xticks()) == shown
    axes = panel()
    name_places(axes, strip([0, 1], [1, 2], names=["x" * 12, "y" * 13], per="label"))
    assert [t.get_text() for t in axes.get_xticklabels()] == ["x" * 12, "y" * 11 + "…"]


def test_visible_tails_are_015_of_the_inner_range():
    cells = strip([-100, 0, 4, 10], [0, 4, 10, 100])
    assert visible_range(cells) == (-1.5, 11.5)
    assert visible_range(strip([-1, 0, 4, 10], [0, 4, 10, 11])) == (-1.0, 11.0)


def test_ribbons_reach_196_standard_errors():
    edges = np.arange(42.0)
    cells = strip(edges[:-1], edges[1:], loss=[1.0] * 41, noise=[0.01] * 41)
    axes = panel()
    strip_loss_panel(axes, cells)
    assert len(axes.collections) == 41
    y = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (y.min(), y.max()) == pytest.approx((1 - 0.0196, 1 + 0.0196))
    quiet = strip(edges[:-1], edges[1:], loss=[0.01] * 41, noise=[0.01] * 41)
    axes = panel()
    strip_loss_panel(axes, quiet)
    assert axes.collections[0].get_paths()[0].vertices[:, 1].min() == 0.0


def test_losses_have_few_ticks():
    axes = Figure().subplots(2)
    draw_densities(*axes, {"points": [-1000.0, 0.0, 1000.0], "density": [0.1, 0.2, 0.1],
                           "neighbor_density": [0.1, 0.2, 0.1], "loss": [0, 1, 0]})  # fmt: skip
    assert len(axes[1].get_xticks()) <= 7  # At most five intervals are visible.
    assert len([t for t in axes[1].get_xticks() if -1000 <= t <= 1000]) <= 6


def test_titles_of_outputs_are_as_wide_as_their_figure():
    """38 characters fit over 3.4 inches, where 48 fit over 4.2."""
    curve = {"points": [0.0, 1.0], "density": [0.5, 0.5], "neighbor_density": [0.5, 0.5],
             "loss": [0.0, 0.0]}  # fmt: skip
    figure = plot_outputs("abcd " * 20, Outputs(curve, None, discrete=False))
    # Seven words of four letters are 34 characters long, and an eighth would make them 39.
    assert [len(line) for line in figure.get_suptitle().split("\n")] == [34, 34, 29]
