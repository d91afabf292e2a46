"""Inputs named on the command line: objects of Python, pairs of databases, and standard input."""

import importlib
import io
import json
import sys
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import ModuleType

from dpjax.cli._table import Value

_BEGINNINGS = {
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"{": ".jsonl",
}
"""Map from the first bytes of a file to the suffix of the file's format."""

_PART = 2**20
"""Maximum number of bytes that are read from standard input at a time."""


def object_of(path: str, option: str) -> Value:
    """Import and return the object that MODULE:NAME or FILE.py:NAME names.

    If there is no such name, the error proposes functions or, for `--pairs`, other objects.

    Raises:
        ValueError: If `path` is neither MODULE:NAME nor FILE.py:NAME, or if the module cannot
            be imported.
    """
    from dpjax.core.errors import nearest

    module, _, attribute = path.rpartition(":")
    if not module or not attribute:
        raise ValueError(f"{option} must be MODULE:NAME or FILE.py:NAME, but was {path!r}.")
    folder, file = Path.cwd(), None
    if module.endswith(".py"):
        file = Path(module)
        if not file.is_file():
            raise ValueError(f"{option} {path!r}: there is no file {module}.")
        # Import the module by name so that worker processes can import it too.
        folder, module = file.resolve().parent, file.stem
    sys.path.insert(0, str(folder))
    try:
        found = importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # Includes the SystemExit that sys.exit() raises.
        what = str(error) if isinstance(error, ImportError) else repr(error)
        raise ValueError(f"{option} {path!r}: the module cannot be imported: {what}.") from None
    origin = getattr(found, "__file__", None)
    if file is not None and (origin is None or not file.samefile(origin)):
        raise ValueError(
            f"{option} {path!r}: Python finds another module named {module!r} ({origin}): rename "
            "the file."
        )
    try:
        # The name may be that of a method, as in release.py:counter.release.
        return attrgetter(attribute)(found)
    except AttributeError:
        calls = option != "--pairs"
        names = [
            name
            for name, value in vars(found).items()
            if callable(value) == calls and not isinstance(value, ModuleType)
        ]
        hint = nearest(attribute, [name for name in names if not name.startswith("_")])
        raise ValueError(f"{option} {path!r}: the module has no {attribute!r}; {hint}") from None


def is_object(text: str) -> bool:
    """Return whether a value of `--pairs` is MODULE:NAME or FILE.py:NAME."""
    _, colon, name = text.rpartition(":")
    return bool(colon) and all(map(str.isidentifier, name.split("."))) and not Path(text).is_file()


def pairs_of(text: str, *, any_kind: bool = False, reads_tables: bool = False) -> Value:
    """Read pairs of databases from JSON on the command line, from a file, or from Python code.

    Args:
        text: JSON that begins with "[", the name of a file, or FILE.py:NAME or MODULE:NAME, where
            NAME is an object that `dpjax.audit` accepts as pairs.
        any_kind: Whether databases may be any JSON values, as for host mechanisms. If `any_kind` is
            False, all databases must be numeric arrays of the same shape, which are stacked.
        reads_tables: Whether to read the tables if all databases are names of csv or Parquet files.

    Raises:
        ValueError: If the text, the file or the object contains no pairs.
    """
    if is_object(text):
        return _pairs_of_object(text, any_kind)
    from dpjax.core.files import read_document, refuse_endless
    from dpjax.core.frames import read_frame
    from dpjax.databases import Pairs
    from dpjax.partitions.previews import shortened
    from dpjax.sources.readers import npz_array

    path, inline = Path(text), text.lstrip().startswith("[")
    form = "JSON [[database, neighbor], ...] or an npz file with arrays named database and neighbor"
    if not inline:
        refuse_endless("--pairs", path)
    try:
        if not inline and path.suffix == ".npz":
            database, neighbor = (npz_array(path, name) for name in ("database", "neighbor"))
            # Stacking would round the databases of a host mechanism to float32.
            return (
                list(zip(database, neighbor, strict=True))
                if any_kind
                else Pairs(database, neighbor)
            )
        content = json.loads(text if inline else read_document("--pairs", path))
        rows = [tuple(row) for row in content if isinstance(row, list) and len(row) == 2]
        if not isinstance(content, list) or not rows or len(rows) != len(content):
            raise ValueError("one pair is written as [[database, neighbor]]")
        if reads_tables and all(map(_is_table, chain.from_iterable(rows))):
            return [tuple(read_frame(Path(name), "--pairs") for name in row) for row in rows]
        return rows if any_kind else Pairs.of(rows)
    except (ValueError, TypeError, OSError) as error:
        said = str(error).rstrip(".")
        raise ValueError(f"--pairs {shortened(text)} must be {form}: {said}.") from None
    except Exception as error:
        # Damaged archives and deeply nested JSON raise exceptions of other types.
        raise ValueError(
            f"--pairs {shortened(text)} must be {form}, but is damaged "
            f"({type(error).__name__}: {error})."
        ) from error


def _is_table(database: Value) -> bool:
    """Return whether a database is the name of a csv or Parquet file that exists."""
    from dpjax.core.frames import is_frame_file

    return isinstance(database, str) and is_frame_file(path := Path(database)) and path.is_file()


def _pairs_of_object(path: str, any_kind: bool) -> Value:
    from dpjax.databases import Pairs
    from dpjax.databases._pairs import rows_of
    from dpjax.databases.spaces import Space, as_space

    found: Value = as_space(object_of(path, "--pairs"))
    if isinstance(found, Pairs | Space):
        return found
    try:
        return rows_of(found) if any_kind else Pairs.of(found)
    except Exception as error:  # Iterating over an arbitrary object may raise any exception.
        raise ValueError(f"--pairs {path!r}: {error}") from None


def standard_input(folder: str) -> Path:
    """Save standard input to a file, so that the data can be read more than once.

    The file is created in `folder`. The suffix of the file is determined by the first bytes of the
    input.

    Raises:
        ValueError: If standard input is empty, or exceeds the limit `piped_bytes`.
    """
    from dpjax.core.semicolons import has_semicolons
    from dpjax.core.validate import within_limit

    path, size, first = Path(folder, "standard-input"), 0, b""
    with path.open("wb") as file:
        while part := sys.stdin.buffer.read(_PART):
            first, size = first or part, size + len(part)
            within_limit("piped_bytes", size, "standard input has too many bytes")
            file.write(part)
    if not size:
        raise ValueError("standard input must contain outputs for --samples -, but was empty.")
    kind = next((kind for start, kind in _BEGINNINGS.items() if first.startswith(start)), None)
    if kind is None:
        line = first.split(b"\n", 1)[0]
        lines = io.StringIO(first.decode("utf-8", "replace"), newline="")
        is_csv = b"," in line or has_semicolons(lines)
        kind = ".csv" if is_csv else ".tsv" if b"\t" in line else ".txt"
    return path.rename(path.with_suffix(kind))
