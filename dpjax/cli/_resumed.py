"""The earlier audit that `dpjax audit --resume` continues."""

from typing import TYPE_CHECKING

from dpjax.cli._table import Given, Value, option_of

if TYPE_CHECKING:
    from dpjax.notions import Notion
    from dpjax.results import AuditResult


def earlier_of(written: Given, notion: "Notion", claim: Value) -> "AuditResult":
    """Return the result in the file that `--resume` names.

    Raises:
        ValueError: If a term passed on the command line, such as the claim, has another value in
            the file.
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
                f"{option_of(name)} must stay the same when an audit is resumed: it was "
                f"{before!r} in {written['resume']}, but is now {now!r}."
            )
    return found
