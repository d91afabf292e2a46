"""The meaning of a result in probabilities of correct guesses, by Bayes' rule and the counts."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax.mechanisms import Gaussian, Laplace, RandomizedResponse, TruncatedLaplace
from dpjax.results._advice import advice
from dpjax.results._build import judge
from dpjax.results._meaning import _shown, meaning, right_at
from dpjax.results._words import HEADLINES, _chance, headline

ONE, FEW = [(0.0, 1.0)], dpjax.Events(2000, 5000)


def audited(mechanism=None, **options):
    return dpjax.audit(mechanism or Laplace(1.0), ONE, **{"method": FEW, **options})


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 5.0, 800.0])
def test_bayes_rule(epsilon):
    """Randomized response is true with odds e^epsilon, and the guess is the answer."""
    assert right_at(epsilon) == pytest.approx(1 - 1 / (1 + math.exp(min(epsilon, 700.0))), abs=1e-9)
    if 0 < epsilon < 20:
        # Posterior of two equally likely databases after an output with ratio e^epsilon.
        p, q = 0.2 * math.exp(epsilon) / (1 + math.exp(epsilon)), 0.2 / (1 + math.exp(epsilon))
        assert right_at(epsilon) == pytest.approx(p / (p + q))


def test_a_broken_promise():
    result = audited(claim=0.5)
    first, second = meaning(result)
    assert first == (
        "Take two databases that differ in one person: somebody who guesses which of them was used "
        "is right with a probability of 50% before seeing an output. The claim promises that this "
        "probability is at most 62.2% after any output."  # e^0.5 / (1 + e^0.5) = 0.6225
    )
    least = float(second.split("at least ")[1].split("%")[0])
    bound = 100 * math.exp(result.lower_bound) / (1 + math.exp(result.lower_bound))
    assert least <= bound < least + 0.1 and second.endswith("%, which breaks the promise.")


def test_a_promise_that_was_kept_so_far_and_none():
    kept, open_ = (meaning(audited(claim=claim))[1] for claim in (3.0, None))
    assert kept.endswith("%, which is consistent with the claim but does not prove it.")
    assert open_.endswith("%.") and "promise" not in " ".join(meaning(audited()))
    nothing = meaning(dpjax.audit(Laplace(1.0), [(0.0, 0.0), (0.0, 1e-9)], method=FEW, claim=1.0))
    assert nothing[1].startswith("This audit found no output after which the guess is better")


def test_of_several_records_the_pair_is_what_is_guessed():
    """e^(3 * 0.5) / (1 + e^(3 * 0.5)) = 0.8176."""
    first, _ = meaning(dpjax.audit(Laplace(1.0), [(0.0, 3.0)], method=FEW, claim=0.5, distance=3))
    assert "differ in 3 people" in first and "at most 81.8% after" in first


def test_what_was_found_of_several_records_is_of_the_pair():
    """The bound is for one record, but the pair differs in three records."""
    result = dpjax.audit(Laplace(1.0), [(0.0, 3.0)], method=FEW, claim=0.5, distance=3)
    least = float(meaning(result)[1].split("at least ")[1].split("%")[0])
    bound = 100 / (1 + math.exp(-3 * result.lower_bound))
    assert least <= bound < least + 0.1


def test_the_chance_of_a_refutation_that_has_no_smallest_error():
    """An error of 0.05 is one audit of 20, and each of two claims has one half."""
    stated = audited(claim=0.5, confidence=0.95).statement
    for claims, times in ((1, 20), (2, 40)):
        bare = replace(stated, smallest_error=None, num_claims=claims)
        assert f"at most one of {times} audits" in _chance(bare)
    assert "at most one of 1,000 audits" in _chance(replace(stated, smallest_error=1e-3))


def test_other_notions_guess_by_the_event():
    """For N(0, 1) and N(1, 1), a half-line is correct in at most Phi(1/2) = 69.1% of cases."""
    result = audited(Gaussian(1.0), notion=dpjax.TotalVariation(), claim=0.1)
    said, more = meaning(result)
    right = float(said.split("about ")[1].split("%")[0])
    first, second = result.witness.event_counts
    assert right == pytest.approx(50 + 50 * abs(first - second) / 5000, abs=0.051)
    # 4.5 standard errors of a difference of two shares of 5000.
    assert right < 69.15 + 100 * 4.5 * math.sqrt(0.25 / 5000 / 2)
    assert more == "The claim does not allow an event that distinguishes the databases so well."
    kept = meaning(audited(Gaussian(1.0), notion=dpjax.Gdp(), claim=3.0))
    assert kept[1].startswith("The claim allows this event; other")
    assert len(meaning(audited(notion=dpjax.Epsilon(1e-3)))) == 1


@pytest.mark.parametrize("notion", [dpjax.Epsilon(), dpjax.Epsilon(1e-5), dpjax.Gdp()])
@pytest.mark.parametrize(
    ("claim", "end"),
    [
        (0.1, "would be very unlikely if the claim were true."),
        (50.0, "consistent with the claim but does not prove it."),
        (None, "coin tosses are right in 50% of cases."),
    ],
)
def test_one_run_is_explained_by_its_guesses(notion, claim, end):
    """Scores have no noise: all 200 guesses about 400 canaries are correct."""
    included = np.random.default_rng(0).random(400) < 0.5
    scores = np.where(included, 5.0, -5.0) + np.linspace(0, 1, 400)
    guesses = dpjax.Guesses(100, 100)
    result = dpjax.audit(dpjax.OneRun(scores, included), notion=notion, claim=claim, method=guesses)
    said = meaning(result)
    assert "guessed for 200 canaries" in said[0] and "200 of these guesses (100.0%)" in said[0]
    assert said[-1].endswith(end)
    assert result.page(".md").sections[0].title == "What this means"


def test_a_histogram_has_no_counts_of_an_event_and_is_random():
    method = dpjax.Histogram(lipschitz=0.64, num_samples=2000)
    result = dpjax.audit(TruncatedLaplace(2.0), method=method, claim=0.6)
    assert result.verdict == "not refuted" and result.witness.event_counts is None
    assert meaning(result)[1].startswith("This audit found no output after which the guess")


def test_where_nothing_can_be_said():
    histogram = dpjax.audit(
        RandomizedResponse(1.0), method=dpjax.Histogram(least_probability=0.2, order=2.0)
    )
    assert meaning(histogram) == []
    rng = np.random.default_rng(0)
    chains = [np.cumsum(rng.normal(size=900)) for _ in range(2)]
    doubtful = dpjax.audit(dpjax.Recorded(*chains), claim=0.1)
    assert doubtful.verdict == "doubtful"
    assert meaning(doubtful)[1] == "This audit cannot say how often such a guess is right."


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        (0.50001, "epsilon is above the claimed 0.5."),
        (0.5002, "at least 0.5002, above the claimed 0.5."),
    ],
)
def test_a_bound_that_looks_like_the_claim_is_not_shown_as_equal_to_it(bound, said):
    """Sequential audits stop as soon as the bound exceeds the claim, however slightly."""
    result = audited(claim=0.5)
    found = replace(result.statement, lower_bound=bound)
    terms = SimpleNamespace(claimed=0.5, confidence=0.999, notion=dpjax.Epsilon())
    assert judge(found, terms)[1].endswith(said)


def test_a_doubtful_run_is_about_its_coins_and_not_about_draws():
    """Exactly half of the canaries were included, so perhaps a fixed number was chosen."""
    included = np.arange(400) % 2 == 0
    result = dpjax.audit(dpjax.OneRun(included.astype(float), included), claim=0.5)
    assert result.verdict == "doubtful" and "own fair coin" in headline(result)
    assert "fair coin" in result.sentence and "canary" in advice(result)[0]
    assert headline(audited(claim=0.5)) == HEADLINES["violated"]


@pytest.mark.parametrize("verdict", HEADLINES)
def test_every_verdict_has_advice(verdict):
    result = audited(claim=0.5)
    changed = replace(result, statement=replace(result.statement, verdict=verdict))
    assert len(advice(changed)) >= 2 and all(said.endswith(".") for said in advice(changed))


def test_advice_is_what_helps_where_it_stands():
    """First words of each sentence: without a witness or a claim, no sentence mentions it."""
    result = audited(claim=0.5)
    bare = replace(result, witness=None)
    below = replace(result, statement=replace(result.statement, verdict="not refuted", claim=9.0))
    above = replace(below, statement=replace(below.statement, claim=0.1))

    def begins(found):
        return [said.partition(" ")[0] for said in advice(found)]

    assert begins(result) == ["Do", "Read", "After"] and begins(bare) == ["Do", "After"]
    assert f"is not 0.5 but at least {result.lower_bound:.4g}." in advice(result)[0]
    near = replace(result, statement=replace(result.statement, lower_bound=0.50001))
    assert "epsilon is above 0.5." in advice(near)[0]
    assert begins(below) == ["To", "Audit", "Add"]
    assert begins(above) == ["Audit", "To", "Audit", "Add"]
    assert f"{result.estimate:.4g} lies above the claim" in advice(above)[0]
    assert begins(replace(below, witness=None)) == ["To", "Add"]
    # Integers are also claims.
    whole = replace(result, statement=replace(result.statement, claim=0))
    assert f"is not 0 but at least {result.lower_bound:.4g}." in advice(whole)[0]
    kept = replace(whole, statement=replace(whole.statement, verdict="not refuted"))
    assert begins(kept) == ["Audit", "To", "Audit", "Add"]


@pytest.mark.parametrize("distance", [1, 3])
def test_a_page_has_the_bounds_of_every_notion_that_the_result_has(distance):
    result = audited(notion=dpjax.Profile(), distance=distance)
    (section,) = (s for s in result.page(".md").sections if s.title == "Every notion")
    notions = [dpjax.Epsilon(), dpjax.Epsilon(1e-5), dpjax.Gdp(), dpjax.Zcdp(),
               dpjax.TotalVariation()]  # fmt: skip
    notions += [dpjax.Renyi(2), dpjax.Renyi(8)] if distance == 1 else []
    rows = [(symbol, float(text.removeprefix("at least "))) for symbol, text, _ in
            section.table.rows]  # fmt: skip
    assert [symbol for symbol, _ in rows] == [notion.symbol for notion in notions]
    assert len({symbol for symbol, _ in rows}) == len(notions)
    for (_, shown), notion in zip(rows, notions, strict=True):
        assert shown == pytest.approx(result.bound(notion).lower_bound, abs=6e-5)


def test_a_number_stands_between_its_name_and_its_unit():
    (shown,) = (s for s in audited(claim=0.5).page(".md").sections if s.title == "What was shown")
    units = {name: (value, unit) for name, value, unit in shown.table.rows}
    assert units["Claim"] == ("0.5", "nats") and units["Time"][1] == "seconds"
    assert units["Event at the database"][1] == "fresh draws"


def test_the_page_begins_with_it_and_names_the_unit():
    titles = [section.title for section in audited(claim=0.5).page(".md").sections]
    assert titles[:3] == ["What this means", "What was shown", "What to do now"]
    for notion, unit in (
        (dpjax.Epsilon(), "natural logarithm"), (dpjax.Gdp(), "standard deviations"),
        (dpjax.Profile(), "Delta is a probability"), (dpjax.Renyi(2), "Renyi divergence"),
        (dpjax.Zcdp(), "nats"), (dpjax.TotalVariation(), "difference between two"),
        (dpjax.TradeOff(), "difference between two"), (dpjax.Epsilon(1e-3), "natural logarithm"),
    ):  # fmt: skip
        shown = audited(notion=notion).page(".md").sections
        (section,) = (part for part in shown if part.title == "What was shown")
        assert unit in section.paragraphs[0]


def test_constant_outputs_without_counts_are_known_before_they_are_seen():
    found = dpjax.audit(dpjax.Recorded(np.full(3000, 0.4), np.full(3000, 1.4)))
    assert found.verdict == "not random" and "This audit shows, with" in _shown(found)
    for witness in (None, replace(found.witness, event_counts=None)):
        assert _shown(replace(found, witness=witness)).endswith("always guesses right.")
