"""Partitions: every output has a cell, and events of cells have descriptions."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.partitions import Box, Encoder, Outcomes, Outputs, lay
from dpjax.partitions._partition import Partition
from dpjax.partitions._words import _Part, _Words

INF, NAN = np.inf, np.nan


def laid(*pilot, **options):
    """Return a partition made from a pilot, and a function that encodes more outputs."""
    encoder = Encoder("it")
    sides = [encoder.encode(side) for side in pilot]
    return lay([sides[0], sides[-1]], encoder.names, **options), encoder.encode


def words(cells, encode, *outputs):
    """Return the description of the event of the cells that contain the given outputs."""
    return cells.describe(np.isin(np.arange(cells.size), cells.index(encode(list(outputs)))))


def laplace(seed, size=2000):
    return np.random.default_rng(seed).laplace(size=size)


# Cells.


def test_no_output_is_dropped():
    """Every output is in one cell, including outputs that are not in the pilot."""
    cells, encode = laid([1.0, 2.0, "a", None] * 20)
    strange = encode([1e300, -1e300, "new", NAN, 1.5, 2.0, "a", 0.0])
    index = cells.index(strange)
    assert len(index) == 8 and np.all((index >= 0) & (index < cells.size))
    assert "some other label" in cells.describe(np.arange(cells.size) == index[2])
    place = cells.index(strange) + cells.size * (np.arange(8) % 2)
    counts = np.bincount(place, minlength=2 * cells.size).reshape(2, -1)
    assert counts.shape == (2, cells.size)
    # Compared with a loop: the cell of each output, by its label and number.
    expected = np.zeros((2, cells.size), int)
    for number, cell in enumerate(index):
        expected[number % 2, cell] += 1
    np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize("discrete", [None, True])
def test_a_bin_holds_its_lower_edge_and_nothing_of_its_neighbours(discrete):
    values = np.round(laplace(0), 1)
    cells, encode = laid(values, discrete=discrete)
    index = cells.index(encode(np.sort(np.concatenate([values, [-99.0, 99.0]]))))
    assert np.all(np.diff(index) >= 0)
    for column, edges in enumerate(cells.edges):
        low, high = cells.ends(column)
        at, before = (
            cells.index(encode(side)) - cells.num_alone
            for side in (edges, np.nextafter(edges, -INF))
        )
        np.testing.assert_array_equal(low[at], edges)
        np.testing.assert_array_equal(at, before + 1)
        assert np.all(high[at] >= low[at])


def test_frequent_values_are_atoms_and_rare_ones_are_not():
    values = np.where(np.random.default_rng(1).random(3000) < 0.3, 0.3, laplace(1, 3000))
    cells, encode = laid(values)
    assert cells.atoms[0].tolist() == [0.3]
    atom, below, above = cells.index(encode([0.3, np.nextafter(0.3, 0), np.nextafter(0.3, 1)]))
    assert below < atom < above
    np.testing.assert_array_equal(cells.bounds()[atom], [0.3, 0.3])
    assert words(cells, encode, 0.3) == "the output is a number equal to 0.3"
    assert laid(values, discrete=False)[0].atoms[0].size == 0
    few = laid(np.round(values))[0]
    assert few.atoms[0].tolist() == np.unique(np.round(values)).tolist()


def test_outcomes_of_a_finite_space_are_atoms_whether_seen_or_not():
    cells, encode = laid(np.array([0, 2, 2]), outcomes=4, whole=True)
    index = cells.index(encode(np.array([-7, -1, 0, 1, 2, 3, 4, 2**31 - 1])))
    assert (index - cells.num_alone).tolist() == [0, 0, 1, 2, 3, 4, 5, 5]
    assert words(cells, encode, 1, 3) == "the output is a number equal to 1 or 3"


def test_integers_between_atoms_are_in_intervals():
    numbers = np.concatenate([np.repeat([100, 5, 6], 200), np.arange(1000, 4000)])
    cells, encode = laid(numbers, whole=True)
    assert cells.atoms[0].tolist() == [5, 6, 100]
    assert words(cells, encode, 50) == "the output is a number from 7 to 99"
    assert words(cells, encode, 4) == "the output is a number of at most 4"
    assert words(cells, encode, 100) == "the output is a number equal to 100"


def test_vectors_have_boxes_in_c_order():
    pilot = np.random.default_rng(2).laplace(size=(2, 2000, 2))
    cells, encode = laid(*pilot)
    first, second = (len(edges) + 1 for edges in cells.edges)
    assert cells.shape == (first, second) and cells.size == 2 + first * second
    rows = np.array([[-99.0, -99.0], [-99.0, 99.0], [99.0, -99.0], [99.0, 99.0]])
    index = cells.index(encode(rows)) - cells.num_alone
    assert index.tolist() == [0, second - 1, (first - 1) * second, first * second - 1]
    assert cells.index(encode(np.array([[NAN, 1.0]])))[0] == cells.num_alone - 1


def test_numbers_beside_labels_are_boxes_of_their_own():
    encoder = Encoder("it", bits=2)
    random = laplace(3)
    pilot = encoder.encode(random)
    cells = lay([pilot, pilot], encoder.names)
    assert sorted(cells.names[label] for label in cells.boxed) == [
        f"lowest 2 bits {bits}" for bits in ("00", "01", "10", "11")
    ]
    places = cells.index(pilot)
    np.testing.assert_array_equal(cells.labels()[places], pilot.labels)
    # The same number with another label is in another cell.
    assert len(set(zip(places, pilot.labels, strict=True))) == len(set(places))
    text = cells.describe(np.arange(cells.size) == places[0])
    assert text.endswith(f"with {encoder.names[pilot.labels[0]]}")


def test_groups_and_positions_fit_the_cells():
    cells, encode = laid(np.concatenate([laplace(4, 500), np.zeros(100)]))
    (line,) = cells.positions()
    assert line.shape == (cells.size,) and np.nanmax(line) == cells.shape[0] - 1
    assert np.isnan(line[: cells.num_alone]).all()
    atom = cells.index(encode([0.0]))[0]
    for width in (3, 9):
        groups = cells.groups(width)
        assert np.sum(groups == groups[atom]) == 1
        assert set(groups) == set(range(groups.max() + 1)) and groups.max() < cells.size / 2
        boxes = groups[cells.num_alone :]
        assert np.all(np.diff(boxes) >= 0)
        assert np.bincount(boxes)[cells.num_alone :].max() <= width
    # Integers are adjacent to each other, whether or not they are atoms.
    whole = laid(np.arange(2000) % 40, whole=True)[0]
    assert np.bincount(whole.groups(9)).max() == 9


def test_positions_of_vectors_are_entries_and_their_sum():
    cells, _ = laid(np.random.default_rng(5).laplace(size=(500, 2)))
    first, second, both = (line[cells.num_alone :] for line in cells.positions())
    np.testing.assert_array_equal(both, first + second)
    assert first.reshape(cells.shape)[3, 7] == 3 and second.reshape(cells.shape)[3, 7] == 7


def test_labels_have_no_line():
    labels, _ = laid(np.array(["a", "b", "c"] * 20))
    assert labels.positions() == [] and labels.coarser() == []


# Regions.


def test_no_region_is_no_limit():
    assert laid(laplace(6))[0].inside(None) is None


@pytest.mark.parametrize("dimension", [1, 2])
def test_cells_inside_of_a_box_hold_what_is_in_it_and_nothing_else(dimension):
    shape = (2, 3000) if dimension == 1 else (2, 3000, dimension)
    box = Box([-0.5] * dimension, [1.25] * dimension)
    cells, encode = laid(*np.random.default_rng(7).laplace(size=shape), region=box)
    ends = [-0.5, 1.25, *(np.nextafter(e, s) for e in (-0.5, 1.25) for s in (-INF, INF)), NAN]
    corners = np.stack(np.meshgrid(*[ends] * dimension), -1).reshape(-1, dimension)
    more = np.random.default_rng(8).laplace(size=(3000, dimension))
    outputs = np.concatenate([corners, more])
    within = np.all((outputs >= -0.5) & (outputs <= 1.25), axis=1)
    np.testing.assert_array_equal(cells.inside(box)[cells.index(encode(outputs))], within)


@pytest.mark.parametrize("scale", [1, 2000])
def test_cells_inside_of_chosen_integers_hold_nothing_else(scale):
    """Few integers are atoms, many are in intervals: both are in a region as a whole, or not."""
    numbers = np.rint(scale * laplace(9, 4000)).astype(int)
    chosen = np.zeros(5 * scale, bool)
    chosen[: 3 * scale] = chosen[-scale:] = True
    region = Outcomes(-scale, len(chosen), chosen)
    cells, encode = laid(numbers, whole=True, region=region)
    tried = np.arange(-2 * scale, 6 * scale)
    within = np.isin(tried, -scale + np.flatnonzero(chosen))
    np.testing.assert_array_equal(cells.inside(region)[cells.index(encode(tried))], within)


def test_a_region_of_whole_numbers_has_an_upper_end():
    """Integers have no other limits: values outside are in no event."""
    region = Outcomes(-3, 8, np.ones(8, bool))
    cells, encode = laid(np.arange(-20, 20), whole=True, region=region)
    tried = np.arange(-30, 30)
    within = (tried >= -3) & (tried <= 4)
    np.testing.assert_array_equal(cells.inside(region)[cells.index(encode(tried))], within)


def test_outcomes_of_a_region_are_those_that_were_chosen():
    region = Outcomes(0, 4, np.array([True, False, True, False]))
    cells, encode = laid(np.arange(4), outcomes=4, whole=True, region=region)
    tried = np.array([-1, 0, 1, 2, 3, 4])
    inside = cells.inside(region)[cells.index(encode(tried))]
    assert inside.tolist() == [False, True, False, True, False, False]


def test_a_region_of_another_dimension_is_refused():
    for pilot, box in (
        (laplace(10), Box([-1.0, -1.0], [1.0, 1.0])),
        (laplace(10).reshape(-1, 2), Box(-1.0, 1.0)),
    ):
        with pytest.raises(ValueError, match="region must have dimension"):
            laid(pilot, region=box)


# Descriptions.


def test_a_complement_is_said_by_its_own_parts():
    cells, _ = laid(laplace(0))
    middle = (cells.edges[0] >= -0.3) & (cells.edges[0] < 0.3)
    inside = np.concatenate([np.zeros(cells.num_alone + 1, bool), middle])
    seen = np.arange(cells.size) >= cells.num_alone
    event = cells.settled(~inside & seen, seen)
    low, high = (float(cells.edges[0][np.flatnonzero(middle)[i] + j]) for i, j in ((0, 0), (-1, 1)))
    assert cells.describe(event) == f"the output is not in [{low:.6g}, {high:.6g})"
    assert cells.describe(event, whole=True) == f"the output is not in [{low:.17g}, {high:.17g})"
    # Counted outputs and the description are the same event, also for unseen labels.
    encoder = Encoder("it")
    outputs = encoder.encode([low, np.nextafter(low, -9), high, np.nextafter(high, -9), 99.0, "x"])
    assert event[cells.index(outputs)].tolist() == [False, True, True, False, True, True]
    # A half-line is described as such, without labels that never occurred.
    half = cells.settled(np.arange(cells.size) >= cells.num_alone + 10, seen)
    assert cells.describe(half) == f"the output is a number of at least {cells.edges[0][9]:.6g}"
    assert not half[: cells.num_alone].any()
    nothing = "no event: no difference in probability exceeds delta"
    assert cells.describe(np.zeros(cells.size, bool)) == nothing
    assert cells.describe(np.ones(cells.size, bool)) == "the output is anything"


def test_vectors_are_said_entry_by_entry():
    corners = np.array([[-1.0, -1.0], [1.0, 1.0]] * 50)
    cells, encode = laid(corners)
    assert words(cells, encode, [-1.0, 1.0]) == (
        "the output is a vector with entry 0 equal to -1 and entry 1 equal to 1"
    )
    chosen = np.zeros((1, *cells.shape), bool)
    chosen[0, 0], chosen[0, 1, 0] = True, True
    event = np.concatenate([np.zeros(cells.num_alone, bool), chosen.ravel()])
    assert cells.describe(event) == (
        "the output is a vector with entry 0 equal to -1 and entry 1 below -1; or entry 0 below -1 "
        "and entry 1 of any size"
    )


def said_by(text, value):
    """Return whether a number belongs to an event, according to its description."""
    for part in re.split(r", (?=[a-z])| or (?=[a-z])", text):
        numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", part)]
        if "equal to" in part and value in numbers:
            return True
        if part.endswith("of any size"):
            return True
        if "below" in part and value < numbers[0]:
            return True
        if "at least" in part and value >= numbers[0]:
            return True
        if "at most" in part and value <= numbers[0]:
            return True
        if "above" in part and value > numbers[0]:
            return True
        if "from" in part and numbers[0] <= value <= numbers[1]:
            return True
        if found := re.search(r"in ([\[(])(.*), (.*)([\])])", part):
            low, high = float(found[2]), float(found[3])
            starts = value >= low if found[1] == "[" else value > low
            if starts and (value <= high if found[4] == "]" else value < high):
                return True
    return False


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_words_of_every_event_say_the_numbers_that_it_holds(whole, full):
    """Tests all events of cells of numbers, with an atom between intervals."""
    ends = [-1.0, 2.0, 3.0, 5.0] if whole else [-1.0, 2.0, np.nextafter(2.0, 3), 4.0]
    cells = Partition(("a number",), (np.array(ends),), (np.array([2.0]),), np.zeros(1, int), whole)
    tried = [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 9.0]
    outputs = Outputs(np.zeros(10, int), np.array(tried)[:, None], np.zeros(10, bool))
    place = cells.index(outputs)
    for number in range(1, 31):
        mask = np.zeros(cells.size, bool)
        mask[cells.num_alone :] = [number >> bit & 1 for bit in range(5)]
        words = cells.describe(mask, whole=full).removeprefix("the output is ")
        words = words.replace("a number ", "")
        is_not = words.startswith("not ")
        found = [said_by(words.removeprefix("not "), value) != is_not for value in tried]
        assert found == mask[place].tolist(), words


def test_long_lists_are_cut_in_short_and_whole_otherwise():
    cells, encode = laid(np.arange(60) % 30, outcomes=30, whole=True)
    event = np.isin(np.arange(cells.size), cells.index(encode(np.arange(0, 30, 2))))
    assert cells.describe(event).endswith("or 11 more values")
    assert [int(n) for n in re.findall(r"\d+", cells.describe(event, whole=True))] == [
        *range(0, 30, 2)
    ]


def test_ends_have_the_digits_that_tell_neighbours_apart():
    near = 1234.5 + np.arange(400) * 1e-5
    cells, _ = laid(near)
    edges = cells.edges[0]
    texts = {cells.describe(np.arange(cells.size) == i) for i in range(cells.num_alone, cells.size)}
    assert len(texts) == len(edges) + 1
    for number in re.findall(r"[\d.]{4,}", " ".join(texts)):
        assert len(number.replace(".", "")) <= 9
    far = laid(near * 1e3 - 1234e3, near)[0].edges[0]
    assert len(far) == len(np.unique(far))
    plain, _ = laid(laplace(0, 3000))
    digits = [
        len(number.replace(".", "").lstrip("0"))
        for number in re.findall(r"[\d.]{4,}", plain.describe(np.arange(plain.size) % 9 == 5))
    ]
    assert max(digits) <= 6


def test_the_end_beside_an_atom_is_open_in_short_and_exact_in_whole():
    rng = np.random.default_rng(0)
    cells, _ = laid(np.where(rng.random(3000) < 0.3, 0.5, rng.random(3000)))
    edges = cells.edges[0]
    at = int(np.flatnonzero(edges == 0.5)[0])
    first = cells.num_alone + at + 2
    event = np.isin(np.arange(cells.size), [first, first + 1])
    assert cells.describe(event) == f"the output is a number in (0.5, {edges[at + 3]:.6g})"
    low = float(np.nextafter(0.5, 1))
    assert f"in [{low:.17g}, " in cells.describe(event, whole=True)
    atom = np.arange(cells.size) == cells.num_alone + at + 1
    assert cells.describe(atom) == "the output is a number equal to 0.5"


def test_what_never_happened_goes_with_its_neighbours():
    """For integers, nothing lies between two of them, so consecutive integers are one interval."""
    rng = np.random.default_rng(1)
    cells, _ = laid(*(rng.integers(0, 10, 500).astype(float) for _ in range(2)))
    bins = cells.edges[0]
    seen, event = np.zeros((2, cells.size), bool)
    for number in range(10):
        place = cells.num_alone + int(np.flatnonzero(bins == number)[0]) + 1
        seen[place], event[place] = True, number in (2, 3, 4, 6, 9)
    settled = cells.settled(event, seen)
    np.testing.assert_array_equal(settled & seen, event & seen)
    assert cells.describe(settled) == (
        "the output is a number in [2, 4], of at least 9 or equal to 6"
    )
    assert cells.describe(event & seen) == "the output is a number equal to 2, 3, 4, 6 or 9"
    # Outputs that occurred, and simple descriptions, are not changed.
    np.testing.assert_array_equal(cells.settled(seen, seen), seen)


# Limits.


def test_too_many_cells_are_made_coarser_and_atoms_stay(monkeypatch):
    values = np.where(np.random.default_rng(2).random(3000) < 0.2, 0.25, laplace(2, 3000))
    fine, _ = laid(values)
    monkeypatch.setattr("dpjax.partitions._lay._MAX_CELLS", 60)
    coarse, encode = laid(values)
    assert coarse.size <= 60 < fine.size
    assert set(coarse.edges[0]) <= set(fine.edges[0])
    assert words(coarse, encode, 0.25) == "the output is a number equal to 0.25"


@pytest.mark.parametrize(
    ("pilot", "options", "message"),
    [
        ([np.zeros((50, 4))], {}, "at most 3 numbers in a sweep or if region is set, but had 4"),
        (laplace(0).reshape(2, -1), {"discrete": True}, "all 2000 outputs are distinct numbers"),
    ],
)
def test_what_cannot_be_laid_is_refused(pilot, options, message):
    with pytest.raises(ValueError, match=message):
        laid(*pilot, **options)


def test_too_many_labels_are_refused(monkeypatch):
    monkeypatch.setattr("dpjax.partitions._lay._MAX_LABELS", 30)
    with pytest.raises(ValueError, match="more than 30 distinct labels"):
        laid([f"run-{number}" for number in range(40)])


def test_cells_inside_a_box_lie_in_it_with_both_ends():
    """By the ends of every cell; an edge at an end of the box belongs to what lies above it."""
    numbers = np.concatenate([np.repeat([0.0, 1.0], 400), laplace(2)])
    for ends in ((0.0, 1.0), (0.3, 0.9), (-0.7, 1.0), (-1e30, 0.0), (1.0, 1e30)):
        box = Box(*([end] for end in ends))
        cells, _ = laid(numbers, region=box)
        low, high = cells.ends(0)
        first, last = float(box.low[0]), float(box.high[0])
        # Bins contain the numbers below their upper ends; atoms contain their only number.
        greatest = np.where(low == high, high, np.nextafter(high, -INF))
        expected = (low >= first) & (greatest <= last)
        found = cells.inside(box)
        assert not found[: cells.num_alone].any()
        np.testing.assert_array_equal(found[cells.num_alone :], expected)
        assert 0 < expected.sum() < len(expected)


@pytest.mark.parametrize("low", [-2, 0, 3])
def test_cells_inside_a_range_hold_only_allowed_integers(low):
    """Checks each integer in atoms, bins, and bins that extend beyond the range."""
    numbers = np.concatenate([np.repeat([0, 4, 5, 9], 400), np.arange(-1500, 1500)])
    cells, encode = laid(numbers, whole=True)
    for allowed in ([1] * 9, [1, 0, 1, 1, 1, 1, 0, 1, 1], [0] * 8 + [1]):
        region = Outcomes(low, 9, np.array(allowed, bool))
        members = {low + place for place, is_in in enumerate(allowed) if is_in}
        integers = np.arange(-1600, 1600)
        index = cells.index(encode(integers))
        expected = [
            set(integers[index == cell].tolist()) <= members and bool(np.any(index == cell))
            for cell in range(cells.size)
        ]
        np.testing.assert_array_equal(cells.inside(region), expected)


def many_bins(seed=3):
    """Return a partition of 100 bins or more and one label, and the cells of all outputs."""
    outputs = [*laplace(seed, 20_000).tolist(), *["a"] * 300]
    cells, encode = laid(outputs, discrete=False)
    return cells, cells.index(encode(outputs))


@pytest.mark.parametrize("limited", [False, True])
def test_merged_bins_are_neighbours_of_one_kind(limited):
    cells, _ = many_bins()
    allowed = np.arange(cells.size) % 50 < 20 if limited else None
    group, (line,) = cells.merged(allowed)
    position = cells.positions()[0]
    assert cells.size > 70 and len(line) == group.max() + 1 < cells.size / 2
    for number in range(len(line)):
        members = np.flatnonzero(group == number)
        # The groups have no gaps and at most three cells, all of them allowed or none.
        assert 1 <= len(members) <= 3 and np.all(np.diff(members) == 1)
        assert allowed is None or len(set(allowed[members].tolist())) == 1
        np.testing.assert_allclose(line[number], position[members].mean())


def test_a_chain_is_spread_over_what_was_not_seen():
    """A bin joins the later of its seen neighbors, and an unseen label comes last."""
    cells, _ = many_bins()
    random = np.random.default_rng(1)
    places, seen = random.integers(0, 9, cells.size), random.random(cells.size) < 0.4
    spread = cells.spread(places, seen, last=9)
    known = np.flatnonzero(seen & (np.arange(cells.size) >= cells.num_alone))
    for cell in range(cells.size):
        if cell < cells.num_alone or seen[cell]:
            assert spread[cell] == (places[cell] if seen[cell] else 9)
        else:
            beside = [*known[known < cell][-1:], *known[known > cell][:1]]
            assert spread[cell] == max(places[beside])


def test_tails_have_edges_at_shares_that_halve():
    """At 1 / 192, 1 / 384, ... of the outputs; the last edge has 16 of 100,000 outputs."""
    values = laplace(5, 100_000)
    cells, encode = laid(values, discrete=False)
    shares = np.bincount(cells.index(encode(values)) - cells.num_alone) / len(values)
    for outer in (shares, shares[::-1]):
        reached = np.cumsum(outer)
        for level in 0.5 ** np.arange(1, 7) / 96:
            assert np.min(np.abs(reached - level)) < 0.1 * level


@pytest.mark.parametrize(("joint", "shown"), [(" or ", 4), ("; or ", 2)])
def test_of_many_parts_the_first_are_named_and_the_others_counted(joint, shown):
    cells, _ = laid(laplace(0))
    for number in range(1, 9):
        parts = [_Part(f"part {place}", 1 + place % 2) for place in range(number)]
        text, whole = (_Words(cells, full).listed(parts, joint) for full in (False, True))
        assert all(part.text in whole for part in parts)
        if number <= shown + 1:
            assert text == whole
        else:
            left = sum(part.cells for part in parts[shown:])
            assert f"{number - shown} more such sets ({left} cells)" in text
            assert [part.text in text for part in parts] == [p < shown for p in range(number)]


def test_cells_of_all_labels_with_the_same_boxes_are_counted(monkeypatch):
    told = []
    words = _Words(SimpleNamespace(
        names=["one", "two", "three"], num_alone=0, boxed=[0, 1, 2], kind=lambda whole: "a number",
        boxes=lambda mask: [np.array(chosen) for chosen in ([1, 1], [1, 1], [1, 0])],
    ), True)  # fmt: skip
    boxes = {2: _Part("here", 2), 1: _Part("there", 1)}
    monkeypatch.setattr(_Words, "_boxes", lambda self, chosen: boxes[int(chosen.sum())])
    monkeypatch.setattr(
        _Words,
        "listed",
        lambda self, parts, *_: told.append(parts) or " or ".join(part.text for part in parts),
    )
    said = words.text(np.zeros(0, bool))
    assert said == "a number here with one or two or a number there with three"
    assert [part.cells for part in told[-1]] == [4, 1]


@pytest.mark.parametrize("dimension", [1, 2])
def test_the_largest_float_is_an_atom_like_others(dimension):
    """The next number is infinity, for which NumPy issues a warning."""
    most = np.finfo(np.float64).max
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(4000, dimension))
    outputs[:1000, 0] = most
    encoder = Encoder("x")
    pilots = [encoder.encode(side[:, 0] if dimension == 1 else side)
              for side in (outputs, outputs[::-1])]  # fmt: skip
    with np.errstate(all="raise"):
        cells = lay(pilots, encoder.names)
        index = cells.index(pilots[0])
        texts = {cells.describe(np.arange(cells.size) == at) for at in set(index[:1000].tolist())}
    assert most in cells.atoms[0] and not set(index[:1000]) & set(index[1000:])
    assert all("1.7976" in text and "e+308" in text for text in texts)
