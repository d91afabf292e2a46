"""Slow mechanisms keep time limits, which change how many outputs are drawn, but not which."""

import re
import time
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax import CommandMechanism, Events, HostMechanism
from dpjax.sources import _deadline, _host_counts, _time_limit, _watched
from dpjax.sources._process import Ended, Programs
from dpjax.sources._schedule import Span

PAIR = [(0.0, 1.0)]


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances only when a mechanism advances it."""
    now = SimpleNamespace(seconds=0.0)
    fake = SimpleNamespace(perf_counter=lambda: now.seconds)
    monkeypatch.setattr(_host_counts, "time", fake)
    monkeypatch.setattr(_watched, "time", fake)
    monkeypatch.setattr(_time_limit, "time", fake)
    return now


def slow(clock, start, each):
    """Return functions for one output and for batches that take start + each * outputs seconds."""

    def one(database, seed):
        clock.seconds += start + each
        return database + np.random.default_rng(seed).laplace()

    def many(database, num_samples, seed):
        clock.seconds += start + each * num_samples
        return database + np.random.default_rng(seed).laplace(size=num_samples)

    return one, many


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("times", "batched", "limit"),
    [
        *(
            (*case, limit)
            for case in (((0, 0.3), False), ((0, 0.3), True), ((0, 0.002), True),
                         ((2, 0.001), True), ((0, 1e-6), True))
            for limit in (100.0, 600.0)
        ),
        ((0, 0.002), False, 100.0),
        # 140,000 single calls are too many.
        pytest.param((0, 0.002), False, 600.0, marks=pytest.mark.slow),
    ],
    ids=str,
)  # fmt: skip
def test_a_limit_is_kept_and_used(clock, times, batched, limit):
    function = slow(clock, *times)[batched]
    result = dpjax.audit(HostMechanism(function, batched=batched, time_limit=limit), PAIR)
    assert clock.seconds <= limit
    assert result.num_confirm == 50_000 or clock.seconds > limit / 2
    assert result.num_confirm >= 50 and result.num_samples >= 30
    if result.num_confirm < 50_000:
        # The plan divides the time: 0.7 for two streams, 0.3 for two other streams.
        assert 1.5 < result.num_confirm / result.num_samples < 3.5
        note = (
            f"Within {limit:.3g} s, the time limit allowed only {result.num_confirm} outputs per "
            "side for the confirmation"
        )
        assert any(note in line for line in result.notes)


def test_a_limit_is_for_all_pairs(clock):
    function = slow(clock, 0, 0.02)[0]
    mechanism = HostMechanism(function, batched=False, time_limit=60)
    dpjax.audit(mechanism, [(0.0, float(i)) for i in range(5)])
    assert 30 < clock.seconds <= 60


def test_a_database_that_takes_longer_than_the_others_keeps_the_limit(clock):
    def uneven(database, seed):
        clock.seconds += 0.2 if database else 0.01
        return database + np.random.default_rng(seed).laplace()

    result = dpjax.audit(HostMechanism(uneven, batched=False, time_limit=100), PAIR)
    assert clock.seconds <= 110 and result.num_confirm > 50


@pytest.mark.parametrize("seconds", [[(1, 1), (4, 4)], [(4, 4), (1, 1)], [(7, 1), (2, 2)]])
def test_the_slowest_pair_plans_the_confirmation(clock, seconds):
    """Seconds for 100 outputs; 4 on average for the slower pair, which may be confirmed."""
    source = SimpleNamespace(time_limit=1_000.0, batched=False, batch_size=1, workers=1)

    def draw(database, places, *_):
        for _ in places:
            clock.seconds += 0.01
            yield [0.0]

    pace = _time_limit.Pace(source, draw)
    pace.measure([0.0, 1.0], (1, 2), 10_000)
    measured = clock.seconds
    assert pace.search(2, 100, 0.5, 100, measured).num_samples == 100
    streams = [[(100, float(each)) for each in pair] for pair in seconds]
    used = sum(sum(pair) for pair in seconds) + measured
    planned = pace.confirm(streams, 10**6, used)
    fitting = (1_000 - used) / 2 / 0.04
    assert 0.8 * fitting < planned <= fitting
    assert pace.confirm(streams, 10, used) == 10


@pytest.mark.parametrize("batched", [False, True])
def test_the_same_counts_are_the_same_draws(clock, batched):
    function = slow(clock, 0, 0.01)[batched]
    limited = dpjax.audit(HostMechanism(function, batched=batched, time_limit=60), PAIR)
    assert limited.num_samples < 20_000
    sizes = Events(limited.num_samples, limited.num_confirm)
    for limit in (None, 1e6):
        mechanism = HostMechanism(function, batched=batched, time_limit=limit)
        again = dpjax.audit(mechanism, PAIR, method=sizes)
        assert again.witness == limited.witness and again.lower_bound == limited.lower_bound


@pytest.mark.parametrize("cut", [1, 7, 40])
@pytest.mark.parametrize("seconds", [0.0, 1000.0])
def test_single_outputs_do_not_depend_on_the_cut(cut, seconds, monkeypatch):
    monkeypatch.setattr("dpjax.sources._calls._SECONDS", seconds)
    mechanism, seen = HostMechanism(lambda d, seed: seed, batched=False, batch_size=40), []
    with mechanism.drawing() as draw:
        whole = [
            output for batch in draw(0, Span(range(101), (1, 2), seen.append)) for output in batch
        ]
        batches = list(draw(0, Span(range(101), (1, 2), seen.append, cut)))
    # The first output of each batch is reported as it arrives, and so are all slow outputs.
    assert sum(seen) == 202 and (seen == [1] * 202 or seconds)
    sizes = [40, 40, 21, *map(len, batches)]
    expected = [[1, size - 1] if size > 1 else [1] for size in sizes]
    assert seen == [each for report in expected for each in report] or not seconds
    assert (
        max(map(len, batches)) <= cut and [output for batch in batches for output in batch] == whole
    )
    assert len(set(whole)) == 101


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_counts_do_not_depend_on_the_cut(monkeypatch, cut):
    """Outputs after the pilot come in batches that end before, at and after its end."""
    monkeypatch.setattr(_host_counts, "PILOT", 50)

    def result(cut):
        mechanism = HostMechanism(numbers_in_order(), batched=True, batch_size=cut)
        return dpjax.audit(mechanism, PAIR, method=Events(333, 444))

    one, other = result(cut), result(444)
    assert one.witness == other.witness and one.pair_scores == other.pair_scores
    assert (one.num_samples, one.num_confirm) == (333, 444)


def numbers_in_order():
    """A function whose outputs form a sequence of numbers, however they are requested."""
    places = {0.0: 0, 1.0: 0}
    stored = {
        side: np.random.default_rng(int(side)).laplace(side, size=333 + 888) for side in places
    }

    def next_ones(database, num_samples):
        places[database] += num_samples
        return stored[database][places[database] - num_samples : places[database]]

    return next_ones


def test_a_limit_that_shows_nothing_says_which_would(clock):
    function = slow(clock, 0, 0.3)[0]
    with pytest.raises(
        ValueError, match=r"left 5 s for them, and an output takes about 0\.3 s"
    ) as refused:
        dpjax.audit(HostMechanism(function, batched=False, time_limit=5.0), PAIR)
    # A quarter of the limit may be used for the measurement.
    assert clock.seconds <= 1.5
    enough = float(re.search(r"at least (\S+) s", str(refused.value))[1])
    result = dpjax.audit(HostMechanism(function, batched=False, time_limit=enough), PAIR)
    assert result.num_confirm >= 50 and clock.seconds < 1.5 + enough


@pytest.mark.slow
def test_a_program_that_is_run_once_an_output_keeps_its_limit(monkeypatch):
    def run(self, programs, deadline, text, num_samples, seed):
        time.sleep(0.01)
        return [str(float(text) + np.random.default_rng(seed).laplace())], 0, ""

    monkeypatch.setattr(CommandMechanism, "_run", run)
    start = time.perf_counter()
    mechanism = CommandMechanism("prog {database} {seed}", workers=4, time_limit=2.0)
    result = dpjax.audit(mechanism, PAIR)
    # In 2 s, four workers do at most 800 runs; 140,000 would take 350 s.
    assert time.perf_counter() - start < 10
    assert 50 <= result.num_confirm < 400


@pytest.mark.one_in(3)
@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize(
    "times",
    [
        (1e-5, 1e-2),
        (1e-2, 1e-5),
        (1e-3, 1.0),
        (1.0, 1e-3),
        (0.01, 10.0),
        (10.0, 0.01),
        (10.0, 10.0),
    ],
    ids=str,
)
def test_a_thousandfold_between_databases_keeps_the_limit(clock, times, batched):
    """An audit ends with a result, or soon rejects the limit because too few outputs would fit."""

    def one(database, seed):
        clock.seconds += times[int(database)]
        return database + np.random.default_rng(seed).laplace()

    def many(database, num_samples, seed):
        clock.seconds += times[int(database)] * num_samples
        return database + np.random.default_rng(seed).laplace(size=num_samples)

    mechanism = HostMechanism(many if batched else one, batched=batched, time_limit=60.0)
    if max(times) < 1:
        result = dpjax.audit(mechanism, PAIR)
        assert 30 < clock.seconds <= 60 and result.num_confirm > 1_000
        return
    # Eighty outputs per side that take a second each do not fit into a minute.
    with pytest.raises(ValueError, match="time_limit must allow 30 outputs per side"):
        dpjax.audit(mechanism, PAIR)
    assert clock.seconds <= 60


NEVER = float("inf")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("timeout", [None, 0.05, 600.0])
@pytest.mark.parametrize(
    "times",
    [
        (1e-2, 1e-2),
        (10.0, 10.0),
        (1e-2, 10.0),
        (10.0, 1e-2),
        (1e-2, 1.0),
        (1e-2, NEVER),
        (NEVER, 1e-2),
        (NEVER, NEVER),
    ],
    ids=str,
)
def test_programs_keep_the_limit_however_long_they_take(
    clock, monkeypatch, times, timeout, batched
):
    """Seconds per run and output for each database; a killed run has no exit status."""
    monkeypatch.setattr(_deadline, "time", SimpleNamespace(monotonic=lambda: clock.seconds))

    def run(self, words, num_lines, timeout):
        each = times[int(float(words[1]))]
        takes = each * num_lines if batched else each
        clock.seconds += min(takes, NEVER if timeout is None else timeout)
        assert clock.seconds < NEVER, "a run without an end has no deadline"
        if timeout is not None and takes > timeout:
            return Ended([], None, "")
        noise = np.random.default_rng(int(words[2])).laplace(size=num_lines)
        return Ended([str(float(words[1]) + each) for each in noise], 0, "")

    monkeypatch.setattr(Programs, "run", run)
    words = "{database} {seed}" + " {num_samples}" * batched
    mechanism = CommandMechanism(f"prog {words}", timeout=timeout, time_limit=60.0)
    said = ""
    try:
        result = dpjax.audit(mechanism, [(0, 1)], claim=1.0)
    except ValueError as error:
        said = str(error)
    assert clock.seconds <= 66
    known = (
        "time_limit must allow",
        "still running at the end of the time limit",
        "took longer than 0.05",
        "every call ended with",
    )
    assert not said or any(part in said for part in known)
    outcome = not batched and timeout == 0.05
    if outcome and min(times) > 0.05:
        assert "every call ended with 'error: timeout', for both databases" in said
    elif outcome or (max(times) < 1 and timeout != 0.05):
        assert not said and result.num_confirm >= 50
        # If runs are slow enough to be killed for only one database, time distinguishes both.
        apart = (times[0] > 0.05) != (times[1] > 0.05)
        assert (result.verdict == "violated") == (apart and outcome)
    elif max(times) == NEVER and timeout != 0.05:
        assert "still running at the end of the time limit" in said and "the database" in said


@pytest.mark.slow
def test_a_program_that_hangs_is_killed_with_its_children_at_the_limit(tmp_path):
    """The child writes for as long as it lives."""
    (tmp_path / "hang.sh").write_text(
        f"(while true; do date >> {tmp_path}/trace; sleep 0.05; done)"
    )
    mechanism = CommandMechanism(f"sh {tmp_path}/hang.sh {{database}}", workers=2, time_limit=0.5)
    start = time.monotonic()
    with pytest.raises(
        ValueError,
        match="run with the database '0', was still running at the end of the time limit",
    ):
        dpjax.audit(mechanism, [(0, 1)])
    assert time.monotonic() - start < 10
    size = (tmp_path / "trace").stat().st_size
    time.sleep(0.3)
    assert (tmp_path / "trace").stat().st_size == size > 0
