"""Sizes of blocks and calls, and the keys that determine the draws of blocks."""

import jax
import numpy as np
import pytest

from dpjax.core import random
from dpjax.mechanisms import Laplace
from dpjax.sources._layouts import (
    block_size,
    blocks_at_once,
    drawn_calls,
    ends_of,
    sample_blocks,
    stream_words,
)
from dpjax.sources._rounds import Rounds
from dpjax.sources.streams import NUM_STAGES

MOST = 2**13


@pytest.mark.parametrize(
    ("rounds", "size"),
    [
        # The smallest block; the power of 2 that holds the shortest stream; the largest block.
        ((1, 0, 0, 1), 128),
        ((128, 0, 0, 128), 128),
        ((129, 0, 0, 5000), 256),
        ((5000, 0, 0, 300), 512),
        ((5000, 0, 0, 4000), 4096),
        ((10**6, 0, 0, 10**6), 4096),
        # The second round counts only if some pairs are kept.
        ((1000, 2, 200, 1000), 256),
        ((1000, 0, 200, 1000), 1024),
        ((2**20, 0, 0, 10), 128),
        ((2**20 + 1, 0, 0, 10), MOST),
        ((10, 0, 0, 2**20 + 1), MOST),
        ((10, 2, 2**20 + 1, 10), MOST),
        ((10, 0, 2**20 + 1, 10), 128),
    ],
)
def test_blocks_are_powers_of_2_within_limits(rounds, size):
    assert block_size(Rounds(*rounds)) == size


def test_a_call_draws_a_limited_number_of_values():
    assert blocks_at_once(128, 1) == 512
    assert blocks_at_once(4096, 1) == 16
    assert blocks_at_once(4096, 4) == 4
    # A block that is larger than a call is drawn nevertheless.
    assert blocks_at_once(2**16, 3) == 1
    assert blocks_at_once(2**20, 1) == 1


def test_the_last_block_of_a_stream():
    stops = np.array([[1, 7], [8, 9], [16, 17]])
    expected = [[[1, 1], [1, 7]], [[1, 8], [2, 1]], [[2, 8], [3, 1]]]
    found = ends_of(stops, 8)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, expected)


def test_words_are_those_of_folded_keys():
    """The key is folded with run, pair, side and stage, in this order."""
    found = stream_words(random.words_of(random.as_key(3)), 5, 3)
    assert found.shape == (3, 2, NUM_STAGES, 2)
    for place in np.ndindex(found.shape[:-1]):
        key = random.as_key(3)
        for part in (5, *place):
            key = jax.random.fold_in(key, part)
        np.testing.assert_array_equal(found[place], random.words_of(key))


@pytest.mark.parametrize("threads", [False, True])
def test_calls_begin_and_end_at_any_block(threads):
    """Block b of a stream is drawn from the key folded with b, however many blocks a call draws."""
    words, size, mechanism = random.words_of(random.as_key(7)), 128, Laplace(1.0)
    blocks = [
        np.asarray(mechanism.sample(jax.random.fold_in(random.as_key(7), block), 0.5, size))
        for block in range(7)
    ]
    for first, count in ((0, 1), (0, 2), (2, 3), (2, 5), (6, 1)):
        found = drawn_calls(
            mechanism, words, 0.5, range(first, first + count), size, at_once=2, threads=threads
        )
        expected = np.concatenate(blocks[first : first + count])
        np.testing.assert_array_equal(np.concatenate(list(found)), expected)


def test_a_cpu_draws_only_the_blocks_that_were_asked_for():
    words = random.fold_words(random.words_of(random.as_key(1)), np.arange(4))
    found = np.asarray(sample_blocks(Laplace(1.0), words, np.int32(3), 0.0, size=128))
    assert found.shape == (4, 128)
    assert np.all(found[:3] != 0)
    assert np.all(found[3] == 0) == (jax.default_backend() == "cpu")


def test_draws_do_not_depend_on_the_usual_generator_of_jax():
    words, mechanism = (
        random.fold_words(random.words_of(random.as_key(1)), np.arange(2)),
        Laplace(2.0),
    )
    with jax.default_prng_impl("rbg"):
        found = np.asarray(sample_blocks(mechanism, words, np.int32(2), 0.5, size=96))
    for row, of_block in zip(found, words, strict=True):
        key = jax.random.wrap_key_data(of_block, impl="threefry2x32")
        np.testing.assert_array_equal(row, np.asarray(mechanism.sample(key, 0.5, 96)))
