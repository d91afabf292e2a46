"""What a fresh process pays: no heavy package, no device, no program but the kernels'."""

import json
import subprocess
import sys

import pytest

HEAVY = (
    "jaxtyping",
    "multiprocessing.queues",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "pandas",
    "pyarrow",
    "matplotlib",
    "typer",
    "rich",
    "jinja2",
)

LOOK = f"""
import json, sys
import dpjax
from jax._src import xla_bridge
heavy = [name for name in {HEAVY!r} if name in sys.modules]
print(json.dumps([heavy, list(xla_bridge._backends)]))
"""


def test_import_loads_nothing_heavy_and_starts_no_backend():
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    heavy, backends = json.loads(done.stdout)
    assert heavy == []
    assert backends == []


COUNT = """
import sys
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
    "by events": lambda: dpjax.audit(Laplace(1.0), guarantee="exact"),
    "a function": lambda: dpjax.audit(noisy, pairs=[(0.0, 1.0)]),
    "recorded": lambda: dpjax.audit_samples(*reals),
    "recorded, normal": lambda: dpjax.audit_samples(*reals, guarantee="normal"),
    "a histogram": lambda: dpjax.audit_histogram(
        RandomizedResponse(1.0), inputs=[0, 1], least_probability=0.2, precision=0.5
    ),
}
audits[sys.argv[1]]()
print(len(compiled))
"""


@pytest.mark.parametrize(
    ("audit", "programs"),
    [
        ("a mechanism", 2),  # both stages, and the loss for the plot
        ("outcomes", 2),
        ("by events", 4),  # the pilot's key and draws, and a stage each
        ("a function", 6),  # two looks at it, the pilot's, both stages, the loss
        ("recorded", 0),
        ("recorded, normal", 2),
        ("a histogram", 1),
    ],
)
def test_an_audit_compiles_only_its_kernels(audit, programs):
    """Every little step that JAX compiles by itself costs as much as thousands of draws."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT, audit], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == programs
