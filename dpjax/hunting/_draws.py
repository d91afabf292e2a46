"""Draw the outputs of a case in the environment of a release, or replay them from a record."""

import gzip
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from dpjax.core.types import JsonObject
from dpjax.core.wording import BadValue
from dpjax.hunting._case import Case
from dpjax.hunting._environment import Environment
from dpjax.partitions.missing import Raised

_SERVE = Path(__file__).with_name("_serve.py")

_ONE_CALL, _FIRST_CALL = 30.0, 120.0
"""Maximum times to wait for an output and for a process's first output, in seconds.

The first output of a process takes longer, because its call imports the library and may compile
functions.
"""

_LONGEST = 2**24

Draw = Callable[[object], object]
"""Function from a database to one output."""


class Draws(NamedTuple):
    """Functions that draw the outputs of a case, or read them from a record in the same order.

    Attributes:
        draw: Function that draws from the process of the audit.
        restarted: Function that returns a context, which starts a new process and whose value is a
            function that draws from the new process.
    """

    draw: Draw
    restarted: Callable[[], AbstractContextManager[Draw]]


class Server:
    """A function that draws a case's outputs from a process in the environment of a release."""

    def __init__(self, process: "subprocess.Popen[str]"):
        self._process = process
        self.__name__ = "draw"
        self.failure = ""
        self._longest = _FIRST_CALL

    def __call__(self, database: object) -> object:
        return _output(self.answer(_plain(database)))

    def answer(self, database: object) -> str:
        """Return the process's answer to a database; set `failure` and raise without answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        request, line = json.dumps(database), ""
        # If a call hangs, kill its process.
        timer = threading.Timer(self._longest, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            pass
        finally:
            timer.cancel()
        if not line:
            self.failure = self.failure or (
                "the process of the release ended, or gave no output within "
                f"{self._longest:g} s, at the database {request[:80]}"
            )
            # Raise KeyboardInterrupt, because any other exception would count as an output.
            raise KeyboardInterrupt(self.failure)
        self._longest = _ONE_CALL
        return line


@contextmanager
def serving(case: Case, environment: Environment) -> Iterator[Server]:
    """Start a server of a case, which runs until the end of the context.

    Raises:
        ValueError: If the process ends too early, or if an output takes too long.
    """
    command = [str(environment.python), "-I", str(_SERVE), str(case.path)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        server = Server(process)
        try:
            yield server
        except KeyboardInterrupt:
            if server.failure:
                raise BadValue(f"{server.failure}.") from None
            raise
        finally:
            process.kill()


@contextmanager
def recording(
    path: Path,
    head: JsonObject,
    server: Server,
    another: Callable[[], AbstractContextManager[Server]],
) -> Iterator[Draws]:
    """Record all draws that are made within a context, in a file that appears at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with gzip.open(part, "wt") as file:
        file.write(json.dumps(_plain(head)) + "\n")

        def by(process: Server) -> Draw:
            def draw(database: object) -> object:
                line = process.answer(_plain(database))
                file.write(line)
                return _output(line)

            return draw

        @contextmanager
        def restarted() -> Iterator[Draw]:
            with another() as process:
                yield by(process)

        yield Draws(by(server), restarted)
    part.replace(path)


@contextmanager
def recorded(path: Path) -> Iterator[tuple[JsonObject, Draws]]:
    """Open a record; the context's value is (head, functions that replay the draws).

    Raises:
        ValueError: If the record is damaged, or if it has fewer draws than the audit needs, for
            example because another version of dpjax wrote the record.
    """
    failures: list[str] = []
    with gzip.open(path, "rt") as file:

        def next_line() -> str:
            line = file.readline(_LONGEST)
            if not line.endswith("\n"):
                raise ValueError("it ends too early" if len(line) < _LONGEST else "a line is long")
            return line

        def draw(database: object) -> object:
            try:
                return _output(next_line())
            except Exception as error:
                # Any other exception would count as an output of the mechanism.
                failures.append(
                    f"the record {path.name} is damaged or belongs to another audit ({error}): "
                    "draw again."
                )
                raise KeyboardInterrupt(failures[0]) from None

        try:
            head = json.loads(next_line())
            labels = [len(head[name]) for name in ("database", "neighbor", "labels")]
            if not min(labels) == max(labels) > 0 or type(head["draws"]) is not int:
                raise ValueError("its head names no pairs")
        except Exception as error:
            raise BadValue(
                f"the record {path.name} is damaged ({error!r:.200}): draw again."
            ) from None
        try:
            yield head, Draws(draw, lambda: nullcontext(draw))
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
