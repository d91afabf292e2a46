"""Sizes at which outputs jump: found by bisection, without false jumps."""

import time
from functools import partial

import numpy as np
import pytest

import dpjax
from dpjax import Domain, neighbors
from dpjax.core import random
from dpjax.databases import AddRemove
from dpjax.databases.spaces import Path
from dpjax.methods import _jumps
from dpjax.methods._jumps import NOTHING, find_jumps, search_jumps
from dpjax.methods._pairs_counted import search_counted
from dpjax.methods._rungs import JUMP_SHARE, Ladder, Ranked
from dpjax.notions import Terms


def path(longest=2**13, step=1, forbidden=()):
    return Path("rows", longest, step, lambda size: None if size in forbidden else size)


def jumping(*jumps, asked=None):
    """Return scores for pairs of sizes: the sum of the heights of the jumps between them."""

    def scores(pairs):
        if asked is not None:
            asked.append([pair[:2] for pair in pairs])
        return np.array(
            [sum(h for j, h in jumps if pair.database < j <= pair.neighbor) for pair in pairs]
        )

    return scores


@pytest.mark.parametrize("jump", [2, 3, 4, 5, 64, 65, 1000, 2981, 4096, 4097, 8192])
@pytest.mark.parametrize("step", [1, 2, 5])
def test_a_jump_is_found_wherever_it_is(jump, step):
    asked = []
    (found,) = find_jumps([path(step=step)], jumping((jump, 1.0), asked=asked))
    assert found.database < jump <= found.neighbor <= found.database + step
    assert found.label == f"rows: {found.database:,} records against {found.neighbor:,}"
    # One comparison for each doubling, and then two for each step of the bisection.
    assert asked[:13] == [[(2**n, 2 ** (n + 1))] for n in range(13)]
    assert len(asked) <= 25 and all(len(pairs) == 2 for pairs in asked[13:])


def test_the_largest_jump_of_each_path_is_found():
    jumps = jumping((40, 1.0), (700, 3.0), (800, 2.5), (5000, 2.0))
    # Between 512 and 1,024, both jumps count; the half with the larger jump is kept.
    assert [f[:2] for f in find_jumps([path(), path(512), path(32)], jumps)] == [
        (39, 40),
        (699, 700),
    ]


def test_paths_without_a_jump_and_sizes_that_are_not_allowed():
    asked = []
    assert find_jumps([], jumping((40, 1.0), asked=asked)) == [] and asked == []
    assert find_jumps([path()], jumping(asked=asked)) == [] and len(asked) == 13
    assert find_jumps([path(1)], jumping((40, 1.0))) == []
    # The end of a doubling, the middle of a bisection, and the last step.
    for forbidden in ([32, 64], [48], [39]):
        assert find_jumps([path(forbidden=forbidden)], jumping((40, 1.0))) == []
    asked.clear()
    find_jumps([path(forbidden=[16])], jumping((40, 1.0), asked=asked))
    assert (8, 16) not in [pair for pairs in asked for pair in pairs]


def test_larger_databases_are_not_compared_once_time_is_up():
    asked, turns = [], iter([True, True, True, False])
    (found,) = find_jumps([path()], jumping((3, 1.0), (40, 9.0), asked=asked), lambda: next(turns))
    assert found[:2] == (2, 3) and asked == [[(1, 2)], [(2, 4)], [(4, 8)], [(2, 3), (3, 4)]]


def audited(function, like=(0.5, 2.0, 3.0), **options):
    space = neighbors(list(like), domain=Domain(bounds=(0.0, 10.0)), num_pairs=12)
    return dpjax.search_pairs(dpjax.HostMechanism(function, batched=False), space, **options)


def raising(limit, records, seed):
    if len(records) >= limit:
        raise FloatingPointError
    return np.random.default_rng(seed).uniform()


def nan_for_mean(limit, records, seed):
    """A mean with noise that depends on the size, so that outputs of all sizes differ."""
    noise = np.random.default_rng(seed).laplace(0.0, 10.0 / max(len(records), 1))
    return float("nan") if len(records) >= limit else float(np.mean(records or [0.0])) + noise


def shifted(limit, records, seed):
    return float(len(records) >= limit) * 9.0 + np.random.default_rng(seed).laplace()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("limit", [33, 777, 4097])
@pytest.mark.parametrize("function", [raising, nan_for_mean, shifted])
def test_outputs_that_jump_at_a_size(function, limit):
    found = audited(partial(function, limit), keep=2)
    sizes = {(len(pair.database), len(pair.neighbor)) for pair in pairs_of(found)}
    assert sizes == {(limit - 1, limit)}
    assert found.estimates[0] > 3 and f"{limit - 1:,} records against {limit:,}" in str(found)
    # The draws of the search count.
    assert found.probes > 0 and found.probes % 24 == 0
    assert found.num_draws == found.probes + sum(2 * p * s for p, s in found.rungs)


def pairs_of(found):
    return [
        dpjax.databases.spaces.Proposed(*both, "") for both in zip(*found.pairs.sides, strict=True)
    ]


@pytest.mark.slow
def test_errors_come_before_numbers():
    """A count, whose outputs differ for any two distant sizes, and an error at size 100."""

    def count(records, seed):
        if len(records) >= 100:
            return "no answer"
        return len(records) + np.random.default_rng(seed).laplace()

    for key in range(3):
        found = audited(count, keep=1, key=key)
        assert {(len(p.database), len(p.neighbor)) for p in pairs_of(found)} == {(99, 100)}


def test_a_budget_is_kept_and_too_small_a_budget_looks_for_no_jumps():
    function = partial(raising, 100)
    # Two paths, up to 14 doublings and bisections of 12 draws, and 24 draws to rank a pair.
    most = 2 * 2 * (3 * 14 * 12 + 24)
    for budget in (4 * most - 4, 4 * most):
        calls = []

        def counted(records, seed, calls=calls):
            calls.append(len(records))
            return function(records, seed)

        found = audited(counted, budget=budget, keep=2)
        assert (found.probes > 0) == (budget == 4 * most)
        assert found.num_draws <= budget and JUMP_SHARE == 0.25
        assert (max(calls) > 100) == (found.probes > 0)


def test_a_search_without_time_for_jumps(monkeypatch):
    """Without a time limit, ten seconds are available, half of them for growing sizes."""
    now = [0.0]
    monkeypatch.setattr(_jumps.time, "perf_counter", lambda: now[0])
    sizes = []

    def slow(records, seed):
        sizes.append(len(records))
        now[0] += len(records) * 1e-3
        return np.random.default_rng(seed).uniform() + (len(records) >= 3) * 5.0

    terms = Terms(dpjax.Epsilon(), None, 0.999, 1, 0)
    space = neighbors([1.0], domain=Domain(bounds=(0.0, 1.0)), num_pairs=2)
    source = dpjax.HostMechanism(slow, batched=False)
    found = search_counted(source, space, Ladder(None, None, 2, 2), terms, None, terms.root)
    # Sizes up to 2^n take 12 * 3 * (2^n - 1) ms. 128 is the last size that starts before 5 s have
    # passed; 128 against 256 then ends the growth.
    assert max(sizes) == 256
    assert (2, 3) in {(len(pair.database), len(pair.neighbor)) for pair in found.pairs}


def test_spaces_with_paths():
    assert [p.label for p in neighbors([1.0, 2.0]).paths()] == [
        "copies of 1.0",
        "the example, repeated",
    ]
    assert [p.label for p in neighbors([1.0, 1.0]).paths()] == ["copies of 1.0"]
    for space in (
        neighbors([1.0, 2.0], "change-one"),
        neighbors(1.0, dpjax.databases.Within(1.0)),
    ):
        assert space.paths() == []
    fixed = neighbors([1.0, 2.0], AddRemove(2), Domain(size=2)).paths()
    assert all(p.at(size) is None for p in fixed for size in (1, 3))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "like",
    [[1.0, 2.0, 3.0], "text", b"\x01\x02", np.array([1.0, 2.0]), np.ones((2, 3)), np.zeros(0),
     (1, 2), [{"a": 1}, {"a": 2}], (np.ones((2, 2)), np.array([0, 1]))],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("distance", [1, 3])
def test_databases_of_a_path_are_neighbors(like, distance):
    space = neighbors(like, AddRemove(distance))
    paths = space.paths()
    assert paths and len({p.label for p in paths}) == len(paths)
    for each in paths:
        assert each.longest == 8192 and each.step == distance
        assert type(each.at(3)) is type(like)
        for size in (1, 2, 3, 7, 4096):
            pair = each.pair(size, size + distance)
            assert space.allows(pair.database, pair.neighbor)
            assert not space.allows(*each.pair(size, size + distance + 1)[:2])


def test_databases_of_a_path_lie_in_the_domain():
    domain = Domain(bounds=(0.0, 10.0), member=lambda records: len(records) < 5)
    for each in neighbors([1.0, 2.0], domain=domain).paths():
        assert each.at(4) == ([1.0] * 4 if "copies" in each.label else [1.0, 2.0, 1.0, 2.0])
        assert each.at(5) is None and each.pair(4, 5) is None and each.pair(5, 4) is None
    outside = neighbors([1.0, 20.0], domain=Domain(bounds=(0.0, 10.0))).paths()
    assert [p.at(2) for p in outside] == [[1.0, 1.0], None]


def test_a_source_that_cannot_draw_for_large_databases():
    """A Linux command line holds up to 128 KiB per argument; the audit skips larger databases."""
    sizes = []

    class Small(dpjax.HostMechanism):
        def opened(self, pairs, request):
            sizes.append(max(len(side) for side in (*pairs.sides[0], *pairs.sides[1])))
            if sizes[-1] > 100:
                raise ValueError("the command cannot be run: Argument list too long")
            return super().opened(pairs, request)

    space = neighbors([1.0], domain=Domain(bounds=(0.0, 1.0)), num_pairs=4)
    found = dpjax.search_pairs(Small(partial(raising, 50), batched=False), space, keep=2)
    assert sizes[1:8] == [2, 4, 8, 16, 32, 64, 128] and max(sizes[8:]) <= 64
    assert {(len(p.database), len(p.neighbor)) for p in pairs_of(found)} >= {(49, 50)}


@pytest.mark.parametrize(("seconds", "slow"), [(4.47, True), (4.49, False), (None, False)])
def test_a_function_that_is_too_slow_is_called_for_no_sizes(seconds, slow):
    """Two paths of 28 comparisons need four outputs per side, 448 calls of 2.5 ms: 1.12 s."""
    asked = []

    class Rung:
        def __init__(self, **given):
            asked.append(given)

        def within(self, left):
            assert seconds is None or 0 < left <= seconds / 4
            return self

        def compared(self, seconds):
            assert seconds is None or 0 < seconds < 0.1
            return np.zeros(len(asked[-1]["alive"])), 0

    space = neighbors([1.0, 2.0])
    found = search_jumps(space, seconds, np.inf, Rung, 24, 2.5e-3, random.as_key(0))
    assert found == NOTHING and (asked == []) == slow
    for given in asked:
        assert given["draws"] == 12 and given["asked"] is None and len(given["alive"]) == 2


@pytest.mark.slow
def test_a_call_that_hangs_for_large_databases_takes_no_time_of_other_pairs():
    """The search has 2.1 s, and the comparisons of sizes take at most a quarter of it."""
    hung = []

    def hangs(records, seed):
        if len(records) >= 64:
            hung.append(time.perf_counter())
            time.sleep(100)
        return len(records) + np.random.default_rng(seed).laplace()

    space = neighbors([1.0, 2.0, 3.0], domain=Domain(bounds=(0.0, 5.0)), num_pairs=8)
    mechanism = dpjax.HostMechanism(hangs, batched=False, time_limit=6.0)
    start = time.perf_counter()
    result = dpjax.audit(mechanism, space, claim=5.0)
    # Allow two more seconds for a busy machine.
    assert time.perf_counter() - start < 8.6 and len(hung) == 1 and hung[0] - start < 3.0
    assert result.lower_bound > 0.3 and result.verdict == "not refuted"


@pytest.mark.slow
def test_sizes_without_a_jump_take_no_place_of_other_pairs():
    """A count has the same loss for all sizes; a pair of large databases would only be slower."""

    def count(records, seed):
        return len(records) + np.random.default_rng(seed).laplace()

    space = neighbors([0.5, 2.0, 3.0], domain=Domain(bounds=(0.0, 10.0)))
    for key in range(3):
        found = dpjax.search_pairs(dpjax.HostMechanism(count, batched=False), space, key=key)
        assert found.probes > 0 and not any("against" in label for label in found.pairs.labels)


@pytest.mark.parametrize(("most", "draws"), [(np.inf, 100), (2_000.0, 100), (700.0, 50)])
def test_found_pairs_are_ranked_with_what_is_left_of_the_budget(most, draws):
    """One path, 13 doublings and 6 steps of two comparisons, 25 * 24 = 600 draws; then a pair."""
    asked = []

    class Rung:
        def __init__(self, **given):
            asked.append(given)

        def within(self, left):
            return self

        def compared(self, seconds):
            pairs = asked[-1]["alive"]
            jumps = [len(x) < 100 <= len(y) for x, y, _ in pairs]
            return np.array(jumps, float), 24 * len(pairs)

        def ranked(self, seconds, whole):
            return Ranked(np.ones(1), np.zeros(1), 0)

    found = search_jumps(neighbors([1.0]), None, most, Rung, 100, 0.0, random.as_key(0))
    assert found.drawn == 24 * (13 + 2 * 6) and asked[-1]["draws"] == draws
    assert [(len(x), len(y)) for x, y, _ in found.pairs] == [(99, 100)]
