"""The note of an audit in which calls end with an error."""

import numpy as np
import pytest

import dpjax

FEW = dpjax.Events(400, 600)
PAIR = [(0.0, 1.0)]


def noted(result):
    return [note for note in result.notes if "ended with an error" in note]


def limited(allowed):
    """Return a service that answers `allowed` times and then raises errors."""
    calls = []

    def release(database, rng):
        calls.append(1)
        if len(calls) > allowed:
            raise PermissionError("quota")
        return database + rng.laplace()

    return release


def failing(share):
    def release(database, rng):
        if rng.random() < share[int(database)]:
            raise ValueError
        return database + rng.laplace()

    return release


def test_a_service_that_stops_answering_is_noted():
    result = dpjax.audit(limited(150), PAIR, claim=0.5, method=FEW)
    assert result.verdict == "doubtful" and len(noted(result)) == 1
    assert all("because a service refuses further calls." in doubt for doubt in result.doubts)


@pytest.mark.parametrize(
    ("share", "says_little"),
    [
        ((0.9, 0.9), [True]),
        ((0.6, 0.6), [True]),
        ((0.4, 0.9), [False]),
        ((0.9, 0.4), [False]),
        ((0.1, 0.12), [False]),
        ((0.0, 0.1), [False]),
        ((0.0, 0.0), []),
    ],
)
def test_errors_of_any_call_are_noted(share, says_little):
    """Of 1,400 calls, a fraction of .4 or .6 is on its side of .5 with probability 1 - 1e-6."""
    notes = noted(dpjax.audit(failing(share), PAIR, method=FEW))
    assert ["little about the other outputs" in note for note in notes] == says_little
    assert all("The first error was ValueError" in note for note in notes)


def test_one_note_counts_the_errors_of_all_pairs():
    pairs = [(0.0, 1.0), (0.0, 2.0), (1.0, 2.0)]
    method = dpjax.Sequential(num_draws=400)
    (note,) = noted(dpjax.audit(failing((0.1, 0.2, 0.0)), pairs, claim=0.5, method=method))
    assert "calls for the databases of 3 pairs ended with an error, and " in note
    assert " calls for their neighbors. The first error was ValueError." in note


def test_the_numbers_are_those_of_the_calls():
    counts = np.zeros((2, 2), int)

    def release(database, rng):
        fails = rng.random() < 0.8
        counts[int(database)] += fails, 1
        if fails:
            raise ValueError
        return database + rng.laplace()

    (note,) = noted(dpjax.audit(release, PAIR, method=FEW))
    (failed, calls), (failed_there, calls_there) = counts.tolist()
    assert note.startswith(
        f"{failed:,} of {calls:,} calls for the database ended with an error, and "
        f"{failed_there:,} of {calls_there:,} calls for its neighbor. "
    )


def test_there_is_no_verdict_if_every_call_fails():
    for method in (FEW, dpjax.Guesses(num_calls=80)):
        with pytest.raises(ValueError, match="every call ended with 'error: PermissionError'") as e:
            dpjax.audit(limited(0), PAIR, method=method)
        assert "The first error was PermissionError: quota. special='error' shows" in str(e.value)


class Odd(Exception):
    def __str__(self):
        raise ValueError


def sometimes(database, rng):
    if rng.random() < 0.2:
        raise OSError("no\n  \x1b[1mspace. " * 100) if database else Odd
    return rng.laplace()


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_first_error_is_quoted_even_if_few_calls_fail(workers):
    for pairs, said in (
        ([(1.0, 1.5)], "OSError: no [1mspace. no [1mspace. "),
        ([(0.0, -0.0)], "Odd."),
    ):
        function = dpjax.HostMechanism(sometimes, batched=False, workers=workers)
        for method in (dpjax.Guesses(num_calls=200), dpjax.Events(50, 50)):
            (note,) = noted(dpjax.audit(function, pairs, method=method))
            assert f"for its neighbor. The first error was {said}" in note
            assert len(note) < 350 and "little about the other outputs" not in note


def test_an_error_that_is_the_only_outcome_of_one_side_is_quoted():
    def release(database):
        if database:
            raise KeyError("a key")
        return "ok"

    found = dpjax.audit(release, PAIR, method=FEW, claim=1.0)
    assert found.verdict == "not random" and "The first error was KeyError: 'a key'." in str(found)
