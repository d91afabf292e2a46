"""Evidence from coins: the number of correct guesses about calls."""

from dataclasses import dataclass
from typing import ClassVar

from dpjax.inference import (
    Guessed,
    delta_of_calls,
    epsilon_of_calls,
    mu_of_calls,
    p_value_of_calls,
)
from dpjax.notions._claims import Claim
from dpjax.notions._epsilon import Epsilon
from dpjax.notions._levels import Gdp
from dpjax.notions._notion import Notion
from dpjax.notions._statement import Crossing
from dpjax.notions.evidence._evidence import register
from dpjax.notions.evidence._guesses import GuessCounts


@register
@dataclass(frozen=True)
class CallGuessCounts(GuessCounts):
    """The numbers of calls, guesses and correct guesses, if coins decided which database to use.

    In the attributes of `GuessCounts`, a canary is a call. The canary is "included" if the call got
    the database, and "left out" if the call got the neighbor.
    """

    kind: ClassVar[str] = "guesses_of_calls"
    more: ClassVar[str] = "Make more calls: the bound grows with their number."
    unit: ClassVar[str] = "call"
    noun: ClassVar[str] = "calls"
    basis: ClassVar[str] = "coins of calls"

    def _sides(self) -> str:
        return f"{self.guessed_in} database, {self.guessed_out} neighbor"

    def _level(self, notion: Notion, error: float) -> float:
        return level_of_calls(self.guessed, notion, error)

    def compare(
        self, notion: Notion, confidence: float, claim: Claim, distance: int
    ) -> tuple[float, Crossing | None]:
        """See `Evidence`."""
        if not isinstance(claim, tuple):
            return super().compare(notion, confidence, claim, distance)
        error, crossing = 1 - confidence, None
        p_value = p_value_of_calls(self.guessed, claim)
        if p_value <= error:
            epsilon, claimed = min(claim, key=lambda point: p_value_of_calls(self.guessed, [point]))
            crossing = (epsilon, delta_of_calls(self.guessed, epsilon, error), claimed)
        return error - p_value, crossing

    def asked(self) -> str:
        """See `GuessCounts`."""
        return (
            f"From the output of each of {self.guessed.made:,} calls, dpjax guessed which of the "
            "two databases the call got."
        )

    def _story(self) -> tuple[dict[str, int], str, str]:
        counts = {
            "Calls with hidden coins": self.canaries,
            "Guesses that a call got the database": self.guessed_in,
            "Guesses that a call got the neighbor": self.guessed_out,
            "Correct guesses": self.right,
        }
        worth = (
            "A fair coin before each call decided which of the two databases the call got. The "
            "bound holds even if outputs depend on earlier calls"
        )
        scope = (
            "The claim must hold for the sequence of all outputs, one database for each call. If "
            "the claim is not pure epsilon, it must hold for each call given the earlier outputs."
        )
        return counts, worth, scope


def level_of_calls(guessed: Guessed, notion: Notion, error: float, above: float = 0.0) -> float:
    """Return the lower bound on a level from guesses about calls.

    Args:
        guessed: Numbers of calls with hidden coins, of guesses, and of correct guesses.
        notion: Notion of the level: Epsilon, Gdp, Profile or TotalVariation. For the latter two,
            the result is a bound on delta at epsilon = 0.
        error: Largest probability that the bound is above the true level.
        above: Return 0 if the bound is not above this level, which is faster to find out.
    """
    if isinstance(notion, Epsilon):
        return epsilon_of_calls(guessed, notion.delta, error, above)
    if isinstance(notion, Gdp):
        return mu_of_calls(guessed, error, above)
    return delta_of_calls(guessed, 0.0, error, above)
