"""Recorded vectors with row numbers or IDs are refused, and vectors without them are not."""

import math

import numpy as np
import pandas as pd
import pytest

import dpjax
from dpjax.sources._row_numbers import RowNumbers, _nats

SIZE = 2_000


def sides(make):
    """Return recordings of one mechanism, with numbers that differ between the sides."""
    rng = np.random.default_rng(4)
    return [make(start + rng.permutation(SIZE), rng.laplace(size=SIZE)) for start in (0, SIZE)]


@pytest.mark.parametrize(
    "make",
    [
        lambda ids, noise: np.stack([ids, noise], axis=1),
        lambda ids, noise: np.stack([np.sort(ids), noise], axis=1),
        lambda ids, noise: np.stack([2 * ids, noise], axis=1),
        lambda ids, noise: pd.DataFrame({"id": ids, "noise": noise}),
        lambda ids, noise: [*zip(ids.tolist(), noise.tolist(), strict=True)],
    ],
)
def test_row_numbers_are_refused_in_any_order(make):
    with pytest.raises(ValueError, match=r"x must .* entry 0 .* row numbers or IDs: 2000 differen"):
        dpjax.audit(dpjax.Recorded(*sides(make)), claim=1.0)


def test_row_numbers_in_a_file_are_refused(tmp_path):
    recorded = sides(lambda ids, noise: np.stack([noise, ids], axis=1))
    for name, rows in zip("xy", recorded, strict=True):
        np.savetxt(tmp_path / f"{name}.txt", rows)
    x, y = (dpjax.Recording(tmp_path / f"{name}.txt") for name in "xy")
    with pytest.raises(ValueError, match=r"x \(x.txt\) must .* entry 1 of its vectors"):
        dpjax.audit(dpjax.Recorded(x, y), claim=1.0)


@pytest.mark.parametrize(
    "entry",
    [
        lambda rng: rng.integers(0, 10**9, SIZE),  # all different, in a wide range
        lambda rng: rng.integers(0, SIZE, SIZE),
        lambda rng: rng.permutation(SIZE) + 0.5,
        lambda rng: np.where(np.arange(SIZE) == 7, np.nan, rng.permutation(SIZE)),
    ],
)
def test_other_entries_are_not(entry):
    rng = np.random.default_rng(5)
    x, y = (np.stack([entry(rng), rng.laplace(size=SIZE)], axis=1) for _ in "xy")
    dpjax.audit(dpjax.Recorded(x, y), claim=1.0)


def test_the_chance_by_hand():
    """70 of 70 integers: 69 / 2 - 2 log 70 = 26 nats; a chance of 1e-9 in two entries is 21.4."""
    assert _nats(np.arange(70)) == pytest.approx(69 / 2 - 2 * math.log(70))
    assert _nats(3.0 * np.arange(70)) == pytest.approx(70 * 69 / 2 / 208 - 2 * math.log(208))
    for size, refused in ((70, True), (60, False)):  # 59 / 2 - 2 log 60 = 21.3
        found = RowNumbers()
        for start in range(0, size, 10):
            found.add(np.stack([np.arange(start, start + 10), np.zeros(10)], axis=1))
        found.add(np.zeros(5))  # not a vector
        if refused:
            with pytest.raises(ValueError, match="70 different integers from 0 to 69"):
                found.refuse("x")
        else:
            found.refuse("x")
