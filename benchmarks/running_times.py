"""Audit mechanisms of public libraries together with their running times.

The noise of many samplers is drawn in a loop, whose number of steps depends on the noise. Whoever
knows how long the mechanism took then learns something about the noise, and the output reveals more
than the claim permits (Jin et al., 2022, arXiv 2112.05307). Running times depend on each other, so
the audits guess coins (`dpjax.Guesses`). The script prints a Markdown table.
"""

import argparse
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import NamedTuple

import diffprivlib.mechanisms as ibm
import opendp.prelude as dp

import dpjax


class Case(NamedTuple):
    """A mechanism, its two inputs, and its claim."""

    name: str
    function: Callable[[int], object]
    claim: float
    delta: float = 0.0
    pair: tuple[object, object] = (10, 11)


def cases() -> list[Case]:
    """Return all cases, each with sensitivity 1 and epsilon 1."""
    dp.enable_features("contrib")
    integer = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    real = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace, real_laplace = (dp.m.make_laplace(*space, scale=1.0) for space in (integer, real))
    gaussian = dp.m.make_gaussian(*integer, scale=4.0)
    # The curve of a measurement bounds epsilon at a given delta.
    curve = dp.c.make_zCDP_to_approxDP(gaussian).map(1)
    options = {"epsilon": 1.0, "sensitivity": 1}
    return [
        Case("diffprivlib Laplace", ibm.Laplace(**options).randomise, 1.0),
        Case("diffprivlib Geometric", ibm.Geometric(**options).randomise, 1.0),
        Case("diffprivlib Gaussian", ibm.Gaussian(**options, delta=1e-5).randomise, 1.0, 1e-5),
        Case(
            "diffprivlib GaussianDiscrete",
            ibm.GaussianDiscrete(**options, delta=1e-5).randomise,
            1.0,
            1e-5,
        ),
        Case("OpenDP Laplace, integers", lambda count: laplace(count), 1.0),
        Case(
            "OpenDP Laplace, reals",
            lambda count: real_laplace(count),
            1.0,
            pair=(10.0, 11.0),
        ),
        Case("OpenDP Gaussian, integers", lambda count: gaussian(count), curve.epsilon(1e-5), 1e-5),
    ]


def timed(function: Callable[[int], object]) -> Callable[[int], list[object]]:
    """Return a function that returns an output and the seconds that it took."""

    def measured(value: int) -> list[object]:
        start = time.perf_counter()
        answer = function(value)
        return [answer, time.perf_counter() - start]

    return measured


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="scripts/benchmark running_times", description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000, help="calls per audit")
    given = parser.parse_args()
    print(f"diffprivlib {version('diffprivlib')}, OpenDP {version('opendp')}, {given.calls} calls")
    print()
    print("| mechanism | claim | delta | bound, output alone | bound, output and running time |")
    print("|---|---|---|---|---|")
    for case in cases():
        bounds = []
        for function in (lambda value, case=case: case.function(value), timed(case.function)):
            result = dpjax.audit(
                function,
                [case.pair],
                method=dpjax.Guesses(num_calls=given.calls),
                notion=dpjax.Epsilon(case.delta),
                claim=case.claim,
            )
            mark = "**" if result.verdict == "violated" else ""
            bounds.append(f"{mark}{result.lower_bound:.2f}{mark}")
        row = case.name, f"{case.claim:.2f}", f"{case.delta:g}", *bounds
        print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
