"""Every estimator of the package against mechanisms that hide their leak (Theorems 1 and 5).

The number of draws comes first; then the leak is put on an event so rare that all draws of both
inputs miss it with probability 95 %. Nothing an estimator does with what it saw can find it.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Theorems 1 and 5.
"""

import json
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from dpjax import Events, Local, audit, empirical_privacy
from dpjax.core.numerics import finite_or_none
from dpjax.inference import blind_spot, plan, plan_finite, safety_check, unseen_log_rarity
from dpjax.mechanisms import TwoPoint, from_function
from dpjax.methods.histogram import Unplanned, histogram_levels

ORDER = 2.0


def hidden_spike(log_rarity, ratio):
    """Uniform on [0, 1], except that the answer is exactly 1/2 on the event of the two points."""

    def draw(key, x):
        uniform, rare = jax.random.split(key)
        leaks = jax.random.exponential(rare) > log_rarity + ratio * x
        return jnp.where(leaks, 0.5, jax.random.uniform(uniform))

    return from_function(draw, 0.0)


def renyi_level(log_rarity, ratio, order):
    """Exact Renyi level of the two points, from the rare answer; the common one adds nothing."""
    rare = math.log1p(math.exp((order - 1) * ratio - log_rarity))
    return rare / (order - 1)


def estimates_of(result):
    """Numbers of the runs, None where a run failed."""
    return [None if value is None else float(value) for value in result.estimates.tolist()]


def rare_record(log_rarity, seed, num_databases=200, num_individuals=20):
    """The epsilon at delta 0 of a sum, where one individual's record is rarely a million.

    In a database with that record the sum tells whether its owner is in it: the true epsilon at
    delta 0 is infinite.
    """
    rng = np.random.default_rng(seed)
    records = rng.gamma(2.0, size=(num_databases, num_individuals))
    records[:, 0] += 1e6 * (rng.exponential(size=num_databases) > log_rarity)
    return empirical_privacy(records, "sum", epsilon=1.0).epsilon_at_zero


def demonstrate(num_samples, ratio, num_runs):
    """One row per estimator: what it answered in each run, and the truth."""
    log_rarity = unseen_log_rarity(num_samples, 0.95)
    points, spike = TwoPoint(log_rarity, ratio), hidden_spike(log_rarity, ratio)
    renyi_truth = renyi_level(log_rarity, ratio, ORDER)
    rows = []

    def row(estimator, mechanism, truth, answers, note):
        rows.append(
            {
                "estimator": estimator,
                "mechanism": mechanism,
                "truth": truth,
                "answers": answers,
                "note": note,
            }
        )

    sizes = (num_samples // 4, num_samples - num_samples // 4)
    for name, mechanism, pairs, region in (
        ("two points", points, None, None),
        ("hidden spike", spike, [(0.0, 1.0)], (0.0, 1.0)),
    ):
        for what, method in (("events", Events), ("local approach (MPL)", Local)):
            bounds = [
                audit(mechanism, pairs, method=method(*sizes, region), key=key).lower_bound
                for key in range(num_runs)
            ]
            row(what, name, ratio, bounds, "a lower bound, true and useless")

    two, pair, runs = Unplanned(2, num_samples), [0, 1], {"num_runs": num_runs}
    answers = estimates_of(histogram_levels(points, pair, two, 0, **runs))
    row("histogram LDP", "two points", ratio, answers, "fails and says so: an output is not seen")
    answers = estimates_of(histogram_levels(points, pair, two, 0, order=ORDER, **runs))
    row("histogram Renyi", "two points", renyi_truth, answers, "fails and says so")

    # The spike breaks the assumption of the plan, and no output shows it.
    claim = {"lipschitz": 0.1, "confidence": 0.8, "num_samples": num_samples}
    on_interval = {"output_interval": (0.0, 1.0), **runs}
    planned = plan(**claim)
    result = histogram_levels(spike, [0.0, 1.0], planned, 0, **on_interval)
    verdict = safety_check(planned, 0.5).verdict(result.counts)
    note = f"a false claim of C = 0.1 goes unnoticed (safety check: p = {verdict.p_value:.2g})"
    row("histogram LDP", "hidden spike", ratio, estimates_of(result), note)
    result = histogram_levels(spike, [0.0, 1.0], plan(**claim, order=ORDER), 0, **on_interval)
    row("histogram Renyi", "hidden spike", renyi_truth, estimates_of(result), "as above")

    answers = [rare_record(log_rarity, seed) for seed in range(num_runs)]
    note = "the record that gives its owner away was in no database"
    row("empirical privacy", "rare record", math.inf, answers, note)

    # With the assumption in place the same estimator is right.
    honest = TwoPoint(log_rarity=3.0, ratio=1.0)
    planned = plan_finite(
        num_outputs=2, least_probability=math.exp(-4.0), precision=0.5, confidence=0.95
    )
    answers = estimates_of(histogram_levels(honest, [0, 1], planned, 0, **runs))
    note = f"least probability known: {planned.num_samples} draws suffice for 0.5 at 95 %"
    row("histogram LDP", "two points, not rare", honest.level, answers, note)
    return rows


def as_json(rows, num_samples):
    """One JSON object; it has no infinity."""
    finite = [{**row, "truth": finite_or_none(row["truth"])} for row in rows]
    return json.dumps({"rows": finite, "blind_spot": blind_spot(num_samples)}, indent=1)


def as_text(rows, num_samples, num_runs):
    """A table for people, and what it means."""
    lines = [f"{num_samples} draws at each input, {num_runs} runs", ""]
    lines.append(f"{'estimator':<22}{'mechanism':<22}{'truth':>7}  {'answers':<18}note")
    for row in rows:
        numbers = [value for value in row["answers"] if value is not None]
        failed = len(row["answers"]) - len(numbers)
        text = f"{min(numbers):.2f} to {max(numbers):.2f}" if numbers else ""
        text += f"{', ' if numbers else ''}{failed} failed" if failed else ""
        lines.append(
            f"{row['estimator']:<22}{row['mechanism']:<22}{row['truth']:>7.2f}  {text:<18}"
            f"{row['note']}"
        )
    return "\n".join([*lines, "", blind_spot(num_samples)])


def main(folder: Path, *, quick: bool) -> None:
    """Prints what every estimator answered and writes it to `impossibility.json`.

    Args:
        folder: Of the file.
        quick: A tenth of the draws, and two runs.
    """
    num_samples, num_runs = (2_000, 2) if quick else (20_000, 20)
    rows = demonstrate(num_samples, 40.0, num_runs)
    print(as_text(rows, num_samples, num_runs))
    (folder / "impossibility.json").write_text(as_json(rows, num_samples) + "\n")
