"""Audit objects of public libraries at their claims and at half of their claims.

Each object states its notion, claim and neighboring databases. All objects satisfy their claims, so
an audit should not refute them. A useful audit refutes half of a claim, unless the claim is loose.
Floating-point mechanisms of diffprivlib, and the Gaussian noise of Tumult Core, reveal their inputs
in the lowest bits of their outputs, so their audits ignore these bits (`bits=None`).

References:
    The libraries' documentation; Mironov (2012), "On significance of the least significant bits for
    differential privacy".
"""

import argparse
import math
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from scipy.optimize import brentq
from scipy.stats import norm

import dpjax

DRAWS, CONFIDENCE, KEYS = 30_000, 0.999, 5
"""Samples per side of an audit, its confidence, and the number of audits of each object."""

_RARE = 200_000
"""Samples per side for objects whose delta hides all but rare events."""


class Case(NamedTuple):
    """An object that satisfies its claim.

    Attributes:
        make: Function that returns the object.
        bits: Argument of `dpjax.LibraryMechanism`.
        pairs: Pairs of databases; None for the pairs that dpjax derives from the object.
        draws: Samples per side.
        level: True level if the claim is loose, and None otherwise.
    """

    make: Callable[[], object]
    bits: int | str | None = "auto"
    pairs: list[tuple[object, object]] | None = None
    draws: int = DRAWS
    level: float | None = None


def gaussian_epsilon(scale: float, delta: float) -> float:
    """Return the epsilon of Gaussian noise with sensitivity 1 (Balle and Wang, 2018)."""

    def excess(epsilon: float) -> float:
        middle = epsilon * scale
        upper = norm.sf(middle - 0.5 / scale) - math.exp(epsilon) * norm.sf(middle + 0.5 / scale)
        return float(upper) - delta

    return float(brentq(excess, 0.0, 50.0))


def opendp_cases() -> dict[str, Case]:
    """Return measurements of OpenDP, by title."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    real, whole = dp.atom_domain(T=float, nan=False), dp.atom_domain(T=int)
    reals, wholes = dp.absolute_distance(T=float), dp.absolute_distance(T=int)
    sized = dp.vector_domain(dp.atom_domain(bounds=(0.0, 10.0)), size=5)
    integers = dp.vector_domain(dp.atom_domain(bounds=(0, 10)))
    texts, records = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    scores = dp.vector_domain(real, size=3), dp.linf_distance(T=float)
    vector = dp.vector_domain(real, size=3), dp.l1_distance(T=float)
    pure, concentrated = dp.max_divergence(), dp.zero_concentrated_divergence()
    gaussian = dp.m.make_gaussian(real, reals, scale=2.0)
    m, t, c = dp.m, dp.t, dp.c
    return {
        "Laplace": Case(lambda: m.make_laplace(real, reals, scale=1.0)),
        "Laplace of integers": Case(lambda: m.make_laplace(whole, wholes, scale=1.0)),
        "Laplace of vectors": Case(lambda: m.make_laplace(*vector, scale=1.0)),
        "geometric within bounds": Case(
            lambda: m.make_geometric(whole, wholes, scale=1.0, bounds=(0, 10))
        ),
        "Gaussian": Case(lambda: m.make_gaussian(real, reals, scale=1.0)),
        "Gaussian of integers": Case(lambda: m.make_gaussian(whole, wholes, scale=1.0)),
        "Gaussian at delta 0.001": Case(
            lambda: c.make_fix_delta(c.make_zCDP_to_approxDP(gaussian), 1e-3), draws=_RARE
        ),
        "canonical noise": Case(
            lambda: m.make_canonical_noise(real, reals, d_in=1.0, d_out=(1.0, 1e-3))
        ),
        "randomized response of a bit": Case(lambda: m.make_randomized_response_bool(prob=0.75)),
        "randomized response": Case(
            lambda: m.make_randomized_response(categories=["a", "b", "c"], prob=0.6)
        ),
        "sum": Case(lambda: t.make_sum(sized, records) >> m.then_laplace(scale=10.0)),
        "sum of integers": Case(lambda: t.make_sum(integers, records) >> m.then_laplace(10.0)),
        "sum of clamped numbers": Case(
            lambda: (
                t.make_clamp(dp.vector_domain(real), records, bounds=(0.0, 10.0))
                >> t.then_sum()
                >> m.then_laplace(scale=10.0)
            )
        ),
        "mean": Case(lambda: t.make_mean(sized, records) >> m.then_laplace(scale=2.0)),
        "variance": Case(lambda: t.make_variance(sized, records) >> m.then_laplace(scale=20.0)),
        "count": Case(lambda: t.make_count(integers, records) >> m.then_laplace(scale=1.0)),
        "count with Gaussian noise": Case(
            lambda: t.make_count(integers, records) >> m.then_gaussian(scale=1.0)
        ),
        "count of distinct values": Case(
            lambda: t.make_count_distinct(texts, records) >> m.then_laplace(scale=1.0)
        ),
        "counts by category": Case(
            lambda: (
                t.make_count_by_categories(texts, records, categories=["a", "b"])
                >> m.then_laplace(scale=1.0)
            )
        ),
        "noisy max": Case(lambda: m.make_noisy_max(*scores, pure, scale=1.0)),
        "noisy max, zCDP": Case(lambda: m.make_noisy_max(*scores, concentrated, scale=1.0)),
        "two of the noisy top": Case(lambda: m.make_noisy_top_k(*scores, pure, k=2, scale=2.0)),
        "two releases": Case(
            lambda: c.make_composition([m.make_laplace(whole, wholes, scale=2.0)] * 2)
        ),
    }


def diffprivlib_cases() -> dict[str, Case]:
    """Return mechanisms of diffprivlib, by title."""
    from diffprivlib import mechanisms as m

    one, within = {"epsilon": 1.0, "sensitivity": 1}, {"lower": 0, "upper": 5}
    scores = {"epsilon": 1.0, "sensitivity": 1.0, "utility": [0.0, 1.0, 2.0]}
    return {
        "Binary": Case(lambda: m.Binary(epsilon=1.0, value0="a", value1="b")),
        "Exponential": Case(lambda: m.Exponential(**scores)),
        "ExponentialCategorical": Case(
            lambda: m.ExponentialCategorical(
                epsilon=1.0, utility_list=[["a", "b", 1], ["a", "c", 2], ["b", "c", 2]]
            )
        ),
        "PermuteAndFlip": Case(lambda: m.PermuteAndFlip(**scores)),
        "Geometric": Case(lambda: m.Geometric(**one), pairs=[(0, 1), (5, 4)]),
        "GeometricTruncated": Case(lambda: m.GeometricTruncated(**one, **within)),
        "GeometricFolded": Case(lambda: m.GeometricFolded(**one, **within)),
        "GaussianDiscrete": Case(lambda: m.GaussianDiscrete(**one, delta=1e-3), draws=_RARE),
        "Snapping": Case(lambda: m.Snapping(**one, **within)),
        "Laplace": Case(lambda: m.Laplace(**one), None),
        "LaplaceTruncated": Case(lambda: m.LaplaceTruncated(**one, **within), None),
        "LaplaceFolded": Case(lambda: m.LaplaceFolded(**one, **within), None),
        "LaplaceBoundedDomain": Case(lambda: m.LaplaceBoundedDomain(**one, **within), None),
        "LaplaceBoundedNoise": Case(lambda: m.LaplaceBoundedNoise(**one, delta=1e-3), None),
        "Staircase": Case(lambda: m.Staircase(**one), None),
        # The classical formula for the scale adds more noise than necessary for the claim.
        "Gaussian": Case(
            lambda: m.Gaussian(**(one | {"epsilon": 0.5}), delta=1e-3),
            None,
            draws=_RARE,
            level=gaussian_epsilon(math.sqrt(2 * math.log(1.25e3)) / 0.5, 1e-3),
        ),
        "GaussianAnalytic": Case(lambda: m.GaussianAnalytic(**one, delta=1e-3), None, draws=_RARE),
    }


def pydp_cases() -> dict[str, Case]:
    """Return algorithms of PyDP, by title."""
    from pydp.algorithms import laplacian, numerical_mechanisms

    within = {"epsilon": 1.0, "lower_bound": 0, "upper_bound": 10}
    return {
        "Count": Case(lambda: laplacian.Count(epsilon=1.0, dtype="int")),
        "BoundedSum": Case(lambda: laplacian.BoundedSum(**within, dtype="int")),
        "BoundedMean": Case(lambda: laplacian.BoundedMean(**within, dtype="float")),
        "LaplaceMechanism": Case(
            lambda: numerical_mechanisms.LaplaceMechanism(epsilon=1.0, sensitivity=1.0)
        ),
    }


def tumult_cases() -> dict[str, Case]:
    """Return measurements of Tumult Core that work without Spark, by title."""
    from tmlt.core.domains.numpy_domains import NumpyFloatDomain, NumpyIntegerDomain
    from tmlt.core.domains.pandas_domains import PandasSeriesDomain
    from tmlt.core.measurements import noise_mechanisms as m
    from tmlt.core.measurements.composition import Composition
    from tmlt.core.measurements.pandas_measurements import series
    from tmlt.core.measures import PureDP

    reals, integers = NumpyFloatDomain(), PandasSeriesDomain(NumpyIntegerDomain())
    return {
        "AddLaplaceNoise": Case(lambda: m.AddLaplaceNoise(reals, 1)),
        "AddGeometricNoise": Case(lambda: m.AddGeometricNoise(1)),
        "AddGaussianNoise": Case(lambda: m.AddGaussianNoise(reals, 1), None),
        "AddDiscreteGaussianNoise": Case(lambda: m.AddDiscreteGaussianNoise(1)),
        "AddNoiseToSeries": Case(lambda: series.AddNoiseToSeries(m.AddGeometricNoise(1))),
        "Composition": Case(lambda: Composition([m.AddGeometricNoise(2)] * 2)),
        "NoisyQuantile": Case(
            lambda: series.NoisyQuantile(integers, PureDP(), 0.5, lower=0, upper=10, epsilon=1)
        ),
    }


def smartnoise_cases() -> dict[str, Case]:
    """Return mechanisms of SmartNoise, by title."""
    from snsql.sql import _mechanisms as m

    one = {"epsilon": 1.0, "sensitivity": 1.0}
    return {
        "Laplace": Case(lambda: m.Laplace(**one)),
        # The claim is loose: the scale is 8, but sums change by at most 6.
        "Laplace, 2 records": Case(
            lambda: m.Laplace(1.0, lower=-1.0, upper=3.0, max_contrib=2), level=0.75
        ),
        "Gaussian": Case(
            lambda: m.Gaussian(**one, delta=1e-3),
            draws=_RARE,
            level=gaussian_epsilon(2.901533653703116, 1e-3),
        ),
    }


CASES = {
    "opendp": opendp_cases,
    "diffprivlib": diffprivlib_cases,
    "pydp": pydp_cases,
    "tmlt": tumult_cases,
    "snsql": smartnoise_cases,
}
PACKAGES = {
    "opendp": "opendp",
    "diffprivlib": "diffprivlib",
    "pydp": "python-dp",
    "tmlt": "tmlt.core",
    "snsql": "smartnoise-sql",
}


def audited(
    case: Case,
    key: int,
    *,
    draws: int | None = None,
    num_pairs: int | None = None,
    confidence: float = CONFIDENCE,
) -> dpjax.AuditResult:
    """Audit an object once.

    Args:
        case: Object of a library.
        key: Key of the audit's random choices. It does not affect the draws, because the libraries
            use the randomness of the operating system.
        draws: Samples per side; by default, the number given by the case.
        num_pairs: Number of proposed pairs; by default, the number that dpjax chooses.
        confidence: Confidence of the bound.
    """
    subject = dpjax.LibraryMechanism(case.make(), bits=case.bits, time_limit=None)
    method = dpjax.Events(num_draws=case.draws if draws is None else draws)
    pairs = case.pairs
    if pairs is None and num_pairs is not None:
        assert subject.usual_pairs is not None
        pairs = replace(subject.usual_pairs, num_pairs=num_pairs)
    return dpjax.audit(subject, pairs, method=method, confidence=confidence, key=key)


def row_of(library: str, title: str, case: Case, num_keys: int) -> str:
    """Audit an object with several keys; return its row of the table."""
    start = time.process_time()
    results = [audited(case, key) for key in range(num_keys)]
    seconds = (time.process_time() - start) / num_keys
    claim, bounds = float(results[0].claim), [result.lower_bound for result in results]
    refuted = sum(result.verdict != "not refuted" for result in results)
    half = sum(bound > claim / 2 for bound in bounds)
    symbol = results[0].notion.symbol
    level = "" if case.level is None else f"{case.level:.3f}"
    return (
        f"| {library} | {title} | {symbol} | {claim:.5g} | {level} | {min(bounds):.3f} | "
        f"{sum(bounds) / num_keys:.3f} | {refuted} of {num_keys} | {half} of {num_keys} | "
        f"{seconds:.1f} |"
    )


def main(out: Path, libraries: list[str], num_keys: int) -> None:
    """Write the table to a Markdown file, row by row."""
    names = ", ".join(f"{PACKAGES[name]} {version(PACKAGES[name])}" for name in libraries)
    lines = [
        "# Audits of library objects that satisfy their claims",
        "",
        f"dpjax {dpjax.__version__}, {names}; {platform.machine()}, one process. {num_keys} audits "
        f"of each object, confidence {CONFIDENCE:g}. The libraries use the randomness of the "
        "operating system, so the digits change if the audits are repeated.",
        "",
        "| library | object | notion | claim | true level, if lower | lowest bound | mean bound | "
        "claim refuted | half of the claim refuted | CPU s per audit |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    out.parent.mkdir(parents=True, exist_ok=True)
    for library in libraries:
        for title, case in CASES[library]().items():
            lines.append(row_of(library, title, case, num_keys))
            print(lines[-1], flush=True)
            out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="Markdown file to write")
    parser.add_argument(
        "libraries", nargs="*", choices=[*CASES, []], help="libraries; all installed if none"
    )
    parser.add_argument("--keys", type=int, default=KEYS, help="number of audits per object")
    given = parser.parse_args()
    installed = [name for name in CASES if find_spec(name) is not None]
    main(given.out, given.libraries or installed, given.keys)
