"""Apply every estimator of the package to mechanisms with a hidden leak (Theorems 1 and 5).

After the number of draws is fixed, the leak is placed on an event that is so rare that, with
probability 95%, none of the draws from either input contains it. Then no estimator can detect it.

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
    """Return a mechanism with uniform outputs on [0, 1], except for a rare output 1/2.

    The output 1/2 has the same probability as the rare output of `TwoPoint`.
    """

    def draw(key, x):
        uniform, rare = jax.random.split(key)
        leaks = jax.random.exponential(rare) > log_rarity + ratio * x
        return jnp.where(leaks, 0.5, jax.random.uniform(uniform))

    return from_function(draw, 0.0)


def renyi_level(log_rarity, ratio, order):
    """Return the Renyi level of `TwoPoint`; the contribution of the common output is negligible."""
    rare = math.log1p(math.exp((order - 1) * ratio - log_rarity))
    return rare / (order - 1)


def estimates_of(result):
    """Return the estimates of the runs, with None for failed runs."""
    return [None if value is None else float(value) for value in result.estimates.tolist()]


def rare_record(log_rarity, seed, num_databases=200, num_individuals=20):
    """Return the empirical epsilon of a sum at delta 0.

    With a small probability, the record of one individual is increased by a million. In a database
    with such a record, the sum reveals whether this individual is included, so the true epsilon at
    delta 0 is infinite.
    """
    rng = np.random.default_rng(seed)
    records = rng.gamma(2.0, size=(num_databases, num_individuals))
    records[:, 0] += 1e6 * (rng.exponential(size=num_databases) > log_rarity)
    return empirical_privacy(records, "sum", epsilon=1.0).epsilon_at_zero


def demonstrate(num_samples, ratio, num_runs):
    """Return a row for each estimator, with its estimates in all runs and the true level."""
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
            row(what, name, ratio, bounds, "valid lower bound, but useless")

    two, pair, runs = Unplanned(2, num_samples), [0, 1], {"num_runs": num_runs}
    answers = estimates_of(histogram_levels(points, pair, two, 0, **runs))
    row("histogram LDP", "two points", ratio, answers, "reports failure: an output is missing")
    answers = estimates_of(histogram_levels(points, pair, two, 0, order=ORDER, **runs))
    row("histogram Renyi", "two points", renyi_truth, answers, "reports failure")

    # The spike violates the assumption of the plan, but no draw reveals this.
    claim = {"lipschitz": 0.1, "confidence": 0.8, "num_samples": num_samples}
    on_interval = {"output_interval": (0.0, 1.0), **runs}
    planned = plan(**claim)
    result = histogram_levels(spike, [0.0, 1.0], planned, 0, **on_interval)
    verdict = safety_check(planned, 0.5).verdict(result.counts)
    note = f"false claim C = 0.1 is not detected (safety check: p = {verdict.p_value:.2g})"
    row("histogram LDP", "hidden spike", ratio, estimates_of(result), note)
    result = histogram_levels(spike, [0.0, 1.0], plan(**claim, order=ORDER), 0, **on_interval)
    row("histogram Renyi", "hidden spike", renyi_truth, estimates_of(result), "as above")

    answers = [rare_record(log_rarity, seed) for seed in range(num_runs)]
    note = "no database contains the revealing record"
    row("empirical privacy", "rare record", math.inf, answers, note)

    # If the assumption holds, the same estimator is accurate.
    honest = TwoPoint(log_rarity=3.0, ratio=1.0)
    planned = plan_finite(
        num_outputs=2, least_probability=math.exp(-4.0), precision=0.5, confidence=0.95
    )
    answers = estimates_of(histogram_levels(honest, [0, 1], planned, 0, **runs))
    note = f"least probability known: {planned.num_samples} draws suffice for 0.5 at 95%"
    row("histogram LDP", "two points, not rare", honest.level, answers, note)
    return rows


def as_json(rows, num_samples):
    """Return the rows as a JSON object; infinity, which JSON cannot represent, becomes null."""
    finite = [{**row, "truth": finite_or_none(row["truth"])} for row in rows]
    return json.dumps({"rows": finite, "blind_spot": blind_spot(num_samples)}, indent=1)


def as_text(rows, num_samples, num_runs):
    """Return a table of the rows, and an explanation."""
    lines = [f"{num_samples} draws per input, {num_runs} runs", ""]
    lines.append(f"{'estimator':<22}{'mechanism':<22}{'truth':>7}  {'estimates':<18}note")
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
    """Print the estimates of all estimators, and write them to `impossibility.json`.

    Args:
        folder: Output folder.
        quick: Whether to use a tenth of the draws and only two runs.
    """
    num_samples, num_runs = (2_000, 2) if quick else (20_000, 20)
    rows = demonstrate(num_samples, 40.0, num_runs)
    print(as_text(rows, num_samples, num_runs))
    (folder / "impossibility.json").write_text(as_json(rows, num_samples) + "\n")
