"""What `dpjax audit` audits: a built-in mechanism, a function, a program, or recorded files."""

import dataclasses
import importlib
import json
import sys
from pathlib import Path
from typing import Any

_OF_HOST = ("workers", "timeout", "special", "bits", "time_limit")
_OF_SAMPLES = ("discrete", "bits", "search_fraction", "blocks")


def subject_and_pairs(source: str, written: dict[str, Any], progress: Any) -> tuple[Any, Any]:
    """What `dpjax.audit` takes first: the subject, and its pairs or None.

    Args:
        source: The parameter that names what is audited.
        written: Parameter of the command -> value, of those that were given.
        progress: Called by a mechanism of the host with (outputs so far, of how many).

    Raises:
        ValueError: An option is not of its form, or missing.
    """
    if source == "samples":
        return _recorded(written), None
    on_host = source in ("host", "command")
    path = written.get("pairs")
    if path is None and source != "mechanism" and "input_width" not in written:
        raise ValueError(f"--{source} needs --pairs, a file with [[database, neighbor], ...].")
    pairs = None if path is None else _read_pairs(path, any_kind=on_host)
    if source == "mechanism":
        return _built_in(written), pairs
    if source == "function":
        return _function(written, pairs), pairs
    from dpjax.sources import CommandMechanism, HostMechanism

    options = {name: written[name] for name in _OF_HOST if name in written}
    if source == "command":
        return CommandMechanism(written["command"], progress=progress, **options), pairs
    batched = not written.get("one_by_one", False)
    function = _import_function(written["host"], "--host")
    return HostMechanism(function, batched=batched, progress=progress, **options), pairs


def _built_in(written: dict[str, Any]) -> Any:
    from dpjax._errors import nearest
    from dpjax.mechanisms import find_mechanism

    name = written["mechanism"]
    cls = find_mechanism(name)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    settings = [f"epsilon={written['epsilon']!r}"] if "epsilon" in written else []
    values: dict[str, Any] = {}
    for setting in settings + list(written.get("param", ())):
        key, _, text = setting.partition("=")
        key = key.replace("-", "_")
        if key not in fields:
            raise ValueError(f"{name} has no parameter {key!r}; {nearest(key, list(fields))}.")
        kind = int if isinstance(fields[key].default, int) else float
        try:
            values[key] = kind(text)
        except ValueError:
            raise ValueError(
                f"--param {key} must be {'an integer' if kind is int else 'a number'}, but was "
                f"{text!r}."
            ) from None
    return cls(**values)


def _function(written: dict[str, Any], pairs: Any) -> Any:
    function = _import_function(written["function"], "--function")
    if "num_outcomes" not in written:
        return function
    if pairs is None:
        raise ValueError("--num-outcomes needs --pairs: finitely many outputs have no width.")
    from dpjax.databases._trees import nth
    from dpjax.mechanisms import from_function

    return from_function(function, nth(pairs.database, 0), num_outcomes=written["num_outcomes"])


def _recorded(written: dict[str, Any]) -> Any:
    """Files are counted in chunks; the local approach's densities need arrays."""
    from dpjax.sources import Recorded
    from dpjax.sources.readers import Recording, read_samples

    columns = written.get("column", [])
    if len(columns) > 2:
        raise ValueError(
            f"--column must be given at most twice, for X and for Y, but was {len(columns)} times."
        )
    column_of_each = [columns[0], columns[-1]] if columns else [None, None]
    places = list(zip(written["samples"], column_of_each, strict=True))
    x, y = (Recording(*place) for place in places)
    names = [f"{side.name}:{side.column}" if len(columns) > 1 else side.name for side in (x, y)]
    options = {name: written[name] for name in _OF_SAMPLES if name in written}
    recorded = Recorded(x, y, name=" / ".join(names), **options)
    if written["method"] != "local":
        return recorded
    return dataclasses.replace(
        recorded, **{side: read_samples(*place) for side, place in zip("xy", places, strict=True)}
    )


def _import_function(path: str, option: str) -> Any:
    module, _, attribute = path.partition(":")
    if not module or not attribute:
        raise ValueError(f"{option} must be MODULE:NAME, but was {path!r}.")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() and input() among them
        what = str(error) if isinstance(error, ImportError) else repr(error)
        raise ValueError(f"{option} {path!r}: the module cannot be imported: {what}.") from None
    try:
        return getattr(found, attribute)
    except AttributeError:
        raise ValueError(f"{option} {path!r}: the module has no {attribute!r}.") from None


def _read_pairs(path: Path, *, any_kind: bool = False) -> Any:
    """Pairs of a file: stacked numbers, or, for mechanisms of the host, whatever JSON holds."""
    from dpjax._files import read_document, refuse_endless
    from dpjax.databases import Pairs
    from dpjax.sources.readers import npz_array

    refuse_endless("--pairs", path)
    form = "JSON [[database, neighbor], ...] or an npz file with the arrays database and neighbor"
    try:
        if path.suffix == ".npz":
            database, neighbor = (npz_array(path, name) for name in ("database", "neighbor"))
            # Before a mechanism of the host, they keep their digits.
            return (
                list(zip(database, neighbor, strict=True))
                if any_kind
                else Pairs(database, neighbor)
            )
        content = json.loads(read_document("--pairs", path))
        rows = [tuple(row) for row in content if isinstance(row, list) and len(row) == 2]
        if not isinstance(content, list) or not rows or len(rows) != len(content):
            raise ValueError("it holds something else")
        return rows if any_kind else Pairs.of(rows)
    except (ValueError, TypeError, OSError) as error:
        text = str(error).rstrip(".")
        raise ValueError(f"--pairs {path} must be {form}: {text}.") from None
    except Exception as error:
        # Archives and deep nesting raise whatever their readers do.
        raise ValueError(
            f"--pairs {path} must be {form}, but is damaged ({type(error).__name__}: {error})."
        ) from error
