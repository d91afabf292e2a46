"""Reading a sweep or a store does not run its author's code unless the module is allowed."""

import json
import sys

import pytest

from dpjax.sweeps import Store, SweepSpec

MODULE = """
import subprocess
from pathlib import Path
from subprocess import run
import jax

Path(__file__).with_suffix(".ran").touch()
copied = subprocess.Popen
number = 3


def noise(key, count):
    return count + jax.random.laplace(key)


@jax.jit
def compiled(key, count):
    return count + jax.random.laplace(key)


class Plain:
    def __init__(self, **given):
        Path(__file__).with_suffix(".made").touch()
"""


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """Return an importable module that writes a file when it is imported."""
    (tmp_path / "planted_mechanisms.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "planted_mechanisms.ran"
    sys.modules.pop("planted_mechanisms", None)


def spec_of(mechanism, **more):
    options = {"num_samples": 100, "num_confirm": 100}
    entry = {"mechanism": mechanism, "pairs": [[0.0, 1.0]], "runs": 2, "options": options, **more}
    return {"name": "s", "entries": [entry]}


def stored(folder, content):
    """Return a store with a manifest written by its author."""
    (folder / "store").mkdir()
    manifest = {"format": 6, "spec": content}
    (folder / "store" / "manifest.json").write_text(json.dumps(manifest))
    return folder / "store"


@pytest.mark.parametrize("name", ["planted_mechanisms:noise", "planted_mechanisms:Plain"])
def test_nothing_is_imported(planted, tmp_path, name):
    content = spec_of(name)
    with pytest.raises(ValueError, match=r"would import code.*--allow-import planted_mechanisms"):
        SweepSpec.from_dict(content)
    with pytest.raises(ValueError, match=r"the sweep in .* cannot be read: .* would import code"):
        Store.open(stored(tmp_path, content))
    with pytest.raises(ValueError, match="would import code"):
        SweepSpec.from_dict(content, ["planted", "planted_mechanisms.inner", "json"])
    assert "planted_mechanisms" not in sys.modules and not planted.exists()


def test_a_program_in_a_spec_is_not_run(tmp_path):
    """The program `touch` would create the file, during reading and in `sweep status`."""
    trace = tmp_path / "trace"
    content = spec_of("subprocess:Popen", parameters={"args": ["touch", str(trace)]})
    for allowed in ((), ["subprocess"]):
        with pytest.raises((ValueError, TypeError), match=r"would import code|must be a dataclass"):
            SweepSpec.from_dict(content, allowed)
    content = spec_of("os:system", parameters={"command": f"touch {trace}"})
    with pytest.raises((ValueError, TypeError), match="must be a dataclass"):
        SweepSpec.from_dict(content, ["os"])
    assert not trace.exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("run", "to the module 'subprocess', which was not allowed"),
        ("copied", "must be a dataclass with output_space and sample, or a function"),
        ("number", "or a function, but was 3"),
        ("Plain", "must be a dataclass with output_space and sample"),
        ("absent", "cannot be imported"),
        ("__class__.mro", "cannot be imported"),
    ],
)
def test_what_is_no_mechanism_is_not_called(planted, tmp_path, name, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SweepSpec.from_dict(spec_of(f"planted_mechanisms:{name}"), ["planted_mechanisms"])
    assert not planted.with_suffix(".made").exists()


@pytest.mark.parametrize("name", ["noise", "compiled"])
def test_allowed_functions_are_read(planted, tmp_path, name):
    content = spec_of(f"planted_mechanisms:{name}")
    spec = SweepSpec.from_dict(content, ["planted_mechanisms"])
    assert spec.modules == {"planted_mechanisms"}
    store = Store.create(tmp_path / "new", spec)
    assert Store.open(store.folder, spec.modules).spec == spec
    with pytest.raises(ValueError, match="has no 'args'"):
        SweepSpec.from_dict(
            spec_of(f"planted_mechanisms:{name}", parameters={"args": 1}), ["planted_mechanisms"]
        )
