"""Figures of pages contain text as text and unique ids, and pages can change their colors."""

import re
from xml.etree import ElementTree

import pytest

from dpjax.plotting import figure_svg, legend_within, new_figure
from dpjax.plotting._svg import _of_page

pytest.importorskip("matplotlib")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def drawn():
    figure, axes = new_figure(size=(4, 3))
    axes.plot([0, 1], [0, 1], color="#1b6ca8", label='#1b6ca8 id="x" <b>&')
    axes.plot([0, 1], [1, 0], color="black", label="y" * 60)
    axes.set(xlabel="url(#a)")
    legend_within(axes, "upper right", "both")
    return figure_svg(figure, "one", "A <title>\x1b", "What & how")


def test_it_is_an_image_with_a_title_and_a_description(drawn):
    root = ElementTree.fromstring(drawn)
    assert root.get("role") == "img"
    named = {element.get("id"): element.text for element in root if element.get("id")}
    first, second = root.get("aria-labelledby").split()
    assert (named[first], named[second]) == ("A <title>\\x1b", "What & how")
    assert "\x1b" not in drawn


def test_texts_are_texts_and_as_they_were(drawn):
    texts = {"".join(t.itertext()) for t in ElementTree.fromstring(drawn).iter(f"{SVG}text")}
    assert {'#1b6ca8 id="x" <b>&', "url(#a)", "both", f"{'y' * 40}…"} <= texts
    assert "font-family:" not in drawn and "<style" not in drawn and "<metadata" not in drawn


def test_bold_texts_stay_bold(drawn):
    styles = {"".join(text.itertext()): text.get("style") for text in
              ElementTree.fromstring(drawn).iter(f"{SVG}text")}  # fmt: skip
    assert [name for name, style in styles.items() if "font-weight" in style] == ["both"]
    assert "font-size: 10px" in styles["both"] and "font-size: 9px" in styles[f"{'y' * 40}…"]


def test_fonts_of_an_older_matplotlib():
    """Before 3.11, one property held weight, size and family."""
    bold = _of_page("<text style=\"font: bold 10.5px 'DejaVu Sans', serif; text-anchor: a\">", "n")
    assert bold == '<text style="font-size: 10.5px; font-weight: bold; text-anchor: a">'
    assert _of_page("<text style=\"font: 9px 'DejaVu Sans'\">", "n") == (
        '<text style="font-size: 9px">'
    )


def test_ids_and_colors_are_of_the_page(drawn):
    ids = [e.get("id") for e in ElementTree.fromstring(drawn).iter() if e.get("id")]
    assert len(set(ids)) == len(ids) and all(name.startswith("one-") for name in ids)
    tags = " ".join(re.findall(r"<[^<>]*>", drawn))
    used = set(re.findall(r'(?:href="#|url\(#)([^")]*)', tags))
    assert used and used <= set(ids)
    assert "stroke: var(--dpjax-database, #1b6ca8)" in tags and "stroke: currentColor" in tags
    assert "#000000" not in tags and "#ffffff" not in tags
