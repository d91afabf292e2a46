"""Recorded outputs: numbered and split once, without loss and without using outputs twice."""

import re
from collections import Counter

import jax
import numpy as np
import pytest

import dpjax
from dpjax.core.types import FiniteSpace, RealSpace, VectorSpace
from dpjax.densities import Fixed, Scott
from dpjax.partitions import Box
from dpjax.sources import Recorded
from dpjax.sources._outcomes import _stands_out, number_outcomes

RNG = np.random.default_rng(0)
REALS = RNG.normal(size=1001), RNG.normal(1, size=1001)
VECTORS = RNG.normal(size=(501, 3)), RNG.normal(size=(501, 3))
INTEGERS = RNG.integers(3, 9, 400), RNG.integers(5, 12, 400)
LABELS = RNG.choice(["no", "yes", "maybe"], 400), RNG.choice(["no", "yes"], 400)


def prepare(x, y, *, discrete=None, search_fraction=0.3, seed=7, smooth=None):
    recorded = Recorded(x, y, discrete=discrete, search_fraction=search_fraction)
    smoothing = None if smooth is None else dpjax.Local(bandwidth=smooth).bandwidth_of
    return recorded.arrays(None, None, jax.random.key(seed), smoothing)


def parts(prepared, side):
    return np.asarray(prepared.streams.search[side]), np.asarray(prepared.streams.confirm[side])


# The split.


@pytest.mark.parametrize("fraction", [0.1, 0.25, 0.4])
def test_the_parts_of_reals_are_disjoint_and_together_everything(fraction):
    """All values differ, so a union that equals all outputs has no output in both parts."""
    prepared = prepare(*REALS, search_fraction=fraction)
    for side in (0, 1):
        search, confirm = parts(prepared, side)
        assert len(search) == prepared.sizes[0] == int(1001 * fraction)
        assert len(confirm) == prepared.sizes[1] == 1001 - int(1001 * fraction)
        expected = (REALS[side] - prepared.origin).astype(np.float32)
        np.testing.assert_array_equal(np.sort(np.concatenate([search, confirm])), np.sort(expected))
        assert not set(search.tolist()) & set(confirm.tolist())


def test_rows_of_vectors_stay_together():
    prepared = prepare(*VECTORS)
    for side in (0, 1):
        both = np.concatenate(parts(prepared, side))
        expected = (VECTORS[side] - prepared.origin).astype(np.float32)
        assert Counter(map(tuple, both.tolist())) == Counter(map(tuple, expected.tolist()))


def test_outcomes_are_all_there_after_the_split():
    for x, y in (INTEGERS, LABELS):
        prepared = prepare(x, y)
        for side, values in enumerate((x, y)):
            both = np.concatenate(parts(prepared, side))
            assert both.dtype == np.int32
            assert Counter(prepared.labels[both].tolist()) == Counter(values.tolist())


def test_the_key_alone_decides_the_split():
    same, again, other = prepare(*REALS), prepare(*REALS), prepare(*REALS, seed=8)
    for side in (0, 1):
        for first, second in zip(parts(same, side), parts(again, side), strict=True):
            np.testing.assert_array_equal(first, second)
        assert not np.array_equal(parts(same, side)[0], parts(other, side)[0])


def test_the_split_is_not_by_position_and_differs_between_the_sides():
    """The mean position of 300 of 1000 has sd 14; 4.6 sd on two sides have probability 8e-6."""
    x = np.arange(1000.0)
    prepared = prepare(x, x + 0.5)
    first, second = (np.floor(parts(prepared, i)[0] + prepared.origin) for i in (0, 1))
    for chosen in (first, second):
        assert abs(chosen.mean() - 499.5) < 4.6 * np.sqrt(1000**2 / 12 / 300 * 0.7)
    assert not np.array_equal(np.sort(first), np.sort(second))


def test_the_longer_side_is_cut_and_said():
    prepared = prepare(REALS[0], REALS[1][:900])
    assert prepared.sizes[0] + prepared.sizes[1] == 900
    assert (
        "x has 1001 outputs and y has 900; 900 random outputs of each were used." in prepared.notes
    )
    said = "270 outputs per side form the search set, and the other 630 form the confirmation set."
    assert said in prepared.notes


# Kinds.


@pytest.mark.parametrize(
    ("sides", "discrete", "space"),
    [
        (REALS, None, RealSpace()),
        (tuple(side[:, None] for side in REALS), None, RealSpace()),
        (VECTORS, None, VectorSpace(3)),
        (INTEGERS, None, FiniteSpace(9)),
        (tuple(side.astype(float) for side in INTEGERS), None, FiniteSpace(9)),
        (LABELS, None, FiniteSpace(3)),
        (tuple(side.astype(object) for side in LABELS), None, FiniteSpace(3)),
        (tuple(side > 6 for side in INTEGERS), None, FiniteSpace(2)),
        (tuple(np.round(side, 2) for side in REALS), False, RealSpace()),
        ((np.arange(1000), np.arange(1000) + 1000), False, RealSpace()),
        (tuple(np.round(side, 2) for side in REALS), True, FiniteSpace(490)),
    ],
    ids=str,
)
def test_kinds(sides, discrete, space):
    prepared = prepare(*sides, discrete=discrete)
    assert prepared.space == space
    assert (prepared.labels is None) != isinstance(space, FiniteSpace)


def normal(x, y, *, key=0, claim=None, discrete=None, **options):
    method = dpjax.Local(**options)
    recorded = dpjax.Recorded(x, y, discrete=discrete)
    return dpjax.audit(recorded, method=method, claim=claim, key=key, confidence=0.95)


def rounded_laplace(seed, scale, size):
    """Rounding is post-processing, and the ratio in the tails is e: epsilon is 1."""
    rng = np.random.default_rng(seed)
    return [np.rint(scale * (c + rng.laplace(size=size))).astype(np.int64) for c in (0, 1)]


def test_integers_of_a_wide_range_are_smoothed():
    x, y = rounded_laplace(0, 1000, 20_000)
    # No single outcome has a positive bound.
    assert normal(x, y, discrete=True).lower_bound < 0.1
    result = normal(x, y)
    assert 0.7 < result.lower_bound < 1.05
    said = next(note for note in result.notes if "wide range" in note)
    assert "discrete=True" in said and "method=Events()" in said
    unsigned = [(side + 10**6).astype(np.uint32) for side in (x, y)]
    assert normal(*unsigned).lower_bound == pytest.approx(result.lower_bound, rel=1e-3)


@pytest.mark.slow
def test_smoothed_integers_have_a_bound_that_covers():
    """Each of 400 bounds exceeds 1 with probability 0.05: more than 41 have probability 7e-6."""
    bounds = [
        normal(*rounded_laplace(seed, 14, 1000), key=seed, bandwidth=3.0).lower_bound
        for seed in range(400)
    ]
    assert sum(bound > 1 for bound in bounds) <= 41
    assert np.median(bounds) > 0.3


@pytest.mark.parametrize(
    ("factor", "bandwidth", "space"),
    [(1, 3.0, RealSpace()), (1, 2.9, None), (100, 300.0, RealSpace()), (100, 290.0, None)],
)
def test_integers_are_smoothed_where_the_bandwidth_spans_several(factor, bandwidth, space):
    x, y = (side * factor for side in rounded_laplace(1, 14, 1000))
    prepared = prepare(x, y, smooth=Fixed(bandwidth))
    distinct = len(set(x) | set(y))
    assert prepared.space == (space or FiniteSpace(distinct))
    said = any("method=Events() compares sets of outcomes" in note for note in prepared.notes)
    assert said == (space is None)


def test_integers_stay_outcomes_where_one_is_frequent_or_all_are_large():
    x, y = rounded_laplace(1, 1000, 1000)
    assert prepare(x, y, smooth=Scott()).labels is None
    assert prepare(np.maximum(x, 0), y, smooth=Scott()).labels is not None
    assert prepare(x + 2**60, y + 2**60, smooth=Scott()).labels is not None
    assert prepare(x, y).labels is not None
    # A region of outcomes is a list of outcomes.
    assert normal(x, y, region=x[:5].tolist()).region.startswith("{")


def test_integers_of_two_types_are_exact():
    x = np.array([2**63 + 1, 2**63 + 2] * 200, np.uint64)
    prepared = prepare(x, np.array([2**53, 2**53 + 1] * 200))
    assert prepared.labels.tolist() == [2**53, 2**53 + 1, 2**63 + 1, 2**63 + 2]
    assert prepare(np.array([5, 6] * 200, np.uint64), np.array([-5, 6] * 200)).labels[0] == -5
    with pytest.raises(ValueError, match=f"one side had -1 and the other {2**63 + 2}"):
        prepare(x, np.array([-1, 6] * 200))


def test_what_was_taken_for_what_is_said():
    assert "The integers were treated as outcomes (9 distinct)." in prepare(*INTEGERS).notes
    floats = prepare(*(side.astype(float) for side in INTEGERS))
    assert any("Only 9 distinct numbers occur among the 240" in note for note in floats.notes)
    assert any("treated as reals" in note for note in prepare(*REALS).notes)


def test_labels_come_back_in_the_callers_words():
    prepared = prepare(*LABELS)
    assert [prepared.relabel(i) for i in range(3)] == ["maybe", "no", "yes"]
    region = prepared.region_of(["yes", "maybe"])
    assert region.allowed.tolist() == [True, False, True]
    assert prepared.region_of(None).allowed.tolist() == [True] * 3
    numbers = prepare(*INTEGERS)
    assert [numbers.relabel(i) for i in range(9)] == list(range(3, 12))
    assert numbers.region_of([3, 11]).allowed.tolist() == [True] + [False] * 7 + [True]
    with pytest.raises(ValueError, match=r"region must hold outcomes .*recorded, but had \[99\]"):
        numbers.region_of([3, 99])


# Reals.


def test_a_large_location_keeps_its_digits():
    """At 1e9, float32 numbers are 64 apart: without the shift, all values would be equal."""
    prepared = prepare(*(1e9 + side for side in REALS))
    for side in (0, 1):
        both = np.concatenate(parts(prepared, side)).astype(float) + prepared.origin
        # A float64 at 1e9 resolves 1e-7, and a float32 near 3 resolves 2e-7.
        np.testing.assert_allclose(np.sort(both) - 1e9, np.sort(REALS[side]), atol=1e-6)
    region = prepared.region_of((1e9 - 1, 1e9 + 2))
    np.testing.assert_allclose(region.low + prepared.origin, 1e9 - 1, rtol=0, atol=1e-6)
    np.testing.assert_allclose(region.high + prepared.origin, 1e9 + 2, rtol=0, atol=1e-6)
    assert prepared.relabel(0.25) == pytest.approx(1e9 + 0.75, abs=0.1)


def test_the_region_of_reals_moves_with_them():
    prepared = prepare(*VECTORS)
    for region in (([-1, -1, -1], [1, 1, 2]), Box([-1, -1, -1], [1, 1, 2], 5)):
        box = prepared.region_of(region)
        np.testing.assert_allclose(box.low + prepared.origin, [-1, -1, -1], atol=1e-6)
        np.testing.assert_allclose(box.high + prepared.origin, [1, 1, 2], atol=1e-6)
    assert box.num_points == 5
    assert prepared.text_of(box) == "[-1, 1] x [-1, 1] x [-1, 2]"
    point = prepared.relabel([0.0, 0.5, 1.0])
    np.testing.assert_allclose(point, prepared.origin + np.array([0.0, 0.5, 1.0]))


def test_a_region_far_from_zero_tells_its_ends_apart():
    # Use as many outputs as for the integers above, so that no other program is compiled.
    x, y = np.random.default_rng(0).normal(np.array([[1e9], [1e9 + 1]]), size=(2, 20_000))
    low, high = map(float, normal(x, y).region.strip("[]").split(", "))
    pooled = np.concatenate([x, y])
    assert abs(low - np.quantile(pooled, 0.005)) < 0.5 > abs(high - np.quantile(pooled, 0.995))


def test_the_default_region_is_the_search_part_without_its_tails():
    prepared = prepare(*REALS)
    pooled = np.sort(np.concatenate([parts(prepared, side)[0] for side in (0, 1)]))
    box = prepared.region_of(None)
    # Of 600 outputs, three are below the 0.5% quantile and three above the 99.5% quantile.
    assert pooled[2] <= box.low[0] <= pooled[3]
    assert pooled[-4] <= box.high[0] <= pooled[-3]


# Refusals.

NORMAL = REALS[0]


def broken(value, at=5):
    out = NORMAL.copy()
    out[at] = value
    return out


@pytest.mark.parametrize(
    ("x", "y", "options", "error", "message"),
    [
        (broken(np.nan), NORMAL, {}, ValueError, "x must hold finite .* 1 of 1001 were NaN"),
        (NORMAL, broken(np.inf), {}, ValueError, "y must hold finite .* 1 of 1001 were NaN"),
        (broken(1e39), REALS[1], {}, ValueError, r"x must hold .* 3.4e\+38 .* distance of 1e\+39"),
        (REALS[1], broken(-1e300), {}, ValueError, r"y must hold .* of the median .* of 1e\+300: "),
        (np.ones(500), np.ones(500), {}, ValueError, "x and y hold only one outcome, 1.0"),
        (np.ones(1001), NORMAL, {"discrete": False}, ValueError, r"x is constant \(1\.0\)"),
        (NORMAL, np.ones(1001), {"discrete": False}, ValueError, r"y is constant \(1\.0\)"),
        (
            broken(0.0, slice(0, 90)),
            REALS[1],
            {},
            ValueError,
            "x holds the value 0 in .% of its search set",
        ),
        (
            NORMAL[:199],
            NORMAL,
            {},
            ValueError,
            "at least 200 outputs each for a density estimate, but the shorter one held 199",
        ),
        (
            INTEGERS[0][:39],
            INTEGERS[1],
            {},
            ValueError,
            "at least 40 outputs each, but the .* held 39",
        ),
        (LABELS[0], NORMAL, {}, TypeError, "hold outputs of one kind, but held labels and numbers"),
        (LABELS[0], LABELS[1], {"discrete": False}, TypeError, "labels cannot be treated as reals"),
        (VECTORS[0], NORMAL, {}, TypeError, re.escape("the shapes (501, 3), (1001,)")),
        (VECTORS[0], VECTORS[1][:, :2], {}, TypeError, re.escape("(501, 3), (501, 2)")),
        (*VECTORS, {"discrete": True}, ValueError, "discrete outputs must be a vector"),
        (np.ones((9, 2, 2)), NORMAL, {}, ValueError, r"x must have the shape \[n\] or \[n, d\]"),
        (3.0, NORMAL, {}, TypeError, r"x must be an array or a list .* but was 3\.0 \(float\)"),
        (NORMAL + 1j, NORMAL, {}, TypeError, "x must hold numbers or labels, .* complex128"),
        ([1, "a", None] * 99, NORMAL, {}, TypeError, "x must hold either numbers or labels"),
        ([[1.0], [1.0, 2.0]], NORMAL, {}, TypeError, "x must hold either numbers or labels"),
        (np.array([["a", "b"]] * 99), LABELS[0], {}, TypeError, "x must be a vector of labels"),
        (*REALS, {"search_fraction": 1e-4}, ValueError, "at least 10 outputs .*of 1001 is only 0"),
        (np.array([]), np.array([]), {}, ValueError, "x and y must hold at least"),
    ],
)
def test_refusals(x, y, options, error, message):
    with pytest.raises(error, match=message):
        prepare(x, y, **options)


@pytest.mark.parametrize("seed", range(3))
def test_an_error_code_among_wide_integers_is_not_smoothed_away(seed):
    rng = np.random.default_rng(seed)
    x, y = (c + rng.geometric(0.02, 4000) - rng.geometric(0.02, 4000) for c in (500, 501))
    x[rng.random(4000) < 0.04] = -1
    rule = dpjax.Local().bandwidth
    prepared = prepare(x, y, smooth=rule)
    assert prepared.labels is not None and -1 in prepared.labels
    if seed == 0:
        # Each seed has different outcomes, which need another program.
        result = normal(x, y, claim=1.0)
        assert result.verdict == "violated" and result.witness.output == -1
    # If even numbers occur on one side only, smoothing hides what distinguishes the sides.
    wide = np.rint(1000 * rng.laplace(size=(2, 20_000))).astype(int)
    prepared = prepare(2 * wide[0], 2 * wide[1] + 1, smooth=rule)
    assert prepared.labels is not None
    assert not any("smoothed" in note for note in prepared.notes)


@pytest.mark.slow
@pytest.mark.parametrize("more", [0, 1])
def test_there_may_be_two_to_the_twentieth_outcomes_and_no_more(more):
    sides = [np.arange(2**20 + more)] * 2
    if more:
        with pytest.raises(ValueError, match="1048577 distinct outcomes, more than 2"):
            number_outcomes(*sides)
        return
    first, second, labels = number_outcomes(*sides)
    assert len(labels) == 2**20 and np.array_equal(labels[first], labels[second])


@pytest.mark.parametrize(("count", "step"), [(11, 1), (12, 1), (12, 5), (15, 1), (31, 1)])
def test_a_value_stands_out_among_its_six_neighbors(count, step):
    """At least 12 times, and six more than three times as often as its neighbors on average."""
    around = np.arange(-500, 500) * 7 * step
    alone = np.r_[around, np.full(count, 1)]
    assert _stands_out(alone, step) == (count >= 12)
    # Each of the six neighbors has four draws: 3 * 4 + 6 do not suffice, but one more does.
    crowded = np.r_[around[around > 100], np.repeat(np.delete(np.arange(7), 3) * step, 4)]
    for more in (18, 19):
        assert _stands_out(np.r_[crowded, np.full(more, 3 * step)], step) == (more == 19)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("dimension", "scales"), [(1, (1e-17, 1e16)), (2, (1e-17, 3e13)), (3, (1e-11, 3e8))]
)
def test_local_audits_of_outputs_of_any_scale_are_alike_or_refused(dimension, scales):
    rng = np.random.default_rng(dimension)
    x, y = rng.normal(size=(2, 4000, dimension))
    y[:, 0] += 1

    def audited(scale):
        sides = (scale * side[:, 0] if dimension == 1 else scale * side for side in (x, y))
        return dpjax.audit(dpjax.Recorded(*sides), method=dpjax.Local())

    expected = audited(1.0)
    for scale, beyond in zip(scales, (1e-3, 1e3), strict=True):
        found = audited(scale)
        assert found.lower_bound == pytest.approx(expected.lower_bound, abs=2e-3)
        assert found.estimate == pytest.approx(expected.estimate, abs=2e-3)
        with pytest.raises(ValueError, match=r"spread between|nearly constant"):
            audited(scale * beyond)
