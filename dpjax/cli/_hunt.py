"""`dpjax hunt`: audit releases of packages, each release in its own environment."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpjax.cli._options import AS_JSON, QUIET
from dpjax.cli._table import Table, Value, argument, chosen, option, written_of
from dpjax.core.wording import listed

if TYPE_CHECKING:
    from dpjax.hunting import Case

_FOLDER = Path("hunt")

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
    refuted, and 2 if a release cannot be installed or audited, if nothing was audited, or if
    outputs are doubtful. With --bisect, releases that cannot be installed or audited are skipped,
    and the exit code is 2 if fewer than two releases could be audited or if outputs are doubtful.
    """
    written = written_of(given)
    if "cases" not in written:
        raise ValueError("hunt needs --cases, a Python file that defines a case.")
    if "packages" in written and written["again"]:
        raise ValueError(
            "--again audits the recorded draws of every release: leave out the names of releases."
        )
    if written.get("bisect") and ("packages" in written or written["again"]):
        raise ValueError(
            "--bisect names the versions to audit: leave out --again and the names of releases."
        )
    from dpjax.cli._hunt_run import HuntRun
    from dpjax.cli._hunt_table import show
    from dpjax.core.files import refuse_unwritable
    from dpjax.hunting import read_case, refuse_same_names

    if "table" in written:
        refuse_unwritable("table", written["table"])
    packages = written.get("packages", [])
    cases = [read_case(path) for path in written["cases"]]
    refuse_same_names(cases)
    _refuse_unused(packages, cases)
    named = {case.path: _named(case, packages) for case in cases}
    if not written["again"] and not written.get("bisect"):
        _refuse_unnamed(cases, named)
    options = chosen(written, ("seconds", "confidence", "key"))
    run = HuntRun(named, written.get("folder", _FOLDER), options, quiet=written["quiet"])
    shown = partial(show, run, written.get("table"), as_json=written["as_json"])
    try:
        if written.get("bisect"):
            run.bisect(cases, written["bisect"])
        else:
            run.audit(cases, again=written["again"])
    except BaseException as error:
        # An interrupt or an error must not lose the outcomes that are complete.
        if run.rows:
            shown()
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt("Stopped before all releases were audited.") from error
        raise
    shown()
    return run.exit_code


def _named(case: "Case", packages: list[str]) -> list[str]:
    """Return the releases in which to audit a case; the user's choice takes precedence."""
    if packages:
        return [spec for spec in packages if _is_of(spec, case)]
    return [f"{case.package}=={version}" for version in case.releases]


def _refuse_unused(packages: list[str], cases: "list[Case]") -> None:
    """Raise a ValueError if a named release is malformed, or if no case audits its package."""
    audited = listed(sorted({case.package for case in cases}))
    for spec in packages:
        if not any(_is_of(spec, case) for case in cases):
            raise ValueError(
                f"{spec} is named, but no case audits this package: name releases of {audited}."
            )


def _refuse_unnamed(cases: "list[Case]", named: dict[Path, list[str]]) -> None:
    for case in cases:
        if not named[case.path]:
            raise ValueError(
                f"no release of {case.package} is named, but {case.path.name} audits this "
                f"package: name a release, such as {case.package}==1.0, or set releases in the "
                "case."
            )


def _is_of(spec: str, case: "Case") -> bool:
    from dpjax.hunting import package_of

    return package_of(spec) == package_of(case.package)
