"""Audits every loop as it is, and with each of three errors; prints a Markdown table.

Exits with 1 where a right loop is refuted or a wrong one is not.
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
    """A program, and what makes it wrong.

    Attributes:
        name: Of the library, for people.
        program: Name of its file.
        needs: Module that must be installed.
        half: Words to replace so that the noise is halved.
        unclipped: Words to replace so that the gradient of the canary is not clipped.
        fixed: Words to replace so that the canary is always in the last batch.
        quick: Whether draws are cheap enough to bound epsilon at delta too.
    """

    name: str
    program: str
    needs: str
    half: Replaced
    unclipped: Replaced
    fixed: Replaced
    quick: bool = False

    def text(self, replaced: Replaced) -> str:
        """The program with some words replaced, each of which stands in it once."""
        text = (FOLDER / f"{self.program}.py").read_text()
        for old, new in replaced:
            if text.count(old) != 1:
                raise ValueError(f"{self.program} must have {old!r} once.")
            text = text.replace(old, new)
        return text


_LAST = ("return likelihood_score(lengths, SIGMA / 2, RATE)", "return lengths[-1]")
"""The score of a canary whose batch is known: that of its one step."""

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

CASES = ("right", "half the noise", "canary unclipped", "fixed batches")


@dataclass
class Case:
    """A program that was run, and what is audited of it."""

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
        """A function in JAX, or one of the host."""
        if "scores" in self.space:
            return dpjax.HostMechanism(self.space["scores"])
        return self.space["train"]

    def audit(self, notion: Any, search: int, confirm: int, seed: int) -> dpjax.AuditResult:
        """One audit at the claim of dp_accounting for Poisson batches."""
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
    """Audits of one case as a row of the table, and whether they say what they should."""
    right, cells = case.name == "right", [case.loop.name, case.name]
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
    """Command line; 1 where a verdict is not as it should be."""
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]))
    parser.add_argument("--only", default="", help="part of a library's name")
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of trainings")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sys.path.insert(0, str(FOLDER))
    claim = accounted(1.0, Poisson(0.02), 50).get_epsilon_for_delta(DELTA)
    print(f"Claim: dp_accounting's curve, epsilon {claim:.3f} at delta = 1e-5.\n")
    header = ["loop", "error", "whole curve", "epsilon at delta = 1e-5", "CPU s"]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    all_passed = True
    for loop in LOOPS:
        if arguments.only not in loop.name or find_spec(loop.needs) is None:
            continue
        for name in CASES:
            text, passed = row(Case(loop, name), arguments.scale, arguments.seed)
            all_passed &= passed
            print(text + ("" if passed else " **not as it should be**"), flush=True)
    return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main())
