"""The loop over blocks counts every sample once, and its sums are exact for all sizes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import random, streaming
from dpjax.core.categories import category_counts, compared
from dpjax.core.numerics import FIXED_POINT, MAX_BLOCK, WideCount, to_fixed_point
from dpjax.core.streaming import (
    Blocks,
    Reducer,
    block_size_for,
    blocks_of,
    drawn_once,
    reduce_samples,
    stored_blocks,
)
from dpjax.densities import Lattice, find_kernel, kernel_sums, lattice_counts
from dpjax.methods.local._confirm import _kernel_statistics
from dpjax.partitions import Box

SIZES = (1, 127, 128, 129, 8191, 8192, 8193, 16_385, 24_577)
"""Sizes on both sides of the edges of a lane, of a block, and of two and three blocks."""


def count_positions(size):
    """Return a stream of 0, 1, 2, ... and a reducer that counts each of them."""
    block_size = block_size_for(size)

    def draw(block):
        return block * block_size + jnp.arange(block_size, dtype=jnp.int32)

    return draw, category_counts(size)


def reduced(draw, reducer, size):
    """Reduce in one program, because outside of `jit`, each step would be compiled separately."""
    return jax.jit(lambda: reduce_samples(draw, reducer, size))()


def reduced_stored(samples, reducer):
    """Reduce stored samples, with a reducer that is made inside the program."""

    def reduce(samples):
        return reduce_samples(stored_blocks(samples), reducer(), len(samples))

    return jax.jit(reduce)(samples)


# Counting.


@pytest.mark.parametrize("size", SIZES)
def test_every_sample_counts_exactly_once(size):
    draw, reducer = count_positions(size)
    counts = reduced(draw, reducer, size).as_int()
    assert counts[:-1].tolist() == [1] * size


def test_sizes_of_the_same_blocks_share_a_program_that_counts_as_their_own():
    """A traced size gives the same bits as a static size, with one program per block size."""

    def total(blocks):
        def draw(block):
            size = blocks_of(blocks).size
            position = block.astype(jnp.uint32) * size + jnp.arange(size, dtype=jnp.uint32)
            # The factor is odd, so the words of samples are distinct and not 0.
            return (position + 1) * jnp.uint32(2654435761)

        return reduce_samples(draw, sum_of_words(), blocks)

    # Use two functions, because programs of the same function would be shared.
    traced = jax.jit(lambda blocks: total(blocks))
    static = jax.jit(total, static_argnums=0)
    sizes = (8192, 16_384, 20_000, 20_001)
    sums = {}
    for size in sizes:
        sums[size] = int(traced(blocks_of(size)))
        assert sums[size] == int(static(size))
    assert len(set(sums.values())) == len(sizes)
    assert traced._cache_size() == len({block_size_for(size) for size in sizes}) < len(sizes)


@pytest.mark.parametrize("size", [1, 129, 8192, 8193, 24_577])
def test_a_first_block_that_is_drawn_already_changes_nothing(size):
    draw, reducer = count_positions(size)
    first = jax.jit(lambda: reduce_samples(draw, reducer, size, first=draw(jnp.int32(0))))
    counts = first().as_int()
    assert counts[:-1].tolist() == [1] * size


@pytest.mark.one_in(7)
@pytest.mark.parametrize("at_once", [2, 3, 5, 8])
@pytest.mark.parametrize("size", SIZES)
def test_blocks_in_parallel_count_every_sample_once(size, at_once):
    draw, reducer = count_positions(size)
    first = draw(jnp.int32(0))
    for given in ({}, {"first": first}):
        count = jax.jit(
            lambda given=given: reduce_samples(draw, reducer, size, **given, at_once=at_once)
        )
        assert count().as_int()[:-1].tolist() == [1] * size


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("start", "stop"), [(0, 5), (0, 4), (3, 5), (4, 5), (2, 2), (1, 4)])
def test_blocks_in_parallel_are_those_of_the_part(start, stop):
    """There are 5 blocks, and the last has 3 samples. Test each kind of carry."""
    blocks = Blocks(128, np.int32(5), 3, np.int32(start), np.int32(stop))
    expected = [128 * (start <= block < stop) for block in range(4)] + [3 * (stop == 5)]
    lattice = Lattice(jnp.float32(0.0), jnp.float32(1.0))

    def draw(block):
        return jnp.full(128, block, jnp.float32)

    for at_once in (1, 2, 4, 7):

        @jax.jit
        def count(at_once=at_once):
            wide = reduce_samples(
                lambda block: draw(block).astype(jnp.int32),
                category_counts(5),
                blocks,
                at_once=at_once,
            )
            return wide, reduce_samples(
                draw, lattice_counts(lattice, 5, 1), blocks, at_once=at_once
            )

        wide, narrow = count()
        assert wide.as_int()[:-1].tolist() == narrow[:-1].tolist() == expected


@pytest.mark.parametrize("size", SIZES)
def test_stored_samples_come_back_once_and_in_order(size):
    rng = np.random.default_rng(size)
    rows = rng.integers(1, 1000, (size, 2)).astype(np.int32)
    block_size = block_size_for(size)
    both = rows[:, 0], rows
    draw = jax.jit(lambda both, block: [stored_blocks(samples)(block) for samples in both])
    drawn = [draw(both, np.int32(b)) for b in range(-(-size // block_size))]
    for samples, blocks in zip(both, zip(*drawn, strict=True), strict=True):
        assert {len(block) for block in blocks} == {block_size}
        together = np.concatenate(blocks)
        np.testing.assert_array_equal(together[:size], samples)
        assert not together[size:].any()


def test_the_padding_of_the_last_block_does_not_reach_any_statistic():
    """130 samples with value 0 are stored as 256, so the padding would also have value 0."""
    samples, kernel = np.zeros(130, np.float32), find_kernel("gaussian")
    lattice = Lattice(np.float32(-1.0), np.float32(0.25))
    binned = np.asarray(reduced_stored(samples, lambda: lattice_counts(lattice, 8, fine=8)))
    assert binned[:-1].sum() == 130 and binned[4 * 8] == 130
    sums = reduced_stored(samples, lambda: kernel_sums(jnp.zeros((1, 1)), jnp.float32(1.0), kernel))
    assert sums.as_int().tolist() == [130 * FIXED_POINT]


def test_what_lies_outside_is_left_out():
    samples = np.array([-3, 2, 3, 5, 6, 2**31 - 1], np.int32)
    counts = reduced_stored(samples, lambda: category_counts(4, offset=2)).as_int()
    assert counts[:-1].tolist() == [1, 1, 0, 1]
    reals = np.array([-0.01, 0.0, 0.99, 1.0, 3e38, -3e38, np.nan, np.inf], np.float32)
    lattice = Lattice(np.float32(0.0), np.float32(0.5))
    binned = np.asarray(reduced_stored(reals, lambda: lattice_counts(lattice, 2, fine=8)))
    assert binned[0] == 1 and binned[15] == 1 and binned[:-1].sum() == 2


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_comparisons_count_as_scatters_do(size):
    """Accelerators use comparisons and CPUs use scatters; the integer results must be equal."""
    bins = np.random.default_rng(size).integers(0, size, 1000).astype(np.int32)
    counts = np.asarray(jax.jit(compared, static_argnums=1)(bins, size))
    assert counts.dtype == np.int32
    np.testing.assert_array_equal(counts, np.bincount(bins, minlength=size))


# Grouping.


def sum_of_words():
    """Add up the bits of all samples; a change of a single sample changes the sum."""

    def update(carry, block, valid):
        return carry + jnp.sum(jnp.where(valid, block, 0), dtype=jnp.uint32)

    return Reducer(lambda: jnp.uint32(0), update)


@pytest.mark.slow
def test_samples_do_not_depend_on_how_runs_are_grouped():
    size = 20_001

    def noise_of(key, block):
        return random.laplace(random.fold_in(key, block), block_size_for(size))

    def run(key):
        def draw(block):
            return jax.lax.bitcast_convert_type(noise_of(key, block), jnp.uint32)

        return reduce_samples(draw, sum_of_words(), size)

    def keys():
        # Create the key each time, because using a key twice is an error.
        words = np.arange(12, dtype=np.uint32).reshape(6, 2)
        return jax.random.wrap_key_data(words, impl="threefry2x32")

    alone = jax.jit(run)
    one_by_one = [int(alone(key)) for key in keys()]
    assert len(set(one_by_one)) == 6
    # There is one group of four parallel blocks, and one group of two.
    in_fours = jax.jit(lambda keys: jax.lax.map(run, keys, batch_size=4))
    assert in_fours(keys()).tolist() == one_by_one
    by_hand, first, noise = 0, keys()[0], jax.jit(noise_of)
    for block in range(3):
        kept = np.asarray(noise(first, np.int32(block)))[: size - block * block_size_for(size)]
        by_hand += int(kept.view(np.uint32).sum(dtype=np.uint64))
    assert by_hand % 2**32 == one_by_one[0]


@pytest.mark.parametrize("size", [*SIZES, 10**6, 123_456_789, 10**9])
def test_block_sizes(size):
    block_size = block_size_for(size)
    num_blocks = -(-size // block_size)
    assert block_size % 128 == 0 and 0 < block_size <= MAX_BLOCK
    # No block is empty, and there are no more blocks than necessary.
    assert (num_blocks - 1) * block_size < size <= num_blocks * block_size
    assert num_blocks == -(-size // MAX_BLOCK)


# Memory.

REDUCERS = {
    "categories": lambda: category_counts(100, offset=-50),
    "lattice": lambda: lattice_counts(Lattice(jnp.float32(-9.0), jnp.float32(0.1)), 180),
    "kernel": lambda: kernel_sums(
        jnp.linspace(-1, 1, 21)[:, None], jnp.float32(0.1), find_kernel("gaussian")
    ),
}


@pytest.mark.parametrize("name", REDUCERS)
def test_memory_does_not_grow_with_the_number_of_samples(name):
    def memory(size):
        def run(key):
            def draw(block):
                noise = random.laplace(random.fold_in(key, block), block_size_for(size))
                return noise.astype(jnp.int32) if name == "categories" else noise

            return reduce_samples(draw, REDUCERS[name](), size)

        compiled = jax.jit(run).lower(random.as_key(0)).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    # Compare two blocks with 12208 blocks of 8192 samples; all samples would need 400 MB.
    small, large = memory(2 * 8192), memory(100_000_000)
    assert large <= 1.01 * small
    assert large < 2**20


# Exact sums.


def test_wide_counts_are_exact_up_to_2_to_the_60():
    add = jax.jit(lambda count, more: count.add(more))
    count, exact = WideCount.zeros((3,)), np.zeros(3, object)
    rng = np.random.default_rng(3)
    for more in [[2**30, 2**30 - 1, 1]] * 5 + rng.integers(0, 2**30, (200, 3)).tolist():
        count, exact = add(count, jnp.array(more, jnp.int32)), exact + np.array(more, object)
        assert count.as_int().tolist() == exact.tolist()
    assert exact.min() > 2**36
    edge = WideCount(jnp.int32(2**30 - 1), jnp.int32(2**30 - 1))
    assert int(edge.as_int()) == 2**60 - 1
    assert int(edge.add(jnp.int32(1)).as_int()) == 2**60
    assert int(edge.add(jnp.int32(2**30)).as_int()) == 2**60 + 2**30 - 1
    assert float(edge.as_float()) == pytest.approx(2**60, rel=2**-22)
    # A float32 counter stops at 2^24.
    assert int(WideCount.zeros().add(jnp.int32(2**24)).add(jnp.int32(1)).as_int()) == 2**24 + 1


@pytest.mark.parametrize("number", [1, 2, 3, 7, 64, 1000])
def test_totals_of_wide_counts_are_exact(number):
    rng = np.random.default_rng(number)
    low, high = rng.integers(0, [[[2**30]], [[2**20]]], (2, number, 3))
    low[: number // 2] = 2**30 - 1
    counts = WideCount(jnp.asarray(low, jnp.int32), jnp.asarray(high, jnp.int32))
    total = jax.jit(WideCount.total)(counts)
    assert total.as_int().tolist() == (2**30 * high + low).sum(axis=0).tolist()
    assert int(total.low.max()) < 2**30


def test_fixed_point_is_within_half_a_step_and_a_block_fits():
    values = np.random.default_rng(0).random(10_000).astype(np.float32)
    fixed = np.asarray(jax.jit(to_fixed_point)(values), np.int64)
    assert np.abs(fixed / FIXED_POINT - values.astype(float)).max() <= 0.5 / FIXED_POINT
    ends = jax.jit(to_fixed_point)(np.array([0.0, 1.0], np.float32))
    assert ends.tolist() == [0, FIXED_POINT]
    # A full block with the kernel's maximum is the largest value that `add` accepts.
    assert MAX_BLOCK * FIXED_POINT <= 2**30
    sums = reduced_stored(
        np.zeros(3 * MAX_BLOCK, np.float32),
        lambda: kernel_sums(jnp.zeros((1, 1)), jnp.float32(1.0), find_kernel("gaussian")),
    )
    assert sums.as_int() == 3 * MAX_BLOCK * FIXED_POINT


def test_kernel_sums_round_each_sample_by_half_a_step_at_most():
    samples = np.random.default_rng(1).normal(size=5000).astype(np.float32)
    points = np.array([-1.0, 0.0, 4.0], np.float32)
    sums = reduced_stored(
        samples, lambda: kernel_sums(points[:, None], jnp.float32(0.5), find_kernel("gaussian"))
    ).as_int()
    exact = np.exp(-0.5 * ((points[:, None].astype(float) - samples) / 0.5) ** 2).sum(axis=1)
    # Half a step each, and float32 arithmetic: a few 2^-24 of values up to 1.
    assert np.abs(sums / FIXED_POINT - exact).max() <= 5000 * (0.5 / FIXED_POINT + 2**-20)
    # The errors are nearly random, so their sum is far below the bound.
    assert np.abs(sums / FIXED_POINT - exact).max() <= 10 * np.sqrt(5000 / 12) / FIXED_POINT


@pytest.mark.slow
def test_a_block_with_several_readers_is_drawn_once():
    """Three noises per draw need two Threefry calls; XLA alone makes more than twice as many."""
    region = Box(jnp.zeros(1), jnp.full(1, 2.0))
    kernel = find_kernel("gaussian")
    reducer = _kernel_statistics(jnp.ones(1), jnp.float32(0.1), kernel, region)
    size = 40_000

    def program(reducer):
        def draw(key):
            first, *others = (random.laplace(key, block_size_for(size), row) for row in range(3))
            return jnp.maximum(first, jnp.maximum(*others))

        return jax.jit(
            lambda key: reduce_samples(lambda b: draw(random.fold_in(key, b)), reducer, size)
        )

    key = random.as_key(4)
    once, often = program(reducer), program(reducer._replace(reads_once=True))
    once, often = (run.lower(key).compile() for run in (once, often))
    calls, more_calls = (run.as_text().count(" xor(") / 20 for run in (once, often))
    # The key of a block needs a third call.
    assert calls < 4
    if jax.default_backend() == "cpu":
        assert more_calls > 2 * calls, "XLA no longer repeats draws, so drawn_once can be removed"
    np.testing.assert_array_equal(once(key).as_int(), often(key).as_int())


def test_vectors_keep_their_shape_when_drawn_once():
    def draw(block):
        return block + jnp.arange(24.0).reshape(8, 3)

    expected = np.arange(3)[:, None, None] + np.arange(24.0).reshape(8, 3)
    np.testing.assert_array_equal(jax.jit(drawn_once(draw))(np.int32(2)), expected[2])
    together = jax.jit(jax.vmap(drawn_once(draw)))(np.arange(2, dtype=np.int32))
    np.testing.assert_array_equal(together, expected[:2])


def test_more_blocks_than_can_be_numbered_are_refused():
    with pytest.raises(ValueError, match=r"num_samples must be below 17592186044416 \(2\^31"):
        blocks_of(2**44)
    assert int(blocks_of(2**44 - 2**13).number) == 2**31 - 1


def test_the_time_of_compilation_sets_no_size(monkeypatch):
    """The first call takes 100 s; later calls take 1/2 and then 1/20 of the allowed time."""
    clock, sizes = [0.0], []
    monkeypatch.setattr(streaming.time, "perf_counter", lambda: clock[0])

    def launch(part):
        number = int(part.stop) - int(part.start)
        clock[0] += 100 if not sizes else streaming._CALL_SECONDS / (2 if len(sizes) < 3 else 20)
        sizes.append(number)
        return WideCount.zeros((1,)).add(np.array([number], np.int32))

    blocks = blocks_of(2**22 * 300)
    first = streaming._FIRST_DRAWS // blocks.size
    total = sum(int(counts.sum()) for counts, _ in streaming.in_calls(launch, blocks, 1))
    assert total == int(blocks.number)
    assert sizes[:5] == [first, first, 2 * first, 4 * first, 32 * first]


@pytest.mark.slow
def test_sums_are_of_int32_also_in_float64():
    kernel, region = find_kernel("gaussian"), Box([-9.0], [9.0])
    with jax.enable_x64(True):
        reducer = _kernel_statistics(jnp.ones(1), jnp.float64(0.5), kernel, region)
        samples, valid = jnp.linspace(0.0, 2.0, 5), jnp.arange(5) < 4
        found = reducer.update(reducer.init(), samples, valid)
    assert found.low.dtype == found.high.dtype == np.int32
    values = np.exp(-0.5 * ((np.linspace(0, 2, 5)[:4] - 1) / 0.5) ** 2)
    expected = [3, *(np.round(v * 2**17).sum() for v in (values, values**2))]
    np.testing.assert_allclose(found.as_int(), expected, atol=2)
