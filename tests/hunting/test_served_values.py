"""What becomes of the output of a library on its way from another process."""

import json
from decimal import Decimal

import numpy as np
import pytest

from dpjax.hunting._serve import one, plain


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
    assert one(lambda database: database[0] + 1, "[41]") == 42
    assert one(lambda database: 1 / database, "0") == {"error": "ZeroDivisionError"}
