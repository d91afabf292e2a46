"""Dataclasses and other outputs with named fields are compared like dicts of their fields."""

import json
from dataclasses import dataclass, field, make_dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import dpjax
from dpjax.partitions.outputs import Encoder


@dataclass
class Answer:
    count: float
    status: Any = "ok"


@dataclass(frozen=True, slots=True)
class Frozen:
    count: float
    status: Any = field(default="ok", repr=False, compare=False)


@dataclass(eq=False)
class Other(Answer):
    version: ClassVar[int] = 3


@dataclass
class Empty:
    pass


def row(count, status="ok"):
    return np.array([(count, status)], [("count", object), ("status", object)])[0]


def of_attrs(count, status="ok"):
    return pytest.importorskip("attrs").make_class("Answer", ["count", "status"])(count, status)


def namespace(count, status="ok"):
    return SimpleNamespace(count=count, status=status)


MAKERS = [Answer, Frozen, Other, row, of_attrs, namespace]


def encoded(*outputs):
    encoder = Encoder("f")
    return encoder, encoder.encode([*outputs])


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("status", ["ok", 2.5, np.array([[1.0, 2.0, 3.0]]), [1.5, {"a": 1}], {3}])
def test_outputs_with_fields_are_compared_like_dicts(make, status):
    of_dicts, expected = encoded(*({"count": x, "status": status} for x in (1.5, 2.5)))
    encoder, found = encoded(make(1.5, status), make(2.5, status))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert encoder.parts == of_dicts.parts


@pytest.mark.parametrize("make", MAKERS)
def test_fields_of_parts(make):
    encoder, found = encoded({"a": [make(1.5), "x"]}, {"a": [make(2.5), "x"]})
    assert encoder.parts == ("['a'][0]['count']",) and found.values.tolist() == [[1.5], [2.5]]
    _, found = encoded([make("x")], [make("y")], [make("x")])
    first, second, third = found.labels.tolist()
    assert first == third != second


@pytest.mark.parametrize("form", [lambda x: x, lambda x: {"a": x}, lambda x: [x, 1.5]])
def test_outputs_of_two_classes_differ(form):
    outputs = [Answer(1.5), Frozen(1.5), namespace(1.5), Empty(), make_dataclass("Full", [])(), {}]
    encoder, found = encoded(*map(form, outputs))
    encoder.fixed([found])
    restored = Encoder("f")
    restored.restore(json.loads(json.dumps(encoder.to_plain())))
    again = restored.encode([*map(form, outputs)])
    for batch in (found, again):
        assert (
            len({*zip(batch.labels.tolist(), map(tuple, batch.values.tolist()), strict=True)}) == 6
        )


def test_a_field_without_a_value_is_absent():
    later = make_dataclass("Later", [("count", float), ("more", float, field(init=False))])
    full = later(1.5)
    full.more = 2.5
    _, found = encoded(full, full, later(1.5))
    assert found.labels[0] == found.labels[1] != found.labels[2]


def test_bytes_of_arrays_are_refused():
    """They used to be one outcome, because their length is 0."""
    with pytest.raises(TypeError, match=r"numbers, vectors or labels, but gave np\.void"):
        encoded(np.void(b"ab"), np.void(b"cd"))


@pytest.mark.parametrize("make", MAKERS)
def test_unique_outputs_with_fields_are_summarized(make):
    """An output may also be changed after it was returned."""
    rng = np.random.default_rng(0)
    encoder, pilots, same = Encoder("f"), [], None
    for words in (["yes"], []):
        outputs = [make(1.5, [f"{x:.9f}" for x in rng.normal(size=3)] + words) for _ in range(40)]
        pilots.append(encoder.encode(outputs))
        same = outputs[0]
    found = encoder.fixed(pilots)
    assert "['number of entries in status']" in encoder.parts
    place = encoder.parts.index("['number of entries in status']")
    assert {*found[0].values[:, place]} == {4} and {*found[1].values[:, place]} == {3}
    assert encoder.encode([same]).values.tolist() == [found[1].values[0].tolist()]


@pytest.mark.slow
def test_a_leak_in_a_field_is_found():
    def release(database, seed):
        return Answer(np.random.default_rng(seed).laplace() + database, ["x"])

    method = dpjax.Events(num_samples=2000, num_confirm=4000)
    result = dpjax.audit(release, [(0, 1)], method=method, key=1)
    assert 0.8 < result.lower_bound < 1
