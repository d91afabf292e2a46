"""`dpjax plan`: the assumptions it supports, and the display of times."""

from types import SimpleNamespace

import pytest

from dpjax.cli import _plan, _sweep
from dpjax.inference import InputInterval, plan, plan_finite

NOTHING = dict.fromkeys(
    [*_plan._COMMON, *_plan._INTERVAL, *_plan._INPUTS, "num_inputs", "num_outputs",
     "least_probability"]
)  # fmt: skip
ASKED = {**NOTHING, "precision": 0.1, "confidence": 0.95, "bound": "all-intervals",
         "max_samples": 2**53}  # fmt: skip


def common():
    return {name: ASKED[name] for name in _plan._COMMON}


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.01234, "0.0123 s"), (119.9, "120 s"), (120, "2 minutes"), (7199, "120 minutes"),
        (7200, "2 hours"), (86_400, "24 hours"), (172_799, "48 hours"), (172_800, "2 days"),
        (1e9, "1.16e+04 days"),
    ],
)  # fmt: skip
def test_durations(seconds, said):
    assert _plan._duration(seconds) == said


def test_the_time_stands_before_the_last_row():
    planned = SimpleNamespace(rows=lambda: [("a", "1"), ("long name", "2"), ("c", "3")])
    assert _plan._text(planned, 90.0).splitlines() == [
        "a                 1", "long name         2", "time here, about  90 s",
        "c                 3",
    ]  # fmt: skip


def test_plans_of_intervals():
    given = {**ASKED, "lipschitz": 0.5, "width": 1.5}
    assert _plan._planned(given) == plan(lipschitz=0.5, width=1.5, inputs=2, **common())
    assert _plan._planned({**given, "num_inputs": 3}) == plan(
        lipschitz=0.5, width=1.5, inputs=3, **common()
    )
    inputs = {"input_lipschitz": 0.1, "input_width": 2.0}
    assert _plan._planned({**given, **inputs}) == plan(
        lipschitz=0.5, width=1.5, inputs=InputInterval(2.0, 0.1), **common()
    )


def test_plans_of_finitely_many_outputs():
    given = {**ASKED, "num_outputs": 4, "least_probability": 0.1}
    asked = {"num_outputs": 4, "least_probability": 0.1}
    assert _plan._planned(given) == plan_finite(**asked, **common())
    assert _plan._planned({**given, "num_inputs": 5}) == plan_finite(
        **asked, num_inputs=5, **common()
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "^one assumption must be given: --lipschitz for outputs in an interval, or"),
        ({"least_probability": 0.1}, "^--least-probability applies only to finitely many"),
        ({"num_outputs": 4, "lipschitz": 0.5}, "^--num-outputs is for finitely many outputs, and"),
        ({"num_outputs": 4, "width": 0.5}, "^--num-outputs is for finitely many outputs, and"),
        ({"num_outputs": 4, "input_width": 1.0}, "^--num-outputs is for finitely many outputs"),
        ({"lipschitz": 0.5, "input_width": 1.0}, r"but only --input-width was given\.$"),
        ({"lipschitz": 0.5, "input_lipschitz": 1.0}, r"but only --input-lipschitz was given\.$"),
        ({"lipschitz": 0.5, "num_inputs": 1}, "num_inputs must be an integer >= 2, but was 1"),
        ({"lipschitz": 0.5, "input_lipschitz": 0.1, "input_width": 1.0, "num_inputs": 3},
         "^--num-inputs must be left out with --input-lipschitz, but was 3"),
    ],
)  # fmt: skip
def test_plans_that_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        _plan._planned({**ASKED, **given})


def test_devices_into_which_the_cpu_is_divided(monkeypatch):
    import jax

    told = []
    monkeypatch.setattr(jax.config, "update", lambda *given: told.append(given))
    _sweep.part_cpu(3), _sweep.part_cpu(None), _sweep.part_cpu(1)
    assert told == [("jax_num_cpu_devices", n) for n in (3, None, 1)]
    with pytest.raises(ValueError, match=r"^--devices must be at least 1, but was 0\.$"):
        _sweep.part_cpu(0)


@pytest.mark.parametrize("address", ["local", "local:", "local:0", "local:two", "local:-1"])
def test_numbers_of_dask_workers(address):
    pytest.importorskip("dask.distributed")
    with (
        pytest.raises(ValueError, match=r"^--dask local:WORKERS must end in the number of workers"),
        _sweep._dask(address),
    ):
        pass
