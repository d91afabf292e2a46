"""How a command ends: signals, errors, exit codes, and the processes that are notified."""

import io
import os
import signal
import sys
import threading
from types import SimpleNamespace

import pytest

import dpjax.cli as cli
from dpjax.cli import _stop
from dpjax.cli._stop import STOPPED, Left, Stop, ending_well

MAIN = threading.current_thread() is threading.main_thread()


class Gone(BaseException):
    """Exception that represents the end of the process."""


def ended(run):
    """Return the exit code of a command."""
    codes: list = ["an earlier code"]
    try:
        ending_well(run, codes)()
    finally:
        assert codes[0] == "an earlier code" and len(codes) == 2
    return codes[1]


def raising(error):
    def run():
        raise error

    return run


def sending(number, code):
    """Return a command that gets a signal while it runs, and still ends with a code."""

    def run():
        try:
            signal.raise_signal(number)
        except KeyboardInterrupt:
            return code

    return run


def test_codes_of_commands():
    assert ended(lambda: None) == 0 and ended(lambda: 1) == 1 and ended(lambda: 2) == 2
    codes, meanwhile = [], []
    ending_well(lambda: meanwhile.extend(codes), codes)()
    assert meanwhile == [2] and codes == [0]


@pytest.mark.skipif(not MAIN, reason="signals arrive in the main thread")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("code", [0, 1, 2, STOPPED])
def test_a_signal_replaces_the_code_of_a_command_without_an_answer(number, code):
    before = signal.getsignal(number)
    assert ended(sending(number, code)) == (code if code in (1, 2) else 128 + number)
    assert signal.getsignal(number) == before


@pytest.mark.parametrize(("text", "said"), [("", "Stopped before there was a result."), ("x", "x")])
def test_an_interrupt_leaves_at_once(capsys, text, said):
    with pytest.raises(Left) as left:
        ended(raising(KeyboardInterrupt(text)))
    assert left.value.exit_code == 130 == STOPPED and left.value.args == (130,)
    assert capsys.readouterr().err == f"{said}\n"


@pytest.mark.skipif(not MAIN, reason="signals arrive in the main thread")
def test_a_signal_leaves_with_its_own_code(capsys):
    with pytest.raises(Left) as left:
        ended(lambda: signal.raise_signal(signal.SIGTERM))
    assert left.value.exit_code == 143


@pytest.mark.skipif(not MAIN, reason="signals arrive in the main thread")
def test_a_signal_while_jax_is_imported_ends_the_process(monkeypatch):
    """An exception during this import could crash Python."""
    told = []

    def leave(code):
        told.append(code)
        raise Gone

    monkeypatch.setattr(os, "write", lambda *given: told.append(given))
    monkeypatch.setattr(os, "_exit", leave)
    spec = SimpleNamespace(_initializing=True)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(__spec__=spec))
    assert _stop._imports_jax()
    with pytest.raises(ValueError, match="audited code raised Gone"):
        ended(lambda: signal.raise_signal(signal.SIGTERM))
    assert told == [(2, b"Stopped before there was a result.\n"), 143]
    spec._initializing = False
    assert not _stop._imports_jax()
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(__spec__=None))
    assert not _stop._imports_jax()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            SystemExit(3),
            r"^audited code called sys\.exit\(3\): .* must return an output",
        ),
        (SystemExit(), r"sys\.exit\(None\)"),
        (EOFError(), r"^audited code tried to read standard input, which is empty\.$"),
        (BrokenPipeError(), r"^audited code raised BrokenPipeError\.$"),
        (GeneratorExit(), r"^audited code raised GeneratorExit\.$"),
        (Gone(), r"^audited code raised Gone\.$"),
    ],
)
def test_errors_of_audited_code_are_bad_input(error, message):
    with pytest.raises(ValueError, match=message) as raised:
        ended(raising(error))
    assert raised.value.__cause__ is error


def test_other_errors_are_raised_unchanged():
    error = KeyError("x")
    with pytest.raises(KeyError) as raised:
        ended(raising(error))
    assert raised.value is error


def test_what_a_stop_knows():
    stop = Stop()
    assert not stop.asked() and stop.exit_code == 130
    stop.signal = signal.SIGTERM
    assert stop.asked() and stop.exit_code == 143


@pytest.fixture
def parts(monkeypatch):
    """Replace the parts of the command line by functions that record their calls.

    `code` is the exit code of the command.
    """
    found = SimpleNamespace(told=[], foreign=True, error=None, code=1)

    def ends(name):
        def end(code):
            found.told.append((name, code))
            raise Gone

        return end

    def run():
        found.told.append("run")
        if found.error is not None:
            raise found.error
        return found.code

    def supervise():
        found.told.append("supervise")
        return lambda code: found.told.append(("report", code))

    monkeypatch.setattr(cli, "is_foreign", lambda words: found.foreign)
    monkeypatch.setattr(cli, "supervise", supervise)
    monkeypatch.setattr(cli, "leave", ends("leave"))
    monkeypatch.setattr(cli, "finish", ends("finish"))
    monkeypatch.setattr("dpjax.cli._app.run", run)
    return found


def test_a_supervised_command_reports_its_code_and_ends_its_process(parts):
    with pytest.raises(Gone):
        cli.main()
    assert parts.told == ["supervise", "run", ("report", 1), ("finish", 1)]


def test_a_command_that_was_interrupted_leaves_at_once(parts):
    parts.error = Left(143)
    with pytest.raises(Gone):
        cli.main()
    assert parts.told == ["supervise", "run", ("report", 143), ("leave", 143)]
    parts.told.clear()
    parts.foreign = False
    with pytest.raises(Gone):
        cli.main()
    assert parts.told == ["run", ("leave", 143)]


def test_other_commands_need_no_supervisor(parts):
    parts.foreign = False
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 1 and parts.told == ["run"]
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ModuleNotFoundError(name="click"), 2, "error: the command line needs click: pip install"),
        (RuntimeError("a fault of dpjax"), 3, "RuntimeError: a fault of dpjax"),
        (Gone("a fault"), 3, "Gone: a fault"),
    ],
)
def test_errors_of_the_command_line_have_codes(parts, capsys, error, code, said):
    parts.foreign, parts.error = False, error
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == code and said in capsys.readouterr().err


@pytest.mark.skipif(not MAIN, reason="signals arrive in the main thread")
def test_an_interrupt_before_and_after_a_command_ends_the_process(parts, monkeypatch):
    """A handler of the caller is kept."""
    handlers = []
    parts.foreign = False
    monkeypatch.setattr(
        "dpjax.cli._app.run", lambda: handlers.append(signal.getsignal(signal.SIGINT)) or 0
    )
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit):
            cli.main()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        signal.signal(signal.SIGINT, own := lambda number, frame: None)
        with pytest.raises(SystemExit):
            cli.main()
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
    assert handlers == [cli._leave, own]


@pytest.mark.parametrize("stderr", [None, "open"])
def test_an_early_interrupt_says_that_nothing_was_done(monkeypatch, stderr):
    told = []
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(os, "write", lambda *given: told.append(given))
    monkeypatch.setattr(os, "_exit", told.append)
    cli._leave(signal.SIGTERM, None)
    said = [(2, b"Stopped before anything was done.\n")]
    assert told == (said if stderr else []) + [143]


def test_a_process_that_leaves_prints_what_was_written(monkeypatch):
    told = []

    class Stream:
        def __init__(self, name, error=None):
            self.name, self.error = name, error

        def flush(self):
            told.append(self.name)
            if self.error:
                raise self.error

    for error in (OSError(), ValueError()):
        told.clear()
        monkeypatch.setattr(sys, "stdout", Stream("out", error))
        monkeypatch.setattr(sys, "stderr", Stream("err"))
        monkeypatch.setattr(os, "_exit", told.append)
        _stop.leave(7)
        assert told == ["out", "err", 7]


def test_streams_that_are_missing_are_replaced_for_a_while(monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    with _stop.lasting_streams():
        print("nowhere")
        print("nowhere", file=sys.stderr)
        assert sys.stdin.read() == ""
    assert (sys.stdin, sys.stdout, sys.stderr) == (None, None, None)


def test_output_of_a_closed_pipe_is_forgotten(monkeypatch):
    """The reader closes the pipe before the first line, or before the last flush."""
    for early in (True, False):
        hear, tell = os.pipe()
        stream = io.TextIOWrapper(os.fdopen(tell, "wb"), write_through=early)
        monkeypatch.setattr(sys, "stdout", stream)
        with _stop.lasting_streams():
            os.close(hear)
            print("to nobody")
            if early:
                print("more")
            else:
                _stop.forget_output()
        stream.close()
    _stop.forget_output()  # Other streams are not changed.
