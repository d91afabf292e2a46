"""Names of mechanisms, their parameters as plain values, and reconstruction."""

import dataclasses
import functools
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax
from dpjax.core.types import RealSpace
from dpjax.mechanisms import CATALOGUE, Laplace, named

HERE = __name__


def noise(key, database):
    return database + jax.random.laplace(key)


def coin(key, database):
    return jax.random.bernoulli(key).astype(jnp.int32) + 0 * database


@functools.wraps(noise)
def wrapped(key, database):
    return noise(key, database)


compiled = jax.jit(noise)
number = 3
imported_class = dict


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Shifted:
    amount: float = 1.0
    output_space = RealSpace()

    def sample(self, key, database, num_samples):
        return database + self.amount + jax.random.laplace(key, num_samples)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Faulty(Laplace):
    """A subclass of a built-in mechanism, with its own sampler."""

    def sample(self, key, database, num_samples):
        return database + 0.5 * jax.random.laplace(key, (num_samples,))


class NoDataclass:
    output_space = RealSpace()

    def sample(self, key, database, num_samples):
        return jnp.zeros(num_samples)


@dataclass
class NoSpace:
    def sample(self, key, database, num_samples):
        return jnp.zeros(num_samples)


ZERO = np.float64(0.0)


def test_names():
    assert named.name_of(Laplace()) == "laplace" == named.mechanism_name(Laplace())
    assert named.name_of(dpjax.from_function(noise, ZERO)) == "noise"
    assert named.name_of(noise) == "noise"
    assert named.mechanism_name(dpjax.from_function(noise, ZERO)) == f"{HERE}:noise"
    assert named.mechanism_name(Shifted()) == f"{HERE}:Shifted"
    # A subclass must not be stored as the built-in mechanism, which is correct.
    assert named.mechanism_name(Faulty(2.0)) == f"{HERE}:Faulty"
    assert named.mechanism_parameters(Faulty(2.0)) == {"epsilon": 2.0}
    for lost in (lambda key, x: x, SimpleNamespace(function=lambda: 0)):
        with pytest.raises(
            ValueError, match="mechanism must be importable by its name for a sweep"
        ):
            named.mechanism_name(SimpleNamespace(function=getattr(lost, "function", lost)))
    main = type("Main", (), {"__module__": "__main__"})
    with pytest.raises(ValueError, match="but was __main__:Main: define it at the top level"):
        named.mechanism_name(main())


def test_a_name_of_its_own_is_not_that_of_the_catalogue():
    """Also, only mechanisms of the catalog have standard pairs."""
    named_one = dataclasses.make_dataclass("NamedOne", [], namespace={"name": "laplace"})
    named_one.__module__ = HERE
    assert named.mechanism_name(named_one()) == f"{HERE}:NamedOne"
    assert named.name_of(named_one()) == "laplace"


def test_parameters_as_plain_values():
    assert named.parameters_of(Laplace(2.0)) == {"epsilon": 2.0}
    assert named.parameters_of(noise) == {}
    assert named.parameters_of(dpjax.from_function(noise, ZERO)) == {}

    @dataclass
    class Many:
        integer: int = 2
        flag: bool = True
        short: object = None
        long: object = None
        square: object = None
        text: str = "word"

    found = named.parameters_of(
        Many(short=np.arange(20.0), long=np.arange(21.0), square=np.zeros((3, 7)), text=noise)
    )
    assert found == {
        "integer": 2, "flag": True, "short": [*range(20)], "long": "21 numbers of shape [21]",
        "square": "21 numbers of shape [3, 7]", "text": "noise",
    }  # fmt: skip
    assert named._plain("word") == "word" and named._plain(object) == "object"
    assert named._plain(np.float32(0.5)) == 0.5 and named._plain([[1, 2]]) == [[1.0, 2.0]]


def test_arguments_from_which_a_mechanism_is_made_again():
    assert named.mechanism_parameters(Laplace(2.0)) == {"epsilon": 2.0}
    assert named.mechanism_parameters(dpjax.from_function(noise, ZERO)) == {}
    several = dpjax.from_function(coin, np.int32(0), num_outcomes=3)
    assert named.mechanism_parameters(several) == {"num_outcomes": 3}
    assert named.mechanism_parameters(Shifted(4.0)) == {"amount": 4.0}


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_catalogue_entries_are_made_again(name):
    made = CATALOGUE[name]()
    found = named.mechanism_from_plain(name, named.mechanism_parameters(made), None)
    assert type(found) is CATALOGUE[name]
    assert named.mechanism_parameters(found) == named.mechanism_parameters(made)


def test_own_mechanisms_are_made_again():
    make = functools.partial(named.mechanism_from_plain, allow_import=[HERE])
    assert make(f"{HERE}:Shifted", {"amount": 4.0}, None) == Shifted(4.0)
    for name in ("noise", "wrapped", "compiled"):
        found = make(f"{HERE}:{name}", {}, ZERO)
        assert named.mechanism_name(found) == f"{HERE}:noise"
    assert make(f"{HERE}:coin", {"num_outcomes": 3}, np.int32(0)).output_space.size == 3
    with pytest.raises(ValueError, match=rf"^pairs must be given for the function {HERE}:noise\.$"):
        make(f"{HERE}:noise", {}, None)


@pytest.mark.parametrize(
    "name, parameters, error, words",
    [
        (3, {}, TypeError, "^mechanism must be a name, but was 3.$"),
        ("lapalce", {}, ValueError, "lapalce"),
        ("laplace", {"sigma": 1.0}, ValueError, "the mechanism laplace.*sigma"),
        (f"{HERE}:Shifted", {"other": 1.0}, ValueError, f"the mechanism {HERE}:Shifted.*other"),
        (f"{HERE}:noise", {"amount": 1.0}, ValueError, f"the mechanism {HERE}:noise.*amount"),
        (f"{HERE}:Shifted", {"num_outcomes": 2}, ValueError, "num_outcomes"),
        (f"{HERE}:nothing", {}, ValueError, f"{HERE}:nothing' cannot be imported: module"),
        (f"{HERE}:number", {}, TypeError, "must be a dataclass with output_space and sample, or a"),
        (f"{HERE}:NoDataclass", {}, TypeError, "or a function, but was <class"),
        (f"{HERE}:NoSpace", {}, TypeError, "or a function, but was <class"),
        (f"{HERE}:imported_class", {}, TypeError, "or a function, but was <class 'dict'>"),
        (f"{HERE}:pytest", {}, TypeError, "or a function, but was <module"),
        ("json:loads", {}, ValueError, r"would import code.*allow_import=\['json'\]"),
        (f"{HERE}s:noise", {}, ValueError, "would import code"),
        (f"{HERE}.part:noise", {}, ValueError, "part:noise' cannot be imported: "),
    ],
)
def test_names_that_are_refused(name, parameters, error, words):
    with pytest.raises(error, match=words):
        named.mechanism_from_plain(name, parameters, ZERO, allow_import=[HERE])


def test_names_that_a_module_imported_from_elsewhere(monkeypatch):
    monkeypatch.setattr(sys.modules[HERE], "borrowed", named.imported, raising=False)
    with pytest.raises(
        ValueError, match=r"belongs to the module 'dpjax\.mechanisms\.named', which"
    ):
        named.imported(f"{HERE}:borrowed", [HERE])
    assert named.imported(f"{HERE}:borrowed", [HERE, "dpjax"]) is named.imported


def test_mechanisms_as_json():
    plain = named.mechanism_to_plain
    assert plain(Laplace(2.0)) == {"name": "laplace", "parameters": {"epsilon": 2.0}}
    assert plain(Shifted(2.0)) == {"name": f"{HERE}:Shifted", "parameters": {"amount": 2.0}}
    assert plain(noise) == {"name": f"{HERE}:noise", "parameters": {}}
    assert plain(lambda key, x: x) is None
    # A file cannot contain an array as a parameter.
    assert plain(Shifted(np.arange(2.0))) is None
    assert plain(dpjax.from_function(lambda key, x: x + 0.0, ZERO)) is None


@pytest.mark.parametrize(
    "module, name, path",
    [
        ("m", "f", "m:f"), ("a.b", "f", "a.b:f"), ("", "f", None), ("__main__", "f", None),
        ("m", "f.<locals>.g", None), ("m", "", None), ("m", "A.f", None),
    ],
)  # fmt: skip
def test_paths_of_functions(module, name, path):
    assert named.path_of(SimpleNamespace(__module__=module, __qualname__=name)) == path
