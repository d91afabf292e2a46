"""The common form of all outputs: a label and optional numbers.

An output of a recording, a program or a Python function is a number, a vector or a label. It may
also be NaN, an infinity, a missing value or an exception. NaN, an infinity, a missing value and an
exception are outcomes of their own, because even a crash leaks information if it depends on the
data.
"""

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from itertools import repeat
from typing import NamedTuple

import numpy as np

from dpjax.core import validate
from dpjax.core.errors import text_of
from dpjax.core.numerics import has_inexact
from dpjax.core.types import JsonObject
from dpjax.core.wording import ERRORS, OUTCOMES, BadValue
from dpjax.partitions._columns import Columns
from dpjax.partitions._distinct import distinct
from dpjax.partitions._nested import Label, Nested, form_of, table_of
from dpjax.partitions.low_bits import check_bits, lowest_set_bit
from dpjax.partitions.missing import (
    Raised,
    as_known_kind,
    missing,
    patterns_of,
    rows_of_objects,
    unmasked,
)
from dpjax.partitions.previews import described, shortened


class Outputs(NamedTuple):
    """A batch of outputs.

    Attributes:
        labels: Index of each output's label in the `names` of an `Encoder`, int32 [n]. The index is
            0 for outputs without a label.
        values: Finite numbers, float64 [n, d]. The numbers are 0 for outputs that have only a
            label.
        alone: Whether each output has only a label and no numbers, bool [n].
    """

    labels: np.ndarray
    values: np.ndarray
    alone: np.ndarray


def part_of(outputs: Outputs, rows: slice) -> Outputs:
    """Return a slice of the outputs, without a copy."""
    return Outputs(*(column[rows] for column in outputs))


class Encoder:
    """A converter from raw outputs to `Outputs`, which keeps the names of labels.

    Args:
        source: Origin of the outputs, as named in messages.
        special: "outcomes" to treat NaN, infinities, missing values and exceptions as outcomes, or
            "error" to reject them.
        bits: "lowest" to label each float by the position of its lowest bit that is 1; an integer k
            to label each float by the k lowest bits of its mantissa; or None to leave floats
            without labels. "auto" means "lowest" if outputs are single floats, and None otherwise.

    Raises:
        ValueError: If an option is unknown.
        TypeError: If `bits` is neither a string nor an integer nor None.
    """

    def __init__(self, source: str, *, special: str = "outcomes", bits: int | str | None = None):
        validate.one_of(("outcomes", "error"), special=special)
        check_bits(bits)
        self.source, self._special, self._bits = source, special, bits
        self._numbers: dict[tuple[str, Hashable], int] = {}
        self.names: list[str] = ["a number"]
        self.dimension: int | None = None
        self.columns = Columns()

    @property
    def parts(self) -> tuple[str, ...]:
        """Paths of the numbers in nested outputs. The tuple is empty for numbers and vectors."""
        return self.columns.paths

    def encode(self, raw: np.ndarray | Iterable[object]) -> Outputs:
        """Encode one batch of raw outputs.

        Args:
            raw: An array of shape [n] or [n, d], or a sequence of outputs. An output is a number, a
                tuple or list of numbers, a label, None, a `Raised`, or a nested dict, list or tuple
                of these. A complex number counts as two numbers, and a date or duration as a label.
                The numbers of a nested output form a vector; see `Columns`. A nested output whose
                structure is not the most common one is labeled by its structure.

        Raises:
            ValueError: If outputs do not all have the same length as earlier outputs, or if
                `special` is "error" and an output is NaN, an infinity, a missing value or an
                exception.
            TypeError: If an output is neither a number nor a label.
        """
        if isinstance(raw, np.ma.MaskedArray) and raw.dtype.kind in "biufUSO":
            raw = rows_of_objects(unmasked(raw))
        raw = as_known_kind(raw) if isinstance(raw, np.ndarray) else raw
        if isinstance(raw, np.ndarray) and raw.dtype.names:
            return self._encode_table(raw)
        if isinstance(raw, np.ndarray) and raw.dtype.kind in "biuf":
            return self._encode_numbers(raw)
        if isinstance(raw, np.ndarray) and raw.dtype.kind in "US" and raw.ndim == 1:
            kinds, places = distinct(raw)
            return self._alone(self._numbers_of(kinds.tolist())[places])
        if isinstance(raw, np.ndarray) and raw.dtype.kind != "O":
            raise TypeError(
                f"{self.source} must give numbers or labels, but gave an array of the dtype "
                f"{raw.dtype} and the shape {list(raw.shape)}."
            )
        return self._encode_objects(list(raw))

    def _encode_table(self, table: np.ndarray) -> Outputs:
        """Encode a structured array like the dicts of its rows."""
        names = table.dtype.names or ()
        columns = {name: table[name] for name in sorted(names, key=repr)}
        if table_of(columns) is not None:
            one = Nested.of(dict.fromkeys(names, 0.0))
            self.columns.fix([one], self.dimension, self.dimension is None)
            if self.columns.is_usual(one) and not self.columns.extra:
                return self._encode_numbers(np.stack([*columns.values()], axis=1).astype(float))
        return self._encode_objects([dict(zip(names, row, strict=True)) for row in table.tolist()])

    def _encode_numbers(self, raw: np.ndarray) -> Outputs:
        if raw.ndim not in (1, 2):
            raise ValueError(
                f"{self.source} must give numbers of the shape [n] or [n, d], but gave the shape "
                f"{list(raw.shape)}."
            )
        if raw.dtype.kind == "f" and raw.dtype.itemsize > 8:
            raise ValueError(
                f"{self.source} gave {raw.dtype} values, which float64 cannot represent exactly: "
                "convert them to float64 first."
            )
        rows = self.columns.wide(raw.reshape(len(raw), -1))
        self._check_dimension(rows.shape[1])
        if raw.dtype.kind in "iu" and has_inexact(rows):
            if rows.shape[1] > 1:
                raise ValueError(
                    f"{self.source} gave vectors of integers above 2^53, which float64 cannot "
                    "represent exactly: scale the integers down, or return strings."
                )
            return self._encode_objects([int(value) for value in rows[:, 0]])
        # All outputs have one memory layout, because NumPy's sums of rows depend on the layout.
        # Adding 0.0 turns -0.0 into 0.0.
        values = rows.astype(np.float64, order="C") + 0.0
        labels = np.zeros(len(rows), np.int32)
        finite = np.isfinite(values)
        strange = np.flatnonzero(~finite.all(axis=1))
        if strange.size:
            # Each pattern of NaN and infinities is a label, beside the numbers in other entries.
            texts, places = patterns_of(values[strange])
            labels[strange] = np.array([*map(self._special_label, texts)], np.int32)[places]
        alone = np.all(~finite, axis=1)
        values[~finite] = 0.0
        single = raw.dtype.kind == "f" and rows.shape[1] == 1
        if self._bits is not None and (single or self._bits != "auto"):
            self._look_at_bits(rows, labels, values, alone)
        return Outputs(labels, values, alone)

    def _encode_objects(self, items: Sequence[object]) -> Outputs:
        num_known = len(self.names)
        outputs = self._in_order_of_occurrence(items)
        if len(self.names) < num_known + 2:
            return outputs
        return outputs._replace(labels=self._shuffle_from(num_known)[outputs.labels])

    def _shuffle_from(self, start: int) -> np.ndarray:
        """Renumber the labels from index `start` on, with a fixed permutation.

        If labels had indices in order of first occurrence, a label's index would depend on the
        position of an output, and independent outputs would look dependent.

        Returns:
            The new index of each label, int32 [labels].
        """
        found, new = np.arange(len(self.names), dtype=np.int32), len(self.names) - start
        order = np.random.Generator(np.random.Philox(0)).permutation(new)
        names = self.names[start:]
        keys = [self._numbers.popitem()[0] for _ in range(new)][::-1]
        for place, old in enumerate(order.tolist(), start):
            self._numbers[keys[old]] = place
            self.names[place] = names[old]
            found[start + old] = place
        return found

    def _in_order_of_occurrence(self, items: Sequence[object]) -> Outputs:
        """Encode a batch of objects, and assign indices to new labels in order of occurrence."""
        labels = np.zeros(len(items), np.int32)
        rows: list[tuple[float, ...] | None] = [None] * len(items)
        nested: dict[int, Nested] = {}
        # Classify each string once, since most outputs that are not numbers are strings.
        texts: dict[str, int] = {}
        for place, item in enumerate(items):
            if type(item) is str and item in texts:
                labels[place] = texts[item]
                continue
            kind = self._classify(item)
            if isinstance(kind, int):
                if type(item) is str:
                    texts[item] = kind
                labels[place] = kind
            elif isinstance(kind, Nested):
                nested[place] = kind
            else:
                rows[place] = kind
        self._place_nested(nested, rows, labels)
        numeric = np.array([row is not None for row in rows], bool)
        if self.columns.extra:
            rows = [None if row is None else self.columns.padded(row) for row in rows]
        lengths = sorted({len(row) for row in rows if row is not None})
        if len(lengths) > 1:
            raise ValueError(
                f"{self.source} must give outputs of one length, but their lengths were {lengths}: "
                "return vectors of equal length, or one label for each kind of answer."
            )
        if not lengths:
            return self._alone(labels)
        numbers = self._encode_numbers(np.array([row for row in rows if row is not None]))
        values = np.zeros((len(items), lengths[0]))
        alone = ~numeric
        own = labels[numeric]
        beside, values[numeric], alone[numeric] = numbers
        for first, second in set(zip(own[own > 0].tolist(), beside[own > 0].tolist(), strict=True)):
            text = self.names[first]
            both = self.named(f"{text} with {self.names[second]}") if second else first
            beside[(own == first) & (beside == second)] = both
        labels[numeric] = beside
        return Outputs(labels, values, alone)

    def _place_nested(
        self,
        nested: dict[int, Nested],
        rows: list[tuple[float, ...] | None],
        labels: np.ndarray,
    ) -> None:
        """Store the numbers and labels of nested outputs in `rows` and `labels`."""
        base = self.dimension or next((len(row) for row in rows if row is not None), None)
        with_numbers = [one for one in nested.values() if one.numbers]
        self.columns.fix(with_numbers, base, self.dimension is None)
        for place, one in nested.items():
            rows[place] = self.columns.row(one)
            if rows[place] is None or not self.columns.is_usual(one):
                key = _Special(one.key) if isinstance(one.key, str) else one.key
                labels[place] = self._label_of(key, shortened(one.structure))

    def _classify(self, item: object) -> "int | tuple[float, ...] | Nested":
        """Return the index of a label, the entries of a number or vector, or a `Nested` object."""
        try:
            found = form_of(item)
        except Exception as error:  # User-defined __len__, __float__, __hash__ or __repr__ failed.
            if isinstance(error, BadValue):
                raise BadValue(f"{self.source} gave {error}") from None
            raise TypeError(
                f"{self.source} must give numbers, vectors or labels, but gave {described(item)}."
            ) from None
        if isinstance(found, Raised):
            return self._special_label(str(found))
        return self._label_of(found.value) if isinstance(found, Label) else found

    def named(self, text: str) -> int:
        """Return the index of a label that dpjax creates instead of reading it from an output."""
        return self._label_of(_Special(text), text)

    def to_plain(self) -> JsonObject | None:
        """Return the state as JSON values, or None if JSON cannot represent the labels."""
        kinds = {"str": str, "int": int, "bool": bool, "float": float, "_Special": str}
        usual = self.columns.usual
        if not (usual is None or isinstance(usual.key, str)):
            return None
        if any(kind not in kinds for kind, _ in self._numbers):
            return None
        named = zip(self._numbers, self.names[1:], strict=True)
        labels = [[kind, kinds[kind](label), name] for (kind, label), name in named]
        return {"labels": labels, "dimension": self.dimension, "columns": self.columns.to_plain()}

    def restore(self, plain: JsonObject) -> None:
        """Restore the state that `to_plain` returned; call this before any batch is encoded.

        Raises:
            KeyError, ValueError, TypeError: If the content is not a state that `to_plain`
                returned.
        """
        for kind, label, name in plain["labels"]:
            value = _Special(label) if kind == "_Special" else label
            if type(value).__name__ != kind:
                raise ValueError(f"the label {label!r} does not have the type {kind}")
            self._label_of(value, str(name))
        dimension, columns = plain["dimension"], plain["columns"]
        self.dimension = None if dimension is None else int(dimension)
        if columns is not None:
            self.columns.restore(columns)

    def _alone(self, labels: np.ndarray) -> Outputs:
        values = np.zeros((len(labels), self.dimension or 1))
        return Outputs(labels.astype(np.int32), values, np.ones(len(labels), bool))

    def _numbers_of(self, kinds: Sequence[str] | Sequence[bytes]) -> np.ndarray:
        """Return the label index of each string, int32 [k]."""
        name = type(kinds[0]).__name__ if kinds else ""
        known = map(self._numbers.get, zip(repeat(name), kinds, strict=False))
        numbers = [
            self._label_of(kind) if number is None else number
            for kind, number in zip(kinds, known, strict=True)
        ]
        return np.array(numbers, np.int32)

    @cached_property
    def _most_labels(self) -> int:
        return validate.limit("labels")

    def _label_of(self, label: Hashable, text: str | None = None) -> int:
        if isinstance(label, np.str_ | np.bytes_):
            # A NumPy string is the same output as a Python string.
            label = label.item()
        if isinstance(label, str | bytes) and not label:
            return self._special_label(missing(label) or "")
        # The type is part of the key, because a dict does not distinguish 1, True and 1.0.
        key = (type(label).__name__, label)
        if key not in self._numbers:
            if len(self.names) > self._most_labels:
                validate.within_limit(
                    "labels",
                    len(self.names),
                    f"{self.source} gave too many distinct labels (return numbers or group labels)",
                )
            self._numbers[key] = len(self.names)
            self.names.append(shortened(text_of(label)) if text is None else text)
        return self._numbers[key]

    def _special_label(self, text: str) -> int:
        if self._special == "error":
            raise BadValue(
                f"{self.source} gave the outcome {text!r}, which {ERRORS} refuses: pass "
                f"{OUTCOMES} to count it as a separate outcome."
            )
        return self.named(text)

    def _check_dimension(self, dimension: int) -> None:
        if not dimension:
            raise BadValue(
                f"{self.source} must give at least one number per output, but gave outputs of the "
                "shape [0]."
            )
        if self.dimension is None:
            self.dimension = dimension
        if dimension != self.dimension:
            raise ValueError(
                f"{self.source} must give outputs of one length, but first gave {self.dimension} "
                f"number(s) per output, and later {dimension}."
            )

    def _look_at_bits(
        self, raw: np.ndarray, labels: np.ndarray, values: np.ndarray, alone: np.ndarray
    ) -> None:
        if raw.shape[1] != 1:
            raise ValueError(
                f"bits applies only to outputs that are single reals, but {self.source} gave "
                "vectors: leave out bits."
            )
        finite = ~alone
        zero = finite & (values[:, 0] == 0)
        negative = zero & np.signbit(raw[:, 0].astype(np.float64))
        alone |= zero
        for rows, text in ((zero & ~negative, "0.0"), (negative, "-0.0")):
            if rows.any():
                labels[rows] = self._label_of(_Special(text), text)
        rest = finite & ~zero
        if self._bits in ("lowest", "auto"):
            places, text = lowest_set_bit(values[rest, 0]), "lowest set bit 2^{}"
        else:
            width = int(self._bits or 0)
            # Use the original dtype, since a float32 cast to float64 ends in zero bits.
            numbers = raw[rest, 0] if raw.dtype == np.float32 else values[rest, 0]
            words = numbers.view(np.int32 if numbers.dtype == np.float32 else np.int64)
            places = words.astype(np.int64) & ((1 << width) - 1)
            text = f"lowest {width} bits {{:0{width}b}}"
        kinds, which = np.unique(places, return_inverse=True)
        names = [text.format(int(kind)) for kind in kinds]
        known = [self._label_of(_Special(name), name) for name in names]
        labels[rest] = np.array(known, np.int32)[which]


class _Special(str):
    """A label that dpjax creates. The label is distinct from an output with the same text."""

    __slots__ = ()
