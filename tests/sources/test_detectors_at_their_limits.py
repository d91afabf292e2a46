"""Detectors of dependent outputs just below and just above their limits.

Sides have the largest number of copies that a detector accepts, and then one more.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from dpjax import Recording
from dpjax.core.wording import Doubt
from dpjax.partitions import Encoder
from dpjax.sources import AnyPairs, _copied, _uneven
from dpjax.sources._copied import notes_of_near_copies, refuse_copies
from dpjax.sources._counting import Tally
from dpjax.sources._passages import WINDOW, Passages, _kept
from dpjax.sources._repeats import LEAST_NATS, Repeats
from dpjax.sources._shared_draws import refuse_same_origin, refuse_shared_draws
from dpjax.sources._side_values import SideValues
from dpjax.sources._spacings import NearCopies, Spacings
from dpjax.sources._uneven import _squares, notes_of_uneven_ratios
from dpjax.sources._watched import Watched


class Boxes:
    """Cells of numbers in one or more boxes; each box has separate counts."""

    def __init__(self, columns=1, ends=()):
        self.edges, self.ends = [None] * columns, ends

    def boxes(self, counts):
        return np.split(counts, self.ends)


JUMP, FLAT = [1000, 20, 1000], [1000, 1000, 1000]


def uneven(x, y, **options):
    return notes_of_uneven_ratios(Boxes(**options), np.array([x, y]))


def test_five_triples_of_twenty_outputs_tell_a_jump():
    """No single triple is unlikely."""
    (note,) = uneven(5 * JUMP, 5 * FLAT)
    assert note.startswith("The ratio of the two counts jumps between neighboring outcomes")
    assert uneven(5 * FLAT, 5 * JUMP) and uneven(5 * JUMP, 5 * FLAT, ends=(6,))
    assert not uneven(4 * JUMP, 4 * FLAT) and not uneven(5 * FLAT, 5 * FLAT)
    # A cell of 19 outputs is ignored, and with it one triple.
    assert not uneven([*(4 * JUMP), 1000, 19, 1000], 5 * FLAT)
    assert not uneven(5 * FLAT, [*(4 * JUMP), 1000, 19, 1000])
    # Triples do not cross boxes, and vectors have no triples.
    assert not uneven(5 * JUMP, 5 * FLAT, ends=(1, 2, 4))
    assert not uneven(5 * JUMP, 5 * FLAT, columns=2) and not uneven([], [])


def test_a_jump_is_noted_below_its_chance(monkeypatch):
    for chance, noted in ((1e-7, False), (0.999e-7, True)):
        monkeypatch.setattr(_uneven, "_tail", lambda squares, chance=chance: chance)
        assert bool(uneven(5 * FLAT, 5 * FLAT)) == noted


def test_a_squared_second_difference():
    x, y = np.array([30, 50, 70, 25]), np.array([40, 44, 90, 26])
    difference = math.log(30.5 / 40.5) - 2 * math.log(50.5 / 44.5) + math.log(70.5 / 90.5)
    error = 1 / 30.5 + 1 / 40.5 + 4 / 50.5 + 4 / 44.5 + 1 / 70.5 + 1 / 90.5
    assert _squares(x, y) == pytest.approx([difference**2 / error], rel=1e-12)


def summary(counts):
    """Return the summary of a side whose values occur the given numbers of times."""
    counts = np.asarray(counts)
    return SimpleNamespace(counts=counts, total=int(counts.sum()), again=None)


def fewest(needed):
    """Return the smallest number of coincidences of probability 1/2 with sufficient evidence."""
    return next(n for n in range(1, 1000) if n * math.log(1.999) - math.log(4) > needed(n))


@pytest.mark.parametrize("divisor", [2, 3, 5, 7, 11, 13])
def test_copies_are_refused_from_their_evidence_on(divisor):
    """With s = 0.999, the evidence is largest if all counts are divisible: 1.999 per value."""
    number = fewest(lambda n: math.log((divisor * n + 1) * 6 / 1e-9))
    refuse_copies("x", summary([divisor] * (number - 1)))
    said = f"x must hold .* of {number} values that were compared, {number} have counts divisible "
    with pytest.raises(ValueError, match=f"{said}by {divisor}.*is below 1e-09"):
        refuse_copies("x", summary([divisor] * number))


def test_other_divisors_are_not_looked_at():
    refuse_copies("x", summary([17] * 90))
    refuse_copies("x", summary([1] * 90))
    again = summary([1])
    again.again = 4, 9
    with pytest.raises(ValueError, match=r"at output 5 begins again at output 10\."):
        refuse_copies("x", again)


def side(values):
    found = SideValues()
    found.add(np.asarray(values))
    return found


def test_shared_values_are_refused_from_their_evidence_on():
    """Both sides contain these values once, so the probability is 1/2 for each value."""
    number = fewest(lambda n: math.log((2 * n + 1) / 1e-9))
    for size in (number - 1, number):
        order = np.random.default_rng(3).permutation(size)
        sides = side(np.arange(size)), side(order)
        if size < number:
            refuse_shared_draws(*sides)
            continue
        said = f"of {size} values that could be compared, {size} occur equally often in both"
        with pytest.raises(ValueError, match=said):
            refuse_shared_draws(*sides)


def test_a_recording_and_an_array_have_no_common_origin(tmp_path):
    (tmp_path / "x.csv").write_text("1\n2\n")
    recorded = Recording(tmp_path / "x.csv")
    refuse_same_origin(recorded, np.zeros(3))
    refuse_same_origin(np.zeros(3), recorded)
    with pytest.raises(
        ValueError, match=r"samples file .*x\.csv is on both sides.* by=\"database\""
    ):
        refuse_same_origin(recorded, Recording(tmp_path / "x.csv"))


def test_near_copies_are_doubted_below_their_chance():
    for chance, doubted in ((1e-9, False), (0.999e-9, True)):
        found = NearCopies(700, 50, 40, chance)
        x = SimpleNamespace(spacings=SimpleNamespace(near_copies=lambda other, found=found: found))
        notes = notes_of_near_copies(x, x)
        assert len(notes) == doubted
    (note,) = notes
    assert isinstance(note, Doubt)
    assert note.startswith(
        "In 50 of 700 pairs of adjacent spacings between sorted outputs, one spacing is over a "
        "thousand times the other. In 40 of these 50 pairs, the two outputs"
    )
    assert _copied._CHANCE == 1e-9


def spaced(values, others):
    sides = Spacings(), Spacings()
    for spacings, numbers in zip(sides, (values, others), strict=True):
        spacings.add(np.asarray(numbers, float))
    return sides[0].near_copies(sides[1])


@pytest.mark.parametrize(("ulps", "is_close"), [(16, False), (17, True)])
def test_sixteen_units_in_the_last_place_are_no_distance(ulps, is_close):
    """All values have the same unit in the last place; the maximum is 1.06 times the minimum."""
    base = 2.0**20 + 1024 * np.arange(60)
    copies = base[10:50:4] + ulps * np.spacing(base[0])
    found = spaced([*base, *copies], base + 2.0**17)
    assert (found.close > 0) == is_close and (found.alone > 0) == is_close


def test_few_near_copies_among_many_outputs_are_judged_by_their_share():
    """Of 1,500 pairs of spacings, five are close with a probability of 3 in 1,000 each."""
    base = 10.0 * np.arange(1, 1501)
    found = spaced([*base, *(base[::300] + 1e-6)], base + 20_000)
    expected = stats.binom.sf(found.close - 1, found.pairs, 3e-3)
    assert found.close == found.alone == 5 and found.chance == pytest.approx(expected)
    assert found.chance > 0.4 > 0.74**5


def test_near_copies_of_values_of_both_sides_are_of_neither():
    base = 10.0 * np.arange(1, 401)
    copied = [*base, *(base[::4] + 1e-6)]
    for sides in ((copied, base), (base, copied)):
        found = spaced(*sides)
        assert found.close > 50 and found.alone == 0 and found.chance == 1.0


@pytest.mark.parametrize("width", [1, 2, 16, 64])
def test_a_passage_is_known_by_the_order_of_its_outputs(width):
    """Exchanging two outputs, or two parts, changes the windows."""
    outputs = np.random.default_rng(5).integers(0, 2**63, 2**14).astype(np.uint64)
    parts = outputs.reshape(-1, 2, width)
    swapped = parts[:, ::-1].ravel()
    before, after = _kept(outputs), _kept(swapped)
    assert len(before) > 30 and len(after) > 30
    assert not np.isin(before, after).any()
    assert np.array_equal(_kept(outputs[: WINDOW - 1]), [])


def test_passages_of_one_window_and_of_none():
    outputs = np.random.default_rng(6).integers(0, 2**63, 2**13).astype(np.uint64)
    kept = _kept(outputs)
    whole = Passages.none().after(0, (outputs, outputs[:0]))[0]
    assert np.array_equal(whole.words, kept) and np.all(kept % 256 == 0)
    # Each window has a separate hash.
    alone = [_kept(outputs[start : start + WINDOW]) for start in range(700)]
    found = np.concatenate(alone)
    assert np.isin(found, kept).all() and 0 < len(found) < 12


def test_runs_that_hardly_vary_may_be_the_same():
    """Two new processes that return the same zeros, or few distinct values, prove nothing."""
    runs = {True: [0.0] * 500, False: list(np.random.default_rng(1).normal(size=500))}
    for hardly, outputs in runs.items():
        pairs = AnyPairs(([1], [2]), ("one",))
        found = Watched(None, [Encoder("f")] * len(pairs), pairs, ((7, 8), 0), Tally(), {})
        again = "processes", [[outputs, outputs], [outputs, outputs]]
        if hardly:
            found.refuse_same(0, again)
            continue
        with pytest.raises(Repeats, match="the same first 500 outputs"):
            found.refuse_same(0, again)
    assert LEAST_NATS == 40.0


def test_runs_are_compared_up_to_the_shorter_one():
    outputs = list(np.random.default_rng(1).normal(size=60))
    pairs = AnyPairs(([1], [2]), ("one",))
    found = Watched(None, [Encoder("f")] * len(pairs), pairs, ((7, 8), 0), Tally(), {})
    other = list(np.random.default_rng(2).normal(size=60))
    with pytest.raises(Repeats, match="drawn from its neighbor, had the same first 40 outputs"):
        found.refuse_same(0, ("objects", [[outputs, outputs], [other, outputs[:40]]]))
