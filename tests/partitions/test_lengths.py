"""Nested outputs with lists of different lengths: counted by hand, and an audit."""

import json

import numpy as np
import pytest

import dpjax
from dpjax.partitions import Encoder
from dpjax.partitions._lengths import Lengths, with_numbers
from dpjax.partitions._nested import Nested

SIZES = (0, 1, 5, 9, 12)


def of_length(size, rng=None):
    scores = [0.5] * size if rng is None else rng.normal(size, size=size).tolist()
    return {"n": 1.5, "scores": scores}


@pytest.mark.parametrize(("sizes", "varied"), [(SIZES[:3], False), (SIZES[:4], True)])
def test_four_lengths_make_labels_of_outputs(sizes, varied):
    lengths, forms = Lengths(), [Nested.of(of_length(size)) for size in sizes]
    for one in forms * 2:
        lengths.add(one)
    assert len({lengths.label(one) for one in forms}) == (len(sizes) if varied else 1)
    assert (lengths.label(forms[0]) is not None) == varied
    assert lengths.label(Nested.of({"other": [0.5, 1.5]})) is None


def test_other_numbers_and_texts_make_other_labels():
    lengths = Lengths()
    for size in SIZES:
        lengths.add(Nested.of(of_length(size)))
    found = [
        lengths.label(Nested.of({"n": n, "scores": scores}))
        for n, scores in ((1.5, [2.5]), (2.5, [1.5]), (1.5, [2.5, 1.5]), (1.5, [2.5]))
    ]
    assert len({*found}) == 3 and found[0] == found[3]
    assert lengths.label(Nested.of({"n": "text", "scores": [1.5]})) is None


def test_numbers_are_replaced_by_path():
    output = {"a": [1.5, "b", (2, True)], 3: np.array([4.5, 5.5]), "c": None}
    numbers = {"['a'][0]": -1.5, "['a'][1]": 9.0, "['a'][2][1]": 0.0, "[3][1]": 6.5, "['c']": 7.0}
    assert with_numbers(output, numbers) == {"a": [-1.5, "b", (2, 0.0)], 3: [4.5, 6.5], "c": None}


def test_outputs_of_earlier_batches_are_summarized_with_their_own_numbers():
    """The first batch has one length, so its outputs are labeled only once the lengths differ."""
    rng, encoder = np.random.default_rng(0), Encoder("it")
    outputs = [[of_length(3, rng) for _ in range(40)], [of_length(n % 9, rng) for n in range(80)]]
    first, second = encoder.fixed([encoder.encode(batch) for batch in outputs])
    place = encoder.parts.index("['largest entry in scores']")
    assert first.values[:, place].tolist() == [max(one["scores"]) for one in outputs[0]]
    assert second.values[8::9, place].tolist() == [max(one["scores"]) for one in outputs[1][8::9]]
    later = encoder.encode(outputs[0] + outputs[1])
    np.testing.assert_array_equal(later.values, np.concatenate([first.values, second.values]))


def test_lengths_are_stored_and_restored():
    encoder, again = Encoder("it"), Encoder("it")
    batches = [[of_length(n % 6) for n in range(60)] for _ in range(2)]
    encoder.fixed([encoder.encode(batch) for batch in batches])
    assert not encoder.is_reduced  # Equal outputs remain labels.
    again.restore(json.loads(json.dumps(encoder.to_plain())))
    rows = [of_length(2), of_length(7), {"n": 2.5, "scores": [3.5]}]
    np.testing.assert_array_equal(encoder.encode(rows).labels, again.encode(rows).labels)
    assert again.to_plain() == encoder.to_plain()


@pytest.mark.slow
def test_the_largest_entry_is_found_whatever_its_place():
    """Its center is 8 or 10, and its scale 1: the level is 2. Place by place, 0.57 was shown."""

    def outputs(center, seed):
        rng = np.random.default_rng(seed)
        scores = rng.laplace(size=rng.integers(20, 60))
        scores[rng.integers(len(scores))] = 8 + center + rng.laplace()
        return {"scores": scores, "n": rng.normal()}

    result = dpjax.audit(outputs, [(0.0, 2.0)], method=dpjax.Events(1000, 4000))
    assert 1.5 < result.lower_bound < 2.0


def test_labels_of_lists_are_restored():
    encoder = Encoder("it")
    encoder.encode([[0.5, 1.5], [0.5, 1.5, 2.5], [0.5, 1.5]])
    again = Encoder("it")
    again.restore(json.loads(json.dumps(encoder.to_plain())))
    for batch in ([[0.5, 1.5]] * 2, [np.array([0.5, 1.5])], [[0.5, 1.5, 2.5], [0.5, 1.5]]):
        found, expected = again.encode(batch), encoder.encode(batch)
        assert found.alone.all() and found.labels.tolist() == expected.labels.tolist()
