"""Families: the member and the pair that break a claim are found, and bounded.

Audits have an error probability of 1e-6, so bounds above the true level practically do not occur.
Noise is seeded, except for libraries; each of their tests fails with probability below 1e-5.
"""

import time
from contextlib import ExitStack
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax.methods._families import _Members
from dpjax.sources import Family, HostMechanism
from dpjax.testing import assert_private

SURE = {"confidence": 1 - 1e-6, "method": dpjax.Events(num_draws=8_000)}
SPACE = dpjax.neighbors([1.0, 2.0, 3.0], num_pairs=40)
WRONG_SCALE = 0.4
"""Scale of the noise of a count for weight 1: its level is 2.5, and the claim is 1."""


def count(max_weight, shape="laplace"):
    """Count records up to a weight; the scale is wrong only for the smallest weight."""
    if shape == "none":
        raise ValueError("no such noise")
    scale = WRONG_SCALE if max_weight == 1 else max_weight

    def release(records, seed):
        return min(len(records), max_weight) + np.random.default_rng(seed).laplace(0.0, scale)

    return HostMechanism(release, batched=False)


def right(max_weight):
    return count(max_weight + 1)


@pytest.fixture(scope="module")
def found():
    ranges = {"max_weight": [1, 2, 4, 8], "shape": ["laplace", "none"]}
    return dpjax.audit(Family(count, ranges), SPACE, claim=1.0, **SURE)


@pytest.mark.slow
def test_the_parameter_that_breaks_it_is_found(found):
    assert found.parameters == {"max_weight": 1, "shape": "laplace"}
    assert found.verdict == "violated" and 1.5 < found.lower_bound <= 1 / WRONG_SCALE
    assert "count(max_weight=1, shape=laplace)" in str(found)
    database, neighbor = found.witness.database, found.witness.neighbor
    assert {len(database), len(neighbor)} == {0, 1}  # With one record or more, counts are equal.
    assert any("chose this member, whose expected bound" in note for note in found.notes)
    assert any("refused 4 combinations of parameters" in note for note in found.notes)


def test_it_runs_again_from_its_recipe(found):
    assert found.recipe["subject"]["kind"] == "member"
    read = dpjax.AuditResult.from_json(found.to_json())
    again = dpjax.rerun(read, allow_import=[count.__module__])
    assert again.statement == found.statement and again.witness == found.witness
    assert again.parameters == found.parameters
    with pytest.raises(ValueError, match="allow"):
        dpjax.rerun(read)


@pytest.mark.parametrize(("members", "asked"), [(2, 40), (2, 400), (10, 40), (100, 40)])
def test_members_share_300_proposals_in_turns(members, asked):
    """No member gets more than its space would propose alone; at most 48 members are made."""

    def made(number):
        return HostMechanism(lambda records, seed: float(seed % 7), batched=False)

    space = dpjax.neighbors([1.0, 2.0, 3.0], num_pairs=asked)
    family = _Members(Family(made, {"number": list(range(members))}), space, (None, 1.0))
    placed = [pair.database.member for pair in family.proposed()]
    each = min(300 // len(family.made), len(space.proposed()))
    assert len(family.made) == min(members, 48)
    assert np.bincount(placed).tolist() == [each] * len(family.made)
    assert placed[: len(family.made)] == list(range(len(family.made)))


def test_a_variation_has_another_label_and_a_member_that_has_it():
    """Variations have another value for the same databases, or other databases for the member."""

    def made(number):
        return HostMechanism(lambda records, seed: float(seed % 7), batched=False)

    family = _Members(Family(made, {"number": [1, 2, 3]}), SPACE, (None, 1.0))
    changed = {"member": 0, "databases": 0}
    for seed in range(60):
        pair = family.proposed()[seed % 30]
        other = family.varied(pair, (0, seed))
        if other is None:
            continue
        assert other.label != pair.label
        assert other.database.member == other.neighbor.member < len(family.made)
        assert SPACE.allows(other.database.database, other.neighbor.database)
        is_other = other.database.member != pair.database.member
        changed["member" if is_other else "databases"] += 1
    assert min(changed.values()) >= 10


def test_an_end_of_an_interval_is_tried():
    def clipped(bound):
        """The noise is clipped if the bound is above 7, so the level is 8."""

        def release(value, num_samples, rng):
            noise = rng.laplace(0.0, 1.0, num_samples)
            return value + (noise / 8 if bound > 7 else noise)

        return HostMechanism(release)

    family = Family(clipped, {"bound": (0.5, 8.0)})
    result = dpjax.audit(family, [(0.0, 1.0)], claim=1.0, **SURE)
    assert result.parameters == {"bound": 8.0} and 3 < result.lower_bound <= 8


def test_the_middle_of_an_interval_is_varied():
    """Of integers from 1 to 100, 1, 10 and 100 are tried first; variations find the wrong half."""

    def release_of(size):
        def release(value, num_samples, rng):
            return value + rng.laplace(0.0, 0.25 if 15 <= size <= 60 else 1.0, num_samples)

        return HostMechanism(release)

    pairs = [(0.0, shift) for shift in np.linspace(0.5, 1.0, 20)]
    result = dpjax.audit(Family(release_of, {"size": (1, 100)}), pairs, claim=1.0, **SURE)
    assert 15 <= result.parameters["size"] <= 60 and result.verdict == "violated"
    assert result.lower_bound <= 4


@pytest.mark.slow
def test_a_family_that_keeps_its_claims_is_not_refuted():
    for key in range(2):
        family = Family(right, {"max_weight": [1, 3, 7]})
        result = dpjax.audit(family, SPACE, claim=1.0, key=key, **SURE)
        # One record with weight at least 2 and scale 2: the level is 1 / 2.
        assert result.verdict == "not refuted" and 0.2 < result.lower_bound <= 0.5


def test_members_that_state_their_claims_are_compared_above_them():
    """The second scale states half of its level; the others state their larger levels."""
    mechanisms = pytest.importorskip("diffprivlib.mechanisms")

    def made(epsilon):
        mechanism = mechanisms.Geometric(epsilon=epsilon, sensitivity=1)
        if epsilon == 1.0:
            mechanism.epsilon = 0.5
            mechanism.randomise = mechanisms.Geometric(epsilon=1.0, sensitivity=1).randomise
        return dpjax.LibraryMechanism(mechanism, time_limit=None)

    # Use numbers near 0, because the library has a separate error above 2^53.
    result = dpjax.audit(Family(made, {"epsilon": [0.5, 1.0, 2.0]}), [(0, 1), (5, 4)], **SURE)
    assert result.parameters == {"epsilon": 1.0} and result.claim == 0.5
    assert result.verdict == "violated" and result.lower_bound <= 1


@pytest.mark.slow
def test_assertions_and_the_command_line_take_families(tmp_path):
    with pytest.raises(AssertionError, match="count is not 1-differentially private"):
        assert_private(
            Family(count, {"max_weight": [1, 2]}), 1.0, SPACE, num_samples=800, num_confirm=2_000
        )  # fmt: skip
    with pytest.raises(TypeError, match="one claim must be given"):
        assert_private(Family(count, {"max_weight": [1, 2]}), pairs=SPACE)
    from dpjax.cli._subject import subject_and_pairs

    (tmp_path / "family_of_a_file.py").write_text(
        "import dpjax\nfamily = dpjax.Family(lambda a: None, {'a': [1]})\n"
    )
    written = {"object": f"{tmp_path}/family_of_a_file.py:family"}
    family, pairs = subject_and_pairs("object", written, ExitStack())
    assert isinstance(family, Family) and pairs is None
    with pytest.raises(ValueError, match="--time-limit is an option of each member"):
        subject_and_pairs("object", {**written, "time_limit": 3.0}, ExitStack())


@pytest.mark.parametrize(
    ("make", "ranges", "message"),
    [
        (count, {}, "ranges must map at least one"),
        (count, {"max_weight": []}, "a list of values or an interval"),
        (count, {"max_weight": (4, 1)}, "increasing intervals"),
        (3, {"a": [1]}, "make must be a function"),
        (lambda a: dpjax.mechanisms.Laplace(a), {"a": [1.0]}, "use the grid of a sweep"),
        (
            lambda a: [][a],
            {"a": [1, 2]},
            "refused all 2 combinations; the last error was IndexError",
        ),
        (
            lambda a: dpjax.mechanisms.Laplace(a),
            {"a": [0.0, -1.0]},
            r"the last error was ValueError: epsilon must be a number > 0, but was -1\.0\.$",
        ),
    ],
)
def test_what_is_no_family(make, ranges, message):
    with pytest.raises((TypeError, ValueError), match=message):
        dpjax.audit(Family(make, ranges), [(0.0, 1.0)], claim=1.0)


def test_the_search_takes_its_share_of_the_time_of_a_member():
    def made(number):
        return HostMechanism(
            lambda data, size, rng: rng.laplace(size=size), time_limit=10.0 * number
        )

    members = _Members(Family(made, {"number": [2, 3]}), [(0, 1)], (None, 1.0))
    assert members.seconds == pytest.approx(0.35 * 20)
    source = members.source().with_time_used(3.0).with_time_used(4.0)
    assert source.used == 7.0
    assert members.source().used == 0.0


def test_curves_and_sweeps_are_refused():
    family = Family(right, {"max_weight": [1]})
    curve = [(0.0, 0.3), (1.0, 0.1)]
    with pytest.raises(TypeError, match="claim must be one number for a family"):
        dpjax.audit(family, SPACE, notion=dpjax.Profile(), claim=curve)
    assert "cannot be audited as a whole" in family.refuses("events")


@pytest.mark.parametrize("notion", [None, dpjax.Gdp()])
@pytest.mark.parametrize("claim", [None, 0.25])
@pytest.mark.parametrize("stated", [None, (dpjax.Zcdp(), 0.5)])
def test_what_a_member_states_counts_where_nothing_is_asked(notion, claim, stated):
    family = SimpleNamespace(_asked=(notion, claim), made=[None, SimpleNamespace(stated=stated)])
    pair = SimpleNamespace(database=SimpleNamespace(member=1))
    expected = (notion or dpjax.Epsilon(), claim or 0.0)
    if notion is None and claim is None and stated is not None:
        expected = stated
    assert _Members.asked_of(family, pair) == expected


def test_members_are_compared_by_numbers():
    pair = SimpleNamespace(database=SimpleNamespace(member=0))
    asked = dpjax.Profile(), [(0.0, 0.5)]
    family = SimpleNamespace(_asked=asked, made=[SimpleNamespace(stated=None)])
    with pytest.raises(TypeError, match="claim must be one number for a family"):
        _Members.asked_of(family, pair)


def test_a_slow_family_leaves_combinations_out(monkeypatch):
    """Each member takes 5 s, and the search may take 35% of 20 s."""
    now = [0.0]

    def clock():
        now[0] += 1e-4
        return now[0]

    def made(scale):
        now[0] += 5.0
        return lambda data, num_samples, rng: data + rng.laplace(0, scale, num_samples)

    monkeypatch.setattr(time, "perf_counter", clock)
    family = Family(made, {"scale": [1.0, 2.0, 3.0, 4.0]}, time_limit=20.0)
    members = _Members(family, [(0.0, 1.0)], (None, 0.25))
    assert (len(members.made), members.left_out, int(now[0])) == (2, 2, 10)
    # Variations create no further members.
    (first, *_) = members.proposed()
    assert not any(members.varied(first, (seed,)) for seed in range(20)) and int(now[0]) == 10
    result = dpjax.audit(family, [(0.0, 1.0)], claim=0.25)
    assert any(note.startswith("made is slow, so the time limit left") for note in result.notes)
    assert any("(2 members, 2 pairs and variations, " in note for note in result.notes)


def test_a_family_is_not_resumed_as_a_whole():
    family = Family(right, {"max_weight": [1.0, 2.0]})
    assert family.refuses("events").endswith("such as family.member({'max_weight': 1.0}).")
