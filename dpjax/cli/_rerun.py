"""`dpjax rerun`: repeat an audit from its JSON file or its HTML report."""

import sys
from pathlib import Path

from dpjax.cli._finish import Files, finish
from dpjax.cli._importing import importing
from dpjax.cli._options import AS_JSON, JUNIT, PLOT, QUIET, REPORT, SARIF
from dpjax.cli._pipelines import Place
from dpjax.cli._progress import progress_bar
from dpjax.cli._seal import untouched
from dpjax.cli._stop import say
from dpjax.cli._table import Table, Value, argument, option

_CLOSE = 1e-9
"""Largest difference at which two bounds count as equal; rounding depends on the machine."""

TABLE: Table = {
    "file": argument(
        Path, "File of the audit to repeat: the JSON that `--json` printed, or a report in HTML."
    ),
    "allow_import": option(
        list[str],
        "A module that dpjax may import if the file names it; an import runs the code of the "
        "module. May be repeated. Default: none.",
        metavar="MODULE",
    ),
    "allow_command": option(
        bool,
        "Permit dpjax to run the program that the file names.",
        "--allow-command",
        default=False,
    ),
    "as_json": AS_JSON,
    "report": REPORT,
    "plot": PLOT,
    "junit": JUNIT,
    "sarif": SARIF,
    "quiet": QUIET,
}


EXAMPLES = ("dpjax rerun audit.json", "dpjax rerun audit.html --allow-import release")


def command(**given: Value) -> int:
    """Repeat an audit from its file, and report whether the bound is the same.

    If the file names code to import or run, dpjax imports or runs it only if an option permits
    that. The exit codes are the same as for `dpjax audit`.
    """
    files = Files.of(given)
    with importing():
        from dpjax.audit import rerun as run
        from dpjax.results import AuditResult

    old = AuditResult.from_file(given["file"])
    allowed = given["allow_import"] or []
    if allowed:
        sys.path.insert(0, str(Path.cwd()))
    with progress_bar("comparing outputs", quiet=given["quiet"]), untouched():
        new = run(old, allow_import=allowed, allow_command=given["allow_command"])
    if abs(new.lower_bound - old.lower_bound) <= _CLOSE:
        say(f"The bound is the same as in {given['file']}: {old.lower_bound:.4f}.")
    else:
        say(
            f"The bound differs from that in {given['file']}: {new.lower_bound:.6g} instead of "
            f"{old.lower_bound:.6g}."
        )
    return finish(new, given["as_json"], files, Place(str(given["file"])))
