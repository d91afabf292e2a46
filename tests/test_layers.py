"""The layering of the house: imports go to a lower number only."""

import ast
from pathlib import Path

import dpjax

ROOT = Path(dpjax.__file__).parent
LAYERS = {
    "core": 0,
    "databases": 1, "guides": 1,
    "mechanisms": 2, "densities": 2, "partitions": 2,
    "inference": 3,
    "notions": 4, "plotting": 4,
    "sources": 5, "report": 5,
    "results": 6,
    "methods": 7,
    "audit": 8,
    "reference": 9,
    "sweeps": 10,
    "testing": 11,
    "empirical": 12, "hunting": 12, "watching": 12,
    "cli": 13, "__main__": 14,
}  # fmt: skip
"""Parts of one number know nothing of each other."""


def imports():
    """(file, part of the house, imported part) of every import, inside functions included."""
    for path in sorted(ROOT.rglob("*.py")):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                names = [base] if base != "dpjax" else [f"dpjax.{a.name}" for a in node.names]
            for name in names:
                pieces = name.split(".")
                if pieces[0] == "dpjax" and len(pieces) > 1 and pieces[1] in LAYERS:
                    yield path, part, pieces[1]
                elif pieces[0] == "jax":
                    yield path, part, "jax"


def test_every_part_has_a_layer():
    parts = {p.relative_to(ROOT).parts[0].removesuffix(".py") for p in ROOT.rglob("*.py")}
    assert parts - {"__init__"} == set(LAYERS)


def test_imports_go_down():
    wrong = [
        f"{path.name} ({part}) imports {target}"
        for path, part, target in imports()
        if target not in ("jax", part) and LAYERS[target] >= LAYERS[part]
    ]
    assert not wrong


def test_the_root_has_no_private_file_and_no_file_is_long():
    assert {path.name for path in ROOT.glob("*.py")} == {"__init__.py", "__main__.py", "audit.py"}
    assert not [path for path in ROOT.rglob("*.py") if len(path.read_text().splitlines()) > 400]


def test_no_function_has_more_than_ten_arguments():
    long = []
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                given = node.args
                names = [a.arg for a in given.posonlyargs + given.args + given.kwonlyargs]
                if len([name for name in names if name not in ("self", "cls")]) > 10:
                    long.append(f"{path.name}: {node.name}")
    assert not long


def test_inference_is_numpy():
    assert not [path for path, part, target in imports() if (part, target) == ("inference", "jax")]


def test_estimators_never_see_the_truth():
    users = {part for _, part, target in imports() if target == "reference"}
    assert users <= {"reference", "cli"}


def test_the_third_paper_stands_beside_the_engine():
    """Only the command line knows it, and it knows no method."""
    assert {part for _, part, target in imports() if target == "empirical"} <= {"empirical", "cli"}
    known = {target for _, part, target in imports() if part == "empirical"}
    assert not known & {"methods", "notions", "audit", "sweeps", "testing", "mechanisms"}
