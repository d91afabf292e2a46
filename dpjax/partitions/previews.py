"""Short descriptions of outputs and databases, for messages."""

import re

import numpy as np

from dpjax.core.errors import text_of
from dpjax.core.types import Database

_SHOWN = 80
"""Maximum length, in characters, of a string that a message quotes."""

_RUN = re.compile(r"\bnumber(?:, number){7,}\b")
"""Pattern of many numbers in a list, in the structure of a nested output."""


def shortened(text: str) -> str:
    """Return a string, or only its beginning if it is long."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def name_of_structure(structure: str) -> str:
    """Return the name of a structure such as "(number, number)", with long runs as "9 numbers"."""
    return shortened(_RUN.sub(lambda run: f"{run[0].count('number')} numbers", structure))


def preview(raw: object) -> str:
    """Describe a batch, for a message, by its type and by its shape, length or text."""
    if isinstance(raw, np.ndarray):
        return f"an array of {raw.dtype} of the shape {list(raw.shape)}"
    if isinstance(raw, list | tuple):
        return f"a {type(raw).__name__} of length {len(raw)}"
    return described(raw)


def described(item: object) -> str:
    """Describe an output, for a message, by its text and its type."""
    return f"{shortened(text_of(item))} ({type(item).__name__})"


def preview_database(database: Database) -> str:
    """Describe a database for a message."""
    return shortened(text_of(database))
