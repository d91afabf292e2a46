"""Recognition of a Python object that the command line names without saying what it is."""

from contextlib import ExitStack

from dpjax.cli._audit_options import SOURCES
from dpjax.cli._given import object_of
from dpjax.cli._importing import importing
from dpjax.cli._seal import untouched
from dpjax.cli._table import Value


def recognized(written: dict[str, Value], stack: ExitStack) -> tuple[dict[str, Value], bool]:
    """Import FILE.py:NAME or MODULE:NAME, and name it by the option for its kind.

    The option is --function for a JAX function, --host for another Python function, and --object
    for an object of a privacy library or a family. With --by, the name is that of a file, and the
    option is --samples.

    Args:
        written: Options from the command line.
        stack: Exit stack for the check that the imported code does not modify dpjax.

    Returns:
        The options, and whether code was imported. If the command line names no such object, or
        more than one thing to audit, the options are unchanged.

    Raises:
        ValueError: If the object cannot be imported.
    """
    path, others = written.get("mechanism", ""), {**written}
    if len({*SOURCES} & {*written}) > 1:
        return written, False
    if path and "by" in written:
        del others["mechanism"]
        return {**others, "samples": (path, path)}, False
    if ":" not in path:
        return written, False
    with importing():
        from dpjax.sources import family_of
        from dpjax.sources._recognized import recognized as kind_of
    stack.enter_context(untouched())
    found = object_of(path, SOURCES["mechanism"])
    kind, options = ("object", {}) if family_of(found) else kind_of(found)
    del others["mechanism"]
    return {**options, **others, {"mechanism": "function"}.get(kind, kind): path}, True
