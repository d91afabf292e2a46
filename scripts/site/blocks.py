"""Run the code blocks of a Markdown file, and compare their output with the output in the file.

`scripts/docs --update [NAME ...]` calls this file, and the tests of README and guides import it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ROOT / "dpjax" / "guides"

_PICTURE = ("audit.png", ROOT / "benchmarks" / "results" / "first-audit.png")
"""File that a block of README writes, and the picture that is shown in README."""

_FENCES = re.compile(
    r"^```(?P<language>bash|python)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?",
    re.S | re.M,
)

_SECONDS = re.compile(
    r"\d+(?:\.\d+)? ?(?:s|seconds)\b|\d+\.\d(?= +(?:not refuted|violated)$)", re.M
)
"""Durations, which depend on the machine.

In the table of the pytest plugin, a duration has no unit and precedes a verdict.
"""

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.(?P<decimals>\d+))?(?:e(?P<power>[+-]?\d+))?")


@dataclass(frozen=True)
class Block:
    """A code block in a Markdown file.

    Attributes:
        language: "bash" or "python".
        code: Code to run.
        shown: Text block directly below the code, or None.
        start: Position in the file where the block begins.
        stop: Position in the file where the block ends, including the text block.
    """

    language: str
    code: str
    shown: str | None
    start: int
    stop: int


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the Bash and Python blocks of a Markdown text, in order."""
    for found in _FENCES.finditer(text):
        yield Block(found["language"], found["code"], found["shown"], *found.span())


def run(block: Block, folder: Path) -> str:
    """Run a block; return its standard output without trailing spaces.

    Args:
        block: Block to run with the current Python. Lines that call a script of the repository are
            skipped.
        folder: Working directory, which also contains the files written by earlier blocks.

    Raises:
        RuntimeError: If the block fails.
    """
    lines = [line for line in block.code.splitlines() if not line.startswith("scripts/")]
    # Remove pytest's variables, so that they do not affect a block that runs pytest.
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment = kept | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONWARNINGS": "error",
        "PYTHONDONTWRITEBYTECODE": "1",
        "DPJAX_CACHE_DIR": os.environ.get("JAX_COMPILATION_CACHE_DIR", ""),
        "COLUMNS": "98",
        "NO_COLOR": "1",
    }
    command = ["bash", "-euo", "pipefail"] if block.language == "bash" else [sys.executable]
    command += ["-c", "\n".join(lines)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{block.code}\n{done.stdout}\n{done.stderr}")
    return "".join(line.rstrip() + "\n" for line in done.stdout.rstrip("\n").splitlines())


def same(shown: str, printed: str) -> bool:
    """Return whether two outputs are the same, except for small differences.

    Durations and the number of spaces are ignored. Numbers with decimals may differ by one in the
    last digit, because processors round differently. Integers must be equal.
    """
    texts = [" ".join(_SECONDS.sub("TIME", text).split()) for text in (shown, printed)]
    if len({_NUMBER.sub("NUMBER", text) for text in texts}) > 1:
        return False
    pairs = zip(*(_NUMBER.finditer(text) for text in texts), strict=True)
    return all(_close(*pair) for pair in pairs)


def _close(one: re.Match[str], other: re.Match[str]) -> bool:
    if one[0] == other[0]:
        return True
    forms = {(len(number["decimals"] or ""), number["power"]) for number in (one, other)}
    if len(forms) > 1 or not one["decimals"]:
        return False
    unit = 10.0 ** (int(one["power"] or 0) - len(one["decimals"]))
    return abs(float(one[0]) - float(other[0])) < 1.5 * unit


def updated(path: Path, *, all_shown: bool) -> str:
    """Return the text of a file with the current outputs of its blocks.

    Args:
        path: Path of the file.
        all_shown: Whether to show the output of every block that prints something. Otherwise,
            only outputs that are already shown are updated.
    """
    text, parts, end = _read(path), [], 0
    with tempfile.TemporaryDirectory() as folder:
        for block in blocks_of(text):
            printed = run(block, Path(folder))
            if not all_shown and (Path(folder) / _PICTURE[0]).exists():
                shutil.move(Path(folder) / _PICTURE[0], _PICTURE[1])
            parts.append(text[end : block.start])
            end = block.stop
            if (all_shown and printed != "") or block.shown is not None:
                if block.shown is not None and same(block.shown, printed):
                    printed = block.shown
                shown = f"\n```text\n{printed}```\n"
            else:
                shown = ""
            parts.append(f"```{block.language}\n{block.code}```\n{shown}")
    return "".join([*parts, text[end:]])


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def main(names: list[str]) -> None:
    """Update the outputs shown in files, and the version in the citation file.

    Args:
        names: Names of guides, or `README`; all files if empty.
    """
    text = _read(ROOT / "dpjax" / "core" / "version.py")
    version = re.search(r'^__version__ = "(.+)"$', text, re.M)
    assert version is not None
    cited = ROOT / "dpjax" / "CITATION.cff"
    cited.write_text(re.sub(r"(?m)^version: .*$", f"version: {version[1]}", _read(cited)))
    known = {"README": ROOT / "README.md"} | {path.stem: path for path in GUIDES.glob("*.md")}
    for name in names or sorted(known):
        if name not in known:
            sys.exit(f"error: {name} is not a guide; choose from {', '.join(sorted(known))}")
        text = updated(known[name], all_shown=name != "README")
        changed = text != _read(known[name])
        known[name].write_text(text, encoding="utf-8")
        print(f"{name}: {'changed' if changed else 'unchanged'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
