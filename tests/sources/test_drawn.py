"""JAX mechanisms as sources, and regions of all sources."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sides import request

import dpjax
from dpjax import Events, Execution, HostMechanism, Pairs, Recorded
from dpjax.mechanisms import Laplace
from dpjax.sources import Marked, Trust, _drawn_blocks, as_source
from dpjax.sources._drawn import Drawn

PAIR = [(0.0, 1.0)]
SIDES = np.random.default_rng(0).laplace([0, 1], size=(6000, 2)).T


def noisy(database, num_samples, seed):
    return database + np.random.default_rng(seed).laplace(size=num_samples)


def rounded(key, database):
    """Return integers with a wide range, most of which occur at most once; the level is 1."""
    return jnp.round(1000 * (database + jax.random.laplace(key))).astype(jnp.int32)


@pytest.mark.parametrize(
    ("subject", "pairs", "low", "high"),
    [
        (Laplace(), PAIR, -0.5, 1.25),
        (HostMechanism(noisy), PAIR, -0.5, 1.25),
        (Recorded(*SIDES), None, -0.5, 1.25),
        (rounded, PAIR, -500, 1250),
    ],
    ids=["reals", "host", "recorded", "integers"],
)
def test_an_event_lies_in_the_region(subject, pairs, low, high):
    """In the region, the ratio of the Laplace densities is e at both ends."""
    result = dpjax.audit(subject, pairs, method=Events(2000, 8000, region=(low, high)))
    assert 0.6 < result.lower_bound <= 1
    event = result.witness.event
    assert not re.search("not|anything|below|at least|at most|above", event)
    numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", event)]
    # The intervals are half-open, so the last one ends just after the region.
    assert numbers and all(low <= number <= np.nextafter(high, np.inf) for number in numbers)


@pytest.mark.parametrize(
    ("subject", "pairs"),
    [
        (Laplace(), PAIR),
        (HostMechanism(noisy), PAIR),
        (Recorded(*SIDES), None),
        (Recorded(*(np.where(side > 0.5, "a", "b") for side in SIDES)), None),
    ],
    ids=["reals", "host", "recorded", "labels"],
)
def test_a_region_without_outputs_is_refused(subject, pairs):
    with pytest.raises(ValueError, match="lies outside the support of the outputs"):
        dpjax.audit(subject, pairs, method=Events(2000, 4000, region=(1e4, 1e5)))


def test_recorded_arrays_are_no_mechanism():
    with pytest.raises(TypeError, match=r"of type ndarray: .* as dpjax.Recorded\(x, y\)"):
        dpjax.audit(SIDES[0], PAIR)


@pytest.mark.slow
def test_both_layouts_count_the_same_at_every_pair():
    """The last block is not full, and the cells are determined separately for each pair."""
    pairs = Pairs([0.0, 0.0, 1.0], [0.1, 1.0, 0.5], ("near", "far", "back"))
    method = Events(5000, 9001, region=(-0.5, 1.25))
    results = [
        dpjax.audit(Laplace(), pairs, method=method, execution=Execution(layout=layout), key=3)
        for layout in ("gathered", "streamed")
    ]
    for result in results:
        object.__setattr__(result.provenance, "seconds", 0.0)
    gathered, streamed = (result.to_dict() for result in results)
    assert gathered == streamed and gathered["witness"]["pair"] == "far"


@pytest.mark.parametrize(
    ("mechanism", "pair", "message"),
    [
        (Laplace(1.0), ([0.0] * 2, [1.0] * 2), r"single numbers for .* had the shape \(2,\)"),
        (dpjax.mechanisms.SVT2(1.0), (0.0, 1.0), r"query answers .* had the shape \(\)"),
        (dpjax.mechanisms.SVT2(1.0), ([0.0] * 3, [1.0] * 3), r"query answers .* the shape \(3,\)"),
        (Laplace(1.0), ([0.0], [1.0, 1.0]), "databases of the same shape for this mechanism"),
    ],
)
def test_databases_that_a_mechanism_does_not_take_are_refused(mechanism, pair, message):
    with pytest.raises(ValueError, match=message):
        dpjax.audit(mechanism, [pair], method=dpjax.Events(200, 400))


@pytest.mark.parametrize(
    ("method", "num_pairs"),
    [(Events(600, 900), 1), (Events(600, 900), 4), (dpjax.Sequential(2000), 1)],
    ids=["one pair", "several pairs", "sequential"],
)
def test_no_block_is_drawn_twice(monkeypatch, method, num_pairs):
    """Outputs that determine the cells, or that are compared, are also counted."""
    drawn = []

    def recorded(mechanism, stream, database, blocks, size, **options):
        key = np.asarray(stream).tobytes(), float(database)
        drawn.extend((key, number) for number in blocks)
        return draw(mechanism, stream, database, blocks, size, **options)

    draw = _drawn_blocks.drawn_calls
    monkeypatch.setattr(_drawn_blocks, "drawn_calls", recorded)
    pairs = [(0.0, 1.0 + number) for number in range(num_pairs)]
    result = dpjax.audit(
        Laplace(), pairs, method=method, execution=Execution(layout="gathered"), key=1
    )
    assert len(drawn) == len(set(drawn)) > 0 and result.lower_bound > 0


def test_cells_of_one_run_leave_those_of_other_runs_as_they_are():
    kept = {}
    with as_source(Laplace()).opened(PAIR, request(100, 900, kept=kept)) as opened:
        (first,) = opened.search()
        again = opened.lay_again(0, 500)
        assert again.partition.key != first.partition.key
        assert kept["laid"][0].partition is first.partition
        # The audit itself counts in its new cells.
        marked = Marked(np.array([0]), np.arange(again.partition.size)[None], 500, 500, 200)
        assert opened.count(marked).sum() == 400


def test_recipes_of_mechanisms_have_a_name_and_parameters():
    plain = as_source(Laplace(2.0)).to_plain()
    assert Drawn.from_plain(plain, 0.0, Trust(())).mechanism == Laplace(2.0)
    with pytest.raises(ValueError, match=r"the recipe's subject .*'more'"):
        Drawn.from_plain(plain | {"more": 1}, 0.0, Trust(()))


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize(
    "asked", [[(300, 0), (128, 3)], [(256, 0), (300, 2)], [(100, 0), (200, 1), (60, 1)],
              [(128, 0), (128, 0), (300, 0)], [(500, 1), (10, 0)]],
)  # fmt: skip
def test_requests_that_begin_at_any_block_get_its_draws(keeps, asked):
    """A block is reused only if the next request begins with it."""
    source = as_source(Laplace())
    with source.opened(Pairs([0.0], [1.0]), request(300, 400, block=128, in_order=keeps)) as opened:
        assert opened._draws.keeps_last is keeps
        whole = opened._draws.draw(0, 0, 1, 2, 1500).copy()
        opened._draws._last.clear()
        for number, first in asked:
            found = opened._draws.draw(0, 0, 1, 2, number, first)
            np.testing.assert_array_equal(found, whole[128 * first : 128 * first + number])


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("seconds", [0.0, 1e-9, 1.0], ids=["unknown", "fast", "slow"])
@pytest.mark.parametrize("most", [128, 300, 1000])
def test_batches_that_are_drawn_ahead_are_the_draws_of_their_stream(
    monkeypatch, keeps, seconds, most
):
    """Batches begin at any draw, and a call may contain several blocks or part of a batch."""
    monkeypatch.setattr(_drawn_blocks, "_BATCH_DRAWS", most)
    source = as_source(Laplace())
    with source.opened(Pairs([0.0], [1.0]), request(300, 400, block=128, in_order=keeps)) as opened:
        draws = opened._draws
        whole = draws.draw(0, 0, 1, 2, 1500)
        draws._block_seconds = seconds
        for at_once in (1, 2, 16):
            draws._at_once = at_once
            for first, stop in ((0, 1500), (0, 1), (100, 128), (127, 1001), (256, 900), (900, 900)):
                batches = list(draws.batches(0, 0, 1, 2, stop, first))
                assert all(len(batch) for batch in batches)
                assert seconds != 1e-9 or all(
                    len(batch) < most + 128 * at_once for batch in batches
                )
                found = np.concatenate([whole[:0], *batches])
                np.testing.assert_array_equal(found, whole[first:stop])


def test_progress_states_all_draws_from_the_start():
    """There are 2,000 search draws and 4,000 confirmation draws, whichever side has more."""
    told = []
    layout = Execution(progress=lambda *both: told.append(both))
    dpjax.audit(Laplace(1.0), PAIR, method=Events(1000, 2000), execution=layout)
    assert told[0] == (0, 6000) and told[-1] == (6000, 6000)
