"""Sentences that name arguments, in the words of Python or in those of a command.

Errors and notes speak of `num_samples` and `method=Events()`; the command line says `--num-samples`
and `--method events`. Whoever writes a sentence marks these words, so that nobody searches it for
them.
"""

import re
import textwrap
from collections.abc import Mapping
from typing import Self

_TERM = re.compile("\x00([^\x01]*)\x01([^\x02]*)\x02")
"""A marked word: as in Python, and as in a command where that is not its name with dashes."""


def term(python: str, option: str = "") -> str:
    """Mark a word for a `Sentence`.

    Args:
        python: Name of an argument, or a piece of code such as "method=Events()".
        option: What a command that has this option says instead, such as "--method events"; for
            the name of an argument, its option if empty.
    """
    return f"\x00{python}\x01{option}\x02"


EVENTS = term("method=Events()", "--method events")
DISCRETE = term("discrete=True")
CONTINUOUS = term("discrete=False")
ON_HOST = term("dpjax.HostMechanism", "--host")
ONE_BY_ONE = term("batched=False")
NO_WORKERS = term("workers=0", "--workers 0")
OUTCOMES = term("special='outcomes'", "--special 'outcomes'")
# Ways out that several sentences name.


class Sentence(str):
    """A text in the words of Python that a command can say in its own.

    Args:
        marked: The text, with the words of Python from `term`.
    """

    marked: str

    def __new__(cls, marked: str) -> Self:
        """Make the text in the words of Python."""
        sentence = super().__new__(cls, _TERM.sub(r"\1", marked))
        sentence.marked = marked
        return sentence

    def __deepcopy__(self, memo: object) -> str:
        """The text alone, for `dataclasses.asdict` makes plain values by copies."""
        return str(self)

    def in_options(self, options: Mapping[str, str]) -> str:
        """The text in the words of a command.

        Args:
            options: Argument of Python -> option of the command. Words that it lacks stay.
        """
        known = {*options.values()}

        def said(found: re.Match[str]) -> str:
            python, option = found[1], found[2] or options.get(found[1], "")
            return option if option.partition(" ")[0] in known else python

        return _TERM.sub(said, self.marked)


COLUMNS = 100
"""Width of printed results."""

_HANGING = 15
"""Columns before the text of a printed row."""


def printed_row(name: str, text: str, *, padded: bool = True) -> str:
    """A row of a printed result, whose further lines are indented.

    Args:
        name: Name of the row.
        text: The text; without its own ends of lines.
        padded: Whether the text begins in the column of the texts, or right after the name.
    """
    return textwrap.fill(
        text,
        COLUMNS,
        initial_indent=f"  {name:<12} " if padded else f"  {name} ",
        subsequent_indent=" " * _HANGING,
        break_long_words=False,
        break_on_hyphens=False,
    )


class Doubt(Sentence):
    """A note that outputs may not be independent draws, on which every bound rests."""


def _about(text: str) -> Sentence:
    """The text with its first word marked."""
    if isinstance(text, Sentence):
        return text
    first = "" if text.startswith("\x00") else text.partition(" ")[0].rstrip(",")
    return Sentence(term(first) + text.removeprefix(first) if first else text)


class BadValue(ValueError):
    """A `ValueError` about an argument: the first word of its sentence is the argument's name.

    Args:
        text: The sentence; more of its words may be marked by `term`.
    """

    def __init__(self, text: str):
        super().__init__(_about(text))


class BadType(TypeError):
    """A `TypeError` about an argument; see `BadValue`."""

    def __init__(self, text: str):
        super().__init__(_about(text))


def in_options(text: object, options: Mapping[str, str]) -> str:
    """An error or a text of the library in the words of a command.

    Args:
        text: Any error, `Sentence` or text.
        options: Argument of Python -> option of the command.
    """
    if isinstance(text, BaseException) and len(text.args) == 1:
        text = text.args[0]
    return text.in_options(options) if isinstance(text, Sentence) else str(text)
