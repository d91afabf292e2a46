"""Every compiled kernel is lowered for all platforms, on any machine.

Programs are traced and lowered for CPU, CUDA and TPU, but neither compiled nor run. A kernel that
needs float64, calls back into Python or uses an operation that XLA cannot lower there fails here.
"""

import pkgutil
import re
from dataclasses import replace
from functools import partial
from importlib import import_module

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax
from dpjax import mechanisms
from dpjax.core import random
from dpjax.core.categories import category_counts
from dpjax.core.execution import Execution
from dpjax.core.jit import JitByClass
from dpjax.core.streaming import reduce_samples
from dpjax.mechanisms import CATALOGUE
from dpjax.mechanisms.training import SCORES, DpSgd, canary_pair

ACCELERATORS = ("cuda", "tpu")
JitFunction = type(jax.jit(lambda: 0))

BY_AUDITS = {
    "sources._layouts.search_counts_runs",
    "sources._layouts.confirm_counts_runs",
    "sources._layouts.sample_blocks",
    "sources._subject._draw_pilot",
    "methods.local._kernels.mpl_runs",
    "methods.local._kernels.dpl_runs",
    "methods.histogram._counts.count_outputs",
}
"""Kernels that an audit calls."""

REALS, TABLE = jnp.linspace(-1.0, 1.0, 500), jnp.zeros((4, 2048, 3))
KEYS = jax.random.split(jax.random.key(0), 4)
WORDS = jnp.zeros(2, jnp.uint32)

DIRECTLY = {
    "core.random.threefry2x32": ((WORDS, WORDS), {}),
    "core.random._fold_in": ((random.as_key(0), jnp.uint32(1)), {}),
    "densities._bandwidth.robust_spread": ((REALS[:, None],), {}),
    "densities._estimate._binned": ((REALS, REALS[:9], jnp.float32(0.1)), {}),
    "densities._estimate._direct": ((REALS, REALS[:9], jnp.float32(0.1)), {}),
    "methods.local._loss._loss": ((REALS, REALS, 0.0), {}),
    "partitions._network._fit": ((TABLE[0], TABLE[0, :, 0], KEYS[0]), {}),
    "results.provenance._probe": ((WORDS, jnp.linspace(1.0, 2.0, 1024)), {}),
    "sources._layouts.sample_pairs": (
        (mechanisms.Laplace(1.0), jnp.zeros((4, 2, 2), jnp.uint32), jnp.int32(4), REALS[:4]),
        {"size": 128},
    ),
}
"""Other kernels, with their arguments."""

ELSEWHERE = {
    "core.execution._split": "needs several devices, and lowers kernels of this list on each",
    "partitions._network._scored": "takes what _fit returns, and is lowered with it",
}
"""Kernels that are not lowered separately, with the reason."""


@pytest.fixture(autouse=True)
def strict_types():
    """Raise an error if a kernel uses implicit dtype promotion, which users may disable."""
    with jax.numpy_dtype_promotion("strict"):
        yield


def lowered(program, *arguments, **static):
    """Return StableHLO of a `jax.jit` function for accelerators; check it for all platforms.

    If the text contains nothing that CPUs may add, it is the text for all platforms together, which
    takes half as long as two lowerings.
    """
    traced = program.trace(*arguments, **static)
    text = traced.lower(lowering_platforms=("cpu", *ACCELERATORS)).as_text()
    calls = called_in(text)
    if "stablehlo.scatter" in text or any("cpu" in name for name in calls):
        # Programs may use these operations only on CPUs.
        text = traced.lower(lowering_platforms=ACCELERATORS).as_text()
        calls = called_in(text)
    assert not {name for name in calls if "cpu" in name}, calls
    products = [line for line in text.splitlines() if "stablehlo.dot" in line]
    assert all("HIGHEST" in line for line in products), "GPUs round factors to 10 bits by default"
    return text


def called_in(text):
    """Return the names of the custom calls in a text that uses neither float64 nor callbacks."""
    assert "f64" not in text, "float64 is slow on GPUs and not available on TPUs"
    calls = set(re.findall(r"custom_call @([\w.]+)", text))
    assert not {name for name in calls if "callback" in name}, calls
    return calls


def kernels():
    """Return the names of all compiled functions in the package's modules."""
    found = {}
    for module in pkgutil.walk_packages(dpjax.__path__, "dpjax."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(import_module(module.name)).items():
            if isinstance(value, JitByClass | JitFunction) and value.__module__ == module.name:
                found[f"{module.name}.{name}".removeprefix("dpjax.")] = value
    return found


def test_no_kernel_is_missing():
    assert set(kernels()) == BY_AUDITS | set(DIRECTLY) | set(ELSEWHERE)


@pytest.mark.parametrize("name", DIRECTLY)
def test_kernels_by_themselves(name):
    module, function = f"dpjax.{name}".rsplit(".", 1)
    arguments, static = DIRECTLY[name]
    kernel = getattr(import_module(module), function)
    if isinstance(kernel, JitByClass):
        kernel = kernel.program(*arguments, **static)
    lowered(kernel, *arguments, **static)


def test_scores_of_a_network():
    network = import_module("dpjax.partitions._network")
    arguments, _ = DIRECTLY["partitions._network._fit"]
    lowered(jax.jit(lambda *given: network._scored(network._fit(*given), TABLE[0])), *arguments)


@pytest.mark.parametrize("name", CATALOGUE)
def test_mechanisms_of_the_catalogue(name):
    mechanism = CATALOGUE[name]()
    database = jax.tree.map(lambda leaf: jnp.asarray(leaf)[0], mechanism.standard_pairs().database)
    draw = jax.jit(lambda key, database: mechanism.sample(key, database, 256))
    assert "stablehlo.scatter" not in lowered(draw, random.as_key(0), database)


@pytest.mark.parametrize("score", SCORES)
def test_training(score):
    pair = canary_pair(np.zeros((3, 2)), np.zeros(3))
    mechanism = DpSgd(2.0, num_steps=2, score=score)
    draw = jax.jit(lambda key, database: mechanism.sample(key, database, 16))
    lowered(draw, random.as_key(0), jnp.asarray(pair.database[0]))


@pytest.mark.parametrize(("size", "scatters"), [(2, False), (63, False), (64, True)])
def test_few_categories_are_compared_and_not_scattered(size, scatters):
    """Atomic additions to few addresses would be serialized."""

    def count(key):
        def draw(block):
            return jax.random.randint(random.fold_in(key, block), 128, 0, size)

        return reduce_samples(draw, category_counts(size), 128)

    assert ("stablehlo.scatter" in lowered(jax.jit(count), random.as_key(0))) == scatters


class Lowered(Exception):
    """Raised after a kernel is lowered if the audit needs the result of the kernel."""


@pytest.fixture
def called(monkeypatch):
    """Replace kernels by their lowering; return the names of the called kernels."""
    names, forms = set(), set()

    def call(kernel, *arguments, **static):
        program = kernel.program(*arguments, **static)
        names.add(kernel.__name__)
        leaves, structure = jax.tree.flatten(arguments)
        shapes = [(np.shape(leaf), jnp.result_type(leaf)) for leaf in leaves]
        # An audit calls a program several times. Arguments of equal types give the same text.
        form = repr((kernel.__name__, structure, shapes, static))
        if form not in forms:
            lowered(program, *arguments, **static)
        forms.add(form)
        if kernel.__name__ == "sample_blocks":
            # Return actual outputs, because they determine the cells.
            return program(*arguments, **static)
        if not kernel.__name__.endswith("_counts_runs"):
            raise Lowered
        # Counts may have any values.
        shapes = jax.eval_shape(partial(program, **static), *arguments)
        return jax.tree.map(lambda leaf: jnp.ones(leaf.shape, leaf.dtype), shapes)

    monkeypatch.setattr(JitByClass, "__call__", call)
    return names


IN_PARALLEL = Execution(runs_at_once=64, pairs_at_once=64, blocks_at_once=1024)
"""Default settings on accelerators."""

STREAMED = replace(IN_PARALLEL, layout="streamed")


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.Laplace(1.0),
        mechanisms.TwoSidedGeometric(1.0),
        # Integers, too.
        pytest.param(mechanisms.RandomizedResponse(1.0, 5), marks=pytest.mark.slow),
        mechanisms.NumericalSVT(1.5, 1.0, 3),
    ],
)
def test_counts_of_events(mechanism, called):
    method = dpjax.Events(num_samples=600, num_confirm=600)
    dpjax.audit(mechanism, method=method, execution=STREAMED)
    assert called == {"sample_blocks", "search_counts_runs", "confirm_counts_runs"}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("density", ["binned", "direct"])
@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.Laplace(1.0),
        mechanisms.TwoSidedGeometric(1.0),
        mechanisms.RandomizedResponse(1.0, 5),
        mechanisms.PrefixSum(1.0),
    ],
)
def test_densities(mechanism, density, called):
    method = dpjax.Local(num_samples=600, num_confirm=900, density=density)
    with pytest.raises(Lowered):
        dpjax.audit(mechanism, method=method, execution=IN_PARALLEL)
    assert called == {"mpl_runs"}


def test_pairs_by_densities(called):
    with pytest.raises(Lowered):
        dpjax.search_pairs(mechanisms.SVT4(1.5, num_queries=4), execution=IN_PARALLEL)
    assert called == {"dpl_runs"}


@pytest.mark.parametrize(
    ("mechanism", "given"),
    [
        (mechanisms.TruncatedLaplace(1.0), {"lipschitz": 1.0}),
        (mechanisms.RandomizedResponse(1.0, 5), {"least_probability": 0.1}),
    ],
)
def test_histograms(mechanism, given, called):
    with pytest.raises(Lowered):
        dpjax.audit(mechanism, method=dpjax.Histogram(**given), execution=IN_PARALLEL)
    assert called == {"count_outputs"}


def test_a_pilot_of_a_function(called):
    def noisy(key, database):
        return database + jax.random.laplace(key)

    with pytest.raises(Lowered):
        dpjax.audit(noisy, [(0.0, 1.0)], method=dpjax.Local())
    assert called == {"_draw_pilot"}
