"""Values from files are compared with the type hints of the class that stores them."""

from dataclasses import dataclass
from typing import Any

import pytest

from dpjax.core.conform import _conforms, refuse_misfits

FITS = [
    (int, 3, True), (int, 3.0, False), (int, True, False), (int, False, True),
    (float, 3, True), (float, 3.5, True), (float, True, False), (float, "3", False),
    (str, "a", True), (str, 3, False), (bool, True, True), (bool, 1, False),
    (Any, object(), True), (object, None, True),
    (int | None, None, True), (int | None, 3, True), (int | None, "a", False),
    (tuple[int, ...], (), True), (tuple[int, ...], (1, 2, 3), True),
    (tuple[int, ...], (1, "a"), False), (tuple[int, ...], [1, 2], False),
    (tuple[int, str], (1, "a"), True), (tuple[int, str], ("a", 1), False),
    (tuple[int, str], (1,), False), (tuple[int, str], (1, "a", "b"), False),
    (list[str], ["a", "b"], True), (list[str], ["a", 1], False), (list[str], ("a",), False),
    (dict[str, int], {"a": 1}, True), (dict[str, int], {"a": "b"}, False),
    (dict[str, int], {1: 1}, False), (dict[str, int], [("a", 1)], False),
    (list[tuple[float, ...]], [(1.0, 2), ()], True), (list[tuple[float, ...]], [("a",)], False),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "fits"), FITS)
def test_what_conforms(kind, value, fits):
    """True is not a number; False is accepted, because it is written like 0."""
    assert _conforms(value, kind) == fits


def test_the_field_that_does_not_conform_is_named():
    @dataclass
    class Place:
        name: str
        lines: tuple[int, ...] = ()

    refuse_misfits(Place("a", (1, 2)))
    with pytest.raises(TypeError, match=r"^lines holds a list$"):
        refuse_misfits(Place("a", [1, 2]))
    with pytest.raises(TypeError, match=r"^name holds a int$"):
        refuse_misfits(Place(3))
