"""Rules that decide which records are in the batch of each training step."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import random, validate
from dpjax.core.wording import BadValue


class Keys(NamedTuple):
    """Keys from which a training run draws its batches.

    Attributes:
        training: Key of the training run, shared by all of its steps.
        step: Key of the current step.
    """

    training: Array
    step: Array


class Sampling(Protocol):
    """A rule that decides which records are in the batch of each training step."""

    def check(self, num_records: int) -> None:
        """Raise ValueError if the rule cannot be applied to `num_records` records."""
        ...

    def expected_size(self, num_records: int) -> float:
        """Return the mean batch size; each step divides its sum of gradients by this number."""
        ...

    def start(self, num_records: int) -> Array:
        """Return the initial state, an array that each step passes to the next step."""
        ...

    def batch(
        self, keys: Keys, carried: Array, step: Array, num_records: int
    ) -> tuple[Array | None, Array]:
        """Return the batch of a step, and the state for the next step.

        The batch is a bool array [num_records] that is True for the records in the batch, or None
        if the batch contains all records.
        """
        ...


class _Memoryless:
    """A rule for any number of records, in which a batch does not depend on earlier batches."""

    def check(self, num_records: int) -> None:
        """See `Sampling`."""

    def start(self, num_records: int) -> Array:
        """See `Sampling`. No state is needed."""
        return jnp.asarray(np.zeros(0, np.int32))


@dataclass(frozen=True)
class FullBatch(_Memoryless):
    """Full-batch sampling: every record is in every batch."""

    def expected_size(self, num_records: int) -> float:
        """See `Sampling`."""
        return float(num_records)

    def batch(
        self, keys: Keys, carried: Array, step: Array, num_records: int
    ) -> tuple[Array | None, Array]:
        """See `Sampling`."""
        return None, carried


@dataclass(frozen=True)
class Poisson(_Memoryless):
    """Poisson sampling: each record is in each batch independently, with the same probability.

    Attributes:
        rate: Probability in (0, 1) that a record is in a batch, rounded to a multiple of 2^-32
            that is below 1.
    """

    rate: float

    def __post_init__(self):
        validate.open_unit(rate=self.rate)
        if round(self.rate * 2**32) == 0:
            raise BadValue(f"rate must be at least 2^-32, but was {self.rate!r}.")

    def expected_size(self, num_records: int) -> float:
        """See `Sampling`."""
        return self.rate * num_records

    def batch(
        self, keys: Keys, carried: Array, step: Array, num_records: int
    ) -> tuple[Array | None, Array]:
        """Draw a batch, using one call of the random generator for every two records."""
        words = random.words(keys.step, -(-num_records // 2))
        below = np.uint32(min(round(self.rate * 2**32), 2**32 - 1))
        taken = jnp.concatenate(words)[:num_records] < below
        return taken, carried


@dataclass(frozen=True)
class Shuffle:
    """Shuffled batches: each epoch shuffles the records and splits them into equal batches.

    Attributes:
        size: Batch size, which must divide the number of records.
    """

    size: int

    def __post_init__(self):
        validate.positive_int(size=self.size)

    def check(self, num_records: int) -> None:
        """See `Sampling`.

        Raises:
            ValueError: If the batch size does not divide the number of records.
        """
        if num_records % self.size:
            raise BadValue(
                f"size must divide the number of records, {num_records}, but was {self.size}."
            )

    def expected_size(self, num_records: int) -> float:
        """See `Sampling`."""
        return float(self.size)

    def start(self, num_records: int) -> Array:
        """Return zeros, which the first step replaces with the index of each record's batch."""
        return jnp.zeros(num_records, jnp.int32)

    def batch(
        self, keys: Keys, carried: Array, step: Array, num_records: int
    ) -> tuple[Array | None, Array]:
        """Return the batch of a step; the first step of an epoch shuffles all records."""
        steps = num_records // self.size
        epoch, place = step // steps, (step % steps).astype(jnp.int32)

        def drawn() -> Array:
            words = random.words(random.fold_in(keys.training, epoch), num_records)
            return _ranks(*words) // self.size

        carried = jax.lax.cond(place == 0, drawn, lambda: carried)
        return carried == place, carried


def _ranks(first: Array, second: Array) -> Array:
    """Sort records by two random words per record; return the rank of each record, int32 [n].

    The last bits of a record's second word are replaced by the record's index, so that the index
    need not be sorted as a third word. Two records almost never agree in all remaining bits.
    """
    num_records = len(first)
    numbers = jnp.arange(num_records, dtype=jnp.uint32)
    index = np.uint32((1 << (num_records - 1).bit_length()) - 1)
    _, second = jax.lax.sort((first, (second & ~index) | numbers), num_keys=2)
    order = second & index
    if num_records > 2**16:
        return jax.lax.sort((order, numbers), num_keys=1)[1].astype(jnp.int32)
    # One word holds both the index and the rank, and is faster to sort than two words.
    return (jnp.sort((order << 16) | numbers) & np.uint32(2**16 - 1)).astype(jnp.int32)
