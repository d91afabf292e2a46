"""`dpjax guide`: the guides that travel with the package."""

import typer

from dpjax.cli._stop import ending_well


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("guide")(ending_well(guide))


def guide(
    name: str = typer.Argument(None, help="Of a guide; without one, the list of them."),
) -> None:
    """Shows a guide, such as `dpjax guide first-audit`, or the list of all of them.

    A terminal gets it laid out, a pipe its Markdown.
    """
    from dpjax.guides import NAMES, read_guide, title_of

    if name is None:
        width = max(map(len, NAMES))
        for known in NAMES:
            print(f"{known:<{width}}  {title_of(known)}")
        return
    text = read_guide(name)
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    if console.is_terminal:
        console.print(Markdown(text))
    else:
        print(text, end="")
