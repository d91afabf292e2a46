"""Partitions by a score put equal outputs into one cell, in every fold and among fresh outputs."""

import numpy as np
import pytest

import dpjax
from dpjax.partitions import Outputs, score_partitions
from dpjax.partitions._scored import _around_copies, fold_of

SIZE = 6000


def mixed(side, atom, share):
    """Three Laplace numbers, of which the second is shifted, or an output that occurs often.

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
            # All other outputs are in cells of numbers; outcomes that did not occur are in none.
            assert held_out[~outputs.alone].min() >= cells.num_alone
        unseen = Outputs(np.array([1, 6], np.int32), np.zeros((2, 3)), np.ones(2, bool))
        assert cells.index(unseen).tolist() == [3, 3]


def test_edges_move_to_the_ends_of_equal_outputs_by_hand():
    fresh = np.repeat([0.0, 1.0, 2.0, 3.0], [10, 80, 1, 9])
    held_out = fresh + np.tile([-0.2, 0.0, 0.2, 0.1], 25)
    edges = np.array([-0.2, 0.0, 0.9, 1.0, 1.2, 2.0, 2.1, 3.1])
    # 1.0 occurs 80 times: its scores lie in [0.8, 1.2]. 2.0 occurs once, less than one in 48.
    first = [0.2, 1.2, 3.2]
    moved = _around_copies(edges, held_out, fresh)
    after = np.nextafter(first[:2], np.inf)
    np.testing.assert_array_equal(
        moved, np.unique([-0.2, *after, 0.8, 2.0, 2.1, held_out[fresh == 3].min()])
    )
    # Nothing moves for different outputs with equal fresh scores: these have 80 held-out scores.
    varied = np.where(fresh == 1, 1 + np.arange(100) / 1000, held_out)
    kept = _around_copies(np.array([1.02, 1.05]), varied, fresh)
    assert {1.02, 1.05} <= set(kept)
    # Nothing moves where no output occurs often.
    distinct = np.arange(100.0)
    np.testing.assert_array_equal(_around_copies(edges, distinct, distinct), edges)


@pytest.mark.parametrize("size", [2, 30])
@pytest.mark.parametrize("pair", [([], [1.0]), ([1.0], [])])
def test_an_exception_at_one_database_only(size, pair):
    """One database raises, and the other gives vectors: no epsilon is large enough."""
    generator = np.random.default_rng(5)

    def released(database):
        if not database:
            raise ValueError("nothing to release")
        return generator.normal(size=size)

    subject = dpjax.HostMechanism(released, batched=False)
    result = dpjax.audit(subject, [pair], claim=1.0, method=dpjax.Events(num_draws=2000))
    assert result.verdict == "violated" and result.witness is not None
    assert "error: ValueError" in str(result.witness.event)
    # 1,120 draws confirm; at least 300 of them are at the database where the event is likely.
    assert result.lower_bound > 5.0
