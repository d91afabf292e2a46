"""Columns of nested outputs: rare numbers, labels compared by value, and tables."""

import json
from decimal import Decimal
from enum import Enum

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpjax
from dpjax.partitions import _columns, joined
from dpjax.partitions._columns import notes_of_ignored
from dpjax.partitions._columns_of_outputs import rows_of, table_of
from dpjax.partitions._nested import Nested, form_of
from dpjax.partitions.missing import as_array, as_columns
from dpjax.partitions.outputs import Encoder

METHOD = dpjax.Events(1000, 2000)


def encoded(*batches):
    encoder = Encoder("it")
    return encoder, [encoder.encode(list(batch)) for batch in batches]


def test_rare_numbers_have_columns_of_their_own():
    rows = [{"n": 1.5}] * 3 + [{"n": 2.5, "debug": 7}, {"other": [8, 9], "n": 3}, {"n": None}]
    encoder, (found,) = encoded(rows)
    assert encoder.parts == ("['n']", "['debug']", "['other'][0]", "['other'][1]")
    assert found.values.tolist() == [[1.5, 0, 0, 0]] * 3 + [
        [2.5, 7, 0, 0], [3, 0, 8, 9], [0] * 4,
    ]  # fmt: skip
    assert found.alone.tolist() == [False] * 5 + [True]
    assert [encoder.names[label] for label in found.labels] == ["a number"] * 3 + [
        "{'debug': number, 'n': number}", "{'n': number, 'other': (number, number)}", "{'n': None}",
    ]  # fmt: skip
    (note,) = encoder.columns.notes()
    assert note.endswith("['n'], ['debug'], ['other'][0], ['other'][1]. A number that an output "
                         "lacks is 0.")  # fmt: skip


def test_a_missing_number_keeps_the_others():
    encoder, (found,) = encoded([{"a": 1.0, "b": 2.0}] * 2 + [{"a": None, "b": 3.0}])
    assert found.values.tolist() == [[1, 2]] * 2 + [[0, 3]] and not found.alone.any()
    assert encoder.parts == ("['a']", "['b']")


def ignored(encoder):
    (note,) = notes_of_ignored([Encoder("other").columns, encoder.columns])
    return note


def test_each_batch_adds_columns():
    encoder, batches = encoded(
        [{"n": 1.5}],
        ["a", (2.5,)],
        [{"n": 1.0, "m": 4.0}, {"n": 2.0}],
        [{"k": 3.0, "n": 2.0}, 3.5],
        np.array([4.5]),
    )
    assert encoder.dimension == 3 and encoder.parts == ("['n']", "['m']", "['k']")
    assert [batch.values.shape[1] for batch in batches] == [1, 1, 2, 3, 3]
    whole = joined(encoder.fixed(batches))
    assert whole.values.tolist() == [
        [1.5, 0, 0], [0, 0, 0], [2.5, 0, 0], [1, 4, 0], [2, 0, 0], [2, 0, 3], [3.5, 0, 0],
        [4.5, 0, 0],
    ]  # fmt: skip
    assert whole.alone.tolist() == [False, True] + [False] * 6


def test_numbers_and_vectors_beside_nested_outputs_may_have_another_length():
    encoder, (_, later, alike) = encoded(
        [{"n": 1.5, "m": 4.0}], [-1, (1.0, 2.0), (1.0, 2.0, 3.0), {"n": 1.0, "m": 2.0}], [5]
    )
    assert encoder.parts == ("['m']", "['n']", "[0]", "[1]", "[2]", "a number")
    whole = encoder.padded(joined([later, alike]))
    assert whole.values.tolist() == [
        [0, 0, 0, 0, 0, -1], [1, 2, 0, 0, 0, 0], [0, 0, 1, 2, 3, 0], [2, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 5],
    ]  # fmt: skip
    assert [encoder.names[label] for label in whole.labels] == [
        "a number without a structure", "2 numbers without a structure",
        "3 numbers without a structure", "a number", "a number without a structure",
    ]  # fmt: skip
    encoder.columns.closed = True
    (last,) = encoder.encode(np.ones((1, 4))).values.tolist()
    assert last == [0, 0, 1, 1, 1, 0] and "[3] were" in ignored(encoder)


@pytest.mark.parametrize("first", [{"n": np.nan}, np.nan, {"n": np.nan, "m": 1.0}, {"m": np.nan}])
def test_what_is_not_finite_has_the_same_label_before_and_after_columns_are_added(first):
    more = {"n": 1.0, "k": 2.0, "l": np.inf}
    encoder, batches = encoded([{"n": 1.0}], [first], [more, {"v": [1.0, 2.0]}], [first])
    _, before, _, after = map(encoder.padded, batches)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    encoder, batches = encoded([1.0], [first], [more], [first])
    _, before, _, after = map(encoder.padded, batches)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_state_of_an_encoder_is_stored_without_the_numbers_of_an_output():
    encoder, _ = encoded([{"n": np.nan}, {"n": 1.0, "m": 2.0}])
    again = Encoder("it")
    again.restore(json.loads(json.dumps(encoder.to_plain(), allow_nan=False)))
    assert again.to_plain() == encoder.to_plain() and again.parts == encoder.parts
    rows = [{"n": 3.0}, {"n": np.nan}, {"m": 2.0, "n": 4.0}]
    for one, other in zip(again.encode(rows), encoder.encode(rows), strict=True):
        np.testing.assert_array_equal(one, other)


def test_large_integers_beside_nested_outputs_are_labels():
    encoder, (_, one) = encoded([{"n": 1.5}], [2**60])
    for raw in (np.array([2**60]), np.array([[2**60]])):
        assert encoder.encode(raw).labels.tolist() == one.labels.tolist()
        assert encoder.encode(raw).alone.all()


def test_no_columns_are_added_once_they_are_fixed():
    encoder = Encoder("it")
    encoder.fixed([encoder.encode([{"n": 1.5}, {"n": 1.0, "m": 4.0}])])
    later = encoder.encode(
        [{"n": 2.0, "k": 5.0}, {"k": 5.0, "m": 3.0}, {"k": 1, "l": 2}, np.float64(7)],
    )
    assert later.values.tolist() == [[2, 0], [0, 3], [0, 0], [7, 0]]
    assert later.alone.tolist() == [False, False, True, False]
    assert ignored(encoder).startswith(
        "The numbers at ['k'], ['l'] were not compared, because the first"
    )
    assert len({*later.labels.tolist()}) == 4


def test_vectors_beside_nested_outputs():
    encoder, (first, later) = encoded(
        [(1.0, 2.0), (3.0, "a"), {"x": 1, "y": 2}, (4.0, 5.0, 6.0, "b")], [(7.0, 8.0)]
    )
    # Numbers of a structure as wide as the vectors share the columns of the vectors.
    expected = [[1, 2, 0], [3, 0, 0], [1, 2, 0], [4, 5, 6]]
    assert first.values.tolist() == expected and later.values.tolist() == [[7, 8, 0]]
    assert encoder.encode(np.array([[1.0, 2.0]])).values.tolist() == expected[:1]
    assert encoder.parts == ("[0]", "[1]", "[2]")


def test_so_many_columns_are_added(monkeypatch):
    monkeypatch.setattr(_columns, "_MOST_EXTRA", 2)
    rows = [{"v": [1.0]}] * 3 + [{"v": [1.0, 2.0]}] * 2 + [{"v": [1.0, 2.0, 3.0, 4.0]}]
    encoder, (found,) = encoded(rows)
    assert found.values.tolist() == [[1, 0, 0]] * 3 + [[1, 2, 0]] * 2 + [[1, 2, 3]]
    assert "The numbers at ['v'][3] were not compared" in ignored(encoder)


def test_recordings_say_which_numbers_were_ignored(monkeypatch):
    monkeypatch.setattr(_columns, "_MOST_EXTRA", 0)
    draws = np.random.default_rng(1).laplace(size=(2, 3000)).tolist()
    sides = [[{"n": x, "debug": 1.0} if x > 1 else {"n": x} for x in side] for side in draws]
    result = dpjax.audit(dpjax.Recorded(*sides))
    assert sum("The numbers at ['debug'] were not compared" in note for note in result.notes) == 1


@pytest.mark.parametrize("fix", [True, False])
def test_columns_are_stored_and_restored(fix):
    encoder, found = encoded([{"n": 1.5}, {"n": 1.5}, {"n": 2.5, "m": "a", "k": 3}])
    if fix:
        encoder.fixed(found)
    other = Encoder("it")
    other.restore(encoder.to_plain())
    rows = [{"n": 1.5}, {"n": 2.5, "m": "a", "k": 3}, {"k": 4, "l": 5, "o": 6}, 3.0]
    for one, two in zip(encoder.encode(rows), other.encode(rows), strict=True):
        np.testing.assert_array_equal(one, two)
    assert other.names == encoder.names and other.parts == encoder.parts
    named, _ = encoded([{Decimal(1): 2.0}])
    assert named.to_plain() is None


class Color(Enum):
    RED = 1
    BLUE = 2


class Hidden:
    """A label whose text does not contain its value."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Hidden) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return "Hidden()"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (frozenset([0, 8]), frozenset([8, 0])),
        (Decimal("2.50000000000000000001"), Decimal("2.500000000000000000010")),
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
        (Color.RED, Color(1)),
        (Hidden(1), Hidden(1)),
    ],
)
def test_equal_labels_are_one_label(one, other):
    """Their texts may differ, because the order of a set's elements depends on its history."""
    encoder, (found,) = encoded(
        [{"a": one, "n": 1.0}, {"a": other, "n": 2.0}, [[one]], [[other]], {one: 1.0}, {other: 3}]
    )
    labels = found.labels.tolist()
    assert labels[0] == labels[1] and labels[2] == labels[3] and labels[4] == labels[5]
    assert len({*labels}) == 3 and len(encoder.names) == 1 + 2 + (labels[4] > 0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Hidden(0), Hidden(1)), (Color.RED, Color.BLUE), (True, "True"), ("1", b"1"),
        (Decimal("2.5"), "Decimal('2.5')"), (frozenset([1]), frozenset([2])), (None, "None"),
        (2**60, 2**60 + 1), ("\ue0000\ue000", frozenset()),
    ],
)  # fmt: skip
def test_different_labels_are_different(one, other):
    for form in (lambda v: {"a": v}, lambda v: [[v], "x"], lambda v: {"n": 1.0, "s": "ok", "a": v}):
        _, (found,) = encoded([form(one), form(other)])
        assert found.labels[0] != found.labels[1] or found.values[0] != found.values[1]


class Opaque:
    def __init__(self, value):
        self.value = value


def test_objects_that_have_to_be_run_are_refused_with_advice():
    async def later():
        return 1.0

    coroutine = later()
    with pytest.raises(ValueError, match=r"coroutine .*a function that returns asyncio\.run"):
        encoded([coroutine])
    coroutine.close()
    with pytest.raises(ValueError, match=r"generator .*its contents, as a list"):
        encoded([(x for x in [1.0])])


@pytest.mark.parametrize("make", [Opaque, lambda v: map(abs, [v]), lambda v: lambda: v])
def test_objects_that_equal_only_themselves_are_refused(make):
    for form in (lambda v: v, lambda v: {"a": v, "n": 1.0}, lambda v: ("a", [v]), lambda v: {v: 1}):
        with pytest.raises(ValueError, match="equals only itself: return its contents"):
            encoded([form(make(1))])


def test_labels_beside_labels_that_are_compared_by_value():
    _, (found,) = encoded([{"a": frozenset(), "b": text} for text in "xyx"])
    first, second, third = found.labels.tolist()
    assert first == third != second


def test_keys_of_numpy_are_keys_of_python():
    encoder, (found,) = encoded([{1: 2.0}, {np.int64(1): 3.0}, {True: 4.0}, {"1": 5.0}])
    assert encoder.parts == ("[1]",) and len({*found.labels.tolist()}) == 3
    assert found.labels[0] == found.labels[1] == 0


@pytest.mark.parametrize(
    "output", [[{"status": "yes"}], [["yes"], ["b"]], ({}, "a"), [[None]], ("a", ["b"])]
)
def test_nested_outputs_without_numbers_are_labels(output):
    assert isinstance(form_of(output), Nested)
    _, (found,) = encoded([output, output, [[1.5]], output])
    assert found.alone.tolist() == [True, True, False, True]


# Tables that a function returns.


def rng_of(seed):
    return np.random.default_rng(seed)


def names(kind):
    def draw(database, n, seed):
        return kind({"yes" if database else "no": rng_of(seed).laplace(0, 5, n)})

    return draw


def large(database, n, seed):
    ids = 2 * rng_of(seed).integers(0, 2, n) + 2**60 + database
    return pd.DataFrame({"id": ids, "score": rng_of(seed).laplace(0, 5, n)})


@pytest.mark.parametrize("draw", [names(pd.DataFrame), names(pa.table), large])
def test_names_and_large_integers_of_tables_are_compared(draw):
    result = dpjax.audit(dpjax.HostMechanism(draw), [(0, 1)], claim=1.0, method=METHOD, key=1)
    assert result.lower_bound > 5


def test_the_order_of_columns_is_not_compared():
    def draw(database, n, seed):
        table = pd.DataFrame(
            {"a": rng_of(seed).laplace(100, 5, n), "b": rng_of(seed).laplace(size=n)}
        )
        return table[["b", "a"]] if database else table

    result = dpjax.audit(dpjax.HostMechanism(draw), [(0, 1)], claim=1.0, method=METHOD, key=1)
    assert result.lower_bound == 0


def test_columns_of_tables():
    frame = pd.DataFrame({"a": [1, 2**60 + 1], "b": [0.5, None], "c": ["x", None]})
    assert as_columns(frame)["a"].tolist() == [1, 2**60 + 1]
    assert np.isnan(as_columns(frame)["b"][1]) and as_columns(frame)["c"][0] == "x"
    assert as_columns(pa.table({"a": [1, None]})) == {"a": [1, None]}
    assert as_columns(frame.convert_dtypes())["b"] == [0.5, pd.NA]
    for other in (
        pd.DataFrame(np.eye(2)),
        frame["a"],
        np.eye(2),
        [1, 2],
        {"a": [1]},
        pa.array([1]),
    ):
        assert as_columns(other) is None
    with pytest.raises(ValueError, match="different column names, but 'a' is repeated"):
        as_columns(pd.DataFrame(np.eye(2), columns=["a", "a"]))


@pytest.mark.parametrize("kind", [float, np.float32, np.int8, np.uint64, bool])
def test_tables_of_numbers_are_encoded_like_dicts(kind):
    """This includes NaN, infinities and large integers."""
    first = np.array([0, 1, 1, 0, 1]).astype(kind)
    second = np.array([0.5, np.nan, -np.inf, -0.0, 2.0])
    for third in (first, np.array([1, 2**60, 3, 4, 5])):
        batch = {"b": first, "a": second, "c": third}
        table = table_of(batch)
        assert (table is None) == (third is not first)
        if table is None:
            table = np.empty(5, [(name, column.dtype) for name, column in batch.items()])
            for name, column in batch.items():
                table[name] = column
        one, other = Encoder("it"), Encoder("it")
        for found, expected in zip(one.encode(table), other.encode(rows_of(batch)), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert (one.names, one.parts) == (other.names, other.parts)


@pytest.mark.parametrize(
    "batch",
    [
        {"a": [1, 2]}, {1: np.zeros(2)}, {"a": np.zeros((2, 2))}, {"": np.zeros(2)},
        {"a": np.array(["x"])}, {"a": np.zeros(2), "b": np.zeros(3)},
        {"a": np.zeros(2, np.longdouble)}, {"a": np.array([2**63], np.uint64)},
    ],
)  # fmt: skip
def test_other_columns_are_no_tables(batch):
    assert table_of(batch) is None


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({0: [2**60 + 1], 1: [0.5]}),
        pd.DataFrame({0: [0.5], 1: np.array([2**63], np.uint64)}),
        pa.table({"0": [-(2**60)], "1": [0.5]}),
    ],
)
def test_large_integers_beside_floats_are_not_rounded(table):
    with pytest.raises(ValueError, match=r"integers above 2\^53, which float64 cannot represent"):
        as_array(table)


@pytest.mark.parametrize("empty", [np.zeros((5, 0)), pd.DataFrame(index=range(5))])
def test_outputs_without_entries_are_refused(empty):
    mechanism = dpjax.HostMechanism(lambda database, n: empty[:1].repeat(n, 0)
                                    if isinstance(empty, np.ndarray)
                                    else pd.DataFrame(index=range(n)))  # fmt: skip
    with pytest.raises(ValueError, match="must give at least one number per output"):
        dpjax.audit(mechanism, [(0, 1)], method=METHOD)


def leaks_at_a_rare_entry(count, num_samples, seed):
    """Return the exact count, but only from databases of at least one record, in 40% of outputs."""
    rng = np.random.default_rng(seed)
    noise, rare = rng.laplace(size=num_samples).tolist(), rng.random(num_samples) < 0.4
    return [
        {"n": x, "debug": float(count)} if count and r else {"n": x}
        for x, r in zip(noise, rare, strict=True)
    ]


def test_each_pair_has_its_own_columns():
    subject = dpjax.HostMechanism(leaks_at_a_rare_entry)
    result = dpjax.audit(subject, [(0, 0), (1, 2)], method=METHOD, claim=1.0)
    assert result.verdict == "violated" and result.lower_bound > 3
    assert not any("were not compared" in note for note in result.notes)


def one_by_one(count, seed):
    return leaks_at_a_rare_entry(count, 1, seed)[0]


def test_a_first_output_without_an_entry_does_not_hide_it(tmp_path):
    """A sequential audit with single calls encodes the first outputs one at a time."""
    subject = dpjax.HostMechanism(one_by_one, batched=False)
    first = dpjax.audit(subject, [(1, 2)], method=dpjax.Sequential(num_draws=600))
    assert first.lower_bound > 1
    (tmp_path / "first.json").write_text(first.to_json())
    more, again = (
        dpjax.resume(origin, subject, num_draws=600) for origin in (first, tmp_path / "first.json")
    )
    assert again.lower_bound == more.lower_bound >= first.lower_bound


@pytest.mark.parametrize("form", [lambda x: {"v": x}, lambda x: [[x]], lambda x: {"v": {"w": x}}])
def test_a_number_within_a_structure_is_not_a_plain_number(form):
    """The numbers are equal, but they are plain for one database and nested for the other."""
    draws = np.random.default_rng(2).laplace(size=(2, 2000)).tolist()
    for sides in ([draws[0], [*map(form, draws[1])]], [[*map(form, draws[0])], draws[1]]):
        assert dpjax.audit(dpjax.Recorded(*sides), claim=1.0).verdict == "violated"


def lists(database, num_samples, seed):
    """Return noisy vectors that have as many entries as the database."""
    noise = np.random.default_rng(seed).laplace(size=(num_samples, len(database)))
    return database + noise


def test_pairs_may_have_outputs_of_different_lengths():
    pairs = [(np.zeros(2), np.ones(2)), (np.zeros(3), np.ones(3))]
    result = dpjax.audit(dpjax.HostMechanism(lists), pairs, method=METHOD)
    assert 1 < result.lower_bound <= 3
