"""Assignment of drawn outputs to cells on a device, with the same result as on the host.

Drawn outputs are numeric arrays. Each output has a code, which distinguishes finite numbers, NaN
and the two infinities. Outputs with the same code may lie in several consecutive cells; for each
code, a table contains the first of these cells. If outputs may be labels with or without a number,
the code also determines the label and whether there is a number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import DTypeLike

from dpjax.core.types import AnyArray, MixedSpace, OutputSpace, VectorSpace
from dpjax.partitions._batches import Outputs
from dpjax.partitions._partition import Partition
from dpjax.partitions.missing import special_text
from dpjax.partitions.outputs import Encoder

_NUMBER, _NAN, _MINUS, _PLUS, _ZERO = range(5)
_STANDS_FOR = (1.0, np.nan, -np.inf, np.inf)
"""One example value for each of the codes _NUMBER, _NAN, _MINUS and _PLUS."""

_COMPARED = 32
"""Number of bin edges with which every output is compared before a binary search starts."""


def encode_drawn(encoder: Encoder, raw: np.ndarray, space: OutputSpace) -> Outputs:
    """Encode one block of drawn outputs on the host.

    Args:
        encoder: Encoder of the source.
        raw: Outputs drawn from the mechanism, [n] or [n, d].
        space: Output space of the mechanism.
    """
    if raw.dtype.kind == "f":
        # Devices flush subnormal numbers to 0.
        subnormal = np.abs(raw) < np.finfo(raw.dtype).tiny
        raw = np.where(subnormal, raw.dtype.type(0), raw) if subnormal.any() else raw
    if not isinstance(space, MixedSpace):
        return encoder.encode(raw)
    numbers = encoder.encode(np.asarray(raw[:, 1]))
    # Give each combination of a label and a kind of number one code.
    num_kinds = int(numbers.labels.max(initial=0)) + 1
    codes = _label_code(raw[:, 0], space, np) * num_kinds + numbers.labels
    counts = np.bincount(codes)
    named = np.zeros(len(counts), np.int32)
    for code in np.flatnonzero(counts).tolist():
        label, kind = divmod(code, num_kinds)
        text = _mixed_name(label, space)
        named[code] = encoder.labels.named(f"{text} with {encoder.names[kind]}" if kind else text)
    # The encoder sets the values of NaN and infinities to 0, so these outputs, too, are treated as
    # outputs without a number.
    return Outputs(named[codes], numbers.values, numbers.values[:, 0] == 0)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Lookup:
    """Arrays, on a device, of one partition or of several partitions stacked along a leading axis.

    Attributes:
        edges: For each entry, the increasing bin edges in the dtype of the outputs, padded with the
            largest value of the dtype.
        bins: Number of bins of each entry, int32 [entries].
        base: First cell for outputs with each code, int32 [codes].
        boxed: 1 for each code whose outputs are assigned to cells by their numbers, and 0 for every
            other code, int32 [codes].
        size: Number of cells in the largest partition of the stack, rounded up to a power of 2.
        num_labels: Number of labels in a mixed output space, or 0 for any other output space.
        consecutive: Whether, for every entry, the bin edges are successive integers, as in a finite
            space. If `consecutive` is True, the bin of an output is computed by a subtraction
            instead of comparisons.
    """

    edges: tuple[AnyArray, ...]
    bins: AnyArray
    base: AnyArray
    boxed: AnyArray
    size: int = field(metadata={"static": True})
    num_labels: int = field(default=0, metadata={"static": True})
    consecutive: bool = field(default=False, metadata={"static": True})

    def index(self, outputs: Array) -> Array:
        """Return the cell of each output, int32 [n], for outputs of shape [n] or [n, d]."""
        if jnp.issubdtype(outputs.dtype, jnp.floating):
            # The host treats subnormal numbers as 0, and so do CPUs and TPUs. GPUs do not.
            tiny = jnp.finfo(outputs.dtype).tiny
            outputs = jnp.where(jnp.abs(outputs) < tiny, 0, outputs)
        columns = [outputs] if outputs.ndim == 1 else list(jnp.moveaxis(outputs, 1, 0))
        code = jnp.zeros(outputs.shape[0], jnp.int32)
        if self.num_labels:
            code = _label_code(columns[0], MixedSpace(self.num_labels), jnp) * 5
            columns = columns[1:]
            code += _value_code(columns[0])
            code = jnp.where(columns[0] == 0, code + _ZERO, code)
        elif jnp.issubdtype(outputs.dtype, jnp.floating):
            for column in columns:
                code = code * len(_STANDS_FOR) + _value_code(column)
            if len(columns) > 1:
                columns = [jnp.where(jnp.isfinite(column), column, 0) for column in columns]
        place = jnp.zeros_like(code)
        for number, (column, edges) in enumerate(zip(columns, self.edges, strict=True)):
            bins = self.bins[number]
            if self.consecutive:
                # Clip before subtracting, since the difference of two integers may overflow.
                found = jnp.clip(column, edges[0] - 1, edges[0] + bins - 2) - (edges[0] - 1)
            else:
                found = jnp.minimum(_edges_up_to(edges, column), bins - 1)
            place = place * bins + found
        if len(self.base) == 1:
            return self.base[0] + self.boxed[0] * place
        return self.base[code] + self.boxed[code] * place


def lookup(partitions: Sequence[Partition], space: OutputSpace, dtype: DTypeLike) -> Lookup:
    """Stack the partitions of multiple pairs in one `Lookup` for outputs drawn on a device.

    Args:
        partitions: One partition for each pair.
        space: Output space of the mechanism.
        dtype: Data type of the outputs.
    """
    dtype = jnp.dtype(dtype)
    names = [_names_of_codes(space, dtype)] * len(partitions)
    rows = [_tables(cells, codes) for cells, codes in zip(partitions, names, strict=True)]
    num_numbers = len(partitions[0].edges)
    edges = []
    for number in range(num_numbers):
        columns = [_cast(cells.edges[number], dtype) for cells in partitions]
        size = _padded(max(map(len, columns)))
        most = np.iinfo(dtype).max if dtype.kind in "iu" else np.inf
        edges.append(
            np.stack([np.pad(c, (0, size - len(c)), constant_values=most) for c in columns])
        )
    return Lookup(
        tuple(edges),
        np.array([cells.shape for cells in partitions], np.int32),
        np.stack([base for base, _ in rows]).astype(np.int32),
        np.stack([boxed for _, boxed in rows]).astype(np.int32),
        _padded(max(cells.size for cells in partitions)),
        space.num_labels if isinstance(space, MixedSpace) else 0,
        dtype == np.int32 and all(map(_is_consecutive, partitions)),
    )


def _is_consecutive(cells: Partition) -> bool:
    """Return whether the edges of each entry are successive integers that fit in an int32."""
    return all(
        len(edges) > 0
        and float(edges[0]).is_integer()
        and np.array_equal(edges, edges[0] + np.arange(len(edges)))
        and -(2**31) < edges[0]
        and edges[-1] < 2**31
        for edges in cells.edges
    )


def _padded(size: int) -> int:
    """Round a size up to a power of 2, so that similar partitions share a compiled program."""
    return 1 << (max(size, 1) - 1).bit_length()


def _tables(cells: Partition, codes: list[tuple[str, bool]]) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each code, the first cell and whether the cell depends on the output's number."""
    known = {name: number for number, name in enumerate(cells.names)}
    boxes = int(np.prod(cells.shape))
    base, boxed = np.full(len(codes), len(cells.names)), np.zeros(len(codes), np.int64)
    rank = {int(label): place for place, label in enumerate(cells.boxed)}
    for code, (name, beside_number) in enumerate(codes):
        label = known.get(name)
        if not beside_number:
            base[code] = len(cells.names) if label is None else label
        elif label in rank:
            base[code], boxed[code] = cells.num_alone + rank[label] * boxes, 1
    return base, boxed


def _names_of_codes(space: OutputSpace, dtype: np.dtype) -> list[tuple[str, bool]]:
    """Return, for each code, the name of the label and whether a number follows the label."""
    if dtype.kind in "iu":
        return [("a number", True)]
    if isinstance(space, MixedSpace):
        found = []
        for label in range(space.num_labels + 1):
            name = _mixed_name(label, space)
            found.append((name, True))
            found += [(f"{name} with {special_text([v])}", False) for v in _STANDS_FOR[1:]]
            found.append((name, False))
        return found
    dimension = space.dimension if isinstance(space, VectorSpace) else 1
    rows = list(product(_STANDS_FOR, repeat=dimension))
    # The finite entries of a vector are numbers beside its pattern of NaN and infinities.
    patterns = [(special_text(row), bool(np.isfinite(row).any())) for row in rows[1:]]
    return [("a number", True), *patterns]


def _mixed_name(label: int, space: MixedSpace) -> str:
    return f"label {label}" if label < space.num_labels else "no label"


def _label_code(column: AnyArray, space: MixedSpace, xp: ModuleType) -> AnyArray:
    """Convert labels to integers, and convert all other values to `num_labels`."""
    is_label = (column >= 0) & (column < space.num_labels) & (column == xp.floor(column))
    return xp.where(is_label, column, space.num_labels).astype(np.int32)


def _value_code(column: Array) -> Array:
    infinite = jnp.where(column > 0, _PLUS, _MINUS)
    strange = jnp.where(jnp.isnan(column), _NAN, infinite)
    return jnp.where(jnp.isfinite(column), _NUMBER, strange).astype(jnp.int32)


def _cast(edges: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Round edges up to the dtype of the outputs; each bin still contains the same outputs."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.clip(np.ceil(edges), limits.min, limits.max).astype(dtype)
    cast = edges.astype(dtype)
    cast = np.where(cast < edges, np.nextafter(cast, dtype.type(np.inf)), cast)
    tiny = np.finfo(dtype).tiny
    # Devices flush subnormal numbers to 0.
    return np.where((cast > 0) & (cast < tiny), tiny, np.where(abs(cast) < tiny, 0, cast))


def _edges_up_to(edges: AnyArray, values: Array) -> Array:
    """Count the edges at or below each value, int32 [n]. The number of edges is a power of 2."""
    size = edges.shape[0]
    step = max(size // _COMPARED, 1)
    # XLA vectorizes these comparisons; the binary search below needs gathers, which are slower.
    found = jnp.zeros(values.shape, jnp.int32)
    for edge in range(step - 1, size, step):
        found += (values >= edges[edge]).astype(jnp.int32)
    place = found * step
    while step > 1:
        step //= 2
        at = jnp.minimum(place + step - 1, size - 1)
        place += jnp.where(values >= edges[at], step, 0)
    return jnp.minimum(place, size)
