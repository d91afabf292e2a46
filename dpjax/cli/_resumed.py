"""The audit that `dpjax audit --resume` goes on with, whose terms stay."""

from typing import TYPE_CHECKING

from dpjax.cli._table import Given, Value, option_of

if TYPE_CHECKING:
    from dpjax.notions import Notion
    from dpjax.results import AuditResult


def earlier_of(written: Given, notion: "Notion", claim: Value) -> "AuditResult":
    """The result in the file that `--resume` names.

    Args:
        written: Parameter of the command -> value, of those that were given.
        notion: That the command names.
        claim: That the command names, or None.

    Raises:
        ValueError: A term that was written differs from the one in the file.
    """
    from dpjax.results import AuditResult

    found = AuditResult.from_file(written["resume"])
    kept = {
        "notion": (found.notion, notion),
        "delta": (found.notion, notion),
        "claim": (found.claim, None if claim is None else notion.claimed(claim)),
        "confidence": (found.confidence, written.get("confidence")),
        "num_claims": (found.num_claims, written.get("num_claims")),
        "distance": (found.recipe["distance"], written.get("distance")),
        "key": (found.recipe["key"], written.get("key")),
    }
    for name, (before, now) in kept.items():
        if name in written and before != now:
            raise ValueError(
                f"{option_of(name)} must stay what it was where an audit goes on: {before!r} in "
                f"{written['resume']}, and not {now!r}."
            )
    return found
