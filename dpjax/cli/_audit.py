"""`dpjax audit`: audit a built-in mechanism, a function, a program, or files of outputs."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

from dpjax.cli._audit_options import DECLARED_METHODS, TABLE, declared_values, source_of
from dpjax.cli._finish import Files, finish
from dpjax.cli._given import is_object
from dpjax.cli._importing import importing
from dpjax.cli._notion import claim_of, notion_of
from dpjax.cli._pipelines import place_of
from dpjax.cli._progress import progress_bar, shown_by
from dpjax.cli._recognized import recognized
from dpjax.cli._seal import untouched
from dpjax.cli._subject import subject_and_pairs
from dpjax.cli._table import Given, Value, chosen, option_of, written_of

if TYPE_CHECKING:
    from dpjax.notions import Notion
    from dpjax.results import AuditResult

__all__ = ["EXAMPLES", "TABLE", "command"]

EXAMPLES = (
    "dpjax audit laplace --epsilon 1 --claim 1 --report audit.html",
    "dpjax audit release.py:release --pairs '[[0, 1]]' --claim 1",
    "dpjax audit release.py:mean_age --pairs pairs.json --time-limit 60",
    "dpjax audit loop.py:train --pairs loop.py:pair --notion gdp --claim 0.5",
    "dpjax audit --command './noise {database} {num_samples}' --pairs '[[0, 1]]'",
    "dpjax audit release.py:release --like '[30, 80]' --bounds 0,100",
    "dpjax audit --samples x.csv.gz y.csv.gz --claim 0.5 --json",
    "ssh host cat y.csv | dpjax audit --samples x.csv -",
    "dpjax audit gaussian --notion gdp --claim 1",
    "dpjax audit laplace --method sequential --seconds 60 --resume audit.json",
    "dpjax audit truncated-laplace --method histogram --lipschitz 1.59",
)
_TERMS = ("confidence", "num_claims", "distance", "key")
_WITHOUT_CODE = ("mechanism", "command", "samples", "one_run")
"""Sources for which this process runs no code but that of dpjax."""


def command(**given: Value) -> int:
    """Audit a mechanism: report a confidence bound on its privacy level, with a witness.

    The exit code is 0 if there is no claim or the claim is not refuted, and 1 if the claim is
    violated. It is 2 for bad input, refuted assumptions and doubtful outputs, 3 for an internal
    error in dpjax, and 130 or 143 after a signal. A failure to write a file does not change the
    exit code.
    """
    # `announce` reads these variables; they are assigned before the audit reports any progress.
    source, written, subject = "", written_of(given), None

    def announce(total: int, seconds: str) -> str:
        return _announced(source, subject, total, seconds, written["method"])

    with ExitStack() as stack:
        written, is_imported = recognized(written, stack)
        source = source_of(written)
        files = Files.of(written)
        # With --seconds, the audit ends earlier, so the time for all outputs would be misleading.
        said = None if "seconds" in written else announce
        show = stack.enter_context(progress_bar(quiet=given["quiet"], announce=said))
        with importing():
            from dpjax.audit import audit, resume
            from dpjax.databases.spaces import Space
            from dpjax.methods import METHODS
            from dpjax.sources import AnyPairs
        kind = DECLARED_METHODS[written["method"]]
        method = METHODS[kind.name](**declared_values(kind, written))
        notion, claim = notion_of(written), claim_of(written)
        if source == "object" and not {"notion", "delta"} & written.keys():
            notion = None
        runs_code = source not in _WITHOUT_CODE or is_object(written.get("pairs", ""))
        if runs_code and not is_imported:
            stack.enter_context(untouched())
        subject, pairs = subject_and_pairs(source, written, stack)
        if "pairs" in written and not isinstance(pairs, Space):
            AnyPairs.of(pairs).refuse_equal()
        terms = {**chosen(written, _TERMS), "execution": shown_by(show)}
        if "resume" in written:
            earlier = _earlier(written, notion_of(written), claim)
            result = resume(earlier, subject, pairs, **declared_values(kind, written))
        else:
            result = audit(subject, pairs, method=method, notion=notion, claim=claim, **terms)
    return finish(result, written["as_json"], files, place_of(source, written, subject))


def _earlier(written: Given, notion: "Notion", claim: Value) -> "AuditResult":
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


def _announced(
    source: str, subject: Value, total: int, seconds: str, method: str = "events"
) -> str:
    """Return a sentence that announces a long audit and names the option that limits its time."""
    limit = getattr(subject, "time_limit", None)
    if limit is not None:
        # The audit stops at the time limit, so the time for all outputs would be misleading.
        return (
            f"{subject.name} is called until it has drawn {total:,} outputs or the time limit "
            f"(--time-limit {limit:g}, in seconds) has passed."
        )
    if method == "sequential":
        return (
            f"drawing all {total:,} outputs takes about {seconds} in total; ctrl-c ends the audit "
            "with its current bound, and --seconds limits its time."
        )
    if source not in ("host", "command"):
        return f"drawing {total:,} outputs takes about {seconds} in total."
    calls = -(-total // subject.batch_size) if subject.batched else total
    said = f"{total:,} outputs need {calls:,} calls of {subject.name}, about {seconds} in total"
    return f"{said}; with --time-limit 60, dpjax draws as many outputs as fit into one minute."
