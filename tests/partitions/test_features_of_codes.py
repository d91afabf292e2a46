"""Features and cells of scores if outputs have codes, labels, or many rows."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.partitions import Outputs, _scored
from dpjax.partitions._batches import Pooled
from dpjax.partitions._features import Columns, Features
from dpjax.partitions._lay import PILOT
from dpjax.partitions._scored import (
    Scored,
    _cut,
    _losses,
    _mean_in_errors,
    score_partitions,
)
from dpjax.partitions._scores import Combination


def outputs(n=700, seed=0):
    """Return three entries, the first two often codes, and labels that may have no numbers."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 3))
    values[rng.random(n) < 0.2, 0] = -9.0
    values[rng.random(n) < 0.1, 0] = 7.0
    values[rng.random(n) < 0.3, 1] = -5.0
    labels = rng.choice([0, 2, 5], n, p=[0.6, 0.3, 0.1]).astype(np.int32)
    alone = labels == 5
    values[alone] = 0.0
    return Outputs(labels, values, alone)


KINDS = ["linear", "common", "clipped", "additive", "products"]


@pytest.mark.parametrize("kind", KINDS)
def test_features_of_outputs_by_loops(kind):
    """Standardized entries, then an indicator per label and code, then additional features."""
    given = outputs()
    columns = Columns.of(given)
    assert columns.labels.tolist() == [0, 2, 5]
    assert [atoms.tolist() for atoms in columns.atoms] == [[-9.0, 7.0], [-5.0], []]
    features = Features.of(kind, columns, given)
    table, owners = features(given), features.owners()
    assert table.shape == (700, len(owners))
    for row in range(0, 700, 23):
        label, values, alone = given.labels[row], given.values[row], given.alone[row]
        z = np.clip((values - columns.centre) / columns.scale, -10, 10)
        for column in range(3):
            if alone or values[column] in columns.atoms[column]:
                z[column] = 0
        if kind in ("common", "clipped"):
            z = np.clip(z, -0.5, 0.5)
        marks = [float(label == other) for other in (0, 2, 5)]
        for column, atom in ((0, -9.0), (0, 7.0), (1, -5.0)):
            marks.append(float(values[column] == atom and not alone))
        expected = [*([z.sum()] if kind == "common" else z), *marks]
        if kind == "additive":
            expected += [max(z[c] - k, 0) for c in range(3) for k in features.knots[c]]
        if kind == "products":
            expected += [*np.abs(z), *np.minimum(z**2, 25)]
            expected += [z[0] * z[1], z[0] * z[2], z[1] * z[2]]
        np.testing.assert_allclose(table[row], expected, atol=1e-12)
    own = ([-1] if kind == "common" else [0, 1, 2]) + [-1] * 6
    if kind == "additive":
        own += [c for c in range(3) for _ in features.knots[c]]
    if kind == "products":
        own += [0, 1, 2, 0, 1, 2, -1, -1, -1]
    assert owners.tolist() == own


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [64, 699])
def test_features_and_scores_of_blocks_are_those_of_the_whole(kind, block, monkeypatch):
    given = outputs()
    features = Features.of(kind, Columns.of(given), given)
    rng = np.random.default_rng(1)
    size = len(features.owners())
    score = Combination(features, rng.normal(size=(5, size)), (0,), rng.normal(size=5))
    fold = rng.integers(0, 5, 700)
    table = features(given)
    fresh = table @ score.weights.mean(axis=0) - score.shift.mean()
    held = np.array([table[i] @ score.weights[f] - score.shift[f] for i, f in enumerate(fold)])
    monkeypatch.setattr("dpjax.core.threads.ROWS", block)
    np.testing.assert_array_equal(features(given), table)
    np.testing.assert_allclose(score.values(given), fresh, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(score.values(given, fold), held, rtol=1e-5, atol=1e-5)


def test_knots_are_of_the_values_that_are_no_codes():
    given = outputs(3000)
    columns = Columns.of(given)
    knots = Features.of("additive", columns, given).knots
    for column in range(3):
        values = given.values[~given.alone, column]
        rest = values[~np.isin(values, columns.atoms[column])]
        z = (rest - columns.centre[column]) / columns.scale[column]
        np.testing.assert_allclose(knots[column], np.quantile(z, np.arange(1, 8) / 8))
    # The first thousand values that are not codes decide whether an entry has many values.
    values = np.r_[np.arange(600) % 8, np.arange(600) / 600, np.zeros(100)][:, None]
    late = Outputs(np.zeros(1300, np.int32), values, np.zeros(1300, bool))
    found = Columns(np.zeros(1), np.ones(1), np.empty(0, int), (np.empty(0),))
    assert len(Features.of("additive", found, late).knots[0]) == 7


class Sum:
    """A score that is the sum of entries; held-out scores differ by the fold."""

    def values(self, given, fold=None):
        more = 0 if fold is None else 1e-3 * fold
        return (given.values.sum(axis=1) + more).astype(np.float32)


def test_labels_alone_have_cells_of_their_own_beside_the_range_of_a_score():
    given = outputs()
    names = ("a number", "'b'", "'c'", "'d'", "'e'", "'f'")
    fold = np.arange(700) % 5
    cells = _cut(Sum(), Pooled(given, None, fold), names)
    assert cells.names == ("a number", "'f'") and cells.codes.tolist() == [5]
    assert cells.boxed.tolist() == [0] and cells.num_alone == 3
    values = Sum().values(given, fold).astype(float)[~given.alone]
    assert cells.edges[0].min() >= values.min() and len(cells.edges[0]) > 30
    for index, of_fold in ((cells.index(given), None), (cells.index_held_out(given, fold), fold)):
        score = Sum().values(given, of_fold)
        expected = 3 + np.searchsorted(cells.edges[0], score.astype(float), side="right")
        np.testing.assert_array_equal(index, np.where(given.alone, 1, expected))
    # Labels that are not in the pilot, before and after labels in the pilot.
    other = Outputs(np.array([1, 5, 7, 2], np.int32), np.zeros((4, 3)),
                    np.array([True, True, True, False]))  # fmt: skip
    assert cells.index(other)[:3].tolist() == [2, 1, 2] and cells.index(other)[3] >= 3
    whole = _cut(Sum(), Pooled(given._replace(alone=np.ones(700, bool)), None, fold), names)
    assert whole.edges[0].size == 0 and whole.codes.tolist() == [0, 2, 5]
    assert whole.names == ("a number", "a number", "'c'", "'f'")


def test_losses_of_fold_0_are_predicted_from_the_other_folds():
    given = outputs()
    fold, side = np.arange(700) % 5, (np.arange(700) // 3) % 2
    cells = _cut(Sum(), Pooled(given, None, fold), ("a number",) * 6)
    place = cells.index_held_out(given, fold)
    found = _losses(cells, Pooled(given, side, fold))
    expected = []
    for row in np.flatnonzero(fold == 0):
        same = (fold != 0) & (place == place[row])
        ours, theirs = (np.sum(same & (side == s)) + 0.5 for s in (side[row], 1 - side[row]))
        expected.append(-np.log(ours / (ours + theirs)))
    np.testing.assert_allclose(found, expected)
    values = np.array([0.5, -0.25, 1.5, 0.75])
    assert _mean_in_errors(values) == pytest.approx(values.mean() / (values.std() / 2))
    assert _mean_in_errors(np.zeros(3)) == 0


def test_other_scores_than_linear_ones_are_fitted_to_the_first_outputs(monkeypatch):
    """One output more than the pilot adds the scores of clipped entries."""
    assert PILOT == 2**16
    monkeypatch.setattr(_scored, "PILOT", 600)
    rng = np.random.default_rng(3)
    others = ["additive", "products"]
    for size, kinds in ((600, ["linear"]), (601, ["linear", "common", "clipped"])):
        pilot = [
            Outputs(np.zeros(size, np.int32), rng.normal(side, 1.0, (size, 2)),
                    np.zeros(size, bool)) for side in (0.0, 1.0)
        ]  # fmt: skip
        folds = [np.arange(size) % 5] * 2
        found = score_partitions(pilot, folds, ("a number",))
        assert [cells.score.plain()["kind"] for cells in found] == kinds + others
        assert all(isinstance(cells, Scored) for cells in found)
        # The edges are quantiles of the scores of the first outputs only.
        first = Outputs(*(np.concatenate([c[:600] for c in column])
                          for column in zip(*pilot, strict=True)))  # fmt: skip
        held = found[0].score.values(first, np.concatenate([f[:600] for f in folds])).astype(float)
        assert set(found[0].edges[0]) <= set(held)


@pytest.mark.parametrize("num_alone", [0, 60])
def test_ranges_of_scores_are_cut_at_quantiles_of_outputs_with_scores(num_alone):
    """Labels without numbers have no score; their values are stored as 0."""
    values = np.append(np.linspace(1, 2, 140), np.zeros(num_alone))
    alone = values == 0
    given = Outputs(np.where(alone, 1, 0), values[:, None], alone)
    score = SimpleNamespace(values=lambda outputs, fold=None: outputs.values[:, 0])
    cells = _cut(score, Pooled(given, None, np.arange(len(values)) % 5), ["a number", "'none'"])
    assert cells.edges[0].min() >= 1 and cells.codes.tolist() == [1] * (num_alone > 0)
    assert np.bincount(cells.index(given)[~alone]).max() <= 10


def test_columns_of_few_outputs_have_one_code_each():
    def atoms(size):
        rng = np.random.default_rng(5)
        values = rng.normal(size=(size, 40))
        values[: size // 4] = -9.0
        values[size // 4 : size // 2] = 7.0
        values[0] = 7.0
        labels = np.zeros(size, np.int32)
        found = Columns.of(Outputs(labels, values, labels == 1)).atoms
        return {tuple(each.tolist()) for each in found}

    assert atoms(156) == {(7.0,)} and atoms(160) == {(-9.0, 7.0)}


def test_a_difference_of_only_the_frequencies_of_codes_is_found():
    """The shares of zeros are 0.6 and 0.4. Other numbers have equal distributions.

    The numbers of zeros in an output are 4.5 standard deviations apart.
    """
    rng = np.random.default_rng(6)

    def drawn(size):
        for share in (0.6, 0.4):
            values = rng.normal(size=(size, 120)) * (rng.random((size, 120)) > share)
            yield Outputs(np.zeros(size, np.int32), values, np.zeros(size, bool))

    score = score_partitions([*drawn(60)], [np.arange(60) % 5] * 2, ["a number"])[0].score
    x, y = (score.values(side) for side in drawn(1000))
    assert (x.mean() - y.mean()) / x.std() > 2
