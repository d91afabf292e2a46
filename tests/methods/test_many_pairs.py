"""Audits of many pairs, which are chosen and drawn together and counted in parts."""

import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax
from dpjax import Epsilon, Events, Execution, Gdp, Renyi, TotalVariation, Zcdp
from dpjax.methods import _ranking
from dpjax.notions import _asked
from dpjax.partitions import Budget, Encoder, Search, lay
from dpjax.sources import Rounds, _drawn_counts, _pilots
from dpjax.sources._counting import count_halves
from dpjax.sources._layouts import block_size, drawn_calls, draws_of_pairs, stream_words
from dpjax.sources.streams import SEARCH


def searched(shift, size, seed, allowed=False, scale=1.0):
    """Return a search of 2 runs with Laplace outputs; a scale of 0 leads to atoms."""
    generator, encoder = np.random.default_rng(seed), Encoder("test")
    sides = [
        encoder.encode(at + scale * generator.laplace(size=size) + generator.integers(3, size=size))
        for at in (0.0, shift)
    ]
    cells = lay(sides, encoder.names)
    halves = np.stack([count_halves(cells, [[s] for s in sides]) for _ in range(2)])
    halves[1] = 3 * halves[1, ::-1]
    return Search(cells, halves, np.arange(cells.size) % 5 > 0 if allowed else None)


MIXED = [
    *(searched(0.1 * k, size, k) for k, size in enumerate((40, 300, 300, 2000, 2000, 300))),
    *(searched(0.5, 300, k, allowed=True) for k in range(3)),
    *(searched(1.0, 200, k, scale=0.0) for k in range(3)),
]
"""Search sets with equal and with different cells, with and without a region."""


@pytest.mark.one_in(5)
@pytest.mark.parametrize("notion", [Epsilon(), Epsilon(0.01), Gdp(), TotalVariation(), Zcdp()])
@pytest.mark.parametrize("rows", [1, 3, 256])
def test_pairs_together_are_pairs_alone(notion, rows, monkeypatch):
    """Results are bitwise equal for any number of pairs per call."""
    monkeypatch.setattr(_asked, "_ROWS", rows)
    budget = Budget(5_000, 0.999, num_rivals=len(MIXED), shared=True)
    together = notion.promises(MIXED, budget)
    for search, found in zip(MIXED, together, strict=True):
        alone = [notion.promise(search.at(run), budget) for run in (0, 1)]
        assert found.shape == (2,) and found.tolist() == alone
    assert max(found.max() for found in together) > 0
    if notion.hypothesis() is None:
        return
    for search, found in zip(MIXED, notion.choices(MIXED, budget), strict=True):
        for run in (0, 1):
            alone = notion.choose(search.at(run), budget)
            for column, other in zip(found.at((run,)), alone, strict=True):
                assert np.array_equal(column, other)


@pytest.mark.parametrize("notion", [Epsilon(), Gdp(), TotalVariation(), Zcdp(), Renyi(2)])
def test_more_confidence_promises_a_smaller_bound(notion):
    search = searched(1.0, 20_000, 3).at(0)
    few, many = (float(notion.promise(search, Budget(20_000, sure))) for sure in (0.9, 0.999))
    assert 0 < many < few


def test_pairs_alike_share_a_call(monkeypatch):
    """Pairs with cells of the same shape share a call; pairs with another region do not."""
    calls, real = [], _asked.largest_bound

    def seen(counts, *arguments, **options):
        calls.append(len(counts))
        return real(counts, *arguments, **options)

    monkeypatch.setattr(_asked, "largest_bound", seen)
    alike = [MIXED[3]._replace(halves=MIXED[3].halves + k) for k in range(4)]
    other = MIXED[3]._replace(allowed=np.arange(MIXED[3].partition.size) > 2)
    Epsilon().promises([*alike, other, MIXED[0]], Budget(1_000, 0.99))
    assert sorted(calls) == [2, 2, 8]


def test_the_default_grows_slowly_above_a_thousand_pairs():
    """The search uses 44% of 20,000 + 50,000 per pair: 8,822,000 draws for 1,000 pairs."""
    thousand = Events().rounds(1_000)
    assert thousand.searched(1_000) == pytest.approx(8_822_000, abs=1_000)
    assert thousand.num_confirm == 20_050_000 - 8_822_000
    for further in (1, 9_000, 99_000):
        pairs = 1_000 + further
        rounds = Events().rounds(pairs)
        assert rounds.num_confirm == thousand.num_confirm
        assert rounds.searched(pairs) == pytest.approx(8_822_000 + 300 * further, abs=pairs)
        # 5/11 of the search draws are used for all pairs.
        first = 5 / 11 * (8_822_000 + 300 * further) / pairs
        assert abs(rounds.num_samples - first) <= 0.51
    # A given number of draws is always used.
    given = Events(num_draws=10**7).rounds(5_000)
    assert given.num_confirm == 5_600_000
    assert given.searched(5_000) + given.num_confirm == pytest.approx(10**7, abs=5_000)


@pytest.mark.parametrize(
    ("pairs", "kept"), [(9_996, 2_499), (9_999, 2_500), (10_004, 2_500), (10**5, 2_500)]
)
def test_at_most_2500_pairs_are_searched_again(pairs, kept):
    assert Events().rounds(pairs).num_kept == kept


@pytest.mark.parametrize(
    ("rounds", "size"),
    [
        ((175, 2_500, 8_408, 2**24), 256),
        ((1_024, 251, 8_408, 2**24), 1_024),
        # Blocks are large for few pairs and many draws.
        ((1_025, 251, 8_408, 2**24), 2**13),
        ((175, 250, 8_408, 2**24), 2**13),
    ],
)
def test_blocks_of_many_pairs_with_few_draws_are_small(rounds, size):
    assert block_size(Rounds(*rounds)) == size


def needle(number):
    """Return pairs that differ by at most 0.1, except one that differs by 1.5."""
    shifts = np.linspace(0.0, 0.1, number)
    shifts[number // 3] = 1.5
    return [(0.0, float(shift)) for shift in shifts]


def release(key, count):
    return count + jax.random.laplace(key)


METHOD = Events(num_draws=60_000)


def audited(layout="gathered", **options):
    execution = Execution(layout=layout)
    return dpjax.audit(release, needle(300), method=METHOD, execution=execution, **options)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["gathered", "streamed"])
def test_however_pairs_are_drawn_together_the_bits_are_the_same(layout, monkeypatch):
    found = audited()
    assert found.witness.pair == "pair 100"
    # The level is 1.5; the bound from 33,600 draws per side is within a third of it.
    assert 1.0 < found.lower_bound < 1.5
    monkeypatch.setattr(_drawn_counts, "MANY_PAIRS", 2)
    monkeypatch.setattr(_drawn_counts, "_STREAMED_PAIRS", 128)
    monkeypatch.setattr(_ranking, "_PAIRS_AT_ONCE", 7)
    again = audited(layout)
    assert again.lower_bound == found.lower_bound and again.estimate == found.estimate
    assert again.pair_scores == found.pair_scores
    assert again.witness == found.witness and again.evidence.trials == found.evidence.trials


def test_the_first_draws_of_pairs_are_those_of_each(monkeypatch):
    monkeypatch.setattr(_pilots, "blocks_at_once", lambda size, width: 8)
    pairs = dpjax.Pairs(np.zeros(5), np.arange(5.0) ** 3)
    words = stream_words(np.array([3, 4], np.uint32), 0, 5)
    laplace = dpjax.mechanisms.Laplace(1.0)
    # There are three blocks per pair, so a call contains two pairs; the last call has one.
    pilots = _pilots.Pilots(laplace, pairs, words, 300, 128, 1)
    for pair in (0, 1, 2, 3, 4, 2):
        for side, drawn in enumerate(pilots.of(pair)):
            database = (pairs.database, pairs.neighbor)[side][pair]
            stream = words[pair, side, SEARCH]
            (alone,) = drawn_calls(laplace, stream, database, range(3), 128, at_once=4)
            assert np.array_equal(drawn, alone[:300])


def test_one_block_is_drawn_where_a_pair_needs_more_than_a_call(monkeypatch):
    monkeypatch.setattr(_pilots, "blocks_at_once", lambda size, width: 1)
    pairs = dpjax.Pairs(np.zeros(2), np.ones(2))
    words = stream_words(np.array([3, 4], np.uint32), 0, 2)
    pilots = _pilots.Pilots(dpjax.mechanisms.Laplace(1.0), pairs, words, 200, 128, 1)
    assert [drawn.shape for drawn in pilots.of(1)] == [(200,), (200,)]


def test_calls_for_fewer_pairs_share_a_program():
    words = np.arange(12, dtype=np.uint32).reshape(2, 3, 2)
    laplace = dpjax.mechanisms.Laplace(1.0)
    some = draws_of_pairs(laplace, words, np.array([0.0, 5.0]), size=128, at_once=4)
    one = draws_of_pairs(laplace, words[1:], np.array([5.0]), size=128, at_once=4)
    assert some.shape == (2, 384) and np.array_equal(some[1:], one)
    vectors = dpjax.mechanisms.from_function(lambda key, x: x + jax.random.laplace(key, (3,)), 0.0)
    drawn = draws_of_pairs(vectors, words, np.array([0.0, 5.0]), size=128, at_once=4)
    assert drawn.shape == (2, 384, 3) and abs(drawn[1].mean() - drawn[0].mean() - 5) < 0.5


def test_what_is_kept_of_first_draws():
    """About 4 million draws for all pairs together, and enough per pair to detect equal outputs."""
    assert _pilots.kept_draws(1) == 2**22 and _pilots.kept_draws(1_000) == 4_194
    assert _pilots.kept_draws(10**5) == 128


def test_only_the_most_promising_compete_for_the_last_place(monkeypatch):
    """Of six pairs, the best gets the first place, and the next two compete for the last place."""
    monkeypatch.setattr(_ranking, "_HOPED", 3)
    seen, real = [], _ranking._kept

    def kept(promised, hoped, num_kept):
        seen.append((promised, hoped))
        return real(promised, hoped, num_kept)

    monkeypatch.setattr(_ranking, "_kept", kept)
    pairs = [(0.0, shift) for shift in (0.1, 1.0, 0.2, 0.8, 0.3, 0.9)]
    dpjax.audit(release, pairs, method=Events(num_draws=30_000))
    ((promised, hoped),) = seen
    best = np.argsort(-promised[0])[:3]
    assert sorted(best.tolist()) == [1, 3, 5]
    assert np.isfinite(hoped[0]).nonzero()[0].tolist() == sorted(best[1:].tolist())
    assert (hoped[0, best[1:]] > promised[0, best[1:]]).all()


@pytest.mark.slow
def test_fifteen_thousand_pairs_need_20_kilobytes_each():
    """At this rate, 100,000 pairs need less than 2 GB; measures the memory of NumPy and Python.

    The first round has 395 draws per side, which suffices to keep the pair that differs.
    """
    audited()
    tracemalloc.start()
    try:
        result = dpjax.audit(release, needle(15_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.witness.pair == "pair 5000" and 1.4 < result.lower_bound < 1.5
    assert peak < 20_000 * 15_000


def test_parts_of_many_pairs_have_partitions_of_their_own_sizes(monkeypatch):
    """Integers with about 10, 40 and 200 values."""

    def spread(key, database):
        return jnp.round(database * jax.random.laplace(key)).astype(jnp.int32)

    pairs, method = [(1.0, 1.2), (5.0, 6.0), (30.0, 31.0)], Events(2000, 3000)
    found = dpjax.audit(spread, pairs, method=method)
    # The second part has only one pair, which it repeats.
    monkeypatch.setattr(_drawn_counts, "_STREAMED_PAIRS", 2)
    again = dpjax.audit(spread, pairs, method=method, execution=Execution(layout="streamed"))
    assert again.pair_scores == found.pair_scores and again.lower_bound == found.lower_bound
