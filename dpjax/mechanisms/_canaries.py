"""Canaries: records whose presence in a training is guessed from the result.

A canary is made before the training and from the data alone; what makes it must not look at coins
or scores.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate
from dpjax.core.wording import BadValue
from dpjax.databases import Pairs

CANARIES = ("saturating", "mislabelled", "out of distribution")
"""Kinds of canaries; see `canaries`."""

Floats = NDArray[np.float32]


class Canaries(NamedTuple):
    """Records of a training set, and canaries beside them.

    Attributes:
        features: Features of the records that are always present, float32 [n, d].
        labels: Labels of these records, float32 [n].
        own: Features of the canaries, float32 [k, d].
        own_labels: Labels of the canaries, float32 [k].
    """

    features: Floats
    labels: Floats
    own: Floats
    own_labels: Floats

    def records(self, included: ArrayLike) -> Floats:
        """Return the database of one run for `DpSgd`: a row per record, the canaries last.

        Args:
            included: Independent fair coins of the canaries, booleans [k].

        Returns:
            float32 [n + k, d + 2]: features, label and the flag, 1 where the record is present.

        Raises:
            ValueError: When there is not one coin per canary.
        """
        coins = np.asarray(included)
        if coins.dtype != bool or coins.shape != self.own_labels.shape:
            raise BadValue(
                f"included must be booleans of shape {self.own_labels.shape}, but was of type "
                f"{coins.dtype} and shape {coins.shape}."
            )
        features = np.concatenate([self.features, self.own])
        answers = np.concatenate([self.labels, self.own_labels])
        present = np.concatenate([np.ones(len(self.labels)), coins])
        return np.column_stack([features, answers, present]).astype(np.float32)

    def pair(self, number: int = 0) -> Pairs:
        """Return the records with and without one of the canaries, for many trainings.

        Args:
            number: Number of the canary; the others are left out.
        """
        own, label = self.own[number], float(self.own_labels[number])
        return canary_pair(self.features, self.labels, own, label=label)


def canaries(
    features: ArrayLike,
    labels: ArrayLike,
    number: int = 1,
    *,
    kind: str = "saturating",
    amplitude: float = 50.0,
    seed: int = 0,
) -> Canaries:
    """Make canaries of one kind for a data set of two classes.

    Args:
        features: Features of all records, [n, d].
        labels: Labels [n], 0 or 1.
        number: Number k of canaries.
        kind: "saturating": a long input on a coordinate of its own, which is added to all records,
            so that its gradient is clipped in every step and is orthogonal to all others.
            "mislabelled": records that are taken out of the data and get the other label.
            "out of distribution": each feature is uniform between its least and its largest value
            in the data, independently of the others, and the label is a fair coin.
        amplitude: Length of a saturating canary.
        seed: Seed of the choice of records and of the random features.

    Returns:
        The canaries and the records beside them.

    Raises:
        ValueError: When the shapes do not fit, a number is not finite, the kind is not known, or
            there are no more records than mislabelled canaries.

    References:
        Nasr et al. (2023), for saturating canaries; Steinke, Nasr, Jagielski (2023), section 6, for
        mislabelled ones.
    """
    rows, answers = _records(features, labels)
    validate.positive_int(number=number)
    validate.one_of(CANARIES, kind=kind)
    rng = np.random.default_rng(seed)
    if kind == "saturating":
        size = rows.shape[1]
        own = np.zeros((number, size + number), np.float32)
        own[np.arange(number), size + np.arange(number)] = amplitude
        return Canaries(np.pad(rows, ((0, 0), (0, number))), answers, own, np.ones_like(own[:, 0]))
    if kind == "mislabelled":
        if number >= len(rows):
            raise BadValue(f"number must be below {len(rows)}, the records, but was {number}.")
        taken = np.zeros(len(rows), bool)
        taken[rng.permutation(len(rows))[:number]] = True
        return Canaries(rows[~taken], answers[~taken], rows[taken], 1 - answers[taken])
    if len(rows) == 0:
        raise BadValue(
            "features must have a record, whose range canaries are drawn from, but had none."
        )
    own = rng.uniform(rows.min(axis=0), rows.max(axis=0), (number, rows.shape[1]))
    coins = rng.random(number) < 0.5
    return Canaries(rows, answers, own.astype(np.float32), coins.astype(np.float32))


def _records(features: ArrayLike, labels: ArrayLike) -> tuple[Floats, Floats]:
    """Return features float32 [n, d] and labels float32 [n], validated."""
    rows, answers = np.asarray(features, np.float32), np.asarray(labels, np.float32)
    if rows.ndim != 2 or answers.shape != rows.shape[:1]:
        raise BadValue(
            f"features must be [n, d] and labels [n], but were {rows.shape} and {answers.shape}."
        )
    if not (np.isfinite(rows).all() and np.isfinite(answers).all()):
        raise BadValue("features and labels must be finite, but some are not.")
    return rows, answers


def canary_pair(
    features: ArrayLike,
    labels: ArrayLike,
    canary: ArrayLike | None = None,
    *,
    label: float = 1.0,
    amplitude: float = 50.0,
) -> Pairs:
    """Return the records with a canary as the last row, and the same with its flag at 0.

    Args:
        features: Features of all other records, [n, d].
        labels: Labels of all other records, [n], 0 or 1.
        canary: Features of the canary, [d]. If None, a coordinate is added to all records, where
            the canary is `amplitude` and the others are 0. Its gradient is then clipped in every
            step and keeps its direction, to which no other record contributes.
        label: Label of the canary.
        amplitude: Amplitude of the default canary.

    Returns:
        One pair of float32 databases [n + 1, d + 2] or, with the coordinate, [n + 1, d + 3].

    Raises:
        ValueError: When the shapes do not fit, or a number is not finite.

    References:
        Nasr et al. (2023), for canaries whose gradients are orthogonal to all others.
    """
    rows, answers = _records(features, labels)
    if canary is None:
        made = canaries(rows, answers, amplitude=amplitude)
        rows, own = made.features, made.own[0]
    else:
        own = np.asarray(canary, np.float32)
        if own.shape != rows.shape[1:]:
            raise BadValue(f"canary must be of shape {rows.shape[1:]}, but was {own.shape}.")
    records = np.ones((len(rows) + 1, rows.shape[1] + 2), np.float32)
    records[:-1, :-2], records[:-1, -2] = rows, answers
    records[-1, :-2], records[-1, -2] = own, label
    if not np.isfinite(records).all():
        raise BadValue("features, labels and the canary must be finite, but some are not.")
    without = records.copy()
    without[-1, -1] = 0
    return Pairs(records[None], without[None], ("with and without the canary",))
