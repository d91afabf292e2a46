"""Draw outputs of a case in the environment of a release, or replay recorded outputs."""

import gzip
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from dpjax.core.types import JsonObject
from dpjax.core.wording import BadValue
from dpjax.hunting._case import Case
from dpjax.hunting._environment import Environment
from dpjax.partitions.missing import Raised

_SERVE = Path(__file__).with_name("_serve.py")

_ONE_CALL, _FIRST_CALL = 30.0, 120.0
"""Maximum waiting times, in seconds, for an output and for the first output of a process.

The first output takes longer, because the library must be imported and may compile functions.
"""

_TOGETHER = 2**14
"""Maximum number of characters of the requests that are sent together; pipes hold more."""

_LONGEST = 2**24

Draw = Callable[[object], object]
"""Function that maps a database to one output."""


class Draws(NamedTuple):
    """Functions that draw outputs of a case, or read recorded outputs in the same order.

    Attributes:
        several: Function (database, number of outputs) -> outputs, which draws the outputs in the
            process that was started for the audit.
        restarted: Function that returns a context manager. The context starts a new process, and
            the context's value is a function that draws an output in the new process.
    """

    several: Callable[[object, int], list[object]]
    restarted: Callable[[], AbstractContextManager[Draw]]

    def draw(self, database: object) -> object:
        """Draw an output in the process that was started for the audit."""
        (output,) = self.several(database, 1)
        return output


class Server:
    """A function that draws a case's outputs in a process that runs in a release's environment.

    Args:
        start: Function that starts a process. If a call is interrupted, for instance at a deadline,
            the process is killed, and the next call starts another process. Otherwise, the next
            call would read the answer to the interrupted call.
    """

    def __init__(self, start: "Callable[[], subprocess.Popen[str]]"):
        self._start, self._process = start, None
        self.__name__ = "draw"
        self.failure = ""
        self._longest = _FIRST_CALL

    def __call__(self, database: object) -> object:
        (output,) = self.several(database, 1)
        return output

    def several(self, database: object, count: int) -> list[object]:
        """Return several outputs for one database."""
        return [_output(line) for line in self.answers(database, count)]

    def close(self) -> None:
        """Kill the process, if one is running."""
        # Forget the process first, because an alarm may interrupt this method, too.
        process, self._process, self._longest = self._process, None, _FIRST_CALL
        if process is not None:
            process.kill()
            process.communicate()

    def answers(self, database: object, count: int) -> list[str]:
        """Return the lines that answer several requests for one database.

        Raises:
            KeyboardInterrupt: If the process ends, takes too long, or returns an output that cannot
                be audited; `failure` says so.
        """
        request, lines = json.dumps(_plain(database)), []
        # The process must not wait for its answers to be read while requests are still written.
        size = max(_TOGETHER // len(request), 1)
        for first in range(0, count, size):
            lines += self._asked(request, min(size, count - first))
        return lines

    def _asked(self, request: str, count: int) -> list[str]:
        process = self._process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        lines: list[str] = []
        late: list[bool] = []

        def end() -> None:
            late.append(True)
            process.kill()

        # If a call hangs, kill its process.
        timer = threading.Timer(self._longest, end)
        timer.start()
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(f"{request}\n" * count)
                process.stdin.flush()
                while len(lines) < count and (line := process.stdout.readline()):
                    if line.startswith("!"):
                        self._fail(line[1:].strip())
                    lines.append(line)
            if len(lines) < count:
                # If the process has not ended yet, the timer ends it.
                code = process.wait()
                how = f"with exit code {code}" if code >= 0 else f"because of signal {-code}"
                why = f"ended {how} instead of returning an output"
                if late:
                    why = f"returned no output within {self._longest:g} s"
                self._fail(f"the release's process {why} for the database {request[:80]}")
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()
        self._longest = _ONE_CALL
        return lines

    def _fail(self, reason: str) -> NoReturn:
        """End the audit; the first reason counts.

        Raises:
            KeyboardInterrupt: Always, because any other exception would be treated as an output.
        """
        self.failure = self.failure or reason
        raise KeyboardInterrupt(self.failure)


@contextmanager
def serving(case: Case, environment: Environment) -> Iterator[Server]:
    """Within the context, run a server that draws outputs of a case.

    Raises:
        ValueError: If the process ends before the context does, or if an output takes too long or
            cannot be audited.
    """
    command = [str(environment.python), "-I", str(_SERVE), str(case.path)]
    server = Server(
        lambda: subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    )
    try:
        yield server
    except KeyboardInterrupt:
        if server.failure:
            raise BadValue(f"{server.failure}.") from None
        raise
    finally:
        server.close()


@contextmanager
def recording(
    path: Path,
    head: JsonObject,
    server: Server,
    another: Callable[[], AbstractContextManager[Server]],
) -> Iterator[Draws]:
    """Write all draws made within the context to a file, which is created when the context ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with gzip.open(part, "wt") as file:
        file.write(json.dumps(_plain(head)) + "\n")

        def several(process: Server, database: object, count: int) -> list[object]:
            lines = process.answers(database, count)
            file.writelines(lines)
            return [_output(line) for line in lines]

        @contextmanager
        def restarted() -> Iterator[Draw]:
            with another() as process:
                yield lambda database: several(process, database, 1)[0]

        yield Draws(partial(several, server), restarted)
    part.replace(path)


@contextmanager
def recorded(path: Path) -> Iterator[tuple[JsonObject, Draws]]:
    """Open a record. The context's value is a tuple of the record's head and a replay of its draws.

    Raises:
        ValueError: If the record is damaged, or if it has fewer draws than the audit needs, for
            example because another version of dpjax wrote the record.
    """
    failures: list[str] = []
    with gzip.open(path, "rt") as file:

        def next_line() -> str:
            line = file.readline(_LONGEST)
            if not line.endswith("\n"):
                raise ValueError(
                    "it ends too early" if len(line) < _LONGEST else "a line is too long"
                )
            return line

        def draw(database: object) -> object:
            try:
                return _output(next_line())
            except Exception as error:
                # Any exception other than KeyboardInterrupt would be treated as an output of the
                # mechanism.
                failures.append(
                    f"the record {path.name} is damaged or belongs to another audit ({error}): "
                    "draw again."
                )
                raise KeyboardInterrupt(failures[0]) from None

        try:
            head = json.loads(next_line())
            labels = [len(head[name]) for name in ("database", "neighbor", "labels")]
            if not min(labels) == max(labels) > 0 or type(head["draws"]) is not int:
                raise ValueError("its head lists no pairs")
        except Exception as error:
            raise BadValue(
                f"the record {path.name} is damaged ({error!r:.200}): draw again."
            ) from None
        try:
            yield (
                head,
                Draws(
                    lambda database, count: [draw(database) for _ in range(count)],
                    lambda: nullcontext(draw),
                ),
            )
        except KeyboardInterrupt:
            if failures:
                raise BadValue(failures[0]) from None
            raise


def _plain(value: Any) -> object:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _output(line: str) -> object:
    found = json.loads(line)
    if isinstance(found, dict) and [*found] == ["error"]:
        return Raised(f"error: {found['error']}")
    return found
