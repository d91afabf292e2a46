"""Sequential audits: the bound after every block is valid at any stopping time."""

import dataclasses
import json
import math
import time
import types
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

import dpjax
from dpjax import HostMechanism, Sequential
from dpjax.inference._hybrid import best_events
from dpjax.mechanisms import FiniteSpace, Gaussian, Laplace, RandomizedResponse
from dpjax.partitions import Encoder, encode_drawn, is_fixed, lay
from dpjax.sources._drawn_counts import OpenedDrawn
from dpjax.sweeps import Entry, compute

PAIR = [(0.0, 1.0)]


def noisy(count, size, rng):
    return rng.laplace(count, 1.0, size)


def drawn(result):
    return result.settings["drawn"]


@pytest.mark.parametrize(
    ("mechanism", "pairs", "level"),
    [
        (Laplace(1.0), PAIR, 1.0),
        (RandomizedResponse(1.0), None, 1.0),
        (HostMechanism(noisy), [(0, 1)], 1.0),
    ],
    ids=["laplace", "randomized response", "host"],
)
def test_a_claim_far_below_the_level_is_refuted_early(mechanism, pairs, level):
    result = dpjax.audit(mechanism, pairs, method=Sequential(), claim=0.5 * level)
    assert result.verdict == "violated" and drawn(result) < 5_000
    assert 0.5 * level < result.lower_bound < level
    assert "the claim was refuted" in result.notes[-1]


@pytest.mark.slow
@pytest.mark.parametrize("runs", [24, 150], ids=["few", "many"])
def test_claims_at_the_level_are_refuted_no_more_often_than_stated(runs):
    """The bound is checked after each of about 60 blocks; the test errs with probability 1e-5."""
    error = 0.1
    entry = Entry(
        RandomizedResponse(1.0), Sequential(num_draws=2_000), claim=1.0, confidence=1 - error
    )
    columns = compute(entry, range(runs), 5)
    assert columns["verdict"].count("violated") <= binom.isf(1e-5, runs, error)
    # In half of the cases, the bound is near the level by then.
    assert np.median(columns["lower_bound"]) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("num_draws", [300, 3_000])
def test_a_function_is_called_once_for_each_output(num_draws):
    """Determining the cells and the looks need no further calls."""
    calls, generator = Counter(), np.random.default_rng(0)

    def counted(database):
        calls[database] += 1
        return database + generator.laplace()

    mechanism = HostMechanism(counted, batched=False)
    result = dpjax.audit(mechanism, PAIR, method=Sequential(num_draws), claim=3.0)
    assert drawn(result) == num_draws
    assert calls == {PAIR[0][0]: num_draws, PAIR[0][1]: num_draws}


@pytest.mark.parametrize("pairs", [1, 4])
def test_without_a_claim_all_draws_are_spent_and_one_look_is_taken(pairs):
    shifts = [(0.0, 1.0), *((0.0, 0.2),) * (pairs - 1)]
    result = dpjax.audit(Laplace(1.0), shifts, method=Sequential(20_000), confidence=0.99)
    assert drawn(result) == 20_000 and result.basis == "betting, one look"
    look = result.evidence.counted.look
    assert look.is_taken and look.pair == 0 and result.witness.pair == "pair 0"
    # Half of the draws are used for confirmation: 5.5 standard errors of a log ratio are .19.
    assert 0.75 < result.lower_bound < 1.0


def test_the_bound_with_a_delta():
    delta = 0.05
    result = dpjax.audit(
        Laplace(1.0), PAIR, method=Sequential(60_000), notion=dpjax.Epsilon(delta), claim=0.5
    )
    # For the half-line x < 0, P = 1/2 and Q = 1 / (2e), which is best at this delta.
    assert result.verdict == "violated"
    assert result.lower_bound < math.log((0.5 - delta) * 2 * math.e)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("mechanism", "pairs", "notion", "level"),
    [
        (Laplace(1.0), PAIR, dpjax.TotalVariation(), -math.expm1(-0.5)),
        (RandomizedResponse(1.0), None, dpjax.TotalVariation(), math.tanh(0.5)),
        (Gaussian(1.0), PAIR, dpjax.Gdp(), 1.0),
    ],
    ids=["laplace", "randomized response", "gaussian"],
)
def test_notions_that_one_event_bounds(mechanism, pairs, notion, level):
    """False alarms have a probability of at most 1e-6 here."""
    options = {"notion": notion, "confidence": 1 - 1e-6, "method": Sequential(60_000)}
    refuted = dpjax.audit(mechanism, pairs, claim=0.8 * level, **options)
    assert refuted.verdict == "violated" and drawn(refuted) < 20_000
    assert 0.8 * level < refuted.lower_bound < level
    whole = dpjax.audit(mechanism, pairs, **options)
    # More than half of the draws are used for confirmation: ten standard errors are .03.
    assert 0.85 * level < whole.lower_bound < level
    assert dpjax.AuditResult.from_json(whole.to_json()) == whole
    right = dpjax.audit(mechanism, pairs, claim=level, **options)
    assert right.verdict == "not refuted" and right.lower_bound > 0.8 * level


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("mechanism", "notion", "level"),
    [
        (Laplace(1.0), dpjax.Epsilon(), 1.0),
        # For two records, delta counts e^level + 1 times, and the level decreases in delta.
        (Laplace(1.0), dpjax.Epsilon(0.01), 1.0),
        (Gaussian(1.0), dpjax.Gdp(), 1.0),
        # Half of the total variation for two records.
        (Laplace(1.0), dpjax.TotalVariation(), -math.expm1(-1.0) / 2),
    ],
)
def test_a_pair_at_a_distance_counts_for_one_record(mechanism, notion, level):
    """False alarms have a probability of at most 1e-6."""
    options = {"distance": 2, "notion": notion, "confidence": 1 - 1e-6}
    claim = 0.7 * level
    result = dpjax.audit(mechanism, [(0.0, 2.0)], method=Sequential(60_000), claim=claim, **options)
    assert result.verdict == "violated" and claim < result.lower_bound < level
    whole = dpjax.audit(mechanism, [(0.0, 2.0)], method=Sequential(60_000), **options)
    assert 0.7 * level < whole.lower_bound < level


@pytest.mark.slow
def test_an_audit_is_run_0_of_a_sweep_and_the_start_of_a_longer_one():
    pairs = [(0.0, 1.0), (0.0, 0.5)]
    entry = Entry(Laplace(1.0), Sequential(num_draws=600), pairs, claim=1.0)
    columns = compute(entry, range(2), 3)
    options = {"claim": 1.0, "confidence": entry.confidence, "key": entry.key(3)}
    alone, longer = (
        dpjax.audit(Laplace(1.0), pairs, method=Sequential(num_draws=draws), **options)
        for draws in (600, 1_200)
    )
    assert columns["lower_bound"][0] == alone.lower_bound
    first, second = (result.evidence.counted.path for result in (alone, longer))
    # All blocks except the last, which ends with the draws.
    assert len(first) > 10 and second[: len(first) - 1] == first[:-1]


def test_the_same_result_from_json():
    result = dpjax.audit(Laplace(1.0), PAIR, method=Sequential(5_000))
    again = dpjax.AuditResult.from_json(result.to_json())
    assert again == result and again.lower_bound == result.lower_bound
    assert dpjax.rerun(result).lower_bound == result.lower_bound
    with pytest.raises(ValueError, match="bet on epsilon, so it cannot bound mu"):
        result.bound(dpjax.Gdp())


@pytest.mark.slow
def test_a_page_shows_the_bound_after_every_block(tmp_path):
    result = dpjax.audit(Laplace(1.0), PAIR, method=Sequential(5_000), claim=1.0)
    text = result.report(tmp_path / "page.html").read_text()
    assert "Bound after each number of draws per side" in text and "bet on many events" in text
    assert "Wealth of the bets after each block" in text


def test_the_picture_of_the_wealth_marks_where_it_crossed():
    from dpjax.results._figures import wealth_figure

    result = dpjax.audit(RandomizedResponse(1.0), method=Sequential(5_000), claim=0.3)
    figure, path = wealth_figure(result), result.evidence.counted.path
    crossed = next(draws for draws, _, won in path if won >= math.log(1000))
    (axes,) = figure.axes
    point = next(line for line in axes.lines if line.get_marker() == "o")
    assert point.get_xdata().tolist() == [crossed] == [path[-1][0]]
    assert wealth_figure(dpjax.audit(RandomizedResponse(1.0), claim=1.0)) is None


def test_an_interrupt_leaves_the_bound_that_holds_by_then():
    calls = []

    def interrupted(count, size, rng):
        calls.append(size)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return noisy(count, size, rng)

    result = dpjax.audit(HostMechanism(interrupted), [(0, 1)], method=Sequential(), claim=1.5)
    whole = dpjax.audit(HostMechanism(noisy), [(0, 1)], method=Sequential(), claim=1.5)
    assert "the user stopped the audit" in result.notes[-1]
    path = result.evidence.counted.path
    assert path == whole.evidence.counted.path[: len(path)] and 5 < len(path) < 15


def test_every_draw_of_a_function_is_bought_once():
    """There are few draws: 16 determine the cells, and bets use each later draw."""
    seeds = []

    def counted(count, seed):
        seeds.append((count, seed))
        return np.random.default_rng(seed).laplace(count)

    result = dpjax.audit(
        HostMechanism(counted, batched=False), [(0, 1)], method=Sequential(400), claim=0.05
    )
    assert len(seeds) == len(set(seeds)) == 2 * drawn(result)
    assert result.verdict == "violated" and drawn(result) < 400


@pytest.mark.slow
def test_a_time_limit_ends_the_audit():
    result = dpjax.audit(HostMechanism(noisy), [(0, 1)], method=Sequential(seconds=0.5), claim=1.0)
    assert "the time limit was reached" in result.notes[-1] and result.verdict == "not refuted"


@pytest.mark.slow
def test_a_block_that_would_outlast_the_time_is_cut_and_drawn_again(monkeypatch):
    """The clock advances by one second per call; the last block fits into the rest."""
    now = [0.0]
    clock = types.SimpleNamespace(perf_counter=lambda: now[0])
    for name in ("_draw_times", "_sequential", "_walk"):
        monkeypatch.setattr(f"dpjax.methods.{name}.time", clock)

    def slow(count, seed):
        now[0] += 1.0
        return np.random.default_rng(seed).laplace(count)

    subject = HostMechanism(slow, batched=False)
    for claim in (1.5, None):
        # Blocks have 8% to 12% of the draws so far, so a full block would end up to 40 later.
        for seconds in (201.0, 333.0):
            now[0] = 0.0
            method = Sequential(4_000, seconds=seconds)
            result = dpjax.audit(subject, [(0, 1)], method=method, claim=claim)
            assert seconds - 2 <= now[0] <= seconds and drawn(result) == now[0] // 2
            assert "the time limit was reached" in result.notes[-1]
    whole = dpjax.audit(subject, [(0, 1)], method=Sequential(400), claim=1.5)
    now[0] = 0.0
    cut = dpjax.audit(subject, [(0, 1)], method=Sequential(400, seconds=333.0), claim=1.5)
    assert cut.evidence.counted.before is not None and drawn(cut) < 400
    now[0] = 0.0
    more = dpjax.resume(cut, subject, num_draws=400)
    assert more.evidence.counted == whole.evidence.counted


@pytest.mark.parametrize(
    ("subject", "options", "message"),
    [
        (dpjax.Recorded([1.0] * 16, [2.0] * 50), {}, "x must hold more than 16 outputs"),
        (Laplace(1.0), {"notion": dpjax.Profile()}, "notion must be dpjax.Epsilon"),
        (
            Laplace(1.0),
            {"method": Sequential(100)},
            "num_draws must be above 160 because the first 16",
        ),
    ],
)
def test_refusals(subject, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        dpjax.audit(subject, **{"method": Sequential(), **options})


def test_the_time_limit_of_the_source_applies_unless_the_method_has_one(monkeypatch):
    """The default number of draws still applies. Each call of the function takes 0.1 s."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def slow(database, num_samples, rng):
        now[0] += 0.1
        return database + rng.laplace(size=num_samples)

    def drawn(time_limit, seconds=None):
        source = HostMechanism(slow, time_limit=time_limit)
        result = dpjax.audit(source, [(0, 1)], claim=1.0, method=Sequential(seconds=seconds))
        return result.settings["drawn"]

    short = drawn(2.0)
    assert short == drawn(9.0, seconds=2.0) < 250_000
    assert drawn(2.0, seconds=3.0) > short
    assert drawn(1e9) == drawn(None) == 250_000


@pytest.mark.one_in(2)
@pytest.mark.parametrize("time_limit", [None, 1e9])
def test_the_time_limit_includes_the_search_for_pairs(monkeypatch, time_limit):
    """Each call takes 0.1 s, so the draws of a search without a limit would take over an hour."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def slow(database, rng):
        now[0] += 0.1
        return len(database) + rng.laplace()

    source = HostMechanism(slow, batched=False, time_limit=time_limit)
    space = dpjax.neighbors([1.0, 2.0])
    result = dpjax.audit(source, space, claim=1.0, method=Sequential(seconds=100.0))
    assert now[0] < 101 and result.settings["drawn"] > 200


def test_the_time_limit_includes_the_search_of_a_family(seconds_passed, slow_family):
    """The 12,000 draws of the search take 120 s, so 80 s are left for the audit."""
    result = dpjax.audit(slow_family, [(0.0, 1.0)], claim=3.0, method=Sequential(seconds=200.0))
    assert 190 < seconds_passed[0] < 210 and result.settings["drawn"] > 1000


@pytest.mark.parametrize("time_limit", [None, 1e4])
def test_the_time_limit_of_an_audit_limits_the_search_of_a_family(
    seconds_passed, slow_family, time_limit
):
    """Without the limit of 40 s, the search would take 120 s or longer."""
    family = dataclasses.replace(slow_family, time_limit=time_limit)
    result = dpjax.audit(family, [(0.0, 1.0)], claim=3.0, method=Sequential(seconds=40.0))
    assert seconds_passed[0] < 50 and result.settings["drawn"] > 1000


@pytest.mark.parametrize("options", [{"num_draws": 0}, {"num_draws": 1e4}, {"seconds": -1.0}])
def test_options_out_of_range(options):
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        Sequential(**options)


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 4])
def test_an_audit_that_goes_on_is_one_that_was_never_interrupted(times, tmp_path):
    """Stopped after some calls, written, read and resumed: the bounds are bitwise equal."""
    left = [0]

    def function(count, size, rng):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return noisy(count, size, rng)

    subject, method = HostMechanism(function), Sequential(4_000)
    whole = dpjax.audit(subject, [(0, 1)], method=method, claim=0.95, key=6)
    left[0] = 12
    result = dpjax.audit(subject, [(0, 1)], method=method, claim=0.95, key=6)
    for _ in range(times - 1):
        left[0] = 9  # Two calls determine the cells again.
        result = dpjax.resume(
            dpjax.AuditResult.from_json(result.to_json()), subject, num_draws=4_000
        )
        assert "the user stopped the audit" in result.notes[-1]
    (tmp_path / "audit.json").write_text(result.to_json())
    result = dpjax.resume(tmp_path / "audit.json", subject, num_draws=4_000)
    assert result.evidence.counted == whole.evidence.counted
    assert (result.lower_bound, result.witness) == (whole.lower_bound, whole.witness)


def test_the_draws_of_all_pairs_are_shown():
    """A sequential audit has no fresh draws: it also counts the draws that choose its event."""
    pairs = [(0.0, 1.0), (0.0, 0.5)]
    both = dpjax.audit(Laplace(1.0), pairs, method=Sequential(3_000), claim=2.0)
    assert both.evidence.draws() == f"{both.num_confirm} per side, 3000 summed over 2 pairs"
    one = dpjax.audit(Laplace(1.0), PAIR, method=Sequential(3_000), claim=2.0)
    assert one.evidence.draws() == "3000 per side"


def test_more_draws_raise_the_bound_of_an_audit_that_had_its_look():
    result = dpjax.audit(Laplace(1.0), PAIR, method=Sequential(3_000))
    more = dpjax.resume(result, num_draws=60_000)
    assert drawn(more) == 60_000 and more.evidence.counted.look == result.evidence.counted.look
    assert result.lower_bound < more.lower_bound < 1.0


def test_what_cannot_go_on():
    result = dpjax.audit(Laplace(1.0), PAIR, method=Sequential(2_000), claim=1.0)
    with pytest.raises(ValueError, match="num_draws must be at least 2,000, because it is a total"):
        dpjax.resume(result, num_draws=1_999)
    with pytest.raises(ValueError, match="its first outputs are no longer the same"):
        dpjax.resume(result, Laplace(1.1), num_draws=4_000)
    fixed = dpjax.audit(Laplace(1.0), PAIR, method=dpjax.Events(400, 400))
    with pytest.raises(ValueError, match=r"must come from an audit with dpjax\.Sequential"):
        dpjax.resume(fixed)
    content = result.to_dict()
    content["provenance"]["versions"]["jax"] = "0.0.1"
    other = dpjax.AuditResult.from_json(json.dumps(content))
    with pytest.raises(ValueError, match=r"ran with jax 0\.0\.1"):
        dpjax.resume(other)


@pytest.mark.parametrize("method", [Sequential(num_draws=4_000), dpjax.Events(1_000, 3_000)])
@pytest.mark.parametrize("pair", [(0.0, 1.0), (1.0, 0.0)])
def test_the_shares_of_a_witness_are_its_counts_of_all_trials(method, pair):
    """For Laplace noise at 0 and 1, the end of a half-line determines its probabilities."""
    result = dpjax.audit(Laplace(1.0), [pair], method=method, claim=0.2)
    counts, trials = result.witness.event_counts, result.evidence.trials
    shares = [count / number for count, number in zip(counts, trials, strict=True)]
    assert result.witness.densities == pytest.approx(shares, rel=1e-12)
    assert (shares[0] > shares[1]) == (result.witness.larger == "database")
    # The estimate of an event is the logarithm of the ratio of both fractions.
    if isinstance(method, dpjax.Events):
        assert result.estimate == pytest.approx(abs(math.log(shares[0] / shares[1])), rel=1e-9)


def test_a_cut_block_of_a_function_is_kept_whole_when_it_is_drawn_again():
    """Each end cuts a block, which a continued audit draws in full; it determines later cells."""
    options = {"claim": 1.0, "key": 4}
    subject = HostMechanism(noisy)
    whole = dpjax.audit(subject, [(0, 1)], method=Sequential(1_500), **options)
    result = dpjax.audit(subject, [(0, 1)], method=Sequential(300), **options)
    for most in (450, 600, 900, 1_500):
        result = dpjax.resume(result, subject, num_draws=most)
    assert result.evidence.counted == whole.evidence.counted
    assert result.lower_bound == whole.lower_bound


def test_the_estimate_is_that_of_the_best_event():
    """ln(p / q) of an event with probability 1/2 and 20,000 draws: standard error below .02."""
    result = dpjax.audit(Laplace(1.0), [(0.0, 1.0)], method=Sequential(20_000))
    assert result.estimate == pytest.approx(1.0, abs=0.1)
    endless = dpjax.audit(HostMechanism(_far, batched=True), [(0.0, 1.0)], method=Sequential(2_000))
    assert endless.estimate is None and endless.lower_bound > 2


def _far(database, num_samples, rng):
    return 100 * database + rng.normal(size=num_samples)


def test_cells_of_finitely_many_outcomes_are_determined_once(monkeypatch):
    """Any pilot leads to the same cells, so an audit does not draw another pilot."""
    outputs = [encode_drawn(Encoder("x"), np.array(drawn), FiniteSpace(5)) for drawn in (
        [0, 0, 1], [4, 2, 2, 3]
    )]  # fmt: skip
    first, other = (
        lay([side, side], ["a number"], outcomes=5, whole=True, ordered=False) for side in outputs
    )
    assert is_fixed(5) and first.key == other.key
    assert not is_fixed(None) and not is_fixed(5000)
    monkeypatch.setattr(OpenedDrawn, "lay_again", None)
    assert (
        dpjax.audit(RandomizedResponse(1.0), method=Sequential(), claim=0.5).verdict == "violated"
    )
    # The cells of numbers are determined again from more draws.
    with pytest.raises(TypeError, match="NoneType"):
        dpjax.audit(Laplace(1.0), PAIR, method=Sequential(), claim=1.0)


def test_scores_of_pairs_are_expected_bounds_of_equal_draws():
    """Each pair is scored as if it had as many fresh draws as the pair with the most."""
    pairs = dpjax.Pairs(np.zeros(3), np.array([0.2, 1.0, 0.5]))
    result = dpjax.audit(Laplace(1.0), pairs, method=Sequential(num_draws=3000), key=3)
    counted = result.evidence.counted
    draws = counted.wealth.draws
    assert draws.min() < draws.max()
    expected = best_events(counted.wealth, np.arange(3), int(draws.max()), counted.error).predicted
    assert [score for _, score in result.pair_scores] == sorted(expected.tolist(), reverse=True)


@pytest.mark.parametrize(
    ("mechanism", "pairs", "is_laid_again"),
    [(Laplace(1.0), PAIR, True), (HostMechanism(noisy), [(0, 1)], True),
     (RandomizedResponse(1.0), None, False)],
    ids=["laplace", "host", "randomized response"],
)  # fmt: skip
def test_cells_are_laid_again_as_draws_grow_unless_all_outputs_are_known(
    mechanism, pairs, is_laid_again
):
    result = dpjax.audit(mechanism, pairs, method=Sequential(num_draws=500))
    (laid,) = result.evidence.counted.laid_by
    assert (laid > 16) == is_laid_again and laid >= 16


def test_a_fixed_number_of_draws_is_spent_in_phases_on_fewer_and_fewer_pairs():
    """A fifth for all ten pairs, 0.24 for the best three, and the rest for the best pair."""
    pairs = dpjax.Pairs(np.zeros(10), np.linspace(0.1, 1.0, 10))
    result = dpjax.audit(Laplace(1.0), pairs, method=Sequential(num_draws=20_000))
    draws = result.evidence.counted.wealth.draws
    expected = [400] * 7 + [400 + 1_600] * 2 + [400 + 1_600 + 11_200]
    assert sorted(draws[:, 0].tolist()) == sorted(draws[:, 1].tolist()) == expected
