"""Display of results in a notebook; only the small figure needs an optional package."""

from dpjax.core.notebook import html_rows, html_text

_TONES = {
    "violated": "#c4362b",
    "not random": "#c4362b",
    "assumption refuted": "#b86a00",
    "doubtful": "#b86a00",
}
"""Map from verdicts to the color of the left edge; other verdicts have the text's color."""


def notebook_html(
    kind: str, headline: str, sentence: str, rows: list[tuple[str, str]], svg: str | None
) -> str:
    """Return the HTML that a notebook displays for a result.

    Args:
        kind: The verdict, such as "violated", which determines the color.
        headline: The verdict in a few words.
        sentence: The verdict in full.
        rows: Rows of the table, each of which is a pair (name, text).
        svg: The figure as an SVG element, or None if matplotlib is not installed.
    """
    line = "solid" if kind in _TONES else "dashed"
    edge = f"border-left: .4em {line} {_TONES.get(kind, 'currentColor')}; padding-left: .8em"
    return (
        f'<div style="max-width: 50em"><div style="{edge}"><strong>{html_text(headline)}.</strong> '
        f"{html_text(sentence)}</div>{html_rows(rows)}"
        f"{'' if svg is None else f'<div style=max-width:26em>{svg}</div>'}</div>"
    )
