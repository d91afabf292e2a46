"""The layering of the house: imports go to a lower number only."""

import ast
from pathlib import Path

import dpjax

ROOT = Path(dpjax.__file__).parent
LAYERS = {
    "_types": 0, "_errors": 0, "_validate": 0, "_random": 0, "_numerics": 0, "_batching": 0,
    "_files": 0, "_jit": 0, "_streaming": 0,
    "databases": 1,
    "mechanisms": 2, "densities": 2, "partitions": 2,
    "inference": 3,
    "notions": 4, "results": 4,
    "sources": 5, "plotting": 5, "report": 6,
    "methods": 7,
    "audit": 8, "_audit_samples": 8,
    "_rerun": 9, "reference": 9,
    "empirical": 10, "sweeps": 10,
    "testing": 11,
    "cli": 12, "__main__": 13,
}  # fmt: skip
"""Parts of one number know nothing of each other, but for the leaves of number 0."""

# A result can draw itself; the import waits inside the method.
LAZY_UPWARD = {("results", "plotting")}


def imports():
    """(file, part of the house, imported part, whether at module level) of every import."""
    for path in sorted(ROOT.rglob("*.py")):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        tree = ast.parse(path.read_text())
        top = set(tree.body)
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                names = [base] if base != "dpjax" else [f"dpjax.{a.name}" for a in node.names]
            for name in names:
                pieces = name.split(".")
                if pieces[0] == "dpjax" and len(pieces) > 1 and pieces[1] in LAYERS:
                    yield path, part, pieces[1], node in top
                elif pieces[0] == "jax":
                    yield path, part, "jax", node in top


def test_every_part_has_a_layer():
    parts = {p.relative_to(ROOT).parts[0].removesuffix(".py") for p in ROOT.rglob("*.py")}
    assert parts - {"__init__"} == set(LAYERS)


def test_imports_go_down():
    wrong = [
        f"{path.name} ({part}) imports {target}"
        for path, part, target, at_top in imports()
        if target not in ("jax", part)
        and LAYERS[target] >= LAYERS[part]
        and not LAYERS[target] == LAYERS[part] == 0
        and not (not at_top and (part, target) in LAZY_UPWARD)
    ]
    assert not wrong


def test_inference_is_numpy():
    assert not [
        path for path, part, target, _ in imports() if (part, target) == ("inference", "jax")
    ]


def test_estimators_never_see_the_truth():
    users = {part for _, part, target, _ in imports() if target == "reference"}
    assert users <= {"reference", "cli", "sweeps"}
