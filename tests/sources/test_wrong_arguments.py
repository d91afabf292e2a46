"""Messages about arguments that are misspelled, missing or of the wrong type."""

import inspect
import pickle

import numpy as np
import pytest

import dpjax


def release(database, seed):
    return float(database)


def test_unknown_options_of_functions_are_explained():
    with pytest.raises(
        TypeError, match=r"^HostMechanism\(\) has no argument 'worker': did you mean"
    ):
        dpjax.HostMechanism(release, worker=4)
    source = dpjax.HostMechanism(release, batched=False)
    assert pickle.loads(pickle.dumps(source)) == source
    assert "workers" in inspect.signature(dpjax.HostMechanism).parameters


@pytest.mark.parametrize("claim", [True, np.False_])
def test_claims_that_are_booleans(claim):
    with pytest.raises(TypeError, match=r"a number or a curve, such as 1\.0, but was (True|False)"):
        dpjax.audit(release, [(0, 1)], claim=claim)


@pytest.mark.parametrize(("sides", "name"), [((None, None), "x"), (([1.5], None), "y")])
def test_recordings_that_are_none(sides, name):
    with pytest.raises(TypeError, match=f"^{name} must be outputs, but was None"):
        dpjax.Recorded(*sides)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["10,016.75", "9,020.5"], "a number with thousands separators"),
        (["-1,234,567", "9,020"], "a number with thousands separators"),
        (["1,5.25", "2,7.5"], "several entries, separated by ','"),
    ],
)
def test_numbers_with_thousands_separators(tmp_path, texts, said):
    for name in "xy":
        (tmp_path / f"{name}.csv").write_text("".join(f'"{text}"\n' for text in 20 * texts))
    with pytest.raises(ValueError, match=said):
        dpjax.audit(dpjax.Recorded(*(dpjax.Recording(tmp_path / f"{name}.csv") for name in "xy")))
