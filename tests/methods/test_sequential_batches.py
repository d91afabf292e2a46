"""Sequential audits draw fast functions in batches, whose sizes change no result."""

import json

import numpy as np
import pytest

import dpjax
from dpjax.partitions import Encoder
from dpjax.sources import _time_limit

PAIRS = [(0.0, 1.0)]


def numbers(database, rng):
    return database + rng.laplace()


def vectors(database, rng):
    return database + rng.laplace(size=3)


def sometimes_missing(database, rng):
    return database + rng.laplace() if rng.random() < 0.9 else (np.nan, None)[rng.integers(2)]


def texts(database, rng):
    return f"answer {int(2 * (database + rng.laplace()))}"


def records(database, rng):
    value = database + rng.laplace()
    return {"value": value, "kind": f"kind {int(value)}"} if value < 3 else [value, "large"]


def failing(database, rng):
    value = int(database + rng.laplace())
    return value if value else [][value]


def often_new(database, rng):
    """Return labels whose indices, and so their cells, depend on the order of both sides' draws."""
    return f"answer_{rng.random() + database}" if rng.random() < 0.5 else "usual"


@pytest.mark.parametrize(
    "function",
    [
        numbers,
        often_new,
        pytest.param(vectors, marks=pytest.mark.slow),
        sometimes_missing,
        texts,
        records,
        failing,
    ],
)
def test_results_do_not_depend_on_the_batches(function, monkeypatch):
    def result():
        method = dpjax.Sequential(160)
        source = dpjax.HostMechanism(function, batched=False, special="outcomes")
        found = dpjax.audit(source, PAIRS, method=method, claim=1.0).to_dict()
        return json.dumps({key: found[key] for key in found.keys() - {"when", "provenance"}})

    monkeypatch.setattr(_time_limit, "_EACH", 1e9)
    whole = result()
    monkeypatch.setattr(_time_limit, "_EACH", 0.0)
    assert result() == whole


def test_which_outputs_are_encoded_together():
    encoder = Encoder("it")
    encoder.encode(["a", "b"])
    together = ([1.0, 2.0], [3, 4], ["a", "b", "a"], [np.arange(3.0), np.arange(3.0)])
    for batch in together[:3]:
        assert encoder.apart(batch) == [batch]
    assert len(Encoder("it").apart(together[3])) == 1
    for batch in (["a", "c"], [1.0, np.nan], [1, None], [{"a": 1.0}] * 2, [2**60, 1], ["a", 1]):
        assert encoder.apart(batch) == [[item] for item in batch]
    assert Encoder("it", bits="lowest").apart([1.0, 2.0]) == [[1.0], [2.0]]


def test_which_nested_outputs_are_encoded_together():
    encoder, known = Encoder("it"), [{"a": 1.0, "b": "x"}, {"a": 2, "b": "y"}, "z", ("x", "y")]
    encoder.encode(known)
    assert encoder.apart(known) == [known[:1], known[1:2], known[2:3], known[3:]]
    encoder.columns.closed = True
    assert encoder.apart(known) == [known]
    new = ({"a": 1.0, "b": "w"}, {"a": np.nan, "b": "x"}, {"c": 1.0}, ("y", "x"), 1.0, "w", None)
    for odd in (*new, {"a": 2**60, "b": "x"}, object()):
        assert encoder.apart([*known, odd, *known]) == [known, [odd], known]


def test_fast_functions_are_drawn_in_few_batches(monkeypatch):
    sizes, encode = [], Encoder.encode

    def counted(self, raw):
        sizes.append(len(raw))
        return encode(self, raw)

    monkeypatch.setattr(Encoder, "encode", counted)
    monkeypatch.setattr(_time_limit, "_EACH", 1e9)
    dpjax.audit(numbers, PAIRS, method=dpjax.Sequential(3000), claim=1.0)
    assert sum(sizes) > 4000 and len(sizes) < 300 and max(sizes) <= 1000
    sizes.clear()
    monkeypatch.setattr(_time_limit, "_EACH", 0.0)
    dpjax.audit(numbers, PAIRS, method=dpjax.Sequential(100), claim=1.0)
    assert {*sizes} == {1}
