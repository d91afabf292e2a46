"""Files that dpjax writes: links are kept, and old files are kept until new ones are complete."""

import os

import pytest

from dpjax.core.files import refuse_unwritable, write_whole
from dpjax.results import AuditResult
from dpjax.watching import Folder


def test_a_link_stays_and_its_file_is_written(tmp_path):
    """If the link were replaced, other readers of its target would see outdated content."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    target, link = folder / "state.json", tmp_path / "state.json"
    for before in (None, "old"):
        if before is not None:
            target.write_text(before)
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        write_whole({link: "new"})
        assert link.is_symlink() and target.read_text() == "new"
    assert os.listdir(folder) == ["state.json"] and len(os.listdir(tmp_path)) == 2


def test_a_link_into_a_missing_folder_is_refused_before_the_audit(tmp_path):
    link = tmp_path / "audit.html"
    link.symlink_to(tmp_path / "missing" / "audit.html")
    with pytest.raises(FileNotFoundError, match="in a folder that does not exist"):
        refuse_unwritable("report file", link)


def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    """Otherwise, a power failure could leave an empty file instead of the old one."""
    done = []
    monkeypatch.setattr(os, "fsync", lambda number: done.append("fsync"))
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("replace"), real(*paths)))
    write_whole({tmp_path / "a": "1", tmp_path / "b": b"2"})
    assert done == ["fsync", "fsync", "replace", "replace"]


def test_a_link_to_itself_is_no_file_of_a_watch(tmp_path):
    for name in ("state.json", "outputs.npz"):
        (tmp_path / name).symlink_to(name)
    folder = Folder(tmp_path, state=tmp_path / "state.json")
    with pytest.raises(OSError, match=r"outputs\.npz"):
        list(folder.chunks())


def test_an_empty_result_file_says_why_it_may_be_empty(tmp_path):
    path = tmp_path / "audit.json"
    path.touch()
    with pytest.raises(ValueError, match=r"is empty: .* Print to another file, or use `--report"):
        AuditResult.from_file(path)
