"""Run many sequential audits in one process and compute their bets together.

Each audit calls `dpjax.audit` in a separate thread. After each block, a thread waits until all
other threads reach the same point. Then a single call computes the experts and the bets of all
audits, with one row per pair of each audit. Rows are independent, so each audit has the same wealth
as if it ran alone; `scripts/benchmark false_alarms --check` verifies this.
"""

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpjax.inference import Wealth
from dpjax.inference._payoffs import Block, gains
from dpjax.inference._portfolio import experts
from dpjax.methods import _walk

Counts = NDArray[np.int64]
Found = TypeVar("Found")


@dataclass
class _Waiting:
    state: Wealth
    x: Counts
    y: Counts
    after: list[Wealth] = field(default_factory=list)


class Lockstep:
    """Steps of several audits, which are computed together as soon as all audits wait.

    Args:
        number: Number of audits.
    """

    def __init__(self, number: int):
        self._running, self._failed = number, False
        self._waiting: list[_Waiting] = []
        self._all_here = threading.Condition()

    def step(self, state: Wealth, x: Counts, y: Counts) -> Wealth:
        """Return the state after a block; replaces `dpjax.inference.step`."""
        mine = _Waiting(state, x, y)
        with self._all_here:
            self._waiting.append(mine)
            self._serve()
            self._all_here.wait_for(lambda: mine.after or self._failed)
        if not mine.after:
            raise RuntimeError("the bets of another audit failed")
        return mine.after[0]

    def leave(self) -> None:
        """Stop waiting for an audit, because it has ended."""
        with self._all_here:
            self._running -= 1
            self._serve()

    def _serve(self) -> None:
        if not self._waiting or len(self._waiting) < self._running:
            return
        groups: dict[object, list[_Waiting]] = {}
        for one in self._waiting:
            state = one.state
            # With few draws, cells are grouped by their mass. Padding with empty cells does not
            # change the groups, so audits with different numbers of cells can be combined.
            cells = None if state.few else state.first.shape[1]
            groups.setdefault((cells, state.few, state.ordered), []).append(one)
        try:
            for group in groups.values():
                _step_together(group)
        except BaseException:
            self._failed = True
            raise
        finally:
            self._waiting = []
            self._all_here.notify_all()


def _step_together(group: Sequence[_Waiting]) -> None:
    """Compute the states after one block, for audits that differ only in their counts."""
    pairs, cells = len(group[0].x), max(one.x.shape[1] for one in group)

    def rows(sides: Sequence[Counts]) -> Counts:
        padded = [np.pad(side, ((0, 0), (0, cells - side.shape[1]))) for side in sides]
        return np.concatenate(padded)

    states = [one.state for one in group]
    levels = states[0].grid
    assert all(np.array_equal(state.grid, levels) for state in states)
    # Give the databases of each audit different indices, because audits do not share draws.
    shared = np.concatenate([state.shared + 2 * pairs * i for i, state in enumerate(states)])
    known = rows([state.known[0] for state in states]), rows([state.known[1] for state in states])
    block = Block(rows([one.x for one in group]), rows([one.y for one in group]), shared)
    few, ordered, hypothesis = states[0].few, states[0].ordered, states[0].hypothesis
    bets = experts(*known, few=few, ordered=ordered, hypothesis=hypothesis)
    open_levels = np.zeros(levels.size, bool)
    found = np.concatenate(
        [gains(block, known, expert, hypothesis, levels, open_levels) for expert in bets]
    )
    found = found.reshape(len(found), len(group), pairs, levels.size)
    for place, one in enumerate(group):
        state = one.state
        gained = np.where(state.is_refuted, 0.0, found[:, place].sum(axis=1))
        after = replace(
            state,
            first=state.first + one.x,
            second=state.second + one.y,
            num_blocks=state.num_blocks + 1,
            log_wealth=state.log_wealth + gained,
        )
        is_refuted = state.is_refuted | (after.log_mean >= -math.log(state.error))
        one.after.append(replace(after, is_refuted=is_refuted))


def in_lockstep(audit: Callable[[int], Found], keys: Sequence[int]) -> list[Found]:
    """Run one audit per key, and compute the bets of all audits together.

    Args:
        audit: Function of a key that runs one sequential audit.
        keys: Keys of the audits. Each audit runs in a separate thread.

    Returns:
        Results of the audits, in the order of the keys.
    """
    together, alone = Lockstep(len(keys)), _walk.step

    def one(key: int) -> Found:
        try:
            return audit(key)
        finally:
            together.leave()

    setattr(_walk, "step", together.step)  # noqa: B010 (a function of a module)
    try:
        with ThreadPoolExecutor(len(keys)) as threads:
            return list(threads.map(one, keys))
    finally:
        setattr(_walk, "step", alone)  # noqa: B010
