"""What `import dpjax` costs: no heavy package, and no device."""

import json
import subprocess
import sys

HEAVY = (
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
