"""The layering of the house: imports go down only."""

import ast
from pathlib import Path

import dpjax

ROOT = Path(dpjax.__file__).parent
LAYERS = {
    "_types": 0, "_errors": 0, "_validate": 0, "_random": 0, "_numerics": 0, "_batching": 0,
    "_files": 0, "_jit": 0,
    "_streaming": 1, "databases": 1,
    "mechanisms": 2, "densities": 2, "partitions": 2,
    "loss": 3,
    "estimators": 4, "inference": 4,
    "_result": 5, "_histogram_result": 5, "_provenance": 5, "_join": 5, "_exact": 5, "_recorded": 5,
    "_recorded_outcomes": 5,
    "_held": 5, "_shared_draws": 5, "_lost_outcomes": 5, "_output_events": 5,
    "_streamed": 5, "_streamed_files": 5, "_streamed_result": 5,
    "_replay": 5, "_rerun": 5, "audit": 5, "_audit_samples": 5, "_subject": 5, "_terms": 5,
    "_pair_search": 5,
    "_time_limit": 5,
    "_audit_histogram": 5, "reference": 5,
    "io": 6, "sweeps": 6, "testing": 6,
    "plotting": 7, "report": 7,
    "empirical": 8,
    "cli": 9, "__main__": 9,
}  # fmt: skip
STRANGERS = [
    ("mechanisms", "densities"), ("densities", "mechanisms"), ("inference", "estimators"),
    ("partitions", "densities"), ("densities", "partitions"),
    ("partitions", "mechanisms"), ("mechanisms", "partitions"),
]  # fmt: skip
# A result can draw itself; the import waits inside the method.
LAZY_UPWARD = {("_result", "plotting")}


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
        if target != "jax"
        and target != part
        and LAYERS[target] > LAYERS[part]
        and not (not at_top and (part, target) in LAZY_UPWARD)
    ]
    assert not wrong


def test_strangers_do_not_meet():
    seen = {(part, target) for _, part, target, _ in imports()}
    assert not seen & set(STRANGERS)


def test_inference_is_numpy():
    assert not [
        path for path, part, target, _ in imports() if (part, target) == ("inference", "jax")
    ]


def test_estimators_never_see_the_truth():
    users = {part for _, part, target, _ in imports() if target == "reference"}
    assert users <= {"reference", "cli", "report", "sweeps"}
