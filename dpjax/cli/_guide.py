"""`dpjax guide`: the guides that travel with the package."""

import typer

from dpjax.cli._stop import ending_well
from dpjax.cli._table import examples_text


def register(app: typer.Typer) -> None:
    """Adds the command."""
    epilog = examples_text("dpjax guide", "dpjax guide first-audit", "dpjax guide verdict | less")
    app.command("guide", epilog=epilog)(ending_well(guide))


def _guides_like(incomplete: str) -> list[str]:
    """What a shell offers for a guide."""
    from dpjax.guides import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


def guide(
    name: str = typer.Argument(
        None, help="Of a guide; without one, the list of them.", autocompletion=_guides_like
    ),
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
