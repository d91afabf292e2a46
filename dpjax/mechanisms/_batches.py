"""Which records are in the batch of a step: all, a Poisson sample, or a part of a permutation."""

from dataclasses import dataclass
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import random, validate
from dpjax.core.wording import BadValue


class Sampling(Protocol):
    """A rule for batches."""

    def check(self, num_records: int) -> None:
        """Raises where the rule does not fit the number of records."""
        ...

    def expected_size(self, num_records: int) -> float:
        """Mean number of records in a batch, by which steps are divided."""
        ...

    def prepared(self, key: Array, num_records: int, num_steps: int) -> Array:
        """What all steps of one training share."""
        ...

    def batch(self, key: Array, prepared: Array, step: Array, num_records: int) -> Array | None:
        """Booleans [n], records of a step; None for all of them."""
        ...


_NOTHING = np.zeros(0, np.int32)


@dataclass(frozen=True)
class FullBatch:
    """Every record in every step."""

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
    """Every record by a coin of its own in every step.

    Attributes:
        rate: Probability that a record is in a batch, in (0, 1); rounded to a multiple of 2^-32.
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
        """See `Sampling`. Both words of a call of the generator are used."""
        words = random.words(key, -(-num_records // 2))
        return jnp.concatenate(words)[:num_records] < np.uint32(round(self.rate * 2**32))


@dataclass(frozen=True)
class Shuffle:
    """Parts of a random order of all records, a new one in each epoch.

    Attributes:
        size: Records of a batch, which divides their number.
    """

    size: int

    def __post_init__(self):
        validate.positive_int(size=self.size)

    def check(self, num_records: int) -> None:
        """See `Sampling`.

        Raises:
            ValueError: The size does not divide the number of records.
        """
        if num_records % self.size:
            raise BadValue(
                f"size must divide the number of records, {num_records}, but was {self.size}."
            )

    def expected_size(self, num_records: int) -> float:
        """See `Sampling`."""
        return float(self.size)

    def prepared(self, key: Array, num_records: int, num_steps: int) -> Array:
        """Number of the batch of each record in each epoch, int32 [epochs, n]."""
        num_epochs = -(-num_steps * self.size // num_records)

        def ranks(epoch: Array) -> Array:
            first, second = random.words(random.fold_in(key, epoch), num_records)
            # Ties of 64 bits are too rare to matter; both words are compared.
            order = jnp.lexsort((second, first))
            return jnp.zeros(num_records, jnp.int32).at[order].set(jnp.arange(num_records))

        return jax.vmap(ranks)(jnp.arange(num_epochs)) // self.size

    def batch(self, key: Array, prepared: Array, step: Array, num_records: int) -> Array | None:
        """See `Sampling`."""
        steps = num_records // self.size
        return prepared[step // steps] == step % steps
