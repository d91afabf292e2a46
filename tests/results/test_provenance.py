"""Where a result comes from."""

import shutil
import subprocess
from pathlib import Path

import pytest

import dpjax
from dpjax.results.provenance import revision


@pytest.fixture
def git(tmp_path, monkeypatch):
    """Runs git in a new repository, which nobody's settings reach."""
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
    """A copy of dpjax in a folder."""
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
