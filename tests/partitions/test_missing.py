"""Missing outputs: each kind is a separate outcome, in all forms of input."""

from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpjax
from dpjax.partitions import Encoder
from dpjax.partitions._nested import form_of

KINDS = {
    "None": None,
    "masked": np.ma.masked,
    "NA": pd.NA,
    "NaT": pd.NaT,
    "NaN": float("nan"),
    "empty text": "",
    "empty bytes": b"",
    "empty": [],
    "'None'": "None",
    "'masked'": "masked",
}
"""Map from a name to an output; the last two are labels."""

PAIRS = list(combinations(["None", "masked", "NA", "NaT"], 2))

DRAWS = 400


def audited(x, y):
    """Return an audit of recorded outputs; each side has one kind of outcome, and numbers."""
    return dpjax.audit(dpjax.Recorded(x, y), confidence=0.99)


@pytest.mark.parametrize("beside", [1.5, 7, "yes"])
def test_each_kind_is_an_outcome_of_its_own(beside):
    encoder = Encoder("it")
    outputs = encoder.encode([*KINDS.values(), beside])
    names = [encoder.names[label] for label in outputs.labels[:-1]]
    assert names == list(KINDS) and len(set(outputs.labels.tolist())) == len(KINDS) + 1


def recorded_lists(x, y):
    return dpjax.Recorded(x, y)


def recorded_objects(x, y):
    return dpjax.Recorded(*(np.fromiter(side, object, len(side)) for side in (x, y)))


def host_batches(x, y):
    def batch(side, size, rng):
        return [(x, y)[side][place] for place in rng.integers(DRAWS, size=size)]

    return dpjax.HostMechanism(batch)


def host_one_by_one(x, y):
    def one(side, rng):
        return (x, y)[side][rng.integers(DRAWS)]

    return dpjax.HostMechanism(one, batched=False)


@pytest.mark.parametrize(
    "source", [recorded_lists, recorded_objects, host_batches, host_one_by_one]
)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_every_source_tells_two_kinds_apart(source, first, second):
    """In half of its outputs, each side returns one of the two kinds."""
    rng = np.random.default_rng(3)
    x, y = (
        [KINDS[kind] if coin else value for coin, value in zip(coins, values, strict=True)]
        for kind, coins, values in zip(
            (first, second), rng.random((2, DRAWS)) < 0.5, rng.normal(size=(2, DRAWS)), strict=True
        )
    )
    subject = source(x, y)
    if isinstance(subject, dpjax.Recorded):
        result = audited(x, y)
    else:
        method = dpjax.Events(num_samples=DRAWS, num_confirm=DRAWS)
        result = dpjax.audit(subject, [(0, 1)], method=method, confidence=0.99)
    # 200 times compared with never: the bound is about 3.7, or 0 if the kinds are equal.
    assert result.lower_bound > 2 and (
        first in result.witness.event or second in result.witness.event
    )


@pytest.mark.parametrize("columns", [1, 2])
def test_masked_arrays_are_read_with_their_mask(columns):
    rng = np.random.default_rng(5)
    shape = (2000,) if columns == 1 else (2000, columns)
    x, y = rng.normal(size=(2, *shape))
    mask = rng.random(shape) < 0.3
    result = audited(np.ma.array(x, mask=mask), y)
    assert result.lower_bound > 3 and (columns > 1 or "masked" in result.witness.event)
    hidden = np.where(mask, 99.0, x), np.where(rng.random(shape) < 0.3, -99.0, y)
    masks = mask, hidden[1] == -99.0
    # Hidden values behind a mask are not outputs: both sides have the same distribution.
    same = audited(*(np.ma.array(data, mask=m) for data, m in zip(hidden, masks, strict=True)))
    assert same.lower_bound < 0.3


@pytest.mark.parametrize(
    "make",
    [
        lambda values: pa.array(values),
        lambda values: pa.chunked_array([values]),
        lambda values: pd.Series(values, dtype="Float64"),
        lambda values: pd.Series(values, dtype="double[pyarrow]"),
        lambda values: pd.Series(values, dtype=object),
        lambda values: values,
    ],
)
def test_columns_of_other_libraries_keep_their_nulls(make):
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(2, DRAWS)).tolist()
    x = [None if coin else value for coin, value in zip(rng.random(DRAWS) < 0.5, x, strict=True)]
    y = [float("nan") if c else value for c, value in zip(rng.random(DRAWS) < 0.5, y, strict=True)]
    result = audited(make(x), y)
    assert result.lower_bound > 2


def test_tables_keep_their_nulls():
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(2, DRAWS, 2))
    x = [[None if coin else a, b] for coin, (a, b) in zip(rng.random(DRAWS) < 0.5, x, strict=True)]
    table = pa.table({name: [row[place] for row in x] for place, name in enumerate("ab")})
    assert audited(table, y).lower_bound > 2


@pytest.mark.parametrize("name", [name for name in KINDS if not name.startswith("'")])
def test_missing_outputs_can_be_errors(name):
    with pytest.raises(ValueError, match=f"gave the outcome '{name}', which special='error'"):
        Encoder("it", special="error").encode([1.0, KINDS[name]])


class Hostile:
    """An output whose methods raise errors."""

    def __repr__(self):
        raise RuntimeError("no text")

    __hash__ = __len__ = __repr__


def test_outputs_whose_methods_raise_are_refused_by_their_type():
    cyclic = []
    cyclic.append(cyclic)
    for output, name in ((Hostile(), "Hostile"), (cyclic, "list")):
        with pytest.raises(TypeError, match=f"must give numbers, vectors or labels.*{name}"):
            Encoder("it").encode([1.0, output])


@pytest.mark.parametrize(
    ("kind", "mask"),
    [("i4", True), ("(2,)i4", [True, False]), ([("p", "i4")], (True,))],
    ids=["number", "vector", "nested"],
)
def test_masks_of_structured_arrays_are_outcomes(kind, mask):
    table = np.ma.array(np.zeros(3, [("x", np.dtype(kind)), ("y", "f8")]))
    first = Encoder("it").encode(table)
    assert not first.labels.any() and type(first.values) is np.ndarray
    masks = np.zeros(3, np.ma.make_mask_descr(table.dtype))
    masks["x"][[0, 2]] = mask
    labels = Encoder("it").encode(np.ma.array(table, mask=masks)).labels.tolist()
    assert labels[0] == labels[2] != labels[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pd.Series([1.0], ["p"]), pd.Series([1.0], ["q"])),
        (pd.Series([1, 1], ["p", "q"]), pd.Series([1, 1], ["q", "p"])),
        (pd.Series([1, pd.NA], dtype="Int64"), pd.Series([1, 0])),
        ({"a": pd.Series([1.0])}, {"a": pd.Series([2.0])}),
        (pd.DataFrame({"a": [1.0]}), pd.DataFrame({"b": [1.0]})),
        (pd.DataFrame({"a": [1, 2], "b": "x"}), pd.DataFrame({"a": [1, 2], "b": "y"})),
        (pd.DataFrame([[1.0, 2.0]]), pd.DataFrame([[1.0, 3.0]])),
    ],
)
def test_series_and_frames_are_told_apart(one, other):
    assert form_of(one) != form_of(other)
    assert form_of(one) == form_of(one.copy())
    found = Encoder("f").encode([one, other, one])
    rows = [(label, *row) for label, row in zip(found.labels, found.values.tolist(), strict=True)]
    assert rows[0] == rows[2] != rows[1]


def test_the_index_of_a_series_is_a_part_of_it_unless_it_counts_rows():
    assert form_of(pd.Series([1.0, 2.0])) == form_of([1.0, 2.0])
    assert form_of(pd.Series([1.0, 2.0], ["p", "q"])) == form_of([["p", "q"], [1.0, 2.0]])
    assert form_of(pd.DataFrame({"a": [1, 2]}, ["p", "q"])) == form_of([["p", "q"], {"a": [1, 2]}])
    with pytest.raises(ValueError, match="must have different column names, but 'a' is repeated"):
        form_of(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))
