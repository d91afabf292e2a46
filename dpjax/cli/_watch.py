"""`dpjax watch`: audit the outputs that a running system writes to a folder."""

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dpjax.cli._audit_options import TABLE as _AUDIT
from dpjax.cli._finish import Files, finish
from dpjax.cli._importing import importing
from dpjax.cli._notion import claim_of, notion_of
from dpjax.cli._options import AS_JSON, QUIET
from dpjax.cli._stop import say
from dpjax.cli._subject import column_of
from dpjax.cli._table import Given, Table, Value, argument, option, written_of

if TYPE_CHECKING:
    from dpjax.watching import Folder, Watch

_STATE = ".dpjax-watch.json"

_EVERY = 5.0
"""Default time, in seconds, between two checks of the folder for new files."""

_BETS = ("epsilon", "gdp", "total-variation")

TABLE: Table = {
    "folder": argument(
        Path,
        "Folder to watch; each file (npz, npy, csv, parquet, ...) contains new outputs for both "
        "databases.",
        metavar="FOLDER",
    ),
    "claim": option(float, "The claimed level, in the unit of the notion.", metavar="NUMBER"),
    "notion": option(
        str, "Notion to bound: epsilon, gdp or total-variation. Default: epsilon.", choices=_BETS
    ),
    "delta": option(float, "delta of (epsilon, delta)-differential privacy. Default: 0."),
    "column": option(
        str,
        "The column of the outputs for the database; multiple columns, separated by commas, form "
        "a vector. Default: x, or 0 in npy files.",
        metavar="NAME,...",
    ),
    "column_y": option(
        str,
        "The column of the outputs for the neighbor. Default: y, or 1 in npy files.",
        metavar="NAME,...",
    ),
    "discrete": option(
        bool,
        "Whether every number is a separate outcome, or numbers are continuous; detected by "
        "default.",
        "--discrete/--continuous",
        default=None,
    ),
    "independent": option(
        bool,
        "Assert that the outputs are independent draws, even if they do not look independent.",
        "--independent",
        default=False,
    ),
    **{name: _AUDIT[name] for name in ("distance", "confidence", "num_claims", "key")},
    "state": option(Path, "File for the state of the watch. Default: FOLDER/.dpjax-watch.json."),
    "once": option(
        bool, "End when all files in the folder are processed.", "--once", default=False
    ),
    "every": option(float, "Seconds between two checks of the folder for new files. Default: 5."),
    "idle": option(float, "End after this many seconds without a new file."),
    "as_json": AS_JSON,
    "quiet": QUIET,
}

EXAMPLES = (
    "dpjax watch releases --claim 1",
    "dpjax watch releases --claim 1 --delta 1e-5 --once",
    "dpjax watch releases --claim 1 --state watch.json --idle 3600",
)
_TERMS = {"confidence": 0.999, "num_claims": 1, "distance": 1, "key": 0}


def command(**given: Value) -> int:
    """Audit the outputs that a running system writes to a folder, with a bound after every file.

    Each file contains new outputs for the database (x) and for its neighbor (y). Files are read in
    the order of their names. Write each file under a name that ends in .tmp, and rename the file
    once it is complete. A watch that was stopped or killed continues from its state file.

    The exit code is 1 once the claim is refuted, and 2 if a file is rejected or outputs look
    doubtful. If --once or --idle ends the watch, the exit code is 0, or 2 if too few outputs for
    a bound have arrived.
    """
    written = written_of(given)
    if "claim" not in written:
        raise ValueError("watch needs --claim, the claimed level.")
    if written.get("notion", "epsilon") not in _BETS:
        raise ValueError(f"--notion must be one of {', '.join(_BETS)} for a watch.")
    from dpjax.core import validate

    for name in ("every", "idle"):
        if name in written:
            validate.positive(**{name: written[name]})
    with importing():
        from dpjax.watching import Folder, Watch

    columns = [column_of(written[n]) if n in written else None for n in ("column", "column_y")]
    path = written.get("state", written["folder"] / _STATE)
    folder = Folder(written["folder"], (columns[0], columns[1]), path)
    terms = {name: written.get(name, usual) for name, usual in _TERMS.items()}
    options = {"discrete": written.get("discrete"), "independent": bool(given["independent"])}
    watched = Watch(claim_of(written), notion_of(written), terms, options, path)
    try:
        _follow(watched, folder, written)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Stopped after {len(watched.state.taken)} files: the same command continues from the "
            f"state in {path}."
        ) from None
    if watched.result is None:
        waiting = min(watched.waiting)
        say(f"No verdict yet: {waiting:,} outputs per side arrived, but more than 16 are needed.")
        return 2
    return finish(watched.result, written["as_json"], Files())


def _follow(watched: "Watch", folder: "Folder", written: Given) -> None:
    """Process files until the claim is refuted, or until --once or --idle ends the watch."""
    every, idle = written.get("every", _EVERY), written.get("idle")
    last = time.monotonic()
    while not watched.is_over:
        for name, x, y in folder.chunks():
            if watched.take(name, x, y):
                last = time.monotonic()
                if not written["quiet"]:
                    say(_told(name, watched))
            if watched.is_over:
                return
        if written["once"] or (idle is not None and time.monotonic() - last >= idle):
            return
        time.sleep(min(every, idle or every, threading.TIMEOUT_MAX))


def _told(name: str, watched: "Watch") -> str:
    result = watched.result
    if result is None:
        return f"{name}: {min(watched.waiting):,} outputs per side, too few for a bound"
    drawn = result.settings["drawn"]
    return (
        f"{name}: {drawn:,} outputs per side, {result.level} is at least {result.lower_bound:.4f}"
    )
