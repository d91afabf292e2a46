"""Computation of an entry's runs; each run is an audit that yields a row.

The draws of a run depend only on (key, entry, run number). A run's row is the same on all devices
and in all blocks.
"""

import dataclasses
import json
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core import random
from dpjax.core.errors import contained
from dpjax.core.execution import Execution
from dpjax.core.settings import own_settings
from dpjax.core.types import JsonObject
from dpjax.methods import Method, within_limit_of
from dpjax.notions import Terms, bets_of, evidence_from_plain
from dpjax.results import (
    NO_CLAIM,
    Findings,
    Row,
    finding_of_repeats,
    judge,
    verdict_of,
)
from dpjax.results.provenance import key_of
from dpjax.sources import Repeats
from dpjax.sources._workers import kept_workers
from dpjax.sweeps._entry import Entry

Columns = JsonObject
"""Table of computed runs: a dictionary from column names to columns with one value per run."""

_EXACT = (
    "exact binomial",
    "simultaneous band",
    "betting",
    "betting, one look",
    "exact, one run",
    "exact, coins of calls",
    "one run",
    "coins of calls",
)
"""Values of the attribute `basis` that mark a bound as valid for every sample size. The last two
mark bounds from a number of guesses that was chosen from revealed coins.
"""


@own_settings()
def compute(
    entry: Entry,
    runs: Iterable[int],
    key: int | Array,
    *,
    execution: Execution | None = None,
    more: int = 0,
    states: Sequence[bytes] | None = None,
) -> Columns:
    """Compute runs of an entry on the devices in the execution options, and return their rows.

    Args:
        entry: Entry to run.
        runs: Numbers of the runs.
        key: Integer seed or typed key, into which the entry's identity is folded.
        execution: Options for the speed and memory of the computation; they never change a row.
        more: Number of draws per side in addition to those specified by the entry's method.
        states: The column `state` of the same runs after fewer draws, from which the runs continue,
            or None to start each run with its first draw. If the entry has a claim, the rows do not
            depend on `states`. Otherwise, the bounds may differ, because a run plans its one exact
            bound (see `dpjax.resume`) for the number of draws with which it started.

    Returns:
        The columns `run`, `lower_bound` (NaN if the method provides no bound), `estimate` (NaN if
        the estimate is infinite or unknown), `pair`, `output` (list of numbers, or None), `exact`
        (whether the bound is valid for every sample size and without an assumption on densities),
        `status`, `verdict` (None without a claim, unless the outputs show a fault, such as repeated
        noise) and `state` (None unless the entry is sequential).

    Raises:
        ValueError, TypeError: If the method cannot audit the entry's mechanism; the message names
            the entry.
    """
    numbers = np.asarray(list(runs), np.int32)
    layout = execution or Execution()
    if layout.layout == "auto":
        # In the streamed layout, one compiled program serves all blocks.
        layout = dataclasses.replace(layout, layout="streamed")
    if layout.devices is not None:
        layout = dataclasses.replace(layout, devices=layout.devices[: len(numbers)])
    terms = _terms(entry, tuple(random.words_of(entry.key(key)).tolist()))
    try:
        with contained("the subject"), kept_workers():
            placed = dataclasses.replace(terms, execution=layout)
            if entry.goes_on:
                rows = _rows_of_states(entry, placed, numbers, entry.longer(more), states)
            else:
                rows = _rows(entry, placed, numbers)
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"entry {entry.label!r}: {error}") from error
    return _columns(entry, terms, numbers, rows)


@lru_cache(maxsize=32)
def _terms(entry: Entry, words: tuple[int, int]) -> Terms:
    """Return the terms of an entry; all blocks of the entry share one cached object."""
    return entry.terms(key_of(list(words)))


def _rows(entry: Entry, terms: Terms, numbers: NDArray[np.int32]) -> list[Row]:
    """Return a row per run; if the mechanism runs on the host, compute one run after another."""
    if not entry.source.side_by_side:
        return [row for n in numbers for row in _rows_of(entry, entry.method, terms, n[None])]
    # The last run is repeated until all devices have the same number of runs. Surplus rows are
    # dropped.
    missing = -len(numbers) % len(terms.layout.devices or (None,))
    padded = np.pad(numbers, (0, missing), mode="edge")
    return _rows_of(entry, entry.method, terms, padded)[: len(numbers)]


def _rows_of(entry: Entry, method: Method, terms: Terms, runs: NDArray[np.int32]) -> list[Row]:
    """Return the rows of a batch of runs; a run with repeated noise has the verdict "not random".

    The verdict of a run on the host is that of `dpjax.audit`, so it may also be "doubtful".

    Raises:
        ValueError: If every call of a function or a program failed.
    """
    try:
        findings = method.run(within_limit_of(method, entry.source), entry.pairs, terms, runs)
    except Repeats as found:
        # The finding contains only the pair whose noise repeats.
        pair = entry.pairs.labels.index(found.pairs.labels[0])
        (row,) = Findings.of(finding_of_repeats(found, terms)).rows()
        return [row._replace(pair=pair)]
    rows = findings.rows()
    if entry.source.side_by_side:
        return rows
    return [row._replace(verdict=verdict_of(findings.finding(0))) for row in rows]


def _rows_of_states(
    entry: Entry,
    terms: Terms,
    numbers: NDArray[np.int32],
    method: Method,
    states: Sequence[bytes] | None,
) -> list[Row]:
    """Return a row per run; if `states` is not None, each run continues from its own state."""
    rows: list[Row] = []
    for place, number in enumerate(numbers):
        earlier = None
        if states is not None and states[place] is not None:
            plain = json.loads(zlib.decompress(states[place]))
            earlier = bets_of(evidence_from_plain(plain))
        of_run = dataclasses.replace(terms, earlier=earlier)
        rows += _rows_of(entry, method, of_run, np.array([number]))
    return rows


def _state(row: Row) -> bytes | None:
    return None if row.state is None else zlib.compress(json.dumps(row.state.to_plain()).encode())


def _columns(
    entry: Entry, terms: Terms, numbers: NDArray[np.int32], rows: Sequence[Row]
) -> Columns:
    stated, bounded = [row.statement for row in rows], entry.method.bounded
    verdicts = [row.verdict for row in rows]
    if terms.claim is not None:
        verdicts = [row.verdict or judge(row.statement, terms)[0] for row in rows]
    return {
        "run": numbers,
        "lower_bound": np.array([s.lower_bound if bounded else np.nan for s in stated]),
        "estimate": np.array([np.nan if s.estimate is None else s.estimate for s in stated]),
        "pair": np.array([row.pair for row in rows]),
        "output": [row.output for row in rows],
        "exact": np.array([bounded and s.basis in _EXACT for s in stated]),
        "status": [row.status for row in rows],
        "verdict": [None if verdict == NO_CLAIM else verdict for verdict in verdicts],
        "state": [_state(row) for row in rows],
    }
