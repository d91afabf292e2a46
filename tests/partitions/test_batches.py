"""Batches of encoded outputs."""

import numpy as np

from dpjax.partitions._batches import Outputs, in_turn


def batch(size):
    return Outputs(np.zeros(size, np.int32), np.zeros((size, 1)), np.zeros(size, bool))


def test_the_side_with_fewer_outputs_is_next():
    found = in_turn([iter([batch(3), batch(1), batch(5)]), iter([batch(1)] * 4), iter([])])
    order = [(side, len(outputs.labels)) for side, outputs in found]
    assert order == [(0, 3), (1, 1), (1, 1), (1, 1), (0, 1), (1, 1), (0, 5)]
