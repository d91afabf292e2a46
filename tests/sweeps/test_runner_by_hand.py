"""The order in which blocks are submitted, stored, stopped and canceled; nothing is computed."""

import json
import threading
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from dpjax.sweeps import _runner
from dpjax.sweeps._runner import _result, _run_here, _run_on, _share, _size, run_sweep


def block(number):
    entry = SimpleNamespace(id="an entry", num_runs=3, to_dict=lambda: {"a": 1})
    return SimpleNamespace(
        entry=entry, first=number, stop=number + 1, more=7, name=f"block {number}"
    )


BLOCKS = [block(number) for number in range(6)]
STORE = SimpleNamespace(
    spec=SimpleNamespace(entries=[BLOCKS[0].entry], block_runs=5, key=9),
    earlier_states=lambda block: f"states of {block.name}",
)


class Later:
    """Executor whose calls are completed by the test."""

    def __init__(self, answers=True):
        self.asked, self.futures, self.answers = [], [], answers

    def submit(self, call, *given):
        assert call is _runner.compute_block
        future = Future()
        self.asked.append(given)
        self.futures.append(future)
        if self.answers:
            future.set_result(f"content {given[1]}".encode())
        return future


@pytest.mark.parametrize("most", [1, 2, 256])
def test_blocks_are_submitted_a_few_at_a_time(monkeypatch, most):
    monkeypatch.setattr(_runner, "_SUBMITTED", most)
    executor, stored, waiting = Later(), [], []

    def done(block, content):
        waiting.append(len(executor.futures) - len(stored))
        stored.append((block.name, content))

    _run_on(executor, STORE, BLOCKS, "options", done, lambda: False)
    assert sorted(stored) == [(f"block {n}", f"content {n}".encode()) for n in range(6)]
    assert max(waiting) == min(most, 6)
    assert executor.asked == [
        (json.dumps({"a": 1}), n, n + 1, 3, 9, "options", 7, f"states of block {n}")
        for n in range(6)
    ]


def test_a_stop_cancels_what_has_not_begun_and_awaits_the_rest(monkeypatch):
    """The first block is done, the second is running, and the other four have not started."""
    monkeypatch.setattr(_runner, "_SUBMITTED", 4)
    executor, stored, asked = Later(answers=False), [], []

    def should_stop():
        if not asked:
            executor.futures[1].set_running_or_notify_cancel()
            timer = threading.Timer(0.1, executor.futures[1].set_result, [b"second"])
            timer.start()
        asked.append(1)
        return True

    real = executor.submit

    def submit(call, *given):
        future = real(call, *given)
        if given[1] == 0:
            future.set_result(b"first")
        return future

    executor.submit = submit
    _run_on(
        executor, STORE, BLOCKS, None, lambda b, content: stored.append((b.name, content)),
        should_stop,
    )  # fmt: skip
    assert stored == [("block 0", b"first"), ("block 1", b"second")]
    assert len(executor.asked) == 4
    assert [future.cancelled() for future in executor.futures] == [False, False, True, True]


def test_an_error_cancels_the_other_blocks():
    executor = Later(answers=False)
    executor.submit = lambda call, *given, submit=executor.submit: failed(submit(call, *given))

    def failed(future):
        if len(executor.futures) == 1:
            future.set_exception(KeyError("x"))
        return future

    message = r"the block block 0 failed on its worker \(KeyError: 'x'\); finished blocks"
    with pytest.raises(RuntimeError, match=message):
        _run_on(executor, STORE, BLOCKS, None, lambda *given: None, lambda: False)
    assert [future.cancelled() for future in executor.futures] == [False] + [True] * 5


@pytest.mark.parametrize("error", [ValueError("a"), TypeError("b")])
def test_refusals_are_raised_as_they_are(error):
    future = Future()
    future.set_exception(error)
    with pytest.raises(type(error)) as raised:
        _result(future, BLOCKS[0])
    assert raised.value is error


@pytest.mark.parametrize("ahead", [0, 1, 2])
@pytest.mark.parametrize("stops", [0, 3, 99])
def test_blocks_are_computed_ahead_of_those_that_are_stored(monkeypatch, ahead, stops):
    begun, stored, most = [], [], []

    def computed(block, size, key, **options):
        assert (size, key, block.more) == (3, 9, 7) and block.stop == block.first + 1
        assert options["states"] == f"states of {block.name}"
        begun.append(block.first)
        return b"%d" % block.first

    def done(block, content):
        most.append(len(begun) - len(stored))
        stored.append((block.first, content))

    calls = iter(range(99))
    monkeypatch.setattr(_runner, "block_bytes", computed)
    monkeypatch.setattr(_runner, "_AHEAD", {"gpu": ahead})
    execution = SimpleNamespace(devices=[SimpleNamespace(platform="gpu")])
    _run_here(STORE, BLOCKS, execution, done, lambda: next(calls) >= stops)
    assert stored == [(n, b"%d" % n) for n in range(min(stops, 6))]
    assert max(most, default=0) <= ahead + 1


def test_shares_and_sizes(monkeypatch):
    assert _share([*range(7)], (1, 3)) == [1, 4] and _share([*range(7)], (0, 3)) == [0, 3, 6]
    assert _share([*range(7)], None) == [*range(7)]
    monkeypatch.setattr(_runner.jax, "process_index", lambda: 2)
    monkeypatch.setattr(_runner.jax, "process_count", lambda: 4)
    assert _share([*range(7)], None) == [2, 6]
    for shard in ((3, 3), (-1, 3), (0, 0)):
        with pytest.raises(ValueError, match=r"shard must be \(i, k\) with 0 <= i < k, but was"):
            _share([1], shard)
    assert _size(BLOCKS[0], 5) == 3 and _size(BLOCKS[0], 2) == 2


def test_blocks_that_share_a_program_come_one_after_the_other(monkeypatch):
    """Entries alternate. The blocks of an entry keep their order, and stored blocks are omitted."""
    entries = [
        SimpleNamespace(to_dict=lambda name=name: {"mechanism": name, "method": "m", "options": {}})
        for name in ("b", "a")
    ]
    blocks = [
        SimpleNamespace(entry=entries[k % 2], first=k, stop=k + 3, name=f"block {k}")
        for k in range(6)
    ]
    contents = SimpleNamespace(broken=[], strange={}, copies=[], finished={"block 3"})
    told, cleared, order = [], [], []
    store = SimpleNamespace(
        spec=SimpleNamespace(blocks=lambda: blocks), contents=lambda: contents,
        clear=cleared.append,
    )  # fmt: skip
    monkeypatch.setattr(
        _runner, "_run_here", lambda store, todo, *rest: order.extend(b.first for b in todo)
    )
    state = run_sweep(store, shard=(0, 1), progress=told.append)
    assert order == [1, 5, 0, 2, 4] and cleared == [contents]
    assert told == [state] and (state.num_runs, state.total_runs, state.num_computed) == (3, 18, 0)


def test_what_a_store_has_that_is_broken_or_strange_is_told(monkeypatch):
    contents = SimpleNamespace(
        broken=[SimpleNamespace(name="one.parquet"), SimpleNamespace(name="two.parquet")],
        strange={"three.txt": "it is a text"}, finished=set(), copies=[],
    )  # fmt: skip
    store = SimpleNamespace(
        spec=SimpleNamespace(blocks=lambda: []), contents=lambda: contents, clear=lambda _: None
    )
    monkeypatch.setattr(_runner, "_run_here", lambda *given: None)
    said = []
    run_sweep(store, shard=(0, 1), report=said.append)
    assert said == [
        "2 stored blocks are truncated or corrupt (the first is one.parquet); they are computed "
        "again.",
        "three.txt is not used and is left in place: it is a text.",
    ]
