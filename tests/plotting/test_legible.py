"""Text and lines of figures are legible on narrow, light and dark pages."""

import numpy as np
import pytest

import dpjax
from dpjax import mechanisms
from dpjax.plotting import SERIES, plot_levels, plot_wealth
from dpjax.plotting._canvas import LOSS
from dpjax.results._figures import notions_figures, outputs_figure, trade_off_figure
from dpjax.sweeps._summary import EntrySummary, SweepSummary


def test_labels_of_a_privacy_profile_do_not_touch():
    pytest.importorskip("matplotlib")
    result = dpjax.audit(mechanisms.Gaussian(1.0), [(0.0, 1.0)], notion=dpjax.Profile(),
                         method=dpjax.Events(2_000, 5_000))  # fmt: skip
    axes = notions_figures(result)["profile"].axes[0]
    axes.figure.draw_without_rendering()
    low = axes.yaxis.get_ticklabels()
    boxes = [label.get_window_extent() for label in low if label.get_text()]
    (first, *_) = (label.get_window_extent() for label in axes.xaxis.get_ticklabels())
    assert min(box.y0 for box in boxes if box.y1 > axes.bbox.y0) >= first.y1


@pytest.mark.parametrize("kind", ["levels", "outputs", "trade-off", "wealth", "notions"])
def test_texts_are_legible_at_400_pixels(kind):
    """A column of such a page is 368 px wide, and a picture fills the column."""
    Text = pytest.importorskip("matplotlib.text").Text
    chain = dpjax.audit(mechanisms.Gaussian(1.0), [(0.0, 1.0)], notion=dpjax.Profile(),
                        claim=[(0.0, 0.2)], method=dpjax.Events(2_000, 5_000))  # fmt: skip
    figures = {
        "levels": lambda: [plot_levels("", "epsilon", 0.0, 1.4, 0.5, 1.0, "confidence 0.999")],
        "outputs": lambda: [outputs_figure(chain)],
        "trade-off": lambda: [trade_off_figure(chain)],
        "wealth": lambda: [plot_wealth("", [(1, 0.0, 0.0), (9, 0.5, 7.0)], 0.5, 6.9, "epsilon")],
        "notions": lambda: notions_figures(chain).values(),
    }
    for figure in figures[kind]():
        width = 72 * figure.get_size_inches()[0]
        sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_text().strip()]
        assert 368 / width * min(sizes) >= 10


def test_series_are_visible_on_both_kinds_of_pages():
    """As WCAG requires of graphics, the contrast is 3 on white and on the dark background."""
    to_rgb = pytest.importorskip("matplotlib.colors").to_rgb

    def luminance(color):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                  for c in to_rgb(color)]  # fmt: skip
        return np.dot([0.2126, 0.7152, 0.0722], linear)

    for color in SERIES:
        for paper in ("#ffffff", "#15181c"):
            low, high = sorted((luminance(color), luminance(paper)))
            assert (high + 0.05) / (low + 0.05) >= 3, (color, paper)


def test_entries_of_a_sweep_differ_by_color_or_line_and_have_dark_names():
    pytest.importorskip("matplotlib")
    entries = tuple(EntrySummary(f"entry {n}", "laplace", 2, (0.1 * n, 0.2 * n + 1), 1.0)
                    for n in range(14))  # fmt: skip
    axes = SweepSummary("levels", entries).plot().axes[0]
    drawn = [line for line in axes.get_lines() if line.get_label().startswith("entry")]
    assert len({(line.get_color(), line.get_linestyle()) for line in drawn}) == len(drawn) == 12
    assert {text.get_color() for text in axes.get_legend().get_texts()} == {LOSS}
