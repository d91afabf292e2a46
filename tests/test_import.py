"""Startup cost: JAX and other large packages are imported late, and only kernels are compiled."""

import ast
import importlib
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import dpjax
from dpjax import testing
from dpjax.notions import NOTIONS

ROOT = Path(dpjax.__file__).parents[1]

HEAVY = (
    "jaxtyping",
    "multiprocessing.queues",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "pandas",
    "pyarrow",
    "matplotlib",
    "click",
    "rich",
    "jinja2",
)


def loaded_after(code, names):
    """Return which of these modules a new process has imported after running the code."""
    look = f"print(json.dumps([name for name in {names!r} if name in sys.modules]))"
    command = [sys.executable, "-c", f"import json, sys\n{code}\n{look}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "code",
    [
        "import dpjax, dpjax.testing; dir(dpjax)",
        "import dpjax.testing.plugin",
    ],
)
def test_an_import_waits_for_nothing(code):
    assert loaded_after(code, ("jax", "numpy", "scipy")) == []


@pytest.mark.parametrize(
    "code",
    [
        "from dpjax import plan; plan(lipschitz=1.0, precision=0.1, confidence=0.9)",
        *(
            f"""
from dpjax.cli import main
sys.argv = ["dpjax", {option!r}]
try: main()
except SystemExit: pass
"""
            for option in ("--version", "--help")
        ),
    ],
)
def test_what_computes_nothing_on_a_device_does_not_import_jax(code):
    assert loaded_after(code, ("jax",)) == []


def test_all_names_load_nothing_heavy_and_start_no_backend():
    code = "import dpjax\nfor name in dpjax.__all__: getattr(dpjax, name)"
    code += "\nfrom jax._src import xla_bridge\nassert not xla_bridge._backends"
    assert loaded_after(code, ("jax", *HEAVY)) == ["jax"]


def lazy_packages():
    files = Path(dpjax.__file__).parent.rglob("__init__.py")
    names = [".".join(file.parent.relative_to(ROOT).parts) for file in files]
    return [name for name in names if "_lazy(__name__)" in source_of(name)]


def source_of(package):
    return ROOT.joinpath(*package.split("."), "__init__.py").read_text()


@pytest.mark.parametrize("package", lazy_packages())
def test_lazy_names_are_those_that_type_checkers_see(package):
    tree, package = ast.parse(source_of(package)), importlib.import_module(package)
    (checked,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in checked.body
        for alias in node.names
        if node.module != package.__name__
    }
    own = [node for node in checked.body if node.module == package.__name__]
    folders = [alias.name for node in own for alias in node.names]
    assert sorted(seen) == package.__all__
    assert {*seen, *folders} <= set(dir(package))
    for name, module in seen.items():
        assert getattr(package, name) is getattr(sys.modules[module], name)
    for folder in folders:
        assert getattr(package, folder) is sys.modules[f"{package.__name__}.{folder}"]
    with pytest.raises(AttributeError, match="has no attribute 'assert_privat'"):
        package.assert_privat  # noqa: B018


@pytest.mark.parametrize(
    "table", [dpjax.methods.METHODS, dpjax.sources.SOURCES, NOTIONS, dpjax.mechanisms.CATALOGUE]
)
def test_tables_of_classes_have_the_names_of_the_classes(table):
    attribute = "kind" if table is dpjax.sources.SOURCES else "name"
    assert {name: getattr(kind, attribute) for name, kind in table.items()} == {n: n for n in table}
    assert len({*table.values()}) == len(table)
    with pytest.raises(KeyError):
        table["nothing"]
    assert "nothing" not in table


def test_an_audit_imports_only_its_source_and_its_method():
    code = """
from dpjax import audit
from dpjax.mechanisms import Laplace
audit(Laplace())
"""
    others = """
        databases.spaces._neighbors densities._lattice inference._planner mechanisms._rappor
        mechanisms._sparse_vector methods._families methods._guesses methods._pairs
        methods._sequential methods.histogram._method methods.local._method plotting._outputs
        sources._arriving sources._family sources._host sources._one_run sources._recorded
        sources.libraries._handed sources.readers._text
    """
    names = [f"dpjax.{name}" for name in others.split()]
    assert loaded_after(code, ("dpjax.methods._events", *names)) == ["dpjax.methods._events"]
    assert [importlib.import_module(name).__name__ for name in names] == names


def test_a_module_that_foreign_code_imports_first_is_sealed():
    code = """
import dpjax.audit
from dpjax.cli._seal import untouched
assert "dpjax.methods._guesses" not in sys.modules
try:
    with untouched():
        from dpjax.methods._guesses import Guesses
        Guesses.run = lambda *_: None
except ValueError as error:
    assert "replaced dpjax.methods._guesses.Guesses.run" in str(error), error
else:
    raise AssertionError("not noticed")
"""
    assert loaded_after(code, ()) == []


def test_everything_is_imported_before_foreign_code():
    """Otherwise, foreign code could change a module that is imported between it and the check."""
    code = """
from dpjax.audit import audit
from dpjax.core.lazy import load_all
load_all()
before = {name for name in sys.modules if name.startswith("dpjax.")}
import dpjax.methods, dpjax.sources, dpjax.mechanisms, dpjax.notions
for table in (dpjax.methods.METHODS, dpjax.sources.SOURCES, dpjax.notions.NOTIONS):
    [*table.values()]
[*dpjax.mechanisms.CATALOGUE.values()]
def noisy(database, num_samples, rng): return database + rng.laplace(size=num_samples)
subject = dpjax.HostMechanism(noisy)
print(audit(subject, [(0, 1)], method=dpjax.Events(500, 2000), claim=1.0))
audit(subject, [(0, 1)], method=dpjax.Sequential(2000))
audit(dpjax.mechanisms.Laplace(), method=dpjax.Local(500, 2000))
audit(dpjax.Family(lambda a: subject, {"a": [1, 2]}), [(0, 1)], claim=1.0)
after = {name for name in sys.modules if name.startswith("dpjax.")}
assert after == before, after - before
"""
    assert loaded_after(code, ()) == []


FIRST = [
    "import dpjax.audit",
    "from dpjax.audit import audit",
    "import importlib; importlib.import_module('dpjax.audit')",
    "import dpjax; dpjax.audit",
    "import dpjax; dpjax.audit; import dpjax.audit",
    "from dpjax import audit",
    "from dpjax import *",
    "import dpjax.testing; dpjax.testing.assert_private",
    "import dpjax.cli._app",
]


def test_audit_is_the_function_whatever_is_imported_first():
    """An import of the module `audit` must not replace the function of the same name."""
    code = f"""
from inspect import isfunction
for first in {FIRST!r}:
    for name in [name for name in sys.modules if name.split(".")[0] == "dpjax"]:
        del sys.modules[name]
    exec(first, {{}})
    import dpjax
    from dpjax import audit
    import dpjax.audit as again
    assert isfunction(dpjax.audit) and audit is again is dpjax.audit, first
    assert sys.modules["dpjax.audit"].audit is audit, first
"""
    loaded_after(code, ())


def test_names_are_pickled_by_their_modules():
    for thing in (dpjax.audit, dpjax.Plan, testing.assert_private):
        assert pickle.loads(pickle.dumps(thing)) is thing


COUNT = """
import json
import jax, numpy as np
import dpjax
from dpjax.mechanisms import Laplace, RandomizedResponse

compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **_: compiled.append(event) if "backend_compile" in event else None
)


def noisy(key, x):
    return x + jax.random.laplace(key)


reals = [shift + np.random.default_rng(shift).laplace(size=2000) for shift in (0, 1)]
audits = {
    "a mechanism": lambda: dpjax.audit(Laplace(1.0)),
    "outcomes": lambda: dpjax.audit(RandomizedResponse(1.0)),
    "a function": lambda: dpjax.audit(noisy, [(0.0, 1.0)]),
    "local": lambda: dpjax.audit(Laplace(1.0), method=dpjax.Local()),
    "recorded": lambda: dpjax.audit(dpjax.Recorded(*reals)),
    "recorded, local": lambda: dpjax.audit(dpjax.Recorded(*reals), method=dpjax.Local()),
    "a histogram": lambda: dpjax.audit(
        RandomizedResponse(1.0), [(0, 1)], method=dpjax.Histogram(least_probability=0.2)
    ),
}
programs = {}
for name, audit in audits.items():
    jax.clear_caches()
    compiled.clear()
    audit()
    programs[name] = len(compiled)
print(json.dumps(programs))
"""


def test_an_audit_compiles_only_its_kernels():
    """Each small operation that JAX compiles separately takes as long as thousands of draws."""
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {
        "a mechanism": 1,  # The sampler.
        "outcomes": 1,
        "a function": 1,  # Only the trace is examined.
        "local": 2,  # Both stages, and the loss for the plot.
        "recorded": 0,
        "recorded, local": 2,
        "a histogram": 1,
    }
