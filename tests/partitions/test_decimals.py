"""Decimals are numbers if no two of them could become equal."""

import math
from decimal import Decimal

import numpy as np
import pytest

import dpjax
from dpjax.partitions._nested import Label, form_of
from dpjax.partitions.outputs import Encoder

LONG = Decimal("0.12345678901234567890")


@pytest.mark.parametrize("text", ["2.50", "-1E+3", "0.1", "123456789012345", "1E-300", "0", "-0"])
def test_decimals_are_numbers(text):
    number = float(text)
    assert form_of(Decimal(text)) == (number,)
    assert form_of([Decimal(text), 1.5, 2]) == (number, 1.5, 2.0)
    found = form_of({"a": [Decimal(text)], "b": "x"})
    assert found.numbers == (number,) and found.structure == "{'a': (number), 'b': 'x'}"


@pytest.mark.parametrize("text", ["0.50000000000000000001", "1E400", "9007199254740993", "1E-400"])
def test_decimals_that_would_be_rounded_are_labels(text):
    decimal = Decimal(text)
    assert form_of(decimal) == Label(decimal)
    assert form_of({"a": decimal}).numbers == ()
    assert form_of((decimal, 1.5)).numbers == (1.5,)


def test_equal_decimals_are_equal_and_others_differ():
    rng = np.random.default_rng(0)
    digits = rng.integers(10**14, 10**18, 300).tolist()
    decimals = [Decimal(number).scaleb(-9) for number in digits]
    decimals += [decimal + Decimal(f"1E-{size}") for decimal in decimals[:100] for size in (8, 9)]
    for decimal in decimals:
        equal = Decimal(f"{decimal}00")
        assert equal == decimal and form_of(equal) == form_of(decimal)
    assert len({form_of(decimal) for decimal in decimals}) == len({*decimals})


def test_decimals_that_are_not_finite():
    encoder = Encoder("f")
    found = encoder.encode([Decimal("NaN"), math.nan, Decimal("-Infinity"), -math.inf, 1.5])
    assert [encoder.names[label] for label in found.labels] == [
        "NaN", "NaN", "-inf", "-inf", "a number",
    ]  # fmt: skip
    with pytest.raises(TypeError):
        encoder.encode([Decimal("sNaN")])


def test_decimals_that_are_summarized():
    """Numbers beside a unique label are those of its summary."""
    rng = np.random.default_rng(0)
    encoder, pilots = Encoder("f"), []
    for shift in (0, 3):
        numbers = rng.normal(shift, 1, 60).round(2).tolist()
        texts = [" ".join(map(str, rng.integers(0, 10**9, 3))) for _ in numbers]
        outputs = [{"a": Decimal(f"{x:.2f}"), "t": t} for x, t in zip(numbers, texts, strict=True)]
        pilots.append(encoder.encode(outputs))
    found = encoder.fixed(pilots)
    assert np.allclose(found[1].values[:, encoder.parts.index("['a']")], numbers)


@pytest.mark.slow
def test_sums_with_two_decimals_have_the_bound_of_floats():
    def release(database, seed):
        noisy = 20 * database + np.random.default_rng(seed).laplace(0, 20)
        return Decimal(f"{noisy:.2f}")

    method = dpjax.Events(num_samples=2000, num_confirm=8000)
    assert 0.8 < dpjax.audit(release, [(0, 1)], method=method, key=1).lower_bound < 1
