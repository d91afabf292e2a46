"""`dpjax guide`: the guides that are included in the package."""

from collections.abc import Iterable

from dpjax.cli._table import Table, Value, argument

EXAMPLES = ("dpjax guide", "dpjax guide first-audit", "dpjax guide verdict | less")


def _guides() -> Iterable[str]:
    from dpjax.guides import NAMES

    return NAMES


TABLE: Table = {
    "name": argument(
        str,
        "Name of a guide. If no name is given, all guides are listed.",
        required=False,
        words=_guides,
    )
}


def command(**given: Value) -> None:
    """Show a guide, as in `dpjax guide first-audit`, or list all guides.

    A terminal shows the guide formatted; a pipe receives the guide in Markdown.
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
