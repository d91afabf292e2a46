"""Generators for many seeds are those of NumPy."""

import copy
import pickle

import numpy as np
import pytest

from dpjax.sources._seeded import generators

SEEDS = [0, 1, 2**32 - 1, 2**32, 2**63 - 1, 2**64 - 1, *range(2, 200), *(3**k for k in range(40))]


def test_generators_are_those_of_numpy():
    for seed, made in zip(SEEDS, generators(SEEDS), strict=True):
        expected = np.random.default_rng(seed)
        assert made.bit_generator.state == expected.bit_generator.state
        np.testing.assert_array_equal(made.normal(size=3), expected.normal(size=3))


def test_seeds_may_be_of_any_kind():
    for seeds in (np.arange(3), range(3), iter([0, 1, 2])):
        assert [made.random() for made in generators(seeds)] == [
            np.random.default_rng(seed).random() for seed in range(3)
        ]
    assert list(generators([])) == []


@pytest.mark.parametrize("copied", [lambda made: made, copy.deepcopy, pickle.dumps])
def test_generators_spawn_and_are_copied_like_those_of_numpy(copied):
    seed = 2**40 + 7
    made = next(generators([seed] * 16))
    expected = np.random.default_rng(seed)
    for each in (made, expected):  # Children that a generator has spawned do not occur again.
        each.spawn(1)
    made = copied(made)
    made = pickle.loads(made) if isinstance(made, bytes) else made
    assert [child.random() for child in made.spawn(3)] == [
        child.random() for child in expected.spawn(3)
    ]
    ours, theirs = made.bit_generator.seed_seq, expected.bit_generator.seed_seq
    assert (ours.entropy, ours.spawn_key) == (theirs.entropy, theirs.spawn_key)
    for words, kind in ((4, np.uint64), (4, np.uint32), (7, np.uint64)):
        np.testing.assert_array_equal(
            ours.generate_state(words, kind), theirs.generate_state(words, kind)
        )
    with pytest.raises(AttributeError, match="no_such"):
        _ = ours.no_such


def test_a_caller_may_change_the_state_it_gets():
    given, other = [*generators(range(20))][3], np.random.default_rng(3)
    given.bit_generator.seed_seq.generate_state(4, np.uint64)[:] = 0
    states = [g.bit_generator.seed_seq.generate_state(4, np.uint64) for g in (given, other)]
    assert states[0].tolist() == states[1].tolist()
