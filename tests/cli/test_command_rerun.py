"""`dpjax rerun`: the same bound from JSON and from a report; nothing runs without permission."""

import json
import sys

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

FEW = ("--num-samples", 2000, "--num-confirm", 4000)
PROGRAM = """
import sys
import numpy as np
noise = np.random.default_rng(int(sys.argv[3])).laplace(float(sys.argv[1]), 1.0, int(sys.argv[2]))
print("\\n".join(map(str, noise)))
"""
MODULE = """
import jax

def drawn(key, count):
    return count + jax.random.laplace(key)

def counted(count, num_samples, rng):
    return rng.laplace(count, 1.0, num_samples)

open("trace", "w").close()
"""
COMMAND = f"{sys.executable} prog.py {{database}} {{num_samples}} {{seed}}"
AUDITS = {
    "built-in": (("laplace", "--epsilon", 0.7), ()),
    "function": (("--function", "rerun_me:drawn"), ("--allow-import", "rerun_me")),
    "host": (("--host", "rerun_me:counted"), ("--allow-import", "rerun_me")),
    "command": (("--command", COMMAND), ("--allow-command",)),
    "samples": (("--samples", "x.csv", "y.csv", "--search-fraction", 0.4), ()),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "prog.py").write_text(PROGRAM)
    (tmp_path / "rerun_me.py").write_text(MODULE)
    (tmp_path / "pairs.json").write_text("[[0, 1]]")
    rng = np.random.default_rng(0)
    for name, shift in (("x", 0.0), ("y", 1.0)):
        np.savetxt(f"{name}.csv", rng.laplace(shift, size=3000))
    yield tmp_path
    sys.modules.pop("rerun_me", None)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", AUDITS)
def test_the_same_bound_from_both_files(run, folder, name):
    subject, allowed = AUDITS[name]
    more = () if name == "samples" else FEW
    more += () if name in ("built-in", "samples") else ("--pairs", "pairs.json")
    done = run("audit", *subject, *more, "--claim", 0.1, "--json", "--report", "a b.html")
    assert done.exit_code == 1, done.error
    (folder / "audit.json").write_text(done.output)
    bound = json.loads(done.output)["statement"]["lower_bound"]
    page = (folder / "a b.html").read_text()
    words = " ".join(map(str, allowed))
    assert f"dpjax rerun &#39;a b.html&#39; {words}".strip() + "</pre>" in page
    for file in ("audit.json", "a b.html"):
        again = run("rerun", file, *allowed, "--json")
        assert again.exit_code == 1, again.error
        assert json.loads(again.output)["statement"]["lower_bound"] == bound
        assert f"The bound is the same as in {file}: {bound:.4f}." in again.error
    if allowed:
        for path in (folder / "trace", folder / "__pycache__"):
            path.unlink(missing_ok=True) if path.is_file() else None
        sys.modules.pop("rerun_me", None)
        done = run("rerun", "audit.json")
        assert done.exit_code == 2 and "without your permission" in done.error
        assert allowed[0] in done.error and not (folder / "trace").exists()


def test_another_bound_is_said(run, folder):
    done = run("audit", "laplace", *FEW, "--json")
    content = json.loads(done.output)
    content["statement"]["lower_bound"] += 0.5
    (folder / "a.json").write_text(json.dumps(content))
    done = run("rerun", "a.json")
    assert done.exit_code == 0 and "The bound differs from that in a.json: " in done.error


@pytest.fixture(scope="module")
def content():
    import dpjax
    from dpjax.mechanisms import Laplace

    method = dpjax.Events(2000, 4000)
    return dpjax.audit(Laplace(1.0), [(0.0, 1.0)], method=method, claim=0.1).to_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subject": {"kind": "mechanism", "name": "os:system"}}, "would import code"),
        ({"subject": {"kind": "host", "name": "os:system"}}, "would import code"),
        ({"subject": {"kind": "host", "name": 3}}, "would import code"),
        ({"subject": {"kind": "command", "command": "touch x {database}"}}, "would run the"),
        ({"subject": {"kind": "command", "command": ["touch"]}}, "command must be a string"),
        ({"subject": {"kind": "samples", "x": "a", "y": "b"}}, "recorded files must be"),
        ({"subject": {"kind": "samples", "x": [["/dev/zero"], None]}}, "is a pipe or a device"),
        ({"subject": {"kind": "?"}}, "the unknown kind"),
        ({"subject": 3}, "must be a table"),
        ({"subject": {"kind": "mechanism", "name": "laplace", "parameters": 3}}, "must be a table"),
        ({"subject": {"kind": "mechanism"}}, "must be a name"),
        ({"method": {"name": "?"}}, "damaged"),
        ({"method": 3}, "damaged"),
        ({"method": {"name": "events", "x": 3}}, "Events has no 'x'"),
        ({"notion": {"name": "?"}}, "notion '?' is not known"),
        ({"pairs": 3}, "damaged"),
        ({"pairs": {"database": [], "neighbor": [], "labels": []}}, "damaged"),
        ({"key": "x"}, "damaged"),
    ],
)  # fmt: skip
def test_what_a_file_may_not_do(refused, tmp_path, content, change, message):
    whole = json.loads(content)
    whole["recipe"] |= change
    (tmp_path / "a.json").write_text(json.dumps(whole))
    assert message in refused("rerun", "a.json")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.html", "<p>no report", "it contains no result"),
        ("a.html", 2 * '<pre id="dpjax-result" data-copy>{}</pre>', "it contains no result"),
        ("a.html", '<pre id="dpjax-result" data-copy>{}</pre>', "not a dpjax audit result"),
        ("a.json", "[]", "not a dpjax audit result"),
        ("a.json", " " * (2**24 + 1), "too many bytes"),
        ("none.json", None, "does not exist"),
    ],
)
def test_what_is_no_result(refused, tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    assert message in refused("rerun", name)
