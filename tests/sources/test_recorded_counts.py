"""Notes on recorded outputs that are counted, and kinds of outputs that cannot be compared."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from sides import request

import dpjax
from dpjax import Recorded
from dpjax.core import random
from dpjax.core.execution import Execution
from dpjax.core.wording import Doubt
from dpjax.partitions import Encoder, lay
from dpjax.partitions._one_entry import entry_partition
from dpjax.partitions._scored import score_partitions
from dpjax.sources import Marked, Request, Rounds
from dpjax.sources._recorded_counts import (
    _notes_of_atoms,
    _notes_of_nan,
    kind_of,
    refuse_two_kinds,
    weighed,
)


def laid(x, y, **options):
    encoder = Encoder("x and y")
    pilots = [encoder.encode(side) for side in (x, y)]
    cells = lay(pilots, encoder.names, **options)
    counts = np.stack([np.bincount(cells.index(p), minlength=cells.size) for p in pilots])
    return cells, pilots, counts


def labels_of(x, y):
    encoder = Encoder("x and y")
    pilots = [encoder.encode(side) for side in (x, y)]
    cells = lay(pilots, encoder.names)
    return cells, encoder.names, [np.bincount(pilot.labels) for pilot in pilots]


def test_nan_among_numbers_is_noted():
    numbers = np.arange(1000) / 7
    x, y = np.append(numbers, [np.nan] * 3), numbers
    (note,) = _notes_of_nan(*labels_of(x, y))
    assert note.startswith("NaN: 3 of 1,003 outputs of x and 0 of 1,000 outputs of y, counted as")
    assert _notes_of_nan(*labels_of(numbers, numbers)) == []
    # If there are no numbers, NaN is an ordinary outcome.
    labels = np.array([np.nan, np.nan])
    assert _notes_of_nan(*labels_of(labels, labels)) == []


def test_numbers_that_occur_often_are_noted():
    rng = np.random.default_rng(1)
    x, y = (np.r_[rng.normal(size=900), np.full(number, 0.5)] for number in (100, 50))
    cells, pilots, _ = laid(x, y)
    (note,) = _notes_of_atoms(cells, pilots, ())
    assert note.startswith("Numbers that occur often (0.5: 10.0% of x, 5.3% of y) were counted")
    more = [np.r_[side, np.repeat([1.5, 2.5, 3.5], 90)] for side in (x, y)]
    (note,) = _notes_of_atoms(*laid(*more)[:2], ())
    assert "(0.5, 1.5, 2.5, ...: " in note
    assert "(0.5, 1.5, 2.5: " in _notes_of_atoms(*laid(*(side[:-90] for side in more))[:2], ())[0]
    assert _notes_of_atoms(*laid(rng.normal(size=900), rng.normal(size=900))[:2], ()) == []
    # If all values are atoms, there is no density.
    assert _notes_of_atoms(*laid(np.arange(9) / 2, np.arange(9) / 2)[:2], ()) == []


def test_the_note_is_about_the_entry_that_divides_the_outputs():
    """The entry 0 has other values than the entry 1, which contains the coin."""
    rng = np.random.default_rng(3)
    noise = [rng.normal(size=(3000, 2)) for _ in range(2)]
    for side, numbers in enumerate(noise):
        numbers[:, 1] = np.where(rng.random(3000) < 0.9, side, numbers[:, 1])
    encoder = Encoder("x and y")
    pilots = [encoder.encode(side) for side in noise]
    cells = entry_partition(pilots, encoder.names, 1)
    (note,) = _notes_of_atoms(cells, pilots, ())
    assert re.match(r"Numbers that occur often in entry 1 \(0, 1: (8|9)\d\.", note)
    assert _notes_of_atoms(cells, pilots, ("a", "('coin',)"))[0].startswith(
        "Numbers that occur often in entry 'coin' (0, 1: "
    )
    # If the coin is all of the entry, there are no nearby numbers.
    for side, numbers in enumerate(noise):
        numbers[:, 1] = side
    pilots = [encoder.encode(side) for side in noise]
    assert _notes_of_atoms(entry_partition(pilots, encoder.names, 1), pilots, ()) == []
    # A score has no atoms that are numbers of the outputs.
    folds = [np.arange(3000) % 5] * 2
    for scored in score_partitions(pilots, folds, encoder.names):
        assert _notes_of_atoms(scored, pilots, ()) == []


@pytest.mark.parametrize("dimension", [2, 3])
def test_numbers_that_occur_once_do_not_occur_often(dimension):
    """Few outputs have so few different numbers that some of them have cells of their own."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 100, dimension))
    cells, pilots, _ = laid(x, y)
    assert all(map(len, cells.atoms)) and _notes_of_atoms(cells, pilots, ()) == []


def test_a_share_that_is_shown_as_0_is_not_noted():
    rng = np.random.default_rng(5)
    x, y = (np.r_[rng.normal(size=40_000), np.full(15, 0.5)] for _ in range(2))
    encoder = Encoder("x and y")
    pilots = [encoder.encode(side) for side in (x, y)]
    cells = lay(pilots, encoder.names, discrete=True)
    assert 0.5 in cells.atoms[0] and _notes_of_atoms(cells, pilots, ()) == []


def test_integers_that_occur_often_are_noted():
    rng = np.random.default_rng(1)
    x, y = (np.r_[rng.integers(0, 10**6, 900), np.full(100, 7)] for _ in range(2))
    (note,) = _notes_of_atoms(*laid(x, y)[:2], ())
    assert note.startswith(
        "Each integer that occurs often (1 of them) was treated as a separate outcome"
    )


@pytest.mark.parametrize(("others", "count"), [(0, 0), (1, 0), (2, 1)])
def test_atoms_that_are_999_in_1000_of_a_side_are_not_noted(others, count):
    """There are no nearby numbers from which the atoms could be distinguished."""
    rng = np.random.default_rng(2)
    x = np.r_[np.full(1000 - others, 0.5), rng.normal(size=others)]
    y = np.r_[np.full(500, 0.5), rng.normal(size=500)]
    assert len(_notes_of_atoms(*laid(x, y)[:2], ())) == count
    assert len(_notes_of_atoms(*laid(y, x)[:2], ())) == count


@pytest.mark.parametrize(
    ("outputs", "kind"),
    [
        (np.zeros(2), "numbers"), (np.zeros((2, 3)), "vectors of 3 numbers"),
        (np.array(["a"]), "labels"), (np.array(["a", "b"], object), "labels"),
        (np.array(["a", 1], object), None), (np.array([True]), "numbers"),
        (np.array([b"a"]), "labels"),
    ],
)  # fmt: skip
def test_kinds_of_outputs(outputs, kind):
    assert kind_of(outputs) == kind


def test_sides_of_two_kinds_are_refused():
    numbers, vectors, labels = np.array([1.5]), np.array([[1.0, 2.0]]), np.array(["a"])
    for sides, said in (
        ((numbers, labels), "x holds numbers, such as 1.5, and y holds labels, such as 'a'"),
        (
            (vectors, numbers),
            r"x holds vectors of 2 numbers, such as \[1.0, 2.0\], and y holds num",
        ),
        ((vectors, np.zeros((1, 3))), "vectors of 2 numbers, .* vectors of 3 numbers"),
    ):
        with pytest.raises(TypeError, match=said):
            refuse_two_kinds("xy", sides)
    refuse_two_kinds("xy", (numbers, np.array([3])))
    refuse_two_kinds("xy", (numbers, np.array(["a", 1], object)))


@pytest.mark.parametrize("nothing", [None, (np.nan, np.nan)], ids=repr)
@pytest.mark.parametrize("swapped", [False, True])
def test_vectors_at_one_database_and_no_answer_at_the_other(nothing, swapped):
    """The most blatant violation: an event has all outputs of one side and none of the other."""
    vectors = [tuple(row) for row in np.random.default_rng(3).normal(size=(1000, 2))]
    sides = [vectors, [nothing] * 1000]
    result = dpjax.audit(Recorded(*(sides[::-1] if swapped else sides)), claim=1.0)
    none, all_of_them = sorted(result.witness.event_counts)
    assert result.verdict == "violated" and none == 0 and all_of_them in result.evidence.trials
    assert 4.0 < result.lower_bound < np.log(all_of_them)


def test_doubts_are_lifted_where_outputs_are_known_to_be_independent():
    notes = ["plain", Doubt("doubt")]
    assert weighed(notes, SimpleNamespace(independent=False)) is notes
    lifted = weighed(notes, SimpleNamespace(independent=True))
    assert lifted == notes and not any(isinstance(note, Doubt) for note in lifted)


def test_the_shorter_confirmation_set_limits_the_draws_of_an_event():
    rng = np.random.default_rng(2)
    sides = Recorded(rng.normal(size=3000), rng.normal(size=2500), search_fraction=0.2)
    with sides.opened(None, request(10, 10)) as opened:
        (search,) = opened.search()
        searched = search.halves.sum(axis=(0, 1, 3))
        assert opened.num_confirm == min(np.array([3000, 2500]) - searched)
        assert opened.num_confirm == pytest.approx(2000, abs=100)
        marks = np.zeros((1, search.partition.size), int)
        for part in ({"first": 1}, {"size": 10}):
            with pytest.raises(ValueError, match="counted as a whole"):
                opened.count(Marked(np.zeros(1, int), marks, 1, **part))


def test_partitions_of_vectors_are_compared_at_the_planned_confirmation():
    """For the confirmation, 0.8 of the shorter side, 2,500 outputs, are planned."""
    rng, planned = np.random.default_rng(3), []

    def promise(cells, halves, num_confirm, number):
        planned.append(num_confirm)
        return 0.0

    request = Request(
        lambda number: Rounds(10, 0, 0, 10), None, promise, random.as_key(1), Execution()
    )
    vectors = rng.normal(size=(3000, 2)), rng.normal(size=(2500, 2))
    with Recorded(*vectors, search_fraction=0.2).opened(None, request) as opened:
        opened.search()
    assert set(planned) == {2000}


@pytest.mark.parametrize("two", [("1", 1), ("nan", np.nan), (2**60, 2**60 + 1), ("None", None)])
def test_outputs_that_vary_are_never_called_the_same(two):
    """Both values occur on both sides, with frequencies 0.1 and 0.9."""
    sides = [np.random.default_rng(seed).random(2000) < p for seed, p in ((0, 0.1), (1, 0.9))]
    x, y = ([two[int(second)] for second in side] for side in sides)
    assert dpjax.audit(Recorded(x, y), claim=1.0).verdict == "violated"


def test_uneven_ratios_are_sought_in_the_confirmation_set(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "dpjax.sources._recorded_counts.notes_of_uneven_ratios",
        lambda cells, counts: seen.append(counts) or ["a note"],
    )
    x, y = np.random.default_rng(1).integers(0, 9, (2, 1000))
    result = dpjax.audit(Recorded(x, y, search_fraction=0.1))
    (counts,) = seen
    # The tolerance is six standard errors of the binomial size of the set.
    assert np.all(np.abs(counts.sum(axis=1) - 900) < 57)
    assert "a note" in result.notes
