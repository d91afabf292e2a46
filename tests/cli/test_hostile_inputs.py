"""Untrusted inputs on the command line lead to one sentence and exit code 2; nothing is run."""

import io
import json
import os
import zipfile

import numpy as np
import pytest

import dpjax

AUDIT = ("audit", "--function", "tests.cli.nowhere:f", "--pairs")


def test_a_sweep_imports_nothing(refused, tmp_path):
    """Test the start of a sweep, and the inspection of a finished one."""
    entry = {"mechanism": "subprocess:Popen", "parameters": {"args": ["touch", "trace"]}}
    entry |= {"pairs": [[0.0, 1.0]]}
    store = tmp_path / "store"
    store.mkdir()
    manifest = {"format": 6, "spec": {"name": "s", "entries": [entry]}}
    (store / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "s.toml").write_text(
        "[[entries]]\nmechanism = 'subprocess:Popen'\npairs = [[0.0, 1.0]]\n"
        "parameters = {args = ['touch', 'trace']}\n"
    )
    for command in (("sweep", "status", store), ("sweep", "s.toml", "--out", "new")):
        assert "would import code" in refused(*command)
        assert "must be a dataclass" in refused(*command, "--allow-import", "subprocess")


def test_a_deep_or_large_file_of_pairs(refused, tmp_path):
    for text, message in {
        "[" * 100_000: "is damaged",
        "[[" + "1" * 5000 + ", 1]]": "digits",
        " " * (2**24 + 1): "too many bytes: 16777217, above the limit of 16777216",
        '["ab", "cd"]': "one pair is written as [[database, neighbor]]",
        '[[1, {"a": "b"}]]': "must be JSON",
        "[[1e999, 1]]": "must be finite",
        "\udcff": "save it as UTF-8",
    }.items():
        (tmp_path / "p.json").write_bytes(text.encode("utf-8", "surrogateescape"))
        said = refused("audit", "laplace", "--pairs", "p.json")
        assert "p.json" in said and message in said
    os.mkfifo(tmp_path / "pipe.json")
    assert "is a pipe or a device" in refused("audit", "laplace", "--pairs", "pipe.json")
    assert "does not exist" in refused("audit", "laplace", "--pairs", "none.json")


def test_archives_of_pairs(refused, tmp_path):
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }\n"
    bytes_of = {
        "sizes": b"\x93NUMPY\x01\x00"
        + len(head).to_bytes(2, "little")
        + head.encode()
        + b"\0" * 80,
        "empty": b"",
        "pickle": b"\x80\x04N.",
    }
    for content in bytes_of.values():
        with zipfile.ZipFile(tmp_path / "p.npz", "w") as archive:
            for name in ("database", "neighbor"):
                archive.writestr(f"{name}.npy", content)
        assert "p.npz must be" in refused("audit", "laplace", "--pairs", "p.npz")
    np.savez(tmp_path / "p.npz", database=np.zeros(3))
    assert "has no array 'neighbor'" in refused("audit", "laplace", "--pairs", "p.npz")
    whole = bytearray((tmp_path / "p.npz").read_bytes())
    entry = whole.rindex(b"PK\x01\x02")
    whole[6], whole[entry + 8] = 1, 1
    (tmp_path / "p.npz").write_bytes(whole)
    assert "encrypted" in refused("audit", "laplace", "--pairs", "p.npz")


def array_file(content, more=b""):
    """Return an array as stored in a file, followed by other bytes."""
    np.save(file := io.BytesIO(), content)
    return file.getvalue() + more


def test_bytes_after_an_array_are_refused(refused, run, tmp_path):
    """Test pairs and outputs, inside and outside of archives, and Fortran order."""
    line, table = np.linspace(0, 1, 50), np.asfortranarray(np.ones((50, 2)))
    for more, known in ((b"", False), (b"\0", True)):
        with zipfile.ZipFile(tmp_path / "p.npz", "w") as archive:
            archive.writestr("database.npy", array_file(line[:1]))
            archive.writestr("neighbor.npy", array_file(line[1:2], more))
        said = "audit", "laplace", "--pairs", "p.npz"
        assert not known or "more than the one array" in refused(*said)
        assert known or run(*said).exit_code == 0
        for outputs in (line, table):
            (tmp_path / "x.npy").write_bytes(array_file(outputs, more))
            with zipfile.ZipFile(tmp_path / "y.npz", "w") as archive:
                archive.writestr("y.npy", array_file(outputs, more))
            for name in ("x.npy", "y.npz"):
                chunks = dpjax.Recording(tmp_path / name).chunks()
                if known:
                    with pytest.raises(ValueError, match="more than the one array"):
                        list(chunks)
                else:
                    np.testing.assert_array_equal(np.concatenate(list(chunks)), outputs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("empirical", "x.csv", "--epsilon", "0:1:1000000000"), "too many levels: 1000000000"),
        (("empirical", "x.csv", "--epsilon", "0:1:1e9"), "must be a number or FROM:TO:COUNT"),
        (("empirical", "x.csv", "--epsilon", "0:1:0"), "must be a number or FROM:TO:COUNT"),
        (("empirical", "x.csv", "--epsilon", "0:1:2:3"), "must be a number or FROM:TO:COUNT"),
        (
            ("audit", "randomized-response", "--param", "num_categories=1000000"),
            "num_categories is too large: 1000000, above the limit of 10000",
        ),
        (("audit", "report-noisy-max", "--param", "num_queries=1000000000"), "too large"),
        (("audit", "laplace", "--num-samples", "1000000000000"), "must be below 2^31"),
        (
            ("audit", "laplace", "--method", "local", "--num-nodes", "1000000000000"),
            "DPJAX_MAX_CELLS",
        ),
    ],
)
def test_sizes(refused, arguments, message):
    assert message in refused(*arguments)


def test_a_name_that_writes_on_the_terminal(refused, tmp_path):
    """The name contains bytes that would move the cursor or begin a new line."""
    name = "\x1b]2;x\n::error::x\udcff.csv"
    said = refused("audit", "--samples", name, name)
    assert "\x1b" not in said and r"\x1b]2;x\n::error::x\udcff.csv does not exist" in said
