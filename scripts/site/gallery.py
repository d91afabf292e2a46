"""The figures of the site: each is made by the code that is shown below it.

Figures of results are SVG elements of the page, one below the other on narrow screens: their text
stays legible, and their colors follow the page's scheme.
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
    """A picture with what made it.

    Attributes:
        name: Of its file, without the ending.
        title: Of its section.
        description: A sentence, which is also read to people who do not see it.
        language: Of the code.
        code: What makes it.
        pictures: HTML elements that show it.
        found: What it finds, in a sentence; empty where `description` says it.
        content: A png that `pictures` refers to as `name`.png, or None.
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
        "Numbers and the event that was counted",
        "Densities of Laplace noise at two databases, the loss of each cell, and the event in "
        "which they differ most, as a band.",
        """import dpjax
from dpjax.mechanisms import Laplace

result = dpjax.audit(Laplace(1.25), [(0.0, 1.0)], claim=1.0)
result.plot("figure.png")""",
    ),
    (
        "outcomes",
        "Outcomes",
        "Shares of the four answers of randomised response at two true answers, with the losses.",
        """import dpjax
from dpjax.mechanisms import RandomizedResponse

result = dpjax.audit(RandomizedResponse(1.0, num_categories=4), claim=1.0)
result.plot("figure.png")""",
    ),
    (
        "mixed",
        "Numbers and labels in one",
        "Densities of the numbers and shares of the label: the function answers with a number, or "
        "refuses, and refuses more often at one of the databases.",
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
        "Outputs of two numbers with noise that belongs together: they differ along one direction, "
        "which the search found.",
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
        "Every notion of one audit",
        "Privacy profile, trade-off curve and Renyi divergences of Gaussian noise, each with its "
        "lower bound.",
        """import dpjax
from dpjax.mechanisms import Gaussian

result = dpjax.audit(Gaussian(1.0), [(0.0, 1.0)], notion=dpjax.Profile())
result.plot("figure.png")""",
    ),
    (
        "local",
        "The local approach",
        "Estimated densities of Laplace noise at two databases, and the loss at each output with "
        "the witness.",
        """import dpjax
from dpjax.mechanisms import Laplace

result = dpjax.audit(Laplace(1.0), [(0.0, 1.0)], method=dpjax.Local(), claim=1.0)
result.plot("figure.png")""",
    ),
    (
        "empirical",
        "Empirical privacy",
        "Delta of the worst individual and the total risk against epsilon, for the mean of 41 "
        "years.",
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
        "Noise that is enough",
        "A histogram of the noise that makes the mean empirically private, with its density.",
        """import dpjax
import numpy as np
from dpjax.empirical import plot_empirical_noise

places = np.random.default_rng(0).gamma(2.0, 480.0, 300)
years = places * np.exp(0.15 * np.random.default_rng(1).normal(size=(41, 300)))
noise = dpjax.calibrate_noise(years, "mean", epsilon=0.5)
plot_empirical_noise(noise).savefig("figure.png")""",
    ),
)
"""(name, title, description, code that writes figure.png)."""

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
"""(name, title, description, command, file of benchmarks/results)."""


def figures(root: Path) -> Iterator[Figure]:
    """All of them; those of the package are drawn now.

    Args:
        root: Of the repository.
    """
    for name, title, description, code in _DRAWN:
        names = _run(code, name)
        pictures = _pictures(names, name, title, description)
        yield Figure(name, title, description, "python", code, pictures, _found(names))
    for name, title, description, command, file in _MEASURED:
        content = (root / "benchmarks" / "results" / file).read_bytes()
        picture = f'<img src="{name}.png" alt="{escape(description)}">'
        # Eight panels beside each other are legible only at full size, so a narrow page scrolls
        # them, by keys too.
        pictures = (
            f'<div class="scrolled" tabindex="0" role="region" aria-label="{title}">{picture}</div>'
        )
        yield Figure(name, title, description, "bash", command, pictures, "", content)


def first_audit(root: Path) -> str:
    """HTML elements with the figures of the audit at the top of README.

    Args:
        root: Of the repository.
    """
    block = next(blocks_of((root / "README.md").read_text(encoding="utf-8")))
    names = _run(block.code, "first-audit")
    return _pictures(names, "first-audit", "A first audit", "")


def _run(code: str, name: str) -> dict[str, Any]:
    """What a piece of code defines; the figure that it writes is thrown away."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        written = re.sub(r'"(\w+\.png)"', lambda file: repr(str(Path(folder) / file[1])), code)
        # What the code prints is shown elsewhere.
        with redirect_stdout(io.StringIO()):
            exec(compile(written, name, "exec"), names)
    return names


def _pictures(names: dict[str, Any], name: str, title: str, description: str) -> str:
    """An SVG element for each panel of what an example found.

    Args:
        names: What the example defines.
        name: Of the example, with which all ids begin.
        title: Of each panel, for screen readers.
        description: Of the panels that have no caption on a result page, for screen readers.
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
    """What an example found, in a sentence with its verdict."""
    if "noise" in names:
        return f"Enough noise for epsilon = 0.5: {names['noise'].noise}."
    result = names["result"]
    if isinstance(result, dpjax.AuditResult):
        return f"**{result.verdict.capitalize()}.** {result.sentence}"
    return result.vanishing_sentence()
