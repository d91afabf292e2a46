"""Evidence from a sequential audit: the wealth of its bets, and one planned exact bound."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpjax.core.numerics import finite_or_none
from dpjax.core.seals import seal_of
from dpjax.core.types import JsonObject
from dpjax.inference import Look, Wealth, look_bound
from dpjax.notions._notion import Notion
from dpjax.notions._statement import Statement
from dpjax.notions.evidence._evidence import Evidence, History, Part, register

_PSEUDO_DRAWS = 64.0
"""Number of pseudo-draws that determines the mixture boundary in `BetWealth.quantile`."""

_NEARLY = 1e-9
"""Largest relative difference at which two error probabilities are treated as equal."""


@register
@dataclass(frozen=True, eq=False)
class BetWealth(Evidence):
    """Wealth of bets on all events of all pairs, after any number of blocks of draws.

    The evidence contains the complete state of the audit, so that a later audit can continue this
    audit.

    Attributes:
        wealth: State of the bets.
        look: Planned exact bound from one event, or None.
        error: Joint error probability of the bets and the planned exact bound.
        shown: Three integers: the number of draws from the database in the displayed event, the
            number of draws from its neighbor in this event, and the number of draws per side.
        larger: Side on which the displayed event is more probable: 0 for the database, 1 for the
            neighbor.
        path: One tuple of three numbers per block of draws: the number of draws per side so far,
            summed over all pairs; the bound; and the log wealth at the claim.
        laid: Digest of the draws from which the cells were constructed. If a later audit continues
            this audit, the later audit checks the digest.
        laid_by: int64 [pairs], number of draws per side from which each pair's cells were
            constructed.
        before: State before the last block if this block is incomplete, because the limit on the
            number of draws was reached; None if the block is complete. If a later audit continues
            this audit, the later audit draws the whole block again.
        held: The first outputs on each side, or None. The outputs are stored only if it would take
            too long to draw them again.
    """

    wealth: Wealth
    look: Look | None
    error: float
    shown: tuple[int, int, int]
    larger: int
    path: list[tuple[int, float, float]]
    laid: str
    laid_by: NDArray[np.int64]
    before: Wealth | None
    held: JsonObject | None
    kind: ClassVar[str] = "wealth"
    estimated: ClassVar[str] = "Estimate at the witness"
    scored: ClassVar[str] = "Expected bound"
    planned: ClassVar[bool] = False
    more: ClassVar[str] = (
        "Continue the audit with dpjax.resume, which adds draws at the same confidence."
    )
    chosen: ClassVar[str] = (
        "The audit bet on many events simultaneously, and the bound follows from all these bets. "
        "Of all events, this event has the largest expected bound."
    )

    def bound(self, confidence: float) -> float:
        """Return the larger of the bound from bets and the planned exact bound.

        The bound from bets is the smallest float above the largest refuted level. The planned exact
        bound is ignored until it has been computed.
        """
        share = (1 - confidence) / self.error
        refuted = self.wealth.is_refuted
        if abs(share - 1) > _NEARLY:
            # The wealth at a level is frozen when the level is refuted, so the frozen wealth can be
            # compared with another threshold here.
            refuted = self.wealth.log_mean >= -math.log(self.wealth.error * min(share, 1.0))
        place = int(np.logical_and.accumulate(refuted).sum())
        won = float(np.nextafter(self.wealth.grid[place - 1], np.inf)) if place else 0.0
        look = self.look
        if look is None or not look.is_taken:
            return won
        return max(won, look_bound(look, self.wealth.hypothesis, look.error * min(share, 1.0)))

    def answer(
        self, notion: Notion, confidence: float, distance: int, named: Notion | None
    ) -> Statement:
        """See `Evidence`.

        Raises:
            ValueError: If the bets were placed for another notion.
        """
        if notion.hypothesis(distance) != self.wealth.hypothesis:
            of = "another notion" if named in (None, notion) else named.symbol
            raise ValueError(
                f"this audit bet on {of}, so it cannot bound {notion.symbol}: audit with "
                f"notion={notion!r}."
            )
        first, second, draws = self.shown
        p, q = (np.array([count / max(draws, 1)]) for count in (first, second))
        sides = (q, p) if self.larger else (p, q)
        return Statement(
            lower_bound=self.bound(confidence),
            estimate=finite_or_none(notion.of_shares(*sides, distance)[0]),
            basis="betting" if self.look is None or not self.look.is_taken else "betting, one look",
        )

    def quantile(self, error: float, draws: int) -> float:
        """See `Evidence`. The result is a normal-mixture boundary, which is valid at any time.

        References:
            Robbins (1970), eq. (8).
        """
        return math.sqrt(2 * math.log(1 / error) + math.log1p(draws / _PSEUDO_DRAWS))

    def history(self) -> History | None:
        """See `Evidence`."""
        if not self.path:
            return None
        return History(self.path, self.wealth.claim, -math.log(self.wealth.error))

    def parts(self) -> list[Part]:
        """See `Evidence`.

        The section shows at most twelve blocks, the last of which is the audit's last block.
        """
        places = np.unique(np.linspace(0, len(self.path) - 1, 12).astype(int)) if self.path else []
        rows = [(f"{self.path[i][0]:,}", f"{self.path[i][1]:.4f}") for i in places]
        text = "A bound was computed after each block of draws, and all bounds hold jointly."
        head = ("Draws per side, summed over all pairs", "Lower bound")
        return [Part("Bound after each number of draws per side", rows, text, head=head)]

    def to_plain(self) -> JsonObject:
        """See `Evidence`."""
        look = None
        if self.look is not None:
            look = {name: value.tolist() for name, value in self.look.to_plain().items()}
        path = [[draws, bound, wealth] for draws, bound, wealth in self.path]
        before = None if self.before is None else _plain(self.before)
        plain = {**super().to_plain(), "wealth": _plain(self.wealth), "look": look, "path": path,
                 "shown": list(self.shown), "before": before}  # fmt: skip
        return {**plain, "seal": seal_of(plain)}

    @classmethod
    def from_plain(cls, content: JsonObject) -> Self:
        """See `Evidence`."""
        look, before = content.pop("look"), content.pop("before")
        wealth = _wealth(content.pop("wealth"))
        path = [(int(draws), float(bound), float(won)) for draws, bound, won in content.pop("path")]
        first, second, draws = map(int, content.pop("shown"))
        side, error = int(content.pop("larger")), float(content.pop("error"))
        laid, held = str(content.pop("laid")), content.pop("held")
        seal = content.pop("seal", None)  # Earlier versions wrote no checksum.
        laid_by = np.asarray(content.pop("laid_by"), np.int64)
        if content or side not in (0, 1) or not 0 < error < 1:
            raise ValueError("the content is not the wealth of a sequential audit")
        last = (int(wealth.draws[:, 0].sum()), wealth.bound, wealth.log_at_claim)
        if not path or not np.allclose(path[-1], last, rtol=_NEARLY, atol=_NEARLY):
            raise ValueError("the last block of the path does not end with the wealth of the audit")
        past = None if look is None else Look.from_plain(look)
        state = None if before is None else _wealth(before)
        shown = (first, second, draws)
        found = cls(wealth, past, error, shown, side, path, laid, laid_by, state, held)
        # The checksum is computed from the restored values, because programs that format JSON may
        # write the same number differently.
        if seal is not None and seal != found.to_plain()["seal"]:
            raise ValueError("the state of the sequential audit was changed or damaged")
        return found


def bets_of(evidence: Evidence) -> BetWealth | None:
    """Return the evidence if it comes from a sequential audit, and None otherwise."""
    return evidence if isinstance(evidence, BetWealth) else None


def _plain(wealth: Wealth) -> JsonObject:
    """Convert the state of the bets to JSON values, without NaN."""
    plain = {name: value.tolist() for name, value in wealth.to_plain().items()}
    return {**plain, "claim": wealth.claim}


def _wealth(plain: JsonObject) -> Wealth:
    """Restore the state from the JSON values that `_plain` returned."""
    claim = math.nan if plain["claim"] is None else plain["claim"]
    return Wealth.from_plain({**plain, "claim": claim})
