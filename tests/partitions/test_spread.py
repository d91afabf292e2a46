"""Linear scores of thousands of numbers."""

import json

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm

import dpjax
from dpjax.partitions import Outputs, _factors
from dpjax.partitions._entries import Entries
from dpjax.partitions._one_entry import OneEntry
from dpjax.partitions._scored import Scored, score_partitions
from dpjax.partitions._scores import OfAll
from dpjax.partitions._spread import _SHRUNK, Moments, Spread, in_slices
from dpjax.partitions._wide import Wide
from dpjax.partitions.outputs import Encoder
from dpjax.sources._learned import _chance, lay_best

WIDTH = 3000


def drawn(seed, sizes, mu, width=WIDTH):
    """Return normal vectors of two sides, whose means differ by mu in the Euclidean norm."""
    rng = np.random.default_rng(seed)
    shift = rng.normal(size=width)
    shift *= mu / np.linalg.norm(shift)
    return [rng.normal(size=(sizes[0], width)), rng.normal(size=(sizes[1], width)) + shift], shift


def folds_of(sides):
    return [np.arange(side.shape[0]) % 5 for side in sides]


def fitted(sides, groups=None):
    folds = folds_of(sides)
    groups = [np.ones(sides[0].shape[1], bool)] if groups is None else groups
    return Spread.of(sides, folds, Moments.of(sides, folds), groups)


def by_hand(sides, fold, shrunk):
    """Return a score without one fold: a function from outputs to numbers of variance one."""
    x, y = (side[np.arange(len(side)) % 5 != fold] for side in sides)
    variances = (x.var(axis=0) + y.var(axis=0)) / 2
    errors = np.sqrt(x.var(axis=0) / len(x) + y.var(axis=0) / len(y))
    gap = x.mean(axis=0) - y.mean(axis=0)
    gap = np.sign(gap) * np.maximum(np.abs(gap) - shrunk * errors, 0)
    weights = gap / variances
    middle = (x.mean(axis=0) + y.mean(axis=0)) / 2
    size = np.sqrt((weights**2) @ variances)
    return lambda rows: (rows - middle) @ weights / max(size, 1e-300)


def separation(sides, shrunk):
    """Return the difference of held-out scores, in standard errors."""
    scores = [np.empty(len(side)) for side in sides]
    for fold in range(5):
        score = by_hand(sides, fold, shrunk)
        for held, side in zip(scores, sides, strict=True):
            held[fold::5] = score(side[fold::5])
    error = np.sqrt(sum(np.var(held) / len(held) for held in scores))
    return (scores[0].mean() - scores[1].mean()) / max(error, 1e-300)


@pytest.mark.parametrize("few", [False, True])
def test_scores_are_those_of_shrunken_centroids(monkeypatch, few):
    monkeypatch.setattr(_factors, "_NUMBERS", ())
    sides, _ = drawn(1, (60, 75), 0.0 if few else 4.0)
    sides[1][:, :50] += few
    sides = [side * np.geomspace(1e-3, 1e3, WIDTH) + 1e4 for side in sides]
    found = fitted(sides)
    best = max(_SHRUNK, key=lambda shrunk: separation(sides, shrunk))
    assert (best > 1) is few
    scores = found.scores(sides[1])
    for fold in range(5):
        np.testing.assert_allclose(
            scores[:, fold], by_hand(sides, fold, best)(sides[1]), 1e-6, 1e-6
        )


def test_sparse_numbers_have_the_same_scores():
    rng = np.random.default_rng(2)
    counts = [rng.poisson(rate, (80, 500)).astype(float) for rate in (0.1, 0.15)]
    dense, thin = fitted(counts), fitted([*map(sparse.csr_array, counts)])
    np.testing.assert_allclose(thin.weights, dense.weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(thin.shift, dense.shift)
    assert thin.largest == dense.largest


def test_sparse_numbers_may_be_constant_or_large():
    """Times in seconds since 1970, and a constant whose sums are rounded, do not hide the rest."""
    sides, _ = drawn(5, (80, 80), 4.0, 300)
    for side in sides:
        side[:, 0] += 1.7e9
        side[:, 1] = 0.1
        side[:7, 2] = 0.0
    dense, thin = fitted(sides), fitted([*map(sparse.csr_array, sides)])
    np.testing.assert_allclose(thin.weights, dense.weights, rtol=1e-9, atol=1e-12)
    assert not thin.weights[1].any() and thin.weights[0].any()


@pytest.mark.parametrize("size", [1e-310, 1e-161, 1e-155, 1e-120, 1e120, 1e300])
def test_tiny_and_huge_numbers_do_not_overflow(size):
    sides, _ = drawn(6, (80, 80), 6.0, 300)
    with np.errstate(under="ignore"):
        usual = separation(sides, 0.0)
        for side in sides:
            side[:, :3] *= size
            side[::20, 3] = size
        score = fitted(sides)
    assert np.isfinite(score.weights).all()
    x, y = (score.scores(side).mean(axis=1) for side in sides)
    assert (x.mean() - y.mean()) / np.sqrt((x.var() + y.var()) / 80) > 0.9 * usual


def test_fresh_outputs_are_told_apart_as_well_as_theory_says(monkeypatch):
    monkeypatch.setattr(_factors, "_NUMBERS", ())
    # With weights that are fitted to n outputs per side, two shifted normal distributions in d
    # dimensions are separated by mu^2 / sqrt(mu^2 + 2 d / n) standard deviations. Each score uses
    # 4/5 of the outputs, and their mean nearly all of them. Standard error of each mean: 0.022.
    sides, shift = drawn(1, (500, 500), 4.0)
    fresh = np.random.default_rng(10).normal(size=(2, 2000, WIDTH))
    fresh[1] += shift
    x, y = (fitted(sides).scores(rows).mean(axis=1) for rows in fresh)
    wanted = 16 / np.sqrt(16 + 2 * WIDTH / 500)
    assert (x.mean() - y.mean()) / x.std() == pytest.approx(wanted, abs=0.16)


def test_held_out_scores_of_equal_sides_do_not_differ():
    # With scores that are not held out, the difference would exceed 20 standard errors. The largest
    # of five correlated differences exceeds 5.5 with a probability below 2e-7.
    for seed in range(8):
        sides, _ = drawn(seed, (50, 50), 0.0)
        assert max(separation(sides, shrunk) for shrunk in _SHRUNK) < 5.5
        found = fitted(sides)
        if found is not None:
            x, y = (
                np.take_along_axis(found.scores(side), np.arange(50)[:, None] % 5, 1)
                for side in sides
            )
            assert (x.mean() - y.mean()) / np.sqrt((x.var() + y.var()) / 50) < 5.5


def test_no_score_without_a_difference_or_with_few_outputs():
    sides, _ = drawn(3, (19, 50), 20.0)
    assert fitted(sides) is None
    assert fitted([np.zeros((50, 9)), np.zeros((50, 9))]) is None
    # One number alone needs no score.
    sides = drawn(3, (50, 50), 0.0)[0]
    sides[1][:, 7] += 30
    only = np.arange(WIDTH) == 7
    assert fitted(sides, [only]) is None and fitted(sides, [only | (np.arange(WIDTH) < 2)]) is None
    sides[1][:, 8] += 30
    assert {7, 8} == {*fitted(sides, [only | (np.arange(WIDTH) == 8)]).largest}
    # Numbers that never vary but differ have a finite score.
    found = fitted([np.zeros((50, 9)), np.ones((50, 9))])
    scores = found.scores(np.array([[0.0] * 9, [1.0] * 9]))
    assert np.isfinite(scores).all() and np.all(scores[0] > scores[1] + 1)


def test_equal_outputs_have_equal_scores_in_all_batches():
    sides, _ = drawn(4, (50, 50), 5.0)
    wide = Wide.of([outputs(side) for side in sides], folds_of(sides))
    whole = wide.narrowed(outputs(sides[0])).values
    for start, stop in ((0, 1), (7, 20), (49, 50)):
        part = wide.narrowed(outputs(sides[0][start:stop])).values
        np.testing.assert_array_equal(part, whole[start:stop])


def outputs(values):
    return Outputs(np.zeros(len(values), np.int32), values, np.zeros(len(values), bool))


def test_slices_cover_a_table_of_any_size():
    for rows in (0, 1, 5):
        table = np.arange(rows * 2.0**21).reshape(rows, 2**21)
        parts = [part for _, part in in_slices(table)]
        assert len(parts) == max(-(-rows // 2), 1)
        np.testing.assert_array_equal(np.concatenate(parts), table)


WORDS = [f"word{a}{b}{c}" for a in "abcdefghij" for b in "abcdefghij" for c in "abcdefghij"]


def text(share, rng):
    """Return 60 of 1,000 words, of which 300 are `share` times as frequent as the others."""
    chances = np.ones(1000)
    chances[:300] *= share
    return " ".join(rng.choice(WORDS, 60, p=chances / chances.sum()))


def test_an_encoder_of_texts_is_restored():
    rng = np.random.default_rng(5)
    sides = [[text(share, rng) for _ in range(200)] for share in (1.0, 2.0)]
    encoder = Encoder("it")
    pilots = encoder.fixed([encoder.encode(side) for side in sides])
    entries = encoder.entries
    assert entries.spread == len(entries.paths) - 5 and entries.candidates > 1000
    assert entries.of(len(entries.paths)) == [*range(entries.spread)]
    # The words that differ most differ by chance, so that they are in no other score.
    assert entries.reliable <= 2 < 8 <= entries.spread
    assert "[count of 'word" in entries.paths[-1] and "more" in entries.paths[-1]
    again = Encoder("it")
    again.restore(json.loads(json.dumps(encoder.to_plain())))
    assert again.entries == entries
    for one, other in ((pilots[1], encoder.encode(sides[1])), (pilots[1], again.encode(sides[1]))):
        np.testing.assert_array_equal(one.values, other.values)
    assert not any("score" in note for note in encoder.notes())


def test_words_that_change_a_little_together_are_found():
    # Three of ten words are 1.7 times as frequent. Their number has a mean of 18 or 25 of 60, and a
    # standard deviation of 3.6, but no word occurs in more than 10% of the texts.
    method = dpjax.Events(150, 450)
    result = dpjax.audit(text, [(1.0, 1.7)], method=method, confidence=0.95, key=1)
    assert "linear score of the entries [count of 'word" in result.witness.output
    assert result.lower_bound > 0.8


def test_the_score_of_an_output_of_the_search_set_is_held_out():
    values = np.arange(24.0).reshape(3, 8)
    fold = np.array([4, 0, 1])
    np.testing.assert_array_equal(OfAll(3, "it").values(outputs(values), fold), [7, 11, 20])
    np.testing.assert_array_equal(OfAll(3, "it").values(outputs(values)), [5, 13, 21])
    values[0, 3:] = 1e200
    assert np.isfinite(OfAll(3, "it").values(outputs(values))).all()


@pytest.mark.slow
def test_networks_compete_with_a_score_of_all_entries():
    rng = np.random.default_rng(8)
    sides = [rng.normal(size=(5000, 1010)) for _ in range(2)]
    sides[1][:, :40] += 0.3
    encoder = Encoder("it")
    pilots = encoder.fixed([encoder.encode(side) for side in sides])
    found = score_partitions(pilots, folds_of(sides), ["it"], encoder.entries)
    assert isinstance(found[0].score, OfAll) and len(found) >= 4
    # The second one is the linear score of the mean, the norm and the 40 entries that differ.
    assert 42 <= len(found[1].score.mean) == encoder.entries.reliable < 50


def test_entries_that_may_differ_by_chance_promise_less():
    sides, _ = drawn(6, (300, 300), 0.0, 2)

    def chosen(candidates):
        promise = lambda cells, halves, number: 1.0  # noqa: E731
        entries = Entries(("['a']", "['b']"), candidates)
        return lay_best([*map(outputs, sides)], folds_of(sides), ["it"], promise, entries)

    assert isinstance(chosen(0), OneEntry) and isinstance(chosen(1000), Scored)


def test_equal_outputs_have_no_score():
    """The single cell of a score without weights would have no edges to describe."""
    pilots = [outputs(np.ones((60, 3)))] * 2
    assert score_partitions(pilots, folds_of([np.ones((60, 3))] * 2), ["a number"]) == []
    pilots[1] = outputs(np.ones((60, 3)) * [1, 2, 1])
    assert score_partitions(pilots, folds_of([np.ones((60, 3))] * 2), ["a number"])


def test_probability_of_chance():
    # In one cell, 14 of 500 and 0 of 500: standard error sqrt(.014 * .986 * 2 / 500).
    z = 0.028 / np.sqrt(0.014 * 0.986 * 2 / 500)
    assert _chance(np.array([[486, 14], [500, 0]])) == pytest.approx(2 * norm.sf(z))
    # The first two cells together differ most.
    z = 0.5 / np.sqrt(0.5 * 0.5 * 2 / 100)
    counts = np.array([[40, 35, 25, 0], [10, 15, 50, 25]])
    assert _chance(counts) == pytest.approx(2 * norm.sf(z))
    assert _chance(np.array([[5, 5], [5, 5]])) == 1
    assert _chance(np.array([[5, 0], [0, 5]])) < 0.01
