"""Forms of outputs, pilots with labels, and regions of integers, at their limits."""

from fractions import Fraction

import jax
import numpy as np
import pytest

from dpjax.core.types import IntegerSpace
from dpjax.partitions import Box, Encoder, as_region, lay
from dpjax.partitions._nested import Label, Nested, form_of
from dpjax.partitions.missing import Raised


def test_numbers_that_float64_holds_exactly():
    assert form_of(Fraction(1, 2)) == (0.5,)
    assert form_of((1e300, 2.0**60, 3)) == (1e300, 2.0**60, 3.0)
    assert form_of([2**53, -(2**53)]) == (2.0**53, -(2.0**53))
    assert form_of(np.float32(0.1)) == (float(np.float32(0.1)),)
    assert np.isnan(form_of(float("nan"))[0])
    for wrong in (Fraction(1, 3), (1.0, Fraction(1, 3)), {"a": Fraction(1, 3)}):
        with pytest.raises(ValueError, match=r"Fraction\(1, 3\) .* cannot represent exactly"):
            form_of(wrong)


def test_strings_of_numpy_are_strings_in_every_structure():
    for text in ("x", b"x"):
        of_numpy = np.asarray([text])[0]
        assert type(of_numpy) is not type(text)
        assert form_of({"a": of_numpy, "b": 1}) == form_of({"a": text, "b": 1})
        assert form_of((1.0, of_numpy)).structure == f"(number, {text!r})"
    assert form_of("x") == Label("x")
    assert form_of({"a": 2**53 + 1, "b": 2**53}).structure == f"{{'a': {2**53 + 1}, 'b': number}}"


def test_labels_of_a_pilot_have_no_numbers():
    """The placeholder for their numbers is 0, which is not an output."""
    encoder = Encoder("it")
    numbers = np.random.default_rng(0).normal(50.0, 1.0, (2, 3000))
    sides = [encoder.encode([*numbers[0].tolist(), *["a"] * 900]), encoder.encode(numbers[1])]
    for pilot in (sides, sides[::-1]):
        cells = lay(pilot, encoder.names)
        assert not cells.atoms[0].size and cells.edges[0].min() > 40
        assert cells.names == ("a number", "'a'") and cells.boxed.tolist() == [0]


@pytest.mark.parametrize(
    ("low", "high", "first", "last"),
    [(0.2, 5.9, 1, 5), (-3.0, 2.0, -3, 2), (4.0, 4.5, 4, 4), (-0.5, 0.5, 0, 0)],
)
def test_regions_of_integers_hold_the_integers_between_their_ends(low, high, first, last):
    found = as_region((low, high), IntegerSpace())
    assert (found.low, found.size) == (first, last - first + 1)
    assert found.allowed.tolist() == [True] * found.size
    numbers = f"{{{first}, ..., {last}}}"
    assert str(found) == numbers
    cut = type(found)(found.low, found.size, np.arange(found.size) > 0)
    assert str(cut) == f"{last - first} of the outcomes {first}, ..., {last}"


def test_a_box_has_its_ends_as_leaves():
    box = Box([0.0, 1.0], [2.0, 3.0], num_points=5)
    assert len(jax.tree.leaves(box)) == 2 and box.dimension == 2
    moved = jax.tree.map(lambda end: end + 1, box)
    assert moved.num_points == 5 and str(moved) == "[1, 3] x [2, 4]"
    outcomes = as_region((0.0, 3.0), IntegerSpace())
    assert len(jax.tree.leaves(outcomes)) == 1
    grid = np.asarray(box.grid())
    assert grid.shape == (25, 2) and grid[1].tolist() == [0.0, 1.5] and grid[5].tolist() == [0.5, 1]
    assert [Box([0.0] * d, [1.0] * d).num_points for d in (1, 2, 3, 4)] == [201, 41, 13, 2]


PARTS = (
    0.5, -2, True, "a", "it's", "", "\ue000", 2**53 + 1, np.str_("a"), np.float64(1),
    Raised("no"), None, np.int8(-3), np.bool_(True), np.uint64(2**63), np.int64(2**60),
    np.float16(0.1), np.longdouble(2),
)  # fmt: skip
NAMES = ("a", "b", "\ue000", "x" * 65, np.str_("a"), 1, True, 1.0, "it's")


@pytest.mark.parametrize("seed", range(20))
def test_cached_structures_are_those_of_a_recursion(seed):
    """Equal keys with parts of different types have separate structures."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        parts = tuple(PARTS[i] for i in rng.integers(0, len(PARTS), rng.integers(1, 4)))
        names = [NAMES[i] for i in rng.integers(0, len(NAMES), len(parts))]
        texts = dict(zip("xyz", parts, strict=False))
        for output in (parts, dict(zip(names, parts, strict=True)), texts):
            assert repr(Nested.of(output)) == repr(Nested.of_parts(output))


class OwnDict(dict):
    """A dict that the fast paths for built-in types do not classify."""


def test_built_in_types_are_classified_like_their_subclasses():
    class OwnFloat(float):
        pass

    for output in ({"b": 0.5, "a": "x"}, {"a": 1}, {}, {"a": {"b": True}}, {1: 0.5}):
        assert form_of(output) == form_of(OwnDict(output))
    for vector in ((0.5, 1.5), [0.5], (-0.0, np.inf)):
        assert form_of(vector) == form_of([OwnFloat(number) for number in vector])
        assert {*map(type, form_of(vector))} == {float}
    for number in (0.5, True, 3, 2**53, -(2**53)):
        assert form_of(number) == (float(number),)
    assert form_of(2**53 + 1) == Label(2**53 + 1) and form_of(-(2**53) - 1) == Label(-(2**53) - 1)


def test_labels_of_structures_do_not_depend_on_the_batch():
    """Equal keys with parts of different types have separate labels."""
    parts = [0.5, "a", "b", True, False, 1, 0, ("a", 1), {"x": "a", "y": 2.0}, frozenset({1, 2})]
    outputs = [{"k": first, "n": 1.0, "m": second} for first in parts for second in parts] * 2
    together, singly = Encoder("m"), Encoder("m")
    found = together.encode(outputs)
    expected = [singly.encode([output]) for output in outputs]
    assert [together.names[label] for label in found.labels] == [
        singly.names[int(each.labels[0])] for each in expected
    ]
    pairs = {*zip(found.labels.tolist(), [int(each.labels[0]) for each in expected], strict=True)}
    assert len(pairs) == len({*found.labels.tolist()}) == len({one for _, one in pairs}) > 20
