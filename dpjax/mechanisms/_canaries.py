"""Canaries: records whose presence in the training data is guessed from the trained model.

Canaries are created before the training, from the data alone. The code that creates canaries must
use neither the canaries' scores nor the coins that decide which canaries are included.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate
from dpjax.core.wording import BadValue
from dpjax.databases import Pairs

CANARIES = ("saturating", "mislabelled", "out of distribution")

Floats = NDArray[np.float32]


class Canaries(NamedTuple):
    """Records of a training set, and canaries that may be added to the training set.

    Attributes:
        features: Features of the records that are always present, float32 [n, d].
        labels: Labels of the records that are always present, float32 [n].
        own: Features of the canaries, float32 [k, d].
        own_labels: Labels of the canaries, float32 [k].
    """

    features: Floats
    labels: Floats
    own: Floats
    own_labels: Floats

    def records(self, included: ArrayLike) -> Floats:
        """Return a database for `DpSgd`, one row per record, with the canaries last.

        Args:
            included: Whether each canary is present, bool [k], as decided by independent fair
                coins.

        Returns:
            Database, float32 [n + k, d + 2]. A row consists of the d features, the label, and a
            flag that is 1 if the record is present.

        Raises:
            ValueError: If `included` is not an array of one boolean per canary.
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
        """Return the pair of databases with and without one canary.

        The pair is for an audit that trains the model many times.

        Args:
            number: Index of the canary; all other canaries are left out of both databases.

        Raises:
            TypeError: If `number` is not an integer.
            ValueError: If there is no canary with this index.
        """
        validate.positive_int(-len(self.own), number=number)
        if number >= len(self.own):
            raise BadValue(f"number must be below {len(self.own)}, but was {number}.")
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
    """Create canaries of one kind for a data set with two classes.

    Args:
        features: Features of all records, [n, d].
        labels: Labels, 0 or 1, [n].
        number: Number k of canaries.
        kind: Kind of canary. "saturating": each canary has an additional coordinate in which all
            other records are 0, and the canary is 0 in all other coordinates. In a linear model,
            the gradient of a saturating canary is clipped in every step, and is orthogonal to all
            other gradients except for the intercept.
            "mislabelled": canaries are records that are removed from the data and given the wrong
            label. "out of distribution": each feature is drawn uniformly between its smallest and
            largest value in the data, and the label is chosen by a fair coin.
        amplitude: Value of a saturating canary in its additional coordinate.
        seed: Seed for the random choice of records and features.

    Returns:
        The canaries, and the records that are always present.

    Raises:
        ValueError: If the shapes are incompatible, if a number is not finite, if the kind is
            unknown, if mislabelled canaries would use up all records, or if their labels are not 0
            or 1.

    References:
        Nasr et al. (2023), for saturating canaries; Steinke, Nasr, Jagielski (2023), section 6, for
        mislabelled canaries.
    """
    rows, answers = _records(features, labels)
    validate.positive_int(number=number)
    validate.positive_int(0, seed=seed)
    validate.one_of(CANARIES, kind=kind)
    rng = np.random.default_rng(seed)
    if kind == "saturating":
        size = rows.shape[1]
        own = np.zeros((number, size + number), np.float32)
        if not np.isfinite(_float32("amplitude", amplitude)).all():
            raise BadValue(f"amplitude must be a finite float32 number, but was {amplitude!r}.")
        own[np.arange(number), size + np.arange(number)] = amplitude
        return Canaries(np.pad(rows, ((0, 0), (0, number))), answers, own, np.ones_like(own[:, 0]))
    if kind == "mislabelled":
        if number >= len(rows):
            raise BadValue(
                f"number must be below {len(rows)}, the number of records, but was {number}."
            )
        if not np.isin(answers, (0, 1)).all():
            raise BadValue("labels must be 0 or 1 for mislabelled canaries, but some are not.")
        taken = np.zeros(len(rows), bool)
        taken[rng.permutation(len(rows))[:number]] = True
        return Canaries(rows[~taken], answers[~taken], rows[taken], 1 - answers[taken])
    if len(rows) == 0:
        raise BadValue(
            "features must have at least one record, but had none: canaries are drawn from the "
            "range of each feature."
        )
    own = rng.uniform(rows.min(axis=0), rows.max(axis=0), (number, rows.shape[1]))
    coins = rng.random(number) < 0.5
    return Canaries(rows, answers, own.astype(np.float32), coins.astype(np.float32))


def _float32(name: str, value: ArrayLike) -> Floats:
    """Convert numbers to float32; numbers beyond float32 become infinite."""
    with np.errstate(over="ignore"):
        return validate.numbers(name, value).astype(np.float32)


def _records(features: ArrayLike, labels: ArrayLike) -> tuple[Floats, Floats]:
    """Validate features and labels, and convert them to float32 [n, d] and float32 [n]."""
    rows, answers = _float32("features", features), _float32("labels", labels)
    if rows.ndim != 2 or answers.shape != rows.shape[:1]:
        raise BadValue(
            "features must have shape [n, d] and labels shape [n], but their shapes were "
            f"{rows.shape} and {answers.shape}."
        )
    if not (np.isfinite(rows).all() and np.isfinite(answers).all()):
        raise BadValue("features and labels must be finite float32 numbers, but some are not.")
    return rows, answers


def canary_pair(
    features: ArrayLike,
    labels: ArrayLike,
    canary: ArrayLike | None = None,
    *,
    label: float = 1.0,
    amplitude: float = 50.0,
) -> Pairs:
    """Return a pair of databases that differ only in whether a canary is present.

    The canary is the last row of both databases. The flag in this row marks the canary as present
    in the first database and as absent in the second database.

    Args:
        features: Features of all other records, [n, d].
        labels: Labels of all other records, 0 or 1, [n].
        canary: Features of the canary, [d], or None for a saturating canary. For a saturating
            canary, every record gets an additional coordinate, which is `amplitude` for the canary
            and 0 for all other records. In a linear model, the canary's gradient is then clipped in
            every step, always has the same direction, and is orthogonal to all other gradients
            except for the intercept. In a network, the gradient is not orthogonal, and is clipped
            only if the network does not predict the label already.
        label: Label of the canary.
        amplitude: Value of a saturating canary in the additional coordinate.

    Returns:
        One pair of databases, float32 [n + 1, d + 2], or [n + 1, d + 3] with the additional
        coordinate.

    Raises:
        ValueError: If the shapes are incompatible, or if a number is not finite.

    References:
        Nasr et al. (2023), for canaries whose gradients are orthogonal to all other gradients.
    """
    rows, answers = _records(features, labels)
    if canary is None:
        made = canaries(rows, answers, amplitude=amplitude)
        rows, own = made.features, made.own[0]
    else:
        own = _float32("canary", canary)
        if own.shape != rows.shape[1:]:
            raise BadValue(f"canary must be of shape {rows.shape[1:]}, but was {own.shape}.")
    records = np.ones((len(rows) + 1, rows.shape[1] + 2), np.float32)
    records[:-1, :-2], records[:-1, -2] = rows, answers
    records[-1, :-2], records[-1, -2] = own, _float32("label", label)
    with np.errstate(over="ignore"):
        squares = np.square(records).sum(axis=1)
    if not np.isfinite(squares).all():
        raise BadValue(
            "features, labels and the canary must be finite, and float32 must be able to represent "
            "the sum of their squares, because gradients are clipped by their norm."
        )
    without = records.copy()
    without[-1, -1] = 0
    return Pairs(records[None], without[None], ("with and without the canary",))
