"""Layers of the package: a module may only import modules with a lower number."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dpjax
from dpjax.notions import Evidence
from dpjax.sources import Source

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
"""Subpackages with the same number do not import each other."""


@cache
def nodes(path):
    """Return all nodes of the syntax tree of a file."""
    return [*ast.walk(ast.parse(path.read_text()))]


def imports():
    """Return (file, subpackage, imported subpackage) of every import, also inside functions."""
    for path in sorted(ROOT.rglob("*.py")):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        for node in nodes(path):
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
        for node in nodes(path):
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
    """Only the command line imports it, and it does not import the engine."""
    assert {part for _, part, target in imports() if target == "empirical"} <= {"empirical", "cli"}
    known = {target for _, part, target in imports() if part == "empirical"}
    assert not known & {"methods", "notions", "audit", "sweeps", "testing", "mechanisms"}


def files_imported(path):
    """Return the files of the package that a file imports, including imports inside functions."""
    for node in nodes(path):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # A name may be a module of the package, or defined in its __init__.
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        found = [place for name in names for place in [file_of(name)] if place is not None]
        if isinstance(node, ast.ImportFrom) and len(found) > 1:
            found = found[1:]
        yield from found


def file_of(module):
    place = ROOT.parent.joinpath(*module.split("."))
    options = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in options if path.is_file() and ROOT in path.parents), None)


def test_files_import_each_other_in_no_circle():
    graph = {path: {*files_imported(path)} - {path} for path in ROOT.rglob("*.py")}
    assert sum(map(len, graph.values())) > 1_000
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(str(path.relative_to(ROOT)) for path in error.args[1]))


def kinds_of(base):
    for kind in base.__subclasses__():
        yield from (kind.__name__, *kinds_of(kind))


def test_only_sources_and_notions_check_classes_of_sources_and_evidence():
    """Code calls methods of the protocols, so that a new class needs no new branch."""
    kinds = {"Source", "Evidence", *kinds_of(Source), *kinds_of(Evidence)}
    asked = []
    for path in ROOT.rglob("*.py"):
        if path.relative_to(ROOT).parts[0] in ("sources", "notions"):
            continue
        for node in nodes(path):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                names = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                asked += [f"{path.name}:{node.lineno} {name}" for name in names & kinds]
    assert not asked
