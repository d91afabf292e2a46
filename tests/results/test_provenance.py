"""The origin of a result."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import jax
import numpy as np
import pytest

import dpjax
from dpjax.results.provenance import _probe, key_of, processor, revision, seed_of
from dpjax.results.recipes import compared
from dpjax.sources import AnyPairs


def test_a_processor_is_known_by_the_operations_that_sweeps_need():
    """Results of NumPy functions in float32; the digest covers all of their bits."""
    x = np.linspace(0.1, 9.9, 1024)
    noise, *found = map(np.asarray, _probe(np.array([1, 2], np.uint32), x.astype(np.float32)))
    n = noise.astype(np.float64)
    bumps = np.exp(-0.5 * n * n) * x + np.log(x)
    expected = [np.exp(-x), np.log(x), np.log1p(x), np.sin(x), np.sqrt(x), n / x, x * x + n,
                bumps.sum(), n.mean()]  # fmt: skip
    for value, truth in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, truth, rtol=1e-4, atol=1e-5)
    kind, digest = processor().rsplit(" ", 1)
    assert kind == jax.local_devices()[0].device_kind and re.fullmatch("[0-9a-f]{8}", digest)


@pytest.fixture
def git(tmp_path, monkeypatch):
    """Run git in a new repository that ignores all user settings."""
    if shutil.which("git") is None:
        pytest.skip("no git")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no such file"))
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")

    def run(*arguments):
        command = ["git", "-C", str(tmp_path), *author, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    run("init", "-q")
    return run


def package_in(folder):
    """Copy dpjax to a folder."""
    return Path(shutil.copytree(Path(dpjax.__file__).parent, folder / "dpjax"))


def test_a_clone_has_its_revision(tmp_path, git):
    package = package_in(tmp_path)
    git("add", ".")
    git("commit", "-q", "-m", "dpjax")
    assert revision(package) == git("rev-parse", "HEAD")


@pytest.mark.parametrize("ignored", [".venv/lib/site-packages", "."])
def test_the_repository_around_an_installed_package_is_not_reported(tmp_path, git, ignored):
    package = package_in(tmp_path / ignored)
    (tmp_path / ".gitignore").write_text(".venv\ndpjax\n")
    git("add", ".")
    git("commit", "-q", "-m", "a project that uses dpjax")
    assert git("ls-files") == ".gitignore"
    assert revision(package) is None


@pytest.mark.slow
def test_the_repository_that_tracks_a_copy_of_the_package_is_not_reported(tmp_path, git):
    package = package_in(tmp_path / "third_party")
    git("add", ".")
    git("commit", "-q", "-m", "a project that keeps dpjax in a folder")
    assert revision(package) is None


def test_no_repository_has_no_revision(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert revision(package_in(tmp_path)) is None
    monkeypatch.setenv("PATH", "")
    assert revision() is None, "nor has a machine without git"


def test_a_pair_is_compared_place_by_place():
    database = [0] * 50
    pairs = AnyPairs(([database], [[*database[:49], 1]]), ("last one",))
    found = compared(pairs, 0)
    assert (found["pair"], found["difference"]) == ("last one", "entry 49: 0 and 1")
    assert found["database"] == database


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, -0.2])
def test_a_result_with_an_impossible_confidence_is_refused(confidence):
    sides = np.random.default_rng(1).normal(size=(2, 500))
    content = dpjax.audit(dpjax.Recorded(*sides)).to_dict()
    assert dpjax.AuditResult.from_json(json.dumps(content)).confidence == 0.999
    content["statement"]["confidence"] = confidence
    with pytest.raises(ValueError, match="confidence must"):
        dpjax.AuditResult.from_json(json.dumps(content))


def test_keys_come_back_whatever_generator_the_caller_prefers():
    key = jax.random.key(3, impl="threefry2x32")
    for usual in ("threefry2x32", "rbg"):
        with jax.default_prng_impl(usual):
            again = key_of(seed_of(key))
            assert again.dtype == key.dtype
            assert jax.random.key_data(again).tolist() == jax.random.key_data(key).tolist()
    assert key_of(seed_of(7)) == 7
