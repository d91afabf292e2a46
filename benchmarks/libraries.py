"""Mechanisms of public libraries, audited at the epsilon that they claim and at half of it.

A mechanism that keeps its promise is not refuted at its claim; an audit that is worth its time
refutes half of it. Each library is skipped where it is not installed: OpenDP is in the dependency
group `libraries`, and so is IBM's diffprivlib (which needs an older scikit-learn).

References:
    Mironov (2012), "On significance of the least significant bits for differential privacy".
    Haney, Desfontaines, Hartman, Shrestha, Hay (2022), "Precision-based attacks and interval
    refining: how to break, then fix, differential privacy on finite computers".
"""

import argparse
import platform
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dpjax

DELTA = 1e-5
SCORES = ([-2.0] + [0.0] * 9, [-1.0] + [-1.0] * 9)
"""Ten candidates; each score changes by 1, and the first is rarely the best."""


class Case(NamedTuple):
    """A mechanism with what it claims.

    Attributes:
        name: For the table.
        claim: Epsilon.
        delta: Delta.
        function: As `dpjax.HostMechanism` takes it.
        pair: Of neighbouring databases.
        num_confirm: Fresh draws a side.
        options: Of `dpjax.HostMechanism`.
    """

    name: str
    claim: float
    delta: float
    function: Callable[..., Any]
    pair: tuple[Any, Any]
    num_confirm: int = 50_000
    options: dict[str, Any] = {}  # noqa: RUF012


def opendp_cases() -> Iterator[Case]:
    """Measurements of OpenDP; the claim is the one of its own privacy map."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    reals = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    integers = dp.vector_domain(dp.atom_domain(T=int))

    def independent(measurement: Any) -> Callable[[float, int], np.ndarray]:
        # Noise is independent for each entry, so n equal entries give n outputs for one of them.
        return lambda database, num_samples: np.array(measurement([database] * num_samples))

    laplace = dp.m.make_laplace(reals, dp.l1_distance(T=float), scale=1.0)
    claim = laplace.map(1.0)
    yield Case("Laplace, scale 1", claim, 0.0, independent(laplace), (0.0, 1.0))
    yield Case(
        "Laplace, scale 1, lowest set bits",
        claim,
        0.0,
        independent(laplace),
        (0.0, 1.0),
        options={"bits": "lowest"},
    )
    geometric = dp.m.make_laplace(integers, dp.l1_distance(T=int), scale=1.0)
    yield Case("geometric, scale 1", geometric.map(1), 0.0, independent(geometric), (0, 1))
    gaussian = dp.m.make_gaussian(reals, dp.l2_distance(T=float), scale=1.0)
    claim = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0).epsilon(DELTA)
    yield Case("Gaussian, scale 1", claim, DELTA, independent(gaussian), (0.0, 1.0), 200_000)
    noisy_max = dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T=float, nan=False)),
        dp.linf_distance(T=float),
        dp.max_divergence(),
        scale=1.0,
    )
    yield Case(
        "report noisy max, scale 1",
        noisy_max.map(1.0),
        0.0,
        noisy_max,
        SCORES,
        options={"batched": False},
    )


def diffprivlib_cases() -> Iterator[Case]:
    """Mechanisms and a statistic of IBM's diffprivlib, at epsilon 1."""
    from diffprivlib import mechanisms, tools

    laplace = mechanisms.Laplace(epsilon=1.0, sensitivity=1.0)
    one = {"batched": False}
    yield Case("Laplace", 1.0, 0.0, laplace.randomise, (0.0, 1.0), options=one)
    yield Case(
        "Laplace, lowest set bits",
        1.0,
        0.0,
        laplace.randomise,
        (0.0, 1.0),
        options={"bits": "lowest", **one},
    )
    geometric = mechanisms.Geometric(epsilon=1.0, sensitivity=1)
    yield Case("Geometric", 1.0, 0.0, geometric.randomise, (0, 1), options=one)

    made: dict[tuple[float, ...], Any] = {}

    def exponential(scores: list[float]) -> int:
        key = tuple(scores)
        if key not in made:
            made[key] = mechanisms.Exponential(epsilon=1.0, sensitivity=1.0, utility=scores)
        return made[key].randomise()

    yield Case("Exponential, ten candidates", 1.0, 0.0, exponential, SCORES, options=one)
    gaussian = mechanisms.GaussianAnalytic(epsilon=1.0, delta=DELTA, sensitivity=1.0)
    yield Case("GaussianAnalytic", 1.0, DELTA, gaussian.randomise, (0.0, 1.0), 500_000, options=one)

    def mean(records: list[float]) -> float:
        return float(tools.mean(np.array(records), epsilon=1.0, bounds=(0.0, 1.0)))

    yield Case("mean of ten records", 1.0, 0.0, mean, ([0.0] * 10, [1.0] + [0.0] * 9), options=one)


LIBRARIES = {"opendp": opendp_cases, "diffprivlib": diffprivlib_cases}


def audited(case: Case, *, scale: float = 1.0, confidence: float = 0.99) -> dpjax.AuditResult:
    """One audit of a case at its claim.

    Args:
        case: Of a library.
        scale: Of the numbers of draws.
        confidence: Of the bound.
    """
    confirm = int(case.num_confirm * scale)
    return dpjax.audit(
        dpjax.HostMechanism(case.function, **case.options),
        [case.pair],
        method=dpjax.Events(int(0.4 * confirm), confirm),
        notion=dpjax.Epsilon(case.delta),
        confidence=confidence,
        claim=case.claim,
    )


def rows_of(library: str, *, scale: float = 1.0) -> list[str]:
    """Rows of the table; none where the library is not installed."""
    try:
        found = version(library)
    except PackageNotFoundError:
        print(f"{library} is not installed: skipped")
        return []
    rows = []
    for case in LIBRARIES[library]():
        start = time.perf_counter()
        result = audited(case, scale=scale)
        seconds = time.perf_counter() - start
        half = "refuted" if result.lower_bound > case.claim / 2 else "not refuted"
        claim = f"{case.claim:.4g}" + (f" at delta {case.delta:g}" if case.delta else "")
        at_claim = "REFUTED" if result.verdict == "violated" else "not refuted"
        draws = 2 * (result.num_samples + result.num_confirm)
        rows.append(
            f"| {library} {found} | {case.name} | {claim} | {result.lower_bound:.4f} | {at_claim} "
            f"| {half} | {draws} | {seconds:.1f} |"
        )
        print(rows[-1], flush=True)
    return rows


def main(out: str | Path, libraries: list[str], *, scale: float = 1.0) -> None:
    """Writes the table to a Markdown file; rows of other libraries in it are kept."""
    out = Path(out)
    kept = out.read_text().splitlines() if out.exists() else []
    rows = {library: rows_of(library, scale=scale) for library in libraries}
    for library in LIBRARIES:
        if not rows.get(library):
            rows[library] = [line for line in kept if line.startswith(f"| {library} ")]
    lines = [
        "# Mechanisms of public libraries, at the claimed epsilon and at half of it",
        "",
        f"dpjax {dpjax.__version__}, {platform.machine()}, one process; confidence 0.99 a row. The "
        "libraries draw their own randomness, so a repetition gives other digits.",
        "",
        "| library | mechanism | claimed epsilon | lower bound | verdict at the claim | verdict at "
        "half | draws | seconds |",
        "|---|---|---|---|---|---|---|---|",
        *(row for library in LIBRARIES for row in rows[library]),
    ]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(lines) + "\n")
    print(f"wrote {out}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="the Markdown file to write")
    parser.add_argument("libraries", nargs="*", help=f"of {', '.join(LIBRARIES)}; all if none")
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of draws")
    given = parser.parse_args()
    main(given.out, given.libraries or list(LIBRARIES), scale=given.scale)
