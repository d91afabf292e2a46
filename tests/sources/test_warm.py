"""First calls that a search makes before it measures the time of other calls."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpjax import HostMechanism, Recorded
from dpjax.core import random
from dpjax.databases.spaces import Proposed
from dpjax.methods._families import Placed, _Together
from dpjax.methods._pairs import FoundPairs, _notes
from dpjax.methods._pairs_counted import notes_of_untried
from dpjax.sources import AnyPairs
from dpjax.sources._family import Family
from dpjax.sources._time_limit import fewest_draws, timed_draws


@pytest.mark.parametrize(
    ("batched", "workers", "number"), [(True, 0, 2), (True, 3, 6), (False, 0, 1), (False, 3, 3)]
)
def test_every_worker_draws(batched, workers, number):
    """A batched function may not support a single output."""
    source = SimpleNamespace(batched=batched, workers=workers)
    assert fewest_draws(source) == number
    spans = []

    def draw(database, span):
        spans.append((database, span.outputs, span.words, span.cut, span.over()))
        yield from "ab"

    assert timed_draws(source, draw, "db", (1, 2), 7) >= 0.0
    lanes = max(workers, 1)
    assert spans == [("db", range(7), (1, 2), -(-7 // lanes), False)]


@pytest.mark.parametrize("batched", [True, False])
def test_what_is_drawn_depends_on_the_key_alone(batched):
    drawn = []

    def noisy(database, num_samples=1, *, seed):
        drawn.append((database, num_samples, seed))
        return np.zeros(num_samples) if batched else 0.0

    source = HostMechanism(noisy, batched=batched)
    for seed in (3, 3, 4):
        source.warm("db", random.as_key(seed))
    (one, again, other) = drawn
    assert one == again and one[:2] == other[:2] == ("db", 2 if batched else 1)
    assert one[2] != other[2]


def test_a_member_of_a_family_is_warmed_and_recordings_are_not():
    drawn = []

    def made(scale):
        return HostMechanism(lambda database: drawn.append((scale, database)) or 0.0, batched=False)

    family = Family(made, {"scale": [1.0, 2.0]})
    members = _Together([family.member({"scale": scale}) for scale in (1.0, 2.0)])
    members.warm(Placed(1, "db"), random.as_key(0))
    assert drawn == [(2.0, "db")]
    recorded = Recorded(np.zeros(99), np.ones(99))
    assert recorded.warm("db", random.as_key(0)) is None


@pytest.mark.parametrize(
    ("number", "notes"),
    [
        (0, []), (1, ["The time limit left the search no time for a pair."]),
        (7, ["The time limit left the search no time for 7 pairs."]),
    ],
)  # fmt: skip
def test_notes_of_pairs_without_time(number, notes):
    assert notes_of_untried(number) == notes
    pair = Proposed(0.0, 1.0, "pair 3")
    found = FoundPairs(
        AnyPairs(([pair.database], [pair.neighbor]), ("pair 3",)), (0.5,), ((9, 4), (3, 12)),
        10, number,
    )  # fmt: skip
    drawn = "the search for these pairs used 154 separate draws."
    first, *others = _notes(found, varied=False)
    assert first == f"The audit used the best 1 of 9 pairs; {drawn}" and others == notes
    first, *others = _notes(found, varied=True)
    assert others == notes
    assert first == f"The audit used the best 1 of 9 proposed pairs and their variations; {drawn}"
