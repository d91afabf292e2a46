"""A new notion: a class that computes its bound from a band, without changes to other files."""

import json
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import dpjax
from dpjax.inference import epsilon_of, largest
from dpjax.mechanisms import RandomizedResponse
from dpjax.notions import NOTIONS, Notion

TRUTH = math.e - 1
"""Level of randomized response at epsilon = 1."""

SURE = 1 - 1e-6
"""Confidence such that a valid bound exceeds the true level for one in a million keys."""


@dataclass(frozen=True)
class Increase(Notion):
    """The largest relative increase of a probability, exp(epsilon) - 1."""

    name: ClassVar[str] = "increase of a test"
    unit: ClassVar[tuple[str, str]] = ("ratio less 1", "It is a ratio of probabilities, less 1.")

    @property
    def symbol(self):
        return "relative increase"

    def of_band(self, band, distance=1):
        return math.expm1(largest(band, epsilon_of(0.0)) / distance)


@pytest.fixture
def result(monkeypatch):
    monkeypatch.setitem(NOTIONS, Increase.name, Increase)
    return dpjax.audit(
        RandomizedResponse(1.0), notion=Increase(), claim=1.0, confidence=SURE, key=6
    )


def test_it_is_bounded(result):
    assert result.verdict == "violated" and 1.0 < result.lower_bound < TRUTH
    assert result.lower_bound == math.expm1(result.bound(dpjax.Epsilon()).lower_bound)
    # With 50,000 draws per side, this is 4.8 standard deviations: false alarm 1.4e-6.
    assert result.estimate == pytest.approx(TRUTH, rel=0.06)


def test_it_is_asked_of_other_results():
    chain = dpjax.audit(RandomizedResponse(1.0), notion=dpjax.Gdp(), key=6)
    with pytest.raises(ValueError, match="relative increase"):
        chain.bound(Increase())
    both = dpjax.audit(RandomizedResponse(1.0), notion=dpjax.Zcdp(), confidence=SURE, key=6)
    assert 0.9 * TRUTH < both.bound(Increase()).lower_bound < TRUTH


@pytest.mark.slow
def test_it_is_printed_written_and_shown(result, tmp_path):
    assert "relative increase is at least" in str(result)
    assert dpjax.AuditResult.from_json(result.to_json()) == result
    assert json.loads(result.to_json())["recipe"]["notion"]["name"] == Increase.name
    pytest.importorskip("jinja2")
    for kind in (".md", ".html"):
        if kind == ".html":
            pytest.importorskip("matplotlib")
        assert "It is a ratio of probabilities" in result.report(tmp_path / f"r{kind}").read_text()
    assert dpjax.AuditResult.from_file(tmp_path / "r.html") == result


def test_it_is_run_again(result):
    again = dpjax.rerun(dpjax.AuditResult.from_json(result.to_json()))
    assert again.statement == result.statement and again.notion == Increase()


def test_recordings_are_audited_for_it():
    x, y = np.random.default_rng(0).random((2, 40_000)) < np.array([[0.6], [0.2]])
    found = dpjax.audit(dpjax.Recorded(x, y), notion=Increase(), confidence=SURE)
    assert 1.4 < found.lower_bound < 0.6 / 0.2 - 1
