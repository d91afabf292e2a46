"""Refusal of labels that are objects which equal only themselves."""

import re
from types import CoroutineType, GeneratorType

from dpjax.core.wording import BadValue

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Pattern of the memory address in the text of an object, which is no part of its value."""

_CONTENTS = {
    CoroutineType: "wrap the async function in a function that returns asyncio.run(...)",
    GeneratorType: "return its contents, as a list, or the only value that it yields",
}
"""Advice on objects that have to be run to get their contents."""


def refuse_identity(label: object) -> None:
    """Raise an error if a label has no hash, or is an object that equals only itself.

    Outputs that are such objects would all differ, even if their contents are equal.

    Raises:
        TypeError: If the label has no hash.
        BadValue: If the label equals only itself.
    """
    hash(label)
    by_identity = type(label).__eq__ is object.__eq__ or isinstance(label, frozenset)
    if by_identity and ADDRESS.search(repr(label)):
        advice = _CONTENTS.get(type(label), "return its contents, such as a dict of its attributes")
        raise BadValue(f"{label!r:.80}, an object that equals only itself: {advice}.")
