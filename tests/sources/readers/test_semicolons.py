"""Csv files in which semicolons separate the fields, and numbers have decimal commas."""

import numpy as np
import pytest

import dpjax
from dpjax.core.semicolons import has_semicolons
from dpjax.empirical import panel_from_table
from dpjax.sources.readers import Recording, read_samples


def drawn(number):
    return np.random.default_rng(0).laplace(size=number)


def written(number):
    return repr(float(number)).replace(".", ",")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", [40_000, 3])
@pytest.mark.parametrize("header", ["", "u;v;n\n", "\ufeffu;v;n\n"])
def test_decimal_commas_are_read(tmp_path, number, header):
    values = drawn(number)
    lines = [f"{written(v)};{written(-v)};{n}\r\n" for n, v in enumerate(values.tolist())]
    (tmp_path / "x.csv").write_text(header + "".join(lines))
    for column, expected in ((0, values), (1, -values), (2, np.arange(number))):
        np.testing.assert_array_equal(read_samples(tmp_path / "x.csv", column), expected)
    found = read_samples(tmp_path / "x.csv", ["u", "v"] if header else [0, 1])
    np.testing.assert_array_equal(found, np.stack([values, -values], 1))


def test_labels_beside_decimal_commas_name_the_database(tmp_path):
    values = drawn(200)
    lines = [f"{'ab'[n % 2]};{written(v)}\n" for n, v in enumerate(values)]
    (tmp_path / "x.csv").write_text("side;answer\n" + "".join(lines))
    found = dpjax.Recorded.from_file(tmp_path / "x.csv", "side")
    np.testing.assert_array_equal(np.concatenate([*found.y.chunks()]), values[1::2])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0,5;1\n2;3\n", True),
        ("a;b\n0,5;1\n", True),
        ("a;b\n0,5;-1,5e-3\n", True),
        ("a;b\n0,5;x\n", True),
        ('a;b\n"0,5";x\n', True),
        ("0,5\n1,5\n", False),  # These may be vectors.
        ("0.5;1\n2;3\n", False),
        ("1;2\n3;4\n", False),
        ("x;y,z\n1;2,3\n", False),
        ("a;b\n0,5;x,y\n", False),
        ("a;b\n0,5;1\n0,5\n", False),
        ("a;b\n0,5;1\nx;1\n", False),
        ("a;b\n", False),
        ("", False),
        ("x" * 200_000 + ";0,5\n", False),
    ],
)
def test_only_clear_cases_are_recognized(text, expected):
    assert has_semicolons(text.splitlines(keepends=True)) is expected


def test_points_beside_decimal_commas_are_refused(tmp_path):
    rows = "".join(f"{n};0,5\n" for n in range(300)) + "7;1.234\n"
    (tmp_path / "x.csv").write_text("a;b\n" + rows)
    with pytest.raises(ValueError, match=r"x\.csv has '1\.234' in line 302, but other numbers"):
        list(Recording(tmp_path / "x.csv", "b").chunks())
    (tmp_path / "x.csv").write_text("a;b\n" + rows.replace("1.234", "1.234,5"))
    with pytest.raises(ValueError, match=r"'1\.234,5' in row 302 is not a number"):
        list(Recording(tmp_path / "x.csv", "b").chunks())
    (tmp_path / "p.csv").write_text("database;individual\n" + rows)
    with pytest.raises(ValueError, match=r"has '1\.234' in line 302"):
        panel_from_table(tmp_path / "p.csv")


def test_panels_may_have_decimal_commas(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("database;individual;v\n2020;ann;0,5\n2020;bob;1,5\n2021;ann;-3\n")
    panel = panel_from_table(path)
    assert panel.databases == (2020, 2021) and panel.individuals == ("ann", "bob")
    assert panel.column("v").tolist() == [0.5, 1.5, -3]
    path.write_text("database;individual;v\n2020;ann;0.5\n")
    with pytest.raises(ValueError, match="are separated by ';': separate fields by commas"):
        panel_from_table(path)


def test_a_column_among_names_with_another_delimiter_is_explained(tmp_path):
    (tmp_path / "x.csv").write_text("id;my ans\n1;0.5\n2;0.7\n")
    with pytest.raises(
        ValueError, match=r"no column 'my ans', but 'id;my ans', .* separated by ';'"
    ):
        read_samples(tmp_path / "x.csv", "my ans")
    with pytest.raises(ValueError, match="no column 'ans'; did you mean"):
        read_samples(tmp_path / "x.csv", "ans")
