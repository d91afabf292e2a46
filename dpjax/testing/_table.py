"""The table of all audits of a run, as lines."""

from collections import Counter
from collections.abc import Iterator

from dpjax.testing._session import Row

_ROW = "{:<36} {:<20} {:>7} {:>11} {:>10} {:>8} {:>7}  {}"
_TEST, _MECHANISM = 36, 20

_MEANING = (
    "detectable: likely to be refuted from there on, at the event that was counted only; other "
    "events,\nand ones rarer than about 1 / draws, were not looked at"
)


def table(rows: list[Row], budget: float | None, idle: int = 0) -> Iterator[str]:
    """Lines of the table, in the order of the rows.

    Args:
        rows: As `dpjax.testing` notes them, each with the node id of its test.
        budget: Seconds for all of them, or None.
        idle: Tests that were taken to audit, as they never ran before, but did not.
    """
    yield _ROW.format(
        "test",
        "mechanism",
        "claim",
        "lower bound",
        "detectable",
        "draws",
        "seconds",
        "verdict",
    )
    audits, seen = Counter(row["test"] for row in rows), Counter()
    for row in rows:
        test = row["test"]
        seen[test] += 1
        yield _ROW.format(
            _short(test, f" #{seen[test]}" if audits[test] > 1 else ""),
            row["mechanism"][:_MECHANISM],
            _claim(row["claim"]),
            f"{row['lower_bound']:.4f}",
            "-" if row["detectable"] is None else f"{row['detectable']:.3g}",
            f"{row['draws']:.3g}",
            f"{row['seconds']:.1f}",
            row["verdict"],
        )
    yield from _MEANING.split("\n")
    if budget is None:
        return
    spent, fewest = sum(row["seconds"] for row in rows), sum(row["fewest"] for row in rows)
    head = f"budget {budget:g} s, spent {spent:.3g} s"
    if fewest:
        yield f"{head}: {fewest} of {len(rows)} audits got only the fewest draws"
    if idle and spent < budget / 2:
        yield f"{head}: {idle} new tests had a share but no audit; the next run leaves them out"


def _claim(claim: object) -> str:
    if claim is None:
        return "-"
    return f"{claim:g}" if isinstance(claim, float) else "curve"


def _short(test: str, number: str) -> str:
    """A node id without folders; of a long one the end, where the parameters are."""
    path, *names = test.split("::")
    text = "::".join([path.rsplit("/", 1)[-1], *names])
    room = _TEST - len(number)
    return (text if len(text) <= room else "..." + text[3 - room :]) + number
