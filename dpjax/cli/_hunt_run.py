"""The audits and bisections of `dpjax hunt`, with the outcomes so far."""

from functools import partial
from pathlib import Path

from rich.console import Console

from dpjax import hunting
from dpjax.cli._table import Value
from dpjax.hunting import Case, Caught, Environment
from dpjax.results import REFUTING


class HuntRun:
    """Audits of cases, whose outcomes remain available if an audit is interrupted.

    Args:
        named: Map from the path of each case to the specifications of the releases to audit.
        folder: Folder for recorded draws and installed releases.
        options: Further arguments of `dpjax.hunting.hunt`.
        quiet: Whether to show no progress on standard error.

    Attributes:
        changes: Map from each bisected case, by the stem of its file, to a sentence.
    """

    def __init__(
        self, named: dict[Path, list[str]], folder: Path, options: dict[str, Value], *, quiet: bool
    ):
        self._named, self._folder, self._options = named, folder, options
        self._progress = Console(stderr=True, quiet=quiet).status("")
        self._found: list[Caught] = []
        self._absent: list[Caught] = []
        self._is_bisected, self._is_judged = False, True
        self.changes: dict[str, str] = {}

    @property
    def rows(self) -> list[dict[str, Value]]:
        """The outcomes so far; releases that could not be installed come last."""
        return [caught.row for caught in [*self._found, *self._absent]]

    @property
    def exit_code(self) -> int:
        """Exit code of the command after all audits; see `dpjax.cli._hunt.command`."""
        verdicts = {str(caught.row["verdict"]) for caught in self._found}
        failed = verdicts - {"not refuted", *REFUTING}
        if self._is_bisected:
            # A bisection skips releases that cannot be installed or audited.
            failed &= {"doubtful"}
        elif self._absent or not verdicts:
            return 2
        if failed or not self._is_judged:
            return 2
        return int(bool(verdicts & set(REFUTING)))

    def audit(self, cases: list[Case], *, again: bool) -> None:
        """Audit every named release, or audit recorded draws again."""
        with self._progress:
            self._audit(cases, again=again)

    def bisect(self, cases: list[Case], wanted: str) -> None:
        """Find, for each case, two versions between which the verdict changes.

        Args:
            cases: Cases to bisect.
            wanted: "all", or versions separated by commas, from oldest to newest.
        """
        self._is_bisected = True
        with self._progress:
            for case in cases:
                versions = _versions(case, wanted)
                change = hunting.bisect(len(versions), partial(self._refuted, case, versions))
                self.changes[case.path.stem] = change.words(versions)
                self._is_judged &= change.refuted is not None

    def _audit(self, cases: list[Case], *, again: bool) -> None:
        draws = self._folder / "draws"
        for caught in hunting.hunt(cases, self._environments, draws, again=again, **self._options):
            self._progress.update(f"{caught.spec}: {caught.case.title}: {caught.row['verdict']}")
            self._found.append(caught)

    def _refuted(self, case: Case, versions: list[str], index: int) -> bool | None:
        """Audit a version; return whether its claim is refuted, or None without a verdict."""
        self._named[case.path] = [f"{case.package}=={versions[index]}"]
        before = len(self._found)
        self._audit([case], again=False)
        if len(self._found) == before:
            return None  # A release that cannot be installed has no verdict.
        verdict = str(self._found[-1].row["verdict"])
        return verdict in REFUTING if verdict in {"not refuted", *REFUTING} else None

    def _environments(self, case: Case) -> list[Environment]:
        """Return the environments of all releases that can be installed; keep the failures."""
        ready = []
        for spec in self._named[case.path]:
            self._progress.update(f"{spec}: installing it unless it is already installed")
            try:
                found = hunting.environment_of(
                    spec,
                    case.requires,
                    self._folder / "environments",
                    dependencies=case.dependencies,
                )
            except ValueError as error:
                # The results of other releases must not be lost.
                self._absent.append(Caught(case, spec, None, str(error), 0.0))
            else:
                ready.append(found)
        return ready


def _versions(case: Case, wanted: str) -> list[str]:
    """Return the versions that `--bisect` names, from oldest to newest."""
    given = hunting.versions_of(case.package) if wanted == "all" else wanted.split(",")
    versions = [version.strip() for version in given]
    if len(versions) < 2:
        raise ValueError(f"--bisect needs at least two versions, but had {', '.join(versions)}.")
    return versions
