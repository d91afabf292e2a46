"""Figures of audits show every output once, at its position and with its frequency."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

import dpjax
from dpjax import mechanisms
from dpjax.partitions._curve import curve_of
from dpjax.plotting import plot_levels, plot_wealth, save_figure
from dpjax.plotting._labels import name_sides
from dpjax.plotting._outcomes import _ribbon, share_panel
from dpjax.plotting._strips import _numbers, _with_ends, strips_of
from dpjax.results._figures import has_band, notions_figure, outputs_figure

N = 20_000
LOCAL = dpjax.Local()
RNG = np.random.default_rng(0)
REALS = RNG.laplace(size=N), 1 + RNG.laplace(size=N)


def recorded(kind):
    x, y = REALS
    if kind == "atoms":
        return np.clip(x, -2, 2), np.clip(y, -2, 2)
    if kind == "few integers":
        return np.rint(x).astype(int), np.rint(y).astype(int)
    if kind == "many integers":
        return np.rint(40 * x).astype(int), np.rint(40 * y).astype(int)
    if kind == "few reals":
        return np.round(x).clip(-2, 2) / 10, np.round(y).clip(-2, 2) / 10
    if kind == "integers and reals":
        return [np.where(RNG.random(N) < 0.005, side, np.rint(side)) for side in (x, y)]
    if kind == "one number":
        return np.full(N, 0.5), np.where(y > 5, 1.5, 0.5)
    if kind == "labels":
        return [RNG.choice(list("abc"), N, p=p) for p in ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])]
    if kind == "with NaN":
        return np.where(x > 1, np.nan, x), np.where(y > 3, np.nan, y)
    return x, y


@cache
def audited(kind, method=None, claim=None, **options):
    source = dpjax.Recorded(*recorded(kind), **options)
    return dpjax.audit(source, method=method or dpjax.Events(), claim=claim)


def names_in(figure):
    """Return the labels in a figure: in legends, and next to lines."""
    for axes in figure.axes:
        yield from (text.get_text() for text in axes.texts)
        if legend := axes.get_legend():
            yield from (text.get_text() for text in legend.get_texts())


def in_view(tick):
    """Return whether a tick lies within its axis; other ticks are not drawn."""
    from matplotlib.axis import XTick

    low, high = sorted(tick.axes.get_xlim() if isinstance(tick, XTick) else tick.axes.get_ylim())
    return low <= tick.get_loc() <= high


def overlaps(figure):
    """Return pairs of overlapping texts of a figure, and texts outside of the figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer, (_, _, width, height) = canvas.get_renderer(), figure.bbox.bounds
    ticks = [tick for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)
             for tick in axis.get_major_ticks() + axis.get_minor_ticks()]  # fmt: skip
    unseen = {label for tick in ticks if not in_view(tick) for label in (tick.label1, tick.label2)}
    texts = [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text not in unseen
    ]
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts]
    slanted = [text.get_rotation() % 180 > 0 for text in texts]
    for place, (name, box) in enumerate(boxes):
        if min(box.x0, box.y0) < -1 or box.x1 > width + 1 or box.y1 > height + 1:
            yield name
        for other in range(place):
            if slanted[place] or slanted[other]:
                continue
            beside, box_beside = boxes[other]
            across = min(box.x1, box_beside.x1) - max(box.x0, box_beside.x0)
            along = min(box.y1, box_beside.y1) - max(box.y0, box_beside.y0)
            if across > 1 and along > 3:
                yield name, beside


def strips(result, joined):
    return strips_of(result.curve, result.num_samples if joined else None)


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize(
    "kind",
    [
        "reals", "atoms", "few integers", "many integers", "few reals", "integers and reals",
        "one number", "labels", "with NaN",
    ],
)  # fmt: skip
def test_strips_hold_all_outputs_of_the_search_once(kind, joined):
    result = audited(kind)
    parts = strips(result, joined)
    assert len(parts) == 2 if kind == "with NaN" else len(parts) == 1
    np.testing.assert_allclose(sum(strip.shares.sum(axis=1) for strip in parts), 1, atol=1e-12)
    for strip in parts:
        assert np.all(strip.low <= strip.high) and np.all(strip.high[:-1] <= strip.low[1:] + 1e-12)
        # Each side has half an output more; the sides differ by a few outputs.
        naive = np.abs(np.diff(np.log(strip.shares * result.num_samples + 0.5), axis=0))[0]
        np.testing.assert_allclose(strip.loss, naive, atol=0.05)
        assert strip.event.any() or kind in ("with NaN", "one number")


def test_joined_cells_hold_enough_and_keep_the_event_apart():
    result = audited("reals")
    (fine,), (coarse,) = strips(result, False), strips(result, True)
    assert len(coarse.low) < len(fine.low)
    counts = coarse.shares.sum(axis=0) * result.num_samples
    ends = np.append(np.flatnonzero(np.diff(coarse.event.astype(int))), len(counts) - 1)
    assert np.all(np.delete(counts, ends) >= 100)
    for low, high, event in zip(fine.low, fine.high, fine.event, strict=True):
        middle = (low + high) / 2
        (holds,) = np.flatnonzero((coarse.low <= middle) & (middle < coarse.high))
        assert coarse.event[holds] == event


def test_whole_numbers_lie_in_the_middle_of_their_unit():
    local = audited("few integers", LOCAL)
    geometric = dpjax.audit(mechanisms.TwoSidedGeometric(1.0))
    for result in (audited("few integers"), local, geometric):
        (strip,) = strips(result, False)
        inner = ~strip.tail
        np.testing.assert_array_equal((strip.high - strip.low)[inner], 1)
        np.testing.assert_array_equal((strip.low + 0.5)[inner], np.rint(strip.low + 0.5)[inner])
    (strip,) = strips(local, False)
    place = int(np.flatnonzero(strip.low + 0.5 == 1)[0])
    # Allow 4.6 standard errors for 6000 search outputs; each fails with probability 4e-6.
    for share, side in zip(strip.shares[:, place], recorded("few integers"), strict=True):
        p = np.mean(side == 1)
        assert abs(share - p) < 4.6 * np.sqrt(p * (1 - p) / 6000)


@pytest.mark.one_in(7)
@pytest.mark.parametrize(
    ("kind", "options", "panels"),
    [
        ("reals", {}, 2),
        ("atoms", {}, 3),  # The atoms have a separate axis.
        ("few integers", {}, 2),
        ("many integers", {"method": LOCAL}, 2),
        ("few reals", {}, 2),
        ("integers and reals", {}, 2),
        ("one number", {}, 2),
        ("labels", {"method": LOCAL}, 2),
        ("with NaN", {"claim": 0.5}, 4),
        ("reals", {"bits": "lowest"}, 2),
        ("reals", {"method": LOCAL}, 2),
    ],
)
def test_every_kind_has_a_picture_with_names(tmp_path, kind, options, panels):
    pytest.importorskip("matplotlib")
    result = audited(kind, **options)
    figure = outputs_figure(result)
    save_figure(figure, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    assert len(figure.axes) == panels
    below = [axes for axes in figure.axes if axes.get_ylabel() == "privacy loss"]
    assert all(axes.get_xlabel() for axes in below)
    named = set(names_in(figure))
    assert {"database", "neighbor", "bound"} <= named
    assert ("claim" in named) == (result.claim is not None)
    if kind not in ("one number", "integers and reals") and "bits" not in options:
        assert ("event" in named) == (options.get("method") is not LOCAL)
    assert all(axes.get_ylim()[0] == 0 for axes in figure.axes)
    assert not list(overlaps(figure))


def test_bits_are_shown_label_by_label():
    result = audited("reals", bits="lowest")
    (strip,) = strips(result, True)
    assert all(name.startswith("lowest set bit 2^") for name in strip.names)
    assert strip.event.any() and result.lower_bound > 5


def test_of_very_many_numbers_the_most_frequent_are_kept():
    counts = np.random.default_rng(2).permutation(3000)[None] + np.array([[1], [2]])
    places = np.stack([np.arange(3000.0)] * 2, axis=1)
    curve = curve_of(counts, np.zeros(3000, bool), places, str)
    assert sorted(curve["points"]) == np.flatnonzero(counts[1] > 1001).tolist()


def test_a_picture_is_made_again_from_json():
    pytest.importorskip("matplotlib")
    result = audited("labels", claim=0.5)
    again = dpjax.AuditResult.from_json(result.to_json()).plot()
    first = result.plot()
    for one, other in zip(first.axes, again.axes, strict=True):
        assert [p.get_bbox().bounds for p in one.patches if hasattr(p, "get_bbox")] == [
            p.get_bbox().bounds for p in other.patches if hasattr(p, "get_bbox")
        ]
    title = f"recorded outputs: {result.verdict} (recorded pair)"
    assert len(first.axes) == 3
    assert first.get_suptitle() == again.get_suptitle() == title


def test_infinite_losses_leave_a_gap():
    pytest.importorskip("matplotlib")
    method = dpjax.Local(300, 600, floor=0.0)
    result = dpjax.audit(mechanisms.RandomizedResponse(12.0), method=method)
    assert result.curve["loss"] == [None, None]
    assert len(outputs_figure(result).axes) == 2


def test_vectors_have_the_picture_of_their_score():
    sides = RNG.normal(size=(2, 3000, 5)) + np.eye(5)[0] * np.array([0, 2])[:, None, None]
    result = dpjax.audit(dpjax.Recorded(*sides))
    assert outputs_figure(result).axes[1].get_xlabel() == "entry 0"


def test_boxes_lie_on_a_line_of_all_outputs():
    sides = RNG.normal(size=(2, 3000, 2)) + np.array([0, 1])[:, None, None]
    result = dpjax.audit(
        dpjax.Recorded(*sides), method=dpjax.Events(region=([-1, -1], [3, 3]))
    )  # fmt: skip
    bounds = np.array(result.curve["bounds"], float)
    order = np.argsort(bounds[:, 0])
    np.testing.assert_allclose(bounds[order[1:], 0], bounds[order[:-1], 1])
    assert bounds.min() == 0 and bounds.max() == pytest.approx(1)
    first, second = (
        np.array(result.curve[name])[order] for name in ("density", "neighbor_density")
    )
    np.testing.assert_allclose((first + second) / 2, np.diff(bounds[order], axis=1)[:, 0])
    # The event is first; the ratio of the others decreases from e to 1 / e in five parts.
    event = np.array(result.curve["event"])[order]
    num_event = np.count_nonzero(event)
    assert 0 < num_event < len(event) and event[:num_event].all()
    parts = np.array_split(np.stack([first, second])[:, num_event:], 5, axis=1)
    sign = 1 if first[event].sum() > second[event].sum() else -1
    ratios = [sign * np.log(part[0].sum() / part[1].sum()) for part in parts]
    assert np.all(np.diff(ratios) < 0) and ratios[0] > 1 > -1 > ratios[-1]
    assert (
        outputs_figure(result).axes[1].get_xlabel()
        == "share of outputs: event, then others\nby P(database) / P(neighbor)"
    )


def test_what_has_no_curve_has_a_picture_of_its_levels():
    pytest.importorskip("matplotlib")
    # For example, densities in two dimensions have no figure.
    drawn = audited("labels", LOCAL, claim=0.5)
    result = replace(drawn, evidence=replace(drawn.evidence, curve=None))
    figure = outputs_figure(result)
    (axes,) = figure.axes
    assert "claim 0.5" in names_in(figure) and axes.get_xlabel() == "epsilon"
    assert not list(overlaps(figure))


@pytest.mark.parametrize("last", [1_043, 9_000, 100_000])
def test_numbers_of_draws_lie_beside_each_other(last):
    pytest.importorskip("matplotlib")
    path = [(1_000, 0.0, 0.0), (last, 0.5, 7.0)]
    assert not list(overlaps(plot_wealth("", path, 0.5, 6.9, "epsilon")))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("claim", [None, 0.1, 0.45, 0.6, 0.9, 1.3])
@pytest.mark.parametrize("estimate", [0.05, 0.3, 0.48, 0.8, 1.2])
def test_the_claim_does_not_cross_the_name_of_the_estimate(estimate, claim):
    pytest.importorskip("matplotlib")
    figure = plot_levels("", "epsilon", 0.0, 1.4, estimate, claim, "confidence 0.999")
    figure.draw_without_rendering()  # The first layout determines that of `overlaps`.
    assert not list(overlaps(figure))
    (axes,) = figure.axes
    (name,) = [text for text in axes.texts if text.get_text().startswith("estimate")]
    if claim is not None:
        box, (at, low) = name.get_window_extent(), axes.transData.transform((claim, -0.35))
        assert box.y1 < low or not box.x0 <= at <= box.x1


def test_the_band_of_the_losses_is_drawn_when_the_caption_tells_of_it():
    pytest.importorskip("matplotlib")
    for kind in ("reals", "labels"):
        result = audited(kind, claim=0.5)
        ribbons = [axes for axes in outputs_figure(result).axes
                   if axes.get_ylabel() == "privacy loss" and axes.collections]  # fmt: skip
        assert bool(ribbons) == has_band(result) == (kind == "reals")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [1_500, 3_000, 12_000])
@pytest.mark.parametrize("apart", [0.5, 1.0, 3.0])
def test_no_curve_crosses_the_name_of_a_database(size, apart):
    pytest.importorskip("matplotlib")
    draws = np.random.default_rng(3).laplace([[0.0], [apart]], size=(2, size))
    figure = outputs_figure(dpjax.audit(dpjax.Recorded(*draws)))
    figure.draw_without_rendering()
    axes = figure.axes[0]
    for name in axes.texts:
        box = name.get_window_extent()
        for steps in axes.patches:
            if hasattr(steps, "get_data"):
                values, edges, _ = steps.get_data()
                corners = np.stack([np.repeat(edges, 2)[1:-1], np.repeat(values, 2)], axis=1)
                points = axes.transData.transform(corners)
                points = np.linspace(points[:-1], points[1:], 50).reshape(-1, 2)
                assert not np.any(np.all((points > box.p0) & (points < box.p1), axis=1))


@pytest.mark.parametrize("likelier", range(3))
def test_the_event_and_the_estimate_have_names_apart(likelier):
    pytest.importorskip("matplotlib")
    shares = np.full(3, 0.2)
    shares[likelier] = 0.6
    rng = np.random.default_rng(likelier)
    labels = [rng.choice(["no", "maybe", "yes"], 4_000, p=p) for p in (shares, [1 / 3] * 3)]
    figure = outputs_figure(dpjax.audit(dpjax.Recorded(*labels), claim=0.5))
    assert [0.5, 0.5] in [list(line.get_ydata()) for line in figure.axes[1].lines]
    assert {"event", "estimate at the witness"} <= set(names_in(figure))
    assert not list(overlaps(figure))


@pytest.mark.parametrize(
    ("name", "error"), [("x.gif", ValueError), ("none/x.png", FileNotFoundError)]
)
def test_files_that_cannot_be_written_are_refused(tmp_path, name, error):
    with pytest.raises(error, match="plot file"):
        audited("one number").plot(tmp_path / name)


def test_a_bad_path_is_refused_before_anything_is_drawn(tmp_path, monkeypatch):
    result = audited("one number")
    monkeypatch.setattr(type(result), "_figure", lambda self: pytest.fail("drawn"))
    with pytest.raises(ValueError, match="plot file"):
        result.plot(tmp_path / "x.gif")


def curves_of(axes):
    return {line.get_label(): np.array(line.get_data()) for line in axes.get_lines()}


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("notion", "claim"),
    [
        (dpjax.Profile(), [(0.0, 0.3), (1.0, 0.05)]), (dpjax.TradeOff(), [(0.0, 0.9), (0.9, 0.0)]),
        (dpjax.Gdp(), 0.9), (dpjax.Epsilon(1e-3), 0.8), (dpjax.Epsilon(), 0.8),
        (dpjax.Renyi(4), 0.5), (dpjax.Zcdp(), 0.3),
        (dpjax.TotalVariation(), 0.3), (dpjax.Zcdp(), None), (dpjax.Renyi(4), None),
    ],
)  # fmt: skip
def test_curves_of_a_chain_are_those_of_its_answers(notion, claim):
    """For noise of level 1, the curves agree with `bound`, and the claim is also shown."""
    pairs = [(0.0, 1.0)]
    method = dpjax.Events(4_000, 10_000, also=True)
    mechanism = mechanisms.Laplace(1.0)
    result = dpjax.audit(mechanism, pairs, method=method, notion=notion, claim=claim)
    profile, trade_off, renyi = notions_figure(result).axes
    shown = result.bound(dpjax.Profile()).curve
    drawn = curves_of(profile)
    x, y = drawn["database against neighbor"]
    inside = np.isfinite(y)
    expected = np.interp(x[inside], shown["epsilon"], shown["delta"])
    np.testing.assert_allclose(y[inside], expected, atol=2e-3)
    x, y = curves_of(trade_off)["database against neighbor"]
    np.testing.assert_allclose(y, result.bound(dpjax.TradeOff()).curve["error"])
    x, y = curves_of(renyi)["at least"]
    at = np.interp(4.0, x, y)
    if notion != dpjax.Renyi(4):
        assert at == pytest.approx(result.bound(dpjax.Renyi(4)).lower_bound, abs=3e-3)
    assert all(axes.get_legend() is not None for axes in (profile, trade_off, renyi))
    names = [set(curves_of(axes)) for axes in (profile, trade_off, renyi)]
    claimed = [any("claim" in name for name in found) for found in names]
    expected = {
        "profile": [1, 1, 0], "trade-off": [0, 1, 0], "gdp": [1, 1, 1],
        "epsilon": [1, 1, notion == dpjax.Epsilon()],
        "renyi": [0, 1, 1], "zcdp": [0, 1, 1], "total-variation": [0, 1, 0],
    }  # fmt: skip
    assert claimed == ([False] * 3 if claim is None else expected[notion.name])


def test_a_single_event_has_no_curves():
    assert audited("reals").evidence.counted.simultaneous(0.9) is None
    assert notions_figure(audited("reals")) is None


def test_single_values_have_no_ribbon():
    """Cells are [0, 1], the value 1, and [1, 2]; the last has no finite loss."""
    strip = SimpleNamespace(
        low=np.array([0.0, 1.0, 1.0]), high=np.array([1.0, 1.0, 2.0]), noise=np.full(3, 0.1)
    )
    axes = Figure().add_subplot()
    _ribbon(axes, strip, np.array([0.5, 0.5, np.inf]))
    (ribbon,) = axes.collections
    x, y = ribbon.get_paths()[0].vertices.T
    assert (x.min(), x.max()) == (0, 1)
    assert (y.min(), y.max()) == pytest.approx((0.5 - 0.196, 0.5 + 0.196), abs=1e-3)


def test_cells_without_ends_reach_a_twentieth_beyond_the_others():
    inf = np.inf
    low, high = _with_ends(np.array([-inf, 0.0, 2.0]), np.array([0.0, 2.0, inf]))
    assert (low.tolist(), high.tolist()) == ([-0.1, 0.0, 2.0], [0.0, 2.0, 2.1])
    assert [end.tolist() for end in _with_ends(np.array([-inf]), np.array([inf]))] == [
        [-1.0],
        [1.0],
    ]


@pytest.mark.parametrize(("last", "above"), [(100.0, 0), (0.5, 1)])
def test_sides_are_named_beside_their_curves_where_two_points_are_visible(monkeypatch, last, above):
    legends = []
    monkeypatch.setattr("dpjax.plotting._labels.legend_above", legends.append)
    axes = Figure().add_subplot()
    axes.set(xlim=(0, last), ylim=(0, 1.2))
    x = np.arange(101.0)
    name_sides(axes, x, *(np.exp(-(((x - middle) / 5) ** 2)) for middle in (45, 55)))
    assert len(legends) == above and len(axes.texts) == 2 * (1 - above)


def test_densities_are_shares_over_widths():
    """There are two cells of widths 1 and 2, and a tail, which has no density."""
    strip = SimpleNamespace(
        low=np.array([0.0, 1.0, 3.0]), high=np.array([1.0, 3.0, 9.0]), few=False, per="unit",
        tail=np.array([False, False, True]), single=np.zeros(3, bool),
        shares=np.array([[0.5, 0.4, 0.1], [0.2, 0.2, 0.6]]),
    )  # fmt: skip
    axes = Figure().add_subplot()
    share_panel(axes, strip)
    first, second = (patch.get_data().values for patch in axes.patches)
    np.testing.assert_allclose(first, [0.5, 0.2, np.nan])
    np.testing.assert_allclose(second, [0.2, 0.1, np.nan])


def test_cells_are_sorted_by_their_lower_ends():
    """An interval that ends at an atom comes before it."""
    bounds = np.array([[1.5, 2.75], [0.25, 1.5], [1.5, 1.5]])
    shares = np.array([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]])
    columns = {"shares": shares, "loss": np.arange(3.0), "event": np.zeros(3, bool),
               "tail": np.zeros(3, bool)}  # fmt: skip
    strip = _numbers(bounds, columns)
    assert strip.low.tolist() == [0.25, 1.5, 1.5] and strip.high.tolist() == [1.5, 1.5, 2.75]
    assert strip.shares[0].tolist() == [0.3, 0.5, 0.2] and strip.loss.tolist() == [1, 2, 0]


def test_only_the_lower_panel_has_numbers_on_its_axis():
    """The panels share their axis, so the ticks of the upper panel align with the lower one."""
    pytest.importorskip("matplotlib")
    draws = np.random.default_rng(3).laplace([[0.0], [1.0]], size=(2, 3_000))
    above, below = outputs_figure(dpjax.audit(dpjax.Recorded(*draws))).axes[:2]
    assert above.get_xlim() == below.get_xlim()
    low, high = below.get_xlim()
    shown = [at for at in below.get_xticks() if low <= at <= high]
    assert len(shown) >= 3 and above.get_xticks().tolist() == shown
    assert not any(label.get_text() for label in above.get_xticklabels())
    heights = [patch.get_data().values for patch in above.patches if hasattr(patch, "get_data")]
    assert 0.25 < np.nanmax(np.stack(heights)) < above.get_ylim()[1]  # No curve is cut off.


def test_the_divergences_are_drawn_from_order_1_1_to_64():
    method = dpjax.Events(4_000, 10_000, also=True)
    result = dpjax.audit(mechanisms.Laplace(1.0), [(0.0, 1.0)], method=method)
    axes = notions_figure(result).axes[2]
    assert not any(axes.spines[side].get_visible() for side in ("top", "right"))
    x, y = curves_of(axes)["at least"]
    assert (x[0], x[-1]) == pytest.approx((1.1, 64)) and np.all(np.diff(y) >= 0)


def test_beside_the_trade_off_are_the_outputs():
    figure = audited("reals").plot()
    above, below = figure.axes[1:]
    assert above.patches and below.get_ylabel() == "privacy loss" and below.get_lines()
