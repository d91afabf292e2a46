"""Default values of arguments, on which users' programs depend."""

import importlib
import inspect
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import dpjax
from dpjax.core import validate
from dpjax.mechanisms import CATALOGUE
from dpjax.methods import METHODS
from dpjax.notions import NOTIONS

DEFAULTS = {
    "Box": dict(num_points=0),
    "CommandMechanism": dict(workers=1, batch_size=50000, timeout=600.0, special="outcomes"),
    "Domain": dict(nan=False, infinite=False),
    "Events": dict(also=False),
    "Execution": dict(layout="auto"),
    "Histogram": dict(bound="all-intervals"),
    "HostMechanism": dict(
        batched=True, workers=0, batch_size=10000, special="outcomes", restart=False
    ),
    "HostQuery": dict(name="host query"),
    "JaxQuery": dict(name="jax query", batch_size=256),
    "LibraryMechanism": dict(bits="auto", workers=0, time_limit=60.0, special="outcomes"),
    "Local": dict(
        num_samples=20000, num_confirm=50000, bandwidth="scott", kernel="gaussian", density="auto",
        num_nodes=512, objective="lower-bound"
    ),
    "OneRun": dict(fair_coins=False, name="one run"),
    "Recorded": dict(search_fraction=0.3, independent=False, name="recorded outputs"),
    "audit": dict(confidence=0.999, num_claims=1, distance=1, key=0),
    "blind_spot": dict(seen="draws"),
    "calibrate_noise": dict(
        query="mean", noise="laplace", rule="wasserstein", tolerance=0.01, key=0
    ),
    "empirical_privacy": dict(query="mean", key=0, tolerance=1e-09, uncertainty=False),
    "neighbors": dict(relation="add-remove", num_pairs=200, seed=0),
    "plan_safety": dict(probability=0.9, excess=1.5, max_samples=2**53),
    "privacy_loss": dict(floor=0.0),
    "rerun": dict(allow_command=False),
    "resume": dict(allow_command=False),
    "safety_check": dict(probability=0.95),
    "search_pairs": dict(keep=3, factor=4, key=0),
    "truncated_frequencies": dict(floor=0.0),
    "truncated_kde": dict(floor=0.0, kernel="gaussian", method="direct", num_nodes=32768),
    "watch": dict(confidence=0.999, num_claims=1, distance=1, key=0, independent=False),
    "mechanisms.ContinuousNoisyMax": dict(epsilon=1.0, num_queries=3),
    "mechanisms.DiscreteGaussian": dict(sigma=1.0, largest_noise=128),
    "mechanisms.Exponential": dict(epsilon=1.0),
    "mechanisms.FiniteExponential": dict(epsilon=1.0, num_queries=6),
    "mechanisms.FiniteSpace": dict(ordered=False),
    "mechanisms.Gaussian": dict(sigma=1.0),
    "mechanisms.HalfNoiseMax": dict(epsilon=1.0, num_queries=6),
    "mechanisms.Laplace": dict(epsilon=1.0),
    "mechanisms.LocalHashing": dict(epsilon=1.0, num_buckets=4, num_categories=4),
    "mechanisms.NoisyHistogram1": dict(epsilon=1.0),
    "mechanisms.NoisyHistogram2": dict(epsilon=0.5),
    "mechanisms.NoisyMax": dict(epsilon=1.0, num_queries=6),
    "mechanisms.NumericalSVT": dict(epsilon=1.0, threshold=1.0, num_queries=10),
    "mechanisms.OneTimeRappor": dict(coin_chance=0.75, num_bits=8, num_hashes=2),
    "mechanisms.OptimizedUnaryEncoding": dict(epsilon=1.0, num_categories=4),
    "mechanisms.ParallelLaplace": dict(epsilon=1.0, num_releases=3),
    "mechanisms.PermuteAndFlip": dict(epsilon=1.0, num_queries=6),
    "mechanisms.PrefixSum": dict(epsilon=1.0, num_queries=3),
    "mechanisms.RandomizedResponse": dict(epsilon=1.0, num_categories=2),
    "mechanisms.Rappor": dict(
        coin_chance=0.5, set_chance=0.75, clear_chance=0.5, num_bits=8, num_hashes=2
    ),
    "mechanisms.ReportNoisyMax": dict(epsilon=1.0, num_queries=6),
    "mechanisms.ReportNoisyMax2": dict(epsilon=1.0, num_queries=6),
    "mechanisms.ReportNoisyMax3": dict(epsilon=1.0, num_queries=6),
    "mechanisms.ReportNoisyMax4": dict(epsilon=1.0, num_queries=6),
    "mechanisms.SVT1": dict(epsilon=1.0, threshold=1.0, num_queries=10, max_positives=1),
    "mechanisms.SVT2": dict(epsilon=1.0, threshold=1.0, num_queries=10, max_positives=1),
    "mechanisms.SVT3": dict(epsilon=1.0, threshold=1.0, num_queries=10),
    "mechanisms.SVT3And4": dict(epsilon=1.0, threshold=1.0, num_queries=10),
    "mechanisms.SVT4": dict(epsilon=1.0, threshold=1.0, num_queries=10, max_positives=1),
    "mechanisms.SVT5": dict(epsilon=1.0, threshold=1.0, num_queries=10),
    "mechanisms.SVT6": dict(epsilon=1.0, threshold=1.0, num_queries=10),
    "mechanisms.ShuffledBatches": dict(sigma=0.6, num_steps=1000),
    "mechanisms.SnappedLaplace": dict(epsilon=1.0, bound=1024.0),
    "mechanisms.SparseVector": dict(epsilon=1.0, threshold=1.0, num_queries=10),
    "mechanisms.SubsetSelection": dict(epsilon=1.0, subset_size=2, num_categories=6),
    "mechanisms.SummedHistogramEncoding": dict(epsilon=1.0, num_categories=3),
    "mechanisms.SymmetricUnaryEncoding": dict(epsilon=1.0, num_categories=4),
    "mechanisms.ThresholdedHistogramEncoding": dict(epsilon=1.0, threshold=0.75, num_categories=4),
    "mechanisms.TruncatedGaussian": dict(sigma=1.0),
    "mechanisms.TruncatedGeometric": dict(epsilon=1.0, largest_count=10),
    "mechanisms.TruncatedLaplace": dict(scale=1.0),
    "mechanisms.TwoPoint": dict(log_rarity=20.0, ratio=5.0),
    "mechanisms.TwoSidedGeometric": dict(epsilon=1.0),
    "databases.AddRemove": dict(distance=1, ordered=False),
    "databases.ChangeOne": dict(distance=1, ordered=False),
    "databases.DrawnPairs": dict(num_pairs=200, seed=0),
    "databases.Neighbors": dict(num_pairs=200, seed=0),
    "databases.Within": dict(distance=1.0, norm="absolute", monotonic=False),
    "databases.drawn_pairs": dict(num_pairs=200, seed=0),
    "databases.interval_grid": dict(num_points=11, distance=1.0),
    "databases.random_answers": dict(low=0.0, high=2.0),
    "databases.shifts": dict(num_pairs=10, size=1.0),
    "databases.spaces._record_pairs.RecordPairs": dict(closed=False),
    "databases.spaces._value_pairs.ValuePairs": dict(closed=False),
    "densities.CrossValidated": dict(num_pilot=1024, kernel="gaussian"),
    "densities.HoelderRate": dict(beta=1.0, scale=0.9),
    "densities.bandwidth_at": dict(extra=0.0),
    "densities.binned_density": dict(kernel="gaussian", num_nodes=2048),
    "densities.direct_density": dict(kernel="gaussian"),
    "densities.lattice_counts": dict(fine=16),
    "densities.robust_spread": dict(num_widths=1.0),
    "densities.smooth_both": dict(fine=16),
    "empirical.Adversary": dict(num_buckets=2),
    "empirical.Density": dict(kernel="laplace", bandwidth="likelihood"),
    "empirical.LaplaceNoise": dict(bandwidth=0.0),
    "empirical.Quantile": dict(level=0.5),
    "empirical.Variance": dict(ddof=1),
    "empirical.panel_from_table": dict(
        database="database", individual="individual", missing="error", records="many"
    ),
    "empirical.plot_empirical_noise": dict(num_draws=1000000, key=0),
    "empirical.render_empirical_report": dict(kind=".html"),
    "inference.Difference": dict(distance=1),
    "inference.Event": dict(ratio=1.0),
    "inference.FiniteOutputs": dict(num_inputs=2),
    "inference.LipschitzOutputs": dict(width=1.0, inputs=2),
    "inference.Ratio": dict(delta=0.0, distance=1),
    "inference.Rivals": dict(pairs=1, partitions=1),
    "inference.Shift": dict(distance=1),
    "inference.band": dict(corners=128),
    "inference.best_events": dict(num_rivals=1),
    "inference.start": dict(few=False, ordered=True, monotonic=False),
    "inference.unseen_log_rarity": dict(chance=0.95),
    "inference.unseen_probability": dict(chance=0.5),
    "sweeps.Store": dict(any_processor=False),
    "sweeps.SweepSpec": dict(key=0, block_runs=50, more=0),
    "sweeps.compute": dict(more=0),
    "hunting.Case": dict(
        dependencies=True, draws=20000, bits="auto", reported="", documented=False
    ),
    "hunting.environment_of": dict(dependencies=True),
    "hunting.hunt": dict(again=False, confidence=0.999, key=0, seconds=60.0),
    "Epsilon": dict(delta=0.0),
    "Guesses": dict(reveal_fraction=0.3),
    "histogram_levels": dict(num_runs=1),
    "plan": dict(width=1.0, inputs=2, bound="all-intervals", max_samples=2**53),
    "plan_finite": dict(num_inputs=2, bound="all-intervals", max_samples=2**53),
    "empirical._checks.check_independence": dict(key=0),
    "empirical._samples.sample_query": dict(key=0),
    "mechanisms.training.DpSgd": dict(
        noise_multiplier=1.0, clip=1.0, learning_rate=1e-4, num_steps=100, canary=-1,
        score="likelihood"
    ),
    "mechanisms.training.Network": dict(hidden=16, seed=0),
    "mechanisms.training.canaries": dict(number=1, kind="saturating", amplitude=50.0, seed=0),
    "mechanisms.training.canary_pair": dict(label=1.0, amplitude=50.0),
    "mechanisms.training.likelihood_score": dict(rate=1.0),
    "methods.FoundPairs": dict(probes=0, untried=0),
    "notions.Terms": dict(distance=1),
    "methods.local.largest_loss": dict(penalty=0.0),
    "methods.local.mpl_runs": dict(with_curves=False),
    "methods.pairs_to_audit": dict(least=0),
    "notions.GuessCounts": dict(revealed=0, share=1.0),
    "notions.level_of": dict(chosen=False),
    "partitions.Budget": dict(num_rivals=1, shared=False, num_partitions=1),
    "partitions.Encoder": dict(special="outcomes"),
    "partitions.Lookup": dict(num_labels=0, consecutive=False),
    "partitions.Partition": dict(whole=False, ordered=True),
    "partitions.lay": dict(ordered=True, whole=False),
    "partitions.pilot_size": dict(num_pairs=1),
    "plotting.Claimed": dict(delta=0.0),
    "report.Figure": dict(svg="", path=""),
    "report.Section": dict(folded=False),
    "report.Table": dict(numbers=True, units=False),
    "results.Witness": dict(on_floor=False, floor=0.0),
    "sources.Marked": dict(first=0),
    "sources.Request": dict(block=0, in_order=False, each=False),
    "sources.Trust": dict(commands=False),
    "sweeps.Block": dict(more=0),
    "sweeps.Entry": dict(confidence=0.95, distance=1, num_runs=1000, label=""),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFAULTS)
def test_arguments_that_are_left_out(name):
    room, _, last = name.rpartition(".")
    place = importlib.import_module(f"dpjax.{room}") if room else dpjax
    given = inspect.signature(getattr(place, last)).parameters.values()
    found = {p.name: p.default for p in given if isinstance(p.default, (bool, int, float, str))}
    assert found == DEFAULTS[name]
    assert [*map(type, found.values())] == [*map(type, DEFAULTS[name].values())]


@pytest.mark.parametrize("backend", ["cpu", "gpu"])
def test_batches_of_executions(monkeypatch, backend):
    """Parallel runs, parallel pairs, and blocks per stream; a CPU computes one at a time."""
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    execution = dpjax.Execution()
    on_gpu = backend == "gpu"
    assert (execution.runs, execution.pairs) == ((64, 64) if on_gpu else (1, 1))
    found = [execution.blocks(*size) for size in ((1,), (4, 8), (99, 99))]
    assert found == ([1024, 32, 1] if on_gpu else [1, 1, 1])
    given = dpjax.Execution(runs_at_once=3, pairs_at_once=2, blocks_at_once=25)
    assert (given.runs, given.pairs, given.blocks(9, 9), given.blocks(1)) == (3, 2, 4, 25)
    devices = (SimpleNamespace(platform="cpu" if on_gpu else "gpu"),)
    assert dpjax.Execution(devices=devices).runs == (1 if on_gpu else 64)


def test_limits_of_inputs():
    powers_of_two = {
        "categories": 16, "cells": 22, "document_bytes": 24, "label_length": 16, "labels": 20,
        "line_bytes": 20, "pairs": 18, "panel_cells": 25, "piped_bytes": 30, "program_bytes": 26,
        "unpacked_bytes": 28,
    }  # fmt: skip
    powers_of_ten = {"blocks": 6, "columns": 4, "entries": 4, "levels": 4, "runs": 9, "sizes": 4}
    assert validate.LIMITS == {name: 2**power for name, power in powers_of_two.items()} | {
        name: 10**power for name, power in powers_of_ten.items()
    }


REGIONS = {
    "continuous-noisy-max": (-1, 1), "discrete-gaussian": (-3, 4), "exponential": (0, 2),
    "gaussian": (-3, 4), "laplace": (-1, 1), "noisy-histogram-1": (-1, 4),
    "noisy-histogram-2": (-1, 4), "numerical-svt": (-3, 5), "parallel-laplace": (-1, 2),
    "prefix-sum": (-2, [3, 4, 5]), "report-noisy-max-3": (-1, 3), "report-noisy-max-4": (0, 4),
    "shuffled-batches": (0, 3.8), "snapped-laplace": (-5, 5), "summed-histogram-encoding": (-2, 3),
    "svt3": (-3, 5), "svt3-svt4": (-3, 5), "truncated-gaussian": (0, 1),
    "truncated-laplace": (0, 1), "two-sided-geometric": (-5, 6),
}  # fmt: skip
"""Regions in which the local method compares outputs, for each entry of an output."""


def test_regions_of_mechanisms():
    found = {name: kind().standard_region for name, kind in CATALOGUE.items()}
    assert {name for name in found if found[name] is not None} == REGIONS.keys()
    for name, expected in REGIONS.items():
        region = found[name]
        ends = (region.low, region.high) if hasattr(region, "low") else region
        for end, value in zip(ends, expected, strict=True):
            np.testing.assert_allclose(end, value, err_msg=name)


def test_flags_of_notions_and_methods():
    """Only epsilon has its own delta, and two methods estimate without a bound."""
    assert [name for name, kind in NOTIONS.items() if kind.takes_delta] == ["epsilon"]
    assert {name: kind.name for name, kind in NOTIONS.items()} == {name: name for name in NOTIONS}
    first_words = [NOTIONS[name]().symbol.split()[0] for name in ("epsilon", "gdp", "zcdp")]
    assert first_words == ["epsilon", "mu", "rho"]
    assert {name for name, method in METHODS.items() if not method.bounded} == {
        "histogram-estimate", "local-search",
    }  # fmt: skip
