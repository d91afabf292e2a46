"""Databases as arrays or pytrees of arrays."""

from collections.abc import Hashable, Sequence
from typing import TypeVar

import jax
import numpy as np

from dpjax.core.types import Database
from dpjax.core.wording import ON_HOST, BadValue

Tree = TypeVar("Tree")


def as_tree(database: Database) -> Database:
    """Convert a list of numbers to an array; in other structures, convert each leaf to an array."""
    if isinstance(database, dict):
        return {name: as_tree(part) for name, part in database.items()}
    if type(database) is list or type(database) is tuple:
        parts = [as_tree(part) for part in database]
        if len({_structure(part) for part in parts}) == 1 and isinstance(parts[0], np.ndarray):
            return np.asarray(database)
        return type(database)(parts) if parts else np.asarray(database)
    if jax.tree_util.all_leaves([database]):
        return np.asarray(database)
    # A class registered as a pytree defines its own leaves.
    return jax.tree.map(np.asarray, database)


def nth(stacked: Tree, index: int | slice | np.ndarray | jax.Array) -> Tree:
    """Return the database at an index of a stack; for multiple indices, return a stack."""
    return jax.tree.map(lambda leaf: leaf[index], stacked)


def rows(stacked: Database) -> np.ndarray | list[Database]:
    """Return the databases in a stack as a sequence."""
    if isinstance(stacked, np.ndarray):
        return stacked
    return [nth(stacked, index) for index in range(length(stacked))]


def length(stacked: Database) -> int:
    """Return the number of databases in a stack."""
    return len(jax.tree.leaves(stacked)[0])


def stack(trees: Sequence[Database], side: str) -> Database:
    """Stack pytrees of arrays along a new leading axis.

    Args:
        trees: Databases to stack.
        side: Name of the pairs' side for error messages.

    Raises:
        ValueError: If the databases differ in structure or shape, or if they hold no array.
    """
    if not jax.tree.leaves(trees[0]):
        raise BadValue(
            f"pairs must have databases of numbers, but a database on side {side!r} was "
            f"{trees[0]!r}: write a database without records as []."
        )
    if len({_structure(tree) for tree in trees}) > 1:
        shapes = sorted({shape_of(tree) for tree in trees})
        raise BadValue(
            f"pairs must have databases of the same shape on each side, but the shapes of {side} "
            f"were {', '.join(shapes)}: order each pair so that all databases on a side have the "
            f"same shape, or wrap the function in {ON_HOST}, which allows any shapes."
        )
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def shape_of(tree: Database) -> str:
    """Return a string that states the shapes of all parts of a database."""
    shape = getattr(tree, "shape", None)
    if shape is not None:
        return str(tuple(shape))
    named = jax.tree_util.tree_flatten_with_path(tree)[0]
    return "; ".join(f"{jax.tree_util.keystr(path)} {np.shape(leaf)}" for path, leaf in named)


def _structure(tree: Database) -> Hashable:
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple(np.shape(leaf) for leaf in leaves)
