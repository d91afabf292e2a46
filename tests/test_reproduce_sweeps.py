"""`dpjax reproduce` of what is made of sweeps, in small."""

import sys

import pytest

from dpjax.cli import _app
from dpjax.sweeps import Store


@pytest.fixture
def reproduce(monkeypatch, tmp_path):
    """(arguments) -> the exit code and the folder."""
    monkeypatch.setenv("DPJAX_CACHE_DIR", "")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpjax", "reproduce", *arguments, "--out", str(tmp_path)])
        with pytest.raises(SystemExit) as ended:
            _app.run()
        return ended.value.code or 0, tmp_path

    return call


def table_of(path):
    """The rows of the only Markdown table in a file, as dicts."""
    lines = [line.split("|")[1:-1] for line in path.read_text().splitlines() if line[:1] == "|"]
    heads = [cell.strip() for cell in lines[0]]
    return [dict(zip(heads, (c.strip() for c in row), strict=True)) for row in lines[2:]]


def check_figure(folder, name):
    for ending in ("png", "svg"):
        assert (folder / f"{name}.{ending}").stat().st_size > 5_000


def test_figure_4(reproduce):
    code, folder = reproduce("fig4", "--only", "a,d", "--runs", "3")
    assert code == 0
    check_figure(folder, "fig4")
    rows = table_of(folder / "fig4.md")
    assert [(row["curve"], row["eps0"]) for row in rows] == [
        (letter, level) for letter in "ad" for level in ("0.2", "0.7", "1.5")
    ]
    store = Store.open(folder / "store")
    for row, cell in zip(rows, store.spec.cells, strict=True):
        # Closed forms: both attain their level at the last of the ten pairs.
        assert float(row["exact best pair"]) == pytest.approx(float(row["eps0"]), abs=1e-3)
        bounds = sorted(store.columns()[cell.id]["lower_bound"])
        assert float(row["median LB"]) == pytest.approx(bounds[1], abs=1e-4)


def test_figure_5(reproduce):
    code, folder = reproduce("fig5", "--only", "continuous-noisy-max", "--runs", "2")
    assert code == 0
    check_figure(folder, "fig5")
    (row,) = table_of(folder / "fig5.md")
    assert float(row["exact eps_x"]) == pytest.approx(0.75, abs=1e-4)
    assert row["pairs"] == "26"


@pytest.mark.slow
def test_figure_6(reproduce):
    code, folder = reproduce("fig6", "--quick", "--only", "exponential", "--runs", "2")
    assert code == 0
    check_figure(folder, "fig6")
    rows = table_of(folder / "fig6.md")
    assert [row["n"] for row in rows] == ["5000", "50000"] * 2
    assert all(float(row["mean squared error"]) < 0.5 for row in rows)


def test_table_2(reproduce, capsys):
    code, folder = reproduce("table2", "--only", "a", "--runs", "3")
    assert code == 0
    (row,) = table_of(folder / "table2.md")
    assert (row["mechanism"], row["paper, s"]) == ("laplace", "10.9")
    assert float(row["ratio"]) == pytest.approx(10.9 / float(row["dpjax, s"]), rel=0.02)


def test_runs_are_refused_where_there_are_none(reproduce, capsys):
    code, _ = reproduce("figures123", "--runs", "3")
    assert code == 2
    assert "--runs and --only are for sweeps" in capsys.readouterr().err
