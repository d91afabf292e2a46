"""Audits with the local approach: messages, exact bounds on the floor, recorded outputs."""

import dataclasses
import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from refusals import refusal
from scipy import stats

import dpjax
from dpjax import mechanisms
from dpjax.core import random
from dpjax.densities import Fixed, find_kernel
from dpjax.mechanisms import Laplace
from dpjax.methods.local import _findings, mpl_runs
from dpjax.methods.local._findings import evidence_of
from dpjax.methods.local._lattices import refined
from dpjax.methods.local._search import Curves
from dpjax.notions import Terms
from dpjax.partitions import Box
from dpjax.sources import Drawn
from dpjax.sources.streams import DrawnStreams

LOCAL = dpjax.Local(num_samples=2_000, num_confirm=5_000)
FEW = dpjax.Local(num_samples=180, num_confirm=420)
ONE = [(0.0, 1.0)]
Z95 = stats.norm.ppf(0.95)


def rng(seed=0):
    return np.random.default_rng(seed)


def recorded(x, y, claim=None, **options):
    """Audit recorded outputs; with these settings, none are left out by the split."""
    return dpjax.audit(
        dpjax.Recorded(x, y), method=dpjax.Local(**options), claim=claim, confidence=0.95
    )


@pytest.fixture(scope="module")
def laplace():
    return dpjax.audit(Laplace(1.0), ONE, method=LOCAL, claim=0.5, confidence=0.95, key=3)


def test_a_result_says_all(laplace):
    assert laplace.verdict == "violated" and laplace.basis == "normal"
    # The loss of the smoothed densities is at most 1; 4.5 standard errors, fixed seed.
    assert abs(laplace.estimate - 1) < 4.5 * laplace.standard_error < 0.6
    first, second = laplace.witness.densities
    assert laplace.estimate == pytest.approx(abs(math.log(first / second)), rel=1e-6)
    expected = laplace.estimate - Z95 * laplace.standard_error
    assert laplace.lower_bound == pytest.approx(expected, rel=1e-6)
    # The bound reaches the claim at z standard errors.
    z = (laplace.estimate - 0.5) / laplace.standard_error
    assert laplace.smallest_error == pytest.approx(max(stats.norm.sf(z), 1e-12), rel=0.02)
    assert laplace.region == "[-1, 1]" and -1 <= laplace.witness.output <= 1
    assert "density" in str(laplace) and laplace.witness.bandwidth > 0


def test_curves_of_a_pair_are_those_of_its_databases():
    curve = dpjax.audit(Laplace(4.0), [(0.0, 1.0)], method=LOCAL).evidence.curve
    points, first, second, loss = (
        np.array(curve[name]) for name in ("points", "density", "neighbor_density", "loss")
    )
    assert abs(points[first.argmax()]) < 0.2 and abs(points[second.argmax()] - 1) < 0.2
    both = np.minimum(first, second) > 0.1  # The densities are far above the floor.
    ratio = first[both] / second[both]
    np.testing.assert_allclose(loss[both], abs(np.log(ratio)), rtol=1e-4, atol=1e-6)


def test_pairs_are_listed_by_what_chose_one():
    """With this key, the plain loss is larger for another pair, but it is less certain."""
    result = dpjax.audit(mechanisms.ReportNoisyMax(1.0), method=LOCAL)
    labels, scores = zip(*result.pair_scores, strict=True)
    assert len(labels) == 10 and labels[0] == result.witness.pair
    assert list(scores) == sorted(scores, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False])
def test_a_row_says_whether_its_density_is_on_the_floor(kept):
    """If the floor is above all densities, all of them are on the floor."""
    method = dpjax.Local(400, 1000, floor=None if kept else 10.0)
    terms = Terms(dpjax.Epsilon(), None, 0.95, 1, 0)
    runs = np.arange(3, dtype=np.int32)
    rows = method.run(Drawn(Laplace(1.0)), [(0.0, 1.0)], terms, runs).rows()
    assert [row.status for row in rows] == ["OK" if kept else "ON_FLOOR"] * 3


def test_a_witness_on_the_floor_gets_an_exact_bound():
    result = dpjax.audit(
        mechanisms.SVT5(0.7, num_queries=4), method=LOCAL, claim=0.7, confidence=0.95, key=1
    )
    assert result.verdict == "violated"
    assert result.basis == "exact binomial" and result.standard_error is None
    assert result.witness.on_floor and any("floor" in note for note in result.notes)
    assert "none because a density is at the floor" in str(result)
    # Recompute Clopper and Pearson's bounds from quantiles of the F distribution.
    n, alpha = result.num_confirm, 0.025
    counts = sorted(result.witness.event_counts)
    low = counts[1] / (
        counts[1] + (n - counts[1] + 1) * stats.f.isf(alpha, 2 * (n - counts[1] + 1), 2 * counts[1])
    )
    up = (counts[0] + 1) * stats.f.isf(alpha, 2 * (counts[0] + 1), 2 * (n - counts[0]))
    up = up / (n - counts[0] + up)
    assert result.lower_bound == pytest.approx(math.log(low / up), rel=1e-6)


def test_an_exact_bound_says_why_it_is_one():
    """Expected draws at the witness: 2 of 1,000, 200 of 1,000, and none on one side."""
    notes = {}
    for name, share in (("few", 0.002), ("many", 0.2), ("none", 0.0)):
        sides = [np.repeat([0, 1], [1_000 - count, count]) for count in
                 (round(1_000 * share), round(1_500 * share) or 300)]  # fmt: skip
        found = dpjax.audit(dpjax.Recorded(*sides, independent=True), method=dpjax.Local())
        assert found.basis == ("normal" if name == "many" else "exact binomial")
        notes[name] = [note for note in found.notes if "exact" in note or "floor" in note]
    few = (
        "The lower bound is an exact binomial bound because few draws are expected at the witness."
    )
    assert notes["few"] == [few] and notes["many"] == []
    assert len(notes["none"]) == 1 and "floor" in notes["none"][0]


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2])
def test_the_floor_is_a_share_of_the_draws_in_the_unit_of_the_outputs(dimension):
    """20 of 5,000 draws per unit of spread in each direction; 1.035 for Laplace noise."""
    floors = []

    def laplace(key, database):
        """The scale is part of the database, so that one program serves both scales."""
        (count, scale), noise = database, jax.random.laplace(key, (dimension,))
        return scale * (count + (noise[0] if dimension == 1 else noise))

    for scale in (1.0, 8.0):
        ends = (-scale, scale) if dimension == 1 else ([-scale] * 2, [scale] * 2)
        method = dpjax.Local(5_000, 6_000, region=ends)
        pairs = [([0.0, scale], [1.0, scale])]
        floors.append(dpjax.audit(laplace, pairs, method=method).witness.floor)
    # Spreads are rounded to 12 bits; with 5,000 draws, their error is 1.4% (fixed seeds).
    assert floors[0] / floors[1] == pytest.approx(8.0**dimension, rel=2e-3)
    assert floors[0] == pytest.approx(20 / 5_000 / 1.035**dimension, rel=0.08)


def release(key, database):
    """Return Laplace noise up to 3, the number itself up to 5, and NaN above."""
    noise = jnp.where(database < 3, jax.random.laplace(key), 0.0)
    return jnp.where(database > 5, jnp.nan, database + noise)


def two_dimensional(key, database):
    return database + jax.random.normal(key, (2,))


@pytest.mark.slow
def test_functions_with_a_pilot():
    line = dpjax.audit(release, ONE, method=LOCAL, claim=0.4, confidence=0.95)
    assert line.verdict == "violated" and any("pilot" in note for note in line.notes)


@pytest.mark.slow
def test_functions_with_vectors():
    method = dataclasses.replace(LOCAL, region=Box([-1, -1], [2, 2], num_points=9))
    pairs = [(np.zeros(2), np.ones(2))]
    plane = dpjax.audit(two_dimensional, pairs, method=method, confidence=0.95)
    assert len(plane.witness.output) == 2 and plane.curve is None
    # The loss is |t1 + t2 - 1|, at most 3 in the region; one bound with a fixed seed.
    assert 0.5 < plane.lower_bound < 3


def test_a_region_that_needs_a_finer_lattice_gets_one():
    method = dataclasses.replace(LOCAL, region=(-60.0, 60.0))
    result = dpjax.audit(Laplace(1.0), ONE, method=method, claim=0.4, confidence=0.95)
    assert result.settings["num_nodes"] > 512 and result.verdict == "violated"
    assert result.recipe["method"]["num_nodes"] == 512
    with pytest.raises(ValueError, match=r"region .* is too wide for the bandwidth"):
        dpjax.audit(Laplace(1.0), ONE, method=dataclasses.replace(LOCAL, region=(-1e6, 1e6)))


def test_a_lattice_with_less_than_a_node_per_bandwidth_is_refined():
    options = dpjax.Local()
    needed = find_kernel(options.kernel).min_nodes

    def run(options):
        return np.array([0.5 * options.num_nodes / dpjax.Local().num_nodes])

    def refuse(*found):
        raise AssertionError(found)

    nodes, (settings,) = refined(run, options, lambda nodes: nodes, refuse)
    assert needed <= nodes[0] < 2 * needed
    assert settings.num_nodes == nodes[0] / 0.5 * options.num_nodes


def test_only_runs_with_too_coarse_a_lattice_have_a_finer_one():
    def run(settings):
        return settings.num_nodes * np.array([1.0, 1 / 3_000, 2.0])

    nodes, settings = refined(run, dpjax.Local(), lambda nodes: nodes, lambda *_: None)
    assert [each.num_nodes == 512 for each in settings] == [True, False, True]
    assert nodes.tolist() == [512, settings[1].num_nodes / 3_000, 1024]


def test_the_lattice_is_refined_until_it_is_fine_enough():
    tried = []

    def run(settings):
        tried.append(settings.num_nodes)
        return np.full(1, settings.num_nodes / 3_000, np.float32)

    _, (settings,) = refined(run, dpjax.Local(), lambda nodes: nodes, lambda *_: None)
    assert tried[0] == 512 and tried[-1] == settings.num_nodes
    assert tried == sorted(set(tried)) and len(tried) <= 3
    # The lattice has as many nodes per bandwidth as the kernel requires.
    assert settings.num_nodes / 3_000 >= 1


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Atoms:
    """Uniform on [0, 1], with atoms at 3 and -2 of mass 0.04 and 0.015; the neighbor swaps them."""

    def sample(self, key, database, num_samples):
        u = random.uniform(key, num_samples)
        rest = random.uniform(key, num_samples, row=1)
        p, q = jnp.where(database > 0, 0.015, 0.04), jnp.where(database > 0, 0.04, 0.015)
        return jnp.where(u < p, 3.0, jnp.where(u > 1 - q, -2.0, rest))


@pytest.mark.slow
def test_atoms_do_not_break_the_bound():
    """The paper's variance assumes a density that is constant within a bandwidth.

    This fails at an atom: 8 to 9% of such bounds exceed the true level. If each of 4000 bounds does
    so with probability at most 0.05, more than 268 do with probability 1e-6.
    """
    settings = dataclasses.replace(LOCAL, bandwidth=Fixed(0.1))
    region = Box(-3.0, 4.0)
    found = mpl_runs(
        DrawnStreams(
            Atoms(), np.zeros(1, np.float32), np.ones(1, np.float32), random.as_key(4)
        ),
        region, settings, jnp.arange(4000, dtype=jnp.int32), execution=dpjax.Execution(),
    )  # fmt: skip
    bounds = evidence_of(found, settings, region).bounds(0.95)
    assert not np.any(bounds.exact)
    assert np.sum(bounds.lower_bound > np.log(0.04 / 0.015)) <= 268


# Recorded outputs.


def test_few_recorded_labels_are_told_apart():
    x, y = ["a"] * 2 + ["b"] * 3 + ["c"] * 55, ["a"] * 3 + ["b"] * 54 + ["c"] * 3
    result = recorded(x, y, claim=0.5)
    assert result.witness.output in ("b", "c") and result.verdict == "violated"
    assert result.region == "{a, b, c}"


def test_recorded_reals_far_from_zero():
    # Use the sizes of test_local_recorded.py, so that no other program is compiled.
    noise = rng().laplace(size=(2, 20_000))
    near, far = (recorded(at + noise[0], at + noise[1] + 1, claim=0.1) for at in (0.0, 1e9))
    assert near.verdict == far.verdict == "violated"
    assert far.lower_bound == pytest.approx(near.lower_bound, abs=1e-3)
    assert far.witness.output == pytest.approx(1e9 + near.witness.output, abs=0.01)
    # One bound with a fixed seed.
    assert near.lower_bound <= 1
    assert near.witness.database == "x" and "reals" in near.notes[0]
    assert near.num_samples == 6000 and near.num_confirm == 14_000


def test_recorded_labels_and_integers():
    p, q = [0.6, 0.3, 0.1], [0.3, 0.3, 0.4]
    labels = np.array(["yes", "no", "none"])
    x, y = (labels[rng(seed).choice(3, 900, p=w)] for seed, w in enumerate((p, q)))
    result = recorded(x, y, claim=0.7)
    assert result.witness.output == "none" and result.witness.larger == "neighbor"
    # Fractions of 630 outputs; 4.5 standard errors have probability 7e-6.
    assert abs(result.estimate - math.log(4)) < 4.5 * math.sqrt((9 + 1.5) / 630)
    assert recorded(x, y, region=["yes"]).witness.output == "yes"
    assert "outcomes" in recorded(*rng().integers(0, 3, (2, 900))).notes[0]


# Refusals.

LONG = rng().normal(size=(2, 600))
NAN, CONSTANT = [(7.0, 8.0)], [(4.0, 4.5)]
REFUSED = [
    (
        lambda: dpjax.audit(dpjax.HostMechanism(lambda d, n, rng: rng.laplace(d)), ONE, method=FEW),
        r"densities .*lambda \(test_local_audit.py, line \d+\) is a host mechanism: use",
    ),
    (
        lambda: dpjax.audit(dpjax.CommandMechanism("true {database}"), ONE, method=FEW),
        r"Local estimates densities .* is a host mechanism",
    ),
    (
        lambda: dpjax.audit(Laplace(1.0), ONE, method=FEW, notion=dpjax.Epsilon(0.1)),
        r"delta must be 0 for a density estimate, but was 0\.1: use method=Events\(\)",
    ),
    (
        lambda: dpjax.audit(mechanisms.SVT3(), method=FEW),
        r"Local cannot audit outputs .* outputs with atoms have no density",
    ),
    (
        lambda: dpjax.audit(Laplace(1.0), ONE, method=dataclasses.replace(LOCAL, region=(50, 51))),
        r"region .* lies outside the support of the outputs: none of the 2000 draws",
    ),
    (
        lambda: dpjax.audit(release, NAN, method=dataclasses.replace(LOCAL, region=(0, 1))),
        r"the outputs hold NaN or an infinity",
    ),
    (
        lambda: dpjax.audit(release, CONSTANT, method=dataclasses.replace(LOCAL, region=(3, 5))),
        r"constant, for one of the databases",
    ),
    (
        lambda: dpjax.audit(release, NAN, method=LOCAL),
        r"in a pilot, the mechanism returned NaN or an infinity",
    ),
    (
        lambda: dpjax.audit(release, [(4.0, 4.0)], method=LOCAL),
        r"in a pilot, the mechanism returned a constant",
    ),
    (
        lambda: dpjax.audit(dpjax.Recorded(*LONG), ONE, method=FEW),
        r"pairs must be left out for recorded outputs",
    ),
    (
        lambda: dpjax.audit(dpjax.Recorded([1.0] * 600, LONG[0], discrete=False), method=FEW),
        r"x is constant",
    ),
    (
        lambda: dpjax.audit(dpjax.Recorded([1.0, np.nan] * 300, LONG[0]), method=FEW),
        r"x must hold finite numbers, but 300 of 600 .*method=Events\(\)",
    ),
    (
        lambda: dpjax.audit(dpjax.Recorded(LONG[0][:100], LONG[1][:100]), method=FEW),
        r"at least 200 outputs each .*but the shorter one held 100",
    ),
    (
        lambda: dpjax.audit(dpjax.Recorded([1, 0] * 99, [0, 1] * 99, bits=2), method=FEW),
        r"bits must be left out if a density is estimated, but was 2: use method=Events\(\)",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refusals(call, message):
    said = str(refusal(call))
    assert re.search(message, said, re.S), said


def test_files_must_be_read_into_memory(tmp_path):
    for name, side in zip("xy", LONG, strict=True):
        np.savetxt(tmp_path / f"{name}.csv", side)
    x, y = (dpjax.Recording(tmp_path / f"{name}.csv") for name in "xy")
    with pytest.raises(TypeError, match="Local needs outputs in memory, but x was a Recording"):
        dpjax.audit(dpjax.Recorded(x, y), method=FEW)


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("number", [3, 60])
def test_a_curve_shows_few_points(monkeypatch, discrete, number):
    """The most likely outcomes are shown, or evenly spaced points among the allowed ones."""
    monkeypatch.setattr(_findings, "_CURVE_POINTS", 10)
    rng = np.random.default_rng(number)
    points = np.arange(number) if discrete else np.linspace(-1, 1, number)[:, None]
    allowed, densities = np.arange(number) % 5 != 1, rng.random((2, number))
    found = _findings._curve(Curves(points, densities, allowed), 0.2, lambda point: [point])
    index = np.flatnonzero(allowed)
    if discrete:
        likeliest = sorted(index, key=lambda place: -max(densities[:, place]))
        index = sorted(likeliest[:10])
    else:
        size = min(10, len(index))
        index = [index[int(k * (len(index) - 1) / (size - 1))] for k in range(size)]
    assert found["points"] == [[points.reshape(-1)[place]] for place in index]
    assert found["density"] == densities[0, index].tolist()
    assert found["neighbor_density"] == densities[1, index].tolist()
    raised = np.maximum(densities[:, index], 0.2)
    np.testing.assert_allclose(found["loss"], np.abs(np.log(raised[0] / raised[1])), atol=1e-6)
    assert _findings._curve(Curves(np.zeros((number, 2)), densities, allowed), 0.2, list) is None


@pytest.mark.parametrize(
    ("bandwidth", "message"),
    [
        (1e-6, r"^bandwidth 1e-06 is too small for the region \[-1, 1\]: more than 262144 lattice"),
        (1e-20, r"^bandwidth must lie between 1e-18 and 1e\+17 for .* in 1 dimension, .* 1e-20"),
        (1e-37, "^bandwidth must lie between .* 1e-37"),
        (1e30, r"^bandwidth must lie between .* but was 1e\+30: choose another bandwidth"),
    ],
)
def test_messages_about_a_bandwidth_do_not_call_it_a_spread(bandwidth, message):
    """A fixed bandwidth says nothing about the outputs, which have a spread of about 1."""
    method = dpjax.Local(num_samples=500, num_confirm=1000, bandwidth=bandwidth)
    with pytest.raises(ValueError, match=message):
        dpjax.audit(Laplace(1.0), method=method)
