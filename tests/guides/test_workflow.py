"""GitHub workflows in the guide: their commands run as they are written."""

import os
import re
import shlex
import subprocess
import sys
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


def document(name):
    """Return the first file of the guide that is written by a here-document with this name."""
    return yaml.safe_load(
        re.search(rf"<<'{name}'\n(.*?)\n{name}\n", read_guide("on-github"), re.S)[1]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "claim", "code"), [(50, "1", 0), (50, "0.5; touch $(echo there)", 2), (25, "1", 1)]
)
def test_the_shell_step_of_the_action(scale, claim, code, tmp_path):
    """An input that contains a command is rejected as a claim, and never run."""
    action = document("ACTION")
    inputs = {"function": "release.py:noisy_mean", "claim": claim, "options": "--num-samples 9000"}
    inputs["pairs"] = "[[[20, 30], [20, 100]]]"
    (step,) = (step for step in action["runs"]["steps"] if "env" in step)
    assert set(action["inputs"]) == set(inputs) and not re.search(r"\$\{\{", step["run"])
    values = {
        variable: inputs[re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", text)[1]]
        for variable, text in step["env"].items()
    }
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    (tmp_path / "release.py").write_text(RELEASE.replace("SCALE", str(scale)))
    command = ["bash", "-e", "-o", "pipefail", "-c", step["run"]]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | values | {"PATH": path}, capture_output=True
    )
    assert done.returncode == code, done.stderr
    reports = {"audit.html", "audit.xml", "audit.sarif"} if code < 2 else set()
    assert {file.name for file in tmp_path.iterdir()} - {"__pycache__"} == {"release.py", *reports}


@pytest.mark.parametrize(("scale", "code"), [(50, 0), (25, 1)])
def test_the_audit_of_the_workflow(scale, code, tmp_path, monkeypatch):
    """The ages differ by 70 in a mean of two: epsilon is 0.7 for a scale of 50."""
    steps = document("WORKFLOW")["jobs"]["audit"]["steps"]
    (command,) = (step["run"] for step in steps if step.get("run", "").startswith("dpjax"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPJAX_CACHE_DIR", "")
    Path("release.py").write_text(RELEASE.replace("SCALE", str(scale)))
    # Each module has its own name; otherwise, the first one would be imported for both.
    Path("release.py").rename(f"release_{scale}.py")
    monkeypatch.setattr(
        "sys.argv", shlex.split(command.replace("release.py", f"release_{scale}.py"))
    )
    assert _app.run() == code
    wanted = [step["with"] for step in steps if "upload" in step.get("uses", "")]
    for pattern in (*wanted[0]["path"].split("\n"), wanted[1]["sarif_file"]):
        assert list(tmp_path.glob(pattern)) or pattern == "tests.xml"
