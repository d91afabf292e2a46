"""How lines, exit statuses and errors of programs are interpreted, without running programs."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpjax import CommandMechanism
from dpjax.partitions.missing import Raised
from dpjax.sources import Trust, _command, _process
from dpjax.sources._command import _argument, _database_text, _filled, _saying
from dpjax.sources._deadline import Deadline, TookTooLong
from dpjax.sources._process import Ended
from dpjax.sources._schedule import Span, seed_of_batch

BATCHES = CommandMechanism("prog -d {database} -n {num_samples} -s {seed}", timeout=3.0)
SINGLE = CommandMechanism("prog {database}", batch_size=4, workers=2)


def answered(*ended):
    return lambda *asked: Ended(*ended)


def test_lines_of_a_batch():
    found = BATCHES._run_batch(answered(["1", "2", "3"], 0, ""), "db", 3, 7)
    assert found.tolist() == [1, 2, 3] and found.dtype == np.int64


WHAT = "the command 'prog', asked for 3 outputs from the database "


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ((["1"], None, "x"), "took longer than 3 s: set a larger timeout"),
        (([], 4, "oops"), "exited with 4; its last errors: oops"),
        ((["1", "2", "3"], -9, ""), "exited with -9; it wrote no errors."),
        ((["1", "2"], 0, ""), "printed 2 lines: it must print one output per line, and as many "
         "outputs as requested; it wrote no errors."),
        ((["1"] * 4, 0, "e"), "printed more than 3 lines: it must print one output per line"),
    ],
)  # fmt: skip
def test_batches_that_are_refused(ended, said):
    with pytest.raises(ValueError) as refused:
        BATCHES._run_batch(answered(*ended), "db", 3, 7)
    assert str(refused.value).startswith(WHAT) and said in str(refused.value)


@pytest.mark.parametrize(
    ("ended", "output"),
    [
        ((["a b"], 0, ""), "a b"), (([], 0, ""), ""), ((["x"], 3, ""), "error: exit status 3"),
        ((["x"], None, ""), "error: timeout"), ((["x"], -11, ""), "error: exit status -11"),
    ],
)  # fmt: skip
def test_outputs_of_single_runs(ended, output):
    found = SINGLE._run_one(answered(*ended), "db", 1, 7)
    assert str(found) == output or found.name == output
    assert isinstance(found, Raised) == (ended[1] != 0)
    strict = CommandMechanism("prog {database}", special="error")
    if ended[1] == 0:
        assert strict._run_one(answered(*ended), "db", 1, 7) == output
        return
    with pytest.raises(
        ValueError, match=f"the command 'prog', run with the .* with '{output}'; it"
    ):
        strict._run_one(answered(*ended), "db", 1, 7)


def test_a_single_run_prints_one_line():
    with pytest.raises(ValueError, match=r"has no \{num_samples\}, so it must print one line per"):
        SINGLE._run_one(answered(["1", "2"], 0, ""), "db", 1, 7)


@pytest.mark.parametrize("mechanism", [BATCHES, SINGLE])
def test_programs_that_print_tables_are_told_what_works(mechanism):
    run = mechanism._run_batch if mechanism is BATCHES else mechanism._run_one
    with pytest.raises(ValueError, match="print it as JSON on one line"):
        run(answered(["1"] * 4, 0, ""), "db", 3, 7)
    if mechanism is BATCHES:
        with pytest.raises(ValueError) as refused:
            run(answered(["1"] * 2, 0, ""), "db", 3, 7)
        assert "JSON" not in str(refused.value)


def drawn(mechanism, run, span, database=0.5):
    with ThreadPoolExecutor(2) as pool:
        return list(mechanism._batches(pool, run, database, span))


def test_batches_of_a_program_that_is_asked_for_many():
    asked, told = [], []

    def run(text, size, seed):
        asked.append((text, size, seed))
        return Ended([str(seed % 1000)] * size, 0, "")

    mechanism = CommandMechanism("p {database} {num_samples} {seed}", batch_size=4)
    found = drawn(mechanism, run, Span(range(10), (1, 2), told.append))
    seeds = [seed_of_batch((1, 2), number) for number in range(3)]
    assert sorted(asked) == sorted(zip(["0.5"] * 3, [4, 4, 2], seeds, strict=True))
    assert [batch.tolist() for batch in found] == [
        [seed % 1000] * size for seed, size in zip(seeds, [4, 4, 2], strict=True)
    ]
    assert told == [4, 4, 2]


@pytest.mark.parametrize(("cut", "sizes"), [(None, [4, 4, 2]), (3, [3, 3, 3, 1]), (20, [10])])
def test_batches_of_a_program_that_is_run_for_each_output(cut, sizes):
    told, asked = [], []

    def run(text, size, seed):
        asked.append((text, size, seed))
        return Ended([f"{len(asked)},2" if seed % 2 else "word"], seed % 3 == 0, "")

    found = drawn(SINGLE, run, Span(range(10), (1, 2), told.append, cut), [1, "a"])
    assert [len(batch) for batch in found] == sizes and told == [1] * 10
    assert {(text, size) for text, size, _ in asked} == {('[1,"a"]', 1)}
    assert len({seed for *_, seed in asked}) == 10 and max(s for *_, s in asked) < 2**63
    outputs = [output for batch in found for output in batch]
    kinds = {type(output) for output in outputs}
    assert kinds <= {tuple, str, Raised} and all(
        len(output) == 2 for output in outputs if isinstance(output, tuple)
    )


class Programs:
    """Programs that end as specified."""

    def __init__(self, ended):
        self.ended, self.asked = ended, []

    def run(self, words, num_lines, timeout):
        self.asked.append((words, num_lines, timeout))
        if isinstance(self.ended, Exception):
            raise self.ended
        return self.ended


def test_a_program_is_run_with_its_words():
    programs = Programs(Ended(["1"], 0, ""))
    BATCHES._run(programs, None, "a {seed} b", 5, 9)
    words = ["prog", "-d", "a {seed} b", "-n", "5", "-s", "9"]
    assert programs.asked == [(words, 5, None)]
    limited = SimpleNamespace(left=lambda: 2.5)
    assert BATCHES._run(programs, limited, "x", 1, 1).code == 0
    assert programs.asked[1][2] == 2.5


def test_a_program_at_its_end():
    """A run that used its whole timeout is a timeout; a run with less time met the time limit."""
    late = Programs(Ended([], None, ""))
    whole = SimpleNamespace(left=lambda: 3.0)
    assert BATCHES._run(late, whole, "x", 1, 1).code is None
    said = "run with the database .*x.*, was still running at the end of the time limit"
    with pytest.raises(ValueError, match=said):
        BATCHES._run(late, SimpleNamespace(left=lambda: 2.9), "x", 1, 1)

    def over():
        raise TookTooLong

    with pytest.raises(ValueError, match=said):
        BATCHES._run(late, SimpleNamespace(left=over), "x", 1, 1)
    missing = Programs(FileNotFoundError(2, "No such file"))
    with pytest.raises(ValueError, match=r"the command 'prog' cannot be run: No such file\."):
        BATCHES._run(missing, None, "x", 1, 1)


def test_databases_of_programs():
    for database, text in (
        ("a b", "a b"), (3, "3"), ([1, 2.5], "[1,2.5]"), (np.arange(3), "[0,1,2]"),
        (np.float64(0.5), "0.5"), ({"a": None}, '{"a":null}'), (True, "true"),
    ):  # fmt: skip
        assert _database_text(database) == text
    table = pd.DataFrame({"name": ["ann", "bob"], "pay": [1, 2.5], 3: [True, False]})
    assert _database_text(table) == '{"name":["ann","bob"],"pay":[1.0,2.5],"3":[true,false]}'
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    day = pd.DataFrame({"day": pd.to_datetime(["2026-01-01"])})
    for database in (object(), {1, 2}, b"x", twice, day):
        with pytest.raises(TypeError, match="pairs must hold strings, JSON values, or tables"):
            _database_text(database)
    for text in ("a\0b", "\ud800"):
        with pytest.raises(ValueError, match="without NUL characters or unpaired surrogates"):
            _argument(text)
    endless = []
    endless.append(endless)
    with pytest.raises(TypeError, match="JSON values"):
        _database_text(endless)
    assert _argument("é") == "é"


def test_places_are_filled_once():
    places = {"database": "{seed}", "num_samples": "5", "seed": "9"}
    assert _filled("{database}:{num_samples}:{seed}:{other}", places) == "{seed}:5:9:{other}"
    assert _saying("") == "; it wrote no errors." and _saying("x") == "; its last errors: x"


def test_options_of_programs():
    assert BATCHES.batched and BATCHES.replayable and BATCHES.name == BATCHES.command
    assert not SINGLE.batched and not SINGLE.replayable and SINGLE.one_by_one
    assert (SINGLE.timeout, BATCHES.batch_size, BATCHES.workers) == (600.0, 50_000, 1)
    assert BATCHES.to_plain() == {"command": BATCHES.command, "timeout": 3.0}
    assert SINGLE.to_plain() == {"command": "prog {database}", "batch_size": 4}
    back = CommandMechanism.from_plain(BATCHES.to_plain(), None, Trust((), True))
    assert back == BATCHES
    with pytest.raises(ValueError, match="would run the program"):
        CommandMechanism.from_plain(BATCHES.to_plain(), None, Trust(()))
    with pytest.raises(TypeError, match="command must be a string, but was 3"):
        CommandMechanism.from_plain({"command": 3}, None, Trust((), True))
    for command, said in (
        ("", "must name a program"), ("prog", "must contain {database}"), ("'a", "cannot be split"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            CommandMechanism(command)
    for options in ({"workers": 0}, {"batch_size": 0}, {"timeout": 0.0}, {"time_limit": -1.0},
                    {"special": "none"}, {"bits": 9}):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=next(iter(options))):
            CommandMechanism("prog {database}", **options)
    assert SINGLE.encoder().source == "the command 'prog'"


def test_what_is_drawn_is_stopped(monkeypatch):
    stopped = []
    monkeypatch.setattr(
        _command, "Programs", lambda: SimpleNamespace(stop=lambda: stopped.append(True))
    )
    with SINGLE.drawing() as draw:
        assert callable(draw) and not stopped
    assert stopped == [True]
    with pytest.raises(KeyboardInterrupt), SINGLE.drawing():
        raise KeyboardInterrupt
    assert stopped == [True, True]


def clock(monkeypatch, now):
    monkeypatch.setattr("dpjax.sources._deadline.time", SimpleNamespace(monotonic=lambda: now[0]))


def test_how_long_a_call_may_take(monkeypatch):
    """Ten seconds of a limit end at 10.5; late calls have half a second in total."""
    now = [100.0]
    clock(monkeypatch, now)
    deadline = Deadline.of_programs(4.0, 10.0)
    assert (deadline.timeout, deadline.end, deadline.least) == (4.0, 110.5, 0.5)
    expected = [(100.0, 4.0), (106.5, 4.0), (107.5, 3.0), (109.75, 0.75), (110.0, 0.5),
                (110.25, 0.5), (110.5, 0.5), (110.75, 0.25)]  # fmt: skip
    for now[0], left in expected:
        assert deadline.left() == pytest.approx(left)
        assert deadline.passed == (now[0] >= 110.5)
    now[0] = 111.0
    with pytest.raises(TookTooLong):
        deadline.left()
    now[0] = 0.0
    long = Deadline.of_programs(None, 100.0)
    assert (long.end, long.least, long.left()) == (105.0, 5.0, 105.0)
    assert Deadline.of_programs(None, None) is None
    alone = Deadline.of_programs(4.0, None)
    assert (alone.end, alone.left(), alone.passed) == (None, 4.0, False)
    assert Deadline(None, 3.0).least == 0.5


@pytest.mark.parametrize(("platform", "asked"), [("linux", [(1, signal.SIGKILL)]), ("darwin", [])])
def test_workers_end_with_their_parent(monkeypatch, platform, asked):
    """Linux kills the worker itself; on other systems, a thread waits for the end of the parent."""
    told, ended, ignored = [], [], []
    library = SimpleNamespace(prctl=lambda *given: told.append(given))
    parent = SimpleNamespace(join=lambda: ended.append("joined"))
    monkeypatch.setattr(_process.sys, "platform", platform)
    monkeypatch.setattr(_process.ctypes, "CDLL", lambda name: library)
    monkeypatch.setattr(_process.multiprocessing, "parent_process", lambda: parent)
    monkeypatch.setattr(_process.os, "_exit", lambda code: ended.append(code))
    monkeypatch.setattr(_process.signal, "signal", lambda *given: ignored.append(given))
    before = {*threading.enumerate()}
    _process.end_with_parent()
    for thread in {*threading.enumerate()} - before:
        thread.join(5)
    assert told == asked and ended == ["joined", 1]
    assert ignored == [(signal.SIGINT, signal.SIG_IGN)]
