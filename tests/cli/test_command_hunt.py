"""`dpjax hunt`: which releases are tried, and the table."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpjax.hunting import Environment, hunt, read_case

COINS = """
package, claim, pairs, draws = "nothing", 0.1, [(0, 1)], 300


def draw(value):
    import random

    return int(random.random() < (0.1, 0.9)[value])
"""


@pytest.fixture
def case(tmp_path):
    path = tmp_path / "coins.py"
    path.write_text(COINS)
    return path


def test_records_are_read_and_a_table_is_written(case, tmp_path, run):
    here = [Environment("nothing==1.0", Path(sys.executable))]
    (found,) = hunt([read_case(case)], lambda case: here, tmp_path / "draws", seconds=60.0)
    table, options = tmp_path / "found.md", ["--cases", case, "--folder", tmp_path]
    done = run("hunt", "--again", *options, "--table", table)
    # The level is 2.2; 200 fresh draws a side show 0.1 but with a chance below 1e-12.
    bound = found.result.lower_bound
    assert done.exit_code == 1 and f"VIOLATED: epsilon at least {bound:.3f}" in done.output
    head, _, row = table.read_text().splitlines()
    assert head.startswith("| release | case | claim")
    assert row.startswith(f"| nothing==1.0 | coins | 0.1 | {bound:.2f} | violated | pair 0 |")


def test_releases_are_named_or_those_of_the_case(case, refused):
    assert "no release of nothing is named" in refused("hunt", "--cases", case)
    assert "no release of nothing is named" in refused("hunt", "other==1.0", "--cases", case)
    said = refused("hunt", "nothing==1.0", "--again", "--cases", case)
    assert said.startswith("error: --again audits recorded draws of every release")
    case.write_text(COINS + "\nreleases = '1.0'\n")
    assert "releases in" in refused("hunt", "--cases", case)


def test_every_verdict_has_its_exit_code_and_labels_are_harmless(case, tmp_path, run, monkeypatch):
    """A doubtful release is no pass, and a label of a record moves no cursor and adds no row."""
    from dpjax import hunting

    def caught(verdict, label="pair 0"):
        row = {"release": "x==1", "case": "coins", "claim": 0.1, "delta": 0.0, "bound": 0.2,
               "verdict": verdict, "pair": label, "seconds": 1.0, "reported": "",
               "documented": False}  # fmt: skip
        return SimpleNamespace(row=row, result=None, spec="x==1", case=SimpleNamespace(title="c"))

    table, options = tmp_path / "found.md", ["--cases", case, "--again"]
    for verdicts, code in (
        (["not refuted"], 0),
        (["not refuted", "violated"], 1),
        (["doubtful", "not refuted"], 2),
        (["violated", "ValueError('no')"], 2),
        ([], 0),
    ):
        found = [caught(verdict) for verdict in verdicts]
        monkeypatch.setattr(hunting, "hunt", lambda *a, found=found, **k: found)
        assert run("hunt", *options).exit_code == code
    label = "\x1b[2J|\n| y==2 | "
    monkeypatch.setattr(hunting, "hunt", lambda *a, **k: [caught("violated", label)])
    done = run("hunt", *options, "--table", table)
    assert "\x1b[2J" not in done.output and "\n| y" not in done.output
    assert len(table.read_text().splitlines()) == 3 and "\x1b" not in table.read_text()
