"""The table of all audits in a pytest run."""

from collections import Counter
from collections.abc import Iterator

from dpjax.testing._session import Row

_ROW = "{:<31} {:<11} {:<13} {:>7} {:>10} {:>5} {:>5} {}"
_TEST, _MECHANISM, _CLAIM = 31, 11, 13

_MEANING = (
    "bound: lower bound; detectable: smallest level that the counted event would probably reveal;\n"
    "other events, and events rarer than about 1 / draws, were not tested"
)

_NAMES = {"total-variation": "TV"}

_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def table(rows: list[Row], budget: float | None, idle: int = 0) -> Iterator[str]:
    """Yield the lines of the table, in the order of the rows."""
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
        yield f"{head}: {fewest} of {len(rows)} audits had only the minimum number of draws"
    if idle and spent < budget / 2:
        yield (
            f"{head}: {idle} new tests got a share but ran no audit; they get none in the next run"
        )


def _claim(row: Row) -> str:
    """Return the claim as text, such as "gdp 0.5", or "(1, 1e-05)" for epsilon and delta."""
    claim, name = row["claim"], _NAMES.get(row["notion"], row["notion"])
    if not isinstance(claim, float):
        return name if claim is None else f"{name} curve"
    return f"({claim:g}, {row['delta']:g})" if row["delta"] else f"{name} {claim:g}"


def _number(draws: float) -> str:
    """Format a number of draws in at most five characters."""
    size, unit = next(((size, unit) for size, unit in _UNITS if draws >= size), (1.0, ""))
    return f"{draws / size:.3g}{unit}"


def _short(test: str, number: str) -> str:
    """Return a test's id without folders, followed by `number`; truncate long ids on the left."""
    path, *names = test.split("::")
    text = "::".join([path.rsplit("/", 1)[-1], *names])
    room = _TEST - len(number)
    return (text if len(text) <= room else "..." + text[3 - room :]) + number
