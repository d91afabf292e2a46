"""Sweeps over JAX mechanisms whose outputs never vary: the verdict is that of an audit."""

from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax.sources import _searched
from dpjax.sweeps import Entry, compute

EVENTS, SEQUENTIAL = dpjax.Events(300, 300), dpjax.Sequential(600)


def no_noise(key, count):
    return 2.0 * count


def always_zero(key, count):
    return 0.0 * count


def verdicts(function, method, claim, num_runs=2):
    entry = Entry(function, method, dpjax.Pairs.of([(0.0, 1.0)]), claim=claim, num_runs=num_runs)
    return compute(entry, range(num_runs), 0)["verdict"]


@pytest.mark.parametrize(
    ("function", "claim", "expected", "method"),
    [
        (no_noise, 0.5, "not random", EVENTS),
        (no_noise, None, "not random", EVENTS),
        (no_noise, 50.0, "not refuted", EVENTS),
        (always_zero, 0.5, "not refuted", EVENTS),
        (no_noise, 0.5, "not random", SEQUENTIAL),
        (always_zero, None, None, SEQUENTIAL),
    ],
)
def test_a_run_has_the_verdict_of_an_audit(function, claim, expected, method):
    assert verdicts(function, method, claim) == [expected] * 2
    audited = dpjax.audit(function, [(0.0, 1.0)], method=method, claim=claim, confidence=0.95)
    assert audited.verdict == (expected or "no claim")


def test_each_run_is_judged_by_its_own_outputs(monkeypatch):
    """A run has the same row in every block, also if outputs of other runs vary."""
    monkeypatch.setattr(_searched, "_is_value", lambda cells, cell: True)
    counts = np.full((3, 2, 2, 1), 5) * np.array([1, 0, 0])
    counts[1, 0, 0, 1] = 1  # Another output from the database occurs in the second run.
    found = _searched.unvaried_runs([SimpleNamespace(partition=None, halves=counts)] * 2)
    assert found.tolist() == [[True] * 2, [False] * 2, [True] * 2]
