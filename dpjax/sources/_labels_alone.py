"""Refusal of labels that hardly ever repeat, of which nothing can be compared."""

from collections.abc import Sequence

import numpy as np

from dpjax.partitions import Encoder, Outputs

_ALONE_SHARE, _RARE = 0.99, 3
"""Share of outputs whose label occurs once, and occurrences of one label that can be compared."""

_LEAST_LOOKED_AT = 200
"""Fewest outputs that are checked: among fewer, common outcomes may occur once each."""


def refuse_labels_alone(
    pilots: Sequence[Outputs], encoder: Encoder, names: str, num_outputs: int | None = None
) -> None:
    """Refuses outputs that are labels of which none comes again.

    Args:
        pilots: Of both sides.
        encoder: That made them.
        names: What the outputs are called.
        num_outputs: How many there are, if the pilots are not all.

    Raises:
        ValueError: Hardly any label occurs twice.
    """
    labels = np.concatenate([pilot.labels for pilot in pilots])
    if len(labels) >= _LEAST_LOOKED_AT and all(pilot.alone.all() for pilot in pilots):
        counts = np.unique(labels, return_counts=True)[1]
        refuse_alone(counts, names, num_outputs or len(labels), encoder.names[labels[0]])


def refuse_alone(counts: np.ndarray, names: str, num_outputs: int, example: str) -> None:
    """Raises where practically no outcome occurs twice, `counts` [k] being those of both sides.

    One outcome that does occur, such as an error among identifiers, can be compared.
    """
    repeated = counts[counts > 1].sum()
    if repeated <= (1 - _ALONE_SHARE) * counts.sum() and counts.max() < _RARE:
        raise ValueError(
            f"{names} hold {num_outputs} labels, such as {example}, and hardly any occurs twice, "
            "so there is nothing to compare: write numbers as numbers (float of a Decimal), leave "
            "out what names a run, or group the labels."
        )
