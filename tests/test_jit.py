"""Compiled functions of classes that JAX may confuse; see `dpjax.core.jit`."""

import gc
from dataclasses import make_dataclass
from functools import lru_cache

import jax
import jax.numpy as jnp
import pytest

import dpjax
from dpjax.core import jit
from dpjax.core.execution import _split
from dpjax.core.jit import classes_are_confused, classes_of, jit_by_class
from dpjax.methods.local import mpl_runs
from dpjax.sources._layouts import sample_blocks
from dpjax.sources._subject import _draw_pilot

NUMBER = 70
"""With this many classes, `jax.jit` of JAX 0.10.0 to 0.10.2 returns some wrong numbers."""

SAME_FIELDS = [
    jax.tree_util.register_dataclass(
        make_dataclass("Same", [("x", float, 1.0)], frozen=True, namespace={"number": number})
    )
    for number in range(NUMBER)
]


def number_of(thing, key=None, runs=None, **static):
    """Return the class for which the program was traced."""
    return jnp.full(1 if runs is None else runs.shape, type(thing).number)


@pytest.mark.slow
def test_every_class_runs_its_own_program():
    # With jax.jit of JAX 0.10.0 to 0.10.2, 20 to 24 of 120 such classes get a wrong number.
    numbers = jit_by_class()(number_of)
    assert [int(numbers(kind())[0]) for kind in SAME_FIELDS] == list(range(NUMBER))


def test_the_probe_sees_what_jax_does():
    """If JAX confuses classes, all compare equal. Otherwise, each class runs its own program."""
    structures = [jax.tree.structure(kind()) for kind in SAME_FIELDS]
    equal = {structures[0] == other for other in structures[1:]}
    assert equal == {classes_are_confused()}
    if not classes_are_confused():
        plain = jax.jit(number_of)
        assert [int(plain(kind())[0]) for kind in SAME_FIELDS] == list(range(NUMBER))


def test_programs_are_by_class_only_where_jax_needs_it(monkeypatch):
    keys, numbers = [], jit_by_class()(number_of)
    monkeypatch.setattr(numbers, "_made", lambda *key: keys.append(key))
    for confused in (True, False):
        monkeypatch.setattr(jit, "classes_are_confused", lambda answer=confused: answer)
        numbers.program(SAME_FIELDS[0]())
    assert [SAME_FIELDS[0] in key[-1] for key in keys] == [True, False]


def test_every_class_runs_its_own_program_where_runs_are_split_over_devices():
    devices, runs = tuple(jax.local_devices()[:1]), jnp.zeros(1, jnp.int32)

    def number(kind):
        arguments = (kind(), jax.random.key(0))
        return int(_split(arguments, runs, function=number_of, devices=devices, static=())[0])

    assert [number(kind) for kind in SAME_FIELDS] == list(range(NUMBER))


def test_classes_inside_of_others_count():
    inner = [{"a": (kind(), None)} for kind in SAME_FIELDS[:2]]
    first, second = (classes_of(jax.tree.structure(tree)) for tree in inner)
    assert first != second
    assert first == classes_of(jax.tree.structure({"a": (SAME_FIELDS[0](x=2.0), None)}))


def test_static_arguments_and_names_are_kept():
    @jit_by_class(static_argnames=("size",))
    def ones(thing, size):
        """Return an array of ones."""
        return thing.x * jnp.ones(size)

    assert ones(SAME_FIELDS[0](), 3).shape == ones(SAME_FIELDS[0](), size=3).shape == (3,)
    assert ones.__doc__ == "Return an array of ones." and ones.__name__ == "ones"
    program = ones.program(SAME_FIELDS[0](), 3)
    ones(SAME_FIELDS[0](2.0), 3)
    assert program._cache_size() == 1, "another value of x does not need another program"


@pytest.mark.slow
def test_programs_of_functions_that_are_used_no_more_are_dropped(monkeypatch):
    for drawn in (sample_blocks, _draw_pilot):
        monkeypatch.setattr(drawn, "_made", lru_cache(maxsize=1)(drawn._made.__wrapped__))

    def num_programs():
        gc.collect()
        return len(jax.local_devices()[0].client.live_executables())

    def audit(scale):
        def function(key, x):
            return x + scale * jax.random.laplace(key)

        dpjax.audit(function, [(0.0, 1.0)], method=dpjax.Events(100, 100))

    audit(1.0)
    before = num_programs()
    for scale in range(2, 8):
        audit(float(scale))
    assert num_programs() <= before + 1


def test_fewer_programs_are_kept_of_a_function_with_large_ones():
    def num_made(limit):
        numbers, traced = jit_by_class(most_programs=limit)(lambda thing: traced.append(1)), []
        for kind in (*SAME_FIELDS[:3], *SAME_FIELDS[:3]):
            numbers(kind())
        return len(traced)

    assert (num_made(2), num_made(3)) == (6, 3)
    assert mpl_runs._made.cache_parameters()["maxsize"] == 32
    assert sample_blocks._made.cache_parameters()["maxsize"] == 128
