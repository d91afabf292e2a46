"""Rules by which the steps of a training sample batches of records."""

from dataclasses import dataclass
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import random, validate
from dpjax.core.wording import BadValue


class Sampling(Protocol):
    """A rule for sampling batches."""

    def check(self, num_records: int) -> None:
        """Raise ValueError if the rule cannot be applied to this number of records."""
        ...

    def expected_size(self, num_records: int) -> float:
        """Return the mean batch size, by which each step's sum of gradients is divided."""
        ...

    def prepared(self, key: Array, num_records: int, num_steps: int) -> Array:
        """Return an array that all steps of a training share, such as the order of its records."""
        ...

    def batch(self, key: Array, prepared: Array, step: Array, num_records: int) -> Array | None:
        """Return whether each record is in the batch of a step, bool [n]; None if all are."""
        ...


_NOTHING = np.zeros(0, np.int32)


@dataclass(frozen=True)
class FullBatch:
    """Rule that includes every record in every step."""

    def check(self, num_records: int) -> None:
        """See `Sampling`."""

    def expected_size(self, num_records: int) -> float:
        """See `Sampling`."""
        return float(num_records)

    def prepared(self, key: Array, num_records: int, num_steps: int) -> Array:
        """See `Sampling`."""
        return jnp.asarray(_NOTHING)

    def batch(self, key: Array, prepared: Array, step: Array, num_records: int) -> Array | None:
        """See `Sampling`."""
        return None


@dataclass(frozen=True)
class Poisson:
    """Rule that includes each record in each step independently, with equal probability.

    Attributes:
        rate: Probability in (0, 1) that a record is in a batch, rounded to a multiple of 2^-32.
    """

    rate: float

    def __post_init__(self):
        validate.open_unit(rate=self.rate)

    def check(self, num_records: int) -> None:
        """See `Sampling`."""

    def expected_size(self, num_records: int) -> float:
        """See `Sampling`."""
        return self.rate * num_records

    def prepared(self, key: Array, num_records: int, num_steps: int) -> Array:
        """See `Sampling`."""
        return jnp.asarray(_NOTHING)

    def batch(self, key: Array, prepared: Array, step: Array, num_records: int) -> Array | None:
        """See `Sampling`. Each call of the random generator decides on two records."""
        words = random.words(key, -(-num_records // 2))
        return jnp.concatenate(words)[:num_records] < np.uint32(round(self.rate * 2**32))


@dataclass(frozen=True)
class Shuffle:
    """Rule that splits a random order of all records into batches; each epoch has a new order.

    Attributes:
        size: Number of records in a batch, which must divide the number of records.
    """

    size: int

    def __post_init__(self):
        validate.positive_int(size=self.size)

    def check(self, num_records: int) -> None:
        """See `Sampling`.

        Raises:
            ValueError: When the size does not divide the number of records.
        """
        if num_records % self.size:
            raise BadValue(
                f"size must divide the number of records, {num_records}, but was {self.size}."
            )

    def expected_size(self, num_records: int) -> float:
        """See `Sampling`."""
        return float(self.size)

    def prepared(self, key: Array, num_records: int, num_steps: int) -> Array:
        """Return the batch index of each record in each epoch, int32 [epochs, n]."""
        num_epochs = -(-num_steps * self.size // num_records)

        def ranks(epoch: Array) -> Array:
            first, second = random.words(random.fold_in(key, epoch), num_records)
            # Sort by 64 random bits; equal values are too rare to matter.
            order = jnp.lexsort((second, first))
            return jnp.zeros(num_records, jnp.int32).at[order].set(jnp.arange(num_records))

        # Sort one epoch after the other, since a sort needs several times the memory of its result.
        return jax.lax.map(ranks, jnp.arange(num_epochs)) // self.size

    def batch(self, key: Array, prepared: Array, step: Array, num_records: int) -> Array | None:
        """See `Sampling`."""
        steps = num_records // self.size
        return prepared[step // steps] == step % steps
