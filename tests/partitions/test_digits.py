"""Digits of single entries of vectors."""

import numpy as np
import pytest

import dpjax
from dpjax.partitions._batches import Outputs
from dpjax.partitions._digits import LOW_BITS, STATISTICS, digits_partitions


def outputs_of(values, alone=()):
    values = np.array(values, float)
    is_alone = np.isin(np.arange(len(values)), alone)
    return Outputs(is_alone.astype(np.int32), values, is_alone)


def test_digits_of_numbers():
    singles = np.float32([0.1, 1 / 3, 1234.56]).tolist()
    numbers = [0, 1, 10, -20000, 0.1, -0.125, 12.345678, 1e7 + 0.25, 1 / 3, 5e-324, *singles]
    found = {name: each.of(np.array(numbers)).tolist() for name, each in STATISTICS.items()}
    assert found == {
        "number of decimals": [-3, 0, -1, -3, 1, 3, 6, 2, 7, 7, 1, 7, 2],
        "number of binary places": [-1024, 0, -1, -5, 17, 3, 17, 17, 17, 17, 17, 17, 17],
        "remainder modulo 16": [0, 1, 10, 0, *[-1] * 9],
    }
    places = STATISTICS["number of binary places"].of(np.ldexp(3.0, [-17, -16, -15, 0, 9, 1000]))
    assert places.tolist() == [17, 16, 15, 0, -9, -1000]
    assert STATISTICS["remainder modulo 16"].of(np.array([-1.0, 2.0**53, -35])).tolist() == [
        15,
        0,
        13,
    ]


@pytest.mark.parametrize("sign", [1, -1])
def test_digits_that_are_found(sign):
    rng = np.random.default_rng(0)
    one, other = rng.normal(0, 1000, (2, 250, 30))
    other[:, 7] = other[:, 7].round(2)
    other[:, 11] = np.rint(other[:, 11] * 8) / 8
    one[:, 20:], other[:, 20:] = np.rint(one[:, 20:]), np.rint(other[:, 20:])
    other[:, 28] = other[:, 28] // 4 * 4 + 1
    sides = [outputs_of(side, alone=[0]) for side in (one, other)][::sign]
    found = digits_partitions(sides, ["a number", "NaN"], range(30))
    assert [(cells.statistic, cells.column) for cells in found] == [
        ("number of decimals", 7),
        ("number of binary places", 11),
        ("remainder modulo 16", 28),
    ]
    for cells in found:
        place = cells.index(sides[0])
        assert place[0] == 1 and (np.delete(place, 0) >= cells.num_alone).all()
        # A multiple of 16 and of 1,000 changes hardly any digits that are compared.
        moved = other.copy()
        moved[:, cells.column] += 8000
        moved[:, cells.column - 1] += 0.1
        same = cells.index(outputs_of(moved)) == cells.index(outputs_of(other))
        assert same.mean() > 0.95
        # Equal outputs of all batches have equal cells.
        parts = [cells.index(outputs_of(one[[row]])) for row in range(1, 250)]
        assert np.concatenate(parts).tolist() == cells.index(outputs_of(one[1:])).tolist()
    assert len({cells.key for cells in found}) == 3 and not any(cells.columns for cells in found)
    assert found[0].plain() == {"words": "the number of decimals of entry 7",
                                "kind": "number of decimals", "entry": 7}  # fmt: skip


def test_equal_digits_are_not_tried():
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(2, 300, 40))
    one[:, :10], other[:, :10] = rng.integers(0, 1000, (2, 300, 10))
    sides = [outputs_of(side) for side in (one, other + np.arange(40))]
    assert digits_partitions(sides, ["a number"], range(40)) == []
    assert digits_partitions([sides[0], outputs_of(other, range(300))], ["a number"], [0]) == []


@pytest.mark.parametrize(("number", "found"), [(32, 0), (33, 3)])
def test_entries_with_few_values_are_not_tried(number, found):
    numbers = np.arange(100 * number) % number
    sides = [outputs_of(np.stack([side, numbers], axis=1)) for side in (numbers, numbers // 2 * 2)]
    assert len(digits_partitions(sides, ["a number"], range(2))) == found


def even(rng, database, n):
    rows = rng.integers(0, 1000, (n, 20))
    rows[:, 3] &= ~1 if database else -1
    return rows


def rounded(rng, database, n):
    rows = rng.normal(0, 3, (n, 30))
    rows[:, 11] = np.round(rows[:, 11], 2) if database else rows[:, 11]
    return rows


def singles(rng, database, n):
    return rounded(rng, database, n).astype(np.float32)


def of_dicts(rng, database, n):
    rows = even(rng, database, n).tolist()
    return [{"share": row[0] / 7, "count": row[3]} for row in rows]


@pytest.mark.parametrize(
    ("function", "words", "bound"),
    [
        (even, "of entry 3 ", 4.2),
        (rounded, "number of decimals of entry 11 from 0 to 2", 5),
        (singles, "number of decimals of entry 11 from 0 to 2", 5),
        (of_dicts, "number of binary places of entry 'count' of at least 0", 4.2),
    ],
)
def test_events_of_digits(function, words, bound):
    rng = np.random.default_rng(0)
    x, y = (function(rng, database, 1000) for database in (0, 1))
    found = dpjax.audit(dpjax.Recorded(x, y), notion=dpjax.Epsilon(), confidence=0.95)
    assert found.lower_bound > bound and words in found.witness.event


def textbook(rng, database, shape):
    """Return textbook Laplace noise; that of entry 2 is added to the database."""
    uniform = rng.random(shape) - 0.5
    rows = -np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
    rows[:, 2] = database + rows[:, 2]
    return rows


@pytest.mark.parametrize("form", [np.array, list, lambda rows: [{"a": row[2]} for row in rows]])
def test_lowest_bits_of_vectors_are_compared_if_users_ask_for_it(form):
    rng = np.random.default_rng(3)
    x, y = (form(textbook(rng, database, (1500, 6))) for database in (0.0, 1.0))
    for bits, low, high, words in (
        (None, 0, 1, "entry 2"), ("auto", 0, 1, "entry 2"),
        ("lowest", 3, 7, "lowest set bit of entry 2 of at most"),
    ):  # fmt: skip
        if form not in (np.array, list):  # A single number has labels.
            low, high, words = (0, 1, "") if bits is None else (2, 7, "lowest set bit")
        recorded = dpjax.Recorded(x, y, bits=bits)
        found = dpjax.audit(recorded, notion=dpjax.Epsilon(), confidence=0.95)
        assert low <= found.lower_bound < high and words in found.witness.event


def test_lowest_bits_of_numbers():
    (statistic,) = LOW_BITS.values()
    numbers = np.array([0.0, -0.0, 1.0, -3.0, 0.75, 2.0**60, 5e-324])
    assert statistic.of(numbers).tolist() == [-1075, -1075, 0, 0, -2, 60, -1074]


def test_noise_has_equal_digits():
    """The last bits of sums are not compared, since they reveal terms of exact noise, too."""
    rng = np.random.default_rng(2)
    x, y = rng.laplace(size=(2, 1000, 5))
    y[:, 2] += 0.5
    found = dpjax.audit(dpjax.Recorded(x, y), notion=dpjax.Epsilon(), confidence=0.9999)
    assert found.lower_bound < 0.5
