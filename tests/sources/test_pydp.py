"""What dpjax reads from PyDP objects, tested with stand-ins that need no library."""

import pytest

import dpjax
from dpjax.notions import Epsilon
from dpjax.sources.libraries import _pydp


class Algorithm:
    epsilon, delta, dtype, linf_sensitivity = 0.5, 1e-6, "int", 3

    def quick_result(self, data):
        return sum(data)


def test_algorithms_of_pydp():
    handed = _pydp.read(Algorithm(), None)
    assert (handed.name, handed.notion, handed.claim) == ("PyDP Algorithm", Epsilon(1e-6), 0.5)
    assert handed.call((1, 2, 4)) == 7 and handed.plain is None
    assert handed.call.__name__ == "PyDP Algorithm"


@pytest.mark.parametrize(("dtype", "kind"), [("int", int), ("int64", int), ("float", float)])
def test_databases_of_pydp(monkeypatch, dtype, kind):
    asked = []
    monkeypatch.setattr(_pydp, "neighbors", lambda *parts: asked.append(parts))
    algorithm = Algorithm()
    algorithm.dtype = dtype
    _pydp.read(algorithm, None)
    algorithm.linf_sensitivity = "no"
    _pydp.read(algorithm, None)
    _pydp.read(algorithm, 2)
    (records, own, domain), (_, one, _), (_, given, _) = asked
    assert records == [0, 1, 2, 3, 4] and {type(record) for record in records} == {kind}
    assert [own, one, given] == [dpjax.databases.AddRemove(size) for size in (3, 1, 2)]
    bits = {"int": 32, "int64": 64}.get(dtype)
    assert domain.bounds == (None if bits is None else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))


class Additive:
    def __init__(self, epsilon, delta, sensitivity):
        self.epsilon = epsilon
        if delta:
            self.delta, self.l2_sensitivity = delta, sensitivity
        else:
            self.sensitivity = sensitivity

    def add_noise(self, value):
        return value + 1


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("d_in", [None, 0.5])
def test_mechanisms_of_pydp(monkeypatch, delta, d_in):
    asked = []
    monkeypatch.setattr(_pydp, "neighbors", lambda *parts: asked.append(parts))
    handed = _pydp.read(Additive(0.5, delta, 2.0), d_in)
    assert (handed.notion, handed.claim, handed.call(1)) == (Epsilon(delta), 0.5, 2)
    parameters = {"epsilon": 0.5, "sensitivity": 2.0} | ({"delta": delta} if delta else {})
    assert handed.plain == {"class": "Additive", "parameters": parameters}
    assert asked == [(0.0, dpjax.databases.Within(d_in or 2.0))]


def test_what_pydp_does_not_audit():
    with pytest.raises(TypeError, match="but was the class Algorithm"):
        _pydp.read(Algorithm, None)
    with pytest.raises(TypeError, match="but the object was of type int"):
        _pydp.read(3, None)
