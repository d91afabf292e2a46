"""MkDocs hooks that make the website work offline, including its search.

MkDocs calls the functions whose names begin with `on_`; see mkdocs.yml.
"""

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.utils import get_relative_url

_SCRIPT = "assets/javascripts/offline.js"

_SHIM = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"></script>')
"""Script from another host with which Material searches in local files."""

# A browser cannot start a worker from a local file, so start it from a string in the page.
_WORKER = """"use strict";
if (location.protocol === "file:") {
  const source = %s;
  const Plain = Worker;
  window.Worker = function () {
    return new Plain(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  };
}
// Make wide tables scrollable with the keyboard.
addEventListener("load", () => {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
  // Do the same for code blocks. Material removes their tabindex on devices that cannot hover.
  for (const block of document.querySelectorAll(".md-typeset pre > code")) {
    const reach = () => {
      if (block.scrollWidth > block.clientWidth && block.tabIndex < 0) block.tabIndex = 0;
    };
    new MutationObserver(reach).observe(block, { attributeFilter: ["tabindex"] });
    reach();
  }
});
"""


def on_post_page(output: str, page: Any, config: MkDocsConfig) -> str:
    """Replace the script from another host, and label the search for screen readers."""
    return _own(output, get_relative_url(_SCRIPT, page.url))


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """Do the same for the error page."""
    return _own(output, f"/{_SCRIPT}") if template_name == "404.html" else output


def on_post_build(config: MkDocsConfig) -> None:
    """Write the script, which contains Material's search worker.

    Raises:
        ValueError: If the theme does not contain exactly one search worker.
    """
    site = Path(config.site_dir)
    (worker,) = (site / "assets" / "javascripts" / "workers").glob("search.*.min.js")
    source = re.sub(r"//# sourceMappingURL=.*", "", worker.read_text(encoding="utf-8"))
    (site / _SCRIPT).write_text(_WORKER % json.dumps(source), encoding="utf-8")


def _own(output: str, script: str) -> str:
    output = _SHIM.sub(f'<script src="{script}"></script>', output)
    search = 'data-md-component="search" role="dialog"'
    return output.replace(search, f'{search} aria-label="Search"')
