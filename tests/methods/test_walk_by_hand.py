"""Steps of a sequential audit by hand: limits of draws and of time, cells, times and grids."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.inference import levels_of_bets
from dpjax.methods import _walk
from dpjax.methods._draw_times import DrawTimes
from dpjax.methods._sequential import Sequential, _rounds
from dpjax.methods._walk import ENDLESS, Walk


def walk(draws=(0, 0, 0), *, total=10_000, hybrid=False, first=16, pace=(0.0, 0.0, 0.0)):
    """Return an audit of three pairs that has made the given draws per side."""
    found = Walk.__new__(Walk)
    draws = np.array(draws)
    found._state = SimpleNamespace(draws=np.stack([draws, draws], axis=1), is_claim_refuted=False)
    found._total, found._hybrid, found._first = total, hybrid, first
    found._times, found._redraws = DrawTimes(len(pace), compiles=False), True
    found._times.shortest = np.array(pace)
    found._size, found._look, found._before = 2, None, None
    found.ended = "all draws were used"
    found.asked, found.stepped = [], []

    def count(pair, size, start):
        found.asked.append((pair, size, start))
        return np.full((2, 2), [[pair, size], [start, 1]])

    found._count, found._step = count, found.stepped.append
    return found


def test_a_block_is_drawn_pair_by_pair():
    found = walk((100, 40, 16))
    assert found._block(np.array([5, 0, 7]), None) == 12
    assert found.asked == [(0, 5, 84), (2, 7, 0)]
    ((counts),) = found.stepped
    assert counts[:, 0].tolist() == [[0, 5], [84, 1]] and counts[:, 2].tolist() == [[2, 7], [0, 1]]
    assert not counts[:, 1].any() and found._before is None
    assert found._drawn == 156 and found._taken.tolist() == [84, 24, 0]


@pytest.mark.parametrize(
    ("total", "draws", "cut"),
    [(156 + 12, [5, 0, 7], None), (156 + 11, [5, 0, 7], [4, 0, 7]), (156 + 6, [5, 0, 7], [2, 0, 4]),
     (156 + 1, [3, 3, 3], [1, 0, 0])],
)  # fmt: skip
def test_the_last_block_is_cut_in_proportion(total, draws, cut):
    """The remainder after rounding goes to the pair with the most draws."""
    found = walk((100, 40, 16), total=total)
    before = found._state
    planned = np.array(draws)
    assert found._block(planned, None) == sum(cut or draws)
    assert [size for _, size, _ in found.asked] == [size for size in cut or draws if size]
    assert found._before is (before if cut else None)
    bounded = walk((100, 40, 16), total=total, hybrid=True)
    assert bounded._block(np.array(draws), None) == sum(draws) and bounded._before is None
    final = walk((100, 40, 16), total=total)
    final._redraws = False
    final._block(np.array(draws), None)
    assert final._before is None


def test_a_block_is_cut_by_the_time_that_is_left(seconds_passed):
    seconds_passed[0] = 90.0
    for left, cut in ((10.0, [10, 0, 20]), (5.0, [5, 0, 10]), (0.2, None), (-1.0, None)):
        found = walk((100, 40, 16), pace=(0.4, 0.0, 0.3))
        share = found._times.share_until(90.0 + left, np.array([10, 0, 20]))
        assert share == pytest.approx(min(max(left, 0) / 10.0, 1))
        drawn = found._block(np.array([10, 0, 20]), 90.0 + left)
        assert drawn == (sum(cut) if cut else 0)
        assert [size for _, size, _ in found.asked] == ([s for s in cut if s] if cut else [])
        said = "the time limit was reached" if left < 10 else "all draws were used"
        assert found.ended == said and (found._before is not None) == (left == 5.0)
    # A pair that was never timed is assumed to be as slow as the slowest pair.
    times = walk(pace=(0.4, 0.0, 0.3))._times
    assert times.share_until(110.0, np.array([0, 100, 0])) == pytest.approx(0.5)
    assert times.share_until(None, np.array([0, 100, 0])) == 1.0
    # While no time is known, a block is drawn unless the deadline has passed.
    shares = [walk()._times.share_until(end, np.array([9, 9, 9])) for end in (89.0, 90.0, 90.1)]
    assert shares == [0.0, 0.0, 1.0]


def test_why_an_audit_is_over(seconds_passed):
    seconds_passed[0] = 5.0
    for deadline, over in ((None, False), (5.5, False), (5.0, True), (4.0, True)):
        found = walk()
        assert found._is_over(deadline) is over
        assert found.ended == ("the time limit was reached" if over else "all draws were used")
        found._state.is_claim_refuted = True
        assert found._is_over(deadline) and found.ended == "the claim was refuted"


def counting(seconds_passed, compiles=False):
    """Return an audit whose source takes two seconds, then three, then one for each count."""
    marked = []
    seconds = iter([2.0, 3.0, 1.0])

    def count(asked):
        marked.append(asked)
        seconds_passed[0] += next(seconds)
        return np.arange(4).reshape(1, 2, 2)

    found = Walk.__new__(Walk)
    found._searches = [SimpleNamespace(partition=SimpleNamespace(size=size)) for size in (2, 3)]
    found._opened, found._size = SimpleNamespace(count=count), 3
    found._times = DrawTimes(2, compiles=compiles)
    return found, marked


def test_the_shortest_time_of_a_pair_counts(seconds_passed):
    found, marked = counting(seconds_passed)
    for pace, number in ((0.2, 10), (0.2, 10), (0.1, 10)):
        np.testing.assert_array_equal(found._count(1, number, 7), [[0, 1], [2, 3]])
        assert found._times.shortest.tolist() == [0.0, pace]
    (first, *_) = marked
    assert first.pairs.tolist() == [1] and first.marks.tolist() == [[0, 1, 2]]
    assert (first.num_marks, first.first, first.size, first.sides) == (3, 7, 10, None)


def test_a_mechanism_that_becomes_slower_is_slow_after_four_blocks(seconds_passed):
    times = DrawTimes(2, compiles=False)
    for seconds, pace in ((1.0, 0.1), (9.0, 0.1), (8.0, 0.1), (7.0, 0.1), (9.0, 0.7), (9.0, 0.7)):
        with times.measured(1, 10):
            seconds_passed[0] += seconds
        assert times.shortest.tolist() == pytest.approx([0.0, pace])


def test_a_count_that_compiles_is_not_timed(seconds_passed):
    found, _ = counting(seconds_passed, compiles=True)
    found._count(0, 10, 0)
    assert found._times.shortest.tolist() == [0.0, 0.0]
    found._count(0, 10, 10)
    assert found._times.shortest.tolist() == [0.3, 0.0]


def test_levels_against_which_an_audit_bets():
    """Every fourth of them between 0.5 and 1.25 times the claim, and every sixteenth elsewhere."""
    levels = np.arange(64) / 10
    assert levels_of_bets(levels, None) is levels
    chosen = np.round(10 * levels_of_bets(levels, 2.4)).astype(int).tolist()
    assert chosen == [0, 12, 16, 20, 24, 28, 32, 48]
    # Both ends, 1.0 and 2.5, belong to the range.
    ends = np.array([0.0, 0.1, 0.2, 0.3, 1.0, 1.1, 1.2, 1.3, 2.5, 2.6])
    assert levels_of_bets(ends, 2.0).tolist() == [0.0, 1.0, 2.5]
    assert levels_of_bets(ends, 1.999).tolist() == [0.0, 1.0] and levels_of_bets(
        ends, 2.001
    ).tolist() == [0.0, 2.5]


def test_cells_are_shared_by_equal_databases_in_equal_cells():
    found = Walk.__new__(Walk)
    found._numbers = np.array([[0, 1], [1, 2], [0, 3]])
    found._searches = [
        SimpleNamespace(
            partition=SimpleNamespace(key=key, ordered=ordered, shape=shape, monotonic=False)
        )
        for key, ordered, shape in (("a", True, (3,)), ("a", True, (4,)), ("b", True, (5,)))
    ]
    assert found._shared().tolist() == [[0, 1], [1, 2], [3, 4]]
    assert found._line == {"ordered": True, "monotonic": False}
    found._searches[1].partition.shape = (2, 2)
    assert not found._line["ordered"]
    found._searches[1].partition = SimpleNamespace(ordered=False, shape=(4,), monotonic=False)
    assert not found._line["ordered"]
    # The only line of one pair is a learned score.
    found._searches[1].partition = SimpleNamespace(ordered=True, shape=(4,), monotonic=True)
    assert found._line == {"ordered": True, "monotonic": True}


def search(counts):
    """Return the search set of a pair in two halves."""
    halves = np.array(counts)[None]
    return SimpleNamespace(halves=halves, partition=SimpleNamespace(size=halves.shape[-1]))


FIRST = [[[1, 2], [3, 4]], [[10, 20], [30, 40]]]
SECOND = [[[1, 0, 5], [0, 1, 0]], [[0, 0, 1], [2, 0, 0]]]


def test_counts_that_determined_the_cells():
    found = Walk.__new__(Walk)
    found._searches, found._size = [search(FIRST), search(SECOND)], 4
    counts = found._searched()
    assert counts.tolist() == [
        [[11, 22, 0, 0], [1, 0, 6, 0]],
        [[33, 44, 0, 0], [2, 1, 0, 0]],
    ]
    digest = found._digest()
    assert len(digest) == 32
    found._searches = [search(SECOND), search(FIRST)]
    assert found._digest() != digest
    # The halves of a search do not matter.
    found._searches = [search(FIRST[::-1]), search(SECOND[::-1])]
    assert found._digest() == digest


@pytest.mark.parametrize(
    ("count", "num_confirm", "is_same"), [(5, 24, True), (6, 24, False), (5, 23, False)]
)
def test_outputs_that_an_earlier_audit_counted(count, num_confirm, is_same):
    """Of 40 draws, 16 were the first; 20 determined the cells; and 20 were bet on."""
    found = walk((40, 0, 0))
    found._searches, found._laid = [search([[[8, 2], [7, 3]], [[2, 8], [3, 7]]])], np.array([20])
    found._state.first = np.array([[15, 25]])
    found._state.second = np.array([[20, 20]])
    found._opened = SimpleNamespace(num_confirm=num_confirm)
    asked = []

    def counted(*given):
        asked.append(given)
        return np.array([[count, 15], [10, 10]])

    found._count = counted
    if is_same:
        found.refuse_other_outputs()
        assert asked == [(0, 20, 4)]
        return
    with pytest.raises(ValueError, match="because the first 40 outputs on each side differ"):
        found.refuse_other_outputs()


def test_outputs_in_cells_are_known_by_their_digest():
    found = walk((20, 0, 0))
    found._laid, found._count = np.array([20]), None
    found.refuse_other_outputs()


def test_default_limits_of_draws():
    assert ENDLESS == 2**31 - 1
    recorded, drawn = SimpleNamespace(takes_pairs=False), SimpleNamespace(takes_pairs=True)
    for method, of_drawn, of_recorded in (
        (Sequential(), 250_000, ENDLESS),
        (Sequential(500), 500, 500),
        (Sequential(seconds=3.0), ENDLESS, ENDLESS),
        (Sequential(500, seconds=3.0), 500, 500),
    ):
        assert method._total_of(drawn) == of_drawn
        assert method._total_of(recorded) == of_recorded
    assert Sequential().longer(7) == Sequential(250_007)
    assert Sequential(500, seconds=3.0).longer(7) == Sequential(507, seconds=3.0)


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("num_pairs", [1, 3])
def test_more_draws_than_determine_the_cells(few, num_pairs):
    rounds = _rounds(10**6, few, num_pairs)
    first = rounds.num_samples
    assert rounds == (first, 0, 0, 10**6) and first >= 16
    assert _rounds(num_pairs * first + 1, few, num_pairs).num_samples == first
    said = f"above {num_pairs * first} because the first {first} draws .* was {num_pairs * first}"
    with pytest.raises(ValueError, match=said):
        _rounds(num_pairs * first, few, num_pairs)


class Phases:
    """An audit of three pairs whose blocks are recorded instead of drawn."""

    def __init__(self, monkeypatch, phases, *, total=1_000, over=None):
        self.blocks, self.asked, self.laid = [], [], 0
        self.walk = found = walk((16, 16, 16), total=total, hybrid=True)
        found._searches, found._growth, found._look_error = [None] * 3, 0.12, 0.25
        found._block, found._is_over = self.block, lambda deadline: len(self.blocks) == over
        found._lay_outgrown = self.lay
        made = [SimpleNamespace(pairs=pairs, draws=draws) for pairs, draws in phases]
        monkeypatch.setattr(_walk, "phases", lambda *asked: self.asked.append(asked) or made)
        monkeypatch.setattr(_walk, "best_pairs", self.best)
        monkeypatch.setattr(_walk, "planned_look", self.look)

    def lay(self):
        self.laid += 1

    def block(self, draws, deadline):
        self.blocks.append(draws.tolist())
        self.walk._state.draws += draws[:, None]
        return draws.sum()

    def best(self, state, number, draws, error):
        self.asked.append(("best", number, draws, error))
        return np.array([2, 0, 1][:number])

    def look(self, state, kept, left, error):
        self.asked.append(("look", kept.tolist(), left, error))
        return SimpleNamespace(pair=1)


def test_phases_of_an_audit_without_a_claim(monkeypatch):
    """Blocks have 40 draws, or 12% of all draws so far, until a phase has its draws."""
    audit = Phases(monkeypatch, [(3, 100), (2, 500), (1, 90)], total=1_500)
    audit.walk.go(None)
    first = [[40] * 3, [40] * 3, [4] * 3]
    # After 300 draws, each of two pairs gets 40 draws, and then 6% of all draws.
    sizes, drawn, left = [], 300, 500
    while left:
        sizes.append(min(left, max(-(-12 * drawn // 200), 40)))
        drawn, left = drawn + 2 * sizes[-1], left - sizes[-1]
    assert max(sizes) > 40 and audit.blocks[:3] == first
    second = audit.blocks[3 : 3 + len(sizes)]
    assert second == [[size, 0, size] for size in sizes]
    assert audit.blocks[3 + len(sizes) :] == [[0, 90, 0]]
    assert audit.asked == [
        (1_500, 3), ("best", 2, 500, 0.25), ("best", 1, 90, 0.25), ("look", [2], 90, 0.25),
    ]  # fmt: skip
    # Once the event of the look is fixed, cells are not determined again.
    assert audit.laid == 3 + len(sizes)


def test_phases_end_with_the_draws_of_an_audit(monkeypatch):
    audit = Phases(monkeypatch, [(3, 100), (2, 100)], total=48 + 3 * 30 + 2)
    audit.walk.go(None)
    assert audit.blocks == [[30, 30, 30], [1, 0, 1]] and "look" not in str(audit.asked)


@pytest.mark.parametrize("over", [0, 1, 3])
def test_phases_end_when_the_audit_is_over(monkeypatch, over):
    audit = Phases(monkeypatch, [(3, 56), (2, 40), (1, 30)], over=over)
    audit.walk.go(9.0)
    assert audit.blocks == [[40] * 3, [40, 0, 40], [0, 30, 0]][:over]


def test_a_block_that_was_cut_ends_the_audit(monkeypatch):
    audit = Phases(monkeypatch, [(3, 100), (2, 100)])
    draw = audit.walk._block
    audit.walk._block = lambda draws, deadline: draw(draws, deadline) - 1
    audit.walk.go(9.0)
    assert len(audit.blocks) == 1


def test_blocks_of_an_audit_with_a_claim(monkeypatch):
    """They are allocated by a generator with the key, the run and the number of blocks."""
    found, seen = walk((16, 16, 16), total=48 + 100), []
    found._key, found._run, found._path, laid = [7, 8], 3, [None] * 5, []
    found._lay_outgrown, found._is_over = lambda: laid.append(True), lambda deadline: False

    def allocated(state, generator):
        seen.append(generator.random())
        return np.array([30, 0, 10])

    def block(draws, deadline):
        made = min(draws.sum(), found._total - found._drawn)
        found._state.draws[0] += made
        found._path.append(None)
        return made

    monkeypatch.setattr(_walk, "allocation", allocated)
    found._block = block
    found.go(None)
    expected = [
        np.random.Generator(np.random.Philox(key=[7, 8], counter=[0, 0, 3, number])).random()
        for number in (5, 6, 7)
    ]
    assert seen == expected and len(laid) == 3 and found._drawn == 148


def test_a_step_is_a_part_of_the_path(monkeypatch):
    found = Walk.__new__(Walk)
    found._state, found._path = "before", []
    after = SimpleNamespace(draws=np.array([[5, 5], [7, 7]]), bound=0.5, log_at_claim=-1.5)
    monkeypatch.setattr(_walk, "step", lambda state, *counts: (state, counts, after)[2])
    found._step(np.zeros((2, 2, 3)))
    assert found._state is after and found._path == [(12, 0.5, -1.5)]


def test_cells_that_are_made_anew():
    """Its fresh draws are those after the first 16; counts of old cells are discarded."""
    found = walk((16, 16, 16))
    asked = []

    def lay(pair, size):
        asked.append((pair, size))
        return SimpleNamespace(partition=SimpleNamespace(size=5 if pair else 1))

    tally = SimpleNamespace(confirmed="counts")
    found._opened = SimpleNamespace(lay_again=lay, tally=tally)
    found._searches, found._laid = [None] * 3, np.array([16, 16, 16])
    found._lay(1, 50)
    assert asked == [(1, 34)] and found._laid.tolist() == [16, 50, 16] and found._size == 5
    assert found._searches[1].partition.size == 5 and tally.confirmed is None
    found._lay(0, 30)
    assert found._size == 5


def test_cells_are_made_anew_for_pairs_that_have_grown(monkeypatch):
    found = walk((40, 16, 50))
    found._laid, found._size, found._searches = np.array([16, 16, 16]), 2, []
    found._state.first, found._state.second = np.ones((3, 2), int), 2 * np.ones((3, 2), int)
    laid, after = [], SimpleNamespace()

    def lay(pair, draws):
        laid.append((pair, draws))
        found._size = 4

    def recounted(state, first, second, shared):
        assert state is before and shared == "shared"
        assert first.tolist() == [[0] * 4, [1, 1, 0, 0], [2] * 4]
        assert second.tolist() == [[10] * 4, [2, 2, 0, 0], [12] * 4]
        return after

    before, found._lay = found._state, lay
    found._shared = lambda: "shared"
    found._searched = lambda: np.repeat(np.array([[0, 1, 2], [10, 11, 12]])[..., None], 4, axis=2)
    monkeypatch.setattr(_walk, "outgrown", lambda draws, laid: np.array([0, 2]))
    monkeypatch.setattr(_walk, "recounted", recounted)
    monkeypatch.setattr(_walk, "replace", lambda state, **line: (state, line))
    found._opened = SimpleNamespace(lays_once=True)
    found._lay_outgrown()
    assert laid == [] and found._state is before
    found._opened.lays_once = False
    found._lay_outgrown()
    assert laid == [(0, 40), (2, 50)] and found._state[0] is after
    assert found._state[1] == {"ordered": True, "monotonic": False}
    monkeypatch.setattr(_walk, "outgrown", lambda draws, laid: np.array([], int))
    found._state = before
    found._lay_outgrown()
    assert len(laid) == 2 and found._state is before
