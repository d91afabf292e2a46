"""Programs that serve as mechanisms and print one output per line."""

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from dpjax.core import validate
from dpjax.core.options import option
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType, BadValue
from dpjax.partitions.low_bits import check_bits
from dpjax.partitions.missing import Raised
from dpjax.partitions.outputs import Encoder
from dpjax.partitions.previews import preview_database
from dpjax.sources._deadline import Deadline, TookTooLong
from dpjax.sources._on_host import OnHost
from dpjax.sources._plain import known_options, stated_options
from dpjax.sources._process import Ended, Programs
from dpjax.sources._schedule import Draw, Raw, Span, in_order, seeds_of_calls
from dpjax.sources._source import Trust
from dpjax.sources.readers._entries import as_outputs

Run = Callable[[str, int, int], Ended]
"""Function (database, number of outputs, seed) that runs a program once."""


_IN_JSON = (
    "; if an output is a table, print it as JSON on one line, such as "
    '{"age": [30, 41], "sex": ["f", "m"]} in place of csv; if it is a text of several lines, print '
    "it as a JSON string; and print no line with the names of columns"
)
"""Advice on programs that print too many lines."""


@dataclass(frozen=True)
class CommandMechanism(OnHost):
    """A program that serves as a mechanism and prints one output per line.

    Each line is a number, a vector of numbers separated by commas, or a label. Two labels are equal
    if all their bytes are equal. An empty line counts as an outcome of its own. The program runs
    without a shell.

    Attributes:
        command: Command line. In each run, {database} is replaced by the database, and
            {num_samples} by the number of outputs to print. A database that is a string is inserted
            unchanged, and every other database is inserted as JSON. If the command does not contain
            {num_samples}, the program runs once per output. For a program that runs once per
            output, each nonzero exit code is a separate outcome, and so are a timeout and an empty
            output. A note quotes the last lines that the first failed run wrote to standard error.
            If the command contains {seed}, the program receives an integer seed below 2^63, and the
            audit can be replayed. A program that receives no seed must draw fresh randomness in
            every run.
        workers: Number of simultaneous runs.
        batch_size: Number of outputs per run. If the program runs once per output, `batch_size` is
            the number of runs whose outputs are counted together.
        timeout: Maximum duration of one run, in seconds, including child processes; or None for no
            limit. A run that takes longer than `timeout` is killed. If a run is still in progress
            when the audit's time limit expires, the run is killed and the audit ends with an error.
        special: As in `HostMechanism`.
        bits: As in `HostMechanism`.
        time_limit: As in `HostMechanism`.

    Raises:
        ValueError: If the command is empty or lacks {database}, or if an option is out of
            range.
    """

    command: str
    workers: int = option("", default=1)
    batch_size: int = 50_000
    timeout: float | None = option("", default=600.0)
    special: str = option("", default="outcomes")
    bits: int | str | None = option("", default=None)
    time_limit: float | None = option("", default=None)
    kind: ClassVar[str] = "command"
    asked: ClassVar[tuple[str, str]] = (
        "Any program that prints outputs, one per line, as in 'prog {database} {num_samples}'; a "
        "command without {num_samples} is run once per output.",
        "",
    )

    def __post_init__(self):
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise ValueError(f"command {self.command!r} cannot be split: {error}.") from None
        if not words:
            raise BadValue("command must name a program, but was empty.")
        if not any("{database}" in word for word in words):
            raise BadValue(
                f"command must contain {{database}}, but was {self.command!r}: a program that does "
                "not receive the database reveals nothing about the database."
            )
        validate.positive_int(workers=self.workers, batch_size=self.batch_size)
        validate.one_of(("outcomes", "error"), special=self.special)
        check_bits(self.bits)
        validate.positive(timeout=self.timeout, time_limit=self.time_limit)

    @property
    def name(self) -> str:
        """Command line."""
        return self.command

    @property
    def replayable(self) -> bool:
        """Whether the command contains {seed}, so that dpjax provides the seeds."""
        return "{seed}" in self.command

    @property
    def batched(self) -> bool:
        """Whether one run prints many outputs."""
        return "{num_samples}" in self.command

    @property
    def files(self) -> list[Path]:
        """Existing files that the command line names, such as the program or its script."""
        return [path for path in map(Path, shlex.split(self.command)) if path.is_file()]

    def to_plain(self) -> JsonObject | None:
        """Return the command and its options; see `Source`."""
        return {"command": self.command, **stated_options(self)}

    @classmethod
    def from_plain(cls, content: JsonObject, database: object, trust: Trust) -> Self:
        """Create the source if the program may be run; see `Source`."""
        command = content.pop("command", None)
        if not isinstance(command, str):
            raise BadType(f"command must be a string, but was {command!r}.")
        if not trust.commands:
            raise ValueError(
                f"the subject would run the program {command!r}, but a file may not do so without "
                "your permission: if you trust the program, allow it with allow_command=True "
                "(--allow-command)."
            )
        return cls(command, **known_options(cls, content))

    def encoder(self) -> Encoder:
        """Return a new encoder of the outputs."""
        return Encoder(f"the command {self._program!r}", special=self.special, bits=self.bits)

    @property
    def _program(self) -> str:
        return shlex.split(self.command)[0]

    @contextmanager
    def drawing(self) -> Iterator[Draw]:
        """Return a context manager that provides a function for drawing batches of raw outputs."""
        # Use threads, since each thread only waits for its own process.
        programs = Programs()
        deadline = Deadline.of_programs(self.timeout, self.time_limit)
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                yield partial(self._batches, pool, partial(self._run, programs, deadline))
            finally:
                # Kill the programs, because an interrupt does not reach them and the pool would
                # wait for them.
                programs.stop()

    def _batches(
        self,
        pool: ThreadPoolExecutor,
        run: Run,
        database: object,
        span: Span,
    ) -> Iterator[Raw]:
        text = _database_text(database)
        calls = seeds_of_calls(span._replace(cut=None), self.batch_size, self.batched)
        if self.batched:
            tasks = ((text, size, seed) for size, seed in calls)
            call = partial(self._run_batch, run)
            for batch in in_order(call, tasks, pool, self.workers + 1, span.over):
                span.saw(len(batch))
                yield batch
            return
        single = ((text, 1, int(seed)) for _, seeds in calls for seed in np.atleast_1d(seeds))
        # Submit the runs of all batches to one queue, so that no worker waits at the end of a
        # batch.
        outputs = in_order(partial(self._run_one, run), single, pool, 2 * self.workers, span.over)
        lines = _told(outputs, span.saw)
        while batch := list(islice(lines, span.most(self.batch_size))):
            yield [line if isinstance(line, Raised) else as_outputs([line])[0] for line in batch]

    def _run_batch(self, run: Run, text: str, num_samples: int, seed: int) -> Raw:
        lines, code, last = run(text, num_samples, seed)
        what = f"{self._program!r}, asked for {num_samples} outputs from the database " + (
            preview_database(text)
        )
        if code is None:
            raise ValueError(
                f"the command {what}, took longer than {self.timeout:g} s: set a larger timeout "
                "to allow longer runs."
            )
        if code:
            raise ValueError(f"the command {what}, exited with {code}{_saying(last)}")
        if len(lines) != num_samples:
            raise ValueError(
                f"the command {what}, printed "
                f"{len(lines) if len(lines) < num_samples else f'more than {num_samples}'} lines: "
                "it must print one output per line, and as many outputs as requested"
                f"{_IN_JSON if len(lines) > num_samples else ''}{_saying(last)}"
            )
        return as_outputs(lines)

    def _run_one(self, run: Run, text: str, num_samples: int, seed: int) -> str:
        lines, code, last = run(text, num_samples, seed)
        strange = (
            "error: timeout" if code is None else (f"error: exit status {code}" if code else "")
        )
        if strange:
            if self.special == "error":
                raise ValueError(
                    f"the command {self._program!r}, run with the database "
                    f"{preview_database(text)}, ended with {strange!r}{_saying(last)}"
                )
            return Raised(strange, last)
        if len(lines) > 1:
            raise ValueError(
                f"the command {self._program!r} has no {{num_samples}}, so it must print one line "
                f"per run, but printed more lines for the database {preview_database(text)}"
                f"{_IN_JSON}."
            )
        return lines[0] if lines else ""

    def _run(
        self,
        programs: Programs,
        deadline: Deadline | None,
        text: str,
        num_samples: int,
        seed: int,
    ) -> Ended:
        """Run the program once, and kill the program at the deadline.

        Raises:
            ValueError: If the program cannot be run, or is still running when the time limit
                expires.
        """
        places = {"database": text, "num_samples": str(num_samples), "seed": str(seed)}
        words = [_filled(word, places) for word in shlex.split(self.command)]
        try:
            left = None if deadline is None else deadline.left()
            ended = programs.run(words, num_samples, left)
            if ended.code is not None or left == self.timeout:
                return ended
            raise TookTooLong
        except TookTooLong:
            raise BadValue(
                f"the command {self._program!r}, run with the database {preview_database(text)}, "
                "was still running at the end of the time limit: allow more time, or set a timeout "
                "(seconds per run), after which a run is killed; without {num_samples}, each "
                "killed run counts as an outcome."
            ) from None
        except OSError as error:
            raise ValueError(
                f"the command {self._program!r} cannot be run: {error.strerror}."
            ) from None


def _told(lines: Iterator[str], saw: Callable[[int], None]) -> Iterator[str]:
    for line in lines:
        saw(1)
        yield line


def _filled(word: str, places: dict[str, str]) -> str:
    # Replace all placeholders in one pass, so that braces in a database are not replaced.
    return re.sub(r"\{(database|num_samples|seed)\}", lambda found: places[found[1]], word)


def _saying(last: str) -> str:
    return f"; its last errors: {last}" if last else "; it wrote no errors."


def _argument(text: str) -> str:
    """Return a string unchanged after checking that the system can pass the string to a program."""
    try:
        taken = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        taken = False
    if not taken:
        raise BadValue(
            "pairs must hold strings without NUL characters or unpaired surrogates for a command, "
            f"but held {preview_database(text)}."
        )
    return text


def _columns_of(frame: Any) -> object:
    """Convert a data frame to a dict of its columns, unless two columns have one name."""
    names = [str(name) for name in frame.columns]
    if len({*names}) < len(names):
        return frame
    return {text: list(frame[name]) for text, name in zip(names, frame.columns, strict=True)}


def _database_text(database: object) -> str:
    if isinstance(database, str):
        return _argument(database)
    if isinstance(database, np.ndarray | np.generic):
        database = database.tolist()
    elif hasattr(database, "columns") and hasattr(database, "__array__"):
        database = _columns_of(database)
    try:
        return json.dumps(database, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise BadType(
            "pairs must hold strings, JSON values, or tables of numbers and texts for a command, "
            f"but held {preview_database(database)}."
        ) from None
