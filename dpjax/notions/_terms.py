"""The terms of an audit, such as its notion, claim and confidence."""

from dataclasses import dataclass, field
from functools import cached_property

from jax import Array

from dpjax.core import random, validate
from dpjax.core.execution import Execution
from dpjax.core.wording import EVENTS, BadType, BadValue, confidence_text, term
from dpjax.notions._claims import Claim
from dpjax.notions._epsilon import Epsilon
from dpjax.notions._notion import Notion
from dpjax.notions.evidence._wealth import BetWealth


@dataclass(frozen=True)
class Terms:
    """Notion, claim, confidence and other settings that all steps of an audit share.

    Attributes:
        notion: Notion whose level is bounded.
        claim: Claim in the form that the caller passed, or None. The `claimed` property contains
            the converted claim.
        confidence: Joint confidence of the statements of all `num_claims` audits.
        num_claims: Number of audits whose statements must hold jointly.
        key: Integer seed or typed JAX key that the caller passed.
        execution: Execution options, or None for the backend's default options.
        distance: Number of records in which the databases of each pair differ.
        earlier: Bets of an earlier audit that this audit continues, or None for a new audit.
        kept: Dictionary in which a source stores values that later batches of the same runs need.

    Raises:
        TypeError, ValueError: If an attribute is of the wrong type or out of range.
    """

    notion: Notion
    claim: object
    confidence: float
    num_claims: int
    key: int | Array
    execution: Execution | None = None
    distance: int = 1
    earlier: BetWealth | None = None
    kept: dict = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self):
        if not isinstance(self.notion, Notion):
            raise BadType(
                "notion must be dpjax.Epsilon(delta=...), Profile(), TradeOff(), Gdp(), "
                f"Renyi(order), Zcdp() or TotalVariation(), but was {self.notion!r}."
            )
        validate.joint_confidence(self.confidence, self.num_claims)
        validate.positive_int(distance=self.distance)
        self.notion.refuse_distance(self.distance)
        _ = self.claimed  # Reading the claim checks it.
        if not isinstance(self.execution, Execution | None):
            raise TypeError(
                f"execution must be dpjax.Execution or None, but was {self.execution!r}."
            )

    @cached_property
    def claimed(self) -> Claim | None:
        """Converted claim: a number, the points of a curve, or None if there is no claim."""
        return None if self.claim is None else self.notion.claimed(self.claim)

    @property
    def plain_claim(self) -> float | list[list[float]] | None:
        """Converted claim as JSON values, with each point of a curve as a list."""
        claim = self.claimed
        return [list(point) for point in claim] if isinstance(claim, tuple) else claim

    @property
    def level(self) -> float | None:
        """Claimed level, or None if there is no claim. The claim must not be a curve."""
        claim = self.claimed
        assert not isinstance(claim, tuple)
        return claim

    def refuse_notions(self, what: str) -> None:
        """Raise an error unless the notion is epsilon with delta = 0 and the distance is 1.

        Args:
            what: Evidence that the method uses instead of events, such as "a histogram", for the
                error message.
        """
        if not isinstance(self.notion, Epsilon):
            must = term("notion must be dpjax.Epsilon()", "--notion must be epsilon")
            raise BadValue(f"{must} for {what}, but was {self.notion.mention}: use {EVENTS}.")
        if self.notion.delta:
            raise BadValue(
                f"delta must be 0 for {what}, but was {self.notion.delta}: use {EVENTS}, "
                "which accepts any delta."
            )
        if self.distance != 1:
            raise BadValue(f"distance must be 1 for {what}, but was {self.distance}: use {EVENTS}.")

    def require_one_event(self, what: str, instead: str = "") -> None:
        """Raise an error unless the counts of one event bound the notion.

        Args:
            what: Kind of audit that bets on events, for the error message.
            instead: What to use for other notions, or "" if nothing accepts them.
        """
        if self.notion.hypothesis() is None:
            must = term(
                "notion must be dpjax.Epsilon(delta), Gdp() or TotalVariation()",
                "--notion must be epsilon, gdp or total-variation",
            )
            use = f": use {instead}" if instead else ""
            raise BadValue(f"{must} for {what}, but was {self.notion.mention}{use}.")

    @cached_property
    def root(self) -> Array:
        """Typed JAX key from which the keys of all draws are derived."""
        return random.as_key(self.key)

    @property
    def own_confidence(self) -> float:
        """Confidence of each statement, chosen so that all statements jointly have `confidence`."""
        return validate.own_confidence(self.confidence, self.num_claims)

    @property
    def layout(self) -> Execution:
        """Execution options, with None replaced by the backend's default options."""
        return self.execution or Execution()

    def notes(self) -> list[str]:
        """Return notes about the joint confidence; the list is empty for a single claim."""
        if self.num_claims == 1:
            return []
        error = (1 - self.confidence) / self.num_claims
        return [
            f"This bound exceeds the true level with a probability of at most {error:.3g}. "
            f"Together, all {self.num_claims} such bounds hold with confidence "
            f"{confidence_text(self.confidence)} (Bonferroni)."
        ]
