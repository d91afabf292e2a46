"""Messages of the library, which speak of Python's arguments, in the words of a command."""

import re
from collections.abc import Mapping

from typer.models import OptionInfo

from dpjax.cli._table import Table, option_of
from dpjax.core.errors import neutral

_KEPT = r"(?<!\w)'[^']*'(?!\w)|\{\w+\}|\([^()]*,[^()]*\)"
"""What a message quotes: texts, a program's placeholders, the arguments of a function."""

_OBJECTS = {
    r"(?:method=)?(?:dpjax\.)?Events\(\)": "--method events",
    r"(?:method=)?(?:dpjax\.)?Local\(\)|\ALocal\b": "--method local",
    r"(?:method=)?(?:dpjax\.)?Histogram\(\)|\AHistogram\b": "--method histogram",
    r"Recorded\(x, y\)": "--samples X Y",
    r"\bdpjax\.HostMechanism\b": "--host",
    r"\bbatched=False": "--one-by-one",
    r"\bdiscrete=True": "--discrete",
    r"\bdiscrete=False": "--continuous",
    r", inputs and input_interval\b": " and --input-width",
    r"\binput_interval\b": "--input-width",
    r"\bdraws_per_second\b": "--rate",
    r"\bprecision, confidence\b": "--precision, --confidence",
}
"""Pattern of what is an object or a value in Python -> the option."""


def options_of(table: Table) -> dict[str, str]:
    """Parameter of a command -> how its option is written."""
    return {
        name: row.info.param_decls[0].split("/")[0] if row.info.param_decls else option_of(name)
        for name, row in table.items()
        if isinstance(row.info, OptionInfo)
    }


def in_options(text: str, options: Mapping[str, str]) -> str:
    """A message with options in place of Python's words, and without control characters.

    A name of one word may be plain English, so it is replaced only where the message begins with it
    or gives its value.

    Args:
        text: The message.
        options: Parameter -> option.
    """
    rules = dict(_OBJECTS)
    for name, option in options.items():
        rules[rf"(?<=\s){name}=(?=\S)"] = f"{option} "
        alone = rf"(?<![\w/.-]){name}(?![\w/-]|\.\w)"
        rules[alone if "_" in name else rf"\A{name}(?= must | '|,)"] = option
    patterns = "|".join([_KEPT, *(f"({pattern})" for pattern in rules)])
    texts = list(rules.values())
    said = re.sub(patterns, lambda m: texts[m.lastindex - 1] if m.lastindex else m[0], text)
    return neutral(said)
