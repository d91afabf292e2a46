"""Spaces of neighbors; an independent naive check covers every proposed or varied pair."""

import math
from collections import Counter
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest
from every_pair import every_pair

import dpjax
from dpjax import Domain, neighbors
from dpjax.databases import AddRemove, AnyTwo, ChangeOne, Pairs, Within
from dpjax.databases.spaces._fields import _kind_of
from dpjax.databases.spaces._forms import form_of
from dpjax.databases.spaces._record_pairs import RecordPairs
from dpjax.databases.spaces._relations import _edits

pd = pytest.importorskip("pandas")

BOUNDED = Domain(bounds=(0.0, 10.0))


def rows_of(database):
    """Return the records of any database in this file, independently of the library."""
    if isinstance(database, pd.DataFrame):
        return [tuple(row) for row in database.to_numpy(object)]
    if isinstance(database, dict):
        return list(zip(*(np.asarray(c).tolist() for c in database.values()), strict=True))
    if isinstance(database, tuple) and database and isinstance(database[0], np.ndarray):
        return [(*np.atleast_1d(x).tolist(), y) for x, y in zip(*database, strict=True)]
    if isinstance(database, np.ndarray):
        return [tuple(row) if isinstance(row, list) else row for row in database.tolist()]
    return list(database)


def values_of(database):
    rows = [row if isinstance(row, tuple) else (row,) for row in rows_of(database)]
    return [v for row in rows for v in (row[0].values() if isinstance(row[0], dict) else row)]


def multiset_distance(one, other):
    """Count records in one database only; NaN equals NaN, and -0.0 differs from 0.0."""
    counts = [Counter(map(repr, rows_of(side))) for side in (one, other)]
    return sum(((counts[0] - counts[1]) + (counts[1] - counts[0])).values())


EXAMPLES = [
    [1.0, 2.0, 3.0],
    [1, 2, 3],
    (0.5, 0.25),
    ["a", "b"],
    [True, False],
    [{"age": 3, "town": "x"}, {"age": 5, "town": "y"}],
    np.array([1.0, 2.0]),
    np.array([[1.0, 2.0], [3.0, 4.0]]),
    np.array([1, 2, 3], np.int32),
    (np.ones((3, 2)), np.array([0, 1, 0])),
    {"x": np.arange(3.0), "y": ["a", "b", "a"]},
    pd.DataFrame({"age": [3, 5], "town": ["x", "y"], "pay": [1.5, 2.5]}),
    "text",
    b"\x01\x02",
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("like", EXAMPLES, ids=lambda like: type(like).__name__)
@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
def test_no_pair_outside_of_the_relation(like, relation):
    pairs = every_pair(neighbors(like, relation))
    # There are at least a dozen pairs, of one form, none with equal databases.
    assert len(pairs) >= 12
    for pair in pairs:
        assert type(pair.database) is type(pair.neighbor) is type(like)
        sizes = [len(rows_of(side)) for side in pair[:2]]
        distance = multiset_distance(*pair[:2])
        if relation == "add-remove":
            assert distance <= 1 and abs(sizes[0] - sizes[1]) <= 1
        else:
            assert distance <= 2 and sizes[0] == sizes[1]
        assert repr(rows_of(pair.database)) != repr(rows_of(pair.neighbor))


def test_bounds_nan_and_size():
    for domain in (BOUNDED, Domain(bounds=(0.0, 10.0), nan=True), Domain(bounds=(0, 10), size=3)):
        pairs = every_pair(neighbors([1.0, 2.0, 3.0], AddRemove(2), domain))
        values = [v for pair in pairs for side in pair[:2] for v in side]
        finite = [v for v in values if not math.isnan(v)]
        assert all(0 <= v <= 10 for v in finite)
        assert (len(finite) < len(values)) == domain.nan
        if domain.size is not None:
            assert {len(side) for pair in pairs for side in pair[:2]} == {3}
        # The values tried include the extreme values and the values adjacent to them.
        tried = set(map(repr, finite))
        assert {"0.0", "-0.0", "10.0", repr(math.nextafter(10.0, 0.0)), "5e-324"} <= tried


@pytest.mark.parametrize(
    "like", [[(1, 2, 3), (2, 3, 4)], np.ones((3, 3)), pd.DataFrame({c: [1.0, 2.0] for c in "abc"})]
)
def test_bounds_of_too_few_fields_are_refused(like):
    """Earlier versions applied the bounds of the last field to all further fields."""
    with pytest.raises(ValueError, match="but had 2 entries for at least 3 fields"):
        neighbors(like, "change-one", Domain(bounds=[(0, 5), (0, 6)]))
    assert neighbors(like, "change-one", Domain(bounds=[(0, 5), None, (0, 6)]))


def test_what_is_tried():
    pairs = neighbors([1.0, 2.0, 3.0], domain=BOUNDED, num_pairs=1000).proposed()
    held = [(pair.database, pair.neighbor) for pair in pairs]
    assert ([], [10.0]) in held and ([10.0] * 3, [10.0] * 4) in held
    assert any(sorted(x) == sorted(y[:-1]) and x != y[:-1] for x, y in held)  # reordered
    assert ([1.0, 2.0, 3.0], [2.0, 3.0]) in held  # one record fewer
    flips = {y[-1] for x, y in neighbors(b"\x05", "change-one", num_pairs=1000) if x == b"\x05"}
    assert {5 ^ 1 << bit for bit in range(8)} <= flips  # each bit alone


def test_ordered_relations_keep_the_order():
    def is_subsequence(short, long):
        rest = iter(long)
        return all(any(a == b for b in rest) for a in short)

    for pair in every_pair(neighbors([1, 2, 3], AddRemove(1, ordered=True))):
        short, long = sorted(pair[:2], key=len)
        assert len(long) - len(short) == 1 and is_subsequence(short, long)
    for pair in every_pair(neighbors([1, 2, 3], ChangeOne(1, ordered=True))):
        assert sum(a != b for a, b in zip(*pair[:2], strict=True)) == 1


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("like", [[0.0, 0.0, 0.0], np.zeros(2), [0, 0]], ids=repr)
def test_vectors_within_a_distance(norm, like):
    distance = 1.0
    reached = []
    for pair in every_pair(neighbors(like, Within(distance, norm))):
        sides = [np.asarray(side, object).tolist() for side in pair[:2]]
        gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(*sides, strict=True)]
        total = {"l1": sum(gaps), "linf": max(gaps), "l2": sum(g * g for g in gaps)}[norm]
        # Vectors that differ only in the sign of a zero are also neighbors.
        assert total <= 1 and repr(pair.database) != repr(pair.neighbor)
        reached.append(float(total))
    # Most pairs have the largest possible distance, up to rounding.
    assert sum(value > 0.99 for value in reached) > len(reached) / 2


def test_numbers_and_any_two():
    for x, y in neighbors(2.0, Within(0.5), Domain(bounds=(0, 3))):
        assert 0 <= x <= 3 and 0 <= y <= 3 and 0 < abs(Fraction(x) - Fraction(y)) <= 0.5
    for x, y in neighbors(7, Within(2.0)):
        assert isinstance(x, int) and isinstance(y, int) and 0 < abs(x - y) <= 2
    space = neighbors("a", AnyTwo(), Domain(categories=["a", "b", "c"]))
    assert {frozenset(pair) for pair in space} == {
        frozenset("ab"), frozenset("ac"), frozenset("bc")
    }  # fmt: skip


def test_each_bit_of_an_integer_alone():
    domain = Domain(bounds=(0, 2**20 - 1))
    space = neighbors(0b1011, AnyTwo(), domain)
    pairs = every_pair(space)
    assert all(0 <= side < 2**20 and isinstance(side, int) for pair in pairs for side in pair[:2])
    flips = {one ^ other for one, other, _ in space.proposed() if one == 0b1011}
    assert {1 << place for place in range(20)} <= flips
    # Without bounds, the bits of the example and those of a byte are flipped.
    flips = {one ^ other for one, other in neighbors(2**12, AnyTwo()) if one == 2**12}
    assert {1 << place for place in range(13)} <= flips


def test_variations_of_integers_flip_one_bit_of_both_or_are_values():
    space = neighbors(0b1011, AnyTwo(), Domain(bounds=(0, 255)))
    pair = space.proposed()[0]._replace(database=0b1011, neighbor=0b1001)
    varied = [space.varied(pair, (seed,)) for seed in range(100)]
    varied = [found for found in varied if found is not None]
    # With probability 1/2, both sides keep their difference; other variations rarely have it.
    kept = sum(one ^ other == 0b0010 for one, other, _ in varied)
    assert 30 <= kept <= 70
    words = neighbors("ab", AnyTwo(), Domain(categories=["ab", "cd"]))
    assert all(words.varied(p, (1,)) for p in words.proposed()[:2])


def test_variations_of_values_are_near_those_of_the_best_pair():
    space = neighbors(7, AnyTwo(), Domain(bounds=(0, 10**6)))
    pair = space.proposed()[0]._replace(database=400_000, neighbor=5)
    varied = [space.varied(pair, (seed,)) for seed in range(60)]
    firsts = {found.database for found in varied if found is not None}
    assert len(firsts - {400_000}) > 5


@pytest.mark.one_in(2)
@pytest.mark.parametrize("place", [0, 13, 19])
def test_an_audit_finds_the_bit_that_a_function_reports(place):
    """The function reports one bit of 20, with a probability of 0.98."""

    def report(database, num_samples, seed):
        shown = np.random.default_rng(seed).random(num_samples) < 0.98
        return np.where(shown, database >> place & 1, 1 - (database >> place & 1))

    space = neighbors(0, AnyTwo(), Domain(bounds=(0, 2**20 - 1)))
    method = dpjax.Events(num_draws=2_000)
    result = dpjax.audit(dpjax.HostMechanism(report), space, claim=3.0, method=method)
    # The true level is log(0.98 / 0.02) = 3.89.
    assert result.verdict == "violated" and result.lower_bound <= math.log(0.98 / 0.02)


def test_members_alone():
    """Databases that the domain's own test rejects, or for which it fails, are not proposed."""

    def member(database):
        if 0.0 in database:
            raise ValueError("no zeros")
        return len(database) < 4

    pairs = every_pair(neighbors([1.0, 2.0, 3.0], domain=Domain(member=member)))
    assert all(0.0 not in side and len(side) < 4 for pair in pairs for side in pair[:2])


def test_the_same_seed_gives_the_same_pairs():
    first, again, other = (
        [repr(pair) for pair in neighbors([1.0, 2.0], num_pairs=50, seed=seed).proposed()]
        for seed in (3, 3, 4)
    )
    assert first == again and len(first) == len(set(first)) == 50 and first != other


@pytest.mark.parametrize("like", EXAMPLES, ids=lambda like: type(like).__name__)
def test_forms_are_taken_apart_and_put_together(like):
    form = form_of(like)
    again = form.database(form.records(like))
    assert type(again) is type(like)
    if isinstance(like, pd.DataFrame):
        pd.testing.assert_frame_equal(again, like)
    else:
        assert repr(again) == repr(like)
    assert len(form.records(form.database(form.records(like)[:1]))) == 1


def test_pairs_of_numbers_are_pairs_of_arrays():
    stacked = Pairs.of([*neighbors(np.zeros(2), Within(1.0, "l1"), Domain(bounds=(-2, 2)))])
    assert stacked.database.shape[1:] == (2,)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: neighbors(3.0), TypeError, "like must be .* or a vector, pass relation=Within"),
        (
            lambda: neighbors((np.ones((4, 2)), np.ones(3))),
            ValueError,
            r"equally long columns, but their lengths were \[4, 3\]",
        ),
        (
            lambda: neighbors([1], "hamming"),
            ValueError,
            "relation 'hamming' is not known; known: add-remove",
        ),
        (lambda: neighbors([1], 3), TypeError, "relation must be 'add-remove', 'change-one'"),
        (
            lambda: neighbors([1], domain=(0, 1)),
            TypeError,
            "domain must be a dpjax.databases.Domain",
        ),
        (lambda: neighbors([1], num_pairs=0), ValueError, "num_pairs must be an integer >= 1"),
        (lambda: Domain(bounds=(1, 0)), ValueError, "bounds must have low < high"),
        (lambda: Domain(categories=[]), ValueError, "categories must hold at least one value"),
        (lambda: Domain(size=0), ValueError, "size must be an integer >= 1"),
        (lambda: Domain(member=3), TypeError, "member must be a function, but was 3"),
        (lambda: Within(0.0), ValueError, "distance must be"),
        (lambda: Within(1.0, "l3"), ValueError, "norm 'l3' is not known; did you mean"),
        (
            lambda: neighbors([1.0], domain=Domain(member=lambda x: False)).proposed(),
            ValueError,
            "like must have neighbors in the domain",
        ),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("relation", "database", "neighbor", "expected"),
    [
        (AddRemove(), [1, 2], [2, 1, 3], True),
        (AddRemove(), [1, 2], [1, 3], False),
        (AddRemove(2), [1, 2], [1, 3], True),
        (AddRemove(), [math.nan], [math.nan, 1.0], True),
        (AddRemove(), [0.0], [-0.0], False),
        (AddRemove(), [1], [1.0], False),
        (AddRemove(1, ordered=True), [1, 2], [2, 1, 3], False),
        (AddRemove(1, ordered=True), [1, 2, 3], [1, 3], True),
        (ChangeOne(), [1, 2], [3, 1], True),
        (ChangeOne(), [1, 2], [3, 4], False),
        (ChangeOne(), [1, 2], [1], False),
        (ChangeOne(1, ordered=True), [1, 2], [2, 1], False),
        (ChangeOne(2, ordered=True), [1, 2], [2, 1], True),
        (Within(0.1), 0.2, 0.1, True),
        # In binary, 0.3 - 0.2 is below 0.1 and 0.1 + 0.2 above 0.3.
        (Within(0.1), 0.3, 0.2, True),
        (Within(0.1), 0.2, 0.30000000000000004, False),
        (Within(1.0, "l2"), [0.0, 0.0], [0.8, 0.6], False),
        (Within(1.0, "l2"), [0.0, 0.0], [0.8, 0.59], True),
        (Within(1.0, "l1"), [0.0, 0.0], [0.5, 0.5], True),
        (Within(1.0, "l1"), [0.0, 0.0], [0.5, 0.75], False),
        (Within(1.0, "linf"), [0.0, 0.0], [1.0, -1.0], True),
        (Within(1.0, "linf"), [0.0, 0.0], [1.0, -1.5], False),
        (Within(1.0, "linf", monotonic=True), [0.0, 0.0, 0.0], [1.0, 0.5, 0.0], True),
        (Within(1.0, "linf", monotonic=True), [0.0, 0.0, 0.0], [1.0, -0.5, 0.0], False),
        (Within(1.0, "linf", monotonic=True), [], [], True),
        (Within(1.0), math.inf, math.inf, False),
        (Within(1.0, "l1"), [0.0, 0.0], [0.0], False),
    ],
)
def test_relations(relation, database, neighbor, expected):
    assert relation.holds(database, neighbor) == relation.holds(neighbor, database) == expected


@pytest.mark.parametrize("number", [3, 150, 151, 400])
def test_150_of_many_seen_records_are_tried(number):
    """Each record is tried once, in the order of first occurrence."""
    records = [*range(number), *range(number)]
    made = RecordPairs([records], AddRemove(), None, np.random.default_rng(0), closed=True)
    assert made.tried == [*range(min(number, 150))]
    assert made.num_records == 2 * number


def test_edits_are_counted_like_longest_common_subsequences():
    """Compare with the recursive definition, for common starts and ends of any length."""

    @cache
    def common(one, other):
        if not one or not other:
            return 0
        if one[0] == other[0]:
            return 1 + common(one[1:], other[1:])
        return max(common(one[1:], other), common(one, other[1:]))

    rng = np.random.default_rng(8)
    for _ in range(300):
        one, other = (tuple(rng.integers(0, 3, rng.integers(0, 7)).tolist()) for _ in "xy")
        start, end = (tuple(rng.integers(0, 3, rng.integers(0, 3)).tolist()) for _ in "se")
        one, other = start + one + end, start + other + end
        expected = len(one) + len(other) - 2 * common(one, other)
        assert _edits(one, other) == expected


@pytest.mark.parametrize("distance", [0.5, 1.0, 2.0])
def test_distances_of_vectors_by_hand(distance):
    """The vector (0.6, 0.8) times the distance has norms 1.4, 1 and 0.8 times the distance."""
    step = (0.6 * distance, 0.8 * distance)
    for norm, factor in (("l1", 1.4), ("l2", 1.0), ("linf", 0.8)):
        for size in (0.98, 1.02):
            moved = [size * value / factor for value in step]
            assert Within(distance, norm).holds([0.0, 0.0], moved) is (size < 1)


def test_the_kind_of_a_field_with_missing_values_alone():
    assert _kind_of([math.nan, math.nan]) is _kind_of([0.5, None]) is float
    assert _kind_of([None]) is None and _kind_of([1, 2.5]) is float


def test_few_pairs_of_large_databases_are_kept(monkeypatch):
    """Both databases of a pair count. At least eight pairs are kept, however large they are."""
    monkeypatch.setattr("dpjax.databases.spaces._neighbors._MOST_HELD", 1000)
    records = [float(number) for number in range(20)]
    space = neighbors(records, AddRemove(), Domain(bounds=(0, 50)), num_pairs=500)
    most = max(maker.num_records for maker in space._makers)
    assert len(space.proposed()) == 1000 // (2 * most) < 30
    monkeypatch.setattr("dpjax.databases.spaces._neighbors._MOST_HELD", 100)
    assert len(space.proposed()) == 8


def test_seeds_of_spaces_are_validated():
    with pytest.raises(ValueError, match="seed must be an integer >= 0, but was -1"):
        dpjax.neighbors([1.0, 2.0], "change-one", seed=-1)


def test_values_that_cannot_be_compared_with_bounds_are_outside():
    """Times with a time zone cannot be compared with times without one."""
    times = [datetime(2020, 1, day) for day in (1, 9)]
    domain = Domain(bounds=tuple(times))
    assert domain.has(datetime(2020, 1, 5)) and not domain.has(datetime(2020, 2, 5))
    assert not domain.has(datetime(2020, 1, 5, tzinfo=UTC))


def test_spaces_are_open_unless_told():
    options = AddRemove(), None, np.random.default_rng(0)
    tried = RecordPairs([[1.0, 2.0]], *options).tried
    assert {1.0, 2.0} < {*tried} and len(tried) > 5
    assert RecordPairs([[1.0, 2.0]], *options, closed=True).tried == [1.0, 2.0]


@pytest.mark.parametrize("wrong", [Domain(columns={"a": BOUNDED}), {"a": BOUNDED}], ids=str)
def test_values_have_no_columns(wrong):
    with pytest.raises(ValueError, match="domain must not name columns if relation is Within"):
        neighbors(0.5, Within(1.0), wrong)


def test_vectors_need_a_norm():
    """The default 'absolute' is ambiguous for vectors: the norms allow different changes."""
    said = r"norm must be 'l1', 'l2' or 'linf' for databases of 2 numbers, but was 'absolute'"
    with pytest.raises(ValueError, match=said):
        list(neighbors(np.zeros(2), Within(1.0)))
    with pytest.raises(ValueError, match=said):
        Within(1.0).holds([0.0, 0.0], [0.0, 0.5])
    assert Within(1.0).holds([0.0], [1.0]) and Within(1.0).holds(0.0, 1.0)


@pytest.mark.parametrize("form", [lambda x, y: (x, y), lambda x, y: {"x": y, "y": y}])
@pytest.mark.parametrize("relation", ["change-one", "add-remove"])
def test_arrays_of_jax_have_the_same_pairs_as_those_of_numpy(form, relation):
    """Arrays are columns of records. As records, X and y themselves would be exchanged."""
    rows, labels = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([0, 1, 0], np.int32)
    spaces = [
        neighbors(form(*map(convert, (rows, labels))), relation, BOUNDED)
        for convert in (np.asarray, jnp.asarray)
    ]
    numpy, jax = (list(map(repr, space.proposed())) for space in spaces)
    assert numpy == jax


@pytest.mark.parametrize("like", [[1.0, 2.0], 3.0])
@pytest.mark.parametrize("relation", [Within(1.0, "l1"), AnyTwo()])
def test_values_of_jax_are_those_of_numpy(like, relation):
    """An array without dimensions is a number."""
    numpy = np.array(like, np.float32)[()]
    expected = list(map(repr, neighbors(numpy, relation, BOUNDED).proposed()))
    for same in (jnp.asarray(numpy), np.asarray(numpy)):
        space = neighbors(same, relation, BOUNDED)
        assert list(map(repr, space.proposed())) == expected
        assert space.allows(jnp.asarray(numpy), numpy)


@pytest.mark.parametrize(
    "like", [np.ones((2, 2)), np.zeros(0), [], [[1, 2], [3, 4]], "abc", ["a"], None]
)
def test_only_numbers_and_vectors_have_distances(like):
    said = r"like must be a number or a vector if relation is Within\(distance=1.0, norm='l1', "
    with pytest.raises(ValueError, match=said):
        neighbors(like, Within(1.0, "l1"))


def test_one_domain_describes_two_arrays_and_a_list_of_domains_is_refused():
    like = np.arange(8.0).reshape(4, 2) / 8, np.array([0, 1, 1, 0])
    domain = dpjax.Domain(bounds=[(0, 1), (0, 1), None], categories=[0, 1])
    for pair in dpjax.neighbors(like, "change-one", domain, num_pairs=20).proposed():
        (x, y), (other, labels) = pair.database, pair.neighbor
        assert len(x) == len(y) == len(other) == len(labels)
        assert 0 <= other.min() and other.max() <= 1 and {*labels.tolist()} <= {0, 1}
    for domains in ([domain, domain], (domain,)):
        with pytest.raises(TypeError, match="one entry per column of X and one for y"):
            dpjax.neighbors(like, "change-one", domains)
