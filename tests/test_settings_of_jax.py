"""Audits work with any settings of JAX that callers may choose."""

from functools import cache

import jax
import numpy as np
import pytest

import dpjax
from dpjax.databases import shifts
from dpjax.mechanisms import Gaussian, Laplace


def noisy(key, database):
    return database + jax.random.laplace(key)


def vector(key, database):
    return database + jax.random.laplace(key, (3,))


def on_host(database, num_samples, seed=0):
    return database + np.random.default_rng(seed).laplace(size=num_samples)


RNG = np.random.default_rng(0)
PAIRS = [(np.float32(0), np.float32(1))]
RECORDED = dpjax.Recorded(RNG.laplace(size=20_000), 1 + RNG.laplace(size=20_000))
VECTORS = dpjax.Recorded(RNG.laplace(size=(9_000, 3)), 1 + RNG.laplace(size=(9_000, 3)))

SURE = 1 - 1e-5

AUDITS = {
    "events": lambda: dpjax.audit(noisy, PAIRS, confidence=SURE),
    "learned events": lambda: dpjax.audit(vector, PAIRS, confidence=SURE),
    "learned events, recorded": lambda: dpjax.audit(VECTORS, confidence=SURE),
    "host": lambda: dpjax.audit(dpjax.HostMechanism(on_host), PAIRS, confidence=SURE),
    "profile": lambda: dpjax.audit(Gaussian(1.0), PAIRS, notion=dpjax.Profile(), confidence=SURE),
    "sequential": lambda: dpjax.audit(
        noisy, PAIRS, method=dpjax.Sequential(20_000), confidence=SURE
    ),
    "local": lambda: dpjax.audit(Laplace(1.0), method=dpjax.Local(), confidence=SURE),
    "local, recorded": lambda: dpjax.audit(RECORDED, method=dpjax.Local(), confidence=SURE),
}
SETTINGS = {
    "strict types": lambda: jax.numpy_dtype_promotion("strict"),
    "no NaN": lambda: jax.debug_nans(True),
    "low precision": lambda: jax.default_matmul_precision("bfloat16"),
    "no transfers": lambda: jax.transfer_guard("disallow_explicit"),
}


@cache
def usual(audit):
    return AUDITS[audit]().lower_bound


@pytest.mark.one_in(8)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("audit", AUDITS)
def test_settings_change_no_bound(audit, setting):
    expected = usual(audit)
    with SETTINGS[setting]():
        assert AUDITS[audit]().lower_bound == expected


@pytest.mark.one_in(4)
@pytest.mark.parametrize("audit", AUDITS)
def test_audits_in_float64(audit):
    """The draws differ from float32. Each bound exceeds its level with probability at most 1e-5.

    For `Local`, this holds asymptotically.
    """
    with jax.enable_x64(True):
        found = AUDITS[audit]().lower_bound
    if audit == "profile":
        # For epsilon 0, delta is 2 Phi(1 / 2) - 1.
        assert 0.36 < found <= 0.3829
    else:
        level = 3 if "learned" in audit else 1
        assert 0.65 * level < found <= level


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [PAIRS, shifts(0.0, 6)])
def test_audits_run_without_jit(pairs):
    """Test one pair and several pairs, which use different programs. Users debug without jit."""
    method = dpjax.Events(num_samples=100, num_confirm=200)
    compiled = [dpjax.audit(subject, pairs, method=method) for subject in (Laplace(1.0), noisy)]
    with jax.disable_jit():
        debugged = [dpjax.audit(subject, pairs, method=method) for subject in (Laplace(1.0), noisy)]
    assert [found.statement for found in debugged] == [found.statement for found in compiled]
