"""The metadata of series and frames of pandas, which outputs reveal beside their entries.

Metadata are the name of a series, the names of an index and of the columns, and categories other
than those that the entries imply. A name may contain a confidential number of rows, for instance.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dpjax.partitions._identity import ADDRESS


class Categorized(list[Any]):
    """The entries of a column of categories.

    Args:
        entries: The entries.
        text: Description of the categories.
        unused: Categories that no entry has.
    """

    __slots__ = ("text", "unused")

    def __init__(self, entries: Iterable[Any], text: str, unused: Sequence[Any]):
        super().__init__(entries)
        self.text, self.unused = text, unused


def metadata(item: Any) -> str:
    """Describe the metadata of a series or frame, such as "the name 'n3'".

    The text is empty if there are none, as in most outputs. A frame's categories are not included,
    since looking for them takes long; see `categorized`.
    """
    index, found = item.index, []
    if item.ndim == 1:
        if (name := item.name) is not None:
            found.append(f"the name {_text(name)}")
        if _has_categories(type(item.dtype)) and (text := _of_categories(item.array)):
            found.append(text)
    else:
        found += _of_index(item.columns, "column")
    found += _of_index(index, "index")
    return " and ".join(found) if found else ""


def with_metadata(structure: str, text: str) -> str:
    """Return the text of a structure with a description of the metadata."""
    return f"{structure} with {text}" if text else f"{structure} without a name"


def categorized(column: Any, entries: Any) -> Any:
    """Return the entries of a column, as `Categorized` if they do not imply its categories."""
    if not _has_categories(type(column.dtype)) or not (text := _of_categories(column.array)):
        return entries
    entries = [*entries]
    used = {*entries}
    unused = [label for label in column.array.categories.tolist() if label not in used]
    return Categorized(entries, text, unused)


def numbers_of_metadata(item: Any) -> dict[str, float]:
    """Return the number of a summary that stands for the metadata of an output."""
    has_names = hasattr(type(item), "iloc") and hasattr(type(item), "index")
    text = metadata(item) if has_names else ""
    return {f"has {text}": 1.0} if text else {}


def unused_categories(columns: Any) -> dict[str, float]:
    """Return a number for each category of a frame's columns that no row has.

    Args:
        columns: Map from the name of each column to its entries.
    """
    return {
        f"{name} has a category without rows, {_text(category)}": 1.0
        for name, column in columns.items()
        if isinstance(column, Categorized)
        for category in column.unused
    }


@lru_cache
def _has_categories(kind: type) -> bool:
    """Return whether the dtype of a column or the type of an index is one of categories."""
    return kind.__name__ in ("CategoricalDtype", "CategoricalIndex")


@lru_cache
def _has_parts(kind: type) -> bool:
    """Return whether an index has categories or multiple levels, each of which has a name."""
    return kind.__name__ == "MultiIndex" or _has_categories(kind)


def _of_index(index: Any, noun: str) -> list[str]:
    """Describe the names of an index or of the columns, and the categories of their labels."""
    if index.name is None and not _has_parts(type(index)):
        return []
    found, names = [], [*index.names]
    if any(name is not None for name in names):
        found.append(f"the {noun} name {' and '.join(map(_text, names))}")
    if _has_categories(type(index)) and (text := _of_categories(index)):
        found.append(f"{text} of its {noun}")
    return found


def _of_categories(column: Any) -> str:
    """Describe the categories of an array or index, unless they are its sorted values."""
    categories = column.categories.tolist()
    if not column.ordered and categories == _in_order({*column.tolist()} & {*categories}):
        return ""
    order = "ordered " if column.ordered else ""
    return f"the {order}categories [{', '.join(map(_text, categories))}]"


def _in_order(values: Iterable[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:  # Labels of different types have no order.
        return []


def _text(label: Any) -> str:
    """Return the text of a name. Equal names of NumPy and Python have equal texts."""
    return ADDRESS.sub("", repr(label.item() if isinstance(label, np.generic) else label))
