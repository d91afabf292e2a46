"""Scores compared with a general minimizer, formulas by hand, and held-out scores."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks.inputs import programs
from dpjax.partitions import Encoder, Outputs, pilot_size, score_partitions
from dpjax.partitions._batches import Pooled
from dpjax.partitions._features import Columns, Features
from dpjax.partitions._logistic import FOLDS, Logistic
from dpjax.partitions._network import NetworkFit, _rounded
from dpjax.partitions._one_entry import entry_partition
from dpjax.partitions._scored import Scored, _losses, _may_win, fold_of
from dpjax.partitions._scores import (
    Combination,
    Weighted,
    _weighted,
    fit_combination,
)

NAMES = ("a number",)
"""Names of the labels of vectors."""


def rng(*seed):
    return np.random.default_rng(seed)


def vectors(values, labels=None, alone=None):
    n = len(values)
    return Outputs(
        np.zeros(n, np.int32) if labels is None else labels,
        values,
        np.zeros(n, bool) if alone is None else alone,
    )


def shifted(seed, n, d, shift=0.5):
    """Return two sides of normals, the first entry of one of them shifted; and their folds."""
    sides = [rng(seed, s).normal(size=(n, d)) for s in (0, 1)]
    sides[1][:, 0] += shift
    return [vectors(side) for side in sides], [fold_of(np.arange(n))] * 2


def loss(weights, table, side, ridge):
    """Return the negative log likelihood with the penalty; the intercept is the last weight."""
    line = table @ weights[:-1] + weights[-1]
    return np.sum(np.logaddexp(0, line) - side * line) + ridge / 2 * np.sum(weights[:-1] ** 2)


@pytest.mark.parametrize("centre", [0.0, 2.5])
@pytest.mark.parametrize("curved", [2**15, 100])
def test_logistic_regression_is_what_a_minimiser_finds(monkeypatch, curved, centre):
    """The second case starts with a fit to every fourth output, and uses threads."""
    monkeypatch.setattr("dpjax.partitions._logistic._CURVED", curved)
    monkeypatch.setattr("dpjax.partitions._logistic._SETTLED", 1e-8)
    monkeypatch.setattr("dpjax.partitions._logistic._HELD_OUT", 1e-8)
    monkeypatch.setattr("dpjax.core.threads.ROWS", 64 if curved == 100 else 2**12)
    monkeypatch.setattr("dpjax.core.threads._FEWEST_CALLS", 2)
    table, side = rng(1).normal(size=(400, 3)), rng(2).integers(0, 2, 400)
    table[:, 1] += side
    # Every fourth output has another distribution, so a fit to them alone differs.
    table[::4, 2] += 0.5 * side[::4]
    spread = np.array([1.0, 0.5, 2.0])
    fold = np.arange(400) // 3 % 5
    fit = Logistic(table * spread + centre, np.full(3, centre), spread, side, fold, 3.0)

    def best(used):
        given = table[used], side[used], 3.0
        return minimize(loss, np.zeros(4), given, method="BFGS", tol=1e-8).x

    whole = best(fold >= 0)
    np.testing.assert_allclose(fit.weights, whole, atol=2e-4)
    expected = [best(fold != number) for number in range(5)]
    np.testing.assert_allclose(fit.without_each_fold(), expected, atol=5e-4)
    # The fit to all outputs is unchanged.
    np.testing.assert_allclose(fit.weights, whole, atol=2e-4)


@pytest.mark.parametrize(
    ("kind", "ridge"), [("common", 1.0), ("clipped", 1.0), ("additive", 3.0), ("products", 10.0)]
)
def test_a_score_of_few_outputs_has_the_penalty_of_its_kind(monkeypatch, kind, ridge):
    """The fits without each fold agree with a minimizer, scaled by the mean of the five."""
    monkeypatch.setattr("dpjax.partitions._logistic._SETTLED", 1e-8)
    monkeypatch.setattr("dpjax.partitions._logistic._HELD_OUT", 1e-8)
    pilot, folds = shifted(9, 40, 3, 1.0)
    outputs = Outputs(*(np.concatenate(column) for column in zip(*pilot, strict=True)))
    side, fold = np.repeat([0, 1], 40), np.concatenate(folds)
    features = Features.of(kind, Columns.of(outputs), outputs)
    table = features(outputs)
    found = []
    for number in range(5):
        rest = fold != number
        given = (table / table.std(axis=0))[rest], side[rest], ridge
        start = np.zeros(table.shape[1] + 1)
        found.append(-minimize(loss, start, given, method="BFGS", tol=1e-8).x[:-1])
    expected = np.array(found) / table.std(axis=0)
    expected /= np.abs(expected.mean(axis=0)).max()
    score = fit_combination(features, Pooled(outputs, side, fold))
    np.testing.assert_allclose(score.weights, expected, atol=2e-3)


def test_columns_by_hand():
    values = np.stack([np.r_[np.zeros(100), rng(3).normal(size=900)], rng(4).normal(size=1000)], 1)
    labels = np.r_[np.zeros(990, np.int32), np.full(10, 4, np.int32)]
    outputs = vectors(values, labels, labels == 4)
    columns = Columns.of(outputs)
    assert columns.atoms[0].tolist() == [0.0] and columns.atoms[1].size == 0
    z, marks = columns.standardize(outputs)
    assert marks.shape == (1000, 3) and marks[:, 0].sum() == 990 and marks[:, 2].sum() == 100
    # An atom and a label without numbers are at the center, in addition to indicators.
    assert not z[:100, 0].any() and not z[990:].any()
    wanted = (values[500, 1] - np.median(values[:990, 1])) / columns.scale[1]
    assert z[500, 1] == pytest.approx(wanted)
    assert np.subtract(*np.quantile(values[:990, 1], [0.75, 0.25])) == pytest.approx(
        1.349 * columns.scale[1]
    )


def test_codes_far_away_change_neither_scale_nor_knots():
    """Most outputs of the first entry are codes; the second entry is one of four codes."""
    random = rng(30)
    told = np.where(random.random(20_000) < 0.2, random.normal(5.0, 2.0, 20_000), -1000.0)
    told[:4000] = -2000.0
    code = random.choice([-1.0, 0.0, 1.0, 7.0], 20_000, p=[0.5, 0.2, 0.2, 0.1])
    outputs = vectors(np.stack([told, code], axis=1))
    columns = Columns.of(outputs)
    assert columns.atoms[0].tolist() == [-2000.0, -1000.0] and not columns.atoms[1].size
    rest = told[told > -1000]
    assert columns.centre[0] == np.median(rest)
    assert columns.scale[0] == pytest.approx(np.subtract(*np.quantile(rest, [0.75, 0.25])) / 1.349)
    of_told, of_code = Features.of("additive", columns, outputs).knots
    z = (rest - columns.centre[0]) / columns.scale[0]
    np.testing.assert_allclose(of_told, np.quantile(z, np.arange(1, 8) / 8))
    np.testing.assert_allclose(of_code * columns.scale[1] + columns.centre[1], [0.0, 1.0])


@pytest.mark.parametrize("number", [1, 8, 9, 20])
def test_a_number_has_at_most_eight_atoms_and_labels_at_most_sixty_four(number):
    """Each atom has a hundredth of the outputs; the lowest ones have indicators."""
    atoms = np.repeat(np.arange(number) - 10.0, 10)
    values = np.r_[atoms, rng(6).normal(size=1000 - atoms.size)][:, None]
    labels = np.arange(1000, dtype=np.int32) % (8 * number)
    columns = Columns.of(vectors(values, labels, np.zeros(1000, bool)))
    assert columns.atoms[0].tolist() == [x - 10.0 for x in range(min(number, 8))]
    assert len(columns.labels) == min(8 * number, 64)


@pytest.mark.parametrize("kind", ["linear", "common", "clipped", "additive", "products"])
def test_features_by_hand(kind):
    outputs = vectors(rng(5).normal(size=(2000, 3)))
    columns = Columns.of(outputs)
    features = Features.of(kind, columns, outputs)
    table, z = features(outputs), columns.standardize(outputs)[0]
    parts = [np.abs(z), np.minimum(z**2, 25)] if kind == "products" else []
    if kind == "additive":
        for column in range(3):
            for level in np.arange(1, 8) / 8:
                hinge = z[:, column] - np.quantile(z[:, column], level)
                parts.append(np.maximum(hinge, 0)[:, None])
    if kind == "products":
        parts.append(np.stack([z[:, 0] * z[:, 1], z[:, 0] * z[:, 2], z[:, 1] * z[:, 2]], 1))
    z = np.clip(z, -0.5, 0.5) if kind in ("common", "clipped") else z
    z = z.sum(axis=1)[:, None] if kind == "common" else z
    np.testing.assert_allclose(table, np.concatenate([z, *parts], axis=1), atol=1e-12)
    assert len(features.owners()) == table.shape[1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["additive", "network"])
def test_an_output_is_scored_by_a_fit_that_did_not_see_it(monkeypatch, kind):
    """Exchanging the sides of one fold changes no held-out score in this fold."""
    # The fits start with different weights, and end near the same weights.
    monkeypatch.setattr("dpjax.partitions._logistic._SETTLED", 1e-8)
    monkeypatch.setattr("dpjax.partitions._logistic._HELD_OUT", 1e-8)
    # Use as many outputs as another test here, so that the networks share a program.
    pilot, folds = shifted(6, 5000, 3)
    outputs = Outputs(*(np.concatenate(column) for column in zip(*pilot, strict=True)))
    side, fold = np.repeat([0, 1], 5000), np.concatenate(folds)
    scores = []
    for turned in (False, True):
        given = np.where((fold == 3) & turned, 1 - side, side)
        if kind == "network":
            score = NetworkFit(Columns.of(outputs), Pooled(outputs, given, fold)).network()
        else:
            features = Features.of("additive", Columns.of(outputs), outputs)
            score = fit_combination(features, Pooled(outputs, given, fold))
        scores.append(score.values(outputs, fold)[fold == 3].astype(float))
    # A combination is scaled by the mean of all five.
    ratio = scores[1] / scores[0]
    assert np.std(ratio) < 0.02 * np.mean(ratio)
    if kind == "network":
        np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("kind", ["linear", "additive"])
@pytest.mark.parametrize("code", [False, True])
def test_fits_without_a_fold_score_outputs_on_one_scale(kind, code):
    """Numbers far from 0, with a small loss, whose weights are mostly errors of the fits.

    A fit to four fifths of n outputs has 5/4 of the error variance. Scores fitted to all outputs
    have correlation r = 1 / sqrt(1 + v) with the truth, so held-out scores have correlation
    1 / sqrt(1 + 5 v / 4). With separate offsets, held-out scores had half of it, because an error
    in a weight is multiplied by 30.
    """
    n, shift = 20_000, 0.02
    values = rng(40).normal(30.0, 1.0, (2 * n, 6))
    values[n:] += shift
    truth = -values.sum(axis=1)
    if code:
        # An entry that is sometimes a code has an indicator; its linear score is not rounded.
        told = rng(41).random(2 * n) < 0.05
        values[:, 0], truth = np.where(told, -1000.0, values[:, 0]), truth + values[:, 0] * told
        truth -= told * 30.0
    side, fold = np.repeat([0, 1], n), np.tile(fold_of(np.arange(n)), 2)
    outputs = vectors(values)
    features = Features.of(kind, Columns.of(outputs), outputs)
    score = fit_combination(features, Pooled(outputs, side, fold))
    whole, held = (np.corrcoef(score.values(outputs, f), truth)[0, 1] for f in (None, fold))
    variance = 1 / whole**2 - 1
    assert 0.4 < whole < 0.95
    assert held > 0.93 / np.sqrt(1 + 1.25 * variance)


def test_a_linear_score_is_what_its_words_say():
    pilot, folds = shifted(7, 3000, 4, shift=1.0)
    pilot[1].values[:, 2] -= 0.5
    (linear,) = [c for c in score_partitions(pilot, folds, NAMES) if isinstance(c.score, Weighted)]
    words = linear.score.words(True)
    outputs = vectors(rng(8).normal(size=(500, 4)))
    written = words.replace("x", "*x").replace("-*x", "-x").replace("- *x", "- x").lstrip("*")
    names = {f"x{i}": outputs.values[:, i] for i in range(4)}
    counted = eval(written.replace("+ *x", "+ x"), {}, names)
    np.testing.assert_array_equal(linear.score.values(outputs), counted.astype(np.float32))
    # The shift of 1 is on side 1, so x0 is evidence against side 0.
    assert words.startswith("-x0 +") and "x1" not in words
    mask = np.arange(linear.size) >= 40
    edge = linear.edges[0][40 - linear.num_alone - 1]
    assert linear.describe(mask, whole=True) == (
        f"the output is a vector with {words} of at least {edge:.17g}"
    )
    np.testing.assert_array_equal(mask[linear.index(outputs)], linear.score.values(outputs) >= edge)


def test_a_scaled_column_gives_the_same_events():
    pilot, folds = shifted(9, 2000, 3)
    moved = [vectors(side.values * [1000.0, 1, 1] + [0, 5.0, 0]) for side in pilot]
    cells = [
        next(c for c in score_partitions(given, folds, NAMES) if isinstance(c.score, Weighted))
        for given in (pilot, moved)
    ]
    first, second = (
        c.score.values(given[0]) for c, given in zip(cells, (pilot, moved), strict=True)
    )
    assert np.corrcoef(first, second)[0, 1] > 0.999


ALL_KINDS = ["linear", "additive", "products"]


def test_which_scores_there_are_enough_outputs_for():
    for n, kinds in ((9, []), (10, ALL_KINDS), (5000, ALL_KINDS)):
        scored = score_partitions(*shifted(10, n, 3), NAMES)
        assert [cells.score.plain()["kind"] for cells in scored][:3] == kinds
    with pytest.raises(ValueError, match=r"at most 1000 numbers each, .* but had 1001 and"):
        score_partitions(*shifted(11, 10, 1001), NAMES)


@pytest.mark.slow
@pytest.mark.parametrize(("level", "wins"), [(0.0, False), (0.5, True)])
def test_a_network_is_trained_where_it_may_win(level, wins):
    """The sign of a product of three normals determines the side; no simpler score shows it.

    For equal sides, the loss of a network is smaller by 2 standard errors for 1 of 50 keys.
    """
    values = np.abs(rng(17).normal(size=(10_000, 3))) * rng(18).choice([-1, 1], (10_000, 3))
    side = np.repeat([1, -1], 5000)
    told = np.where(rng(19).random(10_000) < 1 / (1 + np.exp(-level)), side, -side)
    values[:, 2] *= np.sign(np.prod(values, axis=1)) * told
    folds = [fold_of(np.arange(5000))] * 2
    scored = score_partitions([vectors(values[:5000]), vectors(values[5000:])], folds, NAMES)
    kinds = [cells.score.plain()["kind"] for cells in scored]
    assert kinds == ["linear", "additive", "products"] + ["network"] * wins


def test_when_a_network_may_win():
    """Losses by hand: the cells of the other score determine the side of 3 in 4 outputs."""
    n = 4000
    side, fold = np.arange(n) % 2, fold_of(np.arange(n) // 2)
    seen = np.where(np.arange(n) // 10 % 4 == 0, 1 - side, side)
    outputs = vectors(seen[:, None].astype(float))
    score = SimpleNamespace(values=lambda outputs, fold=None: outputs.values[:, 0])
    cells = Scored(
        ("a number",),
        (np.array([0.5]),),
        (np.empty(0),),
        np.zeros(1, int),
        score=score,
        codes=np.empty(0, int),
        frequent=np.empty(0),
    )
    given = Pooled(outputs, side, fold)
    own = -np.log(np.where(seen == side, 0.75, 0.25))[fold == 0]
    np.testing.assert_allclose(_losses(cells, given), own, atol=0.002)
    noise = rng(20).normal(size=len(own)) * 0.1
    error = 0.1 / np.sqrt(len(own))
    for more, may in ((-9.0, True), (1.0, True), (3.0, False)):
        assert _may_win(own + noise - noise.mean() + more * error, [cells], given) == may
    # Other uninformative scores do not compensate for an uninformative network, either.
    nothing = replace(cells, edges=(np.array([2.0]),))
    for gain, may in ((1.0, False), (3.0, True)):
        losses = np.log(2) + noise - noise.mean() - gain * error
        assert _may_win(losses, [nothing], given) == may
    assert not _may_win(own + noise - noise.mean() + 3 * error, [nothing, cells], given)


@pytest.mark.slow
def test_other_numbers_of_outputs_are_fitted_and_scored_by_the_same_programs():
    def fitted(n):
        pilot, _ = shifted(21, n, 3)
        outputs = Outputs(*(np.concatenate(column) for column in zip(*pilot, strict=True)))
        side = np.repeat([0, 1], n)
        fold = rng(n).integers(0, FOLDS, 2 * n)
        network = NetworkFit(Columns.of(outputs), Pooled(outputs, side, fold)).network()
        return network, outputs, network.values(outputs), network.values(outputs, fold)

    fitted(5000)
    assert programs(lambda: fitted(4900)) == 0
    network, outputs, whole, _ = fitted(4900)
    # The score of an output does not depend on other outputs.
    for rows in (slice(0, 1), slice(7, 400), slice(1000, None, 2)):
        part = Outputs(*(column[rows] for column in outputs))
        np.testing.assert_array_equal(network.values(part), whole[rows])


@pytest.mark.parametrize(
    ("count", "rounded"), [(0, 0), (1, 1), (15, 15), (16, 16), (31, 30), (93, 88), (128, 128)]
)
def test_numbers_of_batches_are_rounded_down(count, rounded):
    assert _rounded(count) == rounded


def test_scores_of_single_numbers_are_fitted_to_more_outputs_than_the_first(monkeypatch):
    """Noise of scale 20 and a shift of 1: the log ratio is nearly a sum of signs.

    A Laplace variable has a correlation of 2^-1/2 with its sign. Clipped at c = .514 scales, it has
    (1 - e^-c) / sqrt(2 - 2 (1 + c) e^-c) = .924. Fits to 80,000 outputs cost about a hundredth.
    """
    monkeypatch.setattr("dpjax.partitions._scored.PILOT", 6000)
    noise = [rng(14, side).laplace(side, 20.0, (40_000, 5)) for side in (0, 1)]
    folds = [fold_of(np.arange(40_000))] * 2
    linear, common, clipped, additive, _ = (
        cells.score for cells in score_partitions([vectors(side) for side in noise], folds, NAMES)
    )
    fresh = rng(15).laplace(0.5, 20.0, (40_000, 5))
    truth = np.sum(np.abs(fresh - 1) - np.abs(fresh), axis=1)
    found = [
        np.corrcoef(score.values(vectors(fresh)), truth)[0, 1]
        for score in (linear, clipped, additive)
    ]
    assert clipped.plain()["kind"] == "clipped"
    # Equal weights lose nothing: a sum of independent terms has their common correlation.
    x = np.linspace(-400, 400, 400_001)
    terms = np.clip(0.5 - x, -10.28, 10.28), np.abs(x - 1) - np.abs(x)
    wanted = np.cov(*terms, aweights=np.exp(-np.abs(x - 0.5) / 20))
    wanted = wanted[0, 1] / np.sqrt(wanted[0, 0] * wanted[1, 1])
    together = np.corrcoef(common.values(vectors(fresh)), truth)[0, 1]
    assert together > found[1] and abs(together - wanted) < 0.004
    assert common.words(False) == "a clipped sum of all entries"
    assert abs(found[0] - 0.70) < 0.03 and abs(found[1] - 0.92) < 0.02 and found[2] < 0.89
    assert clipped.words(False).startswith("the clipped linear score of the entries ")


def test_outputs_are_scored_in_parts(monkeypatch):
    pilot, folds = shifted(16, 5000, 3)
    score = score_partitions(pilot, folds, NAMES)[1].score
    whole = score.values(pilot[0]), score.values(pilot[0], folds[0])
    monkeypatch.setattr("dpjax.core.threads.ROWS", 777)
    monkeypatch.setattr("dpjax.core.threads._FEWEST_CALLS", 2)
    parts = score.values(pilot[0]), score.values(pilot[0], folds[0])
    np.testing.assert_allclose(parts, whole, rtol=1e-6)


@pytest.mark.parametrize(
    ("dimension", "size"), [(1, 2**16), (2, 2**19), (16, 2**19), (20, 6 * 2**16), (500, 2**16)]
)
def test_pilots_are_whole_blocks_of_limited_size(dimension, size):
    assert pilot_size(dimension) == pilot_size(dimension, 2) == size


def test_many_pairs_have_smaller_pilots():
    found = [pilot_size(20, pairs) for pairs in (8, 9, 16, 1000)]
    assert found == [6 * 2**16, 5 * 2**16, 3 * 2**16, 2**16]
    assert pilot_size(1, 8) == 2**16


def test_cells_have_even_shares_and_fine_tails():
    pilot, folds = shifted(12, 4000, 2)
    scored = score_partitions(pilot, folds, NAMES)[0]
    counts = sum(
        np.bincount(scored.index_held_out(side, fold), minlength=scored.size)
        for side, fold in zip(pilot, folds, strict=True)
    )
    assert FOLDS == 5 and scored.size == 62 and abs(counts[2:7].sum() - 62) <= 3
    np.testing.assert_allclose(counts[10:-8], 8000 / 48, atol=2)


def test_a_typical_output_has_the_same_score_by_all_fits_and_by_rounded_weights():
    columns = SimpleNamespace(scale=np.array([2.0, 0.5, 1.0]), centre=np.array([10.0, -3.0, 4.0]))
    score = _weighted(np.random.default_rng(5).normal(size=(FOLDS, 3)) + 2, columns)
    values = np.tile(columns.centre, (FOLDS, 1))
    typical = Outputs(np.zeros(FOLDS, int), values, np.zeros(FOLDS, bool))
    np.testing.assert_allclose(
        score.values(typical, np.arange(FOLDS)), score.values(typical), rtol=1e-6
    )


def test_one_entry_keeps_labels_apart():
    values = rng(13).normal(size=(900, 2))
    labels = np.where(np.arange(900) < 100, 1, 0).astype(np.int32)
    values[labels == 1] = 0
    pilot = [vectors(values, labels, labels == 1)] * 2
    cells = entry_partition(pilot, ["numbers", "'failed'"], 1)
    found = cells.index(pilot[0])
    assert set(found[:100]) == {1} and found[100:].min() > 1
    assert cells.describe(np.arange(cells.size) == 1) == "the output is 'failed'"
    mask = np.arange(cells.size) > 40
    assert cells.describe(mask).startswith("the output is a vector with entry 1 of at least")


@pytest.mark.parametrize(("size", "number"), [(9, 0), (10, 3), (4999, 3)])
def test_scores_that_there_are_enough_outputs_for(size, number):
    """Scores need 10 outputs on the smaller side; others are tested elsewhere."""
    sides, folds = shifted(0, 4999, 2)
    few = [sides[0], Outputs(*(column[:size] for column in sides[1]))]
    assert len(score_partitions(few, [folds[0], folds[1][:size]], NAMES)) == number


def test_a_score_names_its_first_entries_and_the_number_of_others():
    features = SimpleNamespace(kind="linear", columns=SimpleNamespace(centre=np.zeros(7)))
    said = Combination(features, np.zeros(7), (2, 5), np.zeros(FOLDS)).words(False)
    assert said == "the linear score of the entries 2, 5 and 5 more"
    said = Combination(features, np.zeros(7), tuple(range(7)), np.zeros(FOLDS)).words(False)
    assert said == "the linear score of the entries 0, 1, 2, 3, 4, 5, 6"


def test_a_long_sum_is_said_by_its_largest_terms_in_their_order():
    mean = np.array([0.5, -3.0, 0.0, 1.0, 0.1, 2.0, -0.2, 0.3])
    score = Weighted(np.stack([mean] * FOLDS), mean, np.zeros(FOLDS))
    whole = "0.5 x0 - 3 x1 + x3 + 0.1 x4 + 2 x5 - 0.2 x6 + 0.3 x7"
    assert score.words(True) == whole
    assert score.words(False) == "0.5 x0 - 3 x1 + x3 + 2 x5 + 0.3 x7 and 2 more terms"
    few = np.where(np.abs(mean) > 0.25, mean, 0)
    assert Weighted(np.stack([few] * FOLDS), few, np.zeros(FOLDS)).words(False) == whole.replace(
        " + 0.1 x4", ""
    ).replace(" - 0.2 x6", "")


def test_cells_of_a_score_name_it_in_short_in_recipes_and_in_full_in_whole_words():
    mean = np.array([0.5, -3.0, 0.0, 1.0, 0.1, 2.0, -0.2, 0.3])
    score = Weighted(np.stack([mean] * FOLDS), mean, np.zeros(FOLDS))
    parts = tuple(f"['{letter}']" for letter in "abcdefgh")
    none = np.empty(0)
    cells = Scored(
        NAMES,
        (np.array([1.0]),),
        (none,),
        np.zeros(1, int),
        parts=parts,
        score=score,
        codes=none,
        frequent=none,
    )
    short = "0.5 x['a'] - 3 x['b'] + x['d'] + 2 x['f'] + 0.3 x['h'] and 2 more terms"
    whole = "0.5 x['a'] - 3 x['b'] + x['d'] + 0.1 x['e'] + 2 x['f'] - 0.2 x['g'] + 0.3 x['h']"
    assert cells.plain() == {"words": short, "kind": "linear", "weights": mean.tolist()}
    upper = np.arange(cells.size) == cells.size - 1
    assert cells.describe(upper) == f"the output is a vector with {short} of at least 1"
    assert cells.describe(upper, whole=True) == f"the output is a vector with {whole} of at least 1"


@pytest.mark.parametrize("size", [1e308, 1e200, 1e-30, 1e-160, 1e-190, 1e-310])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scores_of_huge_and_tiny_entries_are_finite(size):
    sides, folds = shifted(9, 600, 2, 0.0)
    for side, sign in zip(sides, (-1.0, 1.0), strict=True):
        side.values[:, 1] = sign * size * rng(10).choice([0.25, 0.5, 1.0], 600)
    for cells in score_partitions(sides, folds, NAMES):
        assert np.isfinite(cells.score.values(sides[0])).all()
        if size > 1e-40:
            # The sign of the second entry separates the sides. Float32 cannot hold tiny scores.
            places = [cells.index(side) for side in sides]
            assert not set(places[0]) & set(places[1])


def test_a_network_is_judged_by_the_first_fold(monkeypatch):
    """The first fold has five outputs, the second has seven; the sides of the first are known."""
    fold, side = np.repeat([0, 1], [50, 70]), np.tile([0, 1], 60)
    monkeypatch.setattr("dpjax.partitions._scored._losses", lambda *given: np.full(50, np.log(2)))
    near = 0.01 * np.arange(50)
    assert _may_win(0.1 + near, ["another"], Pooled("outputs", side, fold))
    assert not _may_win(1.0 + near, ["another"], Pooled("outputs", side, fold))
    # If nine of ten outputs outside of the fold are on one side, this alone is informative.
    side = np.where(fold == 0, 0, np.arange(120) % 10 == 0).astype(int)
    assert not _may_win(0.2 + near, ["another"], Pooled("outputs", side, fold))


def test_a_combination_in_plain_numbers():
    """Means over the folds are also used to score fresh outputs."""
    columns = Columns(
        np.array([1.0, -2.0]), np.array([0.5, 4.0]), np.array([0]), (np.zeros(0), np.array([3.0]))
    )
    features = Features("linear", columns, ())
    weights = np.arange(20.0).reshape(5, 4)
    found = Combination(features, weights, (0,), np.array([1.0, 2.0, 3.0, 4.0, 10.0])).plain()
    assert found == {
        "kind": "linear", "centre": [1.0, -2.0], "scale": [0.5, 4.0], "labels": [0],
        "atoms": [[], [3.0]], "knots": [], "coefficients": [8.0, 9.0, 10.0, 11.0],
        "constant": -4.0,
    }  # fmt: skip
    named = Features("additive", columns, (np.array([0.5]), np.zeros(0)))
    assert Combination(named, weights, (0,), np.zeros(5)).plain()["knots"] == [[0.5], []]


@pytest.mark.parametrize(
    ("weights", "mean", "monotonic"),
    [([[1.1, 0.0], [0.9, 0.0]], [1.0, 0.0], False), ([[1.1, 0.0], [0.9, 0.01]], [1.0, 0.0], True),
     ([[1.1, 0.5], [0.9, 0.5]], [1.0, 0.5], True)],
)  # fmt: skip
def test_the_loss_is_monotonic_along_scores_of_two_entries(weights, mean, monotonic):
    """Level sets of a score of two entries may miss fresh outputs, whose weights are rounded."""
    score = Weighted(np.array(weights), np.array(mean), np.zeros(2))
    cells = Scored(("a number",), (np.zeros(1),), (np.empty(0),), np.zeros(1, int), score=score,
                   codes=np.zeros(0, int), frequent=np.empty(0))  # fmt: skip
    assert cells.monotonic == monotonic


def test_all_fits_of_a_single_entry_are_the_same_score():
    """The fits of a symmetric distribution have weights of both signs, and a mean near 0."""
    columns = SimpleNamespace(scale=np.array([2.0]), centre=np.array([10.0]))
    score = _weighted(np.array([[1.0], [-1.2], [0.9], [-0.8], [0.11]]), columns)
    given, fold = vectors(rng(1).normal(size=(50, 1))), np.arange(50) % 5
    np.testing.assert_array_equal(score.values(given, fold), score.values(given))


@pytest.mark.parametrize("kind", ["weighted", "linear", "products"])
def test_equal_outputs_have_equal_scores_in_every_array(kind):
    """Sums with cancellation reveal every change of the order of additions.

    If scores depended on the layout or on the number of outputs, an edge between two cells could
    be between the scores of equal outputs of both sides.
    """
    d = 20
    codes = rng(50).integers(-1, 2, (40_000, d)).astype(float)
    outputs = vectors(codes)
    if kind == "weighted":
        weights = np.round(rng(51).normal(size=d), 2)
        score = Weighted(np.tile(weights, (5, 1)), weights, np.zeros(5))
        rows = codes[np.argsort(np.abs(score.values(outputs)))[:20]]
        shifts = np.zeros(20)
    else:
        features = Features.of(kind, Columns.of(outputs), outputs)
        size = len(features.owners())
        score = Combination(features, rng(52).normal(size=(5, size)), (0,), np.zeros(5))
        rows = codes[:20]
        shifts = features(vectors(rows)) @ score.weights.mean(axis=0)
    for row, shift in zip(rows, shifts, strict=True):
        score, scores = replace(score, shift=np.full(5, shift)), set()
        for number in (1, 2, 3, 5, 8, 17, 100, 4097):
            for order in "CF":
                equal = np.asarray(np.tile(row, (number, 1)), order=order)
                scores |= {*score.values(Encoder("it").encode(equal)).tolist()}
        assert len(scores) == 1 and abs(scores.pop()) < 1e-12


@pytest.mark.parametrize("dimension", [20, 100])
def test_scores_of_few_outputs_are_held_out(dimension):
    """Equal sides: scores that are not held out would tell apart most of 90 outputs per side.

    The probability that a difference of means exceeds 6 standard errors is below 1e-8.
    """
    generator = rng(31)
    sides = [vectors(generator.normal(size=(90, dimension))) for _ in range(2)]
    folds = [fold_of(np.arange(90))] * 2
    for cells in score_partitions(sides, folds, NAMES):
        first, second = (cells.index_held_out(*given) for given in zip(sides, folds, strict=True))
        error = np.sqrt((first.var() + second.var()) / 90)
        assert abs(first.mean() - second.mean()) < 6 * error
