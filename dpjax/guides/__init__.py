"""Guides in Markdown that are installed with the package; `dpjax guide` shows them."""

from importlib.resources import files

from dpjax.core.errors import nearest

NAMES = (
    "first-audit",
    "any-language",
    "recorded-outputs",
    "libraries",
    "neighbors",
    "in-ci",
    "on-github",
    "verdict",
    "how-many-samples",
    "stop-early",
    "training",
    "library-loops",
    "one-run",
    "synthetic-data",
    "texts",
    "dependent-outputs",
    "sweeps",
    "empirical-privacy",
    "notions",
    "local-approach",
    "speed",
    "how-it-works",
    "citing",
    "changelog",
)
"""Names of all guides, in the recommended reading order."""


def read_guide(name: str) -> str:
    """Return the text of a guide in Markdown; the first line of the text is the title.

    Args:
        name: One of `NAMES`.

    Raises:
        ValueError: If no guide has this name; the message suggests the most similar name.
    """
    if name not in NAMES:
        raise ValueError(f"guide {name!r} is not known; {nearest(name, list(NAMES))}")
    return (files(__name__) / f"{name}.md").read_text(encoding="utf-8")


def title_of(name: str) -> str:
    """Return the title of a guide.

    Raises:
        ValueError: If no guide has this name.
    """
    return read_guide(name).partition("\n")[0].removeprefix("# ")


def citation() -> str:
    """Return the citation of dpjax in the Citation File Format, which tools can read."""
    return (files("dpjax") / "CITATION.cff").read_text(encoding="utf-8")
