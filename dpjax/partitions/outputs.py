"""The common form of all outputs: a label and optional numbers.

An output of a recording, a program or a Python function is a number, a vector or a label. It may
also be NaN, an infinity, a missing value or an exception. These are outcomes of their own, because
even a crash leaks information if it depends on the data.
"""

from collections.abc import Hashable, Iterable, Sequence
from itertools import groupby
from math import isfinite

import numpy as np

from dpjax.core import validate
from dpjax.core.numerics import has_inexact
from dpjax.core.wording import BadValue
from dpjax.partitions._batches import Outputs, widened
from dpjax.partitions._columns import NestedColumns
from dpjax.partitions._columns_of_outputs import table_of
from dpjax.partitions._contents import Kind
from dpjax.partitions._distinct import distinct
from dpjax.partitions._entries import Entries
from dpjax.partitions._learned_form import LearnedForm
from dpjax.partitions._lengths import structure_label
from dpjax.partitions._logistic import FOLDS
from dpjax.partitions._nested import FLOATS, INTEGERS, Label, Nested
from dpjax.partitions._row_names import only_label, row_names
from dpjax.partitions._rows import checked, encoded_rows, stacked
from dpjax.partitions._summarizer import Summarizer, may_be_summarized
from dpjax.partitions._wide import Wide
from dpjax.partitions.low_bits import check_bits, label_bits
from dpjax.partitions.missing import Raised, as_known_kind, masked_rows, rows_of_objects, unmasked
from dpjax.partitions.previews import described, name_of_structure

_CLASSIFIED_FAST = FLOATS | INTEGERS | {dict, list, tuple}
"""Types of outputs that are classified before they are encoded."""


class Encoder(LearnedForm):
    """A converter from raw outputs to `Outputs`, which keeps the names of labels.

    Args:
        source: Origin of the outputs, as named in messages.
        special: "outcomes" to treat NaN, infinities, missing values and exceptions as outcomes, or
            "error" to reject them.
        bits: "lowest" to label each float by the position of its lowest bit that is 1, and to
            compare these positions for each entry of a vector; an integer k to label each float by
            the k lowest bits of its mantissa; or None to leave floats without labels. "auto" means
            "lowest" if outputs are single floats, and None otherwise.
        names_of_entries: Names of the entries of vectors, for descriptions; () if unknown.

    Attributes:
        targets: Function that returns the records that are looked for in summarized outputs.
        keeps_all: Whether `encode` returns all numbers of long vectors, so that the numbers to
            compare may be chosen again. Then, `padded` returns those that are compared.

    Raises:
        ValueError: If an option is unknown.
        TypeError: If `bits` is neither a string nor an integer nor None.
    """

    def __init__(
        self,
        source: str,
        *,
        special: str = "outcomes",
        bits: int | str | None = None,
        names_of_entries: tuple[str, ...] = (),
    ):
        validate.one_of(("outcomes", "error"), special=special)
        check_bits(bits)
        super().__init__(source, special, names_of_entries)
        self.source, self._bits = source, bits
        self.keeps_all = False

    @property
    def entries(self) -> Entries:
        """Description of the columns of numbers."""
        return super().entries._replace(low_bits=self._bits == "lowest")

    def encode(self, raw: np.ndarray | Iterable[object]) -> Outputs:
        """Encode one batch of raw outputs.

        Args:
            raw: An array of shape [n] or [n, d], or a sequence of outputs. An output is a number, a
                tuple or list of numbers, a label, None, a `Raised`, or a nested dict, list or tuple
                of these. A complex number counts as two numbers, and a date or duration as a label.
                The numbers of a nested output form a vector; see `NestedColumns`. A nested output
                whose structure is not the most common one is labeled by its structure.

        Raises:
            ValueError: If outputs do not all have the same length as earlier outputs, or if
                `special` is "error" and an output is NaN, an infinity, a missing value or an
                exception.
            TypeError: If an output is neither a number nor a label.
        """
        outputs = self._encode(raw)
        return outputs if self.keeps_all or self._wide is None else self._wide.narrowed(outputs)

    def apart(self, raw: np.ndarray | Iterable[object]) -> list[Sequence[object]]:
        """Divide outputs into batches that are encoded as if each output came alone.

        Only outputs in known forms are encoded together, since they change no state.
        """
        items = list(raw)
        table = None if self._bits else self._stacked(items)
        if table is not None and np.isfinite(table).all():
            return [items]
        found: list[Sequence[object]] = []
        for is_known, group in groupby(items, self._has_known_form):
            part = [*group]
            found += [part] if is_known else [[item] for item in part]
        return found

    def _has_known_form(self, item: object) -> bool:
        """Return whether the encoding of an output changes no state."""
        contents = self._contents
        if self._summarizer or self._bits or contents.lists or contents.lengths.varied:
            return False
        if type(item) is str:
            return self.labels.known(item)
        # Other outputs, such as data frames, are not worth being classified twice.
        if not self.columns.closed or type(item) not in _CLASSIFIED_FAST:
            return False
        try:
            found = contents.frames.form(item, self.targets)
        except Exception:  # The error is raised when the output is encoded.
            return False
        if isinstance(found, Label):
            return self.labels.known(found.value)
        if isinstance(found, Nested):
            is_labeled = self.columns.needs_no_label(found) or self.labels.known(
                structure_label(found)
            )
            return is_labeled and all(map(isfinite, found.numbers))
        if isinstance(found, Raised) or self.columns.excludes_plain:
            return False
        return len(found) == self._base and all(map(isfinite, found))

    def _stacked(self, items: Sequence[object]) -> np.ndarray | None:
        return None if self._summarizer or self._contents.lists else stacked(items, self._base)

    def _encode(self, raw: np.ndarray | Iterable[object]) -> Outputs:
        if isinstance(raw, np.ma.MaskedArray) and raw.dtype.kind in "biufUSO":
            raw = rows_of_objects(unmasked(raw))
        raw = as_known_kind(raw) if isinstance(raw, np.ndarray) else raw
        if isinstance(raw, np.ndarray) and raw.dtype.names:
            return self._encode_table(raw)
        if isinstance(raw, np.ndarray) and raw.dtype.kind in "biuf":
            return self._encode_numbers(raw)
        if isinstance(raw, np.ndarray) and raw.dtype.kind in "US" and raw.ndim == 1:
            if self._summarizer is not None:
                return self._encode_objects(raw.tolist())
            kinds, places = distinct(raw)
            return self._alone(self.labels.of_strings(kinds.tolist())[places])
        if isinstance(raw, np.ndarray) and raw.dtype.kind != "O":
            raise TypeError(
                f"{self.source} must give numbers or labels, but gave an array of the dtype "
                f"{raw.dtype} and the shape {list(raw.shape)}."
            )
        items = list(raw)
        table = self._stacked(items)
        return self._encode_objects(items) if table is None else self._encode_numbers(table)

    def _encode_table(self, table: np.ndarray) -> Outputs:
        """Encode a structured array like the dicts of its rows, with sorted keys."""
        names = sorted(table.dtype.names or (), key=repr)
        table = table[names]
        if (rows := masked_rows(table)) is not None:
            return self._encode_objects([dict(zip(names, row, strict=True)) for row in rows])
        table = np.asarray(table)
        columns = {name: table[name] for name in names}
        if table_of(columns) is not None:
            one = Nested.of(dict.fromkeys(names, 0.0))
            self.columns.add([one], self._base)
            if self.columns.needs_no_label(one):
                rows = np.stack([*columns.values()], axis=1).astype(float)
                self._base = checked(self.source, self._base, rows.shape[1])
                return self._encode_rows(self.columns.wide(rows))
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
        rows = raw.reshape(len(raw), -1)
        if self.columns.excludes_plain:
            # Large integers are labels, unless they are entries of a vector.
            plain = rows[:, 0].tolist() if rows.shape[1] == 1 else map(tuple, rows.tolist())
            return self._encode_objects([*plain])
        self._base = checked(self.source, self._base, rows.shape[1])
        return self._encode_rows(self.columns.wide(rows))

    def _encode_rows(self, rows: np.ndarray, narrow: np.ndarray | bool = True) -> Outputs:
        """Encode numbers, [n, columns]; only those in `narrow` may be labeled by their bits."""
        if rows.dtype.kind in "iu" and has_inexact(rows):
            if rows.shape[1] > 1:
                raise ValueError(
                    f"{self.source} gave vectors of integers above 2^53, which float64 cannot "
                    "represent exactly: scale the integers down, or return strings."
                )
            return self._encode_objects([int(value) for value in rows[:, 0]])
        outputs = encoded_rows(rows, self._base, self.labels)
        is_single = self._base == 1
        is_labeled = is_single and (rows.dtype.kind == "f" or self._bits == "lowest")
        if isinstance(self._bits, int) or (self._bits and is_labeled):
            bits, named = self._bits, self.labels.named
            label_bits(self.source, self._base, rows, outputs, narrow, bits, named)
        return outputs

    def _encode_objects(self, items: Sequence[object]) -> Outputs:
        num_known = len(self.names)
        outputs = self._in_order_of_occurrence(items)
        if len(self.names) < num_known + 2:
            return outputs
        new = self.labels.shuffle_from(num_known)
        self._contents.renumber(new)
        return outputs._replace(labels=new[outputs.labels])

    def _in_order_of_occurrence(self, items: Sequence[object]) -> Outputs:
        """Encode a batch of objects, and assign indices to new labels in order of occurrence."""
        # Classify each string once, since most outputs that are not numbers are strings.
        texts: dict[str, int] = {}
        kinds: list[Kind] = []
        for item in items:
            if type(item) is str and item in texts:
                kinds.append(texts[item])
                continue
            kind = self._classify(item)
            if isinstance(kind, int) and type(item) is str:
                texts[item] = kind
            elif isinstance(kind, int) and not self.columns.closed:
                self._contents.add(kind, item)
            kinds.append(kind)
        for place in self._contents.frames.decide(kinds, items, closed=self.columns.closed):
            kinds[place] = self._classify(items[place])
        if not self.columns.excludes_plain:
            kinds = self._contents.label_lists(kinds, items, self.labels, self._base)
        kinds = self._contents.label_nested(kinds, items, self.labels, closed=self.columns.closed)
        return self._placed(kinds, items)

    def _placed(self, kinds: Sequence[Kind], items: Sequence[object]) -> Outputs:
        """Return a batch whose outputs were classified.

        Args:
            kinds: The index of a label, the entries of a number or vector, or a nested output.
            items: The outputs themselves, or () if they are not known.
        """
        labels = np.zeros(len(kinds), np.int32)
        rows: list[tuple[float, ...] | None] = [None] * len(kinds)
        nested: dict[int, Nested] = {}
        for place, kind in enumerate(kinds):
            if isinstance(kind, int):
                labels[place] = kind
            elif isinstance(kind, Nested):
                nested[place] = kind
            else:
                rows[place] = kind
        if nested or self.columns.usual is not None:
            self._place_nested(nested, rows, labels, items)
        numeric = np.array([row is not None for row in rows], bool)
        filled = [row for row in rows if row is not None]
        if not filled:
            return self._alone(labels)
        self._base = checked(self.source, self._base, len(filled[0]) - len(self.columns.extra))
        narrow: np.ndarray | bool = True
        if nested and self._bits is not None:
            # A nested output with other numbers than the first columns has no number to look at.
            narrow = np.ones(len(rows), bool)
            narrow[[*nested]] = [len(one.numbers) == 1 for one in nested.values()]
            narrow = narrow[numeric]
        numbers = self._encode_rows(np.array(filled), narrow)
        values = np.zeros((len(kinds), self._width or 1))
        alone = ~numeric
        own = labels[numeric]
        beside, values[numeric], alone[numeric] = numbers
        for first, second in set(zip(own[own > 0].tolist(), beside[own > 0].tolist(), strict=True)):
            text = self.names[first]
            both = self.labels.named(f"{text} with {self.names[second]}") if second else first
            beside[(own == first) & (beside == second)] = both
        labels[numeric] = beside
        return Outputs(labels, values, alone)

    def _place_nested(
        self,
        nested: dict[int, Nested],
        rows: list[tuple[float, ...] | None],
        labels: np.ndarray,
        items: Sequence[object],
    ) -> None:
        """Store the numbers and labels of nested outputs, and adapt those of other outputs."""
        plain = [place for place, row in enumerate(rows) if row is not None]
        if self.columns.excludes_plain:
            bare = Nested.bare if self._summarizer is None else self._summarizer.bare
            nested |= {place: bare(rows[place] or ()) for place in plain}
        base = self._base or next((len(rows[place] or ()) for place in plain), None)
        self.columns.add([one for one in nested.values() if one.numbers], base)
        # Look up each structure once, since most outputs share theirs with others.
        known: dict[Hashable, int] = {}
        for place, one in nested.items():
            rows[place] = self.columns.row(one)
            if rows[place] is None or not self.columns.needs_no_label(one):
                if (number := known.get(one.key)) is None:
                    name = name_of_structure(one.structure)
                    number = known[one.key] = self.labels.of(structure_label(one), name)
                labels[place] = number
            if items and not self.columns.closed:
                self._contents.add(int(labels[place]), items[place])
        if self.columns.extra and not self.columns.excludes_plain:
            for place in plain:
                rows[place] = self.columns.padded(rows[place] or ())

    def _classify(self, item: object) -> Kind:
        """Return the index of a label, the entries of a number or vector, or a `Nested` object."""
        try:
            found = self._contents.frames.form(item, self.targets)
            if self._summarizer is not None and not isinstance(found, Raised):
                found = self._summarizer.form(item, found)
        except Exception as error:  # User-defined __len__, __float__, __hash__ or __repr__ failed.
            if isinstance(error, BadValue):
                raise BadValue(f"{self.source} gave {error}") from None
            raise TypeError(
                f"{self.source} must give numbers, vectors or labels, but gave {described(item)}."
            ) from None
        if isinstance(found, Raised):
            return self.labels.outcome(str(found))
        return self.labels.of(found.value) if isinstance(found, Label) else found

    def fixed(
        self, pilots: Sequence[Outputs], folds: Sequence[np.ndarray] | None = None
    ) -> list[Outputs]:
        """Add no further columns, and return outputs with an entry for each column.

        If hardly any label occurs twice, these and all later outputs are summarized.

        Args:
            pilots: First outputs of both sides.
            folds: Fold of each output, int [n] for each side. By default, its index modulo FOLDS.
        """
        folds = folds or [np.arange(len(pilot.labels)) % FOLDS for pilot in pilots]
        if self._summarizer is None and may_be_summarized(pilots, self._contents.lists):
            form = self.columns.paths, self._base
            summarizer = Summarizer(self.labels, self._contents, *form, self.targets)
            # Outputs with fewer numbers are those that were encoded before; see `padded`.
            if paths := summarizer.columns(pilots, folds, (self._width or 1) + 1):
                self._summarizer, self._base = summarizer, len(paths)
                self.labels, self.columns = summarizer.kept, NestedColumns.of_summaries(paths)
        if self._summarizer is None and (label := only_label(pilots)) is not None:
            names = row_names(self._contents.first(label), self.columns.paths)
            self.columns.names = names or None
        self._contents.close()
        self.columns.closed = True
        found = [self.padded(pilot) for pilot in pilots]
        if self._wide is None:
            self._wide = Wide.of(found, folds, self.columns.paths)
        return [self.padded(pilot) for pilot in found]

    def choose_again(self, pilots: Sequence[Outputs]) -> list[Outputs]:
        """Choose the entries of long vectors again; see `fixed`.

        Args:
            pilots: First outputs of both sides, with all of their numbers.
        """
        self._wide = None
        return self.fixed(pilots)

    def padded(self, outputs: Outputs) -> Outputs:
        """Return outputs in the form of those that are encoded now, with the same columns."""
        width = self._width or 1
        if self._wide is not None and outputs.values.shape[1] == self.dimension:
            return outputs
        if self._summarizer is None or outputs.values.shape[1] == width:
            outputs = outputs._replace(values=widened(outputs.values, width))
        else:
            outputs = self._placed(self._summarizer.forms(outputs), ())
        return outputs if self._wide is None else self._wide.narrowed(outputs)

    def _alone(self, labels: np.ndarray) -> Outputs:
        values = np.zeros((len(labels), self._width or 1))
        return Outputs(labels.astype(np.int32), values, np.ones(len(labels), bool))
