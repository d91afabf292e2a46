"""What docstrings need to be read as Markdown: a product or a star is no emphasis."""

import re
from typing import Any

import griffe

_STAR = re.compile(r"`[^`]*`|(?<=\S)\*|\*(?=\s)")
"""A star, but for those before a name, as in **options; what is in backticks comes as a whole."""


class PlainStars(griffe.Extension):
    """Escapes stars in docstrings."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Changes the docstring of a class, a function, a module or an attribute."""
        if obj.docstring is not None:
            text = obj.docstring.value
            obj.docstring.value = _STAR.sub(lambda star: r"\*" if star[0] == "*" else star[0], text)
