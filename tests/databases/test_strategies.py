"""Databases and pairs that Hypothesis strategies generate."""

import copy
import math
import sys

import numpy as np
import pytest

import dpjax
from dpjax import Domain, neighbors
from dpjax.databases import AddRemove, AnyTwo, ChangeOne, Neighbors, Within, drawn_pairs
from dpjax.databases.spaces import Space
from dpjax.databases.spaces._drawn import is_strategy
from dpjax.methods._families import _Members

hypothesis = pytest.importorskip("hypothesis")
st = pytest.importorskip("hypothesis.strategies")

LISTS = st.lists(st.floats(0, 10), min_size=1, max_size=5)
SEEN = st.lists(st.sampled_from([1, 2, 3, 5]), min_size=2, max_size=4)


def every_pair(space):
    found = space.proposed()
    for number, pair in enumerate(found[:40]):
        varied = space.varied(pair, (1, number))
        found += [] if varied is None else [varied]
    return found


def distance(one, other):
    """Return the symmetric distance of two lists as multisets, by removing equal entries."""
    rest, missing = list(other), 0
    for value in one:
        if value in rest:
            rest.remove(value)
        else:
            missing += 1
    return missing + len(rest)


def test_databases_hold_what_the_strategy_draws():
    pairs = every_pair(neighbors(SEEN))
    assert len(pairs) > 20
    for one, other, _ in pairs:
        assert {*one, *other} <= {1, 2, 3, 5} and 2 <= len(one) <= 4 and 2 <= len(other) <= 4
        # Pairs of reordered databases also add one record.
        assert distance(one, other) <= 1 and one != other
    changed = every_pair(neighbors(SEEN, "change-one"))
    for one, other, _ in changed:
        assert len(one) == len(other) and distance(one, other) <= 2
    ordered = every_pair(neighbors(SEEN, ChangeOne(ordered=True)))
    assert all(sum(map(lambda x, y: x != y, *pair[:2])) == 1 for pair in ordered)


def test_a_domain_of_values_widens_a_strategy():
    pairs = every_pair(neighbors(LISTS, AddRemove(), Domain(bounds=(0, 20), nan=True)))
    values = [v for pair in pairs for side in pair[:2] for v in side]
    assert all(0 <= v <= 20 for v in values if not math.isnan(v))
    assert 20.0 in values and any(map(math.isnan, values))
    # A member function does not specify values, so the values of the strategy are used.
    pairs = every_pair(neighbors(LISTS, AddRemove(), Domain(member=lambda x: sum(x) < 15)))
    assert all(sum(side) < 15 and max(side) <= 10 for pair in pairs for side in pair[:2] if side)


@pytest.mark.slow
def test_the_same_seed_draws_the_same_pairs():
    first, again, other = (
        [repr(pair) for pair in neighbors(LISTS, seed=seed).proposed()] for seed in (3, 3, 4)
    )
    assert first == again != other
    first, again, other = (
        [repr(pair) for pair in drawn_pairs(st.tuples(LISTS, LISTS), seed=seed).proposed()]
        for seed in (3, 3, 5)
    )
    assert first == again != other


@pytest.mark.slow
def test_pairs_of_later_rungs_are_drawn_with_the_next_seed():
    space = drawn_pairs(st.tuples(LISTS, LISTS), seed=3)
    following = {repr(pair) for pair in drawn_pairs(st.tuples(LISTS, LISTS), seed=4).proposed()}
    varied = [repr(space.varied(space.proposed()[0], (1, number))) for number in range(20)]
    assert set(varied) <= following and len(set(varied)) > 5


def test_neither_deadline_nor_health_check_ends_the_draws(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rare = st.integers(0, 10**6).filter(lambda n: n % 3 == 0)
    pairs = neighbors(st.lists(rare, min_size=3, max_size=3), "change-one").proposed()
    assert pairs and not (tmp_path / ".hypothesis" / "examples").exists()


def test_values():
    for x, y in neighbors(st.floats(0, 10), Within(1.0)):
        assert 0 <= x <= 10 and 0 <= y <= 10 and 0 < abs(x - y) <= 1
    for x, y in neighbors(st.lists(st.integers(0, 9), min_size=3, max_size=3), Within(2, "l1")):
        assert sum(abs(a - b) for a, b in zip(x, y, strict=True)) <= 2
        assert all(0 <= v <= 9 for v in (*x, *y))
    words = neighbors(st.sampled_from(["a", "b", "c"]), AnyTwo())
    assert {frozenset(pair) for pair in words} == set(map(frozenset, ["ab", "ac", "bc"]))


def test_databases_of_several_forms():
    arrays = st.sampled_from([np.zeros(2), np.zeros((2, 2)), np.zeros(2, np.int32)])
    for one, other, _ in every_pair(neighbors(arrays, "add-remove", Domain(bounds=(0, 1)))):
        assert one.dtype == other.dtype and one.shape[1:] == other.shape[1:]
        assert abs(len(one) - len(other)) <= 1


def test_values_of_several_forms():
    space = neighbors(st.sampled_from([1, 2, (1, 2), (3, 4)]), "any")
    assert space.allows(1, 2) and space.allows((1, 2), (3, 4))
    pairs = every_pair(space)
    assert {type(one) for one, _, _ in pairs} == {int, tuple}
    assert all(type(one) is type(other) for one, other, _ in pairs)


def test_frames():
    pd = pytest.importorskip("pandas")
    rows = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["x", "y"])), max_size=4)
    frames = rows.map(
        lambda rows: pd.DataFrame(rows, columns=["a", "b"]).astype({"a": "int64", "b": "category"})
    )
    for one, other, _ in every_pair(neighbors(frames, domain={"a": Domain(bounds=(0, 9))})):
        assert list(one.dtypes) == list(other.dtypes)
        assert abs(len(one) - len(other)) <= 1 and set(one["a"]) | set(other["a"]) <= set(range(10))


def test_members_of_a_family_share_the_pairs_of_a_strategy():
    family = dpjax.Family(
        lambda scale: dpjax.HostMechanism(len, batched=False), {"scale": [1.0, 2.0]}
    )
    members = _Members(family, st.tuples(SEEN, SEEN), (None, 0.4))
    assert len(members.made) == 2
    assert isinstance(members._space_of(0), Space) and isinstance(members._space_of(1), Space)


@pytest.mark.slow
def test_pairs_that_are_no_neighbors_are_dropped():
    pairs = st.tuples(SEEN, SEEN)
    kept = every_pair(drawn_pairs(pairs, "add-remove", num_pairs=500))
    assert kept and all(distance(one, other) <= 1 and one != other for one, other, _ in kept)
    ordered = drawn_pairs(st.tuples(st.integers(0, 3), st.integers(7, 9))).proposed()
    assert all(one < 5 < other for one, other, _ in ordered)
    inside = drawn_pairs(pairs, "add-remove", Domain(bounds=(2, 9)), num_pairs=500).proposed()
    assert inside and all(min(*one, *other) >= 2 for one, other, _ in inside)


FIRST, SECOND = np.zeros(2000), np.where(np.arange(2000) == 1000, 5.0, 0.0)
SAME_REPR = {
    "long": (FIRST, SECOND),
    "close": (np.array([0.1, 0.1234567890123]), np.array([0.1, 0.1234567899999])),
    "records": ([FIRST, FIRST], [FIRST, SECOND]),
    "columns": ({"a": [0] * 2000, "b": FIRST}, {"a": [0] * 2000, "b": SECOND}),
    "frame": ({"b": FIRST}, {"b": SECOND}),
}
"""Pairs with the same `repr`, which rounds numbers, and leaves out the middle of arrays."""


@pytest.mark.parametrize("name", SAME_REPR)
def test_pairs_that_differ_in_what_repr_leaves_out_are_kept(name):
    pair = SAME_REPR[name]
    if name == "frame":
        pair = tuple(map(pytest.importorskip("pandas").DataFrame, pair))
    assert repr(pair[0]) == repr(pair[1])
    for relation in (None, "change-one"):
        ((one, other, _),) = drawn_pairs(st.just(pair), relation).proposed()
        assert one is pair[0] and other is pair[1]
    with pytest.raises(ValueError, match="the databases were equal"):
        drawn_pairs(st.just((pair[0], copy.deepcopy(pair[0])))).proposed()


def test_records_with_the_same_repr_are_not_the_same():
    for relation in (ChangeOne(), ChangeOne(ordered=True), AddRemove(2)):
        assert relation.holds([FIRST, FIRST], [FIRST, SECOND])
        assert not relation.holds([FIRST, FIRST], [SECOND, SECOND])
        assert relation.holds([FIRST, SECOND], [FIRST.copy(), SECOND.copy()])


@pytest.mark.slow
def test_audits_of_strategies():
    """Laplace noise of scale 1 on the length: claims of 1 hold, claims of 0.4 do not."""

    def length(rows, num_samples, seed):
        return len(rows) + np.random.default_rng(seed).laplace(0, 1, num_samples)

    @st.composite
    def both(draw):
        rows = draw(SEEN)
        return rows, rows[1:]

    release, method = dpjax.HostMechanism(length), dpjax.Events(num_draws=5_000)
    for pairs in (neighbors(SEEN, num_pairs=20), both(), drawn_pairs(both(), num_pairs=20)):
        found = [
            # The level is 1, and the bound exceeds it with probability 1e-5.
            dpjax.audit(release, pairs, claim=claim, method=method, confidence=1 - 1e-5).verdict
            for claim in (1.0, 0.4)
        ]
        assert found == ["not refuted", "violated"]
    best = dpjax.search_pairs(release, both(), keep=2)
    assert len(best.pairs) == 2
    family = dpjax.Family(lambda scale: release, {"scale": [1.0, 2.0]})
    found = dpjax.audit(family, both(), claim=0.4, method=method, confidence=1 - 1e-5)
    assert found.verdict == "violated"


def test_hypothesis_is_not_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "hypothesis.strategies")
    assert not is_strategy(SEEN)
    assert "hypothesis.strategies" not in sys.modules
    with pytest.raises(TypeError, match="like must be a list or tuple of records"):
        neighbors(SEEN)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: neighbors(st.integers().filter(lambda n: False), AnyTwo()),
            ValueError,
            "must draw a value",
        ),
        (lambda: drawn_pairs([(1, 2)]), TypeError, "strategy must be a Hypothesis strategy"),
        (lambda: drawn_pairs(SEEN, domain=Domain()), ValueError, "unless relation is given"),
        (lambda: drawn_pairs(SEEN, "add-remove").proposed(), TypeError, "pairs must be"),
        (
            lambda: drawn_pairs(st.just(([1], [1, 2, 3])), "add-remove").proposed(),
            ValueError,
            "strategy must draw neighbors",
        ),
        (
            lambda: neighbors(st.just([1, 2])).proposed(),
            ValueError,
            "like must have neighbors in the domain",
        ),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_strategies_are_spaces_of_neighbors():
    assert isinstance(neighbors(SEEN), Neighbors)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bounds": 0}, r"bounds must be a pair \(low, high\), or a list with .*, but was 0"),
        ({"bounds": [0, 1, 2]}, r"bounds must be a pair .* but was \[0, 1, 2\]"),
        ({"bounds": "ab"}, "bounds must be a pair .* but was 'ab'"),
        ({"bounds": []}, "bounds must be a pair"),
        ({"categories": 5}, "categories must be a list of values, but was 5"),
        ({"categories": "ab"}, "categories must be a list of values, but was 'ab'"),
    ],
)
def test_domains_of_other_types_are_refused(given, message):
    with pytest.raises(TypeError, match=message):
        dpjax.Domain(**given)


def test_domains_may_be_arrays():
    domain = dpjax.Domain(bounds=np.array([0.0, 1.0]))
    assert domain.has(0.5) and not domain.has(2.0)
    assert dpjax.Domain(categories=np.array([1, 2])).has(2)
