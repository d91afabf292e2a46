"""The table of the corpus.

With its number of draws, a faulty entry must be refuted for at least 19 of 20 seeds, and a correct
entry no more often than its confidence allows.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import binom

import dpjax
from corpus import host
from dpjax import databases, mechanisms

CONFIDENCE = 0.99
"""Confidence of all audits; a correct mechanism at its exact level is refuted in 1% of runs."""


@dataclass(frozen=True)
class Entry:
    """A mechanism, its claim, and the numbers of draws of an audit.

    Attributes:
        name: Name in the table.
        mechanism: A mechanism, or a function of (key, database).
        claim: Epsilon claimed by the author.
        wrong: Whether the claim is false.
        what: Description of the error, or the true level.
        pairs: Pairs to audit; None for the standard pairs of a built-in mechanism.
        num_samples: Search draws per side of each pair.
        num_confirm: Confirmation draws per side of the chosen pair.
    """

    name: str
    mechanism: Any
    claim: float
    wrong: bool
    what: str
    pairs: Any = None
    num_samples: int = 5_000
    num_confirm: int = 20_000

    @property
    def budget(self) -> int:
        """Total number of draws of one audit, for all pairs and both sides."""
        pairs = self.mechanism.standard_pairs() if self.pairs is None else self.pairs
        return 2 * (len(pairs) * self.num_samples + self.num_confirm)

    def audit(self, seed: int) -> dpjax.AuditResult:
        """Audit the claim once."""
        return dpjax.audit(
            self.mechanism,
            self.pairs,
            method=dpjax.Events(self.num_samples, self.num_confirm),
            claim=self.claim,
            confidence=CONFIDENCE,
            key=seed,
        )


def most_false_refutations(num_seeds: int) -> int:
    """Return the limit that a correct mechanism, refuted in 1% of runs, exceeds with 1e-5."""
    return int(binom.isf(1e-5, num_seeds, 1 - CONFIDENCE))


def laplace_by_deviation(key, count):
    """The standard deviation is 1 / epsilon instead of the scale: the level is sqrt(2) epsilon."""
    return count + jax.random.laplace(key) / jnp.sqrt(2.0)


def geometric_by_half_sensitivity(key, count):
    """Sums change by 2, but the noise is for changes of 1: twice the claim."""
    one, other = jax.random.split(key)
    chance = 1 - jnp.exp(-1.0)
    noise = jax.random.geometric(one, chance) - jax.random.geometric(other, chance)
    return jnp.int32(2 * count) + noise


def gaussian_of_half_sigma(key, count):
    """The variance is divided by sigma twice, so the standard deviation is half of the claimed."""
    return count + 0.5 * jax.random.normal(key)


def two_counts_one_noise(key, counts):
    """Two counts are released at epsilon 1 each, both with noise of the same key."""
    again = jax.random.clone(key)  # JAX's own check would reject reuse of the key itself.
    return jnp.stack([counts[0] + jax.random.laplace(key), counts[1] + jax.random.laplace(again)])


def two_counts_two_noises(key, counts):
    """The same counts with one key per count have level 2."""
    one, other = jax.random.split(key)
    return jnp.stack([counts[0] + jax.random.laplace(one), counts[1] + jax.random.laplace(other)])


COUNTS = databases.Pairs(np.zeros((3, 2)), np.array([[0.0, 1], [1, 0], [1, 1]]))

LAST_BELOW = databases.Pairs(np.ones((1, 5)), np.array([[2.0, 2, 2, 2, 0]]))
ONE_RECORD = databases.Pairs([0.0], [1.0])

WRONG = (
    Entry("noisy histogram 2", mechanisms.NoisyHistogram2(0.5), 0.5, True, "level 2"),
    Entry("report noisy max 3", mechanisms.ReportNoisyMax3(), 1.0, True, "level 3"),
    Entry("report noisy max 4", mechanisms.ReportNoisyMax4(), 1.0, True, "no level"),
    Entry(
        "sparse vector 3", mechanisms.SVT3(num_queries=5), 1.0, True, "level 2.5", None, 30_000,
        100_000,
    ),
    Entry(
        "sparse vectors 3 and 4 in parallel", mechanisms.SVT3And4(num_queries=5), 2.0, True,
        "level 4.25", LAST_BELOW, 1_000_000, 1_000_000,
    ),
    Entry("sparse vector 4", mechanisms.SVT4(), 1.0, True, "level 1.75", None, 10_000, 40_000),
    Entry("sparse vector 5", mechanisms.SVT5(), 1.0, True, "no level"),
    Entry("sparse vector 6", mechanisms.SVT6(), 1.0, True, "level 5", None, 50_000, 150_000),
    Entry("noisy max at 4x its zCDP budget", mechanisms.HalfNoiseMax(), 1.0, True, "level 2"),
    Entry(
        "Laplace, scale taken for a deviation", laplace_by_deviation, 1.0, True, "level 1.41",
        databases.shifts(0.0, 4),
    ),
    Entry(
        "geometric, sensitivity 2 taken for 1", geometric_by_half_sensitivity, 1.0, True,
        "level 2", databases.Pairs([0], [1]),
    ),
    Entry("Gaussian, as a pure level", mechanisms.Gaussian(), 1.0, True, "no level"),
    Entry(
        "Gaussian of half its sigma", gaussian_of_half_sigma, 2.5, True,
        "no level, where sigma 1 shows less than the claim", databases.Pairs([0.0], [1.0]),
    ),
    Entry(
        "two counts, one key", two_counts_one_noise, 2.0, True, "no level", COUNTS,
    ),
    Entry(
        "textbook Laplace, by its bits", dpjax.HostMechanism(host.textbook_laplace, bits="lowest"),
        1.0, True, "no level", ONE_RECORD, 10_000, 20_000,
    ),
    Entry(
        "mean that crashes without records",
        dpjax.HostMechanism(host.mean_that_crashes, batched=False), 1.0, True, "no level",
        ONE_RECORD, 1_000, 2_000,
    ),
    Entry(
        "Laplace, 22% too little noise", mechanisms.Laplace(1 / 0.78), 1.0, True, "level 1.28",
        None, 10_000, 50_000,
    ),
    Entry(
        "geometric, 22% too little noise", mechanisms.TwoSidedGeometric(1 / 0.78), 1.0, True,
        "level 1.28", None, 10_000, 50_000,
    ),
    Entry(
        "noisy max, 22% too little noise", mechanisms.ReportNoisyMax2(1 / 0.78), 1.0, True,
        "level 1.28", None, 10_000, 50_000,
    ),
)  # fmt: skip

RIGHT = (
    Entry("noisy histogram 1", mechanisms.NoisyHistogram1(0.5), 0.5, False, "level 0.5"),
    Entry("continuous noisy max", mechanisms.ContinuousNoisyMax(), 1.0, False, "level 1"),
    Entry("report noisy max 1", mechanisms.ReportNoisyMax(), 1.0, False, "level 1, not attained"),
    Entry("report noisy max 2", mechanisms.ReportNoisyMax2(), 1.0, False, "level 1"),
    Entry(
        "numerical sparse vector", mechanisms.NumericalSVT(), 1.0, False, "level 1, not attained",
        None, 10_000, 40_000,
    ),
    Entry(
        "prefix sums", mechanisms.PrefixSum(), 3.0, False, "level 3", None, 5_000, 20_000
    ),
    Entry("one-time RAPPOR", mechanisms.OneTimeRappor(0.9), 0.803, False, "level 0.8027"),
    Entry("subset selection", mechanisms.SubsetSelection(), 1.0, False, "level 1"),
    Entry("sparse vector 1", mechanisms.SVT1(), 1.0, False, "level 1", None, 10_000, 40_000),
    Entry(
        "sparse vector 4, corrected", mechanisms.SVT4.at_level(1.0), 1.0, False, "level 1", None,
        10_000, 40_000,
    ),
    Entry("exponential choice", mechanisms.FiniteExponential(), 1.0, False, "level 1"),
    Entry("permute and flip", mechanisms.PermuteAndFlip(), 1.0, False, "level 1"),
    Entry("Laplace", mechanisms.Laplace(), 1.0, False, "level 1", None, 10_000, 50_000),
    Entry("snapped Laplace", mechanisms.SnappedLaplace(), 1.0, False, "level 1"),
    Entry(
        "snapped Laplace, by its bits", dpjax.HostMechanism(host.snapped_laplace, bits="lowest"),
        1.0, False, "level 1", ONE_RECORD, 10_000, 20_000,
    ),
    Entry(
        "mean without a crash", dpjax.HostMechanism(host.mean_that_guards, batched=False), 1.0,
        False, "level 1", ONE_RECORD, 1_000, 2_000,
    ),
    Entry("two-sided geometric", mechanisms.TwoSidedGeometric(), 1.0, False, "level 1"),
    Entry("randomised response", mechanisms.RandomizedResponse(), 1.0, False, "level 1"),
    Entry(
        "two counts, two keys", two_counts_two_noises, 2.0, False, "level 2", COUNTS,
    ),
)  # fmt: skip

CORPUS = WRONG + RIGHT
