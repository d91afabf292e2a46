"""`dpjax guide`: the guides that travel with the package."""

from dpjax.cli._table import Table, Value, argument

EXAMPLES = ("dpjax guide", "dpjax guide first-audit", "dpjax guide verdict | less")


def _guides_like(incomplete: str) -> list[str]:
    """What a shell offers for a guide."""
    from dpjax.guides import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


TABLE: Table = {
    "name": argument(
        str, "Of a guide; without one, the list of them.", default=None, autocompletion=_guides_like
    )
}
"""The options."""


def command(**given: Value) -> None:
    """Shows a guide, such as `dpjax guide first-audit`, or the list of all of them.

    A terminal gets it laid out, a pipe its Markdown.
    """
    from dpjax.guides import NAMES, read_guide, title_of

    if given["name"] is None:
        width = max(map(len, NAMES))
        for known in NAMES:
            print(f"{known:<{width}}  {title_of(known)}")
        return
    text = read_guide(given["name"])
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    if console.is_terminal:
        console.print(Markdown(text))
    else:
        print(text, end="")
