"""Bisection over the versions of a package to find where the verdict of an audit changes."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpjax.core.wording import BadValue
from dpjax.hunting._environment import refuse_unsafe

_LISTED = "Available versions: "


@dataclass(frozen=True)
class Bisection:
    """The outcome of a bisection over the versions of a package; a version is denoted by its index.

    Attributes:
        before: Last version before the change, or None if no change was found.
        after: First version after the change, or None if no change was found.
        refuted: Whether the claim is refuted in `before` or, if no change was found, in the newest
            version that could be audited; None if fewer than two versions could be audited.
        skipped: Versions between `before` and `after` that could not be audited. If no change was
            found, versions before the oldest and after the newest that could be audited.
    """

    before: int | None
    after: int | None
    refuted: bool | None
    skipped: tuple[int, ...] = ()

    def words(self, versions: Sequence[str]) -> str:
        """Return a sentence that names the versions between which the verdict changes.

        Args:
            versions: All versions, from oldest to newest.
        """
        if self.refuted is None:
            return "Fewer than two versions could be audited."
        if self.before is None or self.after is None:
            said = "refuted" if self.refuted else "not refuted"
            if not self.skipped:
                return f"In the oldest and in the newest version, the claim is {said}."
            return (
                "In the oldest and in the newest version that could be audited, the claim is "
                f"{said}. Versions that could not be audited: {self._skipped_of(versions)}."
            )
        states = ("refuted", "not refuted") if self.refuted else ("not refuted", "refuted")
        found = (
            f"The claim is {states[0]} in {versions[self.before]}, and {states[1]} in "
            f"{versions[self.after]}."
        )
        if self.skipped:
            between = self._skipped_of(versions)
            found += f" Versions in between that could not be audited: {between}."
        return found

    def _skipped_of(self, versions: Sequence[str]) -> str:
        return ", ".join(versions[index] for index in self.skipped)


def bisect(count: int, refuted: Callable[[int], bool | None]) -> Bisection:
    """Find two versions between which the verdict changes, using about log2(count) + 1 audits.

    If the verdict changes more than once, the function finds one of the changes.

    Args:
        count: Number of versions, at least 2.
        refuted: Function that audits a version, given its index, where 0 is the oldest version. The
            function returns whether the claim is refuted, or None if the version cannot be audited.
            The function is called at most once for each version.
    """
    known: dict[int, bool | None] = {}

    def first_of(order: Sequence[int]) -> int | None:
        """Return the first version in `order` that can be audited."""
        for index in order:
            if index not in known:
                known[index] = refuted(index)
            if known[index] is not None:
                return index
        return None

    low = first_of(range(count))
    high = None if low is None else first_of(range(count - 1, low, -1))
    if low is None or high is None:
        return Bisection(None, None, None)
    if known[low] == known[high]:
        skipped = tuple(sorted(index for index in known if known[index] is None))
        return Bisection(None, None, known[high], skipped)
    while True:
        middle = (low + high) / 2
        # If the middle version cannot be audited, try the other versions, nearest to the middle
        # first.
        inner = sorted(range(low + 1, high), key=lambda index: abs(index - middle))
        found = first_of(inner)
        if found is None:
            return Bisection(low, high, known[low], tuple(sorted(inner)))
        if known[found] == known[low]:
            low = found
        else:
            high = found


def versions_of(package: str) -> list[str]:
    """Return all released versions of a package, from oldest to newest.

    Raises:
        ValueError: If the name is malformed, or if the package index does not list the
            package's versions.
    """
    refuse_unsafe(package)
    command = [sys.executable, "-m", "pip", "index", "versions", package]
    done = subprocess.run([*command, "--disable-pip-version-check"], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith(_LISTED):
            return line.removeprefix(_LISTED).split(", ")[::-1]
    last = "; ".join(done.stderr.strip().splitlines()[-1:])
    raise BadValue(
        f"bisect: the versions of {package} are unknown ({last}); list the versions, for example "
        "1.0,1.1,2.0."
    )
