"""Columns of numbers with decimal commas, separated thousands or the minus sign of typography."""

import re

import numpy as np
import pytest

from dpjax.sources.readers import read_samples

VALUES = np.random.default_rng(0).laplace(size=50)


def message(path, entries, name=None, column=None):
    quote = '"' if path.suffix == ".csv" else ""
    lines = [*([] if name is None else [name]), *(f"{quote}{entry}{quote}" for entry in entries)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ValueError) as caught:
        read_samples(path, column)
    return str(caught.value)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt"])
@pytest.mark.parametrize("digits", [1, 3, 6])
@pytest.mark.parametrize(("name", "column"), [(None, None), ("answer", None), ("answer", "answer")])
def test_decimal_commas_below_a_name(tmp_path, suffix, digits, name, column):
    """The name used to be a label, and so did the numbers, if no column was chosen."""
    entries = [f"{value:.{digits}f}".replace(".", ",") for value in VALUES]
    said = message(tmp_path / f"x{suffix}", entries, name, column)
    # With three digits, a comma may separate thousands, except after a zero.
    clear = next(entry for entry in entries if digits != 3 or entry.lstrip("-").startswith("0"))
    row = entries.index(clear) + 1 + (name is not None)
    assert f"{clear!r} in row {row}, but decimal commas are not supported: write " in said


@pytest.mark.parametrize("name", [None, "count"])
@pytest.mark.parametrize("start", [100_000, 1_000, 997])
def test_a_comma_may_separate_thousands(tmp_path, start, name):
    """The advice used to be to write 1.001 in place of 1,001."""
    entries = [f"{number:,}" for number in range(start, start + 5)]
    said = message(tmp_path / "x.csv", entries, name, name)
    first = next(entry for entry in entries if "," in entry)
    row = entries.index(first) + 1 + (name is not None)
    assert f"has {first!r} in row {row}, but commas in numbers are not supported" in said
    assert f"write {first.replace(',', '')} if the comma separates thousands" in said
    assert f"and {first.replace(',', '.')} if it is a decimal comma" in said


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (["12.5", "1,012.5"], "'1,012.5' in row 2, but separators of thousands .* write 1012.5"),
        (["1,012.5", "12.5"], "'1,012.5' in row 1, but separators of thousands .* write 1012.5"),
        (["7", "-1,234,567"], "'-1,234,567' in row 2, but separators .* write -1234567"),
        (["1.5", "\u22122.5"], "'\u22122.5' in row 2, whose minus sign .* write -2.5"),
        (["\u22122.5", "1.5"], "'\u22122.5' in row 1, whose minus sign .* write -2.5"),
        (["1,5", "2"], "'1,5' in row 1, but decimal commas are not supported: write 1.5"),
    ],
)
def test_some_numbers_are_written_in_another_way(tmp_path, entries, said):
    path = tmp_path / "x.csv"
    path.write_text("".join(f'"{entry}"\n' for entry in entries), encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        read_samples(path)


def test_labels_with_commas_are_labels(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('"a,5"\n"1,5"\n"b"\n')
    assert read_samples(path).tolist() == ["a,5", "1,5", "b"]


@pytest.mark.parametrize("text", ["NA", "NULL", "None", "-", "#N/A", r"\N"])
def test_a_missing_output_in_row_1_is_no_name(tmp_path, text):
    """The row used to be left out, as the name of the column."""
    path = tmp_path / "x.csv"
    path.write_text(f"{text}\n1.5\n2.5\n")
    for column in (None, 0):
        with pytest.raises(ValueError, match=f"{re.escape(repr(text))} in row 1 above numbers: "):
            read_samples(path, column)
    # A name that was chosen is a name.
    assert read_samples(path, text).tolist() == [1.5, 2.5]
