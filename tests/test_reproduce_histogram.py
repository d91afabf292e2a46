"""`dpjax reproduce` of the histogram paper, in small."""

import json
import sys

import pytest

from dpjax.cli import _app


@pytest.fixture
def reproduce(monkeypatch, tmp_path):
    """(name) -> the folder that the quick variant wrote."""
    monkeypatch.setenv("DPJAX_CACHE_DIR", "")

    def call(name):
        command = ["dpjax", "reproduce", name, "--quick", "--out", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            _app.run()
        assert not ended.value.code
        return tmp_path

    return call


def test_tables(reproduce):
    tables = json.loads((reproduce("histogram-tables") / "tables.json").read_text())
    assert tables["table_1"][2]["epsilon"] == 1.0
    assert tables["table_2"]["num_pairs"] == 4095
    # As printed.
    assert [row["m"] for row in tables["table_5"]] == [3, 6, 10, 20, 41, 81, 195, 389]
    assert {row["m"] for row in tables["table_3"]} >= {6, 12}
    assert all(0.2 < row["ratio"] < 5 for row in tables["table_3"] + tables["table_5"])


def test_figures(reproduce):
    folder = reproduce("histogram-figures")
    files = {path.name: path.stat().st_size for path in folder.glob("*.png")}
    assert set(files) == {f"figure_{number}.png" for number in (2, 3, 4, 6, 7)}
    assert min(files.values()) > 5_000


# Nearly all of its time is compilation.
@pytest.mark.slow
def test_impossibility(reproduce, capsys):
    told = json.loads((reproduce("impossibility") / "impossibility.json").read_text())
    rows = {(row["estimator"], row["mechanism"]): row for row in told["rows"]}
    assert len(rows) == len(told["rows"]) == 8
    for (_, mechanism), row in rows.items():
        if mechanism != "two points, not rare":
            truth = float("inf") if row["truth"] is None else row["truth"]
            assert all(answer is None or answer < truth / 2 for answer in row["answers"])
    assert "cannot rule out" in told["blind_spot"]
    assert told["blind_spot"] in capsys.readouterr().out
