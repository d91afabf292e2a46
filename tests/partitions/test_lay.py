"""Which values are atoms, and where edges are, at the limits of their rules."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.partitions import Box, Encoder, Outcomes, Outputs, _lay, lay
from dpjax.partitions._batches import Pooled
from dpjax.partitions._lay import _atoms, _edges, _ends
from dpjax.partitions._one_entry import entry_partition
from dpjax.partitions._scored import (
    Scored,
    _cut,
    fold_of,
    pilot_size,
    score_partitions,
)
from dpjax.partitions._scores import Cancelling
from dpjax.partitions._words import is_simpler


def distinct(number, times=1, **options):
    """Return the atoms of a side of repeated values, compared with a side of distinct values."""
    side = np.repeat(np.arange(number) / 7, times)
    return len(_atoms([side, np.arange(number) / 7], 1, options.pop("discrete", None), False))


def test_few_values_are_all_atoms():
    assert distinct(256) == 256 and distinct(257) == 0
    assert distinct(257, 2, discrete=True) == 257
    assert distinct(256, discrete=False) == 0


def test_values_that_are_all_distinct_are_no_outcomes():
    sides = [np.arange(150.0), np.arange(200.0, 307.0)]
    with pytest.raises(ValueError, match="all 257 outputs are distinct numbers"):
        _atoms(sides, 1, True, False)
    assert len(_atoms([sides[0], sides[1][1:]], 1, True, False)) == 256
    assert len(_atoms([sides[0], np.append(sides[1], 0.0)], 1, True, False)) == 1


@pytest.mark.parametrize(
    ("size", "times", "found"),
    # At least five; from 8,000 outputs on, an eighth of 0.005 of them.
    [(1000, 4, 0), (1000, 5, 1), (8000, 4, 0), (8000, 5, 1), (16_000, 9, 0), (16_000, 10, 1)],
)
def test_frequent_values_are_atoms(size, times, found):
    side = np.concatenate([np.arange(size - times) + 0.5, np.full(times, -3.0)])
    atoms = _atoms([side[: size // 2], side[size // 2 :]], 1, None, False)
    assert atoms.tolist() == [-3.0] * found


@pytest.mark.parametrize(
    ("dimension", "whole", "most"),
    [(1, False, 512), (2, False, 12), (3, False, 4), (1, True, 4096), (2, True, 12)],
)
def test_the_most_frequent_values_are_atoms(dimension, whole, most):
    """Larger values are more frequent; the atoms are sorted by value."""
    values = np.arange(most + 300)
    side = np.repeat(values, np.where(values >= 300, 31, 30))
    atoms = _atoms([side, side[:0]], dimension, True, whole)
    np.testing.assert_array_equal(atoms, values[300:])


@pytest.mark.parametrize(("dimension", "steps", "tails"), [(1, 96, 12), (2, 20, 5), (3, 8, 2)])
def test_edges_are_quantiles_of_both_sides(dimension, steps, tails):
    sides = [np.random.default_rng(seed).normal(size=20_001) for seed in (1, 2)]
    halves = [2.0 ** -(k + 2) * 2 / steps for k in range(tails)]
    levels = [*halves, *(np.arange(1, steps) / steps), *(1 - np.array(halves))]
    expected = {float(np.quantile(side, levels, method="nearest")[k])
                for side in sides for k in range(len(levels))}  # fmt: skip
    found = _edges(sides, np.empty(0), dimension, False)
    assert found.tolist() == sorted(expected)
    # A side without numbers has no edges; atoms have an edge at both ends.
    atoms = np.array([-9.0, 0.125])
    one = _edges([sides[0], sides[0][:0]], atoms, dimension, False)
    own = np.quantile(sides[0], levels, method="nearest")
    assert set(one) == {*own, *atoms, *np.nextafter(atoms, np.inf)}
    assert {-8.0, 1.125} < set(_edges(sides, atoms, dimension, True))


def test_ends_of_regions():
    assert _ends(None, 0).size == 0
    box = Box([0.0, 1.0], [2.0, 3.0])
    np.testing.assert_array_equal(_ends(box, 1), [1.0, np.nextafter(3.0, np.inf)])
    allowed = np.array([1, 1, 0, 0, 1, 0], bool)
    np.testing.assert_array_equal(_ends(Outcomes(10, 6, allowed), 0), [10, 12, 14, 15])


def encoded(*sides):
    encoder = Encoder("it")
    return [encoder.encode(side) for side in sides], encoder.names


def test_finite_spaces_have_an_atom_an_outcome():
    pilot, names = encoded(np.arange(3), np.arange(3))
    cells = lay(pilot, names, outcomes=4096, whole=True, ordered=False)
    assert len(cells.atoms[0]) == 4096 and cells.edges[0].tolist() == list(range(4097))
    assert cells.whole and not cells.ordered and cells.atoms[0].dtype == np.float64
    larger = lay(pilot, names, outcomes=4097, whole=True)
    assert larger.atoms[0].tolist() == [0, 1, 2] and larger.ordered
    assert not lay(pilot, names).whole


def test_limits_of_labels_and_dimensions(monkeypatch):
    pilot, names = encoded(["a", "b"], ["a"])
    monkeypatch.setattr(_lay, "_MAX_LABELS", 3)
    assert lay(pilot, names).names == ("a number", "'a'", "'b'")
    with pytest.raises(ValueError, match="more than 3 distinct labels"):
        lay(pilot, [*names, "c"])
    four, names = encoded(np.zeros((3, 4)), np.zeros((3, 4)))
    with pytest.raises(
        ValueError, match="at most 3 numbers in a sweep or if region is set, but had 4"
    ):
        lay(four, names)


def test_coarser_cells_keep_their_atoms(monkeypatch):
    side = np.concatenate([np.random.default_rng(1).normal(size=4000), np.zeros(100)])
    pilot, names = encoded(side, side)
    fine = lay(pilot, names)
    monkeypatch.setattr(_lay, "_MAX_CELLS", fine.size)
    assert lay(pilot, names).size == fine.size
    monkeypatch.setattr(_lay, "_MAX_CELLS", fine.size - 1)
    coarse = lay(pilot, names)
    kept = set(fine.edges[0][::2]) | {0.0, np.nextafter(0.0, np.inf)}
    assert set(coarse.edges[0]) == kept
    monkeypatch.setattr(_lay, "_MAX_CELLS", 3)
    with pytest.raises(ValueError, match="more than 3, because too many labels are combined"):
        lay(pilot, names)


@pytest.mark.parametrize(
    ("dimension", "size"),
    [(1, 2**16), (2, 2**19), (16, 2**19), (17, 7 * 2**16), (128, 2**16), (1000, 2**16)],
)
def test_sizes_of_pilots(dimension, size):
    assert pilot_size(dimension) == size


def vectors(count, dimension, seed=0):
    values = np.random.default_rng(seed).normal(size=(count, dimension))
    return Outputs(np.zeros(count, np.int32), values, np.zeros(count, bool))


def scored(counts, dimension=2):
    pilots = [vectors(count, dimension, seed) for seed, count in enumerate(counts)]
    folds = [fold_of(np.arange(count)) for count in counts]
    found = score_partitions(pilots, folds, ("a number",))
    # Whether a score cancels factors depends on chance.
    return [cells for cells in found if not isinstance(cells.score, Cancelling)]


def test_scores_need_outputs_of_both_sides():
    assert len(scored((9, 700))) == 0
    assert [len(scored(counts)) for counts in ((10, 10), (700, 10), (4999, 700))] == [3, 3, 3]


@pytest.mark.parametrize(
    ("size", "dimension", "number"),
    [(21, 21, 3), (20, 21, 1), (150, 128, 3), (150, 129, 1), (20, 1000, 1)],
)
def test_scores_of_few_outputs_with_many_numbers(size, dimension, number):
    """Linear scores need fewer outputs than others."""
    assert len(scored((size, size), dimension)) == number


@pytest.mark.slow
def test_limits_of_entries(monkeypatch):
    from dpjax.partitions import _scored

    assert len(scored((500, 500), 1000)) == 1
    with pytest.raises(ValueError, match=r"1000 numbers each, .* but had 1001 and 1\.2012e\+06"):
        scored((600, 600), 1001)
    monkeypatch.setattr(_scored, "_MAX_ENTRIES", 2400)
    assert len(scored((600, 600), 2)) == 3
    with pytest.raises(ValueError, match=r"at most 2400 in the .* but had 2 and 2402"):
        scored((600, 601), 2)


def test_cells_of_a_score():
    class First:
        def values(self, outputs, fold=None):
            return (outputs.values[:, 0] + (0 if fold is None else fold)).astype(np.float32)

    outputs = vectors(5000, 2)
    fold = fold_of(np.arange(5000))
    cells = _cut(First(), Pooled(outputs, None, fold), ("a number",))
    values = First().values(outputs, fold).astype(float)
    tails = 2.0 ** -np.arange(6, 12)
    levels = np.concatenate([tails, np.arange(1, 48) / 48, 1 - tails])
    np.testing.assert_array_equal(
        cells.edges[0], np.unique(np.quantile(values, levels, method="nearest"))
    )
    place = cells.num_alone + np.searchsorted(cells.edges[0], values, side="right")
    np.testing.assert_array_equal(cells.index_held_out(outputs, fold), place)
    fresh = cells.num_alone + np.searchsorted(
        cells.edges[0], First().values(outputs).astype(float), side="right"
    )
    np.testing.assert_array_equal(cells.index(outputs), fresh)
    assert cells.key == cells.key != _cut(First(), Pooled(outputs, None, fold), ("a number",)).key


def test_a_partition_by_one_entry():
    pilots = [vectors(900, 3, seed) for seed in (1, 2)]
    cells = entry_partition(pilots, ["a number"], 2)
    one = lay([pilot._replace(values=pilot.values[:, [2]]) for pilot in pilots], ["a number"])
    np.testing.assert_array_equal(cells.edges[0], one.edges[0])
    expected = one.index(pilots[0]._replace(values=pilots[0].values[:, [2]]))
    np.testing.assert_array_equal(cells.index(pilots[0]), expected)
    assert cells.plain() == {"words": "entry 2", "kind": "entry", "entry": 2}
    assert cells.kind(True) == "a vector with entry 2"


def test_shorter_words_are_simpler():
    """They are shorter by more than ten characters: 'b' has 3, and the others 13 and 14."""
    pilot, names = encoded(["b", "aaaaaaaaaaa"], ["aaaaaaaaaaaa"])
    cells = lay(pilot, names)
    short, long, longer = (np.arange(cells.size) == place for place in (1, 2, 3))
    assert [len(name) for name in cells.names[1:]] == [3, 13, 14]
    assert not is_simpler(cells, short, long)
    assert is_simpler(cells, short, longer) and not is_simpler(cells, longer, short)


def test_words_are_compared_in_full():
    """Texts with omitted labels would have about the same length."""
    pilot, names = encoded([f"label {number:02}" for number in range(50)], ["label 50"])
    cells = lay(pilot, names)
    few, many = np.arange(cells.size) > cells.size - 20, np.arange(cells.size) > 20
    assert is_simpler(cells, few, many) and not is_simpler(cells, many, few)


def test_labels_of_scored_cells_are_told_by_their_codes():
    """Cells: numbers without label, the two labels, any other label, then three intervals."""
    score = SimpleNamespace(values=lambda outputs, fold=None: outputs.values[:, 0])
    cells = Scored(
        ("a number", "'x'", "'y'"), (np.array([0.0, 1.0]),), (np.empty(0),), np.zeros(1, int),
        score=score, codes=np.array([3, 7]), frequent=np.empty(0),
    )  # fmt: skip
    labels = np.array([3, 7, 1, 5, 9, 0, 0, 0], np.int32)
    values = np.array([0, 0, 0, 0, 0, -0.5, 0.5, 1.0])[:, None]
    found = cells.index(Outputs(labels, values, labels > 0)).tolist()
    assert found[:5] == [1, 2, 3, 3, 3] and cells.num_alone == 4
    assert found[5:] == [4, 5, 6] and cells.size == 7
    assert [cells.describe(np.arange(7) == place) for place in (1, 2, 3)] == [
        "the output is 'x'", "the output is 'y'", "the output is some other label",
    ]  # fmt: skip
