"""Messages that can show argument names either as Python names or as command-line options.

Errors and notes use Python's names, such as `num_samples` and `method=Events()`; the command line
uses the options `--num-samples` and `--method events`. Messages mark Python names with `term`, so
that the command line can replace each name with an option.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Self

_TERM = re.compile("\x00([^\x01]*)\x01([^\x02]*)\x02")
"""Pattern for a marked word; the groups are the word's Python form and command-line option.

If the second group is empty, the option is the Python name with dashes in place of underscores.
"""


def term(python: str, option: str = "") -> str:
    """Mark a word that a `Sentence` can replace with a command-line option.

    Args:
        python: Name of an argument, or a piece of code such as "method=Events()".
        option: Option, such as "--method events". In the messages of a command that has this
            option, the option replaces the word. If `option` is empty, the option has the same name
            as the word.
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
ERRORS = term("special='error'", "--special 'error'")
# The marked words above name alternatives that multiple messages suggest.

NOTHING = "None"
"""Name of the outcome None, which a function without a return statement returns."""


class Sentence(str):
    """A message about Python arguments that can be converted to refer to command-line options.

    Args:
        marked: Text of the message, with words marked by `term`.
    """

    marked: str

    def __new__(cls, marked: str) -> Self:
        """Create the message, in which each marked word has its Python form."""
        sentence = super().__new__(cls, _TERM.sub(r"\1", marked))
        sentence.marked = marked
        return sentence

    def __deepcopy__(self, memo: object) -> str:
        """Return a plain string, so that `dataclasses.asdict` returns plain strings."""
        return str(self)

    def in_options(self, options: Mapping[str, str]) -> str:
        """Return the message with marked words replaced by the options of a command.

        Args:
            options: Map from each Python argument to its command-line option. A marked word keeps
                its Python form if the command has no option for it.
        """
        known = {*options.values()}

        def said(found: re.Match[str]) -> str:
            python, option = found[1], found[2] or options.get(found[1], "")
            return option if option.partition(" ")[0] in known else python

        return _TERM.sub(said, self.marked)


COLUMNS = 100
"""Width of printed results, in characters."""

_HANGING = 15


def confidence_text(confidence: float) -> str:
    """Return a confidence level as text, such as "0.999" or "1 - 1e-09"."""
    text = f"{confidence:g}"
    return f"1 - {1 - confidence:.2g}" if text == "1" else text


def amount(number: int, noun: str) -> str:
    """Return a number and its noun, such as "1 round" or "3 rounds"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
    """A note that the outputs may be dependent, although bounds assume independent draws."""


class Unvaried(Sentence):
    """A note that, on each side of a pair, all outputs were equal.

    Args:
        counts: Numbers of outputs from the database and from its neighbor, or the complete text of
            the note.
        pair: Label of the pair.
        failure: Error with which every call for every pair ended, such as "error: ValueError"; or
            NOTHING if every call returned None; or None if some call returned an output.
        errors: For each side, the error with which every call for this pair ended, or None.
        first: Sentence about the first error, or "".
    """

    pair: str
    failure: str | None
    first: str

    def __new__(
        cls,
        counts: tuple[int, int] | str,
        pair: str = "",
        failure: str | None = None,
        errors: tuple[str | None, str | None] = (None, None),
        first: str = "",
    ) -> Self:
        """Create the note from the numbers of outputs, or from the note's complete text."""
        if not isinstance(counts, str):
            same = ["the same" if error is None else repr(error) for error in errors]
            counts = (
                f"All {counts[0]} outputs from the database were {same[0]}, and all {counts[1]} "
                f"outputs from its neighbor were {same[1]}."
            )
            if errors == (None, None):
                counts += (
                    " Perhaps the mechanism draws no random numbers, or draws the same random "
                    "numbers on every call."
                )
            counts += first
        note = super().__new__(cls, counts)
        note.pair, note.failure, note.first = pair, failure, first
        return note


class Powerless(Sentence):
    """A note that the audit could not have refuted the claim, even if the mechanism leaks."""


class SameOutputs(Powerless):
    """A note that both databases gave the same outputs for the same keys or seeds.

    Results with a bound above zero do not have this note, because their counts differ.
    """


def _about(text: str) -> Sentence:
    """Convert a string to a `Sentence`. In a plain string, the first word is marked."""
    if isinstance(text, Sentence):
        return text
    first = "" if text.startswith("\x00") else text.partition(" ")[0].rstrip(",")
    return Sentence(term(first) + text.removeprefix(first) if first else text)


class BadValue(ValueError):
    """A `ValueError` about an argument, whose name is the first word of the message.

    Args:
        text: The message, in which more words may be marked by `term`.
    """

    def __init__(self, text: str):
        super().__init__(_about(text))


class BadType(TypeError):
    """A `TypeError` about an argument, whose name is the first word of the message."""

    def __init__(self, text: str):
        super().__init__(_about(text))


def prefixed(prefix: str, error: Exception) -> Sentence:
    """Return the message of an error after a prefix; marked words stay marked."""
    text = _message(error)
    return Sentence(f"{prefix}: {text.marked if isinstance(text, Sentence) else text}")


def _message(error: BaseException) -> object:
    """Return the message of an error, which is a `Sentence` if words in it are marked."""
    return error.args[0] if len(error.args) == 1 else str(error)


def in_options(text: object, options: Mapping[str, str]) -> str:
    """Return the text of a message or error, with a command's options in place of marked words.

    Args:
        text: An error, a `Sentence` or plain text.
        options: Map from each Python argument to its command-line option.
    """
    if isinstance(text, BaseException):
        text = _message(text)
    return text.in_options(options) if isinstance(text, Sentence) else str(text)


def listed(words: Sequence[str]) -> str:
    """Join words with commas, and with "and" before the last word."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
