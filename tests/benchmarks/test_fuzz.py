"""The fuzzer runs, accepts some inputs of each kind, and detects errors."""

import json

import pytest

from benchmarks.fuzz import kinds
from benchmarks.fuzz.__main__ import is_own, run
from dpjax import Recording
from dpjax.sources.readers import read_samples

pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
pytest.importorskip("tomli_w")


@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", kinds.KINDS)
def test_some_inputs_of_each_kind(kind, tmp_path, monkeypatch):
    if kind == "stores":
        # Use the sizes of tests/sweeps/test_store.py, so that they share a program.
        spec = kinds._spec()
        sizes = {"num_samples": 300, "num_confirm": 700}
        spec["entries"][0] |= {"options": sizes, "pairs": [[0.0, 1.0]]}
        monkeypatch.setattr(kinds, "_spec", lambda: spec)
    cells, good = run(kind, 40 if kind != "stores" else 10, 5, tmp_path / "failures")
    assert good and int(cells[2]) + int(cells[3]) == int(cells[1])
    assert not (tmp_path / "failures").exists()


@pytest.mark.filterwarnings("ignore")
def test_a_wrong_result_and_a_foreign_error_are_seen(tmp_path, monkeypatch):
    def one_too_many(path):
        outputs = read_samples(path)
        return outputs[[0, *range(len(outputs))]]

    def foreign(path):
        raise KeyError(path)

    for wrong in (one_too_many, foreign):
        monkeypatch.setattr(kinds, "read_samples", wrong)
        _, good = run("recordings", 20, 5, tmp_path / wrong.__name__)
        assert not good and any((tmp_path / wrong.__name__).iterdir())


def test_errors_of_others_are_not_own():
    def error_of(call):
        try:
            call()
        except Exception as error:
            return error

    assert is_own(error_of(lambda: Recording("nowhere.csv")))
    assert not is_own(error_of(lambda: json.loads("[")))
    assert not is_own(error_of(lambda: {}["a"]))
