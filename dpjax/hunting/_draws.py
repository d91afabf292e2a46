"""Draws of a case in its environment, and the same draws again from a record of them."""

import gzip
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpjax.core.wording import BadValue
from dpjax.hunting._case import Case
from dpjax.hunting._environment import Environment
from dpjax.partitions.missing import Raised

_SERVE = Path(__file__).with_name("_serve.py")


class Draws:
    """A function (database, num_samples) -> outputs, asked of a process.

    Args:
        process: That answers.
        record: Where requests and answers are written.
        seconds: For which one answer is waited.
    """

    def __init__(self, process: subprocess.Popen[str], record: Any, seconds: float):
        self._process, self._record, self._seconds = process, record, seconds
        self.__name__ = "draw"

    def __call__(self, database: Any, num_samples: int) -> list[Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        request = json.dumps([_plain(database), num_samples])
        # A call that hangs ends with its process.
        timer = threading.Timer(self._seconds, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            timer.cancel()
        if not answer:
            raise BadValue(
                f"the process of the release ended, or gave no {num_samples} outputs within "
                f"{self._seconds:g} s, at the database {request[:80]}."
            )
        self._record.write(f"{request}\n{answer}")
        return _outputs(answer)


class Recorded:
    """The same function, from a record."""

    def __init__(self, lines: Iterator[str]):
        self._lines = lines
        self.__name__ = "draw"

    def __call__(self, database: Any, num_samples: int) -> list[Any]:
        request = json.dumps([_plain(database), num_samples])
        asked, answer = next(self._lines, ""), next(self._lines, "")
        if asked.rstrip("\n") != request:
            raise BadValue(
                "the record of draws is of another case, or of another version of dpjax: it has "
                f"{asked[:80]!r} where {request[:80]!r} is asked for."
            )
        return _outputs(answer)


@contextmanager
def drawn(case: Case, environment: Environment, record: Path, seconds: float) -> Iterator[Draws]:
    """Draws of a case, which are recorded whole or not at all.

    Args:
        case: Whose function draws.
        environment: In which.
        record: File of the draws.
        seconds: For which one answer is waited.
    """
    command = [str(environment.python), "-I", str(_SERVE), str(case.path)]
    part = record.with_suffix(".part")
    record.parent.mkdir(parents=True, exist_ok=True)
    with (
        gzip.open(part, "wt") as file,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
    ):
        try:
            yield Draws(process, file, seconds)
        finally:
            process.kill()
    part.replace(record)


@contextmanager
def recorded(record: Path) -> Iterator[Recorded]:
    """Draws of a record."""
    with gzip.open(record, "rt") as file:
        yield Recorded(iter(file))


def _plain(database: Any) -> Any:
    if hasattr(database, "tolist"):
        database = database.tolist()
    return [_plain(each) for each in database] if isinstance(database, list | tuple) else database


def _outputs(answer: str) -> list[Any]:
    return [Raised(f"error: {x['error']}") if _is_error(x) else x for x in json.loads(answer)]


def _is_error(output: Any) -> bool:
    return isinstance(output, dict) and [*output] == ["error"]
