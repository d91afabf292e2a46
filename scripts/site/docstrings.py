"""Griffe extension that prevents Markdown from reading stars in docstrings as emphasis."""

import re
from typing import Any

import griffe

_STAR = re.compile(r"`[^`]*`|(?<=\S)\*|\*(?=\s)")
"""A star, unless a name follows, as in **options.

Text in backticks is matched as a whole, so that its stars are kept.
"""


class PlainStars(griffe.Extension):
    """Escape stars in docstrings."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of a class, a function, a module or an attribute."""
        if obj.docstring is not None:
            text = obj.docstring.value
            obj.docstring.value = _STAR.sub(lambda star: r"\*" if star[0] == "*" else star[0], text)
