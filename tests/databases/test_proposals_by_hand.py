"""Candidates that a space proposes, their order, and the smallest pairs."""

import numpy as np
import pytest

from dpjax import Domain, neighbors
from dpjax.databases import Within, drawn_pairs
from dpjax.databases.spaces import _neighbors
from dpjax.databases.spaces._space import Path, Proposed, Space

WORDS = Domain(categories=["a", "b", "c"])


def all_pairs(space):
    """Return all candidates in the space as (size, key, pair), in order."""
    (maker,) = space._makers
    found = []
    for candidate in maker.candidates():
        made = maker.made(*candidate.sides(), candidate.label)
        found.append((candidate.size, made))
    return found


@pytest.mark.parametrize(("number", "seed"), [(200, 0), (12, 0), (12, 5), (5, 1)])
def test_proposals_are_the_smallest_then_the_first_then_any(number, seed):
    space = neighbors(["a", "b"], domain=WORDS, num_pairs=number, seed=seed)
    every = all_pairs(space)
    order = sorted(range(len(every)), key=lambda place: every[place][0])[:3]
    order += range(min(number // 4, len(every)))
    order += np.random.default_rng(seed).permutation(len(every)).tolist()
    expected = {}
    for place in order:
        made = every[place][1]
        if made is not None and len(expected) < number:
            expected.setdefault(made.key, made.pair)
    assert space.proposed() == list(expected.values())
    assert len(expected) <= number


def test_large_databases_are_few(monkeypatch):
    space = neighbors(["a"] * 50, domain=WORDS)
    monkeypatch.setattr(_neighbors, "_MOST_HELD", 2000)
    assert len(space.proposed()) == 20  # Each pair has 100 records.
    monkeypatch.setattr(_neighbors, "_MOST_HELD", 100)
    assert len(space.proposed()) == 8


def test_the_smallest_pairs():
    space = neighbors(["a", "b"], domain=WORDS)
    sizes = (4, 1, 3, 2, 1)
    pairs = [Proposed(["a"] * n, ["a"] * n, str(k)) for k, n in enumerate(sizes)]
    assert [pair.label for pair in space.smallest(pairs)] == ["1", "4", "3"]
    assert neighbors(1.0, Within(1.0)).smallest([Proposed(1.0, 2.0, "")]) == []


def test_varied_pairs_keep_their_name():
    space = neighbors(["a", "b"], domain=WORDS, seed=4)
    pair = space.proposed()[0]
    once = space.varied(pair, (1, 2))
    assert once.label == f"{pair.label}, varied"
    assert space.varied(once, (3,)).label == once.label
    assert space.allows(once.database, once.neighbor)
    assert space.varied(pair, (1, 2)) == once
    (maker,) = space._makers
    rng = np.random.default_rng([4, 1, 2])
    for _ in range(20):
        made = maker.made(*maker.varied(pair, rng), "")
        if made is not None:
            break
    assert (made.pair.database, made.pair.neighbor) == (once.database, once.neighbor)


def test_variations_end_after_20_tries():
    space = neighbors(["a"], domain=WORDS)
    (maker,) = space._makers
    tried = []
    maker.varied = lambda pair, rng: tried.append(pair) or (["a"], ["a"])
    assert space.varied(Proposed(["a"], [], ""), (1,)) is None and len(tried) == 20


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
def test_an_empty_list_is_no_example(relation):
    with pytest.raises(ValueError, match=r"^like must have at least one record, because \[\] does"):
        neighbors([], relation).proposed()
    with pytest.raises(ValueError, match="like must have neighbors in the domain"):
        neighbors(np.zeros(0), relation, Domain(member=lambda database: False)).proposed()


def test_spaces_without_pairs_are_refused():
    space = neighbors(["a"], domain=Domain(member=lambda database: False))
    with pytest.raises(
        ValueError, match=r"^like must have neighbors in the domain, but none of the"
    ):
        space.proposed()
    with pytest.raises(
        TypeError, match=r"^domain must be a dpjax\.databases\.Domain, a dict of Domain"
    ):
        neighbors(["a"], domain=3)


def test_paths_have_pairs_of_two_sizes():
    path = Path("copies", 9, 1, lambda size: ["a"] * size if size < 5 else None)
    assert path.pair(2, 4) == Proposed(["a"] * 2, ["a"] * 4, "copies: 2 records against 4")
    assert path.pair(4, 5) is None and path.pair(6, 2) is None
    big = Path("copies", 9, 1, lambda size: [])
    assert big.pair(1000, 2000).label == "copies: 1,000 records against 2,000"


def test_examples_of_several_forms_have_makers_of_their_own():
    st = pytest.importorskip("hypothesis.strategies")
    space = neighbors(st.one_of(st.lists(st.just("a"), max_size=3), st.tuples(st.just("b"))))
    makers = space._makers
    assert len(makers) == 2 and all(maker._closed for maker in makers)
    forms = [maker.has_form(["a"]) for maker in makers]
    assert sorted(forms) == [False, True]
    assert space._maker_of(["a"]) is makers[forms.index(True)]
    assert space._maker_of(("b",)) is makers[forms.index(False)]
    assert space._maker_of("text") is makers[0]
    bounded = neighbors(st.lists(st.just(1.0)), domain=Domain(bounds=(0, 2)))
    assert not any(maker._closed for maker in bounded._makers)
    sized = neighbors(st.lists(st.just(1.0), min_size=2, max_size=2), "change-one", Domain(size=2))
    assert all(maker._closed for maker in sized._makers)


def test_pairs_of_a_strategy():
    st = pytest.importorskip("hypothesis.strategies")
    words = st.sampled_from(["a", "b", "c"])
    space = drawn_pairs(st.tuples(words, words), num_pairs=60, seed=2)
    found = space.proposed()
    assert {(p.database, p.neighbor) for p in found} == {
        (x, y) for x in "abc" for y in "abc" if x != y
    }
    assert all(
        pair.label.startswith("draw ") and pair.label.endswith(" of seed 2") for pair in found
    )
    more = space._drawn(3)
    place = np.random.default_rng([2, 7, 8]).integers(len(more))
    assert space.varied(found[0], (7, 8)) == more[place]
    assert space.smallest(found) == [] and space.allows("a", "anything")
    related = drawn_pairs(st.tuples(st.lists(words), st.lists(words)), "add-remove", num_pairs=100)
    for pair in related.proposed():
        assert abs(len(pair.database) - len(pair.neighbor)) == 1
    assert not related.allows(["a"], ["b", "c"]) and related.allows([float("nan")], [])
    with pytest.raises(ValueError, match=r"^domain must be None unless relation is given\.$"):
        drawn_pairs(st.tuples(words, words), domain=WORDS)
    with pytest.raises(ValueError, match=r"^strategy must draw neighbors, but in every pair"):
        drawn_pairs(st.just(("a", "a"))).proposed()
    with pytest.raises(TypeError, match=r"^strategy must be a Hypothesis strategy that draws"):
        drawn_pairs([("a", "b")])


def test_a_space_of_ones_own():
    """By default, all pairs are allowed, databases do not grow, and pairs are the proposed ones."""

    class Own(Space):
        def proposed(self):
            return [Proposed(1, 2, "one"), Proposed(3, 4, "two")]

    own = Own(num_pairs=7)
    assert own.allows("anything", None) is True and own.paths() == []
    assert [*own] == [(1, 2), (3, 4)] and (own.num_pairs, own.seed) == (7, 0)
    for ask in (lambda: own.varied(own.proposed()[0], (1,)), lambda: own.smallest([])):
        with pytest.raises(NotImplementedError):
            ask()
