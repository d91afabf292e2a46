"""Refusal of labels that hardly ever repeat, so that nothing can be compared."""

from collections.abc import Sequence

import numpy as np

from dpjax.partitions import Encoder, Outputs

_ALONE_SHARE, _RARE = 0.99, 3
"""Share of unique labels at which outputs are refused; occurrences of one label that prevent it."""

_LEAST_LOOKED_AT = 200
"""Smallest number of outputs to check; in fewer, even common labels may occur once each."""


def refuse_labels_alone(
    pilots: Sequence[Outputs], encoder: Encoder, names: str, num_outputs: int | None = None
) -> None:
    """Refuse outputs if all of them are labels and hardly any label repeats.

    Args:
        pilots: Pilots of both sides.
        encoder: Encoder of the pilots.
        names: Name of the outputs in messages.
        num_outputs: Number of all outputs, if the pilots are only a part of them.

    Raises:
        ValueError: When hardly any label occurs twice.
    """
    labels = np.concatenate([pilot.labels for pilot in pilots])
    if len(labels) >= _LEAST_LOOKED_AT and all(pilot.alone.all() for pilot in pilots):
        counts = np.unique(labels, return_counts=True)[1]
        refuse_alone(counts, names, num_outputs or len(labels), encoder.names[labels[0]])


def refuse_alone(counts: np.ndarray, names: str, num_outputs: int, example: str) -> None:
    """Refuse outcomes if hardly any occurs twice; `counts` [k] sums both sides.

    A single outcome that repeats, such as an error among identifiers, suffices for an audit.
    """
    repeated = counts[counts > 1].sum()
    if repeated <= (1 - _ALONE_SHARE) * counts.sum() and counts.max() < _RARE:
        raise ValueError(
            f"{names} hold {num_outputs} labels, such as {example}, and hardly any occurs twice, "
            "so there is nothing to compare: write numbers as numbers (float of a Decimal), leave "
            "out what names a run, or group the labels."
        )
