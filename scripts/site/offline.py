"""What lets the site work without a network: search in files, and no address of another host.

MkDocs calls the functions that begin with `on_`; see mkdocs.yml.
"""

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.utils import get_relative_url

_SCRIPT = "assets/javascripts/offline.js"

_SHIM = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"></script>')
"""How Material loads the search in files that lie on a disk: from another host."""

# A browser starts no worker from a file, but from a text that the page holds.
_WORKER = """"use strict";
if (location.protocol === "file:") {
  const source = %s;
  const Plain = Worker;
  window.Worker = function () {
    return new Plain(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  };
}
// Tables that are wider than a telephone are scrolled by keys, too.
addEventListener("load", () => {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
  // So are blocks of code. Material removes their index on devices that cannot hover.
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
    """Takes the other host's script out, and gives the search a name for screen readers."""
    return _own(output, get_relative_url(_SCRIPT, page.url))


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """The same for the page that is shown where there is none."""
    return _own(output, f"/{_SCRIPT}") if template_name == "404.html" else output


def on_post_build(config: MkDocsConfig) -> None:
    """Writes the script, with the search that Material brought.

    Raises:
        ValueError: When the theme no longer has such a file.
    """
    site = Path(config.site_dir)
    (worker,) = (site / "assets" / "javascripts" / "workers").glob("search.*.min.js")
    source = re.sub(r"//# sourceMappingURL=.*", "", worker.read_text(encoding="utf-8"))
    (site / _SCRIPT).write_text(_WORKER % json.dumps(source), encoding="utf-8")


def _own(output: str, script: str) -> str:
    output = _SHIM.sub(f'<script src="{script}"></script>', output)
    search = 'data-md-component="search" role="dialog"'
    return output.replace(search, f'{search} aria-label="Search"')
