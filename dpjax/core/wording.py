"""Messages whose argument names can be shown in Python's form or as command-line options.

Errors and notes use Python's names, such as `num_samples` and `method=Events()`; the command line
uses the options `--num-samples` and `--method events`. Messages mark Python names with `term`, so
that the command line can replace each name by an option.
"""

import re
import textwrap
from collections.abc import Mapping
from typing import Self

_TERM = re.compile("\x00([^\x01]*)\x01([^\x02]*)\x02")
"""Pattern of a marked word; its groups are the word's Python form and its command-line option.

If a marked word states no option, the option is the Python name with dashes in place of
underscores.
"""


def term(python: str, option: str = "") -> str:
    """Mark a word that a `Sentence` may replace by a command-line option.

    Args:
        python: Name of an argument, or a piece of code such as "method=Events()".
        option: Option such as "--method events", which replaces the word in messages of a command
            that has this option. If `option` is empty, the word is replaced by the option that has
            the same name as the word.
    """
    return f"\x00{python}\x01{option}\x02"


EVENTS = term("method=Events()", "--method events")
DISCRETE = term("discrete=True")
CONTINUOUS = term("discrete=False")
ON_HOST = term("dpjax.HostMechanism", "--host")
ONE_BY_ONE = term("batched=False")
NO_WORKERS = term("workers=0", "--workers 0")
NO_RESTART = term("restart=False", "no --restart")
OUTCOMES = term("special='outcomes'", "--special 'outcomes'")
# The marked words above name alternatives that multiple messages suggest.


class Sentence(str):
    """A message that names Python arguments, and that can name command-line options instead.

    Args:
        marked: Text of the message, with words marked by `term`.
    """

    marked: str

    def __new__(cls, marked: str) -> Self:
        """Create the message with the Python form of each marked word."""
        sentence = super().__new__(cls, _TERM.sub(r"\1", marked))
        sentence.marked = marked
        return sentence

    def __deepcopy__(self, memo: object) -> str:
        """Return a plain string, so that `dataclasses.asdict` returns plain strings."""
        return str(self)

    def in_options(self, options: Mapping[str, str]) -> str:
        """Return the message with marked words replaced by the options of a command.

        Args:
            options: Command-line option of each Python argument. A marked word is kept if the
                command has no such option.
        """
        known = {*options.values()}

        def said(found: re.Match[str]) -> str:
            python, option = found[1], found[2] or options.get(found[1], "")
            return option if option.partition(" ")[0] in known else python

        return _TERM.sub(said, self.marked)


COLUMNS = 100
"""Width of printed results, in characters."""

_HANGING = 15


def printed_row(name: str, text: str, *, padded: bool = True) -> str:
    """Return a row of a printed result, with continuation lines indented."""
    return textwrap.fill(
        text,
        COLUMNS,
        initial_indent=f"  {name:<12} " if padded else f"  {name} ",
        subsequent_indent=" " * _HANGING,
        break_long_words=False,
        break_on_hyphens=False,
    )


class Doubt(Sentence):
    """A note that outputs may not be independent; every bound assumes independent draws."""


class Unvaried(Sentence):
    """A note that all outputs were the same on each side of a pair.

    Args:
        counts: Numbers of outputs from the database and from its neighbor, or the text of the note.
        pair: Label of the pair.
    """

    pair: str

    def __new__(cls, counts: tuple[int, int] | str, pair: str = "") -> Self:
        """Create the note from counts or from its text."""
        if not isinstance(counts, str):
            counts = (
                f"All {counts[0]} outputs at the database were the same, and all {counts[1]} "
                "outputs at its neighbor were the same. The mechanism may draw no random "
                "numbers, or the same random numbers on every call."
            )
        note = super().__new__(cls, counts)
        note.pair = pair
        return note


def _about(text: str) -> Sentence:
    """Return a text as a `Sentence`; the first word of a plain string is marked."""
    if isinstance(text, Sentence):
        return text
    first = "" if text.startswith("\x00") else text.partition(" ")[0].rstrip(",")
    return Sentence(term(first) + text.removeprefix(first) if first else text)


class BadValue(ValueError):
    """A `ValueError` about an argument, whose name is the first word of the message.

    Args:
        text: The message, in which further words may be marked by `term`.
    """

    def __init__(self, text: str):
        super().__init__(_about(text))


class BadType(TypeError):
    """A `TypeError` about an argument, whose name is the first word of the message."""

    def __init__(self, text: str):
        super().__init__(_about(text))


def in_options(text: object, options: Mapping[str, str]) -> str:
    """Return a message, or the text of an error, with marked words replaced by a command's options.

    Args:
        text: An error, a `Sentence` or plain text.
        options: Command-line option of each Python argument.
    """
    if isinstance(text, BaseException) and len(text.args) == 1:
        text = text.args[0]
    return text.in_options(options) if isinstance(text, Sentence) else str(text)
