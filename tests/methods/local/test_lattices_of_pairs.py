"""Lattices of a batch of runs whose pairs need different lattices."""

import dataclasses

import jax
import numpy as np
import pytest

from dpjax.core.types import RealSpace
from dpjax.databases import Pairs
from dpjax.methods import LocalSearch
from dpjax.sweeps import Entry, compute


@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class Scaled:
    """Laplace noise whose scale is part of the database."""

    output_space = RealSpace()

    def sample(self, key, database, num_samples):
        place, scale = database
        return place + scale * jax.random.laplace(key, (num_samples,))


@pytest.mark.slow
def test_a_narrow_pair_refines_the_lattice_of_every_run():
    """The first lattice of 512 nodes is fine enough only for the wide pair, in runs 0, 1 and 2.

    A run has the same bits in a batch and alone. The losses of the pairs, 1/3 and 1, are estimated
    from 2,000 draws: a density of 0.1 or more has a relative error of at most about 0.1.
    """
    sides = np.array([[0.0, 3.0], [0.0, 0.1]]), np.array([[1.0, 3.0], [0.1, 0.1]])
    method = LocalSearch(2_000, 2_001, region=(-10.0, 10.0), floor=1e-3)
    entry = Entry(Scaled(), method, Pairs(*sides, ("wide", "narrow")))
    found = compute(entry, range(3), 0)["estimate"]
    alone = [compute(entry, [run], 0)["estimate"][0] for run in range(3)]
    assert np.array(found).tolist() == alone
    assert np.median(alone) == pytest.approx(1.0, abs=0.4)
