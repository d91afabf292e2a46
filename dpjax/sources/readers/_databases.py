"""Files with the outputs of both databases, in which a column names the database of each row."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dpjax.core.wording import BadValue, term
from dpjax.sources.readers._recording import Recording, names_in
from dpjax.sources.readers._rows import two_values

_SHOWN = 60
"""Maximum number of characters that a note quotes from a name."""


def recordings_by(
    where: str | Path | Sequence[str | Path],
    by: str | int,
    column: str | int | Sequence[str | int] | None = None,
) -> tuple[Recording, Recording]:
    """Return the recordings of both databases, if a column of the files names the database.

    Args:
        where: Files, as in `Recording`.
        by: Column with two values, one for each database.
        column: Column of the outputs, as in `Recording`; or None if there is only one column
            besides `by`.

    Raises:
        ValueError: If the column `by` does not have two values, or if it is also the column of the
            outputs; if `column` is None although there are several other columns; or if folders
            have the names of both databases.
    """
    named = Recording(where, by)
    _refuse_folders(by, named.paths)
    if column is None:
        column = _column_beside(named.paths[0], by)
    # The value does not matter: this refuses a column that names the database of its own outputs.
    Recording(where, column, by, "").refuse_same_columns()
    first, second = two_values(by, named.chunks())
    return Recording(where, column, by, first), Recording(where, column, by, second)


def _refuse_folders(by: str | int, paths: Sequence[Path]) -> None:
    """Raise ValueError if the column `by` has a value in the name of each folder, as in Spark."""
    parents = {parent for path in paths for parent in path.parents}
    folders = sorted(str(parent) for parent in parents if parent.name.startswith(f"{by}="))
    if folders and by not in names_in(paths[0], None):
        raise BadValue(
            f"{term('by')} must name a column in the files, but {by!r} is in the names of folders: "
            f"pass the files of {folders[0]} as one side, and those of {folders[-1]} as the other "
            "side."
        )


def _column_beside(path: Path, by: str | int) -> str:
    """Return the name or index of the only column of a file besides the column `by`."""
    found = names_in(path, by)
    names = [name for place, name in enumerate(found) if str(by) not in (name, str(place))]
    if len(names) == 1:
        return names[0]
    which = f"which has {len(names) or 'no'} columns besides {by!r}"
    if names:
        which += f": {', '.join(map(repr, names))}"
    if not found:  # The readers of some formats do not list columns.
        which = f"which may hold several arrays besides {by!r}"
    raise BadValue(f"{term('column')} must name the outputs in {path}, {which}, but was None.")


def are_of_one_file(x: object, y: object) -> bool:
    """Return whether two sides are rows of the same files with different values in a column."""
    if not isinstance(x, Recording) or not isinstance(y, Recording) or x.by is None:
        return False
    return x.value != y.value and x == replace(y, value=x.value)


def notes_of_other_names(x: object, y: object) -> list[str]:
    """Return a note if the outputs of two files are in columns of different names.

    Columns that were chosen by their names are not compared.
    """
    if not isinstance(x, Recording) or not isinstance(y, Recording):
        return []
    names = [side.names for side in (x, y)]
    if len(names[0]) != len(names[1]) or names[0] == names[1]:
        return []
    first, second = next(pair for pair in zip(*names, strict=True) if pair[0] != pair[1])
    return [
        f"A column of the outputs has the name {first[:_SHOWN]!r} in {x.paths[0]} and the name "
        f"{second[:_SHOWN]!r} in {y.paths[0]}. If these are different columns, the bound does not "
        "hold: choose the columns by their names."
    ]


def shared_path(x: Recording, y: Recording) -> str | None:
    """Return the path of a file of which two recordings contain the same outputs, or None.

    Two recordings of one file share no outputs if they have different columns, or if a column names
    the database of each row and the recordings are of different databases.
    """
    files = {origin[:2]: path for origin, path in y.origins.items()}
    for origin, path in x.origins.items():
        if origin[:2] not in files:
            continue
        (columns, by), (others, other_by) = x.places(path), y.places(files[origin[:2]])
        # A recording without a column contains all columns.
        is_apart = bool(columns and others) and not {*columns} & {*others}
        if not is_apart and (by != other_by or x.value == y.value):
            return path
    return None
