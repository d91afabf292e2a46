"""Untrusted names and labels have no effect in a terminal, a figure, a page or a log."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import dpjax
from dpjax import Recorded
from dpjax.core.errors import neutral
from dpjax.empirical import calibrate_noise, empirical_privacy, write_empirical_report
from dpjax.mechanisms import Laplace
from dpjax.report import render
from dpjax.sweeps import Entry, Store, SweepSpec, run_sweep

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

HOSTILE = [
    "[/red]",
    "[bold]x[/bold]",
    r"$\frac{1}{2$",
    r"$\undefined$ and $x$",
    "\x1b[2J\x1b]0;title\x07",
    "two\nlines\r::error::x",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](http://example.com/x.png) [y](javascript:alert(1))",
    r"\`code` \$x$",
    "| a | b |",
    "\udcff\ud800",
    "\u202egnp.exe",
    "{{ 7 * 7 }} {% raw %}",
    "-->]]>",
    "__init__ _x_",
]


EVERYTHING = "".join(text for text in HOSTILE if "\ud800" not in text)


@pytest.fixture(scope="module")
def base():
    """Return an audit of labels."""
    x, y = (
        ["yes" if u < p else "no" for u in np.random.default_rng(1).random(99)] for p in (0.9, 0.2)
    )
    return dpjax.audit(Recorded(x, y), claim=0.1)


def with_text(base, text, *, drawn):
    """Return the result with the text in every place that a JSON file may set."""
    curve = json.loads(json.dumps(base.curve).replace("'yes'", json.dumps(text)[1:-1]))
    witness = replace(base.witness, pair=text, output=text, event=text, database=text)
    origin = replace(base.provenance, mechanism=text, device=text, parameters={text: text})
    evidence = replace(
        base.evidence,
        region=text,
        settings={text: text},
        pair_scores=((text, 1.0),),
        curve=curve if drawn else None,
    )
    statement = replace(base.statement, level=text)
    parts = {"statement": statement, "evidence": evidence, "provenance": origin}
    return replace(base, witness=witness, notes=(text,), **parts)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("text", [*HOSTILE, EVERYTHING])
def test_results(base, tmp_path, text):
    result = with_text(base, text, drawn="$" in text or "\x1b" in text)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", str(result))
    assert "\n::error" not in str(result)
    str(result).encode()
    assert json.loads(result.to_json())["provenance"]["mechanism"] == text
    pages = {}
    for kind in (".html", ".md"):
        path = result.report(tmp_path / f"x{kind}")
        pages[kind] = path.read_text(encoding="utf-8")
        assert "<script>alert" not in pages[kind] and "<img src=x" not in pages[kind]
    words, code, rest = pages[".md"].split("```")
    assert "](" not in words and "\x1b" not in words
    assert re.fullmatch(r"\n\nWritten on [-\d]+ by dpjax [.\d]+\n", rest)
    assert not re.search(r"(?<!\\)(\\\\)*[$`]", words)
    assert json.loads(code.removeprefix("json"))[text] == text


@pytest.mark.slow
def test_a_label_of_a_program_in_a_figure(base, tmp_path):
    for kind in ("png", "svg", "pdf"):
        with_text(base, EVERYTHING, drawn=True).plot(tmp_path / f"x.{kind}")
        assert (tmp_path / f"x.{kind}").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("text", [HOSTILE[2], EVERYTHING])
def test_panels(tmp_path, text):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "database": [f"{text}{i}" for i in range(12)] * 8,
            "individual": [f"{text}{i}" for i in np.repeat(range(8), 12)],
            text: rng.normal(size=96),
        }
    )
    panel = dpjax.empirical.panel_from_table(frame)
    result = empirical_privacy(
        panel, f"mean:{text}" if ":" not in text else "mean", epsilon=[0, 0.5]
    )
    noise = calibrate_noise(panel, "mean", epsilon=0.5)
    for found in (result, noise):
        str(found).encode()
        assert "\x1b" not in str(found)
    for kind in (".html", ".md"):
        page = write_empirical_report(result, tmp_path / f"x{kind}", noise).read_text("utf-8")
        assert "<script>alert" not in page and "<img src=x" not in page


def test_plain_words_stay_as_they_are(base):
    result = with_text(base, "noisy_max-2 (k=3) [0, 1)", drawn=False)
    assert "noisy_max-2 (k=3) [0, 1)" in render(result.page(".md"), ".md")
    assert neutral("né 数 'a'") == "né 数 'a'"


@pytest.mark.parametrize("text", [HOSTILE[0], EVERYTHING])
def test_sweeps(tmp_path, text):
    """Test the progress and `status` in the output of a terminal."""
    from dpjax.cli._sweep import show_status, showing

    # Use the sizes of tests/sweeps/test_store.py, so that they share a program.
    entry = Entry(Laplace(1.0), dpjax.Events(300, 700), [(0.0, 1.0)], num_runs=2, label=text)
    spec = SweepSpec(text, (entry,))
    store = Store.create(tmp_path / "s", spec)
    with showing(spec, quiet=False) as progress:
        run_sweep(store, progress=progress)
    show_status(tmp_path / "s", ())


NO_USER = """
import os, pwd, sys
def nobody(number):
    raise KeyError(f"getpwuid(): uid not found: {number}")
pwd.getpwuid = nobody
from dpjax.cli import main
main()
"""


@pytest.mark.slow
def test_no_home_and_no_entry_of_the_user(tmp_path):
    """This is the case in a container that runs with a numeric user id."""
    pytest.importorskip("pwd")
    (tmp_path / "x.csv").write_text("".join(f"{i % 3}\n" for i in range(100)))
    (tmp_path / "y.csv").write_text("".join(f"{i * i % 5}\n" for i in range(100)))
    arguments = ["audit", "--samples", "x.csv", "y.csv", "--report", "r.html", "--plot", "p.png"]
    done = subprocess.run(
        [sys.executable, "-c", NO_USER, *arguments],
        cwd=tmp_path,
        env={name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and (tmp_path / "r.html").exists()
