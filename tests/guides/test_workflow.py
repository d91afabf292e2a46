"""The workflow of the guide to CI: its commands run as they are written."""

import re
import shlex
from pathlib import Path

import pytest

from dpjax.cli import _app
from dpjax.guides import read_guide

yaml = pytest.importorskip("yaml")

RELEASE = """
import jax
import jax.numpy as jnp


def noisy_mean(key, ages):
    return jnp.mean(jnp.clip(ages, 0, 100)) + SCALE * jax.random.laplace(key)
"""


@pytest.mark.parametrize(("scale", "code"), [(50, 0), (25, 1)])
def test_the_audit_of_the_workflow(scale, code, tmp_path, monkeypatch):
    """Ages that differ by 70 of a mean of two: epsilon is 0.7 at a scale of 50."""
    text = re.search(r"<<'WORKFLOW'\n(.*?)\nWORKFLOW\n", read_guide("in-ci"), re.S)[1]
    steps = yaml.safe_load(text)["jobs"]["audit"]["steps"]
    (command,) = (step["run"] for step in steps if step.get("run", "").startswith("dpjax"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPJAX_CACHE_DIR", "")
    Path("release.py").write_text(RELEASE.replace("SCALE", str(scale)))
    # Each of its own name, or the first one would be imported for both.
    Path("release.py").rename(f"release_{scale}.py")
    monkeypatch.setattr(
        "sys.argv", shlex.split(command.replace("release.py", f"release_{scale}.py"))
    )
    assert _app.run() == code
    wanted = [step["with"] for step in steps if "upload" in step.get("uses", "")]
    for pattern in (*wanted[0]["path"].split("\n"), wanted[1]["sarif_file"]):
        assert list(tmp_path.glob(pattern)) or pattern == "tests.xml"
