"""How many outputs an audit on the host plans to draw, with a given clock and given paces."""

from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax.partitions import Encoder, parted
from dpjax.sources import AnyPairs, Marked, Rounds, Tally, _time_limit
from dpjax.sources._host_counts import OpenedOnHost
from dpjax.sources._time_limit import Pace, Quota


def measured(monkeypatch, fixed, each, *, wanted=10**9, batch_size=10**6, workers=0, batched=True):
    """Return the sizes of draws that measure a pace: seconds per call and per output."""
    now, sizes = [0.0], []

    def draw(database, span):
        sizes.append(len(span.outputs))
        now[0] += fixed + each * len(span.outputs)
        yield []

    monkeypatch.setattr(_time_limit, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    source = SimpleNamespace(
        time_limit=100.0, batched=batched, batch_size=batch_size, workers=workers
    )
    pace = Pace(source, draw)
    pace.measure(["a database"], (1,), wanted)
    return sizes, pace


@pytest.mark.parametrize(
    ("fixed", "each", "options", "sizes"),
    [
        # The size doubles and then quadruples until a draw takes two seconds.
        (0.0, 1e-5, {}, [2, 2, 4, *(4**n for n in range(2, 10))]),
        # If starting a call takes nearly all of the time, the size grows by a factor of sixteen.
        (1.0, 1e-5, {}, [2, 2, 4, 64, 1024, 16_384, 262_144]),
        # Another draw would take more than a quarter of the limit in total.
        (6.0, 1e-5, {}, [2, 2, 4, 64, 1024]),
        (0.0, 1.0, {}, [2, 2, 4]), (0.0, 4.9, {}, [2, 2, 4]),
        # If the first draw takes more than a tenth of the limit, it is the only measurement.
        (0.0, 5.1, {}, [2, 2]), (12.0, 1e-5, {}, [2, 2]),
        # Draws are no larger than a batch, and stop if a fifth of the limit is enough.
        (0.0, 1e-5, {"batch_size": 50}, [2, 2, 4, 16, 50]),
        (0.0, 1e-5, {"batch_size": 2}, [2, 2]),
        (0.0, 0.01, {"wanted": 1_999}, [2, 2]),
        (0.0, 0.01, {"wanted": 2_001}, [2, 2, 4, 16, 64, 256]),
        (0.0, 1e-5, {"batch_size": 40, "workers": 3}, [6, 6, 12, 40]),
        (0.0, 1e-5, {"batch_size": 5, "workers": 3, "batched": False}, [3, 3, 5]),
    ],
)  # fmt: skip
def test_draws_that_measure(monkeypatch, fixed, each, options, sizes):
    assert measured(monkeypatch, fixed, each, **options)[0] == sizes


def test_paces_that_are_measured(monkeypatch):
    """The last two draws determine the time of a call; an output takes at least a tenth."""
    _, pace = measured(monkeypatch, 0.0, 1e-5)
    assert (pace._fixed, pace._each) == (pytest.approx(0.0, abs=1e-9), pytest.approx(1e-5))
    _, pace = measured(monkeypatch, 1.0, 1e-5)
    assert (pace._fixed, pace._each) == (pytest.approx(1.0), pytest.approx(1e-5))
    _, pace = measured(monkeypatch, 6.0, 1e-5)
    took = 6 + 1024e-5
    assert pace._each == pytest.approx(0.1 * took / 1024)
    assert pace._fixed == pytest.approx(0.9 * took)
    _, pace = measured(monkeypatch, 12.0, 0.0)
    assert (pace._fixed, pace._each) == (0.0, 6.0)


def opened(source=None, *, seconds=None, each=False, rounds=(60, 2, 30, 50), pace=None):
    """Return an opened audit of three pairs that has not requested anything yet."""
    found = OpenedOnHost.__new__(OpenedOnHost)
    found._source = source or SimpleNamespace(
        batched=True, time_limit=None, replayable=False, restarted=lambda sides, count: None
    )
    found._request = SimpleNamespace(seconds=seconds, each=each, in_order=False)
    found._rounds, found._pace, found._quota = Rounds(*rounds), pace, "not set"
    found.num_confirm, found._said, found.shares = rounds[3], [], True
    found._of_pilots, found._same_seeds = {}, {}
    found.pairs = AnyPairs((["a", "b", "c"], ["d", "e", "f"]), ("1", "2", "3"))
    told = []
    found.tally, found.told = Tally(lambda *both: told.append(both)), told
    found._used = lambda: 7.0
    return found


@pytest.mark.parametrize(
    ("batched", "seconds", "each", "cut", "target"),
    [
        (True, None, False, None, None), (True, 3.0, True, None, None),
        (False, None, False, 1000, None), (False, 3.0, False, 32, 1e-2),
        (False, 0.02, False, 32, 5e-3), (False, 0.001, False, 32, 1e-3),
        (False, None, True, 1000, 0.02), (False, 3.0, True, 1000, 0.02),
    ],
)  # fmt: skip
def test_rounds_without_a_limit(batched, seconds, each, cut, target):
    found = opened(SimpleNamespace(batched=batched), seconds=seconds, each=each)
    planned = Quota(60, cut, seconds, target, each and not batched)
    assert found._plan(3, 60, 2 * 30) == planned == found._quota
    # There are three pairs now, two in the next round, and the confirmation, on both sides.
    assert found.told[-1] == (0, 2 * (180 + 60 + 50))


def test_rounds_within_a_limit():
    asked = []

    def search(*given):
        asked.append(given)
        return Quota(40, 9, 0.5)

    found = opened(SimpleNamespace(batched=False), pace=SimpleNamespace(search=search))
    assert found._plan(3, 60, 60) == Quota(40, 9, 0.5) == found._quota
    assert asked == [(3, 60, 180 / (180 + 60 + 50), 50, 7.0)]
    assert found.told[-1] == (0, 2 * (120 + 60 + 50))


def test_confirmations_within_a_limit():
    asked = []
    pace = Pace(SimpleNamespace(time_limit=12.5), None)
    pace.alike = lambda streams: asked.append(streams) or False
    pace.confirm = lambda *given: asked.append(given) or 35
    found = opened(pace=pace)
    found._stream = SimpleNamespace(streams=lambda: "streams")
    found._plan_confirm()
    assert asked == ["streams", ("streams", 50, 7.0)]
    assert (found.num_confirm, found.shares, found.told[-1]) == (35, False, (0, 70))
    assert found._said == [
        "Within 12.5 s, the time limit allowed only 35 outputs per side for the confirmation, "
        "instead of 50."
    ]
    free = opened()
    free._plan_confirm()
    assert free.num_confirm == 50 and free.told == []


def test_rounds_that_were_cut_are_told():
    halves = np.zeros((2, 2, 2, 3), int)
    halves[0, :, 0, 0], halves[0, :, 1, 1] = 20, 15  # 40 and 30
    halves[1, :, 0, 2], halves[1, :, 1, 0] = 19, 25  # 38 and 50
    found = opened(pace=Pace(SimpleNamespace(time_limit=3.0), None))
    found._note_fewer(halves, 30, "for the search")
    assert found._said == []
    found._note_fewer(halves, 31, "for the search")
    said = (
        "Within 3 s, the time limit allowed only 30 outputs per side for the search, instead of 31."
    )
    assert found._said == [said] == found._pace.notes_of_fewer(30, 31, "for the search")
    free = opened()
    free._note_fewer(halves, 31, "for the search")
    assert free._said == []


@pytest.mark.parametrize(
    ("limit", "pace", "count"),
    [
        (None, 1.0, 100),
        (1.0, 1e-9, 100),
        (200.0, 0.02, 50),
        (200.0, 0.05, 20),
        (200.0, 0.0505, None),
    ],
)
def test_how_many_outputs_of_two_new_runs_are_compared(limit, pace, count):
    """They may take two hundredths of the limit, for four sides at the pace of the slower side."""
    asked, refused = [], []
    source = SimpleNamespace(
        time_limit=limit, replayable=False, batched=True,
        restarted=lambda *given: asked.append(given) or "runs",
    )  # fmt: skip
    found = opened(source)
    streams = [[(1, 9e9), (1, 9e9)], [(1000, pace * 1000), (10, pace * 5)]]
    found._stream = SimpleNamespace(
        streams=lambda: streams, refuse_same=lambda *given: refused.append(given)
    )
    found._refuse_same_runs(1)
    assert asked == ([(("b", "e"), count)] if count else [])
    assert refused == ([(1, "runs")] if count else [])
    for change in ("replayable", "each"):
        asked.clear()
        silent = opened(SimpleNamespace(**{**vars(source), "replayable": change == "replayable"}),
                        each=change == "each")  # fmt: skip
        silent._stream = found._stream
        silent._refuse_same_runs(1)
        assert asked == []


def test_runs_that_cannot_be_repeated_are_not_compared():
    found = opened()
    found._stream = SimpleNamespace(refuse_same=None)
    found._refuse_same_runs(0)


def test_notes_are_of_the_pairs_that_were_counted():
    found = opened()
    found._said, found._counted = ["said"], {2, 0}
    found._stream = SimpleNamespace(
        notes=lambda pair, known: [f"note {pair}"],
        failures=lambda pairs: [f"failures {pairs}"],
    )
    found._encoders = [Encoder("it") for _ in range(3)]
    found._encoders[1].encode([{"c": 1.0, "d": 2.0}])
    found._encoders[2].encode([{"a": 1.0, "b": 2.0}])
    parts = found._encoders[2].columns.notes()
    assert len(parts) == 1 and found.notes[:-1] == ["said", *parts, "note 0", "note 2"]
    assert found.notes[-1] == "failures [0, 2]"


def test_batches_are_divided_at_any_output():
    encoder = Encoder("it")
    batches = [encoder.encode(part) for part in np.split(np.arange(10.0), [3, 4, 7])]
    for count in (1, 3, 5, 9, 10, 20):
        left = iter(batches)
        first, rest = parted(left, count)
        values = [first.values[:, 0].tolist(), *(part.values[:, 0].tolist() for part in rest)]
        assert values[0] == list(range(min(count, 10)))
        assert [value for part in values for value in part] == list(range(10))
    # Only as many batches as necessary are drawn.
    left = iter(batches)
    parted(left, 3)
    assert next(left) is batches[1]


class Cells:
    """Three cells for the numbers 0, 1 and 2."""

    size = 3

    def index(self, outputs):
        return outputs.values[:, 0].astype(int)

    def narrowed(self, marks):
        return self, marks


def test_outputs_of_a_confirmation_are_counted_by_side():
    """Sides alternate, and each gets the requested number of outputs."""
    encoder, asked, order = Encoder("it"), [], []

    def batches(pair, side, stage, quota, first):
        asked.append((pair, side, stage, quota, first))
        values = np.repeat([side, 2], [quota.num_samples - 1, 1])
        for part in np.array_split(values, 2 + side):
            order.append(side)
            yield encoder.encode(part)

    found = opened()
    found._laid, found._counted, found._quota = {1: Cells()}, set(), Quota(0, 5, None)
    found._encoder, found._stream = encoder, SimpleNamespace(batches=batches)
    same = []
    found._refuse_same_runs = same.append
    marked = Marked(np.array([1]), np.array([[0, 1, 3]]), 4, 10, None, np.array([[20, 30]]))
    assert found.count(marked).tolist() == [[[19, 0, 0, 1], [0, 29, 0, 1]]]
    quotas = [(1, side, 1, Quota(size, 5, None), 10) for side, size in ((0, 20), (1, 30))]
    assert asked == quotas and order == [0, 1, 0, 1, 1]
    assert found.tally.confirmed.tolist() == [[19, 0, 0, 1], [0, 29, 0, 1]]
    asked.clear()
    found.count(Marked(np.array([1]), np.array([[0, 1, 3]]), 4, 10))
    assert [quota.num_samples for *_, quota, _ in asked] == [40, 40] and same == [1]


def test_the_pace_is_measured_for_all_draws(monkeypatch):
    """Three pairs have 30 search draws per side, and 70 confirmation draws."""
    asked = []

    class Measured(Pace):
        def measure(self, databases, words, total):
            asked.append((databases, total))
            super().measure(databases, words, total)

    monkeypatch.setattr("dpjax.sources._host_counts.Pace", Measured)

    def noisy(database, num_samples, rng):
        return database + rng.laplace(size=num_samples)

    method = dpjax.Events(num_samples=30, num_confirm=70)
    source = dpjax.HostMechanism(noisy, time_limit=60.0)
    dpjax.audit(source, [(0, 1), (1, 2), (3, 0)], method=method)
    assert asked == [([0, 1, 1, 2, 3, 0], 2 * (3 * 30 + 70))]
