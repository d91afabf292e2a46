"""Audits by guesses of recorded calls, whose databases were chosen by coins."""

import numpy as np
import pytest
from refusals import refusal
from scipy import stats

import dpjax
import dpjax.testing
from dpjax.notions import CallGuessCounts
from dpjax.sweeps import Entry, compute
from dpjax.testing import _session


def calls(number=4000, level=1.0, seed=0):
    """Return outputs with Laplace noise and a drift, and coins."""
    rng = np.random.default_rng(seed)
    coins = rng.random(number) < 0.5
    drift = np.cumsum(rng.normal(0, 0.1, number))
    return rng.laplace(0, 1 / level, number) + coins + drift, coins


def audit(source, **options):
    return dpjax.audit(source, method=dpjax.Guesses(), **options)


def test_a_drift_neither_hides_a_leak_nor_looks_like_one():
    outputs, coins = calls()
    found = audit(dpjax.Recorded.of_calls(outputs, coins), claim=0.4)
    assert found.verdict == "violated" and 0.5 < found.lower_bound < 1
    assert isinstance(found.evidence.counted, CallGuessCounts)
    assert found.evidence.settings["calls_to_learn"] == 1200
    assert found.evidence.counted.canaries == 2800
    assert "after subtraction of the median" in found.witness.output


def test_coins_that_are_guessed_change_neither_scores_nor_numbers_of_guesses():
    outputs, coins = calls()
    found = audit(dpjax.Recorded.of_calls(outputs, coins)).evidence.counted
    other = np.where(np.arange(4000) < 1200, coins, ~coins)
    again = audit(dpjax.Recorded.of_calls(outputs, other)).evidence.counted
    assert (again.guessed_in, again.guessed_out) == (found.guessed_in, found.guessed_out)
    assert again.right == found.guessed_in + found.guessed_out - found.right


@pytest.mark.slow
def test_bounds_are_above_the_level_no_more_often_than_allowed():
    # Each bound is above the level with probability at most 0.2, so the test fails with probability
    # at most 1e-6.
    recorded = [calls(200, 0.5, seed) for seed in range(200)]
    found = [audit(dpjax.Recorded.of_calls(*one), confidence=0.8) for one in recorded]
    wrong = sum(one.lower_bound > 0.5 for one in found)
    assert wrong <= stats.binom.ppf(1 - 1e-6, 200, 0.2)


def test_coins_are_guessed_by_default():
    source = dpjax.Recorded.of_calls(*calls(level=3.0))
    found = dpjax.audit(source)
    assert found.lower_bound == audit(source).lower_bound > 0
    with pytest.raises(AssertionError, match=r"guesses .* of 2800 calls"):
        dpjax.testing.assert_private(source, 0.4)
    dpjax.testing.assert_private(source, 3.0)
    assert dpjax.Recorded([0.0], [1.0]).usual_method == "events"


def test_both_sides_and_coins_have_the_same_bound_as_all_calls():
    outputs, coins = calls()
    whole = audit(dpjax.Recorded.of_calls(outputs, coins))
    sides = dpjax.Recorded(outputs[coins], outputs[~coins], coins=coins)
    assert audit(sides).lower_bound == whole.lower_bound


def test_files_keep_the_order_of_the_calls(tmp_path):
    outputs, coins = calls()
    path = tmp_path / "calls.csv"
    rows = np.stack([np.where(coins, 0, 1), outputs], axis=1)
    np.savetxt(path, rows, ["%d", "%.17g"], ",", header="neighbor,answer", comments="")
    source = dpjax.Recorded.from_file(path, by="neighbor")
    assert source.flips_coins
    found = audit(source, claim=0.4)
    assert found.lower_bound == audit(dpjax.Recorded.of_calls(outputs, coins)).lower_bound
    assert dpjax.rerun(found).lower_bound == found.lower_bound


@pytest.mark.parametrize(
    "kind", ["labels", "vectors", "dicts", "texts", "numbers and labels", "lists"]
)
def test_outputs_of_any_kind(kind):
    rng = np.random.default_rng(5)
    coins = rng.random(1000) < 0.5
    bits = coins ^ (rng.random(1000) < 0.1)
    outputs = {
        "labels": np.where(bits, "yes", "no"),
        "vectors": rng.normal(size=(1000, 3)) + 3 * bits[:, None],
        "dicts": [{"bit": int(bit), "noise": rng.normal()} for bit in bits],
        "texts": [f"Text {rng.integers(10**9)}: {'yes' if bit else 'no'}" for bit in bits],
        "numbers and labels": [rng.normal() if bit else "no" for bit in bits],
        "lists": [[0.5] * (3 + bit) for bit in bits],
    }
    found = audit(dpjax.Recorded.of_calls(outputs[kind], coins), confidence=0.95)
    # The level is ln 9, which is 2.2, and 0.95 of the guesses are right.
    assert 1 < found.lower_bound < 2.2


def test_outputs_that_depend_on_each_other_are_doubted_with_advice():
    source = dpjax.Recorded.of_calls(*calls())
    for method in (dpjax.Events(), dpjax.Sequential(), dpjax.Local()):
        found = dpjax.audit(source, claim=0.4, method=method)
        assert found.verdict == "doubtful" and "use method=Guesses()" in found.doubts[0]


def test_coins_that_were_not_tossed_are_doubtful():
    outputs, coins = calls(2000)
    alternating = np.arange(2000) % 2 == 0
    found = audit(dpjax.Recorded.of_calls(outputs, alternating), claim=0.5)
    assert found.verdict == "doubtful" and len(found.doubts) == 2
    assert "each call had its own coin" in found.sentence and "independent=True" in found.sentence
    stated = audit(dpjax.Recorded.of_calls(outputs, alternating, independent=True), claim=0.5)
    assert stated.verdict == "not refuted" and len(stated.notes) >= 2
    # No more can be known about coins of which an odd number was tossed.
    assert not audit(dpjax.Recorded.of_calls(outputs[:-1], coins[:-1])).doubts


@pytest.mark.parametrize(
    ("number", "coins", "error", "message"),
    [
        (79, lambda rng: rng.random(79) < 0.5, ValueError, "at least 80 recorded calls"),
        (400, lambda rng: rng.random(400) < 0.2, ValueError, "too far from one half"),
        (400, lambda rng: rng.random(399) < 0.5, ValueError, "399 entries for 400 outputs"),
        (400, lambda rng: rng.integers(0, 2, 400), TypeError, "write coins == 1"),
    ],
)
def test_refusals(number, coins, error, message):
    rng = np.random.default_rng(8)
    with pytest.raises(error, match=message):
        audit(dpjax.Recorded.of_calls(rng.normal(size=number), coins(rng)))


def test_sides_must_fit_the_coins():
    outputs, coins = calls(400)
    with pytest.raises(ValueError, match="which has"):
        audit(dpjax.Recorded(outputs[coins], outputs[~coins], coins=~coins))


def test_recordings_without_an_order_and_numbers_of_calls_are_refused():
    outputs, coins = calls(400)
    source = dpjax.Recorded(outputs[coins], outputs[~coins])
    assert not source.flips_coins
    with pytest.raises(TypeError, match="with fair coins"):
        audit(source)
    with pytest.raises(TypeError, match="num_calls must be left out for recorded calls"):
        dpjax.audit(dpjax.Recorded.of_calls(outputs, coins), method=dpjax.Guesses(num_calls=100))


CONTAINING = {
    "a number": (lambda answers, coins: coins.astype(int), "the number"),
    "a vector": (lambda answers, coins: np.stack([answers, ~coins], 1), "entry 1"),
    "a dict": (
        lambda answers, coins: [
            {"answer": answer, "coin": coin}
            for answer, coin in zip(answers.tolist(), coins.tolist(), strict=True)
        ],
        "entry 'coin'",
    ),
    "a word": (lambda answers, coins: np.where(coins, "heads", "tails"), "the label"),
}


@pytest.mark.parametrize("kind", CONTAINING)
def test_outputs_that_contain_the_coin_have_a_note(kind):
    answers, coins = calls(200)
    outputs, part = CONTAINING[kind]
    whole = outputs(answers, coins)
    found = audit(dpjax.Recorded.of_calls(whole, coins))
    assert f"In each of 200 outputs, {part} tells which database was used" in str(found.notes)
    # One call in which the part differs from the coin is enough.
    coins = np.where(np.arange(200) == 199, ~coins, coins)
    assert "tells which" not in str(audit(dpjax.Recorded.of_calls(whole, coins)).notes)


def test_a_copy_of_the_column_that_names_the_database_has_a_note(tmp_path):
    answers, coins = calls(200)
    path = tmp_path / "calls.csv"
    rows = np.stack([coins, answers, ~coins], axis=1)
    np.savetxt(path, rows, "%.17g", ",", header="coin,answer,other", comments="")
    for column, noted in ((["answer", "other"], True), ("answer", False)):
        source = dpjax.Recorded.from_file(path, "coin", column)
        for method in (dpjax.Guesses(), dpjax.Events()):
            found = dpjax.audit(source, method=method)
            assert ("entry 'other' tells which database was used" in str(found.notes)) is noted
    found = dpjax.audit(dpjax.Recorded(np.zeros(200), np.ones(200)))
    assert "tells which" not in str(found.notes)


@pytest.mark.parametrize(
    ("option", "instead"),
    [
        ({"discrete": True}, "use method=Events(), which counts outcomes."),
        ({"blocks": 2}, "leave it out, because calls with fair coins need no blocks."),
        ({"search_fraction": 0.4}, "use Guesses(reveal_fraction=...) to choose the share"),
    ],
)
def test_options_that_guesses_would_ignore_are_refused(option, instead):
    ((name, given),) = option.items()
    source = dpjax.Recorded.of_calls(*calls(400), **option)
    message = str(refusal(audit, source))
    assert message.startswith(f"{name} does not apply if coins are guessed, but was {given}: ")
    assert instead in message
    dpjax.audit(source, method=dpjax.Events())


def reading(database, rng):
    return database[0] + rng.laplace()


def test_sweeps_make_new_calls():
    for method in (dpjax.Guesses(), dpjax.Events()):
        message = str(refusal(Entry, dpjax.Recorded.of_calls(*calls(200)), method))
        assert (
            "mechanism must draw new outputs in every run, but recorded outputs cannot" in message
        )
    function = dpjax.HostMechanism(reading, batched=False)
    entry = Entry(function, dpjax.Guesses(num_calls=200), [([0.0], [3.0])], claim=0.1)
    columns = compute(entry, range(2), 7)
    assert columns["exact"].all() and len(np.unique(columns["lower_bound"])) == 2
    assert (columns["lower_bound"] > 0.1).all() and columns["verdict"] == ["violated"] * 2


@pytest.mark.parametrize("budget", [None, 20.0])
def test_numbers_of_calls_are_kept_under_a_budget(budget, monkeypatch):
    session = _session.Session(budget, {})
    monkeypatch.setattr(_session, "CURRENT", session)
    pairs = [([0.0], [1.0])]
    found = dpjax.testing.assert_private(reading, 1.0, pairs, num_calls=300)
    assert found.evidence.settings["calls_to_learn"] == 90
    dpjax.testing.assert_private(dpjax.Recorded.of_calls(*calls(200)), 2.0)
    function, recorded = session.pending
    assert (function["draws"], recorded["draws"]) == (300, 200)
    assert not function["fewest"] and session.spent >= function["seconds"] > 0
