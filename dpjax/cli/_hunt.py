"""`dpjax hunt`: audit releases of packages, each release in its own environment."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpjax.cli._options import AS_JSON, QUIET
from dpjax.cli._table import Given, Table, Value, argument, option
from dpjax.core.errors import neutral

if TYPE_CHECKING:
    from dpjax.hunting import Case, Environment

_FOLDER = Path("hunt")

_REFUTING = ("violated", "not random")
"""Verdicts that refute a claim.

The tuple is a copy of `dpjax.results.REFUTING`, whose import would slow down `--help`.
"""

TABLE: Table = {
    "packages": argument(
        list[str],
        "Releases to audit, such as opendp==0.16.0. Default: all releases listed in the cases.",
        required=False,
        metavar="PACKAGE==VERSION...",
    ),
    "cases": option(
        list[Path],
        "Python file that defines a case (package, claim, like, draw); may be repeated.",
    ),
    "bisect": option(
        str,
        "Find two versions between which the verdict changes, in the list of all versions or in a "
        "given list (oldest version first).",
        metavar="all|VERSION,...",
    ),
    "folder": option(Path, "Folder for recorded draws and installed releases. Default: hunt."),
    "again": option(
        bool,
        "Audit recorded draws again, without installing or running a release.",
        "--again",
        default=False,
    ),
    "seconds": option(float, "Time for drawing, in seconds per case and release. Default: 60."),
    "table": option(Path, "Write a Markdown table of the results to this file."),
    "confidence": option(float, "Confidence of each bound. Default: 0.999."),
    "key": option(int, "Seed for the search; libraries use their own randomness. Default: 0."),
    "as_json": AS_JSON,
    "quiet": QUIET,
}

EXAMPLES = (
    "dpjax hunt diffprivlib==0.6.6 --cases linear_regression.py",
    "dpjax hunt pure-ldp==1.1.2 pure-ldp==1.2.0 --cases unary.py",
    "dpjax hunt --cases linear_regression.py --cases unary.py --table found.md",
    "dpjax hunt --bisect 1.0.5,1.0.6,1.0.7,1.0.8 --cases covariance.py",
    "dpjax hunt --again --cases linear_regression.py",
)


def command(**given: Value) -> int:
    """Audit released packages, each installed in its own environment.

    Each case is audited in all named releases of its package. The exit code is 1 if a claim is
    refuted, and 2 if a release cannot be audited, if nothing was audited, or if outputs are
    doubtful.
    """
    written: Given = {name: value for name, value in given.items() if value is not None}
    if not written.get("cases"):
        raise ValueError("hunt needs --cases, a Python file that defines a case.")
    if written.get("packages") and written.get("again"):
        raise ValueError(
            "--again audits the recorded draws of every release: leave out the names of releases."
        )
    if written.get("bisect") and (written.get("packages") or written.get("again")):
        raise ValueError(
            "--bisect names the versions to audit: leave out --again and the names of releases."
        )
    from dpjax.core.files import refuse_unwritable, write_whole
    from dpjax.hunting import Caught, bisect, hunt, read_case

    if "table" in written:
        refuse_unwritable("table", written["table"])
    folder = written.get("folder", _FOLDER)
    cases = [read_case(path) for path in written["cases"]]
    named = {case.path: _named(case, written.get("packages", [])) for case in cases}
    if not written.get("again") and not written.get("bisect"):
        _refuse_unnamed(cases, named)
    options = {name: written[name] for name in ("seconds", "confidence", "key") if name in written}
    found: list[Caught] = []
    absent: list[Caught] = []
    changes: dict[str, str] = {}
    is_judged = True
    with _shown(quiet=bool(given["quiet"])) as tell:

        def failed(case: "Case", spec: str, error: ValueError) -> None:
            # The results of other releases must not be lost.
            absent.append(Caught(case, spec, None, str(error), 0.0))

        def environments(case: "Case") -> "list[Environment]":
            return _environments(case, named[case.path], folder, tell, failed)

        def audited(several: "list[Case]", again: bool) -> None:
            for caught in hunt(several, environments, folder / "draws", again=again, **options):
                tell(f"{caught.spec}: {caught.case.title}: {caught.row['verdict']}")
                found.append(caught)

        def refuted(case: "Case", versions: list[str], index: int) -> bool | None:
            named[case.path] = [f"{case.package}=={versions[index]}"]
            before = len(found)
            audited([case], again=False)
            if len(found) == before:
                return None  # A release that cannot be installed has no verdict.
            verdict = str(found[-1].row["verdict"])
            return verdict in _REFUTING if verdict in {"not refuted", *_REFUTING} else None

        if written.get("bisect"):
            for case in cases:
                versions = _versions(case, written["bisect"])
                change = bisect(len(versions), partial(refuted, case, versions))
                changes[case.title] = change.words(versions)
                is_judged &= change.refuted is not None
        else:
            audited(cases, again=bool(written.get("again")))
    rows = [caught.row for caught in [*found, *absent]]
    if "table" in written:
        write_whole({written["table"]: _markdown(rows)})
    if written.get("as_json"):
        print(json.dumps({"rows": rows, "changes": changes} if changes else rows, indent=1))
    else:
        print(_table(rows))
        for title, sentence in changes.items():
            print(neutral(f"{title}: {sentence}"))
    verdicts = {str(caught.row["verdict"]) for caught in found}
    if not (is_judged and verdicts) or verdicts - {"not refuted", *_REFUTING}:
        return 2
    if absent and not written.get("bisect"):
        return 2
    return int(bool(verdicts & set(_REFUTING)))


def _versions(case: "Case", wanted: str) -> list[str]:
    """Return the versions that `--bisect` names, from oldest to newest."""
    from dpjax.hunting import versions_of

    given = versions_of(case.package) if wanted == "all" else wanted.split(",")
    versions = [version.strip() for version in given]
    if len(versions) < 2:
        raise ValueError(f"--bisect needs at least two versions, but had {', '.join(versions)}.")
    return versions


def _named(case: "Case", packages: list[str]) -> list[str]:
    """Return the releases in which to audit a case; the user's choice takes precedence."""
    if packages:
        return [spec for spec in packages if _is_of(spec, case)]
    return [f"{case.package}=={version}" for version in case.releases]


def _refuse_unnamed(cases: "list[Case]", named: dict[Path, list[str]]) -> None:
    for case in cases:
        if not named[case.path]:
            raise ValueError(
                f"no release of {case.package} is named, but {case.path.name} audits this "
                f"package: name a release, such as {case.package}==1.0, or set releases in the "
                "case."
            )


def _is_of(spec: str, case: "Case") -> bool:
    name = spec.partition("==")[0].partition("[")[0]
    return name.replace("_", "-").lower() == case.package.replace("_", "-").lower()


def _environments(
    case: "Case",
    packages: list[str],
    folder: Path,
    tell: Value,
    failed: "Callable[[Case, str, ValueError], None]",
) -> "list[Environment]":
    """Return the environments of all releases that can be installed; report the others."""
    from dpjax.hunting import environment_of

    found = []
    for spec in packages:
        tell(f"{spec}: installing it unless it is already installed")
        try:
            ready = environment_of(
                spec, case.requires, folder / "environments", dependencies=case.dependencies
            )
        except ValueError as error:
            failed(case, spec, error)
        else:
            found.append(ready)
    return found


@contextmanager
def _shown(*, quiet: bool) -> Iterator[Value]:
    """Show progress on standard error, and yield a function that changes the progress text."""
    from rich.console import Console

    console = Console(stderr=True, quiet=quiet)
    with console.status("") as status:
        yield lambda text: status.update(text)


def _table(rows: list[dict[str, Value]]) -> str:
    """Return the rows as lines of text; for a refuted claim, add a line that shows the pair."""
    lines = []
    for row in rows:
        bound = "" if row["bound"] is None else f"epsilon at least {row['bound']:.3f}, "
        claim = f"({row['claim']:g}, {row['delta']:g})" if row["delta"] else f"{row['claim']:g}"
        lines.append(f"{row['release']}: {row['case']}")
        if row["verdict"] in (*_REFUTING, "not refuted", "doubtful"):
            seconds = f"{row['seconds']:.0f} s"
            lines.append(f"  {row['verdict'].upper()}: {bound}claimed {claim}, {seconds}")
        else:
            lines.append(f"  NOT AUDITED: {row['verdict']}")
        if row["pair"] and row["verdict"] in _REFUTING:
            lines.append(f"  pair      {row['pair']}")
        if row["reported"]:
            lines.append(f"  reported  {row['reported']}")
        if row["documented"]:
            lines.append("  The library documents this behaviour.")
    return "\n".join(map(neutral, lines))


def _markdown(rows: list[dict[str, Value]]) -> str:
    """Return the rows as a Markdown table; only refuted claims show their pairs."""
    lines = [
        "| release | case | claim | bound | verdict | pair | seconds | reported |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        bound = "" if row["bound"] is None else f"{row['bound']:.2f}"
        claim = f"{row['claim']:g}" + (f" at delta {row['delta']:.2g}" if row["delta"] else "")
        pair = row["pair"] if row["verdict"] in _REFUTING else ""
        reported = row["reported"] + (" (documented)" if row["documented"] else "")
        cells = [row["release"], row["case"], claim, bound, row["verdict"], pair,
                 f"{row['seconds']:.0f}", reported]  # fmt: skip
        lines.append(
            "| " + " | ".join(neutral(str(cell)).replace("|", "\\|") for cell in cells) + " |"
        )
    return "\n".join(lines) + "\n"
