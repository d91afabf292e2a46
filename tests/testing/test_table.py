"""The table of all audits of a run."""

import pytest

from dpjax.testing._table import table


def row(**changes):
    plain = {"test": "a/b/test_x.py::test_y", "mechanism": "release", "claim": 1.0, "draws": 1e6}
    plain |= {"notion": "epsilon", "delta": 0.0}
    plain |= {"lower_bound": 0.5, "detectable": 1.1, "seconds": 8.8, "verdict": "violated"}
    return {**plain, "fewest": False, **changes}


def test_a_budget_that_was_too_small_is_named():
    rows = [row(fewest=True)] * 4 + [row()]
    assert list(table(rows, 3.0))[-1] == (
        "budget 3 s, spent 44 s: 4 of 5 audits had only the minimum number of draws"
    )
    for lines in (table(rows, None), table([row()], 3.0)):
        assert not any("budget" in line for line in lines)


def test_tests_that_took_a_share_and_made_no_audit_are_named():
    rows = [row()] * 2
    assert list(table(rows, 50.0, 3))[-1] == (
        "budget 50 s, spent 17.6 s: 3 new tests got a share but ran no audit; they get "
        "none in the next run"
    )
    # If most of the time was spent, there is no message.
    for lines in (table(rows, 35.0, 3), table(rows, 50.0), table(rows, None, 3)):
        assert not any("budget" in line for line in lines)


def test_tests_are_shortened_to_their_ends():
    long = "deep/test_mechanisms.py::TestReleases::test_of_the_count[scale-1.25]"
    lines = list(table([row(test=long), row(test=long), row()], None))
    assert lines[1].startswith("..._of_the_count[scale-1.25] #1 release")
    assert lines[2].startswith("..._of_the_count[scale-1.25] #2 release")
    assert lines[3].startswith("test_x.py::test_y ") and len(lines[1].split(" release ")[0]) == 31
    assert all(len(line) <= 100 for line in lines)


@pytest.mark.parametrize(
    ("changes", "claim", "draws"),
    [
        ({}, "epsilon 1", "1M"),
        ({"delta": 1e-5, "draws": 123_456.0}, "(1, 1e-05)", "123k"),
        ({"notion": "renyi:8", "claim": 0.25, "draws": 2.4e9}, "renyi:8 0.25", "2.4G"),
        ({"notion": "total-variation", "claim": 0.3, "draws": 999.0}, "TV 0.3", "999"),
        ({"notion": "profile", "claim": [[0.0, 0.1]]}, "profile curve", "1M"),
        ({"notion": "gdp", "claim": None, "detectable": None}, "gdp", "1M"),
    ],
)
def test_the_notion_is_shown(changes, claim, draws):
    head, line, *_ = table([row(**changes)], None)
    assert head.split() == "test mechanism claim bound detectable draws s verdict".split()
    assert line[44:57].strip() == claim and line[77:82].strip() == draws
    assert line[57:65].strip() == "0.5000" and line.endswith(" violated")


def test_the_widest_row_has_100_columns():
    numbers = {"lower_bound": 12.3456, "detectable": 1.2345e-5, "seconds": 123.456}
    texts = {"mechanism": "m" * 40, "notion": "trade-off", "verdict": "not refuted"}
    wide = row(test="t" * 99, claim=[[0.0, 1.0]], **numbers, **texts)
    lines = [*table([wide] * 200, 1e4, 3)]
    assert max(map(len, lines)) == 100


def test_audits_of_one_test_are_numbered():
    lines = list(table([row(), row(test="test_x.py::test_z"), row()], None))[1:4]
    assert [line.split(" release ")[0].strip() for line in lines] == [
        "test_x.py::test_y #1", "test_x.py::test_z", "test_x.py::test_y #2",
    ]  # fmt: skip
