"""Rows and sections of a page, and sentences about the witness, at either side."""

from dataclasses import replace

import numpy as np
import pytest

import dpjax
import dpjax.plotting
from dpjax.results import _figures
from dpjax.results._page import _numbers
from dpjax.results._words import witness_story


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(1)
    x, y = rng.random(4000) < 0.6, rng.random(4000) < 0.3
    return dpjax.audit(dpjax.Recorded(x.astype(int), y.astype(int)), claim=2.0)


@pytest.mark.parametrize("larger", ["database", "neighbor"])
def test_the_likelier_side_is_told_first(result, larger):
    counts, trials = result.witness.event_counts, result.evidence.trials
    if (result.witness.larger == "database") != (larger == "database"):
        counts = counts[::-1]
    found = replace(
        result, witness=replace(result.witness, larger=larger, event_counts=tuple(counts))
    )
    said = " ".join(witness_story(found, found.witness))
    names = ["the database", "its neighbor"]
    first = 0 if larger == "database" else 1
    shares = [100 * count / number for count, number in zip(counts, trials, strict=True)]
    parts = [
        f"{counts[side]:,} of {trials[side]:,} ({shares[side]:.3g}%) at {names[side]}"
        for side in (first, 1 - first)
    ]
    times = shares[first] / shares[1 - first]
    assert f"It happened in {parts[0]} and in {parts[1]}, {times:.3g} times as often" in said


def test_numbers_of_a_page(result):
    rows = [(name, value, unit) for name, value, unit in _numbers(result, "nats")]
    names = [name for name, _, _ in rows]
    assert names[1] == "Claim" and rows[1][1:] == ("2", "nats")
    assert ("Search set", f"{result.num_samples:,}", "draws per side") in rows
    counts, trials = result.witness.event_counts, result.evidence.trials
    for side, count, number in zip(("database", "neighbor"), counts, trials, strict=True):
        assert (f"Event at the {side}", f"{count:,} of {number:,}", "fresh draws") in rows
    assert rows[-1] == ("Time", f"{result.seconds:.1f}", "seconds")
    evidence = replace(result.evidence, num_samples=None)
    without = _numbers(replace(result, evidence=evidence), "nats")
    assert "Search set" not in {row[0] for row in without} and len(without) == len(rows) - 1


def test_what_is_folded_on_a_page(result):
    """Open are what was found and what to do; closed is what few readers need."""
    sections = {section.title: section for section in result.page(".md").sections}
    assert list(sections)[:3] == ["What this means", "What was shown", "What to do now"]
    assert sections["How to do it again"].folded
    assert not any(sections[title].folded for title in list(sections)[:3])
    assert dict(sections["How to do it again"].codes)["The recipe"].startswith("{")


@pytest.mark.parametrize("is_known", [True, False])
def test_figures_of_notions_name_the_pair(result, monkeypatch, is_known):
    titles = []
    monkeypatch.setattr(_figures, "_of_every_notion", lambda result: (None, None))
    monkeypatch.setattr(dpjax.plotting, "plot_notions", lambda *parts: titles.append(parts[1]))
    _figures.notions_figure(result if is_known else replace(result, witness=None))
    pair = f" ({result.witness.pair})" if is_known else ""
    assert titles == [f"{result.mechanism}{pair}: bounds with joint confidence 0.999"]
