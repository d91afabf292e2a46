"""Vectors with more entries than are compared."""

import numpy as np
import pytest
from scipy.stats import iqr, norm

from dpjax.partitions import Outputs
from dpjax.partitions._entries import NO_ENTRIES, Entries
from dpjax.partitions._nested import SPREAD
from dpjax.partitions._scored import score_partitions
from dpjax.partitions._wide import MOST_COLUMNS, Wide
from dpjax.partitions.outputs import Encoder

WIDTH = 1500


def outputs(values, alone=None):
    size = len(values)
    alone = np.zeros(size, bool) if alone is None else np.array(alone)
    return Outputs(np.zeros(size, np.int32), np.asarray(values, float), alone)


@pytest.fixture(scope="module")
def sides():
    """Return outputs of two sides that differ in every third entry, by three deviations."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 50, WIDTH))
    y[:, ::3] += 3.0
    x[:, 7] = 1.0  # A constant entry that differs comes first.
    y[:, 7] = 2.0
    x[:, 8] = y[:, 8] = 5.0  # A constant entry that does not differ comes last.
    return x, y


def in_errors(x, y):
    """Return the differences of the means in standard errors."""
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt(x.var(axis=0) / len(x) + y.var(axis=0) / len(y))
        return np.nan_to_num(np.abs(x.mean(axis=0) - y.mean(axis=0)) / errors, posinf=1e300)


def test_entries_that_differ_most_are_chosen(sides):
    x, y = sides
    wide = Wide.of([outputs(x), outputs(y)], [np.arange(50) % 5] * 2)
    assert wide is not None and len(wide.chosen) == MOST_COLUMNS - 2
    assert {7, *range(0, WIDTH, 3)} <= {*wide.chosen.tolist()}
    assert 8 not in wide.chosen and np.sum(np.diff(wide.chosen) < 0) == 1
    middle = np.median(np.concatenate([x, y]), axis=0)
    near = iqr(np.concatenate([x, y]), axis=0) / (2 * np.ptp(norm.ppf([0.25, 0.75])))
    ratios = np.max(
        [
            in_errors(x, y),
            in_errors(np.abs(x - middle), np.abs(y - middle)),
            in_errors(np.clip(x - middle, -near, near), np.clip(y - middle, -near, near)),
        ],
        axis=0,
    )
    # The ratio 4.1 hardly occurs among 4,500 numbers that do not differ.
    assert wide.reliable == np.sum(ratios > np.sqrt(2 * np.log(3 * WIDTH))) >= 500
    assert np.all(np.diff(wide.chosen[: wide.reliable]) > 0)
    left_out = np.setdiff1d(np.arange(WIDTH), wide.chosen)
    assert ratios[wide.chosen].min() >= ratios[left_out].max() * (1 - 1e-9)


def test_entries_whose_scales_differ_are_chosen():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 200, WIDTH))
    y[:, ::100] *= 3
    wide = Wide.of([outputs(x), outputs(y)], [np.arange(200) % 5] * 2)
    # Distances differ by 10 standard errors. One other number exceeds 4.1 with probability 0.17.
    assert {*range(0, WIDTH, 100)} <= {*wide.chosen[: wide.reliable].tolist()}
    assert wide.reliable < 20


def test_exceptions_are_no_vectors_of_zeros(sides):
    """The numbers are chosen and scored as without the exceptions, which are only on one side."""
    fold = np.arange(50) % 5
    x, y = (side + 100 for side in sides)
    without = Wide.of([outputs(x), outputs(y)], [fold, fold])
    alone = [True] * 30 + [False] * 50
    some = outputs(np.concatenate([np.zeros((30, WIDTH)), x]), alone)
    wide = Wide.of([some, outputs(y)], [np.concatenate([fold[:30], fold]), fold])
    np.testing.assert_array_equal(wide.chosen, without.chosen)
    assert wide.reliable == without.reliable
    np.testing.assert_array_equal(wide.spread.spread.weights, without.spread.spread.weights)
    # If one side has no vectors, all entries of the other side differ.
    wide = Wide.of([outputs(np.zeros((50, WIDTH)), [True] * 50), outputs(y)], [fold, fold])
    assert wide.reliable == MOST_COLUMNS - 2


def test_mean_and_norm_are_those_of_all_entries(sides):
    x = sides[0].copy()
    x[3] = 1e200  # The entries are clipped to 2^500, and the norm does not overflow.
    wide = Wide(np.array([2, 5]), 1, WIDTH, None, 50)
    found = wide.narrowed(outputs(x, [False] * 49 + [True])).values
    np.testing.assert_array_equal(found[:49, 2:], x[:49][:, [2, 5]])
    np.testing.assert_allclose(found[:3, 0], x[:3].mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(found[:3, 1], np.linalg.norm(x[:3], axis=1), rtol=1e-12)
    assert np.isfinite(found).all() and not found[49].any()


@pytest.mark.parametrize(("width", "is_wide"), [(1200, True), (980, False)])
def test_scores_are_no_entries_of_vectors_beside_texts(width, is_wide):
    """The scores of texts are five columns, but only other columns make outputs wide."""
    rng, encoder = np.random.default_rng(9), Encoder("it")
    pilots = []
    for shift in (0, 60):
        words = rng.integers(100 + shift, size=(60, 40))
        texts = [" ".join(f"w{word}" for word in row) for row in words]
        pilots.append(encoder.encode([*texts, *rng.normal(size=(30, width))]))
    encoder.fixed(pilots)
    assert ("norm of all entries" in str(encoder.parts)) == is_wide
    scores = [number for number, path in enumerate(encoder.parts) if SPREAD in path]
    assert scores == [*range(len(encoder.parts) - 5, len(encoder.parts))]


def test_narrow_outputs_are_left_as_they_are():
    assert Wide.of([outputs(np.zeros((3, MOST_COLUMNS)))] * 2, [np.arange(3)] * 2) is None
    assert Wide.of([], []) is None
    wide, narrow = Wide(np.array([2, 5]), 1, WIDTH, None, 50), outputs(np.ones((3, 4)))
    assert wide.narrowed(narrow) is narrow


def test_entries_chosen_from_few_outputs_are_all_used_later():
    paths = ("[3]", "[1]", "[2]", "unused 0", *(f"{SPREAD} {n}: it" for n in range(5)))
    entries = Entries(paths, 9, 1, 16)
    assert [entries.fitted(size) for size in (16, 31, 32, 900)] == [1, 1, 3, 3]
    assert NO_ENTRIES.fitted(900) is None
    rng = np.random.default_rng(4)
    pilots = [outputs(rng.normal(size=(40, 9))) for _ in range(2)]
    folds = [np.arange(40) % 5] * 2
    for size, number in ((30, 1), (20, 3)):
        given = entries._replace(num_outputs=size)
        *_, linear = score_partitions(pilots, folds, ["a number"], given)[:2]
        assert linear.score.weights.shape == (5, number)


def test_names_of_entries():
    wide = Wide(np.array([2, 5]), 1, WIDTH, None, 50)
    further = ("['mean of all entries']", "['norm of all entries']")
    assert wide.entries(())[:4] == ((*further, "[2]", "[5]"), WIDTH, 3, 50)
    paths = wide.entries([f"['w'][{n}]" for n in range(WIDTH)]).paths
    assert paths == (*further, "['w'][2]", "['w'][5]")


def test_an_encoder_is_restored(sides):
    x, y = sides
    encoder = Encoder("it")
    pilots = encoder.fixed([encoder.encode(x), encoder.encode(y)])
    assert encoder.dimension == pilots[0].values.shape[1] == MOST_COLUMNS + 5 == len(encoder.parts)
    again = Encoder("it")
    again.restore(encoder.to_plain())
    for one, other in ((encoder.encode(y), again.encode(y)), (pilots[1], again.encode(y))):
        np.testing.assert_array_equal(one.values, other.values)
    assert again.parts == encoder.parts


@pytest.mark.parametrize("width", [1001, 1003, 1005, 1006, 1010])
def test_all_outputs_have_the_same_columns(sides, width):
    """The number of columns, which may be 5 more than MOST_COLUMNS, is less than the width."""
    encoder = Encoder("it")
    pilots = encoder.fixed([encoder.encode(side[:, :width]) for side in sides])
    assert encoder.dimension < width and encoder.entries.spread is not None
    for side, pilot in zip(sides, pilots, strict=True):
        np.testing.assert_array_equal(encoder.encode(side[:, :width]).values, pilot.values)
        np.testing.assert_array_equal(encoder.padded(pilot).values, pilot.values)


def test_entries_are_chosen_again_from_all_numbers(sides):
    encoder, other = Encoder("it"), Encoder("it")
    encoder.keeps_all = True
    few = [encoder.encode(side[:20]) for side in sides]
    first = encoder.fixed(few)
    whole = [encoder.encode(side) for side in sides]
    assert whole[0].values.shape == (50, WIDTH) and encoder.padded(whole[0]).values.shape[1] < WIDTH
    pilots = encoder.choose_again(whole)
    assert not np.array_equal(pilots[0].values[:20], first[0].values)
    for pilot, wanted in zip(pilots, other.fixed([*map(other.encode, sides)]), strict=True):
        np.testing.assert_array_equal(pilot.values, wanted.values)


def test_nested_outputs_are_wide(sides):
    encoder = Encoder("it")
    for side in sides:
        encoder.encode([{"w": row[:900].tolist(), "b": row[900:].tolist()} for row in side])
    (pilot,) = encoder.fixed([encoder.encode([{"w": [1.0] * 900, "b": [2.0] * 600}])] * 1)
    assert pilot.values.shape == (1, MOST_COLUMNS)
    mean, norm = pilot.values[0, :2]
    assert mean == pytest.approx((900 + 1200) / 1500)
    assert norm == pytest.approx((900 + 4 * 600) ** 0.5)
