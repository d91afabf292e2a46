"""How outputs of a library are transferred from another process."""

import json
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from dpjax.hunting import Environment, hunt, read_case
from dpjax.hunting._serve import answer, plain


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None), (True, True), (3, 3), (0.5, 0.5), ("a", "a"), (float("inf"), float("inf")),
        (np.float32(0.5), 0.5), (np.arange(3), [0, 1, 2]), ((1, [2, None]), [1, [2, None]]),
        ({1: np.int64(2)}, {"1": 2}), (Decimal("0.5"), "Decimal('0.5')"), (b"a", "b'a'"),
        ({"a": (1, np.array([0.5]))}, {"a": [1, [0.5]]}),
    ],
)  # fmt: skip
def test_values_become_json(value, expected):
    found = plain(value)
    assert found == expected and type(found) is type(expected)
    assert json.loads(json.dumps(found)) == expected


def test_an_error_is_its_type():
    assert answer(lambda database: database[0] + 1, "[41]") == "42"
    assert answer(lambda database: 1 / database, "0") == '{"error": "ZeroDivisionError"}'


class Opaque:
    pass


class Shown(Opaque):
    def __repr__(self):
        return "Shown(3)"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (Opaque(), "Opaque"), ([1, (Opaque(),)], "Opaque"), ({"a": Opaque()}, "Opaque"),
        ({Opaque(): 1}, "Opaque"), ({frozenset({Opaque()}): 1}, "frozenset"),
        ({Opaque()}, "set"), (map(str, []), "map"), (lambda: 1, "function"),
        (np.random.default_rng(1), "Generator"), (np.array([Opaque()]), "Opaque"),
    ],
)  # fmt: skip
def test_addresses_are_no_outputs(value, kind):
    said = answer(lambda database: value, "0")
    assert said.startswith("!draw must return numbers, strings, or lists or dicts of them, but")
    assert f"returned an object of type {kind}, whose repr shows a memory address" in said


@pytest.mark.parametrize("value", ["<R at 0x7f2a1c>", b"<R at 0x7f2a1c>", Shown(), {1: "at 0x7f"}])
def test_texts_and_objects_that_show_their_contents_are_outputs(value):
    text = value if isinstance(value, str | dict) else repr(value)
    expected = {"1": "at 0x7f"} if isinstance(value, dict) else text
    assert json.loads(answer(lambda database: value, "0")) == expected


def test_a_case_that_returns_an_object_is_not_audited(tmp_path):
    """The object reveals the database, so the audit must not end with "not refuted"."""
    path = tmp_path / "opaque.py"
    path.write_text(
        "package, claim, pairs, draws = 'x', 0.1, [(0, 1)], 300\n"
        "class R:\n    def __init__(self, value): self.value = value\n"
        "def draw(value):\n    return R(value)\n"
    )
    here = Environment("x==1.0", Path(sys.executable))
    (found,) = hunt([read_case(path)], lambda case: [here], tmp_path, seconds=5.0)
    assert found.result is None and found.failure == (
        "draw must return numbers, strings, or lists or dicts of them, but returned an object of "
        "type R, whose repr shows a memory address: return the object's contents."
    )
    assert not list(tmp_path.glob("*.gz"))
