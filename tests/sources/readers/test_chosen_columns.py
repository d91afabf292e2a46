"""Several chosen columns of a file become vectors, in the requested order."""

import numpy as np
import pytest

from dpjax import Recording
from dpjax.sources.readers import _recording, read_samples
from dpjax.sources.readers._rows import beside_each_other

TABLE = np.random.default_rng(0).normal(size=(40, 3))


def saved(folder, kind):
    """Write the columns a, b and c of a table to a file of the given kind."""
    path = folder / f"x.{kind}"
    if kind == "npz":
        np.savez(path, **dict(zip("abc", TABLE.T, strict=True)))
    elif kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table(dict(zip("abc", TABLE.T, strict=True))), path, row_group_size=11)
    else:
        comma = "," if kind == "csv" else "\t"
        np.savetxt(path, TABLE, "%.17g", comma, header=comma.join("abc"), comments="")
    return path


@pytest.mark.parametrize("rows", [7, 2**18])
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "npz"])
def test_rows_have_the_columns_in_the_order_that_was_asked(tmp_path, monkeypatch, kind, rows):
    monkeypatch.setattr(_recording, "_ROWS", rows)
    path = saved(tmp_path, kind)
    for names in (("c", "a"), ["a", "b", "c"], ["b"]):
        read = read_samples(path, names)
        expected = TABLE[:, ["abc".index(name) for name in names]]
        np.testing.assert_array_equal(read, expected if len(names) > 1 else expected[:, 0])
        assert all(len(chunk) <= rows for chunk in Recording(path, names).chunks())
    if kind != "npz":
        np.testing.assert_array_equal(read_samples(path, [2, 0]), TABLE[:, [2, 0]])


@pytest.mark.parametrize("seed", range(5))
def test_chunks_of_columns_may_end_anywhere(seed):
    rng = np.random.default_rng(seed)
    ends = [np.sort(rng.integers(0, 41, rng.integers(0, 9))) for _ in range(3)]
    parts = [iter(np.split(column, end)) for column, end in zip(TABLE.T, ends, strict=True)]
    found = list(beside_each_other(parts, "abc"))
    np.testing.assert_array_equal(np.concatenate(found), TABLE)
    assert all(len(chunk) for chunk in found)
    assert list(beside_each_other([iter([]), iter([np.empty(0)])], "ab")) == []


@pytest.mark.parametrize("lengths", [(3, 4), (4, 3), (0, 1)])
@pytest.mark.parametrize("each", [1, 3])
def test_columns_of_different_lengths_are_refused(lengths, each):
    parts = [iter(np.array_split(np.arange(length), each)) for length in lengths]
    with pytest.raises(ValueError, match="the columns a, b differ in length"):
        list(beside_each_other(parts, "ab"))


@pytest.mark.parametrize("column", [np.array(["u", "v"]), np.zeros((2, 2)), np.array([b"u", b"v"])])
@pytest.mark.parametrize("place", [0, 1])
def test_only_columns_of_numbers_form_vectors(column, place):
    parts = [np.arange(2)]
    parts.insert(place, column)
    with pytest.raises(ValueError, match=f"column '{'ab'[place]}' does not hold numbers"):
        list(beside_each_other([iter([part]) for part in parts], "ab"))


@pytest.mark.parametrize("names", [[], ["a", "a"], ("a", "b", "a"), [0, "0"]])
def test_columns_are_named_once(tmp_path, names):
    with pytest.raises(ValueError, match="column must name one or more distinct columns"):
        Recording(saved(tmp_path, "csv"), names)


def test_each_column_has_an_origin(tmp_path):
    path = saved(tmp_path, "csv")
    device, inode = path.stat().st_dev, path.stat().st_ino
    for column, names in (("a", ["a"]), (0, ["0"]), (["a", 2], ["a", "2"]), (("a", 2), ["a", "2"]),
                          (None, [None])):  # fmt: skip
        expected = {(device, inode, name): str(path) for name in names}
        assert Recording(path, column).origins == expected


def test_a_repeated_name_is_refused(tmp_path):
    """The name could mean either column; an index means one of them."""
    (tmp_path / "x.csv").write_text("a,b,b\n1,2,3\n4,5,6\n")
    with pytest.raises(
        ValueError, match=r"has several columns named 'b': pass the index .* as 1, or"
    ):
        read_samples(tmp_path / "x.csv", "b")
    np.testing.assert_array_equal(read_samples(tmp_path / "x.csv", 2), [3, 6])
    np.testing.assert_array_equal(read_samples(tmp_path / "x.csv", "a"), [1, 4])
