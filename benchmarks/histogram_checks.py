"""Check the guarantees of the histogram estimators, and print the measured values.

    scripts/benchmark histogram_checks [--samples 1000000000]

The script takes a few minutes on 2 cores.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Theorems 2, 3 and 6, Algorithm 2.
"""

import argparse
import resource
import time

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.core import random
from dpjax.core.streaming import Reducer, block_size_for, reduce_samples
from dpjax.inference import plan, plan_safety
from dpjax.mechanisms import TruncatedLaplace
from dpjax.methods.histogram import Unplanned, histogram_levels, midpoints
from dpjax.reference import ExactTruncatedLaplace


def shares_at_the_planned_n():
    """Print the fraction of 1000 runs whose error is at most the precision."""
    for order, settings in (
        (None, [(2.0, 1.0), (1 / 0.7, 1.0), (2.0, 0.5)]),
        (2.0, [(5.0, 1.0), (5.0, 0.5), (3.0, 1.0)]),
    ):
        for scale, precision in settings:
            law = ExactTruncatedLaplace(scale)
            confidence = 0.8 if order is None else 0.9
            planned = plan(
                lipschitz=law.lipschitz, precision=precision, confidence=confidence, order=order
            )
            result = histogram_levels(
                TruncatedLaplace(scale), [0.0, 1.0], planned, key=1, num_runs=1000
            )
            exact = law.epsilon if order is None else law.pair_renyi(0, 1, order)
            share = (np.abs(result.estimates - exact) <= precision).filled(False).mean()
            what = "LDP  " if order is None else "Renyi"
            print(
                f"  {what} B = {scale:.3g}, precision {precision:g}, n = {planned.num_samples}: "
                f"share {share:.3f}, required {confidence:g}, failed {result.num_failed}"
            )


def all_pairs():
    """Print the time and the result for all pairs of 91 midpoints."""
    inputs = midpoints(0, 1, 91)
    start = time.perf_counter()
    result = histogram_levels(TruncatedLaplace(1.0), inputs, Unplanned(91, 1_863_132), key=0)
    seconds = time.perf_counter() - start
    first, second = result.witness()
    print(
        f"  {len(result.pairs)} pairs in {seconds:.1f} s with compilation: largest level "
        f"{result.estimates[0]:.4f} at ({first:.3f}, {second:.3f}); at the outermost midpoints "
        f"{result.levels[0, 89]:.4f}, exact {ExactTruncatedLaplace(1.0).epsilon:g} at (0, 1)"
    )


def many_samples(num_samples):
    """Print the time and memory for counting n outputs of two inputs, and the time for drawing."""
    pair = jnp.array([0.0, 1.0])
    mechanism = TruncatedLaplace(1.0)
    size = block_size_for(num_samples)

    # To time the drawing, reduce the outputs to their maximum, which takes almost no time.
    largest = Reducer(
        lambda: jnp.zeros(()), lambda top, block, valid: jnp.maximum(top, block.max())
    )

    @jax.jit
    def draw(key):
        def one(x):
            return reduce_samples(
                lambda block: mechanism.sample(random.fold_in(key, block), x, size),
                largest,
                num_samples,
            )

        return jax.lax.map(one, pair)

    def timed(work):
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    compiled = draw.lower(random.as_key(0)).compile()
    drawing = timed(lambda: jax.block_until_ready(compiled(random.as_key(0))))
    result = None

    def count():
        nonlocal result
        result = histogram_levels(mechanism, pair, Unplanned(91, num_samples), key=0)

    counting = timed(count)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"  n = {num_samples:.3g} at 2 inputs: {counting:.1f} s ({2 * num_samples / counting:.3g} "
        f"draws per second, with compilation), including {drawing:.1f} s for drawing; other work "
        f"{max(0.0, 1 - drawing / counting):.0%}; peak memory {peak:.0f} MB; estimate "
        f"{result.estimates[0]:.5f}"
    )


def safety_trials():
    """Print how often a true and a false claim about the Lipschitz constant C are refuted."""
    law = ExactTruncatedLaplace(1.0)
    rng = np.random.default_rng(3)
    for share in (0.5, 1.0):
        claim = plan(lipschitz=share * law.lipschitz, precision=1.0, confidence=0.8)
        raised, check = plan_safety(claim)
        # Draw the counts directly, because drawing the outputs of 2000 runs would take too long.
        edges = np.linspace(0, 1, raised.num_intervals + 1)
        rows = [np.diff(law.cdf(x, edges)) for x in (0.0, 1.0)]
        counts = [rng.multinomial(raised.num_samples, row / row.sum(), size=2000) for row in rows]
        trials = np.stack(counts, 1).reshape(100, 20, 2, raised.num_intervals)
        refuted = sum(check.verdict(trial).refuted(0.05) for trial in trials)
        print(
            f"  claim {share:g} C, 20 runs per trial, n = {raised.num_samples}, least probability "
            f"{check.probability:.3f}: refuted in {refuted} of 100 trials"
        )


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=10**9, help="n of the long run")
    options = parser.parse_args()
    print("1000 runs at the planned n")
    shares_at_the_planned_n()
    print("All pairs of 91 midpoints")
    all_pairs()
    print("Safety check")
    safety_trials()
    print("Many samples")
    many_samples(options.samples)


if __name__ == "__main__":
    main()
