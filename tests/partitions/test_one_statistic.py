"""Statistics of vectors that use all entries equally."""

import numpy as np
import pytest

import dpjax
from dpjax.partitions._batches import Outputs
from dpjax.partitions._one_statistic import STATISTICS, statistic_partitions
from dpjax.partitions.outputs import Encoder


def outputs_of(values, alone=()):
    values = np.array(values, float)
    is_alone = np.isin(np.arange(len(values)), alone)
    return Outputs(is_alone.astype(np.int32), values, is_alone)


def test_statistics_of_rows():
    rows = np.array([[3.0, -1.0, 7.5, 2.0], [4.0, 9.0, 4.0, -np.finfo(float).max]])
    found = {name: statistic(rows).tolist() for name, statistic in STATISTICS.items()}
    assert found == {
        "smallest entry": [-1, -np.finfo(float).max],
        "largest entry": [7.5, 9],
        "smallest difference of two entries": [1, 0],
        # Squared steps: 16, 72.25, 30.25. The variance: 9.296875.
        "mean square of steps divided by the variance": [118.5 / 3 / 9.296875, 16 / 9],
    }
    equal = np.full((2, 5), 7.0)
    assert {name: each(equal).tolist() for name, each in STATISTICS.items()} == {
        "smallest entry": [7, 7],
        "largest entry": [7, 7],
        "smallest difference of two entries": [0, 0],
        "mean square of steps divided by the variance": [0, 0],
    }


def test_partitions_use_the_entries_and_no_other_columns():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 6))
    sides = [outputs_of(rows), outputs_of(rows + 1, alone=[0])]
    found = statistic_partitions(sides, ["a number", "NaN"], 5)
    assert [cells.statistic for cells in found] == [*STATISTICS]
    for cells in found:
        moved = rows.copy()
        moved[:, 5] = 99
        if "steps" not in cells.statistic:
            moved[:, :5] = moved[:, [4, 2, 0, 1, 3]]
        expected = cells.index(outputs_of(rows))
        assert cells.index(outputs_of(moved)).tolist() == expected.tolist()
        assert len({*expected.tolist()}) > 5 and not cells.columns
        assert cells.index(sides[1])[0] == 1
    assert len({cells.key for cells in found}) == 4
    assert found[0].plain() == {"words": "the smallest entry", "kind": "smallest entry",
                                "entries": 5}  # fmt: skip


@pytest.mark.parametrize(("entries", "number"), [(3, 0), (4, 4), (256, 4), (257, 0)])
def test_limits_of_entries(entries, number):
    sides = [outputs_of(np.random.default_rng(side).normal(size=(20, 260))) for side in (0, 1)]
    assert len(statistic_partitions(sides, ["a number"], entries)) == number


def test_vectors_with_missing_entries_have_no_statistics():
    rows = np.random.default_rng(1).normal(size=(20, 5))
    sides = [Encoder("it").encode(rows), Encoder("it").encode(np.where(rows > 2, np.nan, rows))]
    assert len(statistic_partitions(sides[:1] * 2, ["a number"], 5)) == 4
    assert statistic_partitions(sides, ["a number", "NaN"], 5) == []


def shuffled(database, num_samples, seed):
    """Return shuffled losses, one of which is small for the neighbor."""
    rng = np.random.default_rng(seed)
    losses = rng.gamma(2, 1, (num_samples, 100))
    if database:
        losses[:, 0] = 1e-6 * rng.random(num_samples)
    return rng.permuted(losses, axis=1)


def repeated(database, num_samples, seed):
    """Return random numbers, two of which are equal for the neighbor."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(num_samples, 12))
    if database:
        rows[:, 0] = rows[:, 1]
    return rng.permuted(rows, axis=1)


def smooth(database, num_samples, seed):
    """Return random numbers; for the neighbor, each one resembles the number before."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(num_samples, 101))
    return 0.6 * database * rows[:, :-1] + rows[:, 1:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (shuffled, "the smallest entry"),
        (repeated, "the smallest difference of two entries"),
        (smooth, "the mean square of steps divided by the variance"),
    ],
)
def test_events_that_no_single_entry_shows(function, words):
    method = dpjax.Events(num_draws=2000)
    found = dpjax.audit(function, [(0, 1)], method=method, key=0)
    assert found.lower_bound > 5 and f"a vector with {words}" in found.witness.event


@pytest.mark.slow
def test_equal_sides_have_no_bound():
    """With other keys, one test in 300,000 fails."""

    def function(_, num_samples, seed):
        return shuffled(1, num_samples, seed)

    method = dpjax.Events(num_draws=500)
    for key in range(3):
        found = dpjax.audit(function, [(0, 1)], method=method, confidence=1 - 1e-6, key=key)
        assert found.lower_bound == 0
