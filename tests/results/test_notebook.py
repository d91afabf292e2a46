"""What notebooks and prompts show of results, with and without the extras."""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import dpjax
from dpjax.mechanisms import Laplace
from dpjax.plotting import _svg
from dpjax.sweeps import Entry, Store, SweepSpec, run_sweep
from dpjax.sweeps._summary import EntrySummary, SweepSummary

VALUES = np.random.default_rng(0).gamma(2.0, size=(12, 6))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    pytest.importorskip("pyarrow")
    audited = dpjax.audit(Laplace(1.0), [(0.0, 1.0)], method=dpjax.Events(2000, 4000), claim=0.5)
    return {
        "audit": audited,
        "empirical": dpjax.empirical_privacy(VALUES, "mean", epsilon=[0.0, 0.5]),
        "noise": dpjax.calibrate_noise(VALUES, "mean", epsilon=0.5),
        "sweep": swept(tmp_path_factory.mktemp("sweep")),
    }


def swept(folder):
    # Use the sizes of tests/sweeps/test_store.py, so that they share a program.
    entries = [
        Entry(Laplace(level), dpjax.Events(300, 700), [(0.0, 1.0)], num_runs=4, label=f"at {level}")
        for level in (1.0, 3.0)
    ]
    store = Store.create(folder / "s", SweepSpec("levels", tuple(entries), block_runs=2))
    assert store.summary().entries[0].quantiles() == (None, None, None)
    run_sweep(store)
    return store.summary()


NAMES = ("audit", "empirical", "noise", "sweep")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("drawn", [True, False])
def test_a_notebook_shows_the_numbers_with_or_without_matplotlib(results, monkeypatch, name, drawn):
    if drawn:
        pytest.importorskip("matplotlib")
    else:
        monkeypatch.setattr(_svg, "find_spec", lambda name: None)
    text = results[name]._repr_html_()
    assert text.count("<svg") == drawn and "<script" not in text
    assert ("<title" in text and 'role="img"' in text) == drawn
    if name == "audit":
        assert f"{results[name].lower_bound:.4f}" in text and "violated" in text


def test_a_notebook_shows_the_figure_of_plot_as_an_image(results):
    pytest.importorskip("matplotlib")
    figure = results["audit"].plot()
    image, size = figure._repr_png_()
    assert image.startswith(b"\x89PNG")
    drawn = tuple(int.from_bytes(image[at : at + 4], "big") for at in (16, 20))
    assert drawn == tuple(np.multiply(figure.get_size_inches(), 150).astype(int))
    assert size == {"width": drawn[0] * 100 // 150, "height": drawn[1] * 100 // 150}
    formatters = pytest.importorskip("IPython.core.formatters")
    shown, _ = formatters.DisplayFormatter().format(figure)
    assert shown["image/png"] == image


def test_two_figures_of_one_page_share_no_id(results):
    pytest.importorskip("matplotlib")
    first, second = (results["audit"]._repr_html_() for _ in range(2))
    ids = [
        set(text.split('aria-labelledby="')[1].split('"')[0].split()) for text in (first, second)
    ]
    assert len(ids[0] | ids[1]) == 4


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_shows_one_short_line(results, name):
    text = repr(results[name])
    assert len(text) < 160 and "\n" not in text and text.startswith(type(results[name]).__name__)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_page_a_figure_and_json(results, name, tmp_path):
    assert json.loads(results[name].to_json())
    for needed in ("jinja2", "matplotlib"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"no {needed}")
    page = results[name].report(tmp_path / "x.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "not tested" in page or name == "sweep"
    results[name].plot(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 5000
    assert results[name].report(tmp_path / "x.md").exists()


def test_a_sweep_shows_the_bounds_of_its_runs(results):
    summary = results["sweep"]
    assert summary.sentence == "8 of 8 runs have a bound."
    for entry in summary.entries:
        assert entry.quantiles()[1] == pytest.approx(np.median(entry.bounds))
        assert f"{np.median(entry.bounds):.4f}" in str(summary)
    first, second = (entry.quantiles()[1] for entry in summary.entries)
    assert first < second


def test_a_printed_summary_has_labels_at_the_left_and_numbers_at_the_right():
    found = SimpleNamespace(
        name="s", sentence="It ran.", head=["entry", "bound"], table=[["a", "0.25"], ["long", "10"]]
    )
    assert SweepSummary.__str__(found) == (
        "Sweep s: It ran.\nentry  bound\na       0.25\nlong      10"
    )


def test_a_summary_of_bounds_of_0_shows_them_and_not_the_estimates():
    """Bounds of 0 are bounds; estimates are shown if a method has no bound."""

    class Kept:
        spec = SimpleNamespace(
            name="kept",
            entries=[
                SimpleNamespace(id=name, label=name, mechanism_name="m", num_runs=3, claim=None)
                for name in ("zeros", "some", "estimates", "absent")
            ],
        )

        def contents(self):
            return SimpleNamespace(finished=True)

        def columns(self):
            nan, inf = float("nan"), float("inf")
            found = {
                "zeros": {"lower_bound": [0.0, 0.0, 0.0], "estimate": [0.3, 0.2, 0.1]},
                "some": {"lower_bound": [2.0, inf, 1.0], "estimate": [0.3, 0.2, 0.1]},
                "estimates": {"lower_bound": [nan, nan, nan], "estimate": [0.3, nan, 0.1]},
            }
            more = {"status": ["OK"] * 3, "verdict": [None] * 3}
            return {name: {**columns, **more} for name, columns in found.items()}

    summary = SweepSummary.of(Kept())
    assert [entry.bounds for entry in summary.entries] == [(0, 0, 0), (1, 2), (0.1, 0.3), ()]
    assert summary.entries[0].quantiles() == (0, 0, 0)
    assert summary.sentence == "7 of 12 runs have a bound."


def test_entries_of_a_sweep_are_sorted_by_their_margin():
    """By median minus claim: 0.2, -0.5, and none without a claim; rows fit a terminal."""
    entries = (
        EntrySummary("honest", "m", 3, (0.4, 0.5, 0.6), 1.0),
        EntrySummary("no claim " + 60 * "x", "m", 3, (5.0, 6.0, 7.0)),
        EntrySummary("wrong", "m", 4, (0.9, 1.1, 1.2, 1.3), 0.95),
        EntrySummary("empty", "m", 2, (), 1.0),
    )
    summary = SweepSummary("all", entries)
    assert [row[0].partition(" ")[0] for row in summary.table] == ["wrong", "honest", "no", "empty"]
    assert summary.table[0][-3:] == ("0.95", "0.2000", "3")
    lines = str(summary).splitlines()
    assert max(map(len, lines)) <= 100 and len({len(line) for line in lines[1:]}) == 1
    page, _ = summary._document(Path("sweep.md"))
    assert list(page.sections[0].table.rows) == summary.table
    shown, margins = page.sections[0].paragraphs
    assert "quantiles of the bounds" in shown and "sorted by their margin" in margins
    told = dict(summary.rows())
    assert told["honest"].endswith("(5%, 50%, 95%): 0.4100, 0.5000, 0.5900")
    assert told["empty"].endswith("0 of 2 runs; quantiles of the bounds (5%, 50%, 95%): -, -, -")
    pytest.importorskip("matplotlib")
    for some, name in ((entries, "lower bound (dotted: the claim)"), (entries[1:2], "lower bound")):
        assert SweepSummary("x", some)._figure().axes[0].get_xlabel() == name
    assert SweepSummary("bare", entries[1:2]).head == ("entry", "runs", "5%", "median", "95%")


def test_entries_with_one_label_are_told_apart():
    """By the parameters and claims that differ; a unique label is unchanged."""
    one, two, three = (Entry(Laplace(level), claim=claim)
                       for level, claim in [(1.0, 1.0), (1.25, 1.0), (1.25, 2.0)])  # fmt: skip
    named = Entry(Laplace(3.0), label="mine")
    spec = SweepSpec("x", (one, two, three, named))
    stored = SimpleNamespace(spec=spec, contents=lambda: SimpleNamespace(finished=False))
    assert [entry.label for entry in SweepSummary.of(stored).entries] == [
        "laplace epsilon=1 claim=1",
        "laplace epsilon=1.25 claim=1",
        "laplace epsilon=1.25 claim=2",
        "mine",
    ]


def rows_of(shown):
    """Return names and texts of the table of an object, read as XML."""
    table = ElementTree.fromstring(shown._repr_html_()).find("table")
    return {row.find("th").text: row.find("td").text for row in table}


def test_statement_and_witness_show_their_numbers(results):
    audited = results["audit"]
    said = rows_of(audited.statement)
    assert said["lower bound"] == f"{audited.lower_bound:.4f} (exact binomial)"
    assert said["verdict"].startswith("violated. With confidence 0.999, epsilon is at least")
    first, second = audited.witness.event_counts
    seen = rows_of(audited.witness)
    assert seen["counted"] == f"{first:,} at the database, {second:,} at the neighbor"
    assert (seen["database"], seen["neighbor"]) == ("0.0", "1.0")
    bound = audited.bound(dpjax.Epsilon())
    assert "verdict" not in rows_of(bound) and rows_of(bound)["estimate"] == f"{bound.estimate:.4f}"
    wide = audited.witness.__class__("p", [0.0] * 50, [1.0] * 50, difference="entry 3: 0 and 1")
    assert rows_of(wide) == {"databases": "entry 3: 0 and 1"}


def test_a_curve_shows_where_it_is_exceeded():
    claim = [(0.0, 0.1), (1.0, 0.05)]
    few = dpjax.Events(2000, 4000)
    result = dpjax.audit(
        Laplace(1.0), [(0.0, 1.0)], notion=dpjax.Profile(), claim=claim, method=few
    )
    place, shown, claimed = result.statement.crossing
    assert rows_of(result.statement)["exceeded"] == (
        f"at {place:g}: bound {shown:.4g}, claim {claimed:.4g}"
    )


def test_a_plan_shows_what_the_command_line_prints():
    planned = dpjax.plan(lipschitz=0.64, precision=0.1, confidence=0.9)
    shown = rows_of(planned)
    assert shown == dict(planned.rows())
    total = int(shown["samples in total"].replace(",", ""))
    assert total == planned.num_inputs * planned.num_samples


def test_recorded_outputs_are_shown_without_being_read(tmp_path):
    (tmp_path / "y.csv").write_text("")
    recorded = dpjax.Recorded(
        np.zeros((70, 2)), dpjax.Recording(tmp_path / "y.csv", "<a>"), name="<b>", blocks=3
    )
    assert rows_of(recorded) == {
        "x": "an array of float64 of the shape [70, 2]", "y": "file y.csv, column <a>",
        "blocks": "3",
    }  # fmt: skip
    assert "<b>" not in recorded._repr_html_()


def test_a_store_shows_how_far_its_sweep_is(tmp_path):
    pytest.importorskip("pyarrow")
    entry = Entry(Laplace(1.0), dpjax.Events(300, 700), [(0.0, 1.0)], num_runs=4, label="one")
    store = Store.create(tmp_path / "s", SweepSpec("levels", (entry,), block_runs=2))
    assert rows_of(store)["runs stored"] == "0 of 4"
    run_sweep(store)
    (tmp_path / "s" / "blocks" / "odd").write_text("")
    shown = rows_of(store)
    assert shown["runs stored"] == "4 of 4" and shown["entries"] == "1"
    assert any(text.startswith("not used: no block of this sweep") for text in shown.values())


def test_plans_and_found_pairs_are_printed_as_tables():
    plan = dpjax.plan(lipschitz=0.64, precision=0.1, confidence=0.9)
    lines = str(plan).splitlines()
    assert [line.split("  ")[0] for line in lines] == [name for name, _ in plan.rows()]
    assert f"samples per input  {plan.num_samples:,}" in str(plan)
    wide = [(np.zeros(60), np.full(60, float(number))) for number in (1, 2)]
    found = dpjax.search_pairs(
        dpjax.HostMechanism(lambda d, n, seed: np.random.default_rng(seed).laplace(d[0], 1, n)),
        wide,
        budget=4000,
    )
    assert str(found).startswith("the best 2 of 2 pairs, found with ")
    assert all(len(line) <= 100 for line in str(found).splitlines())
    for shown in (plan, found):
        ElementTree.fromstring(shown._repr_html_())
