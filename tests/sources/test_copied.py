"""Copies within one side are rejected or noted, and genuine recordings are neither."""

import numpy as np
import pytest
from scipy.stats import poisson
from sides import values

import dpjax
from dpjax import Local, Recorded, Recording
from dpjax.sources._copied import notes_of_copies, refuse_copies


def said(x, y):
    """Return the error message or the note about copies for two sides, or nothing."""
    sides = values(x), values(y)
    try:
        for side in sides:
            refuse_copies("x", side)
    except ValueError as error:
        return str(error)
    return " ".join(notes_of_copies(*sides))


def rng(*seed):
    return np.random.default_rng(seed)


def twice(draws):
    return np.concatenate([draws, draws])


COPIED = {
    "two copies": lambda r: twice(r.laplace(size=1000)),
    "shuffled copies": lambda r: r.permutation(twice(r.laplace(size=1000))),
    "three copies": lambda r: r.permutation(np.tile(r.laplace(size=700), 3)),
    "seven copies": lambda r: r.permutation(np.tile(r.laplace(size=300), 7)),
    "eleven copies": lambda r: r.permutation(np.tile(r.laplace(size=200), 11)),
    "thirteen copies": lambda r: r.permutation(np.tile(r.laplace(size=200), 13)),
    "35 copies of labels": lambda r: r.permutation(np.repeat(r.integers(0, 10**6, 90), 35)),
    "four of decimals": lambda r: r.permutation(np.tile(r.laplace(size=500).round(2), 4)),
    "bits": lambda r: twice(r.integers(0, 2, 500)),
    "labels, and more": lambda r: np.array(["a", "b", "c"])[
        np.concatenate([(first := r.integers(0, 3, 300)), r.integers(0, 3, 41), first])
    ],
    "sorted rows": lambda r: np.sort(twice(r.normal(size=400))),
}


@pytest.mark.parametrize("name", COPIED)
def test_copies_are_refused(name):
    for seed in range(25):
        x, y = COPIED[name](rng(seed, 1)), COPIED[name](rng(seed, 2))
        assert "must hold independent outputs, but" in said(x, y)


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_resamples_and_doubled_rows_are_said(share):
    for seed in range(25):
        sides = []
        for side in (1, 2):
            r = rng(seed, side)
            own = r.laplace(size=1000)
            sides.append(np.concatenate([own, r.choice(own, int(4000 * share))]))
        assert "occur on one side only. If outputs were copied" in said(*sides)


HONEST = {
    "reals": lambda r, n: r.normal(size=n),
    "float32": lambda r, n: r.laplace(size=n).astype(np.float32),
    "float16": lambda r, n: r.laplace(size=n).astype(np.float16),
    "cauchy": lambda r, n: r.standard_cauchy(n),
    "decimals": lambda r, n: r.normal(size=n).round(2),
    "coarse": lambda r, n: r.normal(size=n).round(1),
    "vectors": lambda r, n: r.normal(size=(n, 2)).round(1),
    "geometric": lambda r, n: r.geometric(0.3, n),
    "wide integers": lambda r, n: r.geometric(0.001, n),
    "rarely twice": lambda r, n: r.integers(0, 2 * n, n),
    "zipf": lambda r, n: r.zipf(1.5, n),
    "many times": lambda r, n: r.integers(0, 40, n),
    "bits": lambda r, n: r.integers(0, 2, n),
    "biased bits": lambda r, n: r.random(n) < 0.001,
    "sorted": lambda r, n: np.sort(r.geometric(0.3, n)),
    "sorted batches": lambda r, n: np.sort(r.integers(0, 2, (8, n // 8))).ravel(),
    "constant": lambda r, n: np.ones(n),
    "atom": lambda r, n: np.maximum(r.normal(size=n), 0),
    "labels": lambda r, n: np.array(["yes", "no", "?"])[r.integers(0, 3, n)],
    "circle": lambda r, n: np.arange(n) % 3,
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", HONEST)
def test_honest_recordings_are_neither_refused_nor_noted(name):
    for seed in range(30):
        for n, m in ((40, 48), (1000, 1000), (200, 3000)):
            x, y = HONEST[name](rng(seed, 1), n), HONEST[name](rng(seed, 2), m)
            assert not said(x, y)


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_ten_thousand_honest_recordings(name):
    """There are 500 per distribution; none of the 10,000 may be rejected, at most one noted."""
    for seed in range(250):
        for n in (300, 2000):
            assert not said(HONEST[name](rng(seed, n), n), HONEST[name](rng(seed, n, 1), n))


@pytest.mark.parametrize("divisor", [2, 3, 5, 7, 11, 13])
def test_counts_are_divisible_by_chance_half_of_the_times_at_most(divisor):
    """For Poisson counts, computed by sums and conditional on a positive count."""
    for mean in np.geomspace(1e-3, 400, 300):
        chance = poisson.pmf(np.arange(divisor, 3000, divisor), mean).sum()
        assert chance / poisson.sf(0, mean) <= 0.5 + 1e-12


def test_where_the_sequence_begins_again():
    x = rng(5).integers(0, 3, 3000)
    for rows in (2**18, 700, 513, 130):
        again = values(np.concatenate([x, rng(6).integers(0, 3, 99), x[:600]]), rows).again
        assert again == (0, 3099)
    # Also in a later chunk, such as another file of a list.
    assert values(np.concatenate([x, x[1000:2000]]), 1000).again == (1000, 3000)


def test_files_with_the_same_contents(tmp_path):
    bits = rng(7).integers(0, 2, (3, 400))
    for name, part in (("a", 0), ("b", 1), ("copy-of-b", 1), ("c", 2)):
        np.save(tmp_path / f"{name}.npy", bits[part])
    y = rng(8).integers(0, 2, 900)
    paths = [tmp_path / f"{name}.npy" for name in ("a", "b", "copy-of-b")]
    with pytest.raises(ValueError, match=r"at output 401 begins again at output 801"):
        dpjax.audit(Recorded(Recording(paths), y))
    with pytest.raises(ValueError, match=r"at output 1 begins again at output 401"):
        dpjax.audit(Recorded(twice(bits[0]), y), method=Local())
    dpjax.audit(Recorded(Recording([*paths[:2], tmp_path / "c.npy"]), y))


def test_a_bootstrap_is_doubtful():
    sides = [rng(s).choice(rng(s + 9).laplace(size=1000), 5000) for s in (0, 1)]
    result = dpjax.audit(Recorded(*sides))
    assert result.verdict == "doubtful" and "copied or resampled (a boot" in result.doubts[0]


def test_outcomes_of_one_side_alone_are_a_leak_and_no_doubt():
    """Outputs are even for one database and odd for the other, and one side has an error code."""
    even, odd = (2 * rng(s).geometric(0.02, 4000) + s for s in (0, 1))
    x, y = (rng(s).laplace(size=4000) for s in (3, 4))
    x[rng(5).choice(4000, 200, replace=False)] = -1.0
    for sides in ((even, odd), (even / 8, odd / 8), (x, y)):
        result = dpjax.audit(Recorded(*sides), claim=1.0)
        assert result.verdict == "violated"
        assert any("occur on one side only" in note for note in result.notes)


def test_values_that_only_one_side_keeps_are_no_copies(monkeypatch):
    """y has 200 values, and x has 1,000 more that occur once, so x keeps only some values."""
    monkeypatch.setattr("dpjax.sources._side_values._KEPT", 300)
    for seed in range(5):
        r = rng(seed)
        x = np.concatenate([r.integers(0, 200, 5000), r.normal(size=1000)])
        y = r.integers(0, 200, 5000)
        assert values(x).limit < values(y).limit
        assert not said(x, y) and not said(y, x)


@pytest.mark.parametrize(("share", "is_said"), [(0.68, False), (0.78, True)])
def test_values_five_times_as_likely_on_one_side_are_no_copies(share, is_said):
    """At a ratio of 5, a value seen twice is on one side only with probability at most 0.722.

    At a ratio of 4 it is 0.68: nothing is said of 4,000 such values. 0.78 is beyond a ratio of 5.
    """
    apart = np.arange(int(4000 * share))
    both = np.arange(apart.size, 4000)
    half = apart.size // 2
    x = np.concatenate([np.repeat(apart[:half], 2), both])
    y = np.concatenate([np.repeat(apart[half:], 2), both])
    assert x.size == y.size
    notes = notes_of_copies(values(x), values(y))
    assert bool(notes) == is_said
    if is_said:
        assert f"{apart.size} of 4000 repeated values occur on one side only" in notes[0]


def test_values_seen_once_say_nothing_of_copies():
    """Of 2,000 values, 100 occur on both sides and repeat; the others cannot repeat."""
    x, y = np.arange(1000), np.arange(900, 1900)
    assert notes_of_copies(values(x), values(y)) == []


def test_sides_of_different_sizes_have_other_chances():
    """With ten times as many outputs, most repeated values are only on the larger side."""
    generator = rng(5)
    x, y = generator.integers(0, 4000, 4000), generator.integers(0, 4000, 400)
    assert notes_of_copies(values(x), values(y)) == []
