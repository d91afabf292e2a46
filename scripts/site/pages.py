"""MkDocs hooks that generate pages from the package: home, mechanisms, API and gallery.

MkDocs calls the functions whose names begin with `on_`; see mkdocs.yml.
"""

import dataclasses
import inspect
import json
import re
import sys
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import dpjax  # noqa: E402
from dpjax.guides import NAMES, title_of  # noqa: E402
from dpjax.mechanisms import CATALOGUE, BuiltIn  # noqa: E402
from dpjax.reference import best_level  # noqa: E402
from dpjax.report import Shown  # noqa: E402
from scripts.site.commands import commands  # noqa: E402
from scripts.site.gallery import figures, first_audit  # noqa: E402
from scripts.site.home import home  # noqa: E402

_ASIDE = ("changelog", "citing")
"""Guides that have a separate place in the navigation."""

_PICTURES: dict[str, str] = {}
"""Map from the name of a placeholder to its HTML elements."""

_PACKAGES = (
    ("dpjax", "Main functions"),
    ("dpjax.mechanisms", "Mechanisms"),
    ("dpjax.databases", "Databases"),
    ("dpjax.testing", "Testing"),
    ("dpjax.notions", "Notions"),
    ("dpjax.results", "Results"),
    ("dpjax.sources.readers", "Recordings"),
    ("dpjax.sweeps", "Sweeps"),
    ("dpjax.empirical", "Empirical privacy"),
    ("dpjax.densities", "Densities"),
    ("dpjax.methods.histogram", "Histograms"),
    ("dpjax.methods.local", "Local approach"),
    ("dpjax.inference", "Inference"),
    ("dpjax.reference", "Exact levels"),
    ("dpjax.guides", "Guides"),
)
"""Tuples (public package, title in the navigation)."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the navigation."""
    config.nav = [
        {"Home": "index.md"},
        {"Guides": [{title_of(name): f"{name}.md"} for name in NAMES if name not in _ASIDE]},
        {
            "Mechanisms": [
                "mechanisms/index.md",
                *({name: f"mechanisms/{name}.md"} for name in CATALOGUE),
            ]
        },
        {"API": ["api/index.md", *({title: f"api/{name}.md"} for name, title in _PACKAGES)]},
        {"Commands": "commands.md"},
        {"Gallery": "gallery/index.md"},
        {"About": [{title_of(name): f"{name}.md"} for name in _ASIDE]},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and their figures."""
    pages: dict[str, str | bytes] = {
        "site.css": (ROOT / "scripts" / "site" / "site.css").read_text(),
        "index.md": home(_kept("first-audit", first_audit(ROOT)), _ASIDE),
        "commands.md": commands(),
        "api/index.md": _overview(),
        "mechanisms/index.md": _catalogue(),
    }
    pages |= {f"mechanisms/{name}.md": _mechanism(name, kind) for name, kind in CATALOGUE.items()}
    pages |= {f"api/{name}.md": _package(name, title) for name, title in _PACKAGES}
    pages |= _gallery()
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Replace references from guides to other guides with links."""
    if page.file.src_uri.removesuffix(".md") not in NAMES:
        return markdown

    def link(found: re.Match[str]) -> str:
        return f"[{title_of(found[1])}]({found[1]}.md)" if found[1] in NAMES else found[0]

    return re.sub(r"`dpjax guide ([a-z-]+)`", link, markdown)


def on_post_page(output: str, page: Any, config: MkDocsConfig) -> str:
    """Replace placeholders with pictures.

    This happens after the page is indexed, so that the search does not find text in pictures.
    """
    return re.sub(r'<div id="picture-([\w-]+)"></div>', lambda place: _PICTURES[place[1]], output)


def _kept(name: str, pictures: str) -> str:
    """Return a placeholder for pictures, which `on_post_page` replaces."""
    _PICTURES[name] = pictures
    return f'<div id="picture-{name}"></div>'


def _gallery() -> dict[str, str | bytes]:
    """Return the page of all figures, and the files of the figures."""
    sections = ["# Gallery\n"]
    pages: dict[str, str | bytes] = {}
    for figure in figures(ROOT):
        if figure.content is not None:
            pages[f"gallery/{figure.name}.png"] = figure.content
        sections += [
            f"## {figure.title} {{#{figure.name}}}\n",
            f"{_kept(figure.name, figure.pictures)}\n",
            f"{figure.description}\n\n{figure.found}\n\n```{figure.language}\n{figure.code}\n```\n",
        ]
    return pages | {"gallery/index.md": "\n".join(sections)}


def _catalogue() -> str:
    lines = [
        f"# {len(CATALOGUE)} mechanisms",
        "The exact epsilon is given for the default parameters of each mechanism.\n",
        "| name | outputs | exact epsilon | source |",
        "|---|---|---|---|",
    ]
    for name, kind in CATALOGUE.items():
        default = kind()
        lines.append(
            f"| [{name}]({name}.md) | {default.output_space} | {_level(default.level)} | "
            f"{kind.source} |"
        )
    return "\n".join(lines)


def _mechanism(name: str, kind: type[BuiltIn]) -> str:
    default = kind()
    parameters = {f.name: getattr(default, f.name) for f in dataclasses.fields(kind)}
    written = " ".join(f"--param {key}={value:g}" for key, value in parameters.items())
    given = ", ".join(f"{key}={value:g}" for key, value in parameters.items())
    claim = default.level if default.level < float("inf") else 1.0
    pairs = default.standard_pairs()
    facts = [
        ("Outputs", str(default.output_space)),
        ("Exact epsilon", f"{_level(default.level)} for {given}"),
        ("Largest epsilon of the standard pairs", _level(best_level(default, pairs))),
        ("Standard pairs", f"{len(pairs.labels)}, such as {pairs.labels[0]}"),
        ("Source", kind.source),
    ]
    return "\n".join(
        [
            f"# {name}\n",
            f"::: {kind.__module__}.{kind.__qualname__}",
            "    options: {members: false, show_root_heading: false, show_root_toc_entry: false}\n",
            "## Facts\n",
            "| property | value |",
            "|---|---|",
            *(f"| {key} | {value} |" for key, value in facts),
            "\n## Audit\n",
            f"```bash\ndpjax audit {name} {written} --claim {claim:.6g}\n```\n",
            "```python",
            f"import dpjax\nfrom dpjax.mechanisms import {kind.__name__}\n",
            f"print(dpjax.audit({kind.__name__}({given}), claim={claim:.6g}))\n```",
        ]
    )


def _level(level: float) -> str:
    return "infinite" if level == float("inf") else f"{level:.4g}"


def _overview() -> str:
    """Return a page that lists every public name of every package with a short description."""
    lines = ["# API\n", "Public names by package. Click a name to see its documentation.\n"]
    for name, title in _PACKAGES:
        lines += [f"## {title}\n", f"`{name}`\n", *_scanned(import_module(name)), ""]
    return "\n".join(lines)


def _scanned(module: ModuleType) -> list[str]:
    """Return a table of the public names of a package."""
    rows = []
    for public in _public(module):
        value = getattr(module, public)
        first = (inspect.getdoc(value) or "").partition("\n")[0].replace("|", "\\|")
        rows.append(f"| [`{public}`][{value.__module__}.{value.__qualname__}] | {first} |")
    return ["| name | description |", "|---|---|", *rows]


def _package(name: str, title: str) -> str:
    """Return the page of a package, which documents its public names as users import them."""
    module = import_module(name)
    lines = [
        f"# {title}",
        f"`{name}`: {(inspect.getdoc(module) or '').partition(chr(10))[0]}\n",
        *_scanned(module),
        "",
    ]
    # Document each name only once, on the page of the first package that contains it.
    earlier = [import_module(other) for other, _ in takewhile(lambda p: p[0] != name, _PACKAGES)]
    for public in _public(module):
        value = getattr(module, public)
        if any(getattr(other, public, None) is value for other in earlier):
            continue
        options = {"heading": f"{name}.{public}", "toc_label": public}
        if inspect.isclass(value) and issubclass(value, Shown):
            # Include inherited methods of results, such as `report` and `to_json`.
            options["inherited_members"] = True
        lines += [
            f"::: {value.__module__}.{value.__qualname__}",
            f"    options: {json.dumps(options)}\n",
        ]
    return "\n".join(lines)


def _public(module: ModuleType) -> list[str]:
    """Return the public functions and classes, except mechanisms, which have separate pages."""
    named = getattr(module, "__all__", None) or dir(module)
    return [
        name
        for name in sorted(named, key=lambda name: (inspect.isclass(getattr(module, name)), name))
        if not name.startswith("_")
        and (inspect.isclass(value := getattr(module, name)) or inspect.isfunction(value))
        and value.__module__.startswith("dpjax")
        and value not in CATALOGUE.values()
        and (module is dpjax or getattr(dpjax, name, None) is not value)
    ]
