"""Partitions by scores put equal outputs into one cell, in all folds and for fresh outputs."""

import numpy as np
import pytest

import dpjax
from dpjax.partitions import Outputs, score_partitions
from dpjax.partitions._batches import Pooled
from dpjax.partitions._scored import _cut, _edges, fold_of

SIZE = 6000


def mixed(side, atom, share):
    """Return three Laplace numbers, the second one shifted, or an output that occurs often.

    Codes 3 and 5 are outcomes without numbers; code 4 is a label beside numbers.
    """
    generator = np.random.default_rng([side, 7])
    values = generator.laplace(size=(SIZE, 3)) + side * np.eye(3)[1]
    labels = 4 * (generator.random(SIZE) < 0.2).astype(np.int32)
    often = generator.random(SIZE) < share[side]
    values[often], labels[often] = atom, 0
    alone = generator.random(SIZE) < 0.1 + 0.1 * side
    labels[alone] = generator.choice([3, 5], alone.sum())
    values[alone] = 0.0
    return Outputs(labels, values, alone)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("share", [(0.3, 0.3), (0.5, 0.1), (0.0, 1.0)])
@pytest.mark.parametrize("atom", [(0.0, 0.0, 0.0), (1.0, -2.0, 0.5), (-1000.0, 3.0, 1e9)])
def test_equal_outputs_share_a_cell(atom, share):
    pilot = [mixed(side, np.array(atom), share) for side in (0, 1)]
    folds = [fold_of(np.arange(SIZE))] * 2
    names = ("a number", "b", "c", "error: A", "d", "error: B")
    found = score_partitions(pilot, folds, names)
    assert len(found) >= 3
    for cells in found:
        assert cells.names == ("a number", "error: A", "error: B")
        for outputs, fold in zip(pilot, folds, strict=True):
            held_out, fresh = cells.index_held_out(outputs, fold), cells.index(outputs)
            for code, cell in ((3, 1), (5, 2)):
                assert set(held_out[outputs.labels == code]) == {cell}
            equal = (outputs.values == atom).all(axis=1) & (outputs.labels == 0) & ~outputs.alone
            if equal.any():
                assert len({*held_out[equal], *fresh[equal]}) == 1
            # All other outputs are in cells of numbers; outcomes that did not occur are in no cell.
            assert held_out[~outputs.alone].min() >= cells.num_alone
        unseen = Outputs(np.array([1, 6], np.int32), np.zeros((2, 3)), np.ones(2, bool))
        assert cells.index(unseen).tolist() == [3, 3]


class Lifted:
    """A score: the first entry for fresh outputs, plus a tenth of the fold for others."""

    def values(self, given, fold=None):
        more = 0 if fold is None else 0.1 * fold
        return (given.values[:, 0] + more).astype(np.float32)


def numbers(values):
    values = np.asarray(values, float)[:, None]
    return Outputs(np.zeros(len(values), np.int32), values, np.zeros(len(values), bool))


def test_frequent_scores_have_cells_of_their_own_by_hand():
    """Of 1,000 outputs, 5 are equal to 2, 4 to 3, 200 to 0, and the others are distinct."""
    values = np.r_[np.full(5, 2.0), np.full(4, 3.0), np.zeros(200), np.linspace(5, 6, 791)]
    given, fold = numbers(values), fold_of(np.arange(1000))
    cells = _cut(Lifted(), Pooled(given, None, fold), ("a number",))
    assert cells.frequent.tolist() == [0.0, 2.0]
    # Both sides of 0 and of 2; then quantiles of held-out scores, which may be in gaps.
    assert cells.edges[0][:2].tolist() == [1.0, 2.5] and cells.edges[0][2] > 3
    held_out, fresh = cells.index_held_out(given, fold), cells.index(given)
    for rows in (slice(5), slice(9, 209)):
        (cell,) = {*held_out[rows], *fresh[rows]}
        assert (held_out == cell).sum() == len(range(1000)[rows])
    # A held-out score is not replaced if the fresh score is rare.
    scores = Lifted().values(given, fold)[209:].astype(float)
    expected = cells.num_alone + np.searchsorted(cells.edges[0], scores, side="right")
    np.testing.assert_array_equal(held_out[209:], expected)
    assert (held_out[209:] != fresh[209:]).mean() > 0.5


@pytest.mark.parametrize("repeated", [500, 499])
def test_every_cell_of_a_discrete_score_contains_a_score_of_fresh_outputs(repeated):
    """Half of 1,000 outputs share their score with one other output, or one output fewer does."""
    fresh = np.r_[np.arange(repeated) // 2, np.arange(2000, 2000 + 1000 - repeated)]
    # The highest and the lowest held-out scores are not scores of fresh outputs.
    held_out = fresh + 30 * (np.arange(1000) % 5) - 60
    edges, frequent = _edges(*np.float32([fresh, held_out]))
    assert frequent.size == 0
    cell = np.searchsorted(edges, fresh, side="right")
    filled = np.bincount(cell, minlength=len(edges) + 1) > 0
    if repeated == 500:
        assert filled.all() and 30 < len(edges) < 60
        assert set(edges % 1) == {0.5}
    else:
        assert not filled.all() and len(edges) > 50
        assert edges[0] < fresh.min() and edges[-1] > fresh.max()


def test_edges_of_discrete_scores_lie_above_the_quantiles():
    """Each of 500 scores occurs twice, and the median is 249 or 250."""
    fresh = np.repeat(np.arange(500), 2).astype(np.float32)
    edges, frequent = _edges(fresh, fresh)
    assert frequent.size == 0
    tails = 0.5 ** np.arange(6, 12)
    levels = np.concatenate([tails, np.arange(1, 48) / 48, 1 - tails])
    quantiles = np.quantile(fresh, levels, method="nearest")
    np.testing.assert_array_equal(edges, np.unique(quantiles[quantiles < 499]) + 0.5)


def test_one_score_has_one_cell():
    edges, frequent = _edges(np.ones(9, np.float32), np.ones(9, np.float32))
    assert edges.size == 0 and frequent.tolist() == [1.0]


def bits(side, size=20_000):
    """Return twenty bits of randomized response at epsilon 1; bit 3 or bit 7 is set."""
    generator = np.random.default_rng([side, 9])
    values = np.zeros((size, 20), bool)
    values[:, 7 if side else 3] = True
    return numbers(np.zeros(size))._replace(
        values=(values ^ (generator.random((size, 20)) > 0.731)).astype(float)
    )


@pytest.mark.slow
def test_fresh_copies_of_discrete_outputs_do_not_miss_the_cells_of_a_linear_score():
    """The scores of two bits are -1, 0 and 1, and fresh outputs have no other scores."""
    pilot = [bits(0), bits(1)]
    folds = [fold_of(np.arange(20_000))] * 2
    cells = score_partitions(pilot, folds, ("a number",))[0]
    assert np.flatnonzero(cells.score.mean).tolist() == [3, 7]
    assert 3 <= len(cells.frequent) <= 4
    assert len(cells.edges[0]) == len(cells.frequent) - 1
    for outputs, fold in zip(pilot, folds, strict=True):
        np.testing.assert_array_equal(cells.index_held_out(outputs, fold), cells.index(outputs))
    both = cells.index(bits(1)) == cells.index(numbers([0.0])._replace(values=np.eye(20)[[7]]))[0]
    assert both.mean() == pytest.approx(0.731**2, abs=4.5 * 0.5 / 20_000**0.5)


@pytest.mark.parametrize("size", [2, 30])
@pytest.mark.parametrize("pair", [([], [1.0]), ([1.0], [])])
def test_an_exception_at_one_database_only(size, pair):
    """For one database, the function raises an error; for the other, it returns vectors."""
    generator = np.random.default_rng(5)

    def released(database):
        if not database:
            raise ValueError("nothing to release")
        return generator.normal(size=size)

    subject = dpjax.HostMechanism(released, batched=False)
    result = dpjax.audit(subject, [pair], claim=1.0, method=dpjax.Events(num_draws=2000))
    assert result.verdict == "violated" and result.witness is not None
    assert "error: ValueError" in str(result.witness.event)
    # There are 1,120 confirmation draws, at least 300 for the likelier database.
    assert result.lower_bound > 5.0
