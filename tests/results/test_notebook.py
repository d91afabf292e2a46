"""What a notebook and a prompt show of results, with and without the extras."""

import importlib.util
import json
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax.mechanisms import Laplace
from dpjax.plotting import _svg
from dpjax.sweeps import Entry, Store, SweepSpec, run_sweep
from dpjax.sweeps._summary import SweepSummary

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
    # The sizes of tests/sweeps/test_store.py, so that they are one program.
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


def test_a_summary_of_bounds_of_0_shows_them_and_not_the_estimates():
    """Bounds of 0 are bounds; estimates stand in where a method states no bound."""

    class Kept:
        spec = SimpleNamespace(
            name="kept",
            entries=[
                SimpleNamespace(id=name, label=name, mechanism_name="m", num_runs=3)
                for name in ("zeros", "some", "estimates", "absent")
            ],
        )

        def contents(self):
            return SimpleNamespace(finished=True)

        def columns(self):
            nan, inf = float("nan"), float("inf")
            return {
                "zeros": {"lower_bound": [0.0, 0.0, 0.0], "estimate": [0.3, 0.2, 0.1]},
                "some": {"lower_bound": [2.0, inf, 1.0], "estimate": [0.3, 0.2, 0.1]},
                "estimates": {"lower_bound": [nan, nan, nan], "estimate": [0.3, nan, 0.1]},
            }

    summary = SweepSummary.of(Kept())
    assert [entry.bounds for entry in summary.entries] == [(0, 0, 0), (1, 2), (0.1, 0.3), ()]
    assert summary.entries[0].quantiles() == (0, 0, 0)
    assert summary.sentence == "7 of 12 runs have a bound."
