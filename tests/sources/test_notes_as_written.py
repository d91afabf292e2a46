"""Notes on recordings whose sides are written differently, and on numbers in strings."""

import json

import numpy as np
import pytest

import dpjax
from dpjax.sources._as_written import notes_as_written

NAMES = ("x", "y")


def laplace(side, number=300):
    return np.random.default_rng(side).laplace(size=number)


def rounded(values, digits):
    return np.array([float(f"{value:.{digits}g}") for value in values])


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        (np.round(laplace(0), 2), laplace(1), "of x have at most 2 decimals, but 100%"),
        (laplace(0), np.round(laplace(1), 3), "of y have at most 3 decimals, but 100%"),
        (np.rint(3 * laplace(0)).astype(int), laplace(1), "of x have at most 0 decimals"),
        (rounded(1e-9 * laplace(0), 6), 1e-9 * laplace(1), "of x have at most 6 significant"),
        (np.round(laplace(0), 2).astype(np.float32), laplace(1), "of x have at most 2 decimals"),
        (laplace(0).astype(np.float32), laplace(1), "of x have at most 9 significant digits"),
        (np.append(np.round(laplace(0), 2), [np.inf, np.nan]), laplace(1), "at most 2 decimals"),
    ],
)
def test_numbers_that_are_rounded_on_one_side(x, y, said):
    (note,) = notes_as_written(NAMES, (x, y))
    assert said in note
    assert "write both sides with all digits" in note


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (laplace(0), laplace(1)),
        (np.round(laplace(0), 2), np.round(laplace(1), 2)),
        (np.round(laplace(0), 2), np.round(laplace(1), 4)),
        (np.round(laplace(0, 19), 2), laplace(1)),
        (np.zeros(300), laplace(1)),
        (laplace(0) > 0, laplace(1)),
        (np.rint(laplace(0)), np.rint(laplace(1)).astype(int)),
        (np.where(laplace(2) > 0.5, laplace(0), 0.0), laplace(1)),
        (np.round(laplace(0), 2), np.where(laplace(2) > 0.5, laplace(0), 0.0)),
        (np.zeros(0), np.zeros(0)),
    ],
)
def test_numbers_that_are_written_alike(x, y):
    assert notes_as_written(NAMES, (x, y)) == []


def test_the_entry_of_a_vector_is_named():
    x, y = (np.stack([laplace(side), laplace(side + 2)], axis=1) for side in (0, 1))
    x[:, 1] = np.round(x[:, 1], 3)
    (note,) = notes_as_written(NAMES, (x, y))
    assert note.startswith("The examined numbers in entry 1 of x have at most 3 decimals")


@pytest.mark.parametrize(
    ("x", "y", "shown"),
    [
        (["True", "False"], ["true", "false"], "'False' and 'false'"),
        (["yes ", "no "], ["yes", "no"], "'no ' and 'no'"),
        (["yes", "no"], ['"yes"', '"no"'], "'no' and '\"no\"'"),
        (["A", "b", "c"], ["a", "B", "x"], "'A' and 'a'"),
    ],
)
def test_labels_that_differ_only_in_case_or_quotes(x, y, shown):
    for dtype in (None, object):
        raw = [np.tile(np.array(side, dtype), 50) for side in (x, y)]
        (note,) = notes_as_written(NAMES, raw)
        assert f"such as {shown}, so they count as different outcomes" in note
        # Rare labels may occur on both sides, such as the name of the column.
        with_name = [np.append(side, "vote") for side in raw]
        assert notes_as_written(NAMES, with_name) == [note]


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (["yes", "no"], ["yes", "no"]),
        (["yes", "no"], ["ja", "nein"]),
        (["yes", "no"], ["Yes", "no"]),
        (["a", "b", "c"], ["A", "x", "y"]),
        (["0", "1"], ["1", "2"]),
    ],
)
def test_labels_that_are_written_alike(x, y):
    assert notes_as_written(NAMES, [np.tile(side, 50) for side in (x, y)]) == []


@pytest.mark.parametrize("method", [dpjax.Events(), dpjax.Sequential()])
def test_numbers_in_strings_of_json_lines(tmp_path, method):
    sides = []
    for side, name in enumerate(NAMES):
        path = tmp_path / f"{name}.jsonl"
        counts = np.rint(5 * laplace(side, 400)).astype(int).tolist()
        path.write_text("".join(json.dumps({"count": str(count)}) + "\n" for count in counts))
        sides.append(dpjax.Recording(path))
    result = dpjax.audit(dpjax.Recorded(*sides), claim=1.0, method=method)
    (note,) = [note for note in result.notes if note.startswith("The outputs are strings, but")]
    assert "convert the strings to numbers" in note
    assert result.verdict == "not refuted"


@pytest.mark.parametrize("method", [dpjax.Events(), dpjax.Sequential()])
def test_results_have_the_note(method):
    recorded = dpjax.Recorded(np.rint(3 * laplace(0, 2000)), 3 * laplace(1, 2000))
    result = dpjax.audit(recorded, claim=1.0, method=method)
    assert "The examined numbers of x have at most 0 decimals" in str(result.notes)


def test_missing_values_that_are_spelled_differently():
    x, y = (np.tile(["yes", "no", gap], 50) for gap in ("NULL", "NA"))
    (note,) = notes_as_written(NAMES, (x, y))
    assert "'NULL' occurs only in x, and 'NA' only in y" in note
    assert notes_as_written(NAMES, (x, x)) == notes_as_written(NAMES, (x, x[x != "NULL"])) == []
