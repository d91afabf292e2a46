"""Audit each loop without an error and with each of three errors, and print a Markdown table.

The exit status is 1 if a correct loop is refuted or a faulty loop is not refuted.
"""

import argparse
import inspect
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dpjax
from dpjax.mechanisms.training import Poisson, accounted

FOLDER = Path(__file__).parent
DELTA, CONFIDENCE = 1e-5, 0.999

Replaced = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Loop:
    """A program, and three sets of replacements that each introduce an error.

    Attributes:
        name: Name of the library in the table.
        program: Name of the program's file, without the extension.
        needs: Module that must be installed.
        half: Replacements that halve the noise.
        unclipped: Replacements that disable the clipping of the canary's gradient.
        fixed: Replacements that put the canary into the last batch in every training.
        quick: Whether draws are cheap enough to also bound epsilon at delta.
    """

    name: str
    program: str
    needs: str
    half: Replaced
    unclipped: Replaced
    fixed: Replaced
    quick: bool = False

    def text(self, replaced: Replaced) -> str:
        """Return the program after replacements.

        Args:
            replaced: Pairs (old text, new text).

        Raises:
            ValueError: If an old text does not occur exactly once in the program.
        """
        text = (FOLDER / f"{self.program}.py").read_text()
        for old, new in replaced:
            if text.count(old) != 1:
                raise ValueError(f"{self.program} must contain {old!r} exactly once.")
            text = text.replace(old, new)
        return text


_LAST = ("return likelihood_score(lengths, SIGMA / 2, RATE)", "return lengths[-1]")
"""Replacement of the score: if the canary's batch is known, only the last step matters."""

_IN_ORDER = (
    ("jax.random.bernoulli(key, RATE, present.shape)", "(jnp.arange(len(y)) // 2 == key)"),
    ("jax.random.split(batches, STEPS)", "jnp.arange(STEPS)"),
    _LAST,
)

LOOPS = (
    Loop(
        "jax-privacy", "jax_privacy_loop", "jax_privacy",
        half=(("stddev=SIGMA", "stddev=0.5 * SIGMA"),),
        unclipped=(("l2_clip_norm=CLIP", "l2_clip_norm=100 * CLIP"), ("* SENSITIVITY", "* CLIP")),
        fixed=_IN_ORDER,
        quick=True,
    ),
    Loop(
        "jax-privacy, CyclicPoissonSampling", "jax_privacy_sampling", "jax_privacy",
        half=(("stddev=SIGMA", "stddev=0.5 * SIGMA"),),
        unclipped=(
            ("SAMPLING, WIDEST", "gradient = jax_privacy.clipped_grad(loss, l2_clip_norm=100 * CLIP"
             ", batch_argnums=(1, 2))\nSAMPLING, WIDEST"),
            ("* SENSITIVITY", "* CLIP"),
            ("import jax\n", "import jax\nimport jax_privacy\nfrom jax_privacy_loop import loss\n"),
        ),
        fixed=(
            ("SAMPLING.batch_iterator(num_records, rng)",
             "np.arange(num_records).reshape(STEPS, -1)"),
            _LAST,
        ),
    ),
    Loop(
        "optax", "optax_loop", "optax",
        half=(("(CLIP, SIGMA, noise)", "(CLIP, 0.5 * SIGMA, noise)"),),
        unclipped=(("(CLIP, SIGMA, noise)", "(100 * CLIP, SIGMA / 100, noise)"),),
        fixed=_IN_ORDER,
        quick=True,
    ),
    Loop(
        "Opacus", "opacus_loop", "opacus",
        half=(("noise_multiplier=SIGMA", "noise_multiplier=0.5 * SIGMA"),),
        unclipped=(
            ("noise_multiplier=SIGMA", "noise_multiplier=SIGMA / 100"),
            ("max_grad_norm=CLIP", "max_grad_norm=100 * CLIP"),
        ),
        fixed=(
            ("max_grad_norm=CLIP", "max_grad_norm=CLIP,\n        poisson_sampling=False"),
            ("return likelihood_score(np.array(lengths), SIGMA / 2, RATE)", "return lengths[-1]"),
        ),
    ),
)  # fmt: skip

CASES = ("correct", "half the noise", "canary not clipped", "fixed batches")


@dataclass
class Case:
    """A program, possibly with an error.

    Attributes:
        loop: Program without errors.
        name: Element of `CASES`.
        space: Global variables after the program was executed.
    """

    loop: Loop
    name: str
    space: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        texts = ((), self.loop.half, self.loop.unclipped, self.loop.fixed)
        replaced = dict(zip(CASES, texts, strict=True))[self.name]
        code = compile(self.loop.text(replaced), f"{self.loop.program} ({self.name})", "exec")
        exec(code, self.space)

    @property
    def subject(self) -> Callable | dpjax.HostMechanism:
        """Function to audit: a JAX function, or a host mechanism."""
        if "scores" in self.space:
            return dpjax.HostMechanism(self.space["scores"])
        return self.space["train"]

    def audit(self, notion: Any, search: int, confirm: int, seed: int) -> dpjax.AuditResult:
        """Audit the program against dp_accounting's claim for Poisson batches.

        Args:
            notion: Privacy notion.
            search: Number of search draws per side.
            confirm: Number of confirmation draws per side.
            seed: Key of the audit.
        """
        return dpjax.audit(
            self.subject,
            self.space["PAIR"],
            method=dpjax.Events(search, confirm),
            notion=notion,
            claim=self.space["CLAIM"],
            confidence=CONFIDENCE,
            key=seed,
        )


def row(case: Case, scale: float, seed: int) -> tuple[str, bool]:
    """Audit one case.

    Args:
        case: Program to audit.
        scale: Factor that multiplies the numbers of trainings.
        seed: Key of the audits.

    Returns:
        Row of the table, and whether all verdicts are correct.
    """
    right, cells = case.name == "correct", [case.loop.name, case.name]
    start, passed = time.process_time(), True
    sizes = [(dpjax.Profile(), 300, 700)]
    sizes += [(dpjax.Epsilon(DELTA), 3000, 7000)] if case.loop.quick else []
    for notion, search, confirm in sizes:
        result = case.audit(notion, round(search * scale), round(confirm * scale), seed)
        passed &= (result.verdict == "not refuted") == right
        shown = f"{result.verdict}, {2 * round((search + confirm) * scale):,} trainings"
        if isinstance(notion, dpjax.Epsilon):
            shown += f": {result.lower_bound:.3f}"
        cells.append(shown)
    cells += [""] * (2 - len(sizes)) + [f"{time.process_time() - start:.1f}"]
    return f"| {' | '.join(cells)} |", passed


def main() -> int:
    """Run the command line; return 1 if a verdict is wrong."""
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]))
    parser.add_argument("--only", default="", help="substring of a library's name")
    parser.add_argument("--scale", type=float, default=1.0, help="factor for numbers of trainings")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sys.path.insert(0, str(FOLDER))
    claim = accounted(1.0, Poisson(0.02), 50).get_epsilon_for_delta(DELTA)
    print(f"The claim is dp_accounting's curve, with epsilon {claim:.3f} at delta = 1e-5.\n")
    header = ["loop", "error", "whole curve", "epsilon at delta = 1e-5", "CPU s"]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    all_passed = True
    for loop in LOOPS:
        if arguments.only not in loop.name or find_spec(loop.needs) is None:
            continue
        for name in CASES:
            text, passed = row(Case(loop, name), arguments.scale, arguments.seed)
            all_passed &= passed
            print(text + ("" if passed else " **wrong verdict**"), flush=True)
    return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main())
