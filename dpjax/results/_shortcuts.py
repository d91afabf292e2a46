"""All parts of the result of an audit, with shortcuts to their attributes."""

from dataclasses import dataclass

from dpjax.core.types import JsonObject
from dpjax.core.wording import confidence_text
from dpjax.notions import Notion, guesses_of
from dpjax.results._parts import REFUTING, Conclusion, Observed, Provenance, Witness
from dpjax.results.recipes import notion_from_plain
from dpjax.sources import RECORDED


@dataclass(frozen=True, repr=False)
class Parts:
    """All parts of a result, with shortcuts; see `AuditResult`."""

    statement: Conclusion
    witness: Witness | None
    evidence: Observed
    recipe: JsonObject
    provenance: Provenance
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def is_recorded(self) -> bool:
        """Whether the outputs were recorded before the audit, so that the key draws no outputs."""
        pairs = self.recipe.get("pairs")
        if pairs == {}:  # Canaries take the place of pairs.
            return not self.settings.get("repeatable", False)
        return pairs is not None and pairs["labels"] == [RECORDED]

    @property
    def lower_bound(self) -> float:
        """Lower bound on the level; see `Statement`."""
        return self.statement.lower_bound

    @property
    def upper_bound(self) -> float | None:
        """Upper bound on the level under an assumption, or None without an assumption."""
        return self.statement.upper_bound

    @property
    def estimate(self) -> float | None:
        """Estimate of the level, or None if the estimate is infinite or unknown."""
        return self.statement.estimate

    @property
    def standard_error(self) -> float | None:
        """Standard error of the estimate, or None if the bound does not use one."""
        return self.statement.standard_error

    @property
    def basis(self) -> str:
        """Kind of the bound, such as "exact binomial" or "normal"; see `Statement`."""
        return self.statement.basis

    @property
    def smallest_error(self) -> float | None:
        """Smallest error probability at which the claim is refuted, or None."""
        return self.statement.smallest_error

    @property
    def confidence(self) -> float:
        """Confidence with which the bounds of all `num_claims` audits hold jointly."""
        return self.statement.confidence

    @property
    def num_claims(self) -> int:
        """Number of audits whose bounds hold jointly."""
        return self.statement.num_claims

    @property
    def level(self) -> str:
        """Name of the bounded quantity, such as "epsilon"."""
        return self.statement.level

    @property
    def claim(self) -> float | list[list[float]] | None:
        """Claimed level, points of the claimed curve, or None if there is no claim."""
        return self.statement.claim

    @property
    def verdict(self) -> str:
        """Verdict on the claim, such as "violated" or "not refuted"; see `Conclusion`."""
        return self.statement.verdict

    @property
    def sentence(self) -> str:
        """Sentence that states the verdict."""
        return self.statement.sentence

    @property
    def num_samples(self) -> int | None:
        """Number of search draws per side of the witness's pair; see `Observed`."""
        return self.evidence.num_samples

    @property
    def num_confirm(self) -> int | None:
        """Number of confirmation draws per side, averaged over both sides, or None."""
        return self.evidence.num_confirm

    @property
    def region(self) -> str | None:
        """Description of the region in which outputs were compared, or None."""
        return self.evidence.region

    @property
    def pair_scores(self) -> tuple[tuple[str, float | None], ...]:
        """Label and score of each pair, in decreasing order; see `Observed`."""
        return self.evidence.pair_scores

    @property
    def settings(self) -> JsonObject:
        """Settings that the audit derived from the recipe; see `Observed`."""
        return self.evidence.settings

    @property
    def curve(self) -> dict[str, list] | None:
        """Data for a plot of densities and losses, or None; see `Observed`."""
        return self.evidence.curve

    @property
    def mechanism(self) -> str:
        """Name, function or file of the mechanism."""
        return self.provenance.mechanism

    @property
    def parameters(self) -> JsonObject:
        """Parameters of the mechanism."""
        return self.provenance.parameters

    @property
    def versions(self) -> dict[str, str]:
        """Versions of dpjax and of the packages that it depends on."""
        return self.provenance.versions

    @property
    def device(self) -> str:
        """Device of the computation."""
        return self.provenance.device

    @property
    def seconds(self) -> float:
        """Wall time in seconds, including compilation."""
        return self.provenance.seconds

    @property
    def notion(self) -> Notion:
        """The privacy notion of the audit."""
        return notion_from_plain(self.recipe["notion"])

    @property
    def delta(self) -> float:
        """Delta of the notion, or 0 if the notion has no delta."""
        return self.notion.delta

    @property
    def sure(self) -> str:
        """Confidence of the bounds as text, such as "confidence 0.999"."""
        sure = f"confidence {confidence_text(self.confidence)}"
        if not self.doubts:
            return sure
        is_one_run = guesses_of(self.evidence.counted) is not None
        return f"{sure} if {'the coins' if is_one_run else 'the outputs'} are independent"

    @property
    def refuted_at(self) -> str | None:
        """Smallest error probability at which the counts refute the claim, as text, or None."""
        error = self.smallest_error if self.verdict in REFUTING else None
        return None if error is None else f"{error:.2g}"
