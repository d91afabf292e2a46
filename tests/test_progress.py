"""Progress of an audit: all sources make the same calls, and results do not depend on them."""

import sys

import jax
import numpy as np
import pytest

import dpjax
from dpjax import Events, Execution
from dpjax.mechanisms import Laplace

SIZES = Events(num_samples=3000, num_confirm=5000)
PAIR = [(0.0, 1.0)]
ALL = 2 * (3000 + 5000)


def batch(database, num_samples, rng):
    return database + rng.laplace(size=num_samples)


def one(database, rng):
    return database + rng.laplace()


def recorded():
    x, y = (np.random.default_rng(seed).laplace(seed, size=9000) for seed in (0, 1))
    return dpjax.Recorded(x, y)


CODE = "import sys; [print(0.5) for _ in range(int(sys.argv[1]))]"
PROGRAM = f"{sys.executable} -S -c '{CODE}' {{num_samples}} {{database}}"
SOURCES = {
    "built in": (Laplace(1.0), None, SIZES, None),
    "streamed": (Laplace(1.0), PAIR, SIZES, ALL),
    "vectors": (lambda key, d: d + jax.random.laplace(key, (2,)), PAIR, SIZES, ALL),
    "batches": (dpjax.HostMechanism(batch, batch_size=1000), PAIR, SIZES, ALL),
    "one by one": (dpjax.HostMechanism(one, batched=False), PAIR, SIZES, ALL),
    "workers": (dpjax.HostMechanism(one, batched=False, workers=1), PAIR, SIZES, ALL),
    "program": (dpjax.CommandMechanism(PROGRAM, batch_size=4000), PAIR, SIZES, ALL),
    "program once an output": (
        dpjax.CommandMechanism("echo {database}"),
        PAIR,
        Events(num_samples=30, num_confirm=40),
        2 * (30 + 40),
    ),
    # These outputs are read twice.
    "recorded": (recorded(), None, Events(), 36_000),
    "local": (Laplace(1.0), PAIR, dpjax.Local(2000, 5000), 2 * (2000 + 5000)),
    "histogram": (
        dpjax.mechanisms.TruncatedLaplace(2.0),
        None,
        dpjax.Histogram(lipschitz=0.64, num_samples=4000),
        None,
    ),
}


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", SOURCES)
def test_every_source_tells_how_far_it_is(name):
    subject, pairs, method, total = SOURCES[name]
    seen = []
    layout = "streamed" if name == "streamed" else "auto"
    execution = Execution(progress=lambda *step: seen.append(step), layout=layout)
    result = dpjax.audit(subject, pairs, method=method, execution=execution)
    done, totals = zip(*seen, strict=True)
    # The number starts at 0, increases, and ends with the total.
    assert done[0] == 0 and list(done) == sorted(done)
    assert done[-1] == totals[-1] == (total or totals[0])
    # Only the number of recorded outputs is unknown at first.
    assert set(totals[:-1]) <= {done[-1], 0} and (0 in totals) == (name == "recorded")
    # Workers make the same draws as a single process.
    subject = SOURCES["one by one"][0] if name == "workers" else subject
    plain = dpjax.audit(subject, pairs, method=method, execution=Execution(layout=layout))
    assert plain.witness == result.witness and plain.lower_bound == result.lower_bound


def test_the_length_of_recordings_is_unknown_until_a_sequential_audit_has_read_them():
    seen = []
    execution = Execution(progress=lambda *step: seen.append(step))
    x, y = (np.random.default_rng(seed).integers(4, size=6000) for seed in (0, 1))
    dpjax.audit(dpjax.Recorded(x, y), method=dpjax.Sequential(), execution=execution)
    assert seen[0] == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["gathered", "streamed"])
def test_an_interrupt_tells_how_many_outputs_searched(layout):
    """Of 13,200 outputs for 12 pairs, 5/11 are for all pairs and the rest for a quarter of them."""
    searched = 2 * (12 * 500 + 3 * 2_400)

    def stop(done, total):
        assert total == searched + 2 * 5_000
        if done > searched:
            raise KeyboardInterrupt

    execution = Execution(progress=stop, layout=layout)
    method = Events(num_samples=1_100, num_confirm=5_000)
    pairs = [(0.0, k / 11) for k in range(1, 13)]
    with pytest.raises(KeyboardInterrupt) as stopped:
        dpjax.audit(Laplace(1.0), pairs, method=method, execution=execution)
    assert str(stopped.value) == (
        f"Stopped after {searched} search outputs and no confirmation outputs: there is no result."
    )


def test_functions_of_progress_compile_nothing_again():
    first, second = (Execution(progress=look) for look in (print, repr))
    elsewhere = Execution(devices=tuple(jax.devices()))
    assert first == second == elsewhere == Execution()
    assert hash(first) == hash(elsewhere) == hash(Execution()) != hash(Execution(runs_at_once=2))
    assert "progress" not in repr(first) and "devices" not in repr(elsewhere)


@pytest.mark.slow
def test_a_search_of_pairs_tells_its_draws():
    seen = []
    execution = Execution(progress=lambda *step: seen.append(step))
    pairs = [(0.0, k / 11) for k in range(12)]
    found = dpjax.search_pairs(Laplace(1.0), pairs, budget=200_000, keep=2, execution=execution)
    assert seen[-1] == (found.num_draws, found.num_draws) and len(seen) == len(found.rungs) == 2
