"""Figures of the website, each made by the code that is shown below it.

Figures of results are inline SVG elements, which are stacked on narrow screens. Thus their text is
legible, and their colors follow the color scheme of the page.
"""

import io
import re
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import dpjax
from dpjax.empirical import plot_empirical_curves, plot_empirical_noise
from dpjax.plotting import figure_svg
from dpjax.results._panels import Panel, panels, panels_of_every_notion
from scripts.site.blocks import blocks_of


@dataclass(frozen=True)
class Figure:
    """A figure and the code that makes it.

    Attributes:
        name: Name of the file without the extension.
        title: Title of the section.
        description: Description of the figure, which is also its alternative text.
        language: Language of the code.
        code: Code that makes the figure.
        pictures: HTML elements that show the figure.
        found: Sentence with the result; empty if there is no result.
        content: PNG file that `pictures` refers to as `name`.png, or None.
    """

    name: str
    title: str
    description: str
    language: str
    code: str
    pictures: str
    found: str
    content: bytes | None = None


_DRAWN = (
    (
        "numbers",
        "Numbers and the counted event",
        "Densities of Laplace noise for two databases, the loss of each cell, and the event for "
        "which the databases differ most, as a band.",
        """import dpjax
from dpjax.mechanisms import Laplace

result = dpjax.audit(Laplace(1.25), [(0.0, 1.0)], claim=1.0)
result.plot("figure.png")""",
    ),
    (
        "outcomes",
        "Outcomes",
        "Frequencies of the four answers of randomized response for two true answers, with their "
        "losses.",
        """import dpjax
from dpjax.mechanisms import RandomizedResponse

result = dpjax.audit(RandomizedResponse(1.0, num_categories=4), claim=1.0)
result.plot("figure.png")""",
    ),
    (
        "mixed",
        "Numbers and labels combined",
        "Densities of the numbers and frequencies of the label. The function returns a number or "
        'the label "refused", which is more frequent for one of the databases.',
        """import dpjax
import numpy as np


def release(count, num_samples, seed):
    rng = np.random.default_rng(seed)
    answers = list(count + rng.laplace(size=num_samples))
    for i in np.flatnonzero(rng.random(num_samples) < 0.1 + 0.1 * count):
        answers[i] = "refused"
    return answers


result = dpjax.audit(dpjax.HostMechanism(release), [(0.0, 1.0)], claim=1.0)
result.plot("figure.png")""",
    ),
    (
        "vectors",
        "Vectors",
        "Outputs of two numbers with correlated noise. They differ in one direction, which the "
        "search found.",
        """import dpjax
import numpy as np


def release(count, num_samples, seed):
    noise = np.random.default_rng(seed).laplace(size=(num_samples, 2))
    return count * np.array([1.0, -1.0]) + noise @ [[1.0, 0.9], [0.9, 1.0]]


result = dpjax.audit(dpjax.HostMechanism(release), [(0.0, 0.3)], claim=1.0)
result.plot("figure.png")""",
    ),
    (
        "notions",
        "All notions from one audit",
        "Privacy profile, trade-off curve and Renyi divergences of Gaussian noise, each with a "
        "bound.",
        """import dpjax
from dpjax.mechanisms import Gaussian

result = dpjax.audit(Gaussian(1.0), [(0.0, 1.0)], notion=dpjax.Profile())
result.plot("figure.png")""",
    ),
    (
        "local",
        "The local approach",
        "Estimated densities of Laplace noise for two databases, and the loss at each output with "
        "the witness.",
        """import dpjax
from dpjax.mechanisms import Laplace

result = dpjax.audit(Laplace(1.0), [(0.0, 1.0)], method=dpjax.Local(), claim=1.0)
result.plot("figure.png")""",
    ),
    (
        "empirical",
        "Empirical privacy",
        "Delta of the worst individual and the total risk against epsilon, for a mean with data "
        "from 41 years.",
        """import dpjax
import numpy as np
from dpjax.empirical import plot_empirical_curves

places = np.random.default_rng(0).gamma(2.0, 480.0, 300)
years = places * np.exp(0.15 * np.random.default_rng(1).normal(size=(41, 300)))
levels = np.linspace(0, 3, 31)
result = dpjax.empirical_privacy(years, "mean", epsilon=levels, uncertainty=True)
plot_empirical_curves(result).savefig("figure.png")""",
    ),
    (
        "noise",
        "Sufficient noise",
        "A histogram of the noise that makes the mean empirically private, and its density.",
        """import dpjax
import numpy as np
from dpjax.empirical import plot_empirical_noise

places = np.random.default_rng(0).gamma(2.0, 480.0, 300)
years = places * np.exp(0.15 * np.random.default_rng(1).normal(size=(41, 300)))
noise = dpjax.calibrate_noise(years, "mean", epsilon=0.5)
plot_empirical_noise(noise).savefig("figure.png")""",
    ),
)
"""Tuples (name, title, description, code that writes figure.png)."""

_MEASURED = (
    (
        "figure4",
        "Figure 4 of the local approach",
        "Empirical distribution functions of the lower bounds of eight algorithms at three levels, "
        "from 24,000 audits.",
        "scripts/reproduce fig4",
        "2026-11-22-figure4.png",
    ),
)
"""Tuples (name, title, description, command, file in benchmarks/results)."""


def figures(root: Path) -> Iterator[Figure]:
    """Yield all figures; run the code of those that are drawn by the package.

    Args:
        root: Root folder of the repository.
    """
    for name, title, description, code in _DRAWN:
        names = _run(code, name)
        pictures = _pictures(names, name, title, description)
        yield Figure(name, title, description, "python", code, pictures, _found(names))
    for name, title, description, command, file in _MEASURED:
        content = (root / "benchmarks" / "results" / file).read_bytes()
        picture = f'<img src="{name}.png" alt="{escape(description)}">'
        # Eight panels are legible only at full size, so narrow pages scroll them. The tabindex
        # makes this possible with the keyboard.
        pictures = (
            f'<div class="scrolled" tabindex="0" role="region" aria-label="{title}">{picture}</div>'
        )
        yield Figure(name, title, description, "bash", command, pictures, "", content)


def first_audit(root: Path) -> str:
    """Return HTML elements with the figures of the first audit in README.

    Args:
        root: Root folder of the repository.
    """
    block = next(blocks_of((root / "README.md").read_text(encoding="utf-8")))
    names = _run(block.code, "first-audit")
    return _pictures(names, "first-audit", "A first audit", "")


def _run(code: str, name: str) -> dict[str, Any]:
    """Run code, and return the variables that it defines; discard the figure that it writes."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        written = re.sub(r'"(\w+\.png)"', lambda file: repr(str(Path(folder) / file[1])), code)
        # Discard what the code prints, because the page shows the result in a sentence.
        with redirect_stdout(io.StringIO()):
            exec(compile(written, name, "exec"), names)
    return names


def _pictures(names: dict[str, Any], name: str, title: str, description: str) -> str:
    """Return an SVG element for each panel of an example's result.

    Args:
        names: Variables that the example defines.
        name: Name of the example, which is the prefix of all element ids.
        title: Title of each panel, for screen readers.
        description: Description for screen readers of panels without a caption.
    """
    if "noise" in names:
        shown = [Panel("noise", plot_empirical_noise(names["noise"]), description)]
    elif not isinstance(result := names["result"], dpjax.AuditResult):
        shown = [Panel("curves", plot_empirical_curves(result), description)]
    elif isinstance(result.notion, dpjax.Profile):
        shown = panels_of_every_notion(result)
    else:
        shown = panels(result)
    drawn = (figure_svg(one.figure, f"{name}-{one.name}", title, one.caption) for one in shown)
    return f'<div class="pictures">{"".join(f"<figure>{svg}</figure>" for svg in drawn)}</div>'


def _found(names: dict[str, Any]) -> str:
    """Return a sentence with the result of an example and its verdict."""
    if "noise" in names:
        return f"Sufficient noise for epsilon = 0.5: {names['noise'].noise}."
    result = names["result"]
    if isinstance(result, dpjax.AuditResult):
        return f"**{result.verdict.capitalize()}.** {result.sentence}"
    return result.vanishing_sentence()
