"""The site: MkDocs makes it without a warning, and it asks no other host for anything."""

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
    """One test, for processes that share the tests would each make a site of their own."""
    folder = tmp_path / "site"
    config = ROOT / "scripts" / "site" / "mkdocs.yml"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    every_page_is_there(folder)
    the_front_page_shows_how_to_start(folder)
    no_page_loads_anything_of_another_host(folder)
    links_lead_between_guides_and_to_search(folder)


def every_page_is_there(site):
    pages = [f"{name}.html" for name in NAMES] + ["index.html", "gallery/index.html"]
    pages += ["commands.html", "api/index.html"]
    pages += [f"mechanisms/{name}.html" for name in CATALOGUE]
    assert [page for page in pages if not (site / page).exists()] == []
    assert len(list((site / "gallery").glob("*.png"))) >= 8


def the_front_page_shows_how_to_start(site):
    page = (site / "index.html").read_text()
    assert "first-audit.png" in page and page.count("How private is it really?") >= 1
    assert all(text in page for text in ("In Python", "In a terminal", "In a test suite"))
    gallery = (site / "gallery" / "index.html").read_text()
    assert gallery.count("With confidence 0.999, ") >= 5
    assert "--num-samples" in (site / "commands.html").read_text()
    overview = (site / "api" / "index.html").read_text()
    assert 'href="dpjax.html#dpjax.audit.audit"' in overview


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
    # Stars of a formula, which Markdown would take for emphasis.
    assert "h ln(q* (1 - p*) / (p* (1 - q*)))" in (site / "mechanisms/rappor.html").read_text()
