"""Notes if the outputs of the two sides are in columns of different names."""

import numpy as np
import pandas as pd
import pytest

import dpjax
from dpjax.sources._held import names_of_entries


def recorded(tmp_path, of_x, of_y, column=None, column_y=None):
    rng = np.random.default_rng(0)
    sides = []
    for name, header, chosen in (("x", of_x, column), ("y", of_y, column_y or column)):
        lines = [header] if header else []
        width = of_y.count(",") + 1
        lines += [",".join(map(str, row)) for row in rng.laplace(size=(100, width))]
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(lines) + "\n")
        sides.append(dpjax.Recording(path, chosen))
    return dpjax.Recorded(*sides)


def noted(source, method):
    notes = dpjax.audit(source, claim=1.0, method=method).notes
    return [note for note in notes if note.startswith("A column of the outputs has the name")]


@pytest.mark.parametrize("method", [dpjax.Events(), dpjax.Sequential()])
@pytest.mark.parametrize(
    ("of_x", "of_y", "columns", "shown"),
    [
        ("answer,square", "square,answer", (0,), ("answer", "square")),
        ("answer,square", "square,answer", ([1, 0],), ("square", "answer")),
        ("answer", "latency", (), ("answer", "latency")),
        ("answer,b", "a,b", ("0",), ("answer", "a")),
    ],
)
def test_columns_of_different_names_have_a_note(tmp_path, of_x, of_y, columns, shown, method):
    (note,) = noted(recorded(tmp_path, of_x, of_y, *columns), method)
    assert f"has the name {shown[0]!r} in " in note and f"the name {shown[1]!r} in " in note


@pytest.mark.parametrize(
    ("of_x", "of_y", "columns"),
    [
        ("answer,square", "answer,square", (0,)),
        ("answer,square", "square,answer", ("answer",)),
        ("answer,square", "square,answer", ("answer", "square")),
        ("answer,square", "square,answer", (0, "answer")),
        ("answer,a", "answer,b", (0,)),
        ("", "answer", ()),
        ("", "answer,b", (0,)),
    ],
)
def test_other_columns_have_no_note(tmp_path, of_x, of_y, columns):
    assert noted(recorded(tmp_path, of_x, of_y, *columns), dpjax.Events()) == []


@pytest.mark.parametrize("method", [dpjax.Events(), dpjax.Sequential()], ids=["events", "order"])
@pytest.mark.parametrize("column", [None, ["answer", "time"]], ids=["all", "chosen"])
def test_witnesses_name_the_names_of_entries(tmp_path, method, column):
    rng = np.random.default_rng(3)
    for name, shift in (("x", 0.0), ("y", 5.0)):
        rows = np.stack([rng.random(2000), rng.laplace(shift, size=2000)], axis=1)
        np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",", header="time,answer", comments="")
    sides = [dpjax.Recording(tmp_path / f"{name}.csv", column) for name in "xy"]
    result = dpjax.audit(dpjax.Recorded(*sides), method=method)
    assert "entry 'answer' of at least" in result.witness.output


def test_witnesses_name_the_columns_of_frames():
    rng = np.random.default_rng(3)
    first, second = (
        pd.DataFrame({"time": rng.random(2000), "answer": rng.laplace(shift, size=2000)})
        for shift in (0.0, 5.0)
    )
    result = dpjax.audit(dpjax.Recorded(first, second))
    assert "with entry 'answer' " in result.witness.output


def test_columns_with_other_names_have_indices(tmp_path):
    for name, header in (("x", "time,answer"), ("y", "time,result"), ("z", "0,1")):
        (tmp_path / f"{name}.csv").write_text(f"{header}\n1.5,2.5\n")
    sides = [dpjax.Recording(tmp_path / f"{name}.csv") for name in "xyz"]
    assert names_of_entries(sides[0], sides[0]) == ("time", "answer")
    assert names_of_entries(sides[0], sides[1]) == names_of_entries(sides[2], sides[2]) == ()
    assert names_of_entries(sides[0], np.zeros((2, 2))) == ()
    one = dpjax.Recording(tmp_path / "x.csv", "answer")
    assert names_of_entries(one, one) == ()
    chosen = dpjax.Recording(tmp_path / "x.csv", ["1", "0"])
    assert names_of_entries(chosen, chosen) == ()
