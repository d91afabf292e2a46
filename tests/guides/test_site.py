"""The website: MkDocs builds it without a warning, and it loads nothing from other hosts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpjax.guides import NAMES
from dpjax.mechanisms import CATALOGUE

ROOT = Path(__file__).parents[2]

pytest.importorskip("mkdocs", reason="scripts/test --lowest installs no tools of the site")
pytestmark = pytest.mark.slow


def test_the_site(tmp_path):
    """A single test, because parallel test processes would each build the site."""
    folder = tmp_path / "site"
    config = ROOT / "scripts" / "site" / "mkdocs.yml"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    every_page_is_there(folder)
    the_front_page_shows_how_to_start(folder)
    pictures_are_legible_on_a_telephone(folder)
    pictures_suit_both_schemes(folder)
    no_page_loads_anything_of_another_host(folder)
    links_lead_between_guides_and_to_search(folder)


def every_page_is_there(site):
    pages = [f"{name}.html" for name in NAMES] + ["index.html", "gallery/index.html"]
    pages += ["commands.html", "api/index.html"]
    pages += [f"mechanisms/{name}.html" for name in CATALOGUE]
    assert [page for page in pages if not (site / page).exists()] == []
    assert [path.name for path in (site / "gallery").glob("*.png")] == ["figure4.png"]


def the_front_page_shows_how_to_start(site):
    page = (site / "index.html").read_text()
    assert page.count("How private is it really?") >= 1
    assert all(f'id="first-audit-{panel}-title"' in page for panel in ("tests", "outputs"))
    assert all(text in page for text in ("In Python", "In a terminal", "In a test suite"))
    gallery = (site / "gallery" / "index.html").read_text()
    assert gallery.count("With confidence 0.999, ") >= 5
    assert "--num-samples" in (site / "commands.html").read_text()
    overview = (site / "api" / "index.html").read_text()
    assert 'href="dpjax.html#dpjax.audit.audit"' in overview
    reference = (site / "api" / "dpjax.html").read_text()
    # Inherited methods of a result are also documented.
    for name in ("lower_bound", "verdict", "report", "to_json"):
        assert f'id="dpjax.results._result.AuditResult.{name}"' in reference


def pictures_are_legible_on_a_telephone(site):
    """A page of 400 pixels leaves 353 for a picture: two margins of 16, and a scroll bar of 15."""
    for page, least in (("index.html", 2), ("gallery/index.html", 14)):
        pictures = _pictures((site / page).read_text())
        assert len(pictures) >= least
        for picture in pictures:
            width = float(re.search(r'viewBox="0 0 ([\d.]+) ', picture)[1])
            smallest = min(map(float, re.findall(r"font-size: ([\d.]+)px", picture)))
            assert smallest * 353 / width >= 10, picture[:400]
    text = (site / "gallery" / "index.html").read_text()
    names = re.findall(r'\sid="([^"]+)"', "".join(_pictures(text)))
    assert len(names) == len(set(names))
    # The search index contains sentences, but not the numbers on the axes of pictures.
    assert "false alarm: event under" not in (site / "search/search_index.json").read_text()


def pictures_suit_both_schemes(site):
    """Ink has the color of the page's text, and the dark scheme has the colors of result pages."""
    for page in ("index.html", "gallery/index.html"):
        for picture in _pictures((site / page).read_text()):
            fixed = re.findall(r"(?:fill|stroke): #(?:000000|3b3b3b|ffffff)", picture)
            assert fixed == [] and "currentColor" in picture
    template = (ROOT / "dpjax" / "report" / "templates" / "page.html").read_text()
    of_results = set(re.findall(r"--dpjax-\w+: #\w+", template))
    assert len(of_results) == 4
    assert set(re.findall(r"--dpjax-\w+: #\w+", (site / "site.css").read_text())) == of_results


def _pictures(page):
    return re.findall(r"<svg [^>]*aria-labelledby=.*?</svg>", page, re.S)


def no_page_loads_anything_of_another_host(site):
    tags = r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=\"?(?:https?:)?//[^\">]*"
    for page in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = page.read_text()
        assert not re.findall(tags, text), page
        assert not re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//", text), page


def links_lead_between_guides_and_to_search(site):
    page = (site / "first-audit.html").read_text()
    assert 'href="verdict.html"' in page and "dpjax guide verdict" not in page
    assert "calibrate_noise" in (site / "search" / "search_index.json").read_text()
    assert "dpjax.HostMechanism" in (site / "api" / "dpjax.html").read_text()
    # Markdown would read these stars of a formula as emphasis.
    assert "h ln(q* (1 - p*) / (p* (1 - q*)))" in (site / "mechanisms/rappor.html").read_text()
