"""Every call of a function gets its own copy of the database, and may change it."""

import copy
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import dpjax
from dpjax import Events, HostMechanism
from dpjax.sources._calls import draw_batch
from dpjax.sources._copies import copier, snapshot


@dataclass
class Rows:
    """A database that is an object with records."""

    rows: list


def noisy(database, num_samples, seed):
    return database + np.random.default_rng(seed).laplace(size=num_samples)


def spoiling(database, num_samples, seed):
    """Sort, extend and empty the database after using it."""
    result = noisy(len(database["rows"]), num_samples, seed)
    database["rows"].append(database["rows"][0])
    database["rows"].sort()
    return result


def spoiling_one(database, rng):
    database["rows"].append(0)
    return len(database["rows"]) + rng.laplace()


def audit(function, pairs, num_samples=300, num_confirm=600, claim=None, **options):
    sizes = Events(num_samples, num_confirm)
    return dpjax.audit(HostMechanism(function, **options), pairs, method=sizes, claim=claim)


ROWS = [{"rows": [2, 1]}, {"rows": [1]}]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("function", "options"),
    [
        (spoiling, {}),
        (spoiling_one, {"batched": False}),
        (spoiling_one, {"batched": False, "workers": 1}),
    ],
    ids=["batches", "one by one", "worker"],
)
def test_a_function_may_change_its_database(function, options):
    """Every call gets the original database, so outputs are near 1, 2 or 3."""
    given = copy.deepcopy(ROWS)
    result = audit(function, [tuple(given)], batch_size=100, **options)
    assert given == ROWS
    # Shifted Laplace distributions of scale 1, one apart; grown databases would be hundreds apart.
    assert 0.3 < result.lower_bound < 1.2
    assert result.witness.database == ROWS[0]


@pytest.mark.parametrize(
    "database",
    [
        [3.0, 1.0],
        [[3.0], [1.0]],
        np.array([3.0, 1.0]),
        np.array([[3.0], None], object),
        {"a": [3.0]},
        ([3.0], 1.0),
        [lambda: 1.0],
        deque([3.0]),
        OrderedDict(a=3.0),
        bytearray(b"ab"),
        Rows([3.0]),
        Rows([lambda: 1.0]),
    ],
    ids=lambda database: type(database).__name__,
)
def test_every_call_has_a_database_of_its_own(database):
    seen = []
    audit(
        lambda d: seen.append(d) or np.random.default_rng().random(),
        [(database, database)], num_samples=20, num_confirm=20, batched=False,
    )  # fmt: skip
    assert len({id(d) for d in seen} | {id(database)}) == 81
    assert all(type(d) is type(database) for d in seen)


def test_what_cannot_change_is_not_copied():
    still = np.arange(3.0)
    still.setflags(write=False)
    things = (object(), len, Rows, copy)
    for database in (1.5, "text", (1, (2.0, "x")), still, np.float32(2), jnp.arange(3), *things):
        seen = []
        audit(lambda d, n, seen=seen: seen.append(d) or np.random.default_rng().random(n),
              [(database, database)], num_samples=20, num_confirm=20)  # fmt: skip
        assert all(d is database for d in seen)


class Connection:
    """An object that is identified by its identity and must not be copied."""

    def __init__(self):
        self.lock = threading.Lock()


CONNECTIONS = Connection(), Connection()


def asks(database, num_samples, seed):
    """Return Laplace noise around 1 for the second connection."""
    noise = np.random.default_rng(seed).laplace(size=num_samples)
    return float(database is CONNECTIONS[1]) + noise


def test_what_cannot_be_copied_is_handed_over_as_it_is():
    result = audit(asks, [CONNECTIONS], claim=0.5)
    assert result.verdict == "violated"


def test_objects_in_an_array_that_cannot_be_written_are_copied():
    """The array is read-only, but the lists in it are not."""
    database = np.empty(2, object)
    database[:] = [[1], [2, 3]]
    database.flags.writeable = False
    copied = copier(database)()
    copied[0].append(9)
    assert database[0] == [1] and copied[1] == [2, 3]


class Undivided:
    """An object that can be pickled but not deep-copied."""

    def __deepcopy__(self, memo):
        raise TypeError("no copies")


def test_containers_are_copied_by_pickle():
    database = {"rows": [1, 2], "model": Undivided()}
    copied = copier(database)()
    assert copied is not database and copied["rows"] == [1, 2]
    assert copied["rows"] is not database["rows"] and copied["model"] is not database["model"]


class Result:
    """A tensor that is the result of a differentiable function, which has no deep copies."""

    def __init__(self):
        self.values = [1.0, 2.0]

    def __deepcopy__(self, memo):
        raise RuntimeError("Only Tensors created explicitly by the user support deepcopy")


def test_an_object_without_deep_copies_is_copied_by_pickle():
    database = Result()
    for _ in range(2):
        copied = copier(database)()
        copied.values.sort(reverse=True)
        assert database.values == [1.0, 2.0] and copied.values == [2.0, 1.0]


class Buffers:
    """Outputs that share memory with later outputs, which replace their content."""

    def __init__(self):
        self.array, self.list, self.other = np.zeros(3), [0.0], [0.0]

    def fill(self, number):
        self.list, self.other = self.other, self.list
        self.array[:] = self.list[0] = number


PARTS = {
    "view": lambda b: b.array[:2],
    "entry": lambda b: {"counts": b.list, "kind": "x"},
    "tuple": lambda b: (b.array, "x"),
    "two in turn": lambda b: b.list,
    "series": lambda b: pd.Series(b.array, index=[*"abc"], copy=False),
    "table": lambda b: pd.DataFrame({"a": pd.Series(b.array, copy=False)}, copy=False),
    "objects": lambda b: np.array([b.list, "x"], object),
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_outputs_do_not_change_with_later_outputs(part):
    buffers = Buffers()

    def function(database, seed):
        buffers.fill(float(seed))
        return part(buffers)

    def alone(seed):
        return repr(draw_batch(function, True, None, None, 0.0, 1, [seed])[0])

    together = draw_batch(function, True, None, None, 0.0, 5, range(5))
    assert [repr(output) for output in together] == [*map(alone, range(5))]


def test_outputs_that_cannot_change_or_be_copied_are_kept():
    endless: list[object] = []
    endless.append(endless)
    for output in (
        1.5,
        "text",
        np.float32(2),
        jnp.arange(3),
        endless,
        Connection(),
        (x for x in ""),
    ):
        assert snapshot(output) is output


def test_snapshots_of_objects_with_fields_do_not_change():
    held = SimpleNamespace(count=[1])
    copied = snapshot(held)
    held.count[0], held.more = 2, 3
    assert copied == SimpleNamespace(count=[1])
    rows = np.zeros(1, [("count", int)])
    row = snapshot(rows[0])
    rows["count"] = 5
    assert row["count"] == 0
