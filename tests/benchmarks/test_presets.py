"""Small versions of the figures and tables of the papers.

Compilation takes nearly all of the time of the tests that are marked slow.
"""

import json
import re
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy.stats import chisquare

from benchmarks import presets
from benchmarks.presets import practical
from benchmarks.presets.__main__ import OTHERS, main
from benchmarks.presets.catalogue import PRESETS, preset
from dpjax.sweeps import Store, SweepSpec


@pytest.fixture
def reproduce(tmp_path):
    """Return a function (arguments) -> the folder with the files."""
    # Initialize JAX, so that the command does not change the devices of the process.
    jax.devices()

    def call(*arguments):
        main([*arguments, "--out", str(tmp_path)])
        return tmp_path

    return call


def table_of(path):
    """Return the rows of the only Markdown table in a file, as dicts."""
    lines = [line.split("|")[1:-1] for line in path.read_text().splitlines() if line[:1] == "|"]
    heads = [cell.strip() for cell in lines[0]]
    return [dict(zip(heads, (c.strip() for c in row), strict=True)) for row in lines[2:]]


def check_figure(folder, name):
    for ending in ("png", "svg"):
        assert (folder / f"{name}.{ending}").stat().st_size > 5_000


def test_presets():
    for name in PRESETS:
        spec = preset(name, quick=True)
        assert SweepSpec.from_dict(spec.to_dict()) == spec, name
    figure_4 = preset("fig4")
    assert (len(figure_4.entries), figure_4.num_runs) == (24, 24_000)
    assert [len(entry.pairs) for entry in preset("fig5").entries] == [63, 26]
    assert {entry.method.name for entry in preset("fig6").entries} == {"local-search"}
    assert preset("fig4", only=["d", "a"]).entries[3].label == "d 0.2"
    assert {entry.mechanism_name for entry in preset("fig6", only=["exponential"]).entries} == {
        "exponential"
    }
    with pytest.raises(ValueError, match="fig4 has no part z; its parts are a, b, c"):
        preset("fig4", only=["z"])


def test_ids_are_written_down():
    # Other IDs would change the noise of every curve.
    assert preset("fig4").entries[0].id == "laplace-0a926a17f52d"


def test_a_sweep_as_a_file(tmp_path):
    path = tmp_path / "fig5.toml"
    main(["fig5", "--quick", "--only", "report-noisy-max", "--toml", str(path)])
    spec = SweepSpec.from_file(path)
    assert spec == preset("fig5", quick=True, only=["report-noisy-max"])
    assert not (tmp_path / "store").exists()


def test_the_readme_names_all_that_can_be_made():
    folder = Path(presets.__file__).parents[1]
    text = (folder / "README.md").read_text()
    rows = re.findall(r"^\| (`.+?) \|", text, re.M)
    names = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    # Modules without a command are used by other modules.
    measured = {path.stem for path in folder.glob("*.py") if "__main__" in path.read_text()}
    assert names == {*PRESETS, *OTHERS, *measured, "loops", "peers", "speed"}
    assert all((folder / link).is_file() for link in re.findall(r"\]\((.+?)\)", text))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fig44"], "'fig44' is not known; choose from fig4, fig4-tight"),
        (["figures123", "--runs", "3"], "are for sweeps, but figures123 is none"),
        (["fig4", "fig5", "--out", "here"], "are for one NAME"),
        (["fig4", "--only", "z"], "fig4 has no part z"),
        (["fig4", "--runs", "0"], "runs must be"),
        (["figures123", "--out", __file__], "File exists"),
    ],
)
def test_bad_commands_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_figure_4(reproduce):
    folder = reproduce("fig4", "--only", "a,d", "--runs", "3")
    check_figure(folder, "fig4")
    rows = table_of(folder / "fig4.md")
    assert [(row["curve"], row["eps0"]) for row in rows] == [
        (letter, level) for letter in "ad" for level in ("0.2", "0.7", "1.5")
    ]
    store = Store.open(folder / "store")
    for row, entry in zip(rows, store.spec.entries, strict=True):
        # By their closed forms, both attain their level for the last of the ten pairs.
        assert float(row["exact best pair"]) == pytest.approx(float(row["eps0"]), abs=1e-3)
        bounds = sorted(store.columns()[entry.id]["lower_bound"])
        assert float(row["median LB"]) == pytest.approx(bounds[1], abs=1e-4)


@pytest.mark.slow
def test_figure_5(reproduce):
    folder = reproduce("fig5", "--only", "continuous-noisy-max", "--runs", "2")
    check_figure(folder, "fig5")
    (row,) = table_of(folder / "fig5.md")
    assert float(row["exact eps_x"]) == pytest.approx(0.75, abs=1e-4)
    assert row["pairs"] == "26"


@pytest.mark.slow
def test_figure_6(reproduce):
    folder = reproduce("fig6", "--quick", "--only", "exponential", "--runs", "2")
    check_figure(folder, "fig6")
    rows = table_of(folder / "fig6.md")
    assert [row["n"] for row in rows] == ["5000", "50000"] * 2
    assert all(float(row["mean squared error"]) < 0.5 for row in rows)


@pytest.mark.slow
def test_table_2(reproduce):
    (row,) = table_of(reproduce("table2", "--only", "a", "--runs", "3") / "table2.md")
    assert (row["mechanism"], row["paper, s"]) == ("laplace", "10.9")
    assert float(row["ratio"]) == pytest.approx(10.9 / float(row["dpjax, s"]), rel=0.02)


@pytest.mark.slow
def test_histogram_tables(reproduce):
    tables = json.loads((reproduce("histogram-tables", "--quick") / "tables.json").read_text())
    assert tables["table_1"][2]["epsilon"] == 1.0
    assert tables["table_2"]["num_pairs"] == 4095
    assert len(tables["table_2"]["rows"]) == 18
    # The values printed in the paper.
    assert [row["m"] for row in tables["table_5"]] == [3, 6, 10, 20, 41, 81, 195, 389]
    assert {row["m"] for row in tables["table_3"]} >= {6, 12}
    assert all(0.2 < row["ratio"] < 5 for row in tables["table_3"] + tables["table_5"])


@pytest.mark.slow
def test_histogram_figures(reproduce):
    folder = reproduce("histogram-figures", "--quick")
    files = {path.name: path.stat().st_size for path in folder.glob("*.png")}
    assert set(files) == {f"figure_{number}.png" for number in (2, 3, 4, 6, 7)}
    assert min(files.values()) > 5_000


def test_a_practical_n_that_is_known_is_not_computed_again(tmp_path):
    known = {row.label: 2 * row.printed for row in practical.PRACTICAL}
    (tmp_path / "practical-100.json").write_text(json.dumps(known))
    rows = practical.table_of_n("table5", tmp_path, quick=True)
    assert [row["ratio"] for row in rows] == [2.0] * 8


def test_no_practical_n_at_all_is_an_error():
    hopeless = practical.PRACTICAL[0]._replace(precision=1e-9)
    with pytest.raises(ValueError, match="no n up to 224 is enough"):
        practical.enough(hopeless, 10, coarse=True)


def test_counts_from_the_law_are_multinomial():
    """The sums of 1000 runs of 400 draws in 3 intervals agree with the distribution, p >= 1e-5."""
    row = practical.PracticalSize("table3", 1.0, 1.0, 3, 400)
    counts = practical.law_counts(row, 400, 1000)
    assert counts.shape == (1000, 2, 3) and np.all(counts.sum(axis=-1) == 400)
    assert np.array_equal(counts[:5], practical.law_counts(row, 400, 5))
    # P(interval) in closed form: the density at 0 is e^-y / (1 - e^-1).
    edges = np.linspace(0, 1, 4)
    cdf = -np.expm1(-edges) / -np.expm1(-1)
    for side, probabilities in ((0, np.diff(cdf)), (1, np.diff(cdf)[::-1])):
        total = counts[:, side].sum(axis=0)
        assert chisquare(total, probabilities * total.sum()).pvalue > 1e-5
    # Runs are independent: their variance is the binomial one, up to five standard errors.
    p = np.diff(cdf)[0]
    spread = counts[:, 0, 0].var() / (400 * p * (1 - p))
    assert abs(spread - 1) < 5 * np.sqrt(2 / 1000)


@pytest.mark.slow
def test_impossibility(reproduce, capsys):
    told = json.loads((reproduce("impossibility", "--quick") / "impossibility.json").read_text())
    rows = {(row["estimator"], row["mechanism"]): row for row in told["rows"]}
    assert len(rows) == len(told["rows"]) == 10
    for (_, mechanism), row in rows.items():
        if mechanism != "two points, not rare":
            truth = float("inf") if row["truth"] is None else row["truth"]
            assert all(answer is None or answer < truth / 2 for answer in row["answers"])
    assert "cannot rule out" in told["blind_spot"]
    assert told["blind_spot"] in capsys.readouterr().out


@pytest.mark.slow
def test_empirical(reproduce, capsys):
    folder = reproduce("empirical", "--quick")
    assert capsys.readouterr().err == f"wrote {folder}\n"
    summary = json.loads((folder / "empirical.json").read_text())
    assert summary["generated"]["databases"] == 41
    assert summary["generated"]["individuals"] == 60
    assert 0 < summary["generated"]["epsilon_at_zero"] < np.inf
    kinds = {"generated-curves.png", "generated-densities.png", "generated-noise.png"}
    assert kinds < {path.name for path in folder.iterdir()}
    if "grunfeld" in summary:
        assert summary["grunfeld"]["individuals"] == 11
        assert "look dependent" in summary["grunfeld"]["independence"][0]
