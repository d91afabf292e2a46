"""Bounds for sequential audits without a claim: a bound from bets and a planned exact bound.

One fifth of the error probability is used for a bound that is computed from bets and is valid at
any time. The rest is used for one exact bound from the counts of one event. The look is the
procedure of counting this event and computing the exact bound. The pair, the cells of the event and
the number of draws are fixed before any draw is counted for the look. The exact bound is computed
only after the planned number of draws has been counted. By the union bound, both bounds hold
simultaneously with at least the required confidence.

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
"""Fraction of the error probability that is used for the bound from bets."""


def errors(error: float) -> tuple[float, float]:
    """Split an error probability into a part for the bound from bets and a part for the look."""
    return _ALWAYS * error, (1 - _ALWAYS) * error


@dataclass(frozen=True)
class Look:
    """One planned exact bound from fresh counts of one event.

    Attributes:
        pair: Index of the pair.
        cells: bool [cells], whether each cell is in the event.
        larger: Side on which the event is expected to be more likely: 0 for the database, 1 for the
            neighbor.
        draws: Number of fresh draws per side after which the exact bound is computed.
        error: Error probability of the exact bound.
        counts: Numbers of draws in the event so far, first on the side where the event is expected
            to be more likely, then on the other side.
        drawn: Numbers of fresh draws so far, first on the side where the event is expected to be
            more likely, then on the other side.
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
        """Return the look after the draws of one more block have been counted.

        Args:
            x: Integers [pairs, cells], counts of the block's draws from the databases.
            y: Integers [pairs, cells], counts of the block's draws from the neighbors.

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
        """Return the fields of the look as arrays, without rounding."""
        return {name: np.asarray(getattr(self, name)) for name in self.__dataclass_fields__}

    @classmethod
    def from_plain(cls, plain: Mapping[str, ArrayLike]) -> "Look":
        """Restore a look from the arrays that `to_plain` returned."""
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
    """Return the indices of the pairs with the largest expected bounds, sorted by decreasing bound.

    Args:
        state: State of the audit, whose counts determine the choice.
        number: Number of pairs to return.
        draws: Number of fresh draws per side for the look.
        error: Error probability of the look; see `errors`.
    """
    event = best_events(state, np.arange(len(state.first)), draws, error, len(state.first))
    return np.argsort(-event.predicted, kind="stable")[:number]


def planned_look(state: Wealth, pairs: ArrayLike, draws: int, error: float) -> Look:
    """Plan the look for the pair and the event with the largest expected bound.

    Args:
        state: State of the audit, whose counts determine the choice.
        pairs: Integers, indices of the pairs to choose from.
        draws: Number of fresh draws per side.
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
    """Return each pair's event with the largest expected bound.

    Args:
        state: State of the audit, whose counts determine the choice.
        pairs: int64 [pairs], indices of pairs that have draws on both sides.
        draws: Number of fresh draws per side for the confirmation.
        error: Error probability of the bound.
        num_rivals: Number of pairs among which the audit chooses. The larger this number, the more
            the estimates are shrunk.
    """
    line = np.arange(state.first.shape[1], dtype=np.float64)
    return choose_event(
        np.stack([state.first[pairs], state.second[pairs]], axis=1),
        draws,
        1 - error,
        hypothesis=state.hypothesis,
        positions=[line] if state.ordered else (),
        ordered=state.ordered,
        monotonic=state.monotonic,
        rivals=Rivals(num_rivals),
    )


def look_bound(look: Look, hypothesis: Hypothesis, error: float) -> float:
    """Return the exact bound from a look whose planned draws have all been counted.

    Args:
        look: Look with all planned draws counted.
        hypothesis: Hypothesis whose level is bounded.
        error: Error probability of the bound.
    """
    return float(event_lower_bound(*look.counts, look.draws, look.draws, 1 - error, hypothesis))
