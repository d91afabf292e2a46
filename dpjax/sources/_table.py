"""The kinds of sources by name, and the conversion of subjects to sources."""

from typing import TYPE_CHECKING, Any

from dpjax.core.lazy import Classes
from dpjax.sources._recognized import recognized
from dpjax.sources._source import Source

if TYPE_CHECKING:
    from dpjax.sources._family import Family

SOURCES: Classes[Any] = Classes(
    "dpjax.sources",
    {
        "mechanism": "_drawn:Drawn",
        "host": "_host:HostMechanism",
        "command": "_command:CommandMechanism",
        "samples": "_recorded:Recorded",
        "one_run": "_one_run:OneRun",
        "canary_runs": "_canary_runs:CanaryRuns",
        "object": "libraries._mechanism:LibraryMechanism",
        "member": "_family:Member",
    },
)
"""Map from the kind that a recipe names to the corresponding source class."""


def as_source(subject: object) -> Source:
    """Convert the subject of an audit to a source."""
    if isinstance(subject, Source):
        return subject
    kind, options = recognized(subject)
    return SOURCES[kind](subject, **options)


def family_of(subject: object) -> "Family | None":
    """Return the subject if the subject is a family, and None otherwise."""
    if getattr(subject, "kind", None) != "family":
        return None
    from dpjax.sources._family import Family

    return subject if isinstance(subject, Family) else None
