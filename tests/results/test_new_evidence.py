"""A new kind of evidence, without pairs, sides or cells: a class, and a method that returns it.

Someone guesses which of two outputs is whose, in a single run; epsilon limits how often that can be
right.
"""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax.methods import METHODS
from dpjax.notions import Epsilon, Evidence, Statement, evidence_from_plain, register
from dpjax.results import Finding, Findings, Observed, conclude


@register
@dataclass(frozen=True)
class Guesses(Evidence):
    """The number of correct guesses."""

    right: int
    made: int
    kind: ClassVar[str] = "guesses of a test"

    def answer(self, notion, confidence, distance, named):
        if notion != Epsilon():
            raise ValueError(f"guesses say nothing of {notion.symbol}.")
        share = stats.beta.ppf(1 - confidence, self.right, self.made - self.right + 1)
        bound, estimate = (np.log(p / (1 - p)) for p in (share, self.right / self.made))
        return Statement(max(float(bound), 0.0), float(estimate), "exact binomial")

    def rows(self, found, sure):
        return [*super().rows(found, sure), ("guesses", f"{self.right} of {self.made} right")]


@dataclass(frozen=True)
class OneRun:
    """Guesses for a randomizer of bits; each is correct with probability e / (1 + e)."""

    made: int = 2_000
    name: ClassVar[str] = "one run of a test"
    bounded: ClassVar[bool] = True

    def accepts(self, source):
        return None

    def run(self, source, pairs, terms, runs):
        right = np.random.default_rng(terms.key).random(self.made) < np.e / (1 + np.e)
        counted = Guesses(int(right.sum()), self.made)
        observed = Observed(counted, settings={"generator": "PCG64"}, num_samples=1)
        return Findings.of(Finding(conclude(counted, terms), observed, terms.notes()))


@pytest.fixture
def result(monkeypatch):
    monkeypatch.setitem(METHODS, OneRun.name, OneRun)
    mechanism = dpjax.mechanisms.RandomizedResponse(1.0)
    return dpjax.audit(mechanism, method=OneRun(), claim=0.5, confidence=0.99, key=7)


def test_it_is_stated(result):
    assert result.verdict == "violated" and 0.5 < result.lower_bound < 1 < result.estimate + 0.2
    counted = result.evidence.counted
    # At the smallest error, the bound is the claim.
    share = stats.binom.sf(counted.right - 1, counted.made, np.exp(0.5) / (1 + np.exp(0.5)))
    assert result.smallest_error == pytest.approx(max(share, 1e-12), rel=0.02)
    assert result.bound(Epsilon()).lower_bound == result.lower_bound
    with pytest.raises(ValueError, match="guesses say nothing of mu of Gaussian"):
        result.bound(dpjax.Gdp())


def test_it_is_printed_and_shown(result):
    text, right = str(result), result.evidence.counted.right
    assert "VIOLATED: With confidence 0.99, epsilon is at least" in text
    assert f"guesses      {right} of 2000 right" in text
    assert "witness" not in text and "region" not in text and "database" not in text
    assert result.row()["pair"] is None and result.num_confirm is None
    assert f"{result.lower_bound:.4f}" in result._repr_html_()
    with pytest.raises(ValueError, match="is not known"):
        evidence_from_plain({"kind": "none"})


def test_it_is_written_and_read(result, tmp_path):
    read = dpjax.AuditResult.from_json(result.to_json())
    assert read == result and read.evidence.counted == result.evidence.counted
    assert json.loads(result.to_json())["witness"] is None
    pytest.importorskip("jinja2")
    for kind in (".md", ".html"):
        if kind == ".html":
            pytest.importorskip("matplotlib")
        text = result.report(tmp_path / f"r{kind}").read_text()
        assert f"{result.lower_bound:.4f}" in text and "the claim is refuted" in text
        assert "The witness" not in text and "pairs on this page" not in text
    assert dpjax.AuditResult.from_file(tmp_path / "r.html") == result


def test_it_is_run_again(result):
    again = dpjax.rerun(dpjax.AuditResult.from_json(result.to_json()))
    assert again.statement == result.statement and again.evidence == result.evidence
    assert again.recipe == result.recipe
