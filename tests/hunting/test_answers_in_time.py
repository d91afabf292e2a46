"""A process that draws outputs for a hunt is killed if it does not answer in time."""

import io
import threading
from types import SimpleNamespace

import pytest

from dpjax.hunting import _draws
from dpjax.hunting._draws import Server


class Timers:
    """Timers that a test lets expire, with their requested durations."""

    def __init__(self, monkeypatch):
        self.asked, self.ended = [], []
        monkeypatch.setattr(_draws, "threading", SimpleNamespace(Timer=self.timer))

    def timer(self, seconds, then):
        self.asked.append((seconds, then))
        return SimpleNamespace(start=lambda: None, cancel=lambda: self.ended.append(seconds))


def process(answers, code=0):
    """Return a process that prints some answers and then ends with an exit status."""
    return SimpleNamespace(
        stdin=io.StringIO(), stdout=io.StringIO(answers), kill=lambda: None,
        wait=lambda: code, communicate=lambda: None,
    )  # fmt: skip


def test_the_first_answer_may_take_two_minutes_and_others_half_of_one(monkeypatch):
    timers, own = Timers(monkeypatch), process("1.5\n2.5\n3.5\n")
    server = Server(lambda: own)
    answers = [line for database in ([0, 1], "x", 3) for line in server.answers(database, 1)]
    assert answers == ["1.5\n", "2.5\n", "3.5\n"]
    assert own.stdin.getvalue() == '[0, 1]\n"x"\n3\n' and server.failure == ""
    assert [seconds for seconds, _ in timers.asked] == [120.0, 30.0, 30.0]
    assert timers.ended == [120.0, 30.0, 30.0]


@pytest.mark.parametrize(
    ("code", "how"), [(0, "with exit code 0"), (3, "with exit code 3"), (-9, "because of signal 9")]
)
def test_a_process_that_ends_is_no_process_that_hangs(monkeypatch, code, how):
    timers = Timers(monkeypatch)
    server = Server(lambda: process("", code))
    said = f"the release's process ended {how} instead of returning an output for the database"
    with pytest.raises(KeyboardInterrupt, match=rf"{said} \[0, 1\]$"):
        server.answers([0, 1], 1)
    assert timers.ended == [120.0] and server.failure == f"{said} [0, 1]"
    # The first failure is kept, and long databases are abbreviated.
    with pytest.raises(KeyboardInterrupt, match=r"\[0, 1\]$"):
        server.answers([2], 1)
    other = Server(lambda: process("", code))
    with pytest.raises(KeyboardInterrupt, match=f'the database "{"x" * 79}$'):
        other.answers("x" * 100, 1)


def test_a_process_that_has_ended_gives_no_answer(monkeypatch):
    class Broken(io.StringIO):
        def flush(self):
            raise BrokenPipeError

    timers, own = Timers(monkeypatch), process("", 1)
    own.stdin = Broken()
    with pytest.raises(KeyboardInterrupt, match="the release's process ended with exit code 1"):
        Server(lambda: own).answers(0, 1)
    assert timers.ended == [120.0]


def test_a_hung_process_is_killed(monkeypatch):
    monkeypatch.setattr(_draws, "_FIRST_CALL", 0.01)
    killed = threading.Event()
    own = process("", -9)
    own.kill = killed.set
    own.stdout = SimpleNamespace(readline=lambda: "" if killed.wait(30) else "late\n")
    with pytest.raises(KeyboardInterrupt, match=r"no output within 0\.01 s for the database 0$"):
        Server(lambda: own).answers(0, 1)


def test_an_interrupted_call_leaves_no_answer_for_the_next(monkeypatch):
    """An alarm interrupts a call; the process is killed, and a new one handles the next request."""
    Timers(monkeypatch)
    killed, started = [], []

    class Late(io.StringIO):
        def readline(self):
            raise Alarm

    class Alarm(BaseException):
        pass

    def start():
        number = len(started)
        own = process("1\n2\n") if number else process("")
        own.stdout = own.stdout if number else Late()
        own.kill = lambda: killed.append(number)
        started.append(own)
        return own

    server = Server(start)
    with pytest.raises(Alarm):
        server.answers("slow", 1)
    assert killed == [0] and server.failure == ""
    assert server("next") == 1 and server("last") == 2
    assert started[1].stdin.getvalue() == '"next"\n"last"\n' and len(started) == 2
    server.close()
    server.close()
    assert killed == [0, 1]


def test_several_outputs_are_asked_for_at_once(monkeypatch):
    timers, own = Timers(monkeypatch), process("1\n2\n3\n")
    server = Server(lambda: own)
    assert server.several([0], 3) == [1, 2, 3] and own.stdin.getvalue() == "[0]\n" * 3
    assert [seconds for seconds, _ in timers.asked] == [120.0]
    # Requests of more than 2^14 characters are sent one by one, so that no pipe is full.
    large = process("1\n2\n3\n")
    assert Server(lambda: large).several("x" * 9_000, 2) == [1, 2]
    assert [seconds for seconds, _ in timers.asked] == [120.0, 120.0, 30.0]
    short = Server(lambda: process("1\n"))
    with pytest.raises(KeyboardInterrupt, match="ended with exit code 0"):
        short.several([0], 2)
