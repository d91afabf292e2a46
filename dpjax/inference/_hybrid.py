"""Bounds of sequential audits without a claim, by bets and by one planned exact bound, the look.

A fifth of the error probability is spent on the bound that holds at any time. The rest is spent on
an exact bound from one event, whose pair, cells and number of draws are fixed before the first draw
that it counts. The exact bound is known only after all draws of its event are counted. By the union
bound, the bound from bets and the exact bound hold jointly.

References:
    Buehler (1957); Ville (1939).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate
from dpjax.inference._choice import choose_event
from dpjax.inference._events import Event, event_lower_bound
from dpjax.inference._hypotheses import Hypothesis
from dpjax.inference._sizes import Rivals
from dpjax.inference._wealth import Wealth

_ALWAYS = 0.2
"""Share of the error probability for the bound that holds at any time."""


def errors(error: float) -> tuple[float, float]:
    """Split an error probability between the bound that holds at any time and the look."""
    return _ALWAYS * error, (1 - _ALWAYS) * error


@dataclass(frozen=True)
class Look:
    """One planned look at fresh draws of one event.

    Attributes:
        pair: Index of the pair.
        cells: Cells of the event, bool [cells].
        larger: The side at which the event is expected to be likelier: 0 for the database, 1 for
            the neighbor.
        draws: Number of fresh draws per side after which the exact bound is computed.
        error: Error probability of the look.
        counts: Draws in the event so far, at the likelier side and at the other side.
        drawn: All fresh draws so far, at the likelier side and at the other side.
    """

    pair: int
    cells: NDArray[np.bool_]
    larger: int
    draws: int
    error: float
    counts: tuple[int, int] = (0, 0)
    drawn: tuple[int, int] = (0, 0)

    @property
    def is_taken(self) -> bool:
        """Whether all planned draws have been counted."""
        return self.drawn == (self.draws, self.draws)

    def counted(self, x: ArrayLike, y: ArrayLike) -> "Look":
        """Return the look after one more block of draws is counted.

        Args:
            x: Whole numbers [pairs, cells], counts of the block at the database.
            y: Whole numbers [pairs, cells], counts of the block at the neighbor.

        Raises:
            ValueError: If more draws were counted than planned.
        """
        validate.counts(x=x, y=y)
        sides = [np.asarray(side, np.int64)[self.pair] for side in (x, y)]
        if self.larger:
            sides.reverse()
        one, other = sides
        drawn = self.drawn[0] + int(one.sum()), self.drawn[1] + int(other.sum())
        if max(drawn) > self.draws:
            raise ValueError(
                f"the look was planned for {self.draws} draws per side, but {max(drawn)} were "
                "counted"
            )
        counts = (
            self.counts[0] + int(one[self.cells].sum()),
            self.counts[1] + int(other[self.cells].sum()),
        )
        return replace(self, counts=counts, drawn=drawn)

    def to_plain(self) -> dict[str, NDArray]:
        """Return the look as arrays, without rounding."""
        return {name: np.asarray(getattr(self, name)) for name in self.__dataclass_fields__}

    @classmethod
    def from_plain(cls, plain: Mapping[str, ArrayLike]) -> "Look":
        """Restore the look that `to_plain` wrote."""
        array = {name: np.asarray(plain[name]) for name in cls.__dataclass_fields__}
        return cls(
            int(array["pair"]),
            array["cells"].astype(bool),
            int(array["larger"]),
            int(array["draws"]),
            float(array["error"]),
            (int(array["counts"][0]), int(array["counts"][1])),
            (int(array["drawn"][0]), int(array["drawn"][1])),
        )


def best_pairs(state: Wealth, number: int, draws: int, error: float) -> NDArray[np.int64]:
    """Return the pairs with the largest expected bounds, sorted by bound.

    Args:
        state: State of the audit, whose counts determine the choice.
        number: Number of pairs to keep.
        draws: Fresh draws per side for the look.
        error: Error probability of the look; see `errors`.
    """
    event = best_events(state, np.arange(len(state.first)), draws, error, len(state.first))
    return np.argsort(-event.predicted, kind="stable")[:number]


def planned_look(state: Wealth, pairs: ArrayLike, draws: int, error: float) -> Look:
    """Return the look at the pair and the event with the largest expected bound.

    Args:
        state: State of the audit, whose counts determine the choice.
        pairs: Indices of the pairs to choose from.
        draws: Fresh draws per side.
        error: Error probability of the look; see `errors`.
    """
    some = np.asarray(pairs, np.int64)
    event = best_events(state, some, draws, error, len(some))
    best = int(np.argmax(event.predicted))
    one = event.at((best,))
    return Look(int(some[best]), np.asarray(one.cells), int(one.larger), draws, error)


def best_events(
    state: Wealth, pairs: NDArray[np.int64], draws: int, error: float, num_rivals: int = 1
) -> Event:
    """Return, for each pair, the event with the largest expected bound.

    Args:
        state: State of the audit, whose counts determine the choice.
        pairs: Indices of pairs that have draws at both sides.
        draws: Fresh draws per side for the confirmation.
        error: Error probability of the bound.
        num_rivals: Number of competing pairs. Estimates are shrunk more if there are more competing
            pairs.
    """
    line = np.arange(state.first.shape[1], dtype=np.float64)
    return choose_event(
        np.stack([state.first[pairs], state.second[pairs]], axis=1),
        draws,
        1 - error,
        hypothesis=state.hypothesis,
        positions=[line] if state.ordered else (),
        ordered=state.ordered,
        rivals=Rivals(num_rivals),
    )


def look_bound(look: Look, hypothesis: Hypothesis, error: float) -> float:
    """Return the exact bound from a look, after all planned draws were counted.

    Args:
        look: Look with all planned draws.
        hypothesis: Hypothesis whose level is bounded.
        error: Error probability of the bound.
    """
    return float(event_lower_bound(*look.counts, look.draws, look.draws, 1 - error, hypothesis))
