"""Small parts that many sources share: rounds, seeds, kept outputs, pairs, equal databases."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.partitions import Encoder, Outputs
from dpjax.partitions._batches import joined, widened
from dpjax.sources import AnyPairs
from dpjax.sources._counting import Tally, count_halves, halves_of, marks_counter
from dpjax.sources._kept import Kept
from dpjax.sources._pairs import _holds_same
from dpjax.sources._rounds import Rounds, rounds_of, rounds_within
from dpjax.sources._same_databases import numbers_of_databases
from dpjax.sources._schedule import Span, in_order, seed_of_batch, seeds_of_calls


@pytest.mark.parametrize(
    ("given", "rounds"),
    [
        ((1, 1000, 700), (1000, 0, 0, 700)),
        ((2, 1000, 700), (500, 0, 0, 700)),
        # Three pairs share 5/11 of 1100 draws, and two of them share the rest.
        ((3, 1100, 700), (167, 2, 299, 700)),
        ((8, 8800, 7), (500, 2, 2400, 7)),
        ((9, 9900, 7), (500, 3, 1800, 7)),
        ((100, 10, 7), (1, 25, 1, 7)),
    ],
)
def test_rounds_of_a_search(given, rounds):
    assert rounds_of(*given) == rounds


def test_rounds_within_a_number_of_draws():
    assert rounds_within(1, 7000) == (2000, 0, 0, 5000)
    assert rounds_within(2, 1000) == (220, 0, 0, 560)
    assert Rounds(10, 2, 30, 5).searched(4) == 100


def test_seeds_of_batches_are_those_of_their_words():
    words = (3, 1, 4)
    for batch in (0, 7):
        state = np.random.SeedSequence((3, 1, 4, batch)).generate_state(1, np.uint64)[0]
        assert seed_of_batch(words, batch) == int(state) // 2 < 2**63


def seeds(outputs, size, **options):
    return list(seeds_of_calls(Span(outputs, (1, 2), print, **options), size, False))


def test_each_output_has_a_seed_of_its_own_however_it_is_cut():
    whole = np.concatenate([part for _, part in seeds(range(25), 10)])
    assert [size for size, _ in seeds(range(25), 10)] == [10, 10, 5]
    assert len(set(whole.tolist())) == 25 and whole.dtype == np.int64
    for cut in (1, 3, 10, 99):
        parts = seeds(range(25), 10, cut=cut)
        np.testing.assert_array_equal(np.concatenate([part for _, part in parts]), whole)
        assert all(len(part) == size <= cut for size, part in parts)
    sizes = iter([1, 2, 4, 8, 16, 32])
    parts = seeds(range(25), 10, cut=lambda: next(sizes))
    assert [size for size, _ in parts] == [1, 2, 4, 3, 10, 5]
    np.testing.assert_array_equal(np.concatenate([part for _, part in parts]), whole)
    for done in (1, 9, 10, 13, 24, 25):
        parts = [part for _, part in seeds(range(25), 10, cut=4, done=done)]
        np.testing.assert_array_equal(np.concatenate([np.empty(0, int), *parts]), whole[done:])
    rest = np.concatenate([part for _, part in seeds(range(10, 25), 10)])
    np.testing.assert_array_equal(rest, whole[10:])


def test_batches_have_one_seed_each():
    span = Span(range(25), (1, 2), print)
    expected = [(10, 0), (10, 1), (5, 2)]
    assert list(seeds_of_calls(span, 10, True)) == [
        (size, seed_of_batch((1, 2), number)) for size, number in expected
    ]
    # A span that begins within a batch has its own seeds.
    inner = Span(range(3, 16), (1, 2), print)
    assert list(seeds_of_calls(inner, 10, True)) == [
        (10, seed_of_batch((1, 2, 3), 0)), (3, seed_of_batch((1, 2, 3), 1)),
    ]  # fmt: skip


class Waiting:
    """An executor that calls functions immediately, and records how many tasks wait."""

    def __init__(self):
        self.submitted = 0

    def submit(self, call, *task):
        self.submitted += 1
        value = call(*task)

        class Done:
            def result(self):
                return value

            def cancel(self):
                cancelled.append(value)

        return Done()


cancelled = []


def test_results_come_in_order_and_few_ahead():
    executor = Waiting()
    tasks = ((number,) for number in itertools.count())
    found = in_order(lambda number: number**2, tasks, executor, 3)
    for number in range(5):
        assert next(found) == number**2
        assert executor.submitted == number + 3
    cancelled.clear()
    found.close()
    assert cancelled == [25, 36]
    assert list(in_order(lambda n: -n, iter([(1,), (2,)]), Waiting(), 3)) == [-1, -2]
    assert list(in_order(lambda n: -n, iter([(1,), (2,)]), None, 3)) == [-1, -2]


def outputs(*values):
    """Return numbers as outputs."""
    rows = np.array(values, float)[:, None]
    return Outputs(np.zeros(len(values), np.int32), rows, np.zeros(len(values), bool))


def test_outputs_are_kept_up_to_a_number():
    kept = Kept([Encoder("x")], 5, dict)
    assert kept.number(0, 1) == 0 and kept.first(0, 1, 0, 3) is None
    kept.add(0, 1, outputs(1, 2), 0)
    # Neither known outputs nor outputs after a gap are added.
    kept.add(0, 1, outputs(8, 9), 0)
    kept.add(0, 1, outputs(8, 9), 3)
    kept.add(0, 1, outputs(3, 4, 5, 6), 2)
    kept.add(0, 1, outputs(7), 5)
    assert kept.number(0, 1) == 5 and kept.number(0, 0) == 0
    assert kept.first(0, 1, 0, 9).values[:, 0].tolist() == [1, 2, 3, 4, 5]
    assert kept.first(0, 1, 1, 3).values[:, 0].tolist() == [2, 3]
    assert kept.first(0, 1, 4, 9).values[:, 0].tolist() == [5]
    assert kept.first(0, 1, 5, 9) is None and kept.first(0, 1, 2, 2) is None
    kept.forget(0, 1, 9)
    assert kept.number(0, 1) == 5
    kept.forget(0, 1, 3)
    assert kept.number(0, 1) == 3 and kept.first(0, 1, 2, 9).values.tolist() == [[3]]
    kept.add(0, 1, outputs(40), 3)
    assert kept.first(0, 1, 0, 9).values[:, 0].tolist() == [1, 2, 3, 40]


def test_outputs_without_numbers_are_widened():
    labels = Outputs(np.ones(2, np.int32), np.zeros((2, 1)), np.ones(2, bool))
    vectors = Outputs(np.zeros(1, np.int32), np.array([[3.0, 4.0]]), np.zeros(1, bool))
    both = joined([labels, vectors])
    assert both.values.tolist() == [[0, 0], [0, 0], [3, 4]]
    assert both.labels.tolist() == [1, 1, 0] and both.alone.tolist() == [True, True, False]
    same = np.ones((2, 2))
    assert widened(same, 2) is same


class ByValue:
    """A cell for each of three numbers; held-out outputs are counted in the next cell."""

    size = 3
    cross_fitted = True

    def index(self, outputs):
        return outputs.values[:, 0].astype(int)

    def index_held_out(self, outputs, fold):
        return (self.index(outputs) + fold) % 3

    def narrowed(self, marks):
        return self, marks


def test_halves_are_of_even_and_odd_numbers_however_they_come():
    values = np.arange(23) % 3
    number = np.arange(23)
    place = (values + number % 5) % 3
    expected = [np.bincount(place[number % 2 == half], minlength=3) for half in (0, 1)]
    for ends in ([], [1, 2, 9]):
        batches = [outputs(*part) for part in np.split(values, ends)]
        counts = count_halves(ByValue(), [batches, [outputs(0)]])
        np.testing.assert_array_equal(counts[:, 0], expected)
        np.testing.assert_array_equal(counts[:, 1], [[1, 0, 0], [0, 0, 0]])
    some = halves_of(ByValue(), outputs(0, 1), np.array([1, 1]), np.array([4, 7]))
    np.testing.assert_array_equal(some, [[0, 1, 0], [0, 0, 1]])


def test_marks_are_counted():
    counted = marks_counter(ByValue(), np.array([1, 0, 1]), 4)
    np.testing.assert_array_equal(counted(outputs(0, 0, 1, 2)), [1, 3, 0, 0])


def test_a_tally_tells_how_far_it_is():
    told = []
    tally = Tally(lambda *both: told.append(both))
    tally.expect(10)
    tally.saw(4)
    tally.expect(3)
    tally.saw(2)
    tally.expect(0)
    assert told == [(0, 10), (4, 10), (4, 7), (6, 7), (6, 0)]
    assert tally.confirmed is None and tally.searched == 0
    tally.confirm(np.array([[1], [2]]))
    tally.confirm(np.array([[3], [4]]))
    np.testing.assert_array_equal(tally.confirmed, [[4], [6]])
    silent = Tally()
    silent.expect(3)
    silent.saw(1)


NAN = float("nan")
SAME = [
    (1, 1.0), (NAN, NAN), ([1, 2], (1, 2)), (np.array([1.0, NAN]), np.array([1.0, NAN])),
    ({"a": 1, "b": [2]}, {"b": [2], "a": 1.0}), ("a", "a"), ([[NAN]], [[NAN]]),
    (np.array(["a"]), np.array(["a"])), ([], ()), ({}, {}), (None, None),
]  # fmt: skip
DIFFERENT = [
    (1, 2), (NAN, 1.0), (1.0, NAN), ([1], [1, 2]), ([1, 2], [2, 1]), (np.zeros(2), np.zeros(3)),
    (np.array([1.0, NAN]), np.array([NAN, 1.0])), ({"a": 1}, {"b": 1}), ({"a": 1}, {"a": 2}),
    ({"a": 1}, {"a": 1, "b": 2}), ({"a": 1, "b": 2}, {"a": 1}), ("a", "b"), ("1", 1),
    (None, 0), ({"a": 1}, ["a"]), (b"a", "a"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pair", "same"), [*((p, True) for p in SAME), *((p, False) for p in DIFFERENT)], ids=str
)
def test_which_databases_are_equal(pair, same):
    assert _holds_same(*pair) is same
    pairs = AnyPairs(([pair[0]], [pair[1]]), ("one",))
    assert len(pairs.equal_notes()) == same


def test_pairs_that_are_all_equal_are_refused():
    both = AnyPairs(([1, 2], [1, 3]), ("one", "two"))
    both.refuse_equal()
    assert both.equal_notes() == [
        "database and neighbor are equal in one, so nothing could be found there."
    ]
    many = AnyPairs(([1] * 4, [1] * 4), ("a", "b", "c", "d"))
    with pytest.raises(ValueError, match="in a and b and c both are 1: no output"):
        many.refuse_equal()
    arrays = AnyPairs(([np.array([1, 2])], [np.array([1, 2])]), ("a",))
    with pytest.raises(ValueError, match=r"both are \[1, 2\]:"):
        arrays.refuse_equal()


class Strange:
    def __eq__(self, other):
        raise TypeError


def test_what_cannot_be_compared_is_not_equal():
    AnyPairs(([Strange()], [Strange()]), ("one",)).refuse_equal()
    endless = []
    endless.append(endless)
    AnyPairs(([endless], [endless]), ("one",)).refuse_equal()


def test_pairs_of_any_kind():
    pairs = AnyPairs.of([(1, "a"), (2, "b")])
    assert pairs.database == [1, 2] and pairs.neighbor == ["a", "b"]
    assert pairs.labels == ("pair 0", "pair 1") and len(pairs) == 2
    assert AnyPairs.of(pairs) is pairs
    with pytest.raises(ValueError, match="pairs must be given"):
        AnyPairs.of(None)
    with pytest.raises(ValueError, match="at least one"):
        AnyPairs.of([])


def ids(*databases):
    pairs = AnyPairs((list(databases), [object()] * len(databases)), ("p",) * len(databases))
    return numbers_of_databases(pairs)[:, 0].tolist()


CONTENTS = [
    1, 1.0, True, "1", b"1", None, 1j, 2.0, [1.0], (1.0,), [1.0, 2.0], [2.0, 1.0], [], (), {}, [[]],
    [1], ["1"], {"a": 1}, {"a": 2}, {"b": 1}, [1.0, 2], ["a", "bc"], ["ab", "c"],
    np.array([1.0]), np.array([1]), np.array([[1.0]]), np.float32(1.0), [NAN],
]  # fmt: skip


def test_equal_databases_have_equal_numbers_and_others_have_not():
    import copy

    found = ids(*CONTENTS, *map(copy.deepcopy, CONTENTS))
    assert found[: len(CONTENTS)] == found[len(CONTENTS) :]
    assert len(set(found)) == len(CONTENTS)


def test_other_objects_are_equal_to_themselves_alone():
    one, endless = object(), []
    endless.append(endless)
    objects = np.array([one], object)
    found = ids(one, object(), one, [one], [one], endless, endless, objects, objects.copy())
    assert found[0] == found[2] != found[1]
    assert found[3] != found[4] and found[5] == found[6] and found[7] != found[8]
    assert len(set(ids(jnp.zeros(2), np.zeros(2, jnp.zeros(2).dtype)))) == 1


def test_numbers_are_shared_by_both_sides():
    pairs = AnyPairs(([1, 2, 1], [2, 3, 2]), ("a", "b", "c"))
    np.testing.assert_array_equal(numbers_of_databases(pairs), [[0, 1], [1, 2], [0, 1]])
