"""Start of the command line: its imports and the settings of its process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpjax
from dpjax.cli._supervise import is_foreign

# Replace dpjax by an empty package, to test only the imports of the command line's own files.
ALONE = f"""
import atexit, json, sys, types
package = types.ModuleType("dpjax")
package.__path__ = [{str(Path(dpjax.__file__).parent)!r}]
package.__version__ = "0"
sys.modules["dpjax"] = package
sys.argv = ["dpjax", *sys.argv[1:]]
from dpjax.cli import main
heavy = ("jax", "numpy", "scipy", "matplotlib", "pandas", "jinja2")
atexit.register(lambda: print(json.dumps([name for name in heavy if name in sys.modules])))
main()
"""


def loaded(*arguments):
    """Return the heavy packages that any process imported, and the output of all processes."""
    done = subprocess.run([sys.executable, "-c", ALONE, *arguments], capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    # A supervised command also has a worker process.
    assert len(lines) == 1 + is_foreign(arguments), done.stderr
    return sorted({name for line in lines for name in line}), done.stdout + done.stderr


def test_help_and_refusals_load_nothing_heavy():
    for arguments in (("--version",), ("audit", "--help"), ("sweep", "--help")):
        assert loaded(*arguments)[0] == []
    heavy, said = loaded("audit", "laplace", "--lipschitz", "1")
    assert heavy == [] and "--lipschitz is for --method histogram" in said


IMPORTING = """
import gc, json, sys
from dpjax.cli._importing import importing
found = []
for _ in range(2):
    frozen = gc.get_freeze_count()
    with importing():
        inside = gc.isenabled()
        import jax
    found.append([inside, gc.isenabled(), gc.get_freeze_count() > frozen + 10_000])
print(json.dumps(found))
"""


LATER = """
import sys
from dpjax.cli._importing import _LATER, importing
with importing():
    import jax
import numpy, scipy.special
assert {*_LATER} <= {*sys.modules} and "numpy.f2py.crackfortran" not in sys.modules
assert "unittest" not in sys.modules
numpy.testing.assert_array_equal(numpy.polynomial.Polynomial([1, 2])(3), 7)
from numpy.polynomial.chebyshev import chebval
assert chebval(0.5, [0, 0, 1]) == -0.5
assert numpy.f2py.get_include() and numpy.ctypeslib.ndpointer(float)
print(sorted(name for name in _LATER if "Lazy" in type(sys.modules[name]).__name__))
"""


@pytest.mark.slow
def test_modules_that_only_scipy_names_are_loaded_at_their_first_use():
    assert subprocess.check_output([sys.executable, "-c", LATER], text=True) == "[]\n"


ENDING = """
import atexit, sys
from dpjax.cli import main
atexit.register(lambda: print("registered", flush=True))
sys.argv = ["dpjax", "audit", "nothing-of-this-name"]
try:
    main()
finally:
    print("caller")
"""


@pytest.mark.slow
def test_a_working_process_calls_what_is_registered_and_leaves_the_caller_to_its_parent():
    done = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True)
    assert done.returncode == 2 and "nothing-of-this-name" in done.stderr
    assert done.stdout.splitlines() == ["registered", "caller", "registered"]


def test_imports_of_a_command_collect_no_garbage():
    done = subprocess.check_output([sys.executable, "-c", IMPORTING], text=True)
    # The second time, jax is already imported, so a program that uses it is left alone.
    assert json.loads(done) == [[False, True, True], [True, True, False]]


def test_progress_in_a_pipe_does_not_wait_for_rich():
    code = "import sys; from dpjax.cli import progress_bar\nwith progress_bar(): pass"
    command = [sys.executable, "-c", f"{code}\nprint('rich' in sys.modules)"]
    for forced, loaded in ({}, "False"), ({"FORCE_COLOR": "1"}, "True"):
        clean = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
        done = subprocess.run(command, capture_output=True, text=True, env=clean | forced)
        assert done.stdout.split()[-1] == loaded, done.stderr


def test_as_a_module():
    command = [sys.executable, "-m", "dpjax", "--version"]
    assert subprocess.check_output(command, text=True).strip() == dpjax.__version__


def test_mechanisms(run):
    done = run("mechanisms")
    assert done.exit_code == 0 and "report-noisy-max" in done.output
    rows = {
        row["name"]: row for row in json.loads(run("mechanisms", "--json").output)["mechanisms"]
    }
    assert rows["svt4"]["level"] == 1.75 and rows["svt5"]["level"] is None


SETTINGS = """
import atexit, sys
from dpjax.cli import main

@atexit.register
def show():
    import jax
    print(jax.config.jax_enable_x64, jax.config.jax_compilation_cache_dir)

sys.argv = ["dpjax", *sys.argv[1:]]
main()
"""


def settings(*options, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    clean.pop("DPJAX_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", SETTINGS, *options, "plan", "--lipschitz", "1", "--precision", "1",
         "--confidence", "0.8", "--rate", "1"],
        capture_output=True, text=True, check=True, env=clean | environment,
    )  # fmt: skip
    return done.stdout.splitlines()[-1].split()


@pytest.mark.slow
def test_settings_of_the_process(tmp_path):
    home = str(tmp_path)
    assert settings(HOME=home) == ["False", f"{home}/.cache/dpjax/xla"]
    assert settings("--x64", DPJAX_CACHE_DIR="") == ["True", "None"]
    assert settings(DPJAX_CACHE_DIR="/a", JAX_COMPILATION_CACHE_DIR="/b") == ["False", "/a"]
    assert settings(JAX_COMPILATION_CACHE_DIR="/b") == ["False", "/b"]
