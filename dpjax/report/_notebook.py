"""Results in a notebook: the verdict, the numbers and a small figure, without an extra."""

from dpjax.core.notebook import html_rows, html_text

_TONES = {"violated": "#c4362b", "assumption refuted": "#b86a00", "doubtful": "#b86a00"}
"""Verdict -> color of its edge; any other has that of the text."""


def notebook_html(
    kind: str, headline: str, sentence: str, rows: list[tuple[str, str]], svg: str | None
) -> str:
    """What a notebook shows of a result.

    Args:
        kind: Of verdict.
        headline: In a few words.
        sentence: In whole.
        rows: Names and texts of the numbers.
        svg: The figure; None where matplotlib is missing.
    """
    line = "solid" if kind in _TONES else "dashed"
    edge = f"border-left: .4em {line} {_TONES.get(kind, 'currentColor')}; padding-left: .8em"
    return (
        f'<div style="max-width: 50em"><div style="{edge}"><strong>{html_text(headline)}.</strong> '
        f"{html_text(sentence)}</div>{html_rows(rows)}"
        f"{'' if svg is None else f'<div style=max-width:26em>{svg}</div>'}</div>"
    )
