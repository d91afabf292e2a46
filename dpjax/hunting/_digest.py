"""Digests of the code that draws a case's outputs, including modules from the case's folder."""

import ast
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

_JUDGED = {"claim", "delta", "bits", "releases", "reported", "documented"}
"""Names whose values do not change the outputs that a case draws, unless its code reads them."""


def digest_of(case: Path) -> str:
    """Return a digest of a case's code and of the modules that it imports from its own folder.

    If no code reads the claim, a new claim does not change the digest, and the same holds for the
    other names that only an audit reads. The modules are found by the import statements in the
    files, so modules that are imported by `importlib` do not count.

    Args:
        case: Path of the case's Python file.
    """
    files = _files_of(case)
    judged = _JUDGED - {name for tree in files.values() for name in _read_in(tree)}
    code = []
    for path, tree in files.items():
        if path != case:
            code.append(f"# {path.relative_to(case.parent).as_posix()}")
        code += [ast.unparse(node) for node in tree.body if not _is_judged(node, judged)]
    return blake2b("\n".join(code).encode("utf-8"), digest_size=16).hexdigest()


def _files_of(case: Path) -> dict[Path, ast.Module]:
    """Return the parsed files of a case and of its modules, sorted by path after the case."""
    found: dict[Path, ast.Module] = {}
    todo = [case]
    while todo:
        path = todo.pop()
        if path not in found:
            found[path] = ast.parse(path.read_bytes())
            todo += _imported(found[path], path, case.parent)
    return {case: found.pop(case), **dict(sorted(found.items()))}


def _imported(tree: ast.Module, path: Path, folder: Path) -> Iterator[Path]:
    """Yield the files in `folder` that the import statements of a file may run."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            base, names = folder, [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            # The imported names may be modules of a package.
            base = Path(*path.parts[: -node.level]) if node.level else folder
            names = [".".join(filter(None, (node.module, each.name))) for each in node.names]
        else:
            continue
        for name in names:
            place = base
            for part in name.split("."):
                place /= part
                files = (place / "__init__.py", place.with_name(f"{part}.py"))
                yield from (f for f in files if f.is_relative_to(folder) and f.is_file())


def _read_in(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a file reads: variables, attributes, renamed imports, and strings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname not in (None, node.name):
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # `globals()["claim"]` and `getattr(module, "claim")` read a variable, too.
            yield node.value


def _is_judged(node: ast.stmt, judged: set[str]) -> bool:
    """Return whether a statement is a constant, or sets only names in `judged`."""
    if isinstance(node, ast.Assign):
        return all(isinstance(each, ast.Name) and each.id in judged for each in node.targets)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
