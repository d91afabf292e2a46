"""`dpjax hunt`: released packages, installed apart, against cases."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dpjax.cli._options import AS_JSON, QUIET
from dpjax.cli._table import Given, Table, Value, argument, option

if TYPE_CHECKING:
    from dpjax.hunting import Case, Caught, Environment

_FOLDER = Path("hunt")

TABLE: Table = {
    "packages": argument(
        list[str],
        "Releases, such as opendp==0.16.0; none with --again.",
        default=None,
        metavar="PACKAGE==VERSION...",
    ),
    "cases": option(
        list[Path], "A case: a Python file with package, claim, like and draw; repeatable."
    ),
    "folder": option(Path, "Where draws are recorded, and releases installed. Default: hunt."),
    "again": option(bool, "Audit the recorded draws again; nothing is installed or run."),
    "seconds": option(float, "For which one answer of a release is waited. Default: 60."),
    "confidence": option(float, "Of each bound. Default: 0.999."),
    "key": option(int, "Of the search; libraries draw from randomness of their own. Default: 0."),
    "as_json": AS_JSON,
    "quiet": QUIET,
}
"""The options."""

EXAMPLES = (
    "dpjax hunt diffprivlib==0.6.6 --cases linear_regression.py",
    "dpjax hunt pure-ldp==1.1.2 pure-ldp==1.2.0 --cases unary.py",
    "dpjax hunt --again --cases linear_regression.py",
)

_HEADS = ("release", "case", "claim", "bound", "verdict", "seconds")


def command(**given: Value) -> int:
    """Audits released packages, each installed in an environment of its own.

    A case is audited in every release of its package that is named. The exit code is 1 if a claim
    is refuted, 2 if a release cannot be audited.
    """
    written: Given = {name: value for name, value in given.items() if value is not None}
    if not written.get("cases"):
        raise ValueError("hunt needs --cases, a Python file for each.")
    if bool(written.get("packages")) == bool(written.get("again")):
        raise ValueError("hunt needs releases such as opendp==0.16.0, or --again and none of them.")
    from dpjax.hunting import hunt, read_case

    folder = written.get("folder", _FOLDER)
    cases = [read_case(path) for path in written["cases"]]
    for case in cases:
        _refuse_unnamed(case, written.get("packages", []), again=bool(written.get("again")))
    options = {name: written[name] for name in ("seconds", "confidence", "key") if name in written}
    found: list[Caught] = []
    with _shown(quiet=bool(given["quiet"])) as tell:

        def environments(case: "Case") -> "list[Environment]":
            return _environments(case, written["packages"], folder, tell)

        for caught in hunt(
            cases, environments, folder / "draws", again=bool(written.get("again")), **options
        ):
            tell(f"{caught.spec}: {caught.case.title}: {caught.row['verdict']}")
            found.append(caught)
    rows = [caught.row for caught in found]
    if written.get("as_json"):
        print(json.dumps(rows, indent=1))
    else:
        print(_table(rows))
    if any(caught.result is None for caught in found):
        return 2
    return int(any(row["verdict"] == "violated" for row in rows))


def _refuse_unnamed(case: "Case", packages: list[str], *, again: bool) -> None:
    if not again and not any(_is_of(spec, case) for spec in packages):
        raise ValueError(f"no release of {case.package} is named, which {case.path.name} is about.")


def _is_of(spec: str, case: "Case") -> bool:
    name = spec.partition("==")[0].partition("[")[0]
    return name.replace("_", "-").lower() == case.package.replace("_", "-").lower()


def _environments(
    case: "Case", packages: list[str], folder: Path, tell: Value
) -> "list[Environment]":
    from dpjax.hunting import environment_of

    found = []
    for spec in packages:
        if _is_of(spec, case):
            tell(f"{spec}: installing it, unless it is there")
            found.append(environment_of(spec, case.requires, folder / "environments"))
    return found


@contextmanager
def _shown(*, quiet: bool) -> Iterator[Value]:
    """Tells on standard error what is done."""
    from rich.console import Console

    console = Console(stderr=True, quiet=quiet)
    with console.status("") as status:
        yield lambda text: status.update(text)


def _table(rows: list[dict[str, Value]]) -> str:
    """Rows of text, each within a terminal, with the pair below where a claim is refuted."""
    lines = []
    for row in rows:
        bound = "" if row["bound"] is None else f"at least {row['bound']:.3f}, "
        claim = f"({row['claim']:g}, {row['delta']:g})" if row["delta"] else f"{row['claim']:g}"
        lines.append(f"{row['release']}: {row['case']}")
        lines.append(
            f"  {row['verdict'].upper()}: epsilon {bound}claimed {claim}, {row['seconds']:.0f} s"
        )
        if row["pair"] and row["verdict"] == "violated":
            lines.append(f"  pair      {row['pair']}")
        if row["reported"]:
            lines.append(f"  reported  {row['reported']}")
        if row["documented"]:
            lines.append("  The library documents this behaviour.")
    return "\n".join(lines)
