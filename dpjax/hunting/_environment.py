"""Separate environments for releases, because the dependencies of releases may conflict."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from dpjax.core.wording import BadValue

_SPEC = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?(==[A-Za-z0-9.+!-]+)?")
_DONE = "dpjax-ready.json"
_LAST_LINES = 3


@dataclass(frozen=True)
class Environment:
    """The environment in which a release is installed.

    Attributes:
        spec: Specification of the release, such as "opendp==0.16.0".
        python: Path of the environment's interpreter.
    """

    spec: str
    python: Path


def environment_of(
    spec: str, requires: Sequence[str], folder: Path, *, dependencies: bool = True
) -> Environment:
    """Return the environment of a release; create the environment if it does not exist.

    Args:
        spec: Specification of the release, as PACKAGE==VERSION.
        requires: Requirements to install in addition to the release.
        folder: Folder of all environments.
        dependencies: Whether to install the release's declared dependencies, too.

    Raises:
        ValueError: If a specification is malformed, or if the release cannot be installed.
    """
    for each in (spec, *requires):
        refuse_unsafe(each)
    package_of(spec)
    wanted = [spec, *sorted(requires), *([] if dependencies else ["alone"])]
    mark = blake2b(json.dumps([wanted, sys.version]).encode(), digest_size=6).hexdigest()
    home = folder / f"{re.sub('[^A-Za-z0-9.]+', '-', spec)}-{mark}"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (home / _DONE).exists():
        _run([sys.executable, "-m", "venv", "--clear", str(home)], spec)
        quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if dependencies:
            _run([str(python), *quiet, spec, *requires], spec)
        else:
            _run([str(python), *quiet, "--no-deps", spec], spec)
            if requires:
                _run([str(python), *quiet, *requires], spec)
        (home / _DONE).write_text(json.dumps(wanted))
    return Environment(spec, python)


def package_of(spec: str) -> str:
    """Return the name of a release's package, in the form in which installers compare names.

    Raises:
        ValueError: If the specification is not PACKAGE==VERSION or PACKAGE.
    """
    if not _SPEC.fullmatch(spec):
        raise BadValue(f"packages must be PACKAGE==VERSION, but one was {spec!r}.")
    return re.sub("[-_.]+", "-", re.split(r"==|\[", spec)[0]).lower()


def refuse_unsafe(requirement: str) -> None:
    """Raise a ValueError if a requirement is a pip option, a URL or a path."""
    if not re.match(r"[A-Za-z0-9]", requirement) or "/" in requirement or "@" in requirement:
        raise BadValue(f"packages must be PACKAGE==VERSION, but one was {requirement!r}.")


def _run(command: list[str], spec: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = "; ".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        raise BadValue(f"packages: {spec} cannot be installed: {last}")
