"""Abilities of each kind of source, seeds of single outputs, and progress of recordings."""

import numpy as np
import pytest
from sides import request

from dpjax import HostMechanism, LibraryMechanism, Recorded
from dpjax.sources import SOURCES, Source, Trust
from dpjax.sources._arriving import Arriving
from dpjax.sources._recorded_in_order import OpenedInOrder
from dpjax.sources._schedule import Span, seed_of_batch, seeds_of_calls

FLAGS = ("takes_pairs", "has_arrays", "has_canaries", "repeatable", "side_by_side", "stacks_pairs",
         "counts_again")  # fmt: skip
EXPECTED = {
    "mechanism": ("takes_pairs", "has_arrays", "repeatable", "side_by_side", "stacks_pairs"),
    "samples": ("has_arrays", "counts_again"),
    "one_run": ("has_canaries",),
    "canary_runs": ("has_canaries", "repeatable"),
}
ON_HOST = ("takes_pairs", "repeatable")


@pytest.mark.parametrize("kind", SOURCES)
def test_what_sources_can_do(kind):
    source = SOURCES[kind]
    assert source.kind == kind
    assert tuple(flag for flag in FLAGS if getattr(source, flag)) == EXPECTED.get(kind, ON_HOST)
    usual = "guesses" if kind in ("one_run", "canary_runs") else "events"
    assert source.usual_method == usual


def test_which_sources_are_called_for_many_outputs_at_once():
    assert not LibraryMechanism.batched and HostMechanism(print).batched
    assert not request().in_order


def test_cells_of_recordings_and_of_functions_follow_their_outputs():
    from dpjax.sources._host_counts import OpenedOnHost

    assert OpenedInOrder.lays_once is OpenedOnHost.lays_once is False


def test_a_source_of_no_kind():
    source = Source()
    assert [flag for flag in FLAGS if getattr(source, flag)] == ["takes_pairs"]
    assert (source.kind, source.asked, source.usual_method) == ("", ("", ""), "events")
    assert source.parameters == {} and source.with_time_used(3.0) is source
    for nothing in (source.sampler, source.stated, source.usual_pairs, source.to_plain()):
        assert nothing is None
    assert source.refuses("events") is None and source.one_by_one is False
    assert Trust(()).commands is False


def test_outputs_that_arrive():
    arriving = Arriving(np.arange(30) % 7, np.arange(30) % 5, gone=4)
    assert (arriving.counts_again, arriving.has_arrays, arriving.usual_method) == (
        False, False, "sequential",
    )  # fmt: skip
    assert arriving.refuses("sequential") is None and arriving.to_plain() is None
    assert "method must be dpjax.Sequential()" in arriving.refuses("events")
    with arriving.opened(None, request()) as opened:
        assert isinstance(opened, OpenedInOrder) and opened._gone == 4
    with pytest.raises(ValueError, match="pairs must be left out"), arriving.opened([1], request()):
        pass


@pytest.mark.parametrize("first", [0, 10])
def test_seeds_of_single_outputs_are_those_of_their_batch(first):
    """Each word of the batch's sequence is halved, so that it is below 2^63."""
    span = Span(range(first, first + 14), (1, 2), print, 4)
    found = np.concatenate([part for _, part in seeds_of_calls(span, 10, False)])
    expected = []
    for size, batch in ((10, first // 10), (4, first // 10 + 1)):
        sequence = np.random.SeedSequence(seed_of_batch((1, 2), batch))
        expected += [int(word) // 2 for word in sequence.generate_state(size, np.uint64)]
    assert found.tolist() == expected


def test_progress_of_recordings_that_are_split():
    """All outputs are read twice; their number is known only the second time."""
    told = []
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 9, 70), rng.integers(0, 9, 50)
    with Recorded(x, y).opened(None, request(9, told=told)) as opened:
        opened.search()
    assert told == [(0, 0), (70, 0), (120, 0), (120, 240), (190, 240), (240, 240)]
