"""Tracebacks of failed tests show the test and the audited function, not dpjax."""

import traceback

import pytest

from dpjax.core.wording import BadValue
from dpjax.testing import assert_not_private, assert_private
from dpjax.testing._assertions import audit_in_test
from dpjax.testing._refusals import briefly

PAIRS = [(0.0, 1.0)]


def failing(database, num_samples, rng):
    raise RuntimeError("no connection")


def failing_in_jax(key, database):
    raise RuntimeError("no connection")


def shown(error):
    """Return the names of the functions in a traceback that pytest shows."""
    frames = traceback.walk_tb(error.__traceback__)
    return [f.f_code.co_name for f, _ in frames if not f.f_locals.get("__tracebackhide__")]


@pytest.mark.parametrize("function", [failing, failing_in_jax])
@pytest.mark.parametrize("check", [assert_private, assert_not_private])
def test_errors_of_a_function_have_its_frames_alone(function, check):
    with pytest.raises((ValueError, TypeError), match="no connection") as caught:
        check(function, epsilon=1.0, pairs=PAIRS)
    assert shown(caught.value) == ["test_errors_of_a_function_have_its_frames_alone"]
    assert shown(caught.value.__cause__)[-1] == function.__name__


@pytest.mark.parametrize("options", [{"epsilon": -1.0}, {"epsilon": 1.0, "pears": PAIRS}, {}])
def test_refused_arguments_have_no_frames_of_dpjax(options):
    with pytest.raises((ValueError, TypeError)) as caught:
        assert_private(failing, **options)
    assert len(shown(caught.value)) <= 2


def test_refused_arguments_of_the_fixture():
    with pytest.raises(ValueError, match="raised RuntimeError") as caught:
        audit_in_test(failing, PAIRS)
    assert shown(caught.value) == ["test_refused_arguments_of_the_fixture"]


def test_other_errors_keep_their_frames():
    """They may be defects of dpjax."""

    def defect(error):
        raise error

    for kind, expected in ((BadValue, False), (ValueError, True), (ZeroDivisionError, True)):
        with pytest.raises(kind) as caught:
            briefly(defect)(kind("x"))
        assert ("defect" in shown(caught.value)) == expected
