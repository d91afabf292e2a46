"""Scores of transforms of numbers: of their distances from a centre, and of clipped numbers."""

import json

import numpy as np
import pytest

import dpjax
from dpjax.partitions import Outputs, _factors
from dpjax.partitions._moments import Moments, in_slices
from dpjax.partitions._scored import score_partitions
from dpjax.partitions._scores import Cancelling
from dpjax.partitions._spread_of_vectors import SpreadOfVectors
from dpjax.partitions._transforms import Table, Transforms

WIDTH = 400
NORMAL, LAPLACE = np.random.Generator.standard_normal, np.random.Generator.laplace


def drawn(seed, size, shift=0.0, scale=1.0, draw=NORMAL):
    """Return vectors of two sides, whose differences in location and scale have these norms."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], WIDTH) / np.sqrt(WIDTH)
    x, y = draw(rng, size=(2, size, WIDTH))
    return x, y * (1 + (scale - 1) * np.abs(signs)) + shift * signs


def fitted(sides):
    tables = Table.of(sides)
    folds = [np.arange(len(side)) % 5 for side in sides]
    return SpreadOfVectors.of(tables, folds, Moments.of(tables, folds))


def separation(score, sides):
    """Return the difference of the means of fresh outputs, in standard deviations."""
    x, y = (score.scores(side).mean(axis=1) for side in sides)
    return (x.mean() - y.mean()) / np.sqrt((x.var() + y.var()) / 2)


def test_columns_and_their_names():
    rows = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0], [6.0, 1.0], [1e300, 1.0]])
    given = Transforms.of([rows[:2], rows[2:]])
    np.testing.assert_array_equal(given.centre, [4, 1])
    # Quartiles 2 and 6; one number does not vary.
    np.testing.assert_allclose(given.limit, [0.5 * 4 / 1.349, 0])
    found = given.columns(np.array([[3.0, 7.0], [-9.0, 1.0]]))
    limit = given.limit[0]
    np.testing.assert_allclose(found, [[3, 7, 1, 6, -1, 0], [-9, 1, 13, 0, -limit, 0]])
    assert np.isfinite(given.columns(rows)).all()
    names = [given.name(place, lambda number: f"x{number}") for place in range(5)]
    assert names == ["x0", "x1", "|x0 - 4|", "|x1 - 1|", "clip(x0, 2.52, 5.48)"]
    below = Transforms(np.array([-2.0]), np.array([1.0]))
    assert below.name(1, str) == "|0 + 2|" and below.name(2, str) == "clip(0, -3, -1)"


def test_tables_are_computed_in_slices():
    rows = np.random.default_rng(1).normal(size=(5, 2**19))
    given = Transforms(np.full(2**19, 0.5), np.ones(2**19))
    table = Table(rows, given)
    parts = [part for _, part in in_slices(table)]
    assert len(parts) == 3 and table.shape == (5, 3 * 2**19)
    np.testing.assert_array_equal(np.concatenate(parts), given.columns(rows))


# With weights that are fitted to n outputs per side, two distributions of d independent numbers are
# separated by mu^2 / sqrt(mu^2 + 2 d / n) standard deviations, where mu is the separation with the
# best weights. The standard error is about 0.05 for 1,000 fresh outputs per side.
@pytest.mark.parametrize(
    ("shift", "scale", "draw", "mu", "columns"),
    [
        # Means of distances: 0.8; variances: 1 - 2 / pi. The scale of the side is 1 or 1.25.
        (0.0, 6.0, NORMAL, 5 * 0.798 / (1.13 * 0.603), {1}),
        # A Laplace density is 0.5 at the centre. Numbers that are clipped to within 0.5 deviations
        # (0.514) have the variance 2 (1 - exp(-0.514) (1 + 0.514)) = 0.19 and a slope of 0.402.
        (4.0, 1.0, LAPLACE, 4 * 0.402 / np.sqrt(0.189), {2}),
        (4.0, 1.0, NORMAL, 4.0, {0}),
    ],
)
def test_transforms_separate_as_well_as_theory_says(monkeypatch, shift, scale, draw, mu, columns):
    monkeypatch.setattr(_factors, "_NUMBERS", ())
    sides = drawn(3, 1500, shift, scale, draw)
    found = fitted([side[:500] for side in sides])
    wanted = mu**2 / np.sqrt(mu**2 + 2 * WIDTH / 500)
    fresh = [side[500:] for side in sides]
    assert separation(found, fresh) == pytest.approx(wanted, abs=0.25)
    assert {place // WIDTH for place in found.spread.largest} == columns
    assert (found.transforms is None) is (columns == {0})


@pytest.mark.parametrize("draw", [NORMAL, LAPLACE])
def test_scores_add_differences_of_location_and_of_scale(monkeypatch, draw):
    """The sum separates more than its parts; squared separations would add if they were known."""
    monkeypatch.setattr(_factors, "_NUMBERS", ())
    sides = drawn(4, 2500, 3.0, 2.8, draw)
    first, fresh = [side[:500] for side in sides], [side[500:] for side in sides]
    found = fitted(first)
    alone = [fitted(drawn(4, 500, *given, draw)) for given in ((3.0, 1.0), (0.0, 2.8))]
    best = max(separation(score, fresh) for score in alone)
    # The standard error of each separation is about 0.03.
    assert separation(found, fresh) > 1.2 * best
    used = found.spread.weights.reshape(3, WIDTH, 5).any(axis=(1, 2))
    assert used.tolist() == [draw is NORMAL, True, draw is LAPLACE]


def test_equal_differences_of_scale_need_few_outputs(monkeypatch):
    """Weights that are fitted separately would have a separation of only 2.5."""
    monkeypatch.setattr(_factors, "_NUMBERS", ())
    sides = drawn(8, 2100, 0.0, 4.5)
    found = fitted([side[:100] for side in sides])
    # Means of distances differ by 0.798 * 3.5 = 2.79, with deviations of 0.603 on average 1.09.
    wanted = 2.79 / (0.603 * 1.09)
    # The standard error is 0.06.
    assert separation(found, [side[100:] for side in sides]) == pytest.approx(wanted, abs=0.35)


def test_the_larger_difference_has_larger_weights(monkeypatch):
    monkeypatch.setattr(_factors, "_NUMBERS", ())
    sides = drawn(4, 500, 6.0, 2.5)
    weights = fitted(sides).spread.weights.reshape(3, WIDTH, 5)[:2].mean(axis=2)
    size = np.linalg.norm(weights, axis=1) * [1, np.sqrt(1 - 2 / np.pi)]
    # Both kinds of columns separate the sides by 6.0 and by 1.9, and by 1.4 more by chance.
    assert 2 < size[0] / size[1] < 3.5


def test_scores_are_restored():
    sides = drawn(5, 100, 0.0, 12.0)
    found = fitted(sides)
    again = SpreadOfVectors.restored(json.loads(json.dumps(found.to_plain())))
    np.testing.assert_array_equal(again.scores(sides[1]), found.scores(sides[1]))
    paths = found.paths(lambda place: f"x{place}")
    assert len(paths) == 5 and again.paths(lambda place: f"x{place}") == paths
    assert "entries |x" in paths[0]


def test_a_partition_by_distances():
    sides = drawn(6, 150, 0.0, 10.0)
    folds = [np.arange(150) % 5] * 2
    pilot = [Outputs(np.zeros(150, np.int32), side, np.zeros(150, bool)) for side in sides]
    cells = score_partitions(pilot, folds, ["a number"])
    (score,) = (each.score for each in cells if isinstance(each.score, Cancelling))
    spread = fitted(sides)
    np.testing.assert_allclose(
        score.values(pilot[0]), spread.scores(sides[0]).mean(axis=1), atol=1e-4
    )
    assert score.words(False).startswith("the linear score of the entries |")
    assert score.words(True).count("|") == 2 * np.count_nonzero(score.mean)
    assert score.words(False, tuple(f"['a'][{n}]" for n in range(WIDTH))).count("|['a'][") == 3
    plain = score.plain()
    by_hand = Transforms(*(np.array(plain[name]) for name in ("centre", "limit")))
    scores = by_hand.columns(sides[1]) @ plain["weights"] + plain["constant"]
    np.testing.assert_allclose(score.values(pilot[1]), scores, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("width", [WIDTH, 1500])
def test_an_audit_finds_a_difference_of_scale(width):
    # The norm hides half of the entries behind the other half. Each entry separates by 0.12, and
    # all together by 0.12 * sqrt(width / 2) * 1.12 = 1.9 or 3.7 standard deviations.
    rng = np.random.default_rng(7)
    sides = rng.normal(size=(2, 2000, width))
    sides[1] *= np.where(np.arange(width) % 2, 1.12, 1 / 1.12)
    notion = dpjax.Epsilon(delta=0.01)
    result = dpjax.audit(dpjax.Recorded(*sides), notion=notion, confidence=0.95)
    assert result.lower_bound > 2
