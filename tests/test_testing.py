"""`dpjax.testing`: assertions, their messages, budgets of time, and the pytest plugin."""

import os
import subprocess
import sys
import time
from pathlib import Path

import jax
import pytest

import dpjax
from dpjax import testing
from dpjax.mechanisms import Laplace
from dpjax.testing._budget import Sizes, audit_within, sizes_of

ROOT = Path(dpjax.__file__).parents[1]
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


def test_a_budget_of_time_is_spent(monkeypatch):
    """With a clock of its own: 2 s to compile each size, 1e6 draws a second."""
    now, seen = [0.0], []
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def audit(sizes):
        draws = 2 * (sizes.num_samples + sizes.num_confirm)
        now[0] += draws / 1e6 + 0.05 + (0.0 if sizes in seen else 2.0)
        seen.append(sizes)
        return sizes

    last = audit_within(30.0, 1, audit)
    assert 20.0 < now[0] < 30.0
    assert last == seen[-1] == max(seen)
    seen.clear()
    now[0] = 0.0
    audit_within(1.0, 1, audit)
    assert len(seen) == 1


PROJECT = """
import jax
from dpjax.testing import assert_private

def right(key, count):
    return count + jax.random.laplace(key)

def too_small(key, count):
    return count + 0.8 * jax.random.laplace(key)

def test_right():
    assert_private(right, 1.0, pairs=[(0.0, 1.0)])

def test_too_small():
    assert_private(too_small, 1.0, pairs=[(0.0, 1.0)])

def test_no_audit():
    pass
"""


def run_pytest(folder, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "pytest_dpjax", "-q", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def test_the_plugin_in_a_project(tmp_path):
    """A scale that is 20% too small is caught, the right one passes, and both are in the table."""
    (tmp_path / "test_project.py").write_text(PROJECT)
    done = run_pytest(tmp_path, "--dpjax-budget", "12")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 2 passed" in done.stdout
    assert "too_small is not 1-differentially private" in done.stdout
    table = done.stdout.split("dpjax audits")[1].splitlines()
    rows = {line.split()[0]: line for line in table if line.strip()}
    assert rows["right"].endswith("not refuted") and rows["too_small"].endswith("violated")


def test_a_bad_budget_is_an_error_of_use(tmp_path):
    (tmp_path / "test_project.py").write_text("def test_nothing():\n    pass\n")
    done = run_pytest(tmp_path, "--dpjax-budget", "soon")
    assert done.returncode == 4 and "--dpjax-budget must be a number of seconds" in done.stderr


def test_the_plugin_does_not_import_jax():
    code = "import sys, pytest_dpjax; print('jax' in sys.modules, 'dpjax' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]
