"""Plans within a time limit for a given pace: numbers of draws computed by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.sources import _time_limit
from dpjax.sources._time_limit import Pace, next_size


def pace(fixed, each, *, limit=100.0, batched=False, batch_size=1000, workers=0):
    """Return a measured pace: seconds per call, and per output."""
    source = SimpleNamespace(
        time_limit=limit, batched=batched, batch_size=batch_size, workers=workers
    )
    found = Pace(source, None)
    found._fixed, found._each = fixed, each
    return found


@pytest.mark.parametrize(
    ("found", "seconds", "number"),
    [
        (pace(0.0, 0.1), 10.05, 100), (pace(1.0, 0.1), 10.05, 90), (pace(1.0, 0.1), 0.5, 0),
        # Whole batches of 1,000 take 2 seconds each, and three run at the same time.
        (pace(1.0, 0.001, batched=True), 9.0, 4500), (pace(1.0, 0.001, batched=True), 1.5, 499),
        (pace(1.0, 0.001, batched=True, workers=3), 8.0, 12_000),
        (pace(1.0, 0.001, workers=3), 9.0, 8000),
    ],
)  # fmt: skip
def test_numbers_that_fit_into_a_time(found, seconds, number):
    assert found._fitting(seconds) == pytest.approx(number, abs=1)


@pytest.mark.parametrize(
    ("found", "number", "seconds"),
    [
        (pace(1.0, 0.1), 50, 6.0), (pace(1.0, 0.001, batched=True), 500, 1.5),
        (pace(1.0, 0.001, batched=True), 1000, 2.0), (pace(1.0, 0.001, batched=True), 3000, 6.0),
        (pace(1.0, 0.001, batched=True, workers=3), 2000, 2.0),
        (pace(1.0, 0.001, batched=True, workers=3), 6000, 4.0),
        (pace(1.0, 0.001), 3000, 4.0),
    ],
)  # fmt: skip
def test_times_of_numbers(found, number, seconds):
    assert found._taking(number) == pytest.approx(seconds)


def test_a_round_of_the_search_by_hand():
    """Of the remaining 80 s, a round gets 0.4: 4 s per side of four pairs, minus a margin."""
    quota = pace(0.0, 0.1).search(4, 1000, 0.4, 200, 20.0)
    assert quota.num_samples == 34 and quota.seconds == pytest.approx(4.0)
    # A batch takes a hundredth of the limit.
    assert quota.cut == 10
    assert pace(0.0, 0.1, workers=5).search(4, 1000, 0.4, 200, 20.0).cut == 2
    assert pace(0.0, 5.0, limit=1e5).search(1, 100, 0.4, 100, 0.0).cut == 200
    assert pace(0.0, 1e-9).search(1, 100, 0.4, 100, 0.0).cut == 10**6
    assert pace(0.0, 2.0, limit=150.0).search(1, 5, 0.4, 5, 0.0).cut == 1
    assert pace(0.0, 0.1, batched=True).search(1, 10, 0.4, 20, 0.0).cut is None
    assert pace(0.0, 0.1).search(4, 7, 0.4, 200, 20.0).num_samples == 7


@pytest.mark.parametrize(
    ("limit", "wanted", "confirm", "fits"),
    [
        # One pair: a stage gets limit / 4 per side and plans 0.85 of it, at 0.1 s per output.
        (15.0, 1000, 20, True),
        (13.9, 1000, 20, False),
        (13.9, 29, 20, True),
        (24.0, 10, 1000, True),
        (23.0, 10, 1000, False),
        (23.0, 10, 48, True),
    ],
)
def test_the_least_that_shows_anything(limit, wanted, confirm, fits):
    found = pace(0.0, 0.1, limit=limit)
    if fits:
        found.search(1, wanted, 0.5, confirm, 0.0)
        return
    search, confirmed = min(wanted, 30), min(confirm, 50)
    message = (
        f"allow {search} outputs per side of each pair for the search, and {confirmed} per side"
    )
    with pytest.raises(ValueError, match=message) as refused:
        found.search(1, wanted, 0.5, confirm, 0.0)
    # 30 outputs take 2 * 3 / 0.5 s, divided by 0.85 and 3/4; rounded up to two digits.
    needed = max(2 * search * 0.1 / 0.5, 2 * confirmed * 0.1 / 0.5) / (0.85 * 0.75)
    assert f"left {limit:.3g} s for them, and an output takes about 0.1 s: allow at least " in str(
        refused.value
    )
    said = float(str(refused.value).split("allow at least ")[1].split(" s")[0])
    assert needed <= said < 1.1 * needed


def test_the_confirmation_by_hand():
    """It is slower than measured by half; 0.85 of the rest is divided between two sides."""
    found = pace(0.0, 0.1)
    found._measured, found._share = 10.0, 0.5
    streams = [[(100, 10.0), (100, 10.0)], [(100, 10.0), (100, 20.0)]]
    # Drawing took 50 s of the 50 s since the measurement.
    assert found.confirm(streams, 10**6, 60.0) == int(0.85 * 40 / 2 / 0.15)
    found = pace(0.0, 0.1, limit=200.0)
    found._measured, found._share = 10.0, 0.5
    # Counting took half as long as drawing, and 115 s are left.
    assert found.confirm(streams, 10**6, 85.0) == int(0.85 * 115 / 2 / (0.15 * 1.5))
    found = pace(0.0, 0.1)
    found._measured, found._share = 10.0, 0.5
    assert found.confirm([[(100, 5.0), (100, 15.0)]], 10**6, 50.0) == int(0.85 * 50 / 2 / 0.2)
    found = pace(0.0, 0.1)
    found._measured, found._share = 10.0, 0.5
    assert found.confirm(streams, 77, 60.0) == 77


def test_a_confirmation_that_shows_nothing_is_refused():
    for used, fits in ((80.0, True), (90.0, False)):
        found = pace(0.0, 0.1)
        found._measured, found._share = 0.0, 0.5
        streams = [[(used * 5, used / 2), (used * 5, used / 2)]]
        if fits:
            assert found.confirm(streams, 1000, used) == 85
            continue
        said = "and 50 per side for the confirmation.* 0.1 s: allow at least 200 s"
        with pytest.raises(ValueError, match=said):
            found.confirm(streams, 1000, used)


def test_sides_of_about_the_same_pace():
    found = pace(0.0, 0.1)
    assert found.alike([[(100, 10.0), (100, 12.9)], [(50, 5.0), (100, 10.0)]])
    assert not found.alike([[(100, 10.0), (100, 10.0)], [(100, 13.1), (100, 10.0)]])


class Clock:
    """Draws that take `fixed` seconds per call and `each` per output, for each database."""

    def __init__(self, monkeypatch, paces, **options):
        self.seconds, self.spans = 0.0, []
        self.paces = paces
        monkeypatch.setattr(_time_limit, "time", SimpleNamespace(perf_counter=lambda: self.seconds))
        options = {"batched": True, "batch_size": 1000, "workers": 0, "time_limit": 100.0} | options
        self.pace = Pace(SimpleNamespace(**options), self.draw)

    def draw(self, database, span):
        self.spans.append((database, span))
        fixed, each = self.paces[database]
        self.seconds += fixed + each * len(span.outputs)
        yield []


def test_first_draws_are_for_all_workers(monkeypatch):
    clock = Clock(monkeypatch, [(0.0, 0.01)], batched=False, workers=4)
    clock.pace.measure([0], (1, 2), 10)
    sizes = [(len(span.outputs), span.cut) for _, span in clock.spans]
    assert sizes[:2] == [(4, 1), (4, 1)] and all(cut == -(-size // 4) for size, cut in sizes)
    assert all(span.words == (1, 2) for _, span in clock.spans)
    both = Clock(monkeypatch, [(0.0, 0.01)], batched=True, workers=4)
    both.pace.measure([0], (1, 2), 10)
    assert [(len(span.outputs), span.cut) for _, span in both.spans][:2] == [(8, 2), (8, 2)]
    alone = Clock(monkeypatch, [(0.0, 0.01)], batched=True)
    alone.pace.measure([0], (), 10)
    assert [(len(span.outputs), span.cut) for _, span in alone.spans][:2] == [(2, 2), (2, 2)]


@pytest.mark.parametrize(("wanted", "sizes"), [(1999, [2, 2]), (2001, [2, 2, 4])])
def test_time_is_plentiful_where_the_audit_takes_a_fifth_of_the_limit(monkeypatch, wanted, sizes):
    """An output takes 10 ms, and 100 seconds are allowed: 2,000 outputs take 20."""
    clock = Clock(monkeypatch, [(0.0, 0.01)], batch_size=4)
    clock.pace.measure([0], (), wanted)
    assert [len(span.outputs) for _, span in clock.spans] == sizes


@pytest.mark.parametrize("fixed", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("each", [0.001, 0.01])
def test_what_is_measured_is_the_pace(monkeypatch, fixed, each):
    clock = Clock(monkeypatch, [(fixed, each)])
    clock.pace.measure([0], (), 10**9)
    assert clock.pace._each == pytest.approx(each, rel=0.01 if fixed == 0 else 0.7)
    whole = clock.pace._fixed + 1000 * clock.pace._each
    assert whole == pytest.approx(fixed + 1000 * each, rel=0.5)
    # The measurement takes at most a quarter of the limit, or a bit more with one size.
    assert clock.seconds < 51


def test_a_slow_database_alone_is_measured_in_detail(monkeypatch):
    paces = [(0.0, 0.01), (0.0, 0.02), (0.0, 0.05), (0.0, 0.01)]
    clock = Clock(monkeypatch, paces, batched=False, batch_size=50)
    clock.pace.measure(range(4), (), 10**9)
    drawn = [database for database, _ in clock.spans]
    assert drawn.count(1) == drawn.count(3) == 1 and drawn.count(2) > 1 and drawn.count(0) > 2
    assert clock.pace._each == pytest.approx(0.05)
    very = Clock(monkeypatch, [(0.0, 0.01), (0.0, 11.0)], batched=False)
    very.pace.measure(range(2), (), 10**9)
    assert [database for database, _ in very.spans].count(1) == 1
    assert very.pace._each == pytest.approx(11.0) and very.pace._fixed == 0


def test_only_the_first_databases_are_tried(monkeypatch):
    clock = Clock(monkeypatch, [(0.0, 1e-6)] * 60, batched=False)
    clock.pace.measure(range(60), (), 100)
    assert {database for database, _ in clock.spans} == set(range(40))
    late = Clock(monkeypatch, [(0.0, 1.0)] * 60, batched=False)
    late.pace.measure(range(60), (), 10**9)
    # The limit is a quarter, plus the draw that exceeds it.
    assert len({database for database, _ in late.spans}) < 26
    assert np.max([database for database, _ in late.spans]) > 3


def test_many_databases_share_the_time_of_the_measurement(monkeypatch):
    """Each database is four times slower than the previous, so each would be measured in detail."""
    paces = [(0.0, 1e-7 * 4**number) for number in range(12)]
    clock = Clock(monkeypatch, paces, batch_size=10**9)
    clock.pace.measure(range(12), (), 10**12)
    # It takes a quarter of the limit of 100 s, or twice that if a second size is needed.
    assert 20 < clock.seconds <= 50
    slowest, _ = clock.spans[-1]
    assert slowest > 5 and clock.pace._each == pytest.approx(paces[slowest][1])


@pytest.mark.parametrize(
    ("size", "seconds", "following"),
    [
        (0, 0.0, 1), (1, 1e-6, 2), (16, 1e-6, 32), (32, 1e-6, 32), (16, 1e-4, 10), (4, 1e-4, 8),
        (8, 6e-4, 1), (8, 1.0, 1), (8, 5e-4, 2), (32, 0.0, 32),
    ],
)  # fmt: skip
def test_batches_that_grow(size, seconds, following):
    """A batch has at most 32 outputs, takes about 1 ms, and at most doubles in size."""
    assert next_size(size, seconds, 32, 1e-3) == following
