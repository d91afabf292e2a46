"""Subjects of recipes: sources that can be restored by name if the user permits it."""

from dpjax.core import validate
from dpjax.core.types import JsonObject
from dpjax.sources import SOURCES, Source, Trust


def subject_to_plain(source: Source) -> JsonObject | None:
    """Return the kind, name and options of a source, or None if no name identifies the source.

    The name is the name of a built-in mechanism, MODULE:NAME of an importable object, the command
    that runs a program, or the path of a file.
    """
    content = source.to_plain()
    return None if content is None else {"kind": source.kind, **content}


def subject_from_plain(content: object, database: object, trust: Trust) -> Source:
    """Restore a source from the content that `subject_to_plain` returned.

    Args:
        content: Kind, name and options of the source, from a recipe.
        database: Database of the first pair, or None if there are no pairs.
        trust: Modules that may be imported, and whether programs may be run.

    Raises:
        ValueError: If the subject is not permitted, is not known, or cannot be restored.
        TypeError: If `content` has the wrong form.
    """
    options = validate.check_table("the recipe's subject", content)
    kind = options.pop("kind", None)
    if not isinstance(kind, str) or kind not in SOURCES:
        raise ValueError(
            f"the recipe's subject has the unknown kind {kind!r}: pass the subject itself."
        )
    return SOURCES[kind].from_plain(options, database, trust)
