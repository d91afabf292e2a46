"""Names of files in the messages of errors."""

import csv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpjax.sources.readers._entries import MissingEntry

_SHOWN = 1000
"""Maximum length, in characters, of an error message about a file."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Return a context manager that adds the name of a file to the message of any exception."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(
            f"samples file {path} cannot be read: it is not UTF-8 (byte {error.start} of what "
            f"was read is {error.object[error.start]:#04x}); save it as UTF-8."
        ) from None
    except MissingEntry as error:
        raise MissingEntry(
            f"samples file {path} {_shortened(error.found)}", f"{error.advice}."
        ) from None
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, csv.Error) as error:
        text = _shortened(str(error))
        joint = "" if text.startswith(("must", "has", "mixes")) else "cannot be read: "
        end = "" if text.endswith("?") else "."
        raise ValueError(f"samples file {path} {joint}{text}{end}") from None
    except ImportError:
        raise
    except Exception as error:
        # Third-party readers may raise any exception for a damaged file.
        raise ValueError(
            f"samples file {path} cannot be read: it is damaged, or its format is not "
            f"known ({type(error).__name__}: {_shortened(str(error))})."
        ) from error


def _shortened(text: str) -> str:
    """Shorten a message that may be long because it quotes the content of a file."""
    text = text.rstrip(".")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
