"""Reports and figures of empirical privacy."""

import html
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpjax.empirical import (
    Adversary,
    Density,
    EmpiricalPrivacy,
    calibrate_noise,
    empirical_privacy,
    panel_from_array,
    panel_from_table,
    plot_empirical_curves,
    plot_empirical_densities,
    plot_empirical_noise,
    render_empirical_report,
    write_empirical_report,
)
from dpjax.empirical._report import noise_document
from dpjax.report import check_report_path

NARROW = Density(bandwidth=0.25)


@pytest.fixture
def values():
    return np.random.default_rng(0).gamma(2.0, size=(12, 6))


@pytest.mark.slow
def test_reports_hold_every_part(values, tmp_path):
    result = empirical_privacy(values, "mean", epsilon=np.linspace(0, 2, 20))
    noise = calibrate_noise(values, "mean", epsilon=0.5)
    page = write_empirical_report(result, tmp_path / "report.html", noise).read_text()
    assert page.count("<svg xmlns") == 3 and page.count("<script") == 1
    text = write_empirical_report(result, tmp_path / "report.md", noise).read_text()
    for part in ("Privacy", "Individuals", "Method", "Checks of the premises", "Noise"):
        assert f"<h2>{part}</h2>" in page and f"## {part}\n" in text
    assert "runs (p = " in page and "lag-1 autocorrelation" in page and "Coverage" in page
    for name in ("curves", "densities", "noise"):
        assert f"(report-{name}.png)" in text
        assert (tmp_path / f"report-{name}.png").stat().st_size > 5000


def test_reports_escape_what_comes_from_the_data(values):
    table = pd.DataFrame(values).melt(ignore_index=False, var_name="individual").reset_index()
    table["individual"] = "<b>|" + table["individual"].astype(str)
    panel = panel_from_table(table, database="index")
    result = empirical_privacy(panel, "mean", epsilon=0.5, density=NARROW)
    page = render_empirical_report(result)
    assert "<b>" not in page and "&lt;b&gt;" in page
    assert "&lt;b&gt;/0" in render_empirical_report(result, kind=".md")


def test_reports_of_adversaries_and_joint_queries(values):
    known = empirical_privacy(values, "mean", epsilon=[0.1, 1.0], adversary=Adversary("max"))
    assert "<h2>Adversary</h2>" in render_empirical_report(known)
    joint = empirical_privacy(values, ("mean", "max"), epsilon=0.5, density=Density(cells=32))
    assert "from numerical integration" in render_empirical_report(joint)


def test_reports_say_how_to_do_it_again(values, tmp_path):
    result = empirical_privacy(values, "mean", epsilon=0.5, density=NARROW)
    for name in ("r.html", "r.md"):
        text = html.unescape(write_empirical_report(result, tmp_path / name).read_text())
        assert '"bandwidth": 0.25' in text and '"dpjax": ' in text
        assert "dpjax.calibrate_noise finds how much noise is enough" in " ".join(text.split())
        # A single epsilon has no curve, but matplotlib is not reported as missing.
        assert "need matplotlib" not in text


def test_reports_without_matplotlib_say_so(values, tmp_path, monkeypatch):
    monkeypatch.setattr("dpjax.empirical._report.find_spec", lambda name: None)
    result = empirical_privacy(values, "mean", epsilon=[0.5, 1.0])
    text = write_empirical_report(result, tmp_path / "r.md").read_text()
    assert "The figures need matplotlib" in text and "![" not in text


def test_report_paths_that_cannot_be(values, tmp_path, monkeypatch):
    result = empirical_privacy(values, "mean", epsilon=0.5)
    with pytest.raises(ValueError, match=r"must end in .html or .md"):
        write_empirical_report(result, tmp_path / "r.txt")
    with pytest.raises(FileNotFoundError, match="folder that does not exist"):
        write_empirical_report(result, tmp_path / "none" / "r.md")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'dpjax\[report\]'"):
        check_report_path(tmp_path / "r.md")


def test_nothing_half_written_stays(values, tmp_path, monkeypatch):
    result = empirical_privacy(values, "mean", epsilon=[0.5, 1.0])
    pictures = {"curves": None}
    monkeypatch.setattr("dpjax.empirical._report._pictures", lambda *arguments: pictures)
    monkeypatch.setattr("dpjax.empirical._report._png", lambda figure: b"a picture")
    old = tmp_path / "r.md"
    old.write_text("old")

    def fail(*arguments, **options):
        raise OSError("disk full")

    with monkeypatch.context() as during:
        during.setattr("dpjax.empirical._report.render", fail)
        with pytest.raises(OSError, match="disk full"):
            write_empirical_report(result, old)
    monkeypatch.setattr("dpjax.core.files.os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_empirical_report(result, old)
    assert [p.name for p in tmp_path.iterdir()] == ["r.md"] and old.read_text() == "old"


@pytest.mark.parametrize(
    ("count", "at_most", "places"),
    [
        (31, 15, range(0, 31, 3)),
        (51, 9, range(0, 51, 10)),
        (8, 9, range(8)),
        (12, 9, (0, 1, 3, 4, 6, 7, 8, 10, 11)),  # 11 is prime
    ],
)
def test_a_long_table_has_equal_steps(values, count, at_most, places):
    levels = np.linspace(0, 1, count)
    rows = empirical_privacy(values, "mean", epsilon=levels).curve(at_most)
    np.testing.assert_array_equal([row[0] for row in rows], levels[list(places)])


@pytest.mark.slow
def test_figures_show_the_numbers(values):
    result = empirical_privacy(values, "mean", epsilon=[1.0, 0.0, 0.5])
    left, right = plot_empirical_curves(result).axes
    np.testing.assert_array_equal(left.lines[0].get_xdata(), [0.0, 0.5, 1.0])
    for reached in (True, False):
        ends = replace(result, epsilon_at_zero=0.9 if reached else 1.1)
        names = [line.get_label() for line in plot_empirical_curves(ends).axes[0].lines]
        assert ("delta vanishes at 0.9" in names) is reached and len(names) == 1 + reached
    np.testing.assert_array_equal(left.lines[0].get_ydata(), result.delta[[1, 2, 0]])
    np.testing.assert_array_equal(right.lines[0].get_ydata(), result.total_risk[[1, 2, 0]])
    doubtful = empirical_privacy(values, "mean", epsilon=[1.0, 0.0, 0.5], uncertainty=True)
    bands = [len(axes.collections) for axes in plot_empirical_curves(doubtful).axes]
    assert bands == [1, 0]  # Only delta has a standard error.
    for density in (Density(), Density("gaussian", "variable")):
        smooth = empirical_privacy(values, "mean", epsilon=0.5, density=density)
        axes = plot_empirical_densities(smooth).axes[0]
        curves = [line for line in axes.lines if line.get_marker() == "None"]
        assert len(curves) == 2
        for line in curves:
            assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1, abs=0.02)
    stepped = empirical_privacy(values, "mean", epsilon=0.5, density=Density("ecdf"))
    heights, edges, _ = plot_empirical_densities(stepped).axes[0].patches[0].get_data()
    assert heights @ np.diff(edges) == pytest.approx(1)
    noise = calibrate_noise(values, "mean", epsilon=0.5, noise="deconvolution")
    axes = plot_empirical_noise(noise, num_draws=20_000).axes[0]
    heights, edges, _ = axes.patches[0].get_data()
    assert heights @ np.diff(edges) == pytest.approx(1 - noise.noise.atom, abs=0.02)
    with pytest.raises(ValueError, match="one query and without an adversary"):
        known = empirical_privacy(values, "mean", epsilon=0.5, adversary=Adversary("max"))
        plot_empirical_densities(known)


def test_the_band_of_delta_has_two_standard_errors_and_no_negative_end(values):
    result = empirical_privacy(values, "mean", epsilon=[1.0, 0.0, 0.5], uncertainty=True)
    (band,) = plot_empirical_curves(result).axes[0].collections
    x, y = band.get_paths()[0].vertices.T
    for epsilon, delta, error in zip(
        result.epsilons, result.delta, result.delta_error, strict=True
    ):
        ends = sorted(y[x == epsilon])
        assert ends[0] == pytest.approx(max(delta - 2 * error, 0), abs=1e-12)
        assert ends[-1] == pytest.approx(delta + 2 * error)


def test_densities_of_both_databases_are_told_apart(values):
    result = empirical_privacy(values, "mean", epsilon=0.5, density=Density(bandwidth=0.3))
    axes = plot_empirical_densities(result).axes[0]
    curves = [line for line in axes.lines if line.get_marker() == "None"]
    ticks = [line for line in axes.lines if line.get_marker() == "|"]
    assert [line.get_label() for line in curves] == [
        "with everybody", f"without {result.worst_individual}",
    ]  # fmt: skip
    assert [line.get_linestyle() for line in curves] == ["-", "--"]
    assert [line.get_color() for line in curves] == [line.get_color() for line in ticks]
    assert len({line.get_color() for line in curves}) == 2
    without = result.results_without_worst[:, 0]
    samples = result.results[:, 0], without[~np.isnan(without)]
    for curve, tick, sample, height in zip(curves, ticks, samples, (0.055, 0.02), strict=True):
        np.testing.assert_array_equal(tick.get_xdata(), sample)
        np.testing.assert_allclose(tick.get_ydata(), height)
        # The densities reach four bandwidths beyond all results.
        both = np.concatenate(samples)
        ends = curve.get_xdata()[[0, -1]]
        np.testing.assert_allclose(ends, [both.min() - 1.2, both.max() + 1.2])
        at = curve.get_xdata()[700]
        kernel = np.mean(np.exp(-np.abs(at - sample) / 0.3) / 0.6)
        assert curve.get_ydata()[700] == pytest.approx(kernel)
    low, high = axes.get_ylim()
    assert -0.12 < low / high < -0.08
    assert axes.get_ylabel() == "density" and "mean" in axes.get_xlabel()
    assert not axes.spines["top"].get_visible() and axes.get_legend() is not None


def test_the_histogram_of_noise_leaves_zeros_out(values):
    noise = calibrate_noise(values, "mean", epsilon=0.5, noise="deconvolution")
    figure = plot_empirical_noise(noise, num_draws=20_000, key=3)
    axes, draws = figure.axes[0], noise.sample(20_000, 3)
    moved = draws[draws != 0]
    heights, edges, _ = axes.patches[0].get_data()
    reach = np.quantile(np.abs(moved), 0.9995)
    np.testing.assert_allclose([edges[0], edges[-1], len(edges)], [-reach, reach, 161])
    counts = np.histogram(moved, edges)[0]
    np.testing.assert_allclose(heights, counts / (20_000 * (edges[1] - edges[0])))
    (density,) = axes.lines
    np.testing.assert_allclose(density.get_ydata(), noise.noise.density(density.get_xdata()))
    np.testing.assert_allclose(density.get_xdata()[[0, -1]], [-reach, reach])
    share = 1 - len(moved) / 20_000
    title = figure.get_suptitle().replace("\n", " ")
    assert title == (
        f"20,000 draws of the noise; {share:.1%} of the draws are exactly 0 and not shown"
    )
    assert axes.get_ylim()[0] == 0 and axes.get_ylabel() == "density"
    assert axes.get_xlabel() == "noise added to the mean"
    laplace = calibrate_noise(values, "mean", epsilon=0.5)
    assert plot_empirical_noise(laplace, 1000).get_suptitle() == "1,000 draws of the noise"


def test_the_picture_of_one_epsilon_is_of_densities(values):
    one, more = (empirical_privacy(values, "mean", epsilon=e) for e in (0.5, [0.5, 1.0]))
    assert len(one.plot().axes) == 1 and len(more.plot().axes) == 2
    known = empirical_privacy(values, "mean", epsilon=0.5, adversary=Adversary("max"))
    assert len(known.plot().axes) == 2
    assert more.plot().get_suptitle() == "Empirical privacy of mean"
    for axes, name in zip(
        more.plot().axes, ("delta (worst individual)", "total risk"), strict=True
    ):
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("epsilon", name)
        assert axes.get_ylim()[0] == 0 and not axes.spines["right"].get_visible()


def test_a_page_of_noise_says_what_was_not_tested(values, tmp_path):
    noise = calibrate_noise(values, "mean", epsilon=0.5, noise="deconvolution")
    page, _ = noise_document(noise, tmp_path / "n.html")
    assert page.sections[-1].title == "What was not tested" and len(page.sections[-1].items) > 1


def test_equal_deltas_are_ranked_in_the_order_of_individuals(values):
    result = empirical_privacy(values, "mean", epsilon=0.5)
    names = tuple(f"person {number}" for number in range(300))
    deltas = np.repeat([[0.1], [0.2], [0.1]], 100, axis=0)
    tied = replace(result, individuals=names, deltas=deltas)
    expected = [*names[100:200], *names[:100], *names[200:]]
    assert [name for name, _ in tied.ranking()] == expected


def test_parquet_panels_need_pyarrow(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.setattr(
        "dpjax.core.errors.find_spec", lambda name: None if name == "pyarrow" else name
    )
    with pytest.raises(ModuleNotFoundError, match="Parquet files need pyarrow"):
        empirical_privacy(tmp_path / "x.parquet", "mean", epsilon=0.5)


def test_labels_that_are_tuples_survive_json():
    labels = [("a", 1), ("a", 2), ("b", (3, 4))]
    panel = panel_from_array(np.arange(12.0).reshape(4, 3) ** 2, individuals=labels)
    result = empirical_privacy(panel, "mean", epsilon=1.0)
    back = EmpiricalPrivacy.from_json(result.to_json())
    assert back.individuals == tuple(labels) and str(back) == str(result)
