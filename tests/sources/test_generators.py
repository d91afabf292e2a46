"""Generators of which several workers have copies, so that their outputs are not independent."""

import functools
import random
import sys
import types

import numpy as np
import pytest

import dpjax
from dpjax.sources import _generators
from dpjax.sources._generators import draw_noting_generators, shared_generator

CODE = """
import random
import time

import numpy as np

NOISE, OTHER, SYSTEM = np.random.default_rng(7), random.Random(7), random.SystemRandom()


def release(database):
    time.sleep(0.05)
    return database + NOISE.laplace()


def fresh(database):
    time.sleep(0.05)
    return database + np.random.default_rng().laplace()


def of_the_system(database):
    time.sleep(0.05)
    return database + np.random.laplace() + random.random() + SYSTEM.random()
"""


@pytest.fixture(autouse=True)
def states():
    """The states of the global generators, which other tests may use."""
    before = random.getstate(), np.random.get_state()
    yield
    random.setstate(before[0])
    np.random.set_state(before[1])


def new_process(monkeypatch):
    """The module as a new worker imports it, where no function has been called yet."""
    module = types.ModuleType("noisy_module")
    exec(CODE.replace("0.05", "0"), module.__dict__)
    monkeypatch.setitem(sys.modules, "noisy_module", module)
    monkeypatch.setattr(_generators, "_FIRST", {})
    return module


def drawn(function, process, count=1):
    def draw(number):
        return [function(0.0) for _ in range(number)]

    return draw_noting_generators(draw, function, count)._replace(process=process)


def test_a_generator_with_equal_first_states_in_two_workers_is_named(monkeypatch):
    seen = {}
    module = new_process(monkeypatch)
    # A worker may use its own generator for many batches, of any function of the module.
    for function in (module.release, functools.partial(module.release), module.fresh):
        assert shared_generator(seen, drawn(function, process=1, count=3)) is None
    module = new_process(monkeypatch)
    assert shared_generator(seen, drawn(module.fresh, process=2)) is None
    assert shared_generator(seen, drawn(module.release, process=2)) == "noisy_module.NOISE"


def test_generators_that_differ_or_are_not_used_are_not_shared(monkeypatch):
    module, seen = new_process(monkeypatch), {}
    assert drawn(module.fresh, 1).used == {}
    for process in (1, 2):
        random.seed(process)
        np.random.seed(process)
        monkeypatch.setattr(_generators, "_FIRST", {})
        found = drawn(module.of_the_system, process)
        assert [*found.used] == ["random", "numpy.random"] and len(found.batch) == 1
        assert shared_generator(seen, found) is None
    np.random.seed(1)
    monkeypatch.setattr(_generators, "_FIRST", {})
    assert shared_generator(seen, drawn(module.of_the_system, 3)) == "numpy.random"


class TorchGenerator:
    """Behaves like a generator of PyTorch."""

    def __init__(self, state):
        self.state = state

    def __call__(self, database):
        self.state += 1
        return database + self.state

    def get_state(self):
        return self

    def numpy(self):
        return np.array([self.state])


@pytest.mark.parametrize("name", ["torch.default_generator", "noisy_module.TORCH"])
def test_generators_of_pytorch_are_compared(name, monkeypatch):
    # Older versions of PyTorch cannot pickle generators.
    monkeypatch.setattr(TorchGenerator, "__reduce__", None)
    seen, found = {}, []
    for process, state in enumerate((1, 2, 2)):
        noise = TorchGenerator(state)
        torch = types.SimpleNamespace(Generator=TorchGenerator, default_generator=noise)
        monkeypatch.setitem(sys.modules, "torch", torch)
        module = new_process(monkeypatch)
        if name == "noisy_module.TORCH":
            module.TORCH, torch.default_generator = noise, TorchGenerator(0)
        noise.__module__ = "noisy_module"
        found.append(shared_generator(seen, drawn(noise, process)))
    assert found == [None, None, name]


def test_workers_refuse_a_generator_of_pytorch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Generator=TorchGenerator))
    with pytest.raises(ValueError, match=r"workers need .* no random generator, but .* \(Torch"):
        dpjax.HostMechanism(TorchGenerator(1), batched=False, workers=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["release", "fresh", "of_the_system"])
def test_workers_refuse_a_seed_that_their_module_sets(name, tmp_path, monkeypatch):
    """Every output would occur twice, so bounds would exceed the level too often."""
    (tmp_path / "noisy_module.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "noisy_module", raising=False)
    module = __import__("noisy_module")
    source = dpjax.HostMechanism(getattr(module, name), batched=False, workers=2)
    method = dpjax.Sequential(100)
    if name != "release":
        assert dpjax.audit(source, [(0.0, 1.0)], method=method, claim=2.0).lower_bound < 2
        return
    with pytest.raises(ValueError, match=r"generator noisy_module\.NOISE has the same state in"):
        dpjax.audit(source, [(0.0, 1.0)], method=method, claim=2.0)
