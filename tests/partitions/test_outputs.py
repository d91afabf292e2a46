"""Outputs of any kind: each has a label, numbers or both, and none is lost."""

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.partitions import Encoder
from dpjax.partitions.low_bits import lowest_set_bit
from dpjax.partitions.missing import Raised
from dpjax.partitions.previews import name_of_structure, preview


def names_of(encoder, raw):
    return [encoder.names[label] for label in encoder.encode(raw).labels]


def test_every_outcome_has_its_label():
    encoder = Encoder("it")
    raw = [1, 2.5, None, "", [], Raised("error: OSError"), np.nan, np.inf, -np.inf, -0.0, "NaN"]
    outputs = encoder.encode(raw)
    names = [encoder.names[label] for label in outputs.labels]
    number = "a number"
    assert names == [
        number, number, "None", "empty text", "empty", "error: OSError", "NaN", "+inf", "-inf",
        number, "'NaN'",
    ]  # fmt: skip
    assert outputs.values[:, 0].tolist() == [1, 2.5, *[0] * 9]
    assert not np.signbit(outputs.values[9, 0])
    assert outputs.alone.tolist() == [name != number for name in names]


def test_specials_of_arrays_and_of_vectors():
    rows = np.array([[1.0, np.nan], [np.inf, 2.0], [3.0, 4.0], [5.0, np.nan], [np.nan, -np.inf]])
    assert names_of(Encoder("it"), rows) == [
        "(number, NaN)", "(+inf, number)", "a number", "(number, NaN)", "(NaN, -inf)",
    ]  # fmt: skip
    found = Encoder("it").encode(rows)
    assert found.values.tolist() == [[1, 0], [0, 2], [3, 4], [5, 0], [0, 0]]
    assert found.alone.tolist() == [False] * 4 + [True]


@pytest.mark.parametrize("value", [np.nan, -np.inf, None, "", []])
def test_specials_can_be_errors(value):
    with pytest.raises(ValueError, match="special='error' refuses"):
        Encoder("it", special="error").encode([1.0, value])


def test_integers_past_2_to_53_stay_apart():
    outputs = Encoder("it").encode(np.array([2**53 + 1, 2**53 + 2, 5]))
    assert len(set(outputs.labels.tolist())) == 3 and outputs.alone.tolist() == [True, True, False]


# Bits.


def test_lowest_set_bits_are_those_of_exact_arithmetic():
    values = np.concatenate(
        [np.random.default_rng(0).laplace(size=200), [1.0, -6.0, 5e-324, 2.0**1023, 0.1]]
    )
    for value, found in zip(values, lowest_set_bit(values), strict=True):
        numerator, denominator = float(value).as_integer_ratio()
        exponent = (numerator & -numerator).bit_length() - 1 - (denominator.bit_length() - 1)
        assert found == exponent


def test_the_two_zeros_are_one_unless_bits_are_looked_at():
    zeros = np.array([0.0, -0.0])
    assert names_of(Encoder("it"), zeros) == ["a number"] * 2
    assert names_of(Encoder("it", bits="lowest"), zeros) == ["0.0", "-0.0"]


def test_the_bits_of_a_float32_are_its_own():
    encoder = Encoder("it", bits=2)
    values = np.array([1.0, 1.0 + 2.0**-23, 1.0 + 2.0**-22], np.float32)
    assert names_of(encoder, values) == [f"lowest 2 bits {bits}" for bits in ("00", "01", "10")]
    assert set(names_of(encoder, values.astype(float))) == {"lowest 2 bits 00"}


# Outputs with several parts.


def test_parts_are_a_vector_and_a_label():
    encoder = Encoder("it")
    rows = [
        {"n": 3, "mean": [0.5, (1.0, 2)]},
        {"n": 4, "mean": np.array([0.25, 7.0])},  # This array becomes a list.
        {"n": True, "mean": (1.5, [2.5, 3.5])},
    ]
    outputs = encoder.encode(rows)
    paths = ("['mean'][0]", "['mean'][1][0]", "['mean'][1][1]", "['n']", "['mean'][1]")
    assert encoder.parts == paths
    other = "{'mean': (number, number), 'n': number}"
    assert [encoder.names[label] for label in outputs.labels] == ["a number", other, "a number"]
    expected = [[0.5, 1, 2, 3, 0], [0.25, 0, 0, 4, 7], [1.5, 2.5, 3.5, 1, 0]]
    assert outputs.values.tolist() == expected and not outputs.alone.any()
    # The first batch determines the columns, even if later batches have other structures.
    assert encoder.encode(rows[1:2] * 2).values.tolist() == [expected[1]] * 2


def test_labels_beside_numbers():
    encoder = Encoder("it")
    rows = [("ok", 1.5), ("bad", 2), ("ok", np.nan), "no answer", ("ok", None), ("ok", 2**60)]
    outputs = encoder.encode(rows)
    assert [encoder.names[label] for label in outputs.labels] == [
        "('ok', number)", "('bad', number)", "('ok', number) with NaN", "'no answer'",
        "('ok', None)", f"('ok', {2**60})",
    ]  # fmt: skip
    assert outputs.values[:, 0].tolist() == [1.5, 2, 0, 0, 0, 0]
    assert outputs.alone.tolist() == [False, False, True, True, True, True]


def test_parts_that_are_neither_numbers_nor_labels():
    with pytest.raises(
        TypeError, match=r"must give numbers, vectors or labels, but gave \{'a': byte"
    ):
        Encoder("it").encode([{"a": bytearray(b"x")}])


def test_dicts_and_tuples_of_texts_are_outcomes():
    encoder = Encoder("it")
    outputs = encoder.encode([{"a": "x"}, {"a": "y"}, ("x", "y"), {"a": "x"}, ("x", "y")])
    first, second, third = outputs.labels[:3].tolist()
    assert outputs.labels.tolist() == [first, second, third, first, third]
    assert len({first, second, third}) == 3


def test_dates_durations_and_complex_numbers():
    dates = np.array(["2020-01-01", "2021-01-01", "NaT", "2020-01-01"], "datetime64[D]")
    spans = np.array([1, 2, "NaT", 1], "timedelta64[s]")
    for array in (dates, spans):
        for raw in (array, list(array), [{"n": 1.0, "at": item} for item in array]):
            first, second, third, fourth = Encoder("it").encode(raw).labels
            assert first == fourth and len({first, second, third}) == 3
    numbers = np.array([1 + 2j, 3 - 0.5j, complex("nan"), 4], np.complex64)
    for raw in (numbers, numbers.astype(complex).tolist(), list(numbers)):
        found = Encoder("it").encode(raw)
        assert found.values.tolist() == [[1, 2], [3, -0.5], [0, 0], [4, 0]]
        assert found.labels.tolist() == [0, 0, 1, 0]
    assert Encoder("it").encode(numbers.reshape(2, 2)).values[0].tolist() == [1, 2, 3, -0.5]
    nested = Encoder("it")
    assert nested.encode([{"z": 1 + 2j, "a": 3}]).values.tolist() == [[3, 1, 2]]
    assert nested.parts == ("['a']", "['z'].real", "['z'].imag")
    assert Encoder("it").encode(np.asarray(jnp.ones(2, jnp.bfloat16))).values.tolist() == [[1]] * 2


@pytest.mark.parametrize(
    ("raw", "kind", "message"),
    [
        (np.zeros(3, "V4"), TypeError, "numbers or labels, but gave an array of the dtype |V4"),
        (
            np.zeros((3, 2), "datetime64[s]"),
            TypeError,
            "numbers or labels, but gave an array of the",
        ),
        (
            np.zeros((2, 2, 2)),
            ValueError,
            r"shape \[n\] or \[n, d\], but gave the shape \[2, 2, 2\]",
        ),
        (np.zeros(2, np.longdouble), ValueError, "values, which float64 cannot represent"),
        (np.array([[2**60, 1]]), ValueError, "vectors of integers above 2^53"),
        ([(2**60, 1)], ValueError, "vectors of integers above 2^53"),
        ([bytearray(b"x")], TypeError, "must give numbers, vectors or labels"),
    ],
)
def test_what_is_no_output_is_refused(raw, kind, message):
    with pytest.raises(kind, match="it .*" + message.replace("^", r"\^")):
        Encoder("it").encode(raw)


def test_later_outputs_have_the_length_of_the_first():
    encoder = Encoder("it")
    encoder.encode(np.zeros((3, 2)))
    encoder.encode(np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"but first gave 2 number\(s\) per output, and later 1"):
        encoder.encode(np.zeros(3))


def test_bits_are_of_single_reals():
    assert len(Encoder("it", bits=8).encode(np.array([1.0, 3.0]))) == 3
    for bits in (9, 0, "highest"):
        with pytest.raises(ValueError, match="bits"):
            Encoder("it", bits=bits)
    with pytest.raises(ValueError, match="single reals, but it gave vectors: use bits='lowest'"):
        Encoder("it", bits=2).encode(np.zeros((3, 2)))


def test_integers_are_numbers_up_to_2_to_53_itself():
    for made in (np.array, list):
        outputs = Encoder("it").encode(made([2**53, -(2**53), 2**53 + 1]))
        assert outputs.alone.tolist() == [False, False, True]


def test_previews_of_batches():
    assert preview(np.zeros((2, 3), np.int16)) == "an array of int16 of the shape [2, 3]"
    assert preview((1, 2, 3)) == "a tuple of length 3" and preview([]) == "a list of length 0"
    assert preview(1.5) == "1.5 (float)"
    long = preview("x" * 5000)
    assert long.endswith("... (str)") and len(long) < 1000


def test_labels_are_limited_in_number(monkeypatch):
    monkeypatch.setenv("DPJAX_MAX_LABELS", "3")
    encoder = Encoder("x")
    *labels, again = encoder.encode(["a", "b", "c", "a"]).labels.tolist()
    assert sorted(labels) == [1, 2, 3] and again == labels[0]
    with pytest.raises(ValueError, match="x gave too many distinct labels"):
        encoder.encode(["d"])


def test_numbers_of_labels_do_not_show_the_order_of_outputs():
    """In a permutation of 500 labels, ranks and positions have a correlation of about 1/22."""
    encoder = Encoder("outputs")
    items = [2**60 + number for number in range(500)]
    labels = encoder.encode(items).labels
    assert sorted(labels) == [*range(1, 501)]
    assert [encoder.names[label] for label in labels] == [str(item) for item in items]
    assert abs(np.corrcoef(labels, np.arange(500))[0, 1]) < 0.2
    # Known labels keep their numbers, and a restored encoder has the same numbers.
    more = encoder.encode([*items[:3], 2**61, 2**62]).labels
    assert more[:3].tolist() == labels[:3].tolist() and sorted(more[3:]) == [501, 502]
    again = Encoder("outputs")
    again.restore(encoder.to_plain())
    assert again.encode(items).labels.tolist() == labels.tolist()


def test_long_runs_of_numbers_have_short_names():
    """Arrays of different lengths in dicts are told apart by the number of their entries."""
    encoder = Encoder("f")
    encoder.encode([{"n": 3, "v": [0.5] * size} for size in (7, 9, 40)])
    found = " ".join(encoder.names)
    assert all(f"'v': ({size} numbers)" in found for size in (9, 40))
    few = f"({', '.join(['number'] * 7)}, 'number')"
    assert name_of_structure(few) == few
