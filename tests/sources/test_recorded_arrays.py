"""Recorded outputs as arrays: which are rejected, how they are split, and their coordinates."""

import numpy as np
import pytest

import dpjax
from dpjax import Local, Recorded
from dpjax.core import random
from dpjax.partitions import Box
from dpjax.sources._recorded_arrays import _check_reals, _interval, _shuffled, recorded_arrays


def laplace(*seed, size=1000, shift=0.0):
    return np.random.default_rng(seed).laplace(size=size) + shift


def arrays(x, y, region=None, **options):
    return recorded_arrays(Recorded(x, y, **options), region, random.as_key(3), None)


def test_all_outputs_of_the_shorter_side_are_used_once():
    x, y = laplace(1, size=300), laplace(2, size=450)
    found = arrays(x, y, search_fraction=0.25)
    assert found.sizes == (75, 225)
    whole = [
        np.concatenate(parts)
        for parts in zip(found.streams.search, found.streams.confirm, strict=True)
    ]
    np.testing.assert_allclose(np.sort(whole[0] + found.origin[0]), np.sort(x), atol=1e-5)
    # Of the longer side, the outputs with the smallest random words are used.
    mixed = _shuffled(y, random.as_key(3), 1)
    np.testing.assert_allclose(whole[1] + found.origin[0], mixed[:300], atol=1e-5)
    assert sorted(mixed.tolist()) == sorted(y.tolist()) and not np.array_equal(mixed, y)
    assert "x has 300 outputs and y has 450; 300 random outputs of each were used." in found.notes
    assert found.notes[-1].startswith("75 outputs per side form the search set, and the other 225 ")
    assert found.settings == {
        "discrete": None, "search_fraction": 0.25, "generator": "philox4x64",
    }  # fmt: skip


def test_the_origin_is_the_median_and_the_region_the_bulk():
    x, y = laplace(1, shift=1e6), laplace(2, shift=1e6)
    found = arrays(x, y)
    assert found.origin[0] == pytest.approx(np.median(np.concatenate([x, y])))
    search = np.concatenate(found.streams.search)
    np.testing.assert_allclose(
        [found.region.low[0], found.region.high[0]], np.quantile(search, [0.005, 0.995]), rtol=1e-5
    )
    given = arrays(x, y, region=(1e6 - 2.0, 1e6 + 3.0))
    assert given.region_text == "[999998, 1000003]"
    np.testing.assert_allclose(given.region.high - given.region.low, 5.0)
    assert given.relabel(0.5) == pytest.approx(found.origin[0] + 0.5)
    points = Box(np.array([1e6 - 2.0]), np.array([1e6 + 3.0]), 17)
    assert arrays(x, y, region=points).region.num_points == 17


def test_vectors_have_an_origin_for_each_entry():
    rng = np.random.default_rng(1)
    x, y = rng.normal(np.array([5.0, 900.0]), 1.0, size=(2, 400, 2))
    found = arrays(x, y, region=([4.0, 899.0], [6.0, 901.0]))
    np.testing.assert_allclose(found.origin, np.median(np.concatenate([x, y]), axis=0))
    assert found.region_text == "[4, 6] x [899, 901]"
    assert found.relabel([0.0, 1.0]) == pytest.approx([found.origin[0], found.origin[1] + 1.0])


def test_labels_and_their_region():
    x, y = np.array(list("abcdefgh" * 20)), np.array(list("abcdefgg" * 20))
    found = arrays(x, y)
    assert [found.relabel(number) for number in range(3)] == ["a", "b", "c"]
    assert found.region_text == "{a, b, c, d, e, f, ... (8 in all)}"
    some = arrays(x, y, region=list("abcdef"))
    assert some.region_text == "{a, b, c, d, e, f}"
    np.testing.assert_array_equal(np.flatnonzero(some.region.allowed), np.arange(6))
    with pytest.raises(ValueError, match=r"outcomes that were recorded, but had \['z'\]"):
        arrays(x, y, region=["a", "z"])
    for region in ("abc", 3):
        with pytest.raises(TypeError, match="region must be a list of outcomes"):
            arrays(x, y, region=region)


@pytest.mark.parametrize(
    ("x", "y", "options", "error", "message"),
    [
        (np.zeros((50, 2)), np.zeros(50), {}, TypeError, r"same dimension, .*\(50, 2\), \(50,\)"),
        (np.zeros(50), np.array(["a"] * 50), {}, TypeError, "held numbers and labels"),
        (laplace(1, size=199), laplace(2, size=300), {}, ValueError,
         "at least 200 outputs each for a density estimate, but the shorter one held 199"),
        (np.arange(39) % 3, np.arange(60) % 3, {}, ValueError,
         "at least 40 outputs each, but the shorter one held 39"),
        (laplace(1, size=200), laplace(2, size=200), {"search_fraction": 0.045}, ValueError,
         "at least 10 outputs per side into the search set, but 0.045 of 200 is only 9"),
        (np.array([np.nan, np.inf] + [0.0] * 98), np.zeros(100), {}, ValueError,
         "x must hold finite numbers, but 2 of 100 were NaN or infinite"),
        (np.array(["a", 1.5] * 50, object), np.zeros(100), {}, TypeError,
         r"x must hold either numbers or labels, but held the types \['float', 'str'\]"),
    ],
)  # fmt: skip
def test_refusals(x, y, options, error, message):
    with pytest.raises(error, match=message):
        arrays(x, y, **options)


@pytest.mark.parametrize("search_fraction", [0.05, 0.4])
def test_the_smallest_recordings_that_are_accepted(search_fraction):
    found = arrays(laplace(1, size=200), laplace(2, size=200), search_fraction=search_fraction)
    assert found.sizes == (200 * search_fraction, 200 * (1 - search_fraction))
    rng = np.random.default_rng(0)
    assert arrays(rng.integers(0, 3, 40), rng.integers(0, 3, 40)).sizes[0] >= 10


def test_what_has_no_density():
    reals = laplace(1, size=1000)
    _check_reals(reals, reals)
    # Five of 100, plus 3 standard errors, are not yet an atom: 50 + 3 * 50 ** 0.5 = 71.2.
    few, many = reals.copy(), reals.copy()
    few[:71], many[:72] = 0.5, 0.5
    _check_reals(few, reals)
    for name, sides in (("x", (many, reals)), ("y", (reals, many))):
        with pytest.raises(ValueError, match=rf"{name} holds the value 0.5 in 7% of its search"):
            _check_reals(*sides)
    with pytest.raises(ValueError, match=r"y is constant \(2.0\), so it has no density"):
        _check_reals(reals, np.full(1000, 2.0))
    with pytest.raises(TypeError, match="labels cannot be treated as reals"):
        _check_reals(np.array(["a", "b"]), reals)


def test_intervals_are_rounded_to_a_part_of_their_width():
    assert _interval(0.1234567, 2.7654321) == "[0.123457, 2.76543]"
    assert _interval(1e6, 1e6 + 1.23456) == "[1000000, 1000001.23]"
    assert _interval(-3e8, 2.0) == "[-3e+08, 2]"


def test_files_are_read_for_the_other_method(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("".join(f"{value}\n" for value in laplace(1)))
    with pytest.raises(TypeError, match="needs outputs in memory, but x was a Recording"):
        dpjax.audit(Recorded(dpjax.Recording(file), laplace(2)), method=Local())


@pytest.mark.parametrize(("number", "text"), [
    (6, "{k0, k1, k2, k3, k4, k5}"), (7, "{k0, k1, k2, k3, k4, k5, ... (7 in all)}"),
])  # fmt: skip
def test_regions_of_labels_show_six_of_them(number, text):
    rng = np.random.default_rng(1)
    names = np.array([f"k{i}" for i in range(9)])
    x, y = (names[rng.integers(0, 9, 900)] for _ in "xy")
    assert arrays(x, y, region=names[:number].tolist()).region_text == text


def test_a_region_far_from_0_must_be_increasing():
    x, y = (1e9 + laplace(side, size=400) for side in (1, 2))
    with pytest.raises(ValueError, match=r"was low \[1000000001.0\], high \[999999999.0\]"):
        arrays(x, y, region=(1e9 + 1, 1e9 - 1))
