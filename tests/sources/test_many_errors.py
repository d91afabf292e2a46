"""The note of an audit in which most calls end with an error."""

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
    ("share", "expected"),
    [((0.9, 0.9), 1), ((0.6, 0.6), 1), ((0.4, 0.9), 0), ((0.9, 0.4), 0), ((0.0, 0.0), 0)],
)
def test_the_note_needs_errors_on_both_sides(share, expected):
    """Of 1,400 calls, a fraction of .4 or .6 is on its side of .5 with probability 1 - 1e-6."""
    assert len(noted(dpjax.audit(failing(share), PAIR, method=FEW))) == expected


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
    with pytest.raises(ValueError, match="every call ended with 'error: PermissionError'"):
        dpjax.audit(limited(0), PAIR, method=FEW)
