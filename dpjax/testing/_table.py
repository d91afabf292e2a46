"""The table of all audits of a run, as lines."""

from collections import Counter
from collections.abc import Iterator

from dpjax.testing._session import Row

_ROW = "{:<31} {:<11} {:<13} {:>7} {:>10} {:>5} {:>5} {}"
_TEST, _MECHANISM, _CLAIM = 31, 11, 13
"""A row takes 100 columns."""

_MEANING = (
    "detectable: likely to be refuted from there on, at the event that was counted only; other "
    "events,\nand ones rarer than about 1 / draws, were not looked at; bound: a lower bound"
)

_NAMES = {"total-variation": "TV"}
"""Notion -> its name in a narrow column."""

_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


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
        "bound",
        "detectable",
        "draws",
        "s",
        "verdict",
    )
    audits, seen = Counter(row["test"] for row in rows), Counter()
    for row in rows:
        test = row["test"]
        seen[test] += 1
        yield _ROW.format(
            _short(test, f" #{seen[test]}" if audits[test] > 1 else ""),
            row["mechanism"][:_MECHANISM],
            _claim(row)[:_CLAIM],
            f"{row['lower_bound']:.4f}",
            "-" if row["detectable"] is None else f"{row['detectable']:.3g}",
            _number(row["draws"]),
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


def _claim(row: Row) -> str:
    """The notion and the claimed level, such as "gdp 0.5" or "(1, 1e-05)" of epsilon and delta."""
    claim, name = row["claim"], _NAMES.get(row["notion"], row["notion"])
    if not isinstance(claim, float):
        return name if claim is None else f"{name} curve"
    return f"({claim:g}, {row['delta']:g})" if row["delta"] else f"{name} {claim:g}"


def _number(draws: float) -> str:
    """A number of draws in at most five characters."""
    size, unit = next(((size, unit) for size, unit in _UNITS if draws >= size), (1.0, ""))
    return f"{draws / size:.3g}{unit}"


def _short(test: str, number: str) -> str:
    """A node id without folders; of a long one the end, where the parameters are."""
    path, *names = test.split("::")
    text = "::".join([path.rsplit("/", 1)[-1], *names])
    room = _TEST - len(number)
    return (text if len(text) <= room else "..." + text[3 - room :]) + number
