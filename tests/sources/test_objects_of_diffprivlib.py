"""What dpjax reads from objects of diffprivlib, tested with stand-ins with their attributes."""

import functools
import warnings

import numpy as np
import pytest
from stand_ins import kind, pretend

from dpjax import Epsilon
from dpjax.sources.libraries import LibraryMechanism, _diffprivlib
from dpjax.sources.libraries._diffprivlib import (
    _content,
    _fitted,
    _is_number,
    _parameters,
    made,
    read,
)

ACCOUNTANT = "a new ledger"


@pytest.fixture(autouse=True)
def accountant(monkeypatch):
    monkeypatch.setattr(_diffprivlib, "_accountant", lambda: ACCOUNTANT)


class Mechanism:
    """A mechanism that adds one and has its own generator."""

    def __init__(self, epsilon, delta=0.0, sensitivity=1.0, random_state=None):
        self.epsilon, self.delta, self.sensitivity = epsilon, delta, sensitivity
        self.random_state = random_state

    def randomise(self, value):
        return value + 1


class Geometric(Mechanism):
    """A mechanism for integers."""


class Bounded(Mechanism):
    """A mechanism for numbers between two ends."""

    lower, upper = 1.0, 4.0


class GaussianDiscrete(Bounded):
    """A mechanism for integers between two ends."""

    lower, upper = 1, 4


class Bingham(Mechanism):
    """A mechanism for symmetric matrices."""


class Binary(Mechanism):
    """A mechanism for two values."""

    value0, value1 = "no", "yes"


class Categorical(Mechanism):
    """A mechanism for values with utilities."""

    utility_list = (("b", "a", 1.0), ("c", "b", 2.0))


class Exponential:
    """A mechanism that returns the index of the largest utility."""

    def __init__(self, epsilon, utility, sensitivity):
        self.epsilon, self.delta, self.utility, self.sensitivity = (
            epsilon,
            None,
            utility,
            sensitivity,
        )

    def randomise(self):
        return int(np.argmax(self.utility)), self.epsilon


def test_a_mechanism():
    handed = read(Mechanism(0.5, 1e-3, 2.0, 7), None)
    assert (handed.name, handed.notion, handed.claim) == (
        "diffprivlib Mechanism", Epsilon(1e-3), 0.5,
    )  # fmt: skip
    assert handed.call(3) == 4 and handed.call.__name__ == handed.name
    parameters = {"epsilon": 0.5, "delta": 1e-3, "sensitivity": 2.0}
    assert handed.plain == {"class": "Mechanism", "parameters": parameters}
    assert handed.anew()(3) == 4
    assert max(abs(x - y) for x, y in handed.pairs) == 2.0
    assert max(abs(x - y) for x, y in read(Mechanism(0.5), 0.25).pairs) == 0.25
    assert _parameters(Mechanism(0.5, random_state=7))["random_state"] == 7
    odd = Mechanism(0.5, 0.0, object())
    assert read(odd, None).plain is None and read(odd, None).pairs is None
    assert read(odd, 2).pairs is not None
    listed = Mechanism(0.5, 0.0, [1.0, (2, "a")])
    assert read(listed, None).plain["parameters"]["sensitivity"] == [1.0, (2, "a")]
    for sensitivity in (0.0, -1.0, float("nan"), None):
        assert read(Mechanism(0.5, 0.0, sensitivity), None).pairs is None


class Boosted(Exponential):
    """A mechanism that does not store an argument of its constructor."""

    def __init__(self, epsilon, utility, sensitivity, boost=1.0):
        super().__init__(epsilon, utility, sensitivity)
        self._scale = boost


def test_mechanisms_that_cannot_be_created_anew_are_refused():
    changed = Exponential(1.0, [1, 2], 1.0)
    changed.randomise = lambda: 0
    for mechanism, names in ((changed, "randomise"), (Boosted(1.0, [1, 2], 1.0, 5.0), "_scale")):
        with pytest.raises(ValueError, match=f"differs from a new one in {names}: audit a funct"):
            read(mechanism, None)
    assert read(Boosted(1.0, [1, 2], 1.0), None).call([1.0, 3.0]) == (1, 1.0)


def test_changed_mechanisms_are_not_stored_in_recipes():
    mechanism = Mechanism(1.0)
    mechanism.scale = 9.0
    assert read(mechanism, None).plain is None


@pytest.mark.parametrize("change", ["subclass", "method"])
def test_mechanisms_of_users_are_not_stored_in_recipes(monkeypatch, change):
    pretend(monkeypatch, "diffprivlib.mechanisms")
    own = type("Laplace", (Mechanism,), {"__module__": "diffprivlib.mechanisms"})
    assert LibraryMechanism(own(1.0)).to_plain()["object"]["class"] == "Laplace"
    if change == "subclass":
        changed = type("Laplace", (own,), {"__module__": "release"})(1.0)
    else:
        changed = own(1.0)
        changed.randomise = lambda value: value
    assert LibraryMechanism(changed).to_plain() is None


def sides(handed):
    return {value for pair in handed.pairs for value in (pair[0], pair[1])}


def test_inputs_of_mechanisms():
    assert all(isinstance(value, int) for value in sides(read(Geometric(1.0), None)))
    assert all(isinstance(value, float) for value in sides(read(Mechanism(1.0), None)))
    for mechanism, ends in ((Bounded(1.0), (1.0, 4.0)), (GaussianDiscrete(1.0), (1, 4))):
        found = sides(read(mechanism, None))
        assert (min(found), max(found)) == ends
        assert {type(value) for value in found} == {type(ends[0])}
        middle = mechanism.lower + 1.5
        assert any(abs(value - middle) <= 1.5 for value in found)
    # No numbers are proposed for a mechanism of matrices: every call would fail.
    assert read(Bingham(1.0), None).pairs is None and read(Bingham(1.0), 2.0).pairs is None
    assert sides(read(Binary(1.0), None)) == {"no", "yes"}
    assert sides(read(Categorical(1.0), None)) == {"a", "b", "c"}


def test_utilities_are_databases():
    mechanism = Exponential(0.5, [1, 3, 2], 0.25)
    handed = read(mechanism, None)
    assert handed.call((5.0, 1.0)) == (0, 0.5) and mechanism.utility == [1, 3, 2]
    assert handed.notion == Epsilon(0.0)
    for first, second in handed.pairs:
        assert len(first) == len(second) == 3
        assert max(abs(a - b) for a, b in zip(first, second, strict=True)) <= 0.25
    assert handed.plain["parameters"] == {"epsilon": 0.5, "utility": [1, 3, 2], "sensitivity": 0.25}


def mean(array, epsilon=0.75, accountant=None):
    warnings.warn("no bounds", stacklevel=1)
    return np.mean(array), epsilon, accountant


def plain(array, epsilon=0.25):
    return sum(array)


def test_tools():
    handed = read(mean, None)
    assert (handed.name, handed.notion, handed.claim) == ("diffprivlib mean", Epsilon(), 0.75)
    assert handed.pairs is handed.plain is handed.anew is None
    assert handed.call([1.0, 3.0]) == (2.0, 0.75, ACCOUNTANT)
    fixed = read(functools.partial(mean, epsilon=2), None)
    assert fixed.claim == 2.0 and fixed.name == "diffprivlib mean"
    assert fixed.call([1.0, 3.0]) == (2.0, 2, ACCOUNTANT)
    assert read(plain, None).call([1, 2]) == 3


class Model:
    """A model whose fit stores its arguments."""

    def __init__(self, epsilon=1.5):
        self.epsilon, self.accountant, self.random_state = epsilon, None, [0]

    def fit(self, *data):
        warnings.warn("no bounds", stacklevel=1)
        self.random_state[0] += 1
        self.data_, self.count_, self._hidden_ = data[0], len(data), 3
        self.n_features_in_, self.used_ = 9, self.accountant == ACCOUNTANT


class Bare:
    """A model without an accountant and without a generator."""

    epsilon = 0.5

    def fit(self, data):
        self.sum_ = sum(data)


def test_a_bound_method_is_its_mechanism():
    handed = read(Geometric(0.5).randomise, None)
    assert (handed.name, handed.claim) == ("diffprivlib Geometric", 0.5)
    assert handed.call(3) == 4 and handed.pairs is not None


@pytest.mark.parametrize("function", [len, Model().fit, functools.partial(mean, [1.0], 2.0)])
def test_functions_without_an_epsilon_state_no_claim(function):
    with pytest.raises(TypeError, match=r"only if its parameter epsilon has a value, but"):
        read(function, None)


def test_models():
    model = Model()
    handed = read(model, None)
    assert (handed.name, handed.notion, handed.claim) == ("diffprivlib Model", Epsilon(), 1.5)
    alone = handed.call(np.array([[1, 2]]))
    assert sorted(alone) == ["count_", "data_", "used_"]
    assert alone["data_"].tolist() == [1, 2] and alone["count_"].tolist() == [1]
    assert alone["used_"].tolist() == [1]
    assert handed.call((np.array([1.0]), np.array([2.0])))["count_"].tolist() == [2]
    # The generator is shared, but the model itself is not fitted.
    assert model.random_state == [2] and not hasattr(model, "data_") and model.accountant is None
    assert read(Bare(), None).call([1, 2])["sum_"].tolist() == [3]


def test_contents_of_fitted_attributes():
    assert _content(None) is None and _content("a") == "a"
    assert _content(True).tolist() == [1.0] and _content(np.int8(3)).tolist() == [3.0]
    assert _content(np.arange(4).reshape(2, 2)).tolist() == [0, 1, 2, 3]
    nested = _content([1, ("a", None), {2: [3.5]}])
    assert nested[0].tolist() == [1] and nested[1] == ["a", None]
    assert [*nested[2]] == ["2"] and nested[2]["2"][0].tolist() == [3.5]
    table = np.array([(1, 2.5)], dtype=[("a", int), ("b", float)])
    assert {name: part.tolist() for name, part in _content(table).items()} == {"a": [1], "b": [2.5]}
    words = _content(np.array([["u", "v"], ["w", "x"]]))
    assert words == ["u", "v", "w", "x"]
    inner = Bare()
    inner.fit([4])
    assert _content(inner)["sum_"].tolist() == [4.0] and _fitted(inner)["sum_"].tolist() == [4.0]

    class Tree:
        def __getstate__(self):
            return {"nodes": np.arange(2)}

    class Odd:
        def __getstate__(self):
            return (1, 2)

    assert _content(Tree())["nodes"].tolist() == [0, 1] and _content(Odd()) == "Odd"
    assert _is_number(np.zeros(2, bool)) and _is_number(1) and not _is_number(np.array(["a"]))
    assert not _is_number(np.array([None])) and not _is_number("1")


def test_mechanisms_are_made_again(monkeypatch):
    pretend(monkeypatch, "diffprivlib.mechanisms", Mechanism=Mechanism)
    found = made({"class": "Mechanism", "parameters": {"epsilon": 2.0, "sensitivity": 3.0}})
    assert isinstance(found, Mechanism) and (found.epsilon, found.sensitivity) == (2.0, 3.0)


def test_what_is_no_object():
    with pytest.raises(TypeError, match="only if it is a mechanism, a model or a tool, but the"):
        read(kind("diffprivlib", "Other")(), None)
    with pytest.raises(TypeError, match="an instance, but was the class Mechanism"):
        read(Mechanism, None)
