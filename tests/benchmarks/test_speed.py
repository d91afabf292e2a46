"""Small versions of the speed benchmarks: all parts run, rivals agree, results are compared."""

import json
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from benchmarks import gpu
from benchmarks.presets.experiments import experiment
from benchmarks.speed import (
    compare,
    counts,
    density,
    harness,
    mpl,
    noise,
    overhead,
    plain_mpl,
    startup,
    table,
)
from dpjax.core import random
from dpjax.core.streaming import Reducer, reduce_samples
from dpjax.densities import binned_density, direct_density
from dpjax.sources.streams import CONFIRM, SEARCH, DrawnStreams
from dpjax.sweeps import compute

ROOT = Path(__file__).parents[2]


def check(entries, goals, names):
    assert {entry.name for entry in entries} >= set(names)
    assert all(entry.seconds > 0 and entry.spread >= 0 for entry in entries)
    assert all(np.isfinite(goal.value) and goal.value > 0 for goal in goals)
    result = {
        "date": "today",
        "quick": True,
        "notes": ["A note."],
        "machine": harness.machine(),
        **harness.as_json(entries, goals),
    }
    result = json.loads(json.dumps(result))
    text = table.table(result)
    assert all(f"| {name} |" in text for name in names)
    assert all(c.verdict == "same" for c in compare.compare(result, result))


def test_contenders_take_turns_and_leave_when_their_time_is_up():
    calls = []
    contenders = {
        "quick": harness.Contender(lambda: calls.append("quick"), units=10, facts={"a": 1}),
        "slow": harness.Contender(lambda: (calls.append("slow"), time.sleep(0.02))),
    }
    quick, slow = harness.measure("s", "c", contenders, unit="call", rounds=6, seconds_each=0.05)
    assert calls[:4] == ["quick", "slow", "quick", "slow"]
    assert (quick.rounds, quick.facts) == (6, {"a": 1})
    assert 1 <= slow.rounds < 6
    assert slow.seconds >= 0.02 > quick.seconds


def test_spread_is_a_standard_deviation_that_one_slow_round_does_not_set():
    times = list(np.random.default_rng(0).normal(10, 2, 2001))
    assert abs(harness.spread_of(times) - 2) < 0.15
    assert harness.spread_of([1.0, 1.1, 1.2, 99.0, 1.1]) < 0.2
    assert harness.spread_of([1.0]) == 0


def test_goals_hold_on_the_right_side():
    assert harness.Goal("s", "faster", 8.1, 8.0).held
    assert not harness.Goal("s", "faster", 7.9, 8.0).held
    assert harness.Goal("s", "overhead", 1.1, 1.3, at_least=False).held
    assert not harness.Goal("s", "overhead", 1.4, 1.3, at_least=False).held


def result_of(**seconds):
    entries = [
        {"suite": "s", "case": "c", "name": name, "seconds": value, "spread": spread}
        for name, (value, spread) in seconds.items()
    ]
    return {"entries": entries, "machine": {"processor": "p"}}


def test_compare_tells_slower_from_noise():
    old = result_of(steady=(1.0, 0.01), noisy=(1.0, 0.2), fast=(1.0, 0.01), gone=(1.0, 0.0))
    new = result_of(steady=(1.2, 0.01), noisy=(1.5, 0.2), fast=(0.5, 0.01), added=(1.0, 0.0))
    verdicts = {c.key[2]: c.verdict for c in compare.compare(old, new)}
    assert verdicts == {"steady": "slower", "noisy": "same", "fast": "faster"}
    # A change below a tenth may come from the state of the machine, even if rounds agree.
    near = compare.compare(old, result_of(steady=(1.09, 0.0)))
    assert near[0].verdict == "same"
    with pytest.raises(ValueError, match="entries in common"):
        compare.compare(old, result_of(other=(1.0, 0.0)))


def test_compare_exits_with_1_if_something_is_slower(tmp_path):
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for path, seconds in zip(files, (1.0, 2.0), strict=True):
        path.write_text(json.dumps(result_of(only=(seconds, 0.01))))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.compare", *map(str, files)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "slower  x2.00" in done.stdout
    with pytest.raises(SystemExit) as ended:
        compare.main([str(files[1]), str(files[0])])
    assert ended.value.code == 0


def test_density_in_small(monkeypatch):
    monkeypatch.setattr(density, "TARGET", 1e-3)
    monkeypatch.setattr(density, "NUM_POINTS", 64)
    entries, goals = density.run(quick=True, sizes=[3000])
    check(entries, goals, ["dpjax binned", "dpjax direct", "scipy gaussian_kde"])
    assert all(entry.facts["error"] < 2e-3 for entry in entries)


def test_densities_inside_jit_are_the_plain_sum():
    # The arrays are float32, and at each point, at least 54 draws are within the kernel.
    sample = np.random.default_rng(3).laplace(size=20_000)
    points = np.linspace(-4, 4, 101)
    truth = density.direct_sum(sample, points, 0.12)
    arrays = [jnp.asarray(x, jnp.float32) for x in (sample, points)]
    binned = jax.jit(lambda x, p: binned_density(x, p, 0.12))(*arrays)
    direct = jax.jit(lambda x, p: direct_density(x[:, None], p[:, None], 0.12))(*arrays)
    assert np.max(np.abs(binned / truth - 1)) < 2e-4
    assert np.max(np.abs(direct / truth - 1)) < 2e-5


def test_counts_in_small():
    entries, goals = counts.run(quick=True, intervals=[50])
    check(entries, goals, ["dpjax", "numpy.histogram"])
    # Rounding the ends of intervals to float32 moves one in a few million draws.
    assert entries[0].facts["counts that differ"] <= 20


def test_noise_in_small(monkeypatch):
    monkeypatch.setattr(noise, "_BLOCK", 2**12)
    entries, goals = noise.run(quick=True, names=["gumbel"])
    check(entries, goals, ["dpjax", "jax.random, float32", "NumPy Generator"])


@pytest.mark.slow
def test_mpl_and_overhead_in_small():
    entries, goals = mpl.run(quick=True, letters="a")
    check(entries, goals, ["dpjax, batch", "NumPy and SciPy", "paper's Table II"])
    entries, goals = overhead.run(quick=True, letters="a")
    check(entries, goals, ["runs", "draws, summed"])


@pytest.mark.slow
def test_the_twin_draws_what_runs_draw():
    entry = experiment("b", 0.7)
    name = random.stable_hash(entry.id)
    source = DrawnStreams(
        entry.mechanism,
        jnp.asarray(entry.pairs.database),
        jnp.asarray(entry.pairs.neighbor),
        random.fold_in(random.fold_in(random.as_key(0), name), 3),
    )
    reducer = Reducer(lambda: 0, lambda c, s, v: c + jnp.sum(jnp.where(v, s, 0)))

    sizes = (entry.method.num_samples, entry.method.num_confirm)
    total = jax.jit(
        lambda pair, side, stage: reduce_samples(
            source.draw(pair, side, stage, sizes[stage]), reducer, sizes[stage]
        ),
        static_argnames=("side", "stage"),
    )
    searched = [
        [int(total(jnp.int32(pair), side, SEARCH)) for side in (0, 1)] for pair in range(10)
    ]
    best = int(np.argmax(np.sum(searched, axis=1)))
    confirmed = [int(total(jnp.int32(best), side, CONFIRM)) for side in (0, 1)]
    assert int(overhead.draw_and_sum(entry, [3])[0]) == np.sum(searched) + np.sum(confirmed)


@pytest.mark.slow
@pytest.mark.parametrize("letter", ["a", "b"])
def test_the_plain_bound_agrees_in_distribution(letter):
    # Two implementations with independent draws are compared by a Kolmogorov-Smirnov test with 40
    # bounds each. The plain one uses the absolute value and ignores the standard error of the
    # search, which changes a bound by much less than its standard deviation of 0.02 at this level.
    entry = experiment(letter, 1.5)
    rng = np.random.default_rng(7)
    plain = [plain_mpl.lower_bound(entry, rng) for _ in range(40)]
    ours = compute(entry, range(40), 0)["lower_bound"]
    assert stats.ks_2samp(plain, ours).pvalue > 1e-5
    # The test is powerful: bounds that are lower by 6%, two deviations, are rejected.
    assert stats.ks_2samp(np.multiply(plain, 0.94), ours).pvalue < 1e-5


@cache
def sampler(letter):
    """Return the compiled sampler of 8192 outputs: (key, database) -> outputs."""
    entry = experiment(letter, 0.7)
    sample = jax.jit(lambda key, database: entry.mechanism.sample(key, database, 8192))
    return sample.lower(random.as_key(0), jnp.asarray(entry.pairs.database[0])).compile()


@pytest.mark.parametrize("letter", "abcdefgh")
def test_plain_draws_have_the_mechanisms_distribution(letter):
    entry = experiment(letter, 0.7)
    database = np.asarray(entry.pairs.neighbor)[4]
    plain = plain_mpl.DRAWS[letter](entry, np.random.default_rng(5), database, 8192)
    ours = np.asarray(sampler(letter)(random.as_key(9), jnp.asarray(database)))
    if letter in "acd":
        assert stats.ks_2samp(plain, ours).pvalue > 1e-5
        return
    seen = np.union1d(plain, ours)
    table = np.stack([np.sum(seen[:, None] == x[None, :], axis=1) for x in (plain, ours)])
    # Merge rare outcomes, so that the chi-squared approximation holds.
    rare = table.sum(axis=0) < 40
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    assert stats.chi2_contingency(table).pvalue > 1e-5


@pytest.mark.slow
def test_gpu_script_on_any_backend(tmp_path):
    options = ["--runs", "3", "--batch", "2", "--rounds", "1", "--only", "a", "--levels", "1"]
    options += ["--runs-sweep", "2", "--draws", "20000", "--trainings", "8"]
    gpu.main([*options, "--out", str(tmp_path)])
    (written,) = tmp_path.glob("*.json")
    result = json.loads(written.read_text())
    assert len(result["audits"]) == 6
    assert all(row["first"] > 0 and row["again"] > 0 for row in result["audits"])
    (row,) = result["sweeps"]
    assert row["events"] > 0 and row["local"] > 0
    (row,) = result["curves"]
    assert len(result["trainings"]) == 4
    assert all(row["trainings_per_second"] > 0 for row in result["trainings"])
    assert row["outputs_per_second"] * row["seconds"] == pytest.approx(3 * 500_000)
    assert row["runs_over_draws"] > 0


@pytest.mark.slow
def test_gpu_script_keeps_what_it_measured_until_the_time_limit(tmp_path, capsys):
    gpu.main(["--seconds", "0", "--out", str(tmp_path)])
    (written,) = tmp_path.glob("*.json")
    result = json.loads(written.read_text())
    assert [len(result[section]) for section in gpu.TABLES] == [1, 0, 0, 0]
    assert "time limit of 0 s" in capsys.readouterr().out


def test_the_integer_limit_of_a_chip():
    assert gpu.chip_of("NVIDIA H200").operations == pytest.approx(16.7e12, rel=0.01)
    assert gpu.chip_of("cpu") is None
    assert gpu.limit_of("a", gpu.CHIPS["H200"]) == pytest.approx(2.1e11, rel=0.01)
    # Count operations by tracing the cipher; a rotation, three operations in jnp, counts as one.
    counter = jnp.zeros(4, jnp.uint32)
    cipher = jax.make_jaxpr(lambda x: random.threefry2x32((x, x), (x, x)))(counter).eqns[0]
    jaxpr = cipher.params["jaxpr"]
    names = [equation.primitive.name for equation in jaxpr.eqns]
    arithmetic = [n for n in names if n in ("add", "xor", "or")]
    assert len(arithmetic) == gpu.INTEGER_OPERATIONS


@pytest.mark.parametrize("letter", "abcdefgh")
def test_calls_of_threefry_are_counted(letter):
    """Count XOR operations in the compiled program: 20 per call, and a few for the key."""
    assert sampler(letter).as_text().count(" xor(") // 20 == gpu.CALLS[letter]


def test_startup_counts_the_audit(monkeypatch):
    seen, spent = [], [7.0]

    def python(program, *arguments, environment=None):
        seen.append(arguments)
        spent[0] += 3.0 if "audit" in arguments else 2.0
        return "[1.5, 200]"

    monkeypatch.setattr(startup, "_python", python)
    monkeypatch.setattr(startup, "_cpu_of_children", lambda: spent[0])
    entries, goals = startup.run(quick=True)
    assert [goal.value for goal in goals[:2]] == [1.5, 1.5]
    assert [(goal.target, goal.at_least) for goal in goals] == [
        (1.6, False),
        (2.0, False),
        (0.3, False),
        (6.0, False),
        (3.0, False),
    ]
    assert {entry.case for entry in entries} == {"import", "audit laplace", "compile"}
    assert entries[-1].facts == {"peak memory, MB": 200}
    assert ("audit", "laplace", "--json") in seen
