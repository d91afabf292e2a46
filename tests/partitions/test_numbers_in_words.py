"""Numbers in descriptions of events have enough digits to differ from adjacent edges."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.partitions._words import _Words

# Edges that agree in 4, 6, 7, 8 and more digits, at both ends and in the middle of a line.
EDGES = np.array([
    1.0000001, 1.0000002, 1.00001, 2.0, 2.1, 2.100000001, 2.1000000011, 3.0, 4.0, 5.0, 6.0, 7.0,
    7.5, 7.500004, 7.5000041,
])  # fmt: skip


def said(value, edges=EDGES, whole=False):
    return _Words.number(SimpleNamespace(whole=whole), value, edges)


@pytest.mark.parametrize("value", EDGES.tolist())
def test_an_edge_has_the_fewest_digits_from_six_that_no_other_edge_has(value):
    others = EDGES[EDGES != value]
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if digits == 9 or text not in [f"{other:.{digits}g}" for other in others]:
            break
    assert said(value) == text
    assert said(value, whole=True) == f"{value:.17g}"


def test_an_atom_is_not_told_from_the_next_float():
    atom = 0.123456789
    edges = np.array([atom, np.nextafter(atom, 1), 5.0])
    assert said(atom, edges) == "0.123457"
    assert said(atom, np.array([0.1234567, atom, 5.0])) == "0.1234568"
