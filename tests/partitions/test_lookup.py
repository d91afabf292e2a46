"""Cells on a device equal those on the host, for every kind of output."""

import dataclasses
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from dpjax.core.types import FiniteSpace, IntegerSpace, MixedSpace, RealSpace, VectorSpace
from dpjax.partitions import Box, Encoder, encode_drawn, lay, lookup
from dpjax.partitions._lookup import _is_consecutive

TINY = np.finfo(np.float32).tiny


def strange(numbers: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return atoms, adjacent floats, NaN, infinities, zeros of both signs, subnormal numbers."""
    special = [0.0, -0.0, 1.5, np.nextafter(np.float32(1.5), np.float32(2)), np.nan, np.inf]
    special += [-np.inf, TINY, TINY / 4, -TINY / 4, np.nextafter(np.float32(1.5), np.float32(0))]
    chosen = random.random(numbers.shape) < 0.3
    return np.where(chosen, random.choice(np.array(special, np.float32), numbers.shape), numbers)


def draws(space, random, num=6000):
    """Return outputs of two sides, [2, num, ...], in the type that a mechanism draws."""
    if isinstance(space, FiniteSpace):
        return random.integers(0, space.size, (2, num)).astype(np.int32)
    if isinstance(space, IntegerSpace):
        wide = random.integers(-(2**31), 2**31 - 1, (2, num))
        return np.where(random.random((2, num)) < 0.2, wide, wide % 41 - 20).astype(np.int32)
    if isinstance(space, MixedSpace):
        label = random.integers(-1, space.num_labels + 1, (2, num)).astype(np.float32)
        number = strange(random.laplace(size=(2, num)).astype(np.float32), random)
        return np.stack([label, np.where(label == 0, 0, number)], axis=-1).astype(np.float32)
    shape = (2, num, space.dimension) if isinstance(space, VectorSpace) else (2, num)
    return strange(random.laplace(size=shape).astype(np.float32), random)


@pytest.mark.parametrize(
    "space",
    [FiniteSpace(7), FiniteSpace(9000), IntegerSpace(), RealSpace(), VectorSpace(2), MixedSpace(3)],
    ids=str,
)
def test_device_and_host_agree(space):
    random = np.random.default_rng(3)
    encoder = Encoder("draws")
    # The second half of the draws has labels that may not be in the first, the pilot.
    raw = draws(space, random)
    pilots = [encode_drawn(encoder, side[:500], space) for side in raw]
    numbers = isinstance(space, RealSpace)
    cells = lay(
        pilots,
        encoder.names,
        outcomes=getattr(space, "size", None),
        whole=isinstance(space, FiniteSpace | IntegerSpace),
        region=Box(-1.0, 2.0) if numbers else None,
    )
    table = lookup([cells, cells], space, raw.dtype)
    one = jax.tree.map(lambda leaf: leaf[1], table)
    for side in raw:
        host = cells.index(encode_drawn(encoder, side, space))
        device = np.asarray(jax.jit(lambda t, x: t.index(x))(one, side))
        np.testing.assert_array_equal(device, host)
        assert device.max() < cells.size <= table.size < 2 * cells.size


@pytest.mark.parametrize("size", [2, 11, 1024])
def test_outcomes_of_a_finite_space_are_found_by_a_subtraction(size):
    """This includes integers beyond all outcomes, up to the limits of int32."""
    space, encoder = FiniteSpace(size), Encoder("draws")
    raw = np.random.default_rng(size).integers(0, size, (2, 500)).astype(np.int32)
    pilots = [encode_drawn(encoder, side, space) for side in raw]
    cells = lay(pilots, encoder.names, outcomes=size, whole=True)
    table = jax.tree.map(lambda leaf: leaf[0], lookup([cells], space, raw.dtype))
    assert table.consecutive
    ends = np.iinfo(np.int32)
    outputs = np.array([*range(-3, size + 3), ends.min, ends.max], np.int32)
    found = np.asarray(jax.jit(lambda t, x: t.index(x))(table, outputs))
    np.testing.assert_array_equal(found, cells.index(encode_drawn(encoder, outputs, space)))
    shifted = dataclasses.replace(cells, edges=(2.0 * cells.edges[0],))
    assert not lookup([cells, shifted], space, raw.dtype).consecutive


def test_stacked_partitions_of_other_sizes_keep_their_cells():
    random = np.random.default_rng(4)
    encoder = Encoder("draws")
    space, sides = RealSpace(), []
    for size in (300, 4000):
        raw = random.laplace(size=(2, size)).astype(np.float32)
        sides.append([encode_drawn(encoder, side, space) for side in raw])
    stack = [lay(pilots, encoder.names) for pilots in sides]
    assert len({cells.size for cells in stack}) == 2
    table = lookup(stack, space, np.float32)
    assert table.size >= max(cells.size for cells in stack) > min(cells.size for cells in stack)
    values = strange(random.laplace(size=5000).astype(np.float32), random)
    for number, cells in enumerate(stack):
        device = jax.tree.map(lambda leaf, n=number: leaf[n], table).index(values)
        host = cells.index(encode_drawn(encoder, values, space))
        np.testing.assert_array_equal(np.asarray(device), host)


def test_counts_have_room_for_the_largest_partition():
    """It is a power of two, so that partitions of similar sizes share a program."""
    random, encoder, space = np.random.default_rng(5), Encoder("draws"), RealSpace()
    stack = []
    for size in (20, 4000):
        raw = random.laplace(size=(2, size)).astype(np.float32)
        stack.append(lay([encode_drawn(encoder, side, space) for side in raw], encoder.names))
    sizes = [cells.size for cells in stack]
    assert 2 * min(sizes) < max(sizes)
    for some in (stack, stack[::-1]):
        found = lookup(some, space, np.float32).size
        assert max(sizes) <= found < 2 * max(sizes) and found & (found - 1) == 0


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([3.0], True),
        ([3.0, 4.0, 5.0], True),
        ([2.5], False),
        ([2.5, 3.5], False),
        ([3.0, 5.0], False),
        ([], False),
        ([-(2.0**31)], False),
        ([2.0**31 - 1], True),
        ([2.0**31], False),
    ],
)
def test_successive_integers_that_fit_in_32_bits_are_consecutive(edges, expected):
    assert _is_consecutive(SimpleNamespace(edges=[np.array(edges)])) == expected


def test_the_largest_integer_is_in_the_last_cell_of_padded_edges():
    """Edges are padded with the largest integer, which must not count as another edge."""
    random, encoder, space = np.random.default_rng(5), Encoder("draws"), IntegerSpace()
    stack = [
        lay([encode_drawn(encoder, side, space) for side in draws(space, random, size)],
            encoder.names, whole=True)
        for size in (50, 300, 4000)
    ]  # fmt: skip
    assert len({len(cells.edges[0]) for cells in stack}) == 3
    ends = np.iinfo(np.int32)
    outputs = np.array([ends.min, ends.min + 1, -1, 0, 1, ends.max - 1, ends.max], np.int32)
    table = lookup(stack, space, np.int32)
    assert not table.consecutive
    for number, cells in enumerate(stack):
        device = jax.tree.map(lambda leaf, n=number: leaf[n], table).index(outputs)
        host = cells.index(encode_drawn(encoder, outputs, space))
        np.testing.assert_array_equal(np.asarray(device), host)
        assert host.max() < cells.size
