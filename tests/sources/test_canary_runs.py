"""Runs of a function that scores canaries: audited one at a time, and in sweeps."""

import json
import math
import os

import numpy as np
import pytest
from refusals import refusal
from scipy import stats

import dpjax
from dpjax.core import random
from dpjax.results._advice import advice
from dpjax.sweeps import Entry, SweepSpec, compute

LEVEL = 1.0


def told(included, seed):
    """Return randomized response of every coin at level 1; ties are broken at random."""
    rng = np.random.default_rng(seed)
    right = rng.random(len(included)) < 1 / (1 + math.exp(-LEVEL))
    return (included == right) + 1e-9 * rng.random(len(included))


def short(included, seed):
    return np.arange(len(included) - 1.0)


def fails(included, seed):
    raise RuntimeError("no memory")


def nothing(included, seed):
    return None


def yields(included, seed):
    yield from included.astype(float)


def undefined(included, seed):
    return np.full(len(included), np.nan)


def forks(included, seed):
    os.fork()
    return told(included, seed)


RUNS = dpjax.CanaryRuns(told, 101)


def test_a_run_is_audited_like_a_recorded_one():
    found = dpjax.audit(RUNS, confidence=0.95, key=3)
    scores, included = RUNS.canaries(random.words_of(random.as_key(3)).tolist(), 0)
    recorded = dpjax.audit(dpjax.OneRun(scores, included, fair_coins=True), confidence=0.95, key=3)
    assert found.statement == recorded.statement
    assert found.evidence.counted == recorded.evidence.counted
    read = dpjax.AuditResult.from_json(found.to_json())
    assert dpjax.rerun(read, allow_import=[__name__]).statement == found.statement
    assert "told" in str(found)


def test_only_recorded_runs_are_told_to_record_new_outputs():
    """A function can train again, but a recorded run cannot."""
    found = dpjax.audit(dpjax.CanaryRuns(told, 1000), claim=0.1, key=3)
    scores, included = RUNS.canaries([0, 3], 0)
    recorded = dpjax.audit(dpjax.OneRun(scores, included, fair_coins=True), confidence=0.5)
    assert found.verdict == "violated" and not found.is_recorded and recorded.is_recorded
    read = dpjax.AuditResult.from_json(found.to_json())
    assert not read.is_recorded
    assert "audit again with another key" in advice(read)[-1]


def test_coins_and_scores_of_runs_are_independent():
    drawn = [RUNS.canaries([0, 3], run) for run in range(200)]
    coins = np.array([included for _, included in drawn])
    assert abs(coins.mean() - 0.5) < 5 * 0.5 / math.sqrt(coins.size)
    same = (coins[1:] == coins[:-1]).mean()
    assert abs(same - 0.5) < 5 * 0.5 / math.sqrt(coins[1:].size)
    right = np.array([(scores > 0.5) == included for scores, included in drawn])
    chance = 1 / (1 + math.exp(-LEVEL))
    assert abs(right.mean() - chance) < 5 * 0.5 / math.sqrt(right.size)


def test_a_sweep_shows_how_often_bounds_exceed_the_level():
    """With probability 1 - 1e-5, at most 26 of 200 bounds exceed the level at 5%."""
    assert stats.binom.sf(26, 200, 0.05) < 1e-5
    entry = Entry(RUNS, dpjax.Guesses(40, 40), claim=LEVEL, num_runs=200)
    columns = compute(entry, range(200), 7)
    bounds = columns["lower_bound"]
    assert (bounds > LEVEL).sum() <= 26 and 0.1 < np.median(bounds) < LEVEL
    assert all(columns["exact"]) and len(np.unique(bounds)) > 10
    assert [v == "violated" for v in columns["verdict"]] == (bounds > LEVEL).tolist()
    # The first run equals the audit with the entry's key, and block sizes do not matter.
    first = dpjax.audit(RUNS, method=entry.method, confidence=0.95, key=entry.key(7))
    assert first.lower_bound == bounds[0]
    again = compute(entry, range(150, 153), 7)["lower_bound"]
    np.testing.assert_array_equal(again, bounds[150:153])


def test_an_entry_survives_json_and_toml(tmp_path):
    entries = (
        Entry(RUNS, dpjax.Guesses(), notion=dpjax.Gdp(), num_runs=5),
        Entry(RUNS, dpjax.Guesses(10, 0), notion=dpjax.Epsilon(1e-5)),
    )
    spec = SweepSpec("one run", entries, key=5)
    assert SweepSpec.from_dict(json.loads(json.dumps(spec.to_dict())), [__name__]) == spec
    path = tmp_path / "spec.toml"
    path.write_text(spec.to_toml())
    assert SweepSpec.from_file(path, [__name__]) == spec


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: dpjax.CanaryRuns(told, 19), "num_canaries must"),
        (lambda: dpjax.CanaryRuns("told", 50), "function must be a function (included, seed)"),
        (lambda: dpjax.audit(dpjax.CanaryRuns(short, 50)), "one score for each of 50 canaries"),
        (
            lambda: dpjax.audit(dpjax.CanaryRuns(fails, 50)),
            "the function fails must return scores, but raised RuntimeError: no memory.",
        ),
        (
            lambda: dpjax.audit(dpjax.CanaryRuns(nothing, 50)),
            "the function nothing must return an array of scores, but returned None (NoneType).",
        ),
        (
            lambda: dpjax.audit(dpjax.CanaryRuns(yields, 50)),
            "the function yields must return an array of scores, but returned <generator",
        ),
        (
            lambda: dpjax.audit(dpjax.CanaryRuns(undefined, 50)),
            "the scores that the function undefined returns must not be NaN, but 50 were",
        ),
        (lambda: dpjax.audit(RUNS, method=dpjax.Events()), "use method=Guesses()"),
        (lambda: Entry(RUNS, dpjax.Guesses(), [(0, 1)]), "pairs must be left out for told"),
        (lambda: Entry(RUNS, dpjax.Events()), "use method=Guesses()"),
    ],
)
def test_what_does_not_fit_is_refused(make, sentence):
    assert sentence in str(refusal(make))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:os.fork")
def test_a_copy_of_the_process_does_not_continue_the_audit(tmp_path):
    """Otherwise, both processes would write a result."""
    with (tmp_path / "results").open("ab", buffering=0) as file:
        here, found = os.getpid(), dpjax.audit(dpjax.CanaryRuns(forks, 50)).verdict
        file.write(f"{found}\n".encode())
        if os.getpid() != here:
            os._exit(1)
        os.waitpid(-1, 0)
    assert (tmp_path / "results").read_text() == "no claim\n"


def test_a_recorded_run_is_not_repeated():
    scores, included = RUNS.canaries([0, 0], 0)
    recorded = dpjax.OneRun(scores, included, fair_coins=True)
    with pytest.raises(TypeError, match="must draw new outputs in every run, but one run cannot"):
        Entry(recorded, dpjax.Guesses())


def test_a_sweep_file_names_canary_runs(tmp_path):
    path = tmp_path / "spec.toml"
    words = f'''[[entries]]
    mechanism = "{__name__}:told"
    source = "canary_runs"
    method = "guesses"
    notion = {{name = "gdp"}}
    runs = 3
    grid = {{num_canaries = [60, 101]}}
    '''
    path.write_text(words)
    few, many = SweepSpec.from_file(path, [__name__]).entries
    assert (few.source.num_canaries, few.num_runs, many.method) == (60, 3, dpjax.Guesses())
    same = Entry(RUNS, dpjax.Guesses(), notion=dpjax.Gdp())
    np.testing.assert_array_equal(
        compute(many, range(3), 7)["lower_bound"], compute(same, range(3), 7)["lower_bound"]
    )
    path.write_text(words.replace("grid", "# grid"))
    message = str(refusal(SweepSpec.from_file, path, [__name__]))
    assert "num_canaries must be given for told, but was missing: write parameters = {" in message
    path.write_text(words.replace("canary_runs", "samples"))
    message = str(refusal(SweepSpec.from_file, path, [__name__]))
    assert "source must draw new outputs in every run, but 'samples' cannot: audit rec" in message


def test_a_sweep_needs_a_name():
    runs = dpjax.CanaryRuns(lambda included, seed: included * 1.0, 50)
    with pytest.raises(ValueError, match="importable by its name"):
        Entry(runs, dpjax.Guesses())


def test_coins_of_canaries_are_their_own_only_where_it_is_said():
    scores, included = np.arange(40.0), np.arange(40) % 3 == 0
    assert not dpjax.OneRun(scores, included).fair_coins
    assert dpjax.OneRun(scores, included, fair_coins=True).fair_coins


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda included: included, r"took \(included\)"),
        (lambda included, rng: included, r"took \(included, rng\)"),
        (lambda included, *, seed: included, r"took \(included, \*, seed\)"),
        (3, "was 3"),
    ],
)
def test_functions_of_another_form_are_refused(function, given):
    """Otherwise, the message would be that of a function that got an integer as its generator."""
    with pytest.raises(TypeError, match=rf"a function \(included, seed\) -> scores, but {given}"):
        dpjax.CanaryRuns(function, 50)


def test_functions_of_any_names_and_without_a_signature_are_called():
    for function in (lambda coins, number=3: coins, lambda *arguments: arguments[0], max):
        assert dpjax.CanaryRuns(function, 50).num_canaries == 50
