"""`dpjax.testing`: assertions, their messages, and budgets of time."""

import dataclasses
import time

import jax
import numpy as np
import pytest

import dpjax
from dpjax import HostMechanism, testing
from dpjax.inference import Ratio, event_lower_bound
from dpjax.mechanisms import Gaussian, Laplace
from dpjax.testing import _run, _session
from dpjax.testing._assertions import audit_in_test
from dpjax.testing._budget import fewest_sizes, least_draws

PAIRS = [(0.0, 1.0)]
SIZES = {"num_samples": 12_000, "num_confirm": 18_000}


def slow(count, size, rng):
    time.sleep(0.02)
    return rng.laplace(count, 1.0, size)


def release(key, count):
    return count + 0.8 * jax.random.laplace(key)


def test_a_test_may_pass_the_total_number_of_draws():
    """`plan_draws` computes this number, so it need not be divided by hand."""
    planned = dpjax.plan_draws(1.0, 1.5, confidence=1 - 1e-6)
    result = testing.assert_private(Laplace(1.0), 1.0, PAIRS, num_draws=planned)
    pairs, searched = len(PAIRS), result.num_samples
    assert planned - pairs <= pairs * searched + result.num_confirm <= planned
    method = dpjax.Events(num_draws=planned)
    again = dpjax.audit(Laplace(1.0), PAIRS, method=method, claim=1.0, confidence=1 - 1e-6)
    assert again.statement == result.statement


def test_a_right_mechanism_passes_and_says_what_it_could_have_shown():
    result = testing.assert_private(Laplace(1.0), 1.0, pairs=PAIRS, **SIZES)
    assert result.verdict == "not refuted" and result.confidence == 1 - 1e-6
    assert (result.num_samples, result.num_confirm) == (12_000, 18_000)
    least = testing.detectable_epsilon(result, 1.0)
    assert 1.02 < least < 1.2
    # The promise holds: slightly above this level, the same audit is expected to refute the claim.
    # The standard error of a bound is 0.025, and the event is chosen anew.
    bounds = [
        dpjax.audit(
            Laplace(least + 0.05), PAIRS, method=dpjax.Events(**SIZES), confidence=1 - 1e-6, key=key
        ).lower_bound
        for key in range(8)
    ]
    assert sum(bounds) / 8 > 1.0


@pytest.fixture(scope="module")
def message():
    with pytest.raises(AssertionError) as caught:
        testing.assert_private(release, 1.0, pairs=PAIRS, **SIZES)
    return str(caught.value)


def test_the_message_has_all_that_a_developer_needs(message):
    assert message.startswith("release is not 1-differentially private.")
    for part in ("claim", "lower bound", "1 - 1e-06", "database 0.0, neighbor 1.0", "event"):
        assert part in message
    assert "draws from the database" in message


def test_the_replay_draws_the_same_again(message, capsys):
    code = "\n".join(line[4:] for line in message.split("  replay\n")[1].splitlines())
    exec(code, {})
    bound = message.split("lower bound  ")[1].split(",")[0]
    assert f"lower bound  {bound}," in capsys.readouterr().out


def test_a_private_mechanism_is_not_shown_to_be_otherwise():
    with pytest.raises(AssertionError, match=r"was not shown to violate epsilon = 1(.|\n)*detect"):
        testing.assert_not_private(Laplace(1.0), 1.0, pairs=PAIRS, **SIZES)


@pytest.fixture(scope="module")
def at_delta():
    with pytest.raises(AssertionError) as caught:
        testing.assert_not_private(
            Gaussian(1.0), 3.0, pairs=PAIRS, **SIZES, delta=0.05, confidence=0.99
        )
    return str(caught.value)


def test_messages_have_the_delta(at_delta):
    assert "was not shown to violate epsilon = 3 at delta = 0.05: with" in at_delta
    assert "the claim epsilon = 3 at delta = 0.05 is likely" in at_delta
    assert "dpjax.Epsilon(delta=0.05)" in at_delta
    with pytest.raises(AssertionError) as caught:
        testing.assert_private(Gaussian(0.5), 0.5, pairs=PAIRS, **SIZES, delta=0.05)
    message = str(caught.value)
    assert message.startswith("gaussian is not (0.5, 0.05)-differentially private.")
    assert "claim        epsilon = 0.5 at delta = 0.05\n" in message


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_detectable_is_at_the_delta_of_the_audit(delta):
    """For an event with exactly the named level, the bound is the claim."""
    result = dpjax.audit(
        Gaussian(1.0), PAIRS, notion=dpjax.Epsilon(delta), claim=1.0, confidence=0.95
    )
    least, side = testing.detectable_epsilon(result, 1.0), result.witness.larger == "neighbor"
    trials = result.evidence.trials
    more, fewer = trials[side], trials[1 - side]
    rarer = result.witness.event_counts[1 - side]
    larger = round(more * (rarer / fewer * float(jax.numpy.exp(least)) + delta))
    bound = event_lower_bound(larger, rarer, more, fewer, 0.95, Ratio(delta))
    assert bound == pytest.approx(1.0, abs=0.05)
    if delta:
        without = dataclasses.replace(result, recipe={**result.recipe, "notion": {"delta": 0.0}})
        assert testing.detectable_epsilon(without, 1.0) < least - 0.003


def test_the_rate_of_false_alarms_is_that_of_the_confidence():
    """At confidence one half, more than 26 of 30 seeds fail with probability 4e-6."""
    failed = 0
    for seed in range(30):
        try:
            testing.assert_private(
                Laplace(1.0),
                1.0,
                pairs=PAIRS,
                num_samples=800,
                num_confirm=1_200,
                confidence=0.5,
                key=seed,
            )
        except AssertionError:
            failed += 1
    assert 1 <= failed <= 26


@pytest.mark.parametrize(
    "arguments, name",
    [
        ({"num_samples": 9, "seconds": 1.0}, "num_draws and num_calls must not be passed"),
        ({"num_calls": 900, "seconds": 1.0}, "num_draws and num_calls must not be passed"),
        (
            {"num_calls": 900, "num_draws": 9},
            "num_draws must not be passed together with num_calls",
        ),
        ({"num_draws": 900, "seconds": 1.0}, "num_draws and num_calls must not be passed"),
        ({"num_draws": 900, "num_samples": 9}, "num_draws is the total .* combined with num_samp"),
        ({"num_draws": 1}, "num_draws"),
        ({"num_samples": 0}, "num_samples"),
        ({"num_confirm": 1}, "num_confirm"),
        ({"seconds": 0.0}, "seconds"),
        ({"confidence": 1.0}, "confidence"),
        ({"pairs": [(2.0, 2.0)]}, "two different databases"),
    ],
)
def test_bad_arguments_are_refused(arguments, name):
    with pytest.raises(ValueError, match=name):
        testing.assert_private(Laplace(1.0), 1.0, **arguments)


def test_what_a_test_asks_for_wins_over_the_budget(monkeypatch):
    """No single event bounds this notion's curve, so its sizes must be planned."""
    session, times = _session.Session(50.0, {}), []
    claim = {"pairs": PAIRS, "zcdp": 0.5}

    def within(seconds, num_pairs, audit, key, *, compiled):
        times.append(seconds)
        return audit(fewest_sizes(num_pairs, compiled=compiled), key)

    monkeypatch.setattr(_session, "CURRENT", session)
    monkeypatch.setattr(_run, "audit_within", within)
    asked = testing.assert_private(Laplace(1.0), **claim, **SIZES)
    assert (asked.num_samples, asked.num_confirm) == (12_000, 18_000)
    assert session.spent == session.pending[0]["seconds"] > 0 and not times
    testing.assert_private(Laplace(1.0), **claim, seconds=0.5)
    spent = session.spent
    testing.assert_private(Laplace(1.0), **claim)
    assert times == [0.5, max(50.0 - spent, 0.1)]
    assert [row["fewest"] for row in session.pending] == [False, False, True]


def test_a_wrong_mechanism_fails_long_before_its_time(monkeypatch):
    """Noise of level 1.25, with a quarter of the draws of an audit without a time."""
    session = _session.Session(None, {})
    monkeypatch.setattr(_session, "CURRENT", session)
    with pytest.raises(AssertionError, match="is not 1-differentially private") as caught:
        testing.assert_private(Laplace(1.25), 1.0, pairs=PAIRS, seconds=600.0)
    (row,) = session.pending
    assert row["draws"] < testing.DEFAULT_DRAWS / 4 and not row["fewest"] and row["seconds"] < 600
    assert "method=dpjax.Sequential(seconds=600.0)" in str(caught.value)


@pytest.mark.slow
def test_a_right_mechanism_spends_its_time(monkeypatch):
    session = _session.Session(1.0, {})
    monkeypatch.setattr(_session, "CURRENT", session)
    result = testing.assert_private(Laplace(1.0), 1.0, pairs=PAIRS)
    assert "the time limit was reached" in result.notes[-1]
    (row,) = session.pending
    assert row["draws"] == 2 * result.settings["drawn"] and 0 < row["least"] <= row["seconds"]
    assert 1.0 < row["detectable"] < 1.5 and not row["fewest"]


@pytest.mark.parametrize("sizes", [{}, {"num_draws": 400}])
def test_only_audits_with_sizes_need_their_whole_time_again(monkeypatch, sizes):
    """The next run may have a budget, which limits an audit without sizes."""
    session = _session.Session(None, {})
    monkeypatch.setattr(_session, "CURRENT", session)
    monkeypatch.setattr(_run, "DEFAULT_DRAWS", 2_000)
    release = HostMechanism(lambda count, num_samples, rng: count + rng.laplace(size=num_samples))
    testing.assert_private(release, 1.0, pairs=PAIRS, **sizes)
    (row,) = session.pending
    assert (row["least"] > 0.9 * row["seconds"]) if sizes else (row["least"] == 0.0)


def test_a_budget_that_is_too_short_is_said(monkeypatch):
    session = _session.Session(0.0, {})
    monkeypatch.setattr(_session, "CURRENT", session)
    testing.assert_private(HostMechanism(slow), 1.0, pairs=PAIRS)
    (row,) = session.pending
    assert row["fewest"] and row["draws"] < 20_000


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "level",
    [
        {"gdp": 1.1}, {"zcdp": 0.6}, {"total_variation": 0.42},
        {"notion": dpjax.Renyi(2), "claim": 1.2},
        {"notion": dpjax.Profile(), "claim": [(0.0, 0.4), (1.0, 0.13)]},
    ],
)  # fmt: skip
def test_claims_of_other_kinds(level):
    """Noise with mu = 1 is too little for half of the claim."""
    testing.assert_private(Gaussian(1.0), pairs=PAIRS, **SIZES, **level)
    with pytest.raises(AssertionError, match="was not shown to violate"):
        testing.assert_not_private(Gaussian(1.0), pairs=PAIRS, **SIZES, **level)
    with pytest.raises(AssertionError) as caught:
        testing.assert_private(Gaussian(0.5), pairs=PAIRS, **SIZES, **level)
    message = str(caught.value)
    assert message.startswith("gaussian violates its claim. With confidence")
    assert "notion=dpjax." in message


@pytest.mark.parametrize("level", [{}, {"gdp": 1.0, "zcdp": 1.0}, {"notion": dpjax.Gdp()}])
def test_one_claim_must_be_given(level):
    with pytest.raises(TypeError, match=r"to pass pairs, write pairs=\["):
        testing.assert_private(Gaussian(1.0), PAIRS, zcdp=0.5)
    with pytest.raises(TypeError, match=r"and epsilon=LEVEL instead of claim\."):
        testing.assert_private(Gaussian(1.0), PAIRS, claim=0.5)
    with pytest.raises(TypeError, match="one claim must be given"):
        testing.assert_private(Gaussian(1.0), pairs=PAIRS, **level)


@pytest.mark.parametrize(
    ("call", "options", "says"),
    [
        ("assert_private", {"rho": 1.0}, "'rho': write notion=dpjax.Zcdp(), claim=LEVEL"),
        ("assert_not_private", {"seed": 1}, "'seed': write key=INTEGER."),
        (
            "assert_private",
            {"time_limit": 9},
            "'time_limit': write dpjax.HostMechanism(..., time_limit=...) or "
            "dpjax.CommandMechanism(..., time_limit=...) or "
            "dpjax.LibraryMechanism(..., time_limit=...) as the subject.",
        ),
        ("dpjax_audit", {"epsilon": 1.0}, "'epsilon': write claim=EPSILON."),
        ("dpjax_audit", {"delta": 1e-5}, "'delta': write notion=dpjax.Epsilon(delta=...)."),
        ("dpjax_audit", {"num_sample": 9}, "'num_sample': did you mean 'num_samples'"),
    ],
)
def test_a_misplaced_argument_is_told_where_it_goes(call, options, says):
    function = {"dpjax_audit": audit_in_test}.get(call) or getattr(testing, call)
    level = {} if call == "dpjax_audit" else {"epsilon": 1.0}
    with pytest.raises(TypeError) as caught:
        function(Gaussian(1.0), pairs=PAIRS, **level, **options)
    assert str(caught.value).startswith(f"{call}() has no argument {says}")


def test_doubtful_outputs_are_neither_private_nor_not():
    """The outputs of both sides are resampled from a thousand."""
    rng = np.random.default_rng(1)
    halves = rng.normal(size=(2, 1_000)) + np.array([[0.0], [3.0]])
    recorded = dpjax.Recorded(*(rng.choice(half, 1_000) for half in halves))
    for check in (testing.assert_private, testing.assert_not_private):
        with pytest.raises(AssertionError, match="was not tested"):
            check(recorded, 0.1)


def test_a_failure_with_guesses_shows_their_counts():
    """Only the coins of a recorded run were tossed before the audit."""

    def told(included, seed):
        return included + np.random.default_rng(seed).normal(0, 0.01, included.size)

    runs = dpjax.CanaryRuns(told, 300)
    recorded = dpjax.OneRun(*runs.canaries([0, 0], 1), fair_coins=True)
    for subject, chance in ((runs, "1e+06 keys"), (recorded, "1e+06 recordings")):
        with pytest.raises(AssertionError) as caught:
            testing.assert_private(subject, 1.0)
        lines = str(caught.value).splitlines()
        assert lines[2].endswith(chance)
        assert lines[3].startswith("  guesses      188 of 188 right (94 in, 94 out), of 210 canar")


def test_repeated_noise_is_found_within_a_time_limit():
    """An audit that finds repeated noise ends before it counts its draws."""

    def fixed(count, n):
        return count + np.random.default_rng(0).laplace(size=n)

    with pytest.raises(AssertionError, match="fixed is not private"):
        testing.assert_private(HostMechanism(fixed, batch_size=1000), 1.0, pairs=PAIRS, seconds=5.0)


@pytest.mark.parametrize("pairs", [PAIRS, [(2.0, 2.5), *PAIRS]])
def test_constant_outputs_pass_with_a_warning(pairs):
    """A constant is private, but perhaps the function is not the one that adds noise."""

    def constant(count, n):
        return np.zeros(n)

    source = HostMechanism(constant, batch_size=1000)
    with pytest.warns(UserWarning, match="constant: All .* were the same.* no random") as caught:
        testing.assert_private(source, 1.0, pairs=pairs, num_samples=100, num_confirm=100)
    assert {warning.filename for warning in caught} == {__file__}


def test_a_test_with_too_few_draws_to_fail_passes_with_a_warning(monkeypatch):
    """Each call takes 0.2 s, so ten seconds allow two dozen draws per side."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def leaky(count, rng):
        now[0] += 0.2
        return 1_000 * count + rng.laplace()

    with pytest.warns(UserWarning, match="leaky: The audit had only 2. draws .* more than 44 "):
        testing.assert_private(leaky, 1.0, PAIRS, seconds=10.0)
    with pytest.raises(AssertionError, match="leaky is not 1-differentially private"):
        testing.assert_private(leaky, 1.0, PAIRS, seconds=100.0)
    sizes = {"num_samples": 100, "num_confirm": 100}
    # A claim of 4 about one record is a claim of 8 about databases that differ in two records.
    for claim, least, distance in ((8.0, "20,595", 1), (50.0, "4e[+]22", 1), (4.0, "20,595", 2)):
        with pytest.warns(UserWarning, match=f"only 100 draws .* more than {least} would be"):
            testing.assert_private(leaky, claim, PAIRS, distance=distance, **sizes)


@pytest.mark.parametrize(("claim", "delta"), [(0.0, 0.0), (1.0, 0.01), (8.0, 0.0)])
def test_the_fewest_draws_follow_from_randomized_response(claim, delta):
    """A correct mechanism names its database so often that fewer draws refute its claim by luck."""
    error = 1e-3
    draws = least_draws(claim, delta, 1 - error)
    right = (np.exp(claim) + delta) / (1 + np.exp(claim))
    np.testing.assert_allclose(right ** (2 * draws), error, rtol=1e-9)


def test_the_time_limit_includes_the_search_for_pairs(monkeypatch):
    """Each call takes 0.1 s, so the draws of a search without a limit would take over an hour."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def slow(database, rng):
        now[0] += 0.1
        return len(database) + rng.laplace()

    result = testing.assert_private(slow, 1.0, pairs=dpjax.neighbors([1.0, 2.0]), seconds=100.0)
    assert now[0] < 101 and result.settings["drawn"] > 100


def test_outputs_that_depend_on_earlier_calls_are_tested_with_coins():
    """The location drifts; the level of the noise is 1."""

    def drifting():
        state, rng = [0.0], np.random.default_rng(5)

        def function(database):
            state[0] += rng.normal(0, 0.1)
            return database + rng.laplace() + state[0]

        return function

    with pytest.raises(
        AssertionError, match=r"(?s)do not look independent.*or num_calls=20_000 in a test"
    ):
        testing.assert_private(drifting(), 1.0, pairs=[(0, 1)], num_draws=4000)
    result = testing.assert_private(drifting(), 1.0, pairs=[(0, 1)], num_calls=4000)
    assert result.recipe["method"]["name"] == "guesses"
    with pytest.raises(
        AssertionError, match=r"(?s)guesses +\d+ of \d+ right.*event +the output.*num_calls=4000"
    ):
        testing.assert_private(drifting(), 0.3, pairs=[(0, 1)], num_calls=4000)


def test_the_table_states_the_calls_that_were_made(monkeypatch):
    now, session = [0.0], _session.Session(None, {})
    monkeypatch.setattr("dpjax.sources._coin_flips.time.perf_counter", lambda: now[0])
    monkeypatch.setattr(_session, "CURRENT", session)

    def slow(database, rng):
        now[0] += 0.01
        return database + rng.laplace()

    source = dpjax.HostMechanism(slow, batched=False, time_limit=2.0)
    result = testing.assert_private(source, 1.0, pairs=PAIRS, num_calls=5000)
    (row,) = session.pending
    # The time limit is reached after 200 of 5000 calls.
    assert row["draws"] == sum(result.settings[f"calls_to_{it}"] for it in ("learn", "guess"))
    assert 190 <= row["draws"] <= 210
