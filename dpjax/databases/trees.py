"""Databases of any structure: arrays, and pytrees of arrays."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from dpjax.core.wording import ON_HOST, BadValue


def as_tree(database: Any) -> Any:
    """A database as arrays: a list of numbers is one array, a dict or a class keeps its structure.

    Args:
        database: Numbers of any shape, or a pytree of such.
    """
    if isinstance(database, dict):
        return {name: as_tree(part) for name, part in database.items()}
    if type(database) not in (list, tuple):
        if _is_leaf(database):
            return np.asarray(database)
        # A class, whose parts are as it says.
        return jax.tree.map(np.asarray, database)
    parts = [as_tree(part) for part in database]
    if len({_structure(part) for part in parts}) == 1 and isinstance(parts[0], np.ndarray):
        return np.asarray(database)
    return type(database)(parts) if parts else np.asarray(database)


def nth(stacked: Any, index: Any) -> Any:
    """The database at a place of a stack, or the stack of those at several places."""
    return jax.tree.map(lambda leaf: leaf[index], stacked)


def rows(stacked: Any) -> Any:
    """All databases of a stack, one by one; an array is that already."""
    if isinstance(stacked, np.ndarray):
        return stacked
    return [nth(stacked, index) for index in range(length(stacked))]


def length(stacked: Any) -> int:
    """How many databases a stack has."""
    return len(jax.tree.leaves(stacked)[0])


def stack(trees: Sequence[Any], side: str) -> Any:
    """One pytree with a leading axis.

    Args:
        trees: Of `as_tree`.
        side: Whose they are, for the message.

    Raises:
        ValueError: They differ in structure or shape, or hold no array.
    """
    if not jax.tree.leaves(trees[0]):
        raise BadValue(
            f"pairs must have databases of numbers, but one at the side {side} was "
            f"{trees[0]!r}: write a database without records as []."
        )
    if len({_structure(tree) for tree in trees}) > 1:
        shapes = sorted({shape_of(tree) for tree in trees})
        raise BadValue(
            f"pairs must all have databases of one shape at each side, but the shapes of {side} "
            f"were {', '.join(shapes)}: write those of one shape first in every pair, or wrap a "
            f"function of any databases as {ON_HOST}."
        )
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def shape_of(tree: Any) -> str:
    """Shapes of all parts, in words."""
    if hasattr(tree, "shape"):
        return str(tuple(tree.shape))
    named = jax.tree_util.tree_flatten_with_path(tree)[0]
    return "; ".join(f"{jax.tree_util.keystr(path)} {np.shape(leaf)}" for path, leaf in named)


def _is_leaf(database: Any) -> bool:
    return jax.tree_util.all_leaves([database])


def _structure(tree: Any) -> Any:
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple(np.shape(leaf) for leaf in leaves)
