"""Draws shared by both sides are rejected, but values shared by chance are not."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom
from sides import values

import dpjax
from dpjax import Local, Recorded, Recording
from dpjax.sources._shared_draws import refuse_shared_draws
from dpjax.sources._side_values import SideValues, log_evidence, order_nats


def rng(seed=0):
    return np.random.default_rng(seed)


def refused(x, y):
    try:
        refuse_shared_draws(values(x), values(y))
    except ValueError as error:
        return str(error)
    return ""


# Independent sides.

HONEST = {
    "reals": lambda r, n: r.normal(size=n),
    "float32": lambda r, n: r.laplace(size=n).astype(np.float32),
    "decimals": lambda r, n: r.normal(size=n).round(2),
    "vectors": lambda r, n: r.normal(size=(n, 2)).round(1),
    "geometric": lambda r, n: r.geometric(0.3, n),
    "rarely twice": lambda r, n: r.integers(0, 2 * n, n),
    "many times": lambda r, n: r.integers(0, 40, n),
    "bits": lambda r, n: r.integers(0, 2, n),
    "biased bits": lambda r, n: r.random(n) < 0.001,
    "sorted bits": lambda r, n: np.sort(r.integers(0, 2, n)),
    "sorted": lambda r, n: np.sort(r.geometric(0.3, n)),
    "sorted batches": lambda r, n: np.sort(r.integers(0, 2, (8, n // 8))).ravel(),
    "constant": lambda r, n: np.ones(n),
    "atom": lambda r, n: np.maximum(r.normal(size=n), 0),
    "NaN": lambda r, n: np.where(r.random(n) < 0.5, np.nan, r.normal(size=n)),
    "labels": lambda r, n: np.array(["yes", "no", "?"])[r.integers(0, 3, n)],
    "objects": lambda r, n: np.array(["a", None, 1.5], object)[r.integers(0, 3, n)],
    "circle": lambda r, n: np.arange(n) % 3,
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", HONEST)
def test_independent_sides_are_never_refused(name):
    for seed in range(30):
        r = rng(seed)
        for n in (40, 1000):
            x, y = HONEST[name](r, n), HONEST[name](r, n + 8 * (seed % 3))
            assert not refused(x, y)


def test_sides_of_two_distributions_are_not_refused():
    for seed in range(100):
        r = rng(seed)
        weights = r.dirichlet(np.full(500, r.choice([0.02, 1.0, 50.0])), 2)
        assert not refused(r.choice(500, 500, p=weights[0]), r.choice(500, 700, p=weights[1]))


@pytest.mark.parametrize("rate", [0.5, 0.3, 0.05])
def test_the_evidence_has_an_expectation_of_at_most_one(rate):
    """Enumerates the frequencies of three values, for any rates."""
    for pooled in ((2, 2, 2), (2, 4, 8), (30, 2, 200), (6, 400, 1000)):
        pooled = np.array(pooled)
        equally = binom.pmf(pooled // 2, pooled, rate)
        # The evidence is largest for two equally likely sides.
        chance = binom.pmf(pooled // 2, pooled, 0.5)
        expectation = sum(
            np.prod(np.where(equal, equally, 1 - equally))
            * np.exp(log_evidence(chance, np.array(equal)))
            for equal in product([True, False], repeat=3)
        )
        assert expectation <= 1 + 1e-12


def test_an_order_has_at_least_its_own_nats():
    """Coin flips have ln 2 each, minus the gain of the most likely chain; blocks have none."""
    assert 0.98 < order_nats(rng().integers(0, 2, 10_000)) / (9_999 * np.log(2)) <= 1
    assert order_nats(np.arange(1000) % 4) < 1e-9
    # Two blocks of 500: the position of the first end costs 1 + ln 500 nats.
    assert order_nats(np.repeat([0, 1], 500)) == pytest.approx(1 + np.log(500), abs=0.01)


# Shared draws.

X, Y = rng(1).laplace(size=(2, 20_000))
COUNTS = rng(2).geometric(0.05, 20_000)
BITS = rng(3).integers(0, 2, 500)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (X, X.copy()),
        (X, X[::-1]),
        (X, rng().permutation(X)),
        (X[:40], X[:40].copy()),
        (X, X[:100]),
        (X, np.concatenate([Y[:19_900], X[7000:7100]])),
        (X.astype(np.float32), np.concatenate([Y[500:], X[:500]]).astype(np.float32)),
        (X.round(3), np.where(rng().random(20_000) < 0.5, X, Y).round(3)),
        (np.stack([X, Y], 1), np.stack([X, Y], 1)[::-1]),
        (np.maximum(X, 0), rng().permutation(np.maximum(X, 0))),
        (COUNTS, rng().permutation(COUNTS)),
        (COUNTS.astype(float), COUNTS),
        (BITS, BITS.copy()),
        (BITS, np.concatenate([BITS, rng().integers(0, 2, 500)])),
        (np.array(["no", "yes"])[BITS], np.array(["no", "yes"])[BITS]),
        (np.array(["no", None], object)[BITS], np.array(["no", None], object)[BITS]),
    ],
    ids=[
        "copy", "reversed", "shuffled", "few", "part", "some rows", "some float32",
        "half of decimals", "vectors", "atom", "shuffled counts", "another type", "bits",
        "first bits", "labels", "objects",
    ],
)  # fmt: skip
def test_shared_draws_are_refused(x, y):
    assert "must be independent of each other, but share draws" in refused(x, y)
    assert refused(y, x)


def test_few_outcomes_in_another_order_are_left():
    """Two files of coin flips often have the same number of heads."""
    assert not refused(BITS, BITS[::-1])


def test_values_are_the_same_in_all_chunks_and_types(monkeypatch):
    monkeypatch.setattr("dpjax.sources._side_values._KEPT", 300)
    whole = values(COUNTS * 3.0)
    split = values((COUNTS * 3).astype(np.int32), 777)
    for name in ("hashes", "counts", "first", "limit", "total"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(split, name))
    # The values with the smallest hashes are kept, each with all of its outputs.
    side = values(X.round(2), 501)
    full = SideValues()
    monkeypatch.setattr("dpjax.sources._side_values._KEPT", 10**6)
    full.add(X.round(2))
    np.testing.assert_array_equal(side.hashes, full.hashes[:300])
    np.testing.assert_array_equal(side.counts, full.counts[:300])
    assert full.counts.sum() == len(X)


def test_sides_are_compared_where_both_keep_what_occurs(monkeypatch):
    """x keeps 300 of 1,290 values, y keeps all 290; each value occurs twice on both sides."""
    monkeypatch.setattr("dpjax.sources._side_values._KEPT", 300)
    both = np.repeat(X[:290], 2)
    first, second = np.concatenate([both, X[290:1290]]), rng().permutation(both)
    assert values(first).limit < values(second).limit
    assert "share draws" in refused(first, second) and "share draws" in refused(second, first)


def test_labels_of_other_widths_and_zeros_are_one_value():
    assert values(np.array(["a"])).hashes == values(np.array(["a", "bbb"])[:1]).hashes
    assert values(np.array([0.0])).hashes == values(np.array([-0.0])).hashes


# Where the sides come in.


def test_rows_shared_far_into_the_files_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("dpjax.sources.readers._recording._ROWS", 5000)
    np.save(tmp_path / "x.npy", X)
    np.savetxt(tmp_path / "y.csv", np.concatenate([Y[:15_000], X[15_000:15_200]]), "%.17g")
    with pytest.raises(ValueError, match=r"of 1\d\d values that could be compared, 1\d\d occur"):
        dpjax.audit(Recorded(Recording(tmp_path / "x.npy"), Recording(tmp_path / "y.csv")))


def test_arrays_and_lists_that_share_draws():
    mixed = ["a" if bit else 1.5 for bit in BITS]
    for x, y in ((X, X[::-1]), (X.tolist(), X.tolist()), (mixed, list(mixed)), (BITS, BITS.copy())):
        with pytest.raises(ValueError, match="share draws"):
            dpjax.audit(Recorded(x, y))
    with pytest.raises(ValueError, match="share draws"):
        dpjax.audit(Recorded(X, X[::-1]), method=Local())
    with pytest.raises(ValueError, match="drawn independently, but were the same object"):
        Recorded(BITS, BITS)


def test_one_file_on_both_sides(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        np.save(f"{name}.npy", rng(ord(name)).integers(0, 2, 500))
    (tmp_path / "symbolic.npy").symlink_to("a.npy")
    (tmp_path / "hard.npy").hardlink_to(tmp_path / "a.npy")
    for x, y in (
        ("a.npy", tmp_path / "a.npy"),
        ("a.npy", "symbolic.npy"),
        ("a.npy", "hard.npy"),
        ("b.npy,a.npy", "c.npy,a.npy"),
    ):
        with pytest.raises(
            ValueError, match=r"samples file \S+ is on both sides.*Draw the outputs"
        ):
            dpjax.audit(Recorded(Recording(x), Recording(y)))
    dpjax.audit(Recorded(Recording("a.npy,b.npy"), Recording("c.npy")))


def test_two_columns_of_one_file_are_two_sides(tmp_path):
    path = tmp_path / "both.csv"
    np.savetxt(path, np.stack([X, Y], 1)[:500], "%.17g", ",", header="x,y", comments="")
    dpjax.audit(Recorded(Recording(path, "x"), Recording(path, "y")))
    with pytest.raises(ValueError, match=r"both\.csv is on both sides"):
        dpjax.audit(Recorded(Recording(path, "x"), Recording(path, "x")))
    with pytest.raises(ValueError, match=r"both\.csv is on both sides"):
        dpjax.audit(Recorded(Recording(path, "x"), Recording(path, 0)))


# The same noise was added to both statistics.

SHIFTED = {
    "reals": lambda r, n: r.laplace(size=n),
    "float32": lambda r, n: r.laplace(size=n).astype(np.float32),
    "geometric": lambda r, n: r.geometric(0.3, n),
    "vectors": lambda r, n: r.normal(size=(n, 3)),
}


@pytest.mark.parametrize("name", SHIFTED)
@pytest.mark.parametrize("change", [lambda x: x + 1, lambda x: 3 * x - 7], ids=["shift", "scale"])
def test_one_noise_added_to_two_values_is_refused(name, change):
    x = SHIFTED[name](rng(), 400)
    assert "ranks of their first 400 outputs are the same" in refused(x, change(x))
    # As far as ranks can tell, equal values in another order are different draws.
    assert "ranks" not in refused(x, change(rng(1).permutation(x)))


def test_ranks_of_a_fixed_seed_in_an_audit():
    noise = rng().laplace(size=3_000)
    with pytest.raises(ValueError, match="If the mechanism itself sets its seed"):
        dpjax.audit(Recorded(noise, noise + 1.0), claim=1.0)
    assert dpjax.audit(Recorded(noise, rng(1).laplace(size=3_000) + 1.0)).lower_bound > 0.5


def test_values_of_either_side_are_compared():
    """Values on one side only are evidence against shared draws, whichever side it is."""
    shared = np.arange(200.0)
    for x, y in ((shared, [*shared, *np.repeat(np.arange(300.0, 330.0), 2)]),
                 ([*shared, *np.repeat(np.arange(300.0, 330.0), 2)], shared)):  # fmt: skip
        assert "of 230 values that could be compared, 200 occur equally often" in refused(
            np.array(x)[rng().permutation(len(x))], np.array(y)[rng(1).permutation(len(y))]
        )
