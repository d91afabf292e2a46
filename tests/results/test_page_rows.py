"""Rows and sections of a page, and sentences about the witness, on either side."""

from dataclasses import replace

import numpy as np
import pytest

import dpjax
import dpjax.plotting
from dpjax.mechanisms import Gaussian, Laplace
from dpjax.results import _figures
from dpjax.results._page import _answers, _numbers
from dpjax.results._words import outputs_caption, trade_off_caption, witness_story


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
        f"{counts[side]:,} of {trials[side]:,} outputs ({shares[side]:.3g}%) from {names[side]}"
        for side in (first, 1 - first)
    ]
    times = shares[first] / shares[1 - first]
    often = f"{times:.3g} times as often for {names[first]}."
    assert f"It happened in {parts[0]} and in {parts[1]}: {often}" in said


def test_a_caption_states_the_shares_of_the_shaded_event():
    rng = np.random.default_rng(1)
    sides = dpjax.Recorded(rng.normal(size=4000), rng.normal(size=4000) + 1)
    result = dpjax.audit(sides)
    shares = zip(result.witness.event_counts, result.evidence.trials, strict=True)
    first, second = (f"{100 * count / number:.3g}%" for count, number in shares)
    said = (
        f"contains {first} of the fresh outputs from the database and {second} of those from its "
        "neighbor."
    )
    assert said in outputs_caption(result, banded=True)


def test_a_caption_does_not_describe_losses_that_are_not_drawn():
    """The sides share no output, so no loss is finite."""
    rng = np.random.default_rng(1)
    result = dpjax.audit(dpjax.Recorded(rng.random(4000), rng.random(4000) + 5))
    assert not _figures.has_losses(result)
    (caption,) = [f.caption for part in result.page(".html").sections for f in part.figures
                  if f.caption.startswith("Above")]  # fmt: skip
    assert "Below: their privacy loss, which is not drawn" in caption and "band" not in caption


def test_a_bound_of_each_block_has_column_heads():
    found = dpjax.audit(Laplace(1.0), [(0.0, 1.0)], claim=0.5, method=dpjax.Sequential())
    (section,) = (s for s in found.page(".md").sections if s.title.startswith("Bound after each"))
    assert section.table.head == ("Draws per side, summed over all pairs", "Lower bound")
    last = found.evidence.counted.path[-1]
    assert section.table.rows[-1] == (f"{last[0]:,}", f"{last[1]:.4f}")


@pytest.mark.parametrize(
    "notion, truth, tolerance", [(dpjax.Renyi(2.0), 1.0, 0.3), (dpjax.Zcdp(), 0.5, 0.09)]
)
def test_a_rare_cell_of_a_chain_does_not_make_the_shown_estimate_infinite(notion, truth, tolerance):
    """A Gaussian's divergences are finite; the outermost cell is empty on one side.

    The standard errors of the estimates are 0.033 and 0.011.
    """
    few = dpjax.Events(5_000, 20_000)
    result = dpjax.audit(Gaussian(1.0), [(0.0, 1.0)], notion=notion, claim=0.2, method=few)
    assert result.verdict == "violated"
    assert result.estimate == pytest.approx(truth, abs=tolerance)
    assert min(result.witness.event_counts) > 0
    assert "infinite" not in {row[1] for row in _numbers(result, "nats")}
    assert "infinite" not in str(result)


def test_a_doubtful_result_has_no_infinite_estimate():
    walks = [np.cumsum(np.random.default_rng(seed).normal(size=900)) for seed in (0, 1)]
    result = dpjax.audit(dpjax.Recorded(*walks), claim=0.1)
    assert result.verdict == "doubtful" and result.estimate is None
    assert "infinite" not in {row[1] for row in _numbers(result, "nats")}


@pytest.mark.parametrize("upper", [None, 3.0])
def test_a_caption_without_a_curve_states_both_ends(result, upper):
    found = replace(result, witness=None, statement=replace(result.statement, upper_bound=upper))
    middle = "" if upper is None else " and, under the assumption, at most 3"
    said = f"Epsilon is at least {result.lower_bound:.4g}{middle}, with confidence 0.999."
    assert outputs_caption(found, banded=False) == said


def test_the_dot_of_a_trade_off_curve_is_explained_where_there_is_one(result):
    dot = "The dot is the test for the witness's event"
    assert dot in trade_off_caption(result)
    assert dot not in trade_off_caption(replace(result, witness=None))


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


@pytest.mark.parametrize(
    ("bandwidth", "densities", "is_said"),
    [(0.1, (0.25, 0.125), True), (0.1, None, False), (None, (0.25, 0.125), False)],
)
def test_densities_at_a_witness_are_told_where_they_were_estimated(
    result, bandwidth, densities, is_said
):
    witness = replace(result.witness, bandwidth=bandwidth, densities=densities, event_counts=None)
    said = " ".join(witness_story(replace(result, witness=witness), witness))
    assert ("fresh outputs is 0.25 for the database and 0.125 for its neighbor" in said) == is_said
    assert ("estimated density" in said) == is_said


@pytest.mark.parametrize(("bandwidth", "kind"), [(None, "probability"), (0.1, "density")])
def test_a_witness_in_a_notebook_tells_densities_from_probabilities(result, bandwidth, kind):
    witness = replace(result.witness, bandwidth=bandwidth, densities=(0.25, 0.125))
    shown = witness._repr_html_()
    assert kind in shown
    assert ("probability" in shown) != ("density" in shown)


def test_answers_have_the_units_of_their_notions():
    rng = np.random.default_rng(1)
    sides = dpjax.Recorded(rng.normal(size=4000), rng.normal(size=4000) + 1)
    answers = _answers(dpjax.audit(sides, method=dpjax.Events(also=True)))
    units = [unit for _, _, unit in answers]
    assert units[:2] == ["nats", "nats"] and "probability" in units
    # The second text of `Notion.unit` is a sentence.
    assert not any(unit.endswith(".") for unit in units)


def test_what_is_folded_on_a_page(result):
    """Findings and advice are open; sections that few readers need are closed."""
    sections = {section.title: section for section in result.page(".md").sections}
    assert list(sections)[:3] == ["What this means", "What was shown", "What to do now"]
    assert sections["How to do it again"].folded
    assert not any(sections[title].folded for title in list(sections)[:3])
    assert dict(sections["How to do it again"].codes)["The recipe"].startswith("{")


@pytest.mark.parametrize(
    ("claim", "said"), [(2.0, "claim 2"), (3, "claim 3"), ([[0.0, 0.5]], "claimed curve")]
)
def test_a_claim_is_named_in_a_trade_off_plot(result, claim, said):
    found = replace(result, statement=replace(result.statement, claim=claim))
    assert _figures._errors(found).claimed == said


@pytest.mark.parametrize(
    ("output", "event", "said"),
    [
        ("yes", "the output is in a set", "the output is yes"),
        (0.5, None, "the output is 0.5"),
        (0.5, "the output is at most 1", "the output is at most 1"),
    ],
)
def test_the_dot_is_named_by_a_label_or_by_its_event(result, output, event, said):
    witness = replace(result.witness, output=output, event=event)
    assert _figures._errors(replace(result, witness=witness)).seen.event == said


@pytest.mark.parametrize("titled", [True, False])
def test_figures_of_levels_have_a_title_unless_a_page_has_it(result, monkeypatch, titled):
    titles = []
    monkeypatch.setattr(dpjax.plotting, "plot_levels", lambda *parts: titles.append(parts[0]))
    _figures.outputs_figure(replace(result, witness=None), titled=titled)
    assert titles == [f"{result.mechanism}: {result.verdict}" if titled else ""]


@pytest.mark.parametrize("is_known", [True, False])
def test_figures_of_notions_name_the_pair(result, monkeypatch, is_known):
    titles = []
    monkeypatch.setattr(_figures, "_of_every_notion", lambda result: (None, None))
    monkeypatch.setattr(dpjax.plotting, "plot_notions", lambda *parts: titles.append(parts[1]))
    _figures.notions_figure(result if is_known else replace(result, witness=None))
    pair = f" ({result.witness.pair})" if is_known else ""
    assert titles == [f"{result.mechanism}{pair}: bounds with joint confidence 0.999"]
