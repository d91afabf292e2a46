"""`dpjax.testing`: assertions, their messages, and budgets of time."""

import dataclasses
import time

import jax
import pytest

import dpjax
import pytest_dpjax
from dpjax import testing
from dpjax._numerics import MAX_BLOCK
from dpjax.inference import event_lower_bound
from dpjax.mechanisms import Gaussian, Laplace
from dpjax.testing import _assertions
from dpjax.testing._budget import Sizes, audit_within, fewest_sizes, sizes_of

PAIRS = [(0.0, 1.0)]
DRAWS = 60_000


def release(key, count):
    return count + 0.8 * jax.random.laplace(key)


def test_a_right_mechanism_passes_and_says_what_it_could_have_shown():
    result = testing.assert_private(Laplace(1.0), 1.0, pairs=PAIRS, num_draws=DRAWS)
    assert result.verdict == "not refuted" and result.confidence == 1 - 1e-6
    assert 2 * (result.num_samples + result.num_confirm) == DRAWS
    least = testing.detectable_epsilon(result, 1.0)
    assert 1.02 < least < 1.2
    # What it promises is so: at this level the same audit refutes the claim.
    found = testing.assert_not_private(
        Laplace(least + 0.03), 1.0, pairs=PAIRS, num_draws=DRAWS, seed=3
    )
    assert found.lower_bound > 1.0


@pytest.fixture(scope="module")
def message():
    with pytest.raises(AssertionError) as caught:
        testing.assert_private(release, 1.0, pairs=PAIRS, num_draws=DRAWS)
    return str(caught.value)


def test_the_message_has_all_that_a_developer_needs(message):
    assert message.startswith("release is not 1-differentially private.")
    for part in ("claim", "lower bound", "1 - 1e-06", "database 0.0, neighbor 1.0", "event"):
        assert part in message
    assert "fresh draws at the database" in message


def test_the_replay_draws_the_same_again(message, capsys):
    code = "\n".join(line[4:] for line in message.split("  replay\n")[1].splitlines())
    exec(code, {})
    bound = message.split("lower bound  ")[1].split(",")[0]
    assert f"lower bound  {bound}," in capsys.readouterr().out


def test_a_private_mechanism_is_not_shown_to_be_otherwise():
    with pytest.raises(AssertionError, match=r"was not shown to violate epsilon = 1(.|\n)*detect"):
        testing.assert_not_private(Laplace(1.0), 1.0, pairs=PAIRS, num_draws=DRAWS)


@pytest.fixture(scope="module")
def at_delta():
    with pytest.raises(AssertionError) as caught:
        testing.assert_not_private(
            Gaussian(1.0), 3.0, pairs=PAIRS, num_draws=DRAWS, delta=0.05, confidence=0.99
        )
    return str(caught.value)


def test_messages_have_the_delta(at_delta):
    assert "was not shown to violate epsilon = 3 at delta = 0.05: with" in at_delta
    assert (
        "the claim epsilon = 3 at delta = 0.05 is likely" in at_delta and "delta=0.05" in at_delta
    )
    with pytest.raises(AssertionError) as caught:
        testing.assert_private(Gaussian(0.5), 0.5, pairs=PAIRS, num_draws=DRAWS, delta=0.05)
    message = str(caught.value)
    assert message.startswith("gaussian is not (0.5, 0.05)-differentially private.")
    assert "claim        epsilon = 0.5 at delta = 0.05\n" in message


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_detectable_is_at_the_delta_of_the_audit(delta):
    """An event that has just the level that is named gives the claim as its bound."""
    result = dpjax.audit(Gaussian(1.0), pairs=PAIRS, guarantee="exact", delta=delta, claim=1.0)
    least, draws = testing.detectable_epsilon(result, 1.0), result.num_confirm
    rarer = min(result.witness.event_counts)
    larger = round(rarer * float(jax.numpy.exp(least)) + delta * draws)
    bounds = [event_lower_bound(larger, rarer, draws, draws, 0.95, s, delta) for s in (0.3, 0.5)]
    assert max(bounds) == pytest.approx(1.0, abs=0.05)
    if delta:
        without = dataclasses.replace(result, settings={**result.settings, "delta": 0.0})
        assert testing.detectable_epsilon(without, 1.0) < least - 0.01


def test_the_rate_of_false_alarms_is_that_of_the_confidence():
    """At a confidence of one half, more than 26 of 30 seeds fail in 4 of 1e6 tries."""
    failed = 0
    for seed in range(30):
        try:
            testing.assert_private(
                Laplace(1.0), 1.0, pairs=PAIRS, num_draws=4_000, confidence=0.5, seed=seed
            )
        except AssertionError:
            failed += 1
    assert 1 <= failed <= 26


@pytest.mark.parametrize(
    "arguments, name",
    [
        ({"num_draws": 1, "seconds": 1.0}, "num_draws and seconds"),
        ({"num_draws": 0}, "num_draws"),
        ({"seconds": 0.0}, "seconds"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_bad_arguments_are_refused(arguments, name):
    with pytest.raises(ValueError, match=name):
        testing.assert_private(Laplace(1.0), 1.0, **arguments)


def test_draws_are_split_over_pairs():
    assert sizes_of(1_000_000, 10) == Sizes(20_000, 300_000)
    assert sizes_of(10, 3) == Sizes(200, 400)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("fixed", [0.05, 1.0])
def test_a_budget_of_time_is_spent(monkeypatch, compiled, fixed):
    """With a clock of its own: 2 s to compile each block size, 1e6 draws a second."""
    now, seen, programs = [0.0], [], set()
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def audit(sizes):
        blocks = tuple(min(size, MAX_BLOCK) if size % MAX_BLOCK == 0 else size for size in sizes)
        compilation = 2.0 if compiled and blocks not in programs else 0.0
        now[0] += sizes.draws(1) / 1e6 + fixed + compilation
        programs.add(blocks)
        seen.append(sizes)
        return sizes

    last = audit_within(30.0, 1, audit, compiled=compiled)
    assert 20.0 < now[0] < 30.0
    assert last == seen[-1] == max(seen)
    assert len(programs) == 1 or not compiled
    # Half of the time and more is that of the audit that counts.
    assert last.draws(1) > 12e6
    seen.clear()
    now[0] = 0.0
    shortest = audit_within(0.05, 1, audit, compiled=compiled)
    assert [shortest] == seen == [fewest_sizes(1, compiled=compiled)]


def test_what_is_compiled_has_whole_blocks():
    assert fewest_sizes(3, compiled=True) == Sizes(MAX_BLOCK, MAX_BLOCK)
    assert fewest_sizes(1, compiled=False) == sizes_of(20_000, 1)
    sizes = sizes_of(1_000_000, 10, whole_blocks=True)
    assert sizes == Sizes(2 * MAX_BLOCK, 36 * MAX_BLOCK)
    assert sizes.draws(10) == 2 * (20 + 36) * MAX_BLOCK


def test_what_a_test_asks_for_wins_over_the_budget(monkeypatch):
    session, times = pytest_dpjax.Session(50.0), []

    def within(seconds, num_pairs, audit, *, compiled):
        times.append(seconds)
        return audit(fewest_sizes(num_pairs, compiled=compiled))

    monkeypatch.setattr(pytest_dpjax, "SESSION", session)
    monkeypatch.setattr(_assertions, "audit_within", within)
    asked = testing.assert_private(Laplace(1.0), 1.0, pairs=PAIRS, num_draws=DRAWS)
    assert 2 * (asked.num_samples + asked.num_confirm) == DRAWS
    assert session.spent == session.pending[0]["seconds"] > 0 and not times
    testing.assert_private(Laplace(1.0), 1.0, pairs=PAIRS, seconds=0.5)
    spent = session.spent
    testing.assert_private(Laplace(1.0), 1.0, pairs=PAIRS)
    assert times == [0.5, max(50.0 - spent, 0.1)]
    assert [row["fewest"] for row in session.pending] == [False, False, True]
