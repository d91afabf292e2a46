"""Digests of mechanisms and pairs, which decide whether an earlier audit can be continued."""

import sys
import types
from functools import partial

import numpy as np
import pytest

import dpjax
from dpjax import HostMechanism, Sequential
from dpjax.sources import AnyPairs
from dpjax.sources._definition import changed_part, definition_of
from dpjax.sources._seeded import generators

PAIRS = AnyPairs.of([(0, 1)])

BEFORE = """
import numpy as np
SCALE = 1.0
class Noise:
    rate = 2.0
    def __init__(self): self.calls = 0
    @staticmethod
    def add(n): return np.random.laplace(scale=SCALE, size=n)
    def __call__(self, count, n): return count + self.add(n)
def noise(n, scale=1.0): return np.random.laplace(scale=scale, size=n)
def release(count, n):
    def inner(m): return noise(m)
    return count + inner(n)
def made(scale): return lambda count, n: count + noise(n, scale)
"""


def module_of(code):
    """Return a module with the given code; its name is always the same."""
    module = types.ModuleType("a_module_of_a_user")
    exec(code, vars(module))
    return module


def definition(function, pairs=PAIRS, **options):
    return definition_of(HostMechanism(function, **options), pairs)


def of_module(code, name):
    module = module_of(code)
    return definition({"object": lambda: module.Noise(), "made": lambda: module.made(1.0)}.get(
        name, lambda: getattr(module, name)
    )())  # fmt: skip


@pytest.mark.parametrize("name", ["release", "object", "made"])
def test_the_digest_of_equal_code_is_equal(name):
    commented = BEFORE.replace("SCALE = 1.0", "# a comment\nSCALE = 1.0")
    assert of_module(BEFORE, name) == of_module(commented, name)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("release", "scale=scale, size", "scale=2 * scale, size"),  # a function that it calls
        ("release", "scale=1.0)", "scale=1.5)"),  # its default argument
        ("release", "return noise(m)", "return noise(m) + 0"),  # an inner function
        ("release", "random.laplace(scale=scale", "random.normal(scale=scale"),
        ("object", "SCALE = 1.0", "SCALE = 2.0"),  # a global variable
        ("object", "rate = 2.0", "rate = 2.5"),  # an attribute of the class
        ("object", "self.calls = 0", "self.calls = 1"),  # an attribute of the object
        ("object", "count + self.add(n)", "count - self.add(n)"),
        ("made", "noise(n, scale)", "noise(n)"),
    ],
)
def test_a_change_of_the_code_changes_the_digest(name, old, new):
    assert BEFORE.count(old) == 1
    now = of_module(BEFORE.replace(old, new), name)
    assert changed_part(of_module(BEFORE, name), now) == "mechanism"


def test_variables_of_enclosing_functions_and_arguments_are_covered():
    made = module_of(BEFORE).made
    assert definition(made(1.0)) == definition(made(1.0)) != definition(made(1.1))

    def scaled(count, n, scale):
        return count + np.random.laplace(scale=scale, size=n)

    first, same, second = (definition(partial(scaled, scale=scale)) for scale in (1.0, 1.0, 2.0))
    assert first == same and changed_part(first, second) == "mechanism"


def test_a_module_of_the_user_is_covered(monkeypatch):
    found = []
    for code in (BEFORE, BEFORE, BEFORE.replace("scale=scale, size", "scale=2 * scale, size")):
        helper = module_of(code)
        helper.__file__ = "a_module_of_a_user.py"
        monkeypatch.setitem(sys.modules, helper.__name__, helper)
        user = {"helper": helper}
        exec("def release(count, n): return count + helper.noise(n)", user)
        found.append(definition(user["release"]))
    assert found[0] == found[1] and changed_part(found[0], found[2]) == "mechanism"


def test_options_that_only_affect_the_duration_are_not_covered():
    def noisy(count, n, rng):
        return count + rng.laplace(size=n)

    plain = definition(noisy)
    assert definition(noisy, time_limit=3.0, timeout=2.0) == plain
    assert changed_part(plain, definition(noisy, batch_size=10)) == "mechanism"
    assert changed_part(plain, definition(noisy, special="error")) == "mechanism"


def test_a_change_of_the_pairs_is_found_in_every_version_of_python():
    def noisy(count, n, rng):
        return count + rng.laplace(size=n)

    before = definition(noisy)
    other = AnyPairs.of([(0, 2)])
    assert changed_part(before, definition(noisy, other)) == "pairs"
    assert changed_part({**before, "python": "3.0"}, definition(noisy, other)) == "pairs"
    assert (
        changed_part({**before, "python": "3.0"}, definition(np.sum, PAIRS, batched=False)) is None
    )
    # Databases of unknown types, and results of earlier versions.
    unknown = AnyPairs.of([(object(), object())])
    assert changed_part(definition(noisy, unknown), definition(noisy, unknown)) is None
    assert changed_part({}, before) is None


class Odd(int):
    """An object whose repr fails and whose attributes have names that cannot be compared."""

    def __repr__(self):
        raise RuntimeError


def test_odd_values_are_covered():
    def made(value):
        def noisy(count, n):
            return [count, value] * n

        return definition(noisy)

    for first, second in (
        (Odd(1), Odd(2)), (np.float64(1), np.float64(2)), (np.float32(1), np.float32(2)),
        ((1, 2), (1, 3)), (frozenset("ab"), frozenset("ac")),
    ):  # fmt: skip
        assert made(first) == made(first) and changed_part(made(first), made(second)) == "mechanism"
    subject = types.SimpleNamespace(scale=1.0)
    subject.__dict__[3] = 4.0

    def release(count, n):
        return [count * subject.scale] * n

    assert definition(release) == definition(release)


def test_a_function_that_refers_to_itself():
    def noisy(count, n):
        return noisy(count, n - 1) if n > 1 else [count]

    assert definition(noisy) == definition(noisy)


class Counting:
    """A mechanism that changes with every call."""

    def __init__(self, scale):
        self.scale, self.calls = scale, 0

    def __call__(self, count, rng):
        self.calls += 1
        return count + rng.laplace(scale=self.scale)


def resumed(first, second, pairs=((0, 1),)):
    earlier = dpjax.audit(first, [(0, 1)], method=Sequential(300), claim=3.0)
    return dpjax.resume(earlier, second, list(pairs), num_draws=400)


def test_an_audit_goes_on_only_with_its_mechanism_and_its_pairs():
    """The first outputs come from the earlier result, so they cannot reveal a change."""
    noisy, half = (
        HostMechanism(module_of(BEFORE.replace("SCALE = 1.0", f"SCALE = {scale}")).Noise())
        for scale in (1.0, 0.5)
    )
    with pytest.raises(ValueError, match="its code or its options changed"):
        resumed(half, noisy)
    with pytest.raises(ValueError, match="pairs must be the pairs of the earlier audit"):
        resumed(noisy, noisy, [(0, 2)])
    assert resumed(noisy, noisy).settings["drawn"] == 400


def test_an_object_that_counts_its_calls_may_go_on():
    subject = HostMechanism(Counting(1.0), batched=False)
    assert resumed(subject, subject).settings["drawn"] == 400


def test_equal_seeds_must_give_equal_outputs(monkeypatch):
    """No digest covers every change, such as a new version of a library."""

    def noisy(count, n, rng):
        return count + rng.laplace(size=n)

    subject = HostMechanism(noisy)
    earlier = dpjax.audit(subject, [(0, 1)], method=Sequential(300), claim=3.0)
    assert dpjax.resume(earlier, subject, num_draws=400).settings["drawn"] == 400
    monkeypatch.setattr(
        "dpjax.sources._calls.generators", lambda seeds: generators(seed + 1 for seed in seeds)
    )
    with pytest.raises(ValueError, match="equal seeds give other outputs of the function"):
        dpjax.resume(earlier, subject, num_draws=400)


def test_a_program_that_was_edited_is_another_mechanism(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "noise.py"
    script.write_text("1")
    command = "python noise.py {database}"
    before = definition_of(dpjax.CommandMechanism(command), PAIRS)
    assert definition_of(dpjax.CommandMechanism(command, workers=2), PAIRS) == before
    script.write_text("2")
    now = definition_of(dpjax.CommandMechanism(command), PAIRS)
    assert changed_part(before, now) == "mechanism"
    # For a large file, only the size and the modification time are compared.
    monkeypatch.setattr("dpjax.sources._definition._MOST_BYTES", 0)
    large = definition_of(dpjax.CommandMechanism(command), PAIRS)
    assert large == definition_of(dpjax.CommandMechanism(command), PAIRS) != now
    script.write_text("33")
    assert changed_part(large, definition_of(dpjax.CommandMechanism(command), PAIRS)) == "mechanism"
