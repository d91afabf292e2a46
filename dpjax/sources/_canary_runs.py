"""Source for repeatable one-run audits: a function that includes canaries and scores them."""

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate
from dpjax.core.errors import message_of, name_of_function
from dpjax.core.settings import callers_floats
from dpjax.core.types import JsonObject
from dpjax.core.validate import check_names
from dpjax.core.wording import BadType, BadValue, term
from dpjax.mechanisms.named import imported, path_of
from dpjax.partitions.previews import preview
from dpjax.sources._fair_coins import array_of
from dpjax.sources._one_run import FEWEST, GuessedCanaries, scores_of
from dpjax.sources._plain import WHERE
from dpjax.sources._source import Trust

_COINS = 3
"""Index of the random stream from which each run's coins and seed are drawn."""


@dataclass(frozen=True, eq=False)
class CanaryRuns(GuessedCanaries):
    """A function that includes canaries and scores them, for one-run audits in a sweep.

    Each run tosses a fair coin for every canary, and then calls the function once. A sweep with
    `Guesses()` shows how large the bounds from single runs are, and how often a bound exceeds a
    known privacy level. To audit runs that already exist, use `OneRun`.

    Attributes:
        function: Function (included, seed) -> scores of all canaries, [num_canaries], or several
            numbers per canary, [num_canaries, d]; see `OneRun`. A higher score means that the
            canary is more likely to have been included. Entry i of the boolean array `included`
            states whether to include canary i in the run.
        num_canaries: Number of canaries, at least 20.

    Raises:
        TypeError: If `function` is not callable, or does not take coins and an integer seed.
        ValueError: If there are fewer than 20 canaries.
    """

    function: Callable[[NDArray[np.bool_], int], ArrayLike]
    num_canaries: int
    kind: ClassVar[str] = "canary_runs"
    asked: ClassVar[tuple[str, str]] = (
        "A function (included, seed) -> scores, which trains once with the included canaries and "
        "returns the scores of all --num-canaries canaries, as FILE.py:NAME or MODULE:NAME.",
        "FILE.py:NAME",
    )
    repeatable: ClassVar[bool] = True
    # The command line reads the next two values from the source code of this class, without an
    # import.
    takes_pairs: ClassVar[bool] = False
    usual_method: ClassVar[str] = "guesses"

    def __post_init__(self):
        if given := _other_form(self.function):
            name = term("function", "--canary-runs")
            raise BadType(f"{name} must be a function (included, seed) -> scores, but {given}.")
        validate.positive_int(at_least=FEWEST, num_canaries=self.num_canaries)

    @property
    def name(self) -> str:
        """Name of the function."""
        return name_of_function(self.function)

    @property
    def parameters(self) -> JsonObject:
        """Number of canaries."""
        return {"num_canaries": self.num_canaries}

    def canaries(
        self, words: Sequence[int], run: int
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Toss the coins for one run, and return the scores and the coins; see `Source`.

        Raises:
            TypeError: If the scores are not numbers of shape [n] or [n, d].
            ValueError: If the function raises an exception, if there is not one score per canary,
                if a score is NaN, or if all scores are equal.
        """
        generator = np.random.default_rng([*words, _COINS, run])
        included = generator.integers(0, 2, self.num_canaries).astype(bool)
        seed = int(generator.integers(2**31))
        scores = self._scores(included.copy(), seed)
        if len(scores) != self.num_canaries:
            raise BadValue(
                f"function must return one score for each of {self.num_canaries} canaries, but "
                f"returned {len(scores)}."
            )
        return scores, included

    def _scores(self, included: NDArray[np.bool_], seed: int) -> NDArray[np.float64]:
        """Call the function, and return its validated scores."""
        try:
            with callers_floats(), _forks_end():
                # Settings that the function changes in its own context do not affect the audit.
                given = copy_context().run(self.function, included, seed)
        except Exception as error:
            raise BadValue(
                f"the function {self.name} must return scores, but raised {type(error).__name__}: "
                f"{message_of(error)}."
            ) from error
        name = f"the scores that the function {self.name} returns"
        scores = array_of(name, given, "canaries", "return a number for each canary")
        if scores.dtype == object:
            raise BadType(
                f"the function {self.name} must return an array of scores, but returned "
                f"{preview(given)}."
            )
        return scores_of(scores, name)

    def to_plain(self) -> JsonObject | None:
        """Return the function as MODULE:NAME, and the number of canaries; see `Source`."""
        path = path_of(self.function)
        return None if path is None else {"name": path, "num_canaries": self.num_canaries}

    @classmethod
    def from_plain(cls, content: JsonObject, database: object, trust: Trust) -> Self:
        """Import the function if its module may be imported; see `Source`."""
        function = imported(str(content.pop("name", "")), trust.imports)
        check_names(WHERE, content, ("num_canaries",))
        if "num_canaries" not in content:
            raise BadValue(
                f"num_canaries must be given for {name_of_function(function)}, but was missing: "
                "write parameters = {num_canaries = 1000} for 1,000 canaries."
            )
        return cls(function, **content)


@contextmanager
def _forks_end() -> Iterator[None]:
    """If code within the context forks this process, end the new process with the context."""
    process = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != process:
            os._exit(1)


def _other_form(function: object) -> str | None:
    """Describe a function that does not take coins and a seed; return None for other functions."""
    if not callable(function):
        return f"was {function!r}"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # Some compiled functions have no signature.
        return None
    try:
        # Other functions that dpjax calls may have a parameter `rng`, but this one gets an integer.
        is_seeded = "rng" not in signature.bind(None, 0).arguments
    except TypeError:
        is_seeded = False
    return None if is_seeded else f"took {signature}"
