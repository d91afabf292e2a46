"""Evidence from coins: the number of correct guesses about canaries."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.core.wording import BadValue, term
from dpjax.inference import (
    Guessed,
    delta_of_chosen,
    delta_of_curves,
    delta_of_guesses,
    epsilon_of_chosen,
    epsilon_of_guesses,
    mu_of_chosen,
    mu_of_guesses,
    one_run_p_value,
    refutes,
)
from dpjax.notions._claims import Claim
from dpjax.notions._curves import Profile
from dpjax.notions._epsilon import Epsilon
from dpjax.notions._levels import Gdp, TotalVariation
from dpjax.notions._notion import Notion
from dpjax.notions._statement import Crossing, Statement
from dpjax.notions.evidence._evidence import Evidence, Part, Rows, register

_HALVINGS, _LEAST = 40, math.log(1e-14)
"""Number of bisection steps, and smallest possible result, in the search for a log p-value."""

_Points = tuple[tuple[float, float], ...]


@register
@dataclass(frozen=True)
class GuessCounts(Evidence):
    """The numbers of canaries, guesses and correct guesses in one run.

    Each canary has a coin that decides whether the canary is included. If the number of guesses was
    fixed in advance, bounds on multiple notions hold jointly because all bounds increase with the
    number of correct guesses. If some coins were revealed to choose the number of guesses, bounds
    on multiple notions do not hold jointly.

    Attributes:
        canaries: n, the number of canaries whose coins were hidden until the guesses were fixed.
        guessed_in: Number of guesses "included", made for the highest scores.
        guessed_out: Number of guesses "left out", made for the lowest scores.
        right: Number of correct guesses.
        revealed: Number of canaries whose coins were revealed in order to choose the numbers of
            guesses.
        share: Fraction of the error probability that is used for this set of guesses. The rest of
            the error probability is used for another set of guesses.
    """

    canaries: int
    guessed_in: int
    guessed_out: int
    right: int
    revealed: int = 0
    share: float = 1.0
    kind: ClassVar[str] = "guesses"
    more: ClassVar[str] = (
        "Use more canaries in the next training run: the bound grows with their number."
    )
    unit: ClassVar[str] = "canary"
    noun: ClassVar[str] = "canaries"
    basis: ClassVar[str] = "one run"

    @property
    def guessed(self) -> Guessed:
        """Numbers of canaries, guesses and correct guesses."""
        return Guessed(self.canaries, self.guessed_in + self.guessed_out, self.right)

    def answer(
        self, notion: Notion, confidence: float, distance: int, named: Notion | None
    ) -> Statement:
        """See `Evidence`.

        Raises:
            ValueError: If the number of guesses was chosen for another notion.
        """
        chosen, error = self.revealed > 0, self.share * (1 - confidence)
        if chosen and named not in (None, notion):
            raise ValueError(
                f"this audit chose its number of guesses for {named.symbol}, so it has no bound "
                f"for {notion.symbol}: audit with notion={notion!r}."
            )
        bound = self._level(notion, error)
        return Statement(bound, None, self.basis if chosen else f"exact, {self.basis}")

    def _level(self, notion: Notion, error: float) -> float:
        return level_of(self.guessed, notion, error, self.revealed > 0)

    def compare(
        self, notion: Notion, confidence: float, claim: Claim, distance: int
    ) -> tuple[float, Crossing | None]:
        """See `Evidence`.

        A claimed curve is refuted if the test of one of its points or the joint test of all points
        rejects it.
        """
        if not isinstance(claim, tuple):
            return super().compare(notion, confidence, claim, distance)
        error = self.share * (1 - confidence)
        if self.revealed:
            return _at_one_point(self.guessed, claim, error)
        (place, p_value), crossing = _of_points(self.guessed, claim), None
        if p_value <= error:
            epsilon, claimed = claim[place]
            crossing = (epsilon, delta_of_guesses(self.guessed, epsilon, error), claimed)
        return error - min(p_value, _of_curve(self.guessed, claim)), crossing

    def rows(self, found: Statement, sure: str) -> Rows:
        """See `Evidence`."""
        n, made, right = self.guessed
        chosen = (
            f"; the numbers of guesses were chosen with the coins of {self.revealed} others"
            if self.revealed
            else ""
        )
        if self.share < 1:
            chosen += f"; using {self.share:.0%} of the error probability"
        return [
            ("lower bound", f"{found.lower_bound:.4f}, {sure} ({found.basis})"),
            (
                "guesses",
                f"{right} of {made} right ({self._sides()}), of {n} {self.noun}{chosen}",
            ),
        ]

    def _sides(self) -> str:
        """Return the numbers of both kinds of guesses, in words."""
        return f"{self.guessed_in} in, {self.guessed_out} out"

    def table(self, found: Statement, sure: str) -> Rows:
        """See `Evidence`."""
        return [(f"Lower bound ({found.basis}, {sure})", f"{found.lower_bound:.4f}")]

    def asked(self) -> str:
        """Return, as part of a sentence, what was guessed and how."""
        return (
            f"From the output of one run, dpjax guessed for {self.guessed.made:,} canaries whether "
            "they were included."
        )

    def _story(self) -> tuple[dict[str, int], str, str]:
        """Return names and values of the counts, what the bound rests on, and its scope."""
        counts = {
            "Canaries with hidden coins": self.canaries,
            "Canaries whose coins were revealed to choose the numbers of guesses": self.revealed,
            "Guesses that a canary was included": self.guessed_in,
            "Guesses that a canary was left out": self.guessed_out,
            "Correct guesses": self.right,
        }
        worth = (
            "A fair coin for each canary decided whether it was included, and all scores come from "
            "one output. The bound holds even if canaries depend on each other"
        )
        return counts, worth, "The bound applies only to the privacy of the canaries."

    def parts(self) -> list[Part]:
        """See `Evidence`."""
        counts, worth, scope = self._story()
        worth += (
            ", and it allows for the choice of the numbers of guesses from the output."
            if self.revealed
            else ". No larger bound follows from the number of correct guesses."
        )
        if self.share < 1:
            worth += (
                f" {self.share:.0%} of the error probability was used for these guesses, and the "
                "rest for a second set of guesses, which gives a smaller bound."
            )
        rows = [(name, f"{value:,}") for name, value in counts.items()]
        return [Part("Guesses", rows, f"{worth} {scope}")]

    @classmethod
    def from_plain(cls, content: JsonObject) -> Self:
        """See `Evidence`."""
        found = cls(**content)
        numbers = {name: value for name, value in vars(found).items() if name != "share"}
        if not all(type(value) is int and value >= 0 for value in numbers.values()):
            raise ValueError(f"guesses must be whole numbers, but were {content!r}.")
        if not (type(found.share) in (int, float) and 0 < found.share <= 1):
            raise ValueError(f"share must lie in (0, 1], but was {found.share!r}.")
        found.guessed.check()
        return found


def guesses_of(evidence: Evidence) -> GuessCounts | None:
    """Return the evidence if it comes from guesses about coins, and None otherwise."""
    return evidence if isinstance(evidence, GuessCounts) else None


def level_of(guessed: Guessed, notion: Notion, error: float, chosen: bool = False) -> float:
    """Return the lower bound on a level from guesses in one run.

    Args:
        guessed: Numbers of canaries with hidden coins, of guesses, and of correct guesses.
        notion: Notion of the level: Epsilon, Gdp, Profile or TotalVariation.
        error: Largest probability that the bound is above the true level.
        chosen: Whether the number of guesses was chosen using revealed coins of other canaries.

    Raises:
        ValueError: If guesses in one run cannot bound the notion.
    """
    if isinstance(notion, Epsilon):
        return (epsilon_of_chosen if chosen else epsilon_of_guesses)(guessed, notion.delta, error)
    if isinstance(notion, Gdp):
        return (mu_of_chosen if chosen else mu_of_guesses)(guessed, error)
    if isinstance(notion, TotalVariation | Profile):
        return (delta_of_chosen if chosen else delta_of_guesses)(guessed, 0.0, error)
    must = term(
        "notion must be dpjax.Epsilon(delta=...), Gdp(), Profile() or TotalVariation()",
        "--notion must be epsilon, gdp, profile or total-variation",
    )
    raise BadValue(f"{must} for guesses about coins, which cannot bound {notion.claimable}.")


def _at_one_point(guessed: Guessed, claim: _Points, error: float) -> tuple[float, Crossing | None]:
    """Compare the bound on delta with a claimed profile, at one point of the profile.

    The bound and the profile are compared at the first point whose delta is at most the result of
    `delta_of_curves`. If there is no such point, the bound and the profile are compared at the
    first point with the smallest delta.
    """
    most = max(delta_of_curves(guessed.canaries, error), min(delta for _, delta in claim))
    epsilon, claimed = min(point for point in claim if point[1] <= most)
    shown = delta_of_chosen(guessed, epsilon, error)
    return shown - claimed, ((epsilon, shown, claimed) if shown > claimed else None)


@lru_cache(maxsize=64)
def _of_points(guessed: Guessed, claim: _Points) -> tuple[int, float]:
    """Return the index of the profile's point with the smallest p-value, and this p-value.

    The smallest p-value needs no correction for the number of points. If the claim is true, the
    p-value at every point is an upper bound on the same probability, namely that at least the
    observed number of guesses is correct.
    """
    found = [one_run_p_value(*guessed, e, d) if d < 1 else 1.0 for e, d in claim]
    place = int(np.argmin(found))
    return place, found[place]


@lru_cache(maxsize=64)
def _of_curve(guessed: Guessed, claim: _Points) -> float:
    """Return the smallest error at which a whole claimed profile is refuted, rounded up."""
    epsilons, deltas = np.array(claim).T
    factors = np.maximum(np.exp(-epsilons), np.finfo(float).tiny)

    def gain(y: float) -> float:
        """Return the gain function of a profile, for use in `refutes`.

        Each point of the profile implies one bound on the probability of an event. The same point,
        applied to the event's complement, implies a second bound. The gain is the largest of all
        these bounds.
        """
        one = factors * (y - deltas)
        other = 1 - deltas - (1 - y) / factors
        return max(0.0, float(one.max()), float(other.max()))

    if not refutes(guessed, gain, 1.0):
        return 1.0
    low, high = _LEAST, 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if refutes(guessed, gain, math.exp(middle)) else (middle, high)
    return math.exp(high)
