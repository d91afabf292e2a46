"""Refusal of outputs if hardly any label occurs twice, and a note if many labels do not."""

from collections.abc import Sequence

import numpy as np

from dpjax.partitions import Encoder, Outputs

_ALONE_SHARE, _RARE = 0.99, 3
"""Outputs are refused if the labels of at least the fraction `_ALONE_SHARE` of them are unique, and
if no label occurs `_RARE` times or more.
"""

_LEAST_LOOKED_AT = 200
"""Minimum number of outputs for a refusal; fewer outputs are always accepted."""

_NOTED_SHARE = 0.5
"""There is a note if the labels of at least this fraction of outputs are unique, or are rare."""

_OFTEN, _LEAST_FOR_RARE = 8, 2_000
"""A label is rare if it occurs fewer than `_OFTEN` times among `_LEAST_FOR_RARE` outputs or
more. An event of such labels is chosen mostly by chance.
"""

_EQUALITY = "Labels are only compared for equality: write "

_OF_LABELS = (
    "write numbers as numbers (convert a Decimal to float; in a printed vector, separate them by "
    "commas, without brackets), return the contents of an object, remove parts that identify a run "
    "(such as IDs or times), summarize texts and tables with dpjax.summarize, or group the "
    "labels"
)
_OF_OBJECTS = (
    "each holds an object that equals only itself, so return the contents of the object, such as "
    "the coefficients of a model"
)
"""Advice if outputs are refused, and advice if they hold objects that equal only themselves."""


def notes_of_labels_alone(
    pilots: Sequence[Outputs], encoder: Encoder, names: str, num_outputs: int | None = None
) -> list[str]:
    """Return a note if many labels occur only once; raise an error if almost all labels do.

    Args:
        pilots: Pilot outputs of both sides.
        encoder: Encoder that assigned integer indices to the labels of the pilots.
        names: Plural noun that messages use for the outputs.
        num_outputs: Total number of outputs; None if the pilots contain all outputs.

    Raises:
        ValueError: If all outputs are labels, and hardly any label occurs twice.
    """
    labels = np.concatenate([pilot.labels for pilot in pilots])
    if len(labels) < _LEAST_LOOKED_AT:
        return []
    only = labels[np.concatenate([pilot.alone for pilot in pilots])]
    kinds, counts = np.unique(only, return_counts=True)
    if len(only) == len(labels):
        are_objects = encoder.labels.num_objects >= _ALONE_SHARE * len(kinds)
        example = encoder.names[labels[0]]
        refuse_alone(counts, names, num_outputs or len(labels), example, are_objects)
    unique, rare = kinds[counts == 1], counts < _OFTEN
    if len(unique) >= _NOTED_SHARE * len(labels):
        return [
            f"Of the first {len(labels):,} outputs, {len(unique):,} have a label that no other one "
            f"has (such as {encoder.names[unique[0]]}). {_EQUALITY}numbers as numbers, or group "
            "the labels."
        ]
    num_rare = int(counts[rare].sum())
    if len(labels) < _LEAST_FOR_RARE or num_rare < _NOTED_SHARE * len(labels):
        return []
    return [
        f"Of the first {len(labels):,} outputs, {num_rare:,} have a label that occurs fewer than "
        f"{_OFTEN} times (such as {encoder.names[kinds[rare][0]]}). {_EQUALITY}dates and "
        "durations as numbers, subtract a constant from integers above 2^53, or group the labels."
    ]


def refuse_alone(
    counts: np.ndarray, names: str, num_outputs: int, example: str, are_objects: bool = False
) -> None:
    """Raise an error if hardly any outcome occurs twice.

    Outputs are accepted if some outcome occurs often, such as one error message among unique
    identifiers.

    Args:
        counts: Total count of each outcome over both sides, int64 [k].
        names: Plural noun that messages use for the outputs.
        num_outputs: Total number of outputs.
        example: One of the outcomes.
        are_objects: Whether almost all outcomes contain an object that equals only itself.
    """
    repeated = counts[counts > 1].sum()
    if repeated <= (1 - _ALONE_SHARE) * counts.sum() and counts.max() < _RARE:
        raise ValueError(
            f"{names} hold {num_outputs} labels, such as {example}, and hardly any label occurs "
            f"twice, so there is nothing to compare: {_OF_OBJECTS if are_objects else _OF_LABELS}."
        )
