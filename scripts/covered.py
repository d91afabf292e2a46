"""Record which tests run which lines of the package, to order the tests for a random mutant.

`python scripts/covered.py` runs the fast tests with this file as a pytest plugin, and writes the
map to .cache/covered.json. It requires the package coverage. With --new, it runs only the tests
that are missing in the map, and transfers the other tests to the current line numbers. A line that
JAX traces once per process is recorded only for the first test that needs it. Therefore, the tests
of a line are followed by the tests of its function and of its module.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAP = ROOT / ".cache" / "covered.json"
FOLDER = "DPJAX_COVERED"
"""Environment variable with the folder for data; if it is set, this file is a pytest plugin."""
TEST = "DPJAX_COVERED_TEST"
"""Environment variable with the name of the running test, for processes that the test starts."""
FAST = ("-m", "not slow", "--ignore=tests/test_mutants.py")
"""Arguments of pytest that select the fast tests."""
_FAR = 4
"""Factor for the cost of tests of other subpackages, which are less likely to notice a change."""
_LEAST_SECONDS = 0.02
"""Minimum duration that is assumed for a test, in seconds."""


class Covered:
    """Map from lines of the package to tests.

    Attributes:
        seconds: Duration of each test.
        names: Names of the tests.
        texts: Text of each module when the map was made.
        lines: For each module, a map from a line to the indices of the tests that run it.
    """

    def __init__(self, path: Path = MAP):
        content = json.loads(path.read_text(encoding="utf-8"))
        self.seconds: dict[str, float] = content["seconds"]
        self.names = [*self.seconds]
        self.texts: dict[str, str] = content["texts"]
        self.lines: dict[str, dict[int, list[int]]] = {
            file: {int(line): tests for line, tests in lines.items()}
            for file, lines in content["lines"].items()
        }

    def of(self, file: str, lines: range | list[int]) -> set[int]:
        """Return the tests that run at least one of the lines."""
        found = self.lines.get(file, {})
        return {test for line in lines for test in found.get(line, ())}

    @cached_property
    def mentions(self) -> dict[str, list[tuple[str, int]]]:
        """Map from a name to the lines of the package that contain it."""
        found: dict[str, list[tuple[str, int]]] = {}
        for file, text in self.texts.items():
            for number, line in enumerate(text.splitlines(), 1):
                for name in set(re.findall(r"\w+", line)):
                    found.setdefault(name, []).append((file, number))
        return found

    def place(self, file: str, line: int) -> int:
        """Return the number that a line had when the map was made.

        For a new line, return the number of the preceding old line.
        """
        now = (ROOT / file).read_text(encoding="utf-8").splitlines()
        same = SequenceMatcher(None, self.texts[file].splitlines(), now, autojunk=False)
        found = 1
        for block in same.get_matching_blocks():
            if block.b < line:
                found = block.a + min(line - block.b, max(block.size, 1))
        return found

    def levels(self, file: str, line: int) -> list[set[int]]:
        """Return sets of tests, from the most specific to the least specific.

        The sets contain the tests of the line, of its statement, of its function, of the names in
        the line if it is outside of functions, and of its module.
        """
        spans: list[range] = [range(line, line + 1)]
        names: list[str] = []
        nodes = [n for n in ast.walk(ast.parse(self.texts[file])) if isinstance(n, ast.stmt)]
        around = [n for n in nodes if n.lineno <= line <= (n.end_lineno or 0)]
        functions = [n for n in around if isinstance(n, ast.FunctionDef)]
        simple = [n for n in around[-1:] if not hasattr(n, "body")]
        for node in [*simple, *functions[-1:]]:
            spans.append(range(node.lineno, (node.end_lineno or 0) + 1))
        if not functions:  # The line runs only when the module is imported.
            names = [part.id for n in simple for part in ast.walk(n) if isinstance(part, ast.Name)]
            names += [node.name for node in around if isinstance(node, ast.ClassDef)]
        named = [place for name in names for place in self.mentions.get(name, ())]
        return [
            *(self.of(file, span) for span in spans),
            {test for where, number in named for test in self.of(where, [number])},
            self.of(file, [*self.lines.get(file, {})]),
        ]

    def ordered(self, file: str, line: int, seconds: float) -> list[str]:
        """Return tests that may notice a change of a line, likely and cheap tests first.

        Args:
            file: Path of the module.
            line: Number of the line.
            seconds: Approximate limit on the total duration of the tests.
        """
        room = f"tests/{Path(file).parts[1].removesuffix('.py')}"
        chosen: dict[int, None] = {}

        def cost(test: int) -> float:
            far = 1 if self.names[test].startswith(room) else _FAR
            return far * (self.seconds[self.names[test]] + _LEAST_SECONDS)

        for tests in self.levels(file, self.place(file, line)):
            for test in sorted(tests - chosen.keys(), key=cost):
                if self.seconds[self.names[test]] <= seconds:
                    seconds -= self.seconds[self.names[test]]
                    chosen[test] = None
        return [self.names[test] for test in chosen]


def carried(
    map_: Covered, now: list[str]
) -> tuple[dict[str, float], dict[str, dict[int, set[int]]]]:
    """Return the seconds and lines of a map, restricted to current tests and line numbers."""
    kept = {name: seconds for name, seconds in map_.seconds.items() if name in set(now)}
    numbers = {name: number for number, name in enumerate(kept)}
    lines: dict[str, dict[int, set[int]]] = {}
    for file, by in map_.lines.items():
        if not (ROOT / file).exists():
            continue
        today = (ROOT / file).read_text(encoding="utf-8").splitlines()
        same = SequenceMatcher(None, map_.texts[file].splitlines(), today, autojunk=False)
        places = {
            b.a + i + 1: b.b + i + 1 for b in same.get_matching_blocks() for i in range(b.size)
        }
        lines[file] = {
            places[line]: {numbers[map_.names[t]] for t in tests if map_.names[t] in numbers}
            for line, tests in by.items()
            if line in places
        }
    return kept, lines


def collected() -> list[str]:
    """Return the names of the fast tests."""
    command = [sys.executable, "-m", "pytest", "--collect-only", *FAST]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if "::" in line]


def written(folder: Path, path: Path = MAP, now: list[str] | None = None) -> None:
    """Merge the data that the processes of one run wrote, and write the map.

    Args:
        folder: Folder of the data.
        path: Path of the map.
        now: Names of all current tests if only new tests were run; None otherwise.
    """
    import coverage

    seconds, lines = carried(Covered(path), now) if now else ({}, {})
    for part in folder.glob("seconds.*.json"):
        seconds |= json.loads(part.read_text(encoding="utf-8"))
    numbers = {name: number for number, name in enumerate(seconds)}
    for part in folder.glob("lines.*"):
        data = coverage.CoverageData(str(part))
        data.read()
        for measured in data.measured_files():
            file = f"dpjax/{measured.rpartition('/dpjax/')[2]}"
            for line, contexts in data.contexts_by_lineno(measured).items():
                tests = {numbers[name] for name in contexts if name in numbers}
                lines.setdefault(file, {}).setdefault(line, set()).update(tests)
    plain = {f: {n: sorted(t) for n, t in by.items() if t} for f, by in lines.items()}
    here = [file for file in sorted(plain) if (ROOT / file).exists()]
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in here}
    path.parent.mkdir(exist_ok=True)
    content = {"seconds": seconds, "lines": plain, "texts": texts}
    path.write_text(json.dumps(content), encoding="utf-8")


def started(context: str):
    """Start to measure which lines of dpjax run in this process."""
    import coverage

    measured = coverage.Coverage(
        data_file=f"{os.environ[FOLDER]}/lines.{os.getpid()}", include=["*/dpjax/*"],
        context=context, config_file=False, messages=False,
    )  # fmt: skip
    measured.start()
    return measured


def main() -> None:
    """Make the map; all arguments except --new are passed to pytest, such as -n 2."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--new"]
    now = collected() if "--new" in sys.argv else None
    if now:
        known = Covered().seconds
        arguments += [name for name in now if name not in known]
    with tempfile.TemporaryDirectory() as folder:
        # Python imports sitecustomize at startup, so processes started by tests are also measured.
        # The processes of pytest itself have no test yet; they import this file as a plugin.
        site = f"import os\nif os.environ.get({TEST!r}):\n    import atexit, covered\n"
        site += f"    m = covered.started(os.environ[{TEST!r}])\n"
        site += "    atexit.register(lambda: (m.stop(), m.save()))\n"
        for place, text in (("site", site), ("data", "")):
            (Path(folder) / place).mkdir()
            (Path(folder) / place / "sitecustomize.py").write_text(text, encoding="utf-8")
        paths = [str(ROOT), f"{ROOT}/scripts", f"{folder}/site", os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(paths), FOLDER: f"{folder}/data", TEST: "",
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-p", "covered", *FAST, *arguments]
        subprocess.run(command, cwd=ROOT, env=environment)
        written(Path(folder) / "data", now=now)


if __name__ == "__main__":
    main()
elif FOLDER in os.environ:
    import pytest

    SECONDS: dict[str, float] = {}
    MEASURED = []

    def pytest_configure(config):
        """Start the measurement in each process that runs tests."""
        if hasattr(config, "workerinput") or getattr(config.option, "dist", "no") == "no":
            MEASURED.append(started(""))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(item):
        """Record the name of the running test."""
        os.environ[TEST] = item.nodeid
        MEASURED[0].switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            MEASURED[0].switch_context("")

    def pytest_runtest_logreport(report):
        """Add the duration of a phase of a test."""
        SECONDS[report.nodeid] = SECONDS.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish():
        """Write the recorded lines and durations."""
        if MEASURED:
            MEASURED[0].stop()
            MEASURED[0].save()
        path = Path(os.environ[FOLDER]) / f"seconds.{os.getpid()}.json"
        path.write_text(json.dumps(SECONDS), encoding="utf-8")
