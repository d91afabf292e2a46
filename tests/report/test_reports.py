"""Reports from results or their JSON, and the limitations of every audit."""

import dataclasses
import re

import jax
import numpy as np
import pytest

import dpjax
from dpjax.empirical import render_empirical_report
from dpjax.mechanisms import Laplace, RandomizedResponse
from dpjax.report import render, result_text

pytest.importorskip("jinja2")

ONE = [(0.0, 1.0)]
METHODS = {
    "events": dpjax.Events(2_000, 4_000),
    "local": dpjax.Local(2_000, 5_000),
    "histogram": dpjax.Histogram(least_probability=0.2),
}
KINDS = [".html", ".md"]


def page(result, kind=".html", name="report.html"):
    return render(result.page(kind, name), kind)


@pytest.fixture(scope="module")
def results():
    return {
        name: dpjax.audit(
            RandomizedResponse(1.0) if name == "histogram" else Laplace(1.0),
            None if name == "histogram" else ONE,
            method=method,
            claim=0.5,
        )
        for name, method in METHODS.items()
    }


def without_figure(text):
    return re.sub(r"<svg.*</svg>", "", text, flags=re.S)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_a_report_says_what_was_found(results, name, kind):
    result = results[name]
    text = page(result, kind)
    assert result.sentence in text and result.mechanism in text
    assert dpjax.blind_spot(result.num_samples) in text
    assert f"{result.lower_bound:.4f}" in text and result.versions["jax"] in text
    device = result.provenance.device.removeprefix(
        "cpu: "
    )  # The complete entry would be "cpu: cpu".
    assert '"recipe"' in text.replace("&#34;", '"') and f" s on {device}. dpjax" in text
    if name != "histogram":
        assert result.witness.event in text and "Databases other than the pairs" in text
        assert str(result.witness.event_counts[0]) in text
    else:
        assert result.evidence.counted.assumed in text and f"{result.upper_bound:.4f}" in text
    html = kind == ".html"
    # The page contains the sign of the verdict, two figures, and the script for the buttons.
    assert text.count("<svg") == 3 * html and text.count("<script") == html


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_a_page_is_made_again_from_a_json_file(results, name, kind):
    result = results[name]
    again = page(dpjax.AuditResult.from_json(result.to_json()), kind)
    assert without_figure(again) == without_figure(page(result, kind))


def test_scores_are_not_called_estimates(results):
    """Earlier reports showed the predicted bound of the best of many pairs as its estimate."""
    events, local = (page(results[name], ".md") for name in ("events", "local"))
    assert "| Pair | Expected bound |" in events and "| Pair | Score in the search |" in local
    for text in (events, local):
        assert "too high to serve as an estimate" in text
        assert len(re.findall(r"^\| Estimate", text, re.M)) == 1
    assert f"| Estimate at the witness | {results['events'].estimate:.4f} |" in events


def test_regions_are_said_to_be_left_out(results):
    assert "Outputs outside the region." not in page(results["events"], ".md")
    assert "Outputs outside the region." in page(results["local"], ".md")


def test_how_to_do_it_again_fits_the_source(results):
    html = page(results["events"], name="a b.html")
    assert "dpjax rerun &#39;a b.html&#39;</pre>" in html
    recorded = dpjax.audit(dpjax.Recorded(*np.random.default_rng(0).normal(size=(2, 300))))
    text = page(recorded, ".md")
    assert "cannot be imported by name" in text and "dpjax rerun" not in text
    program = dataclasses.replace(recorded, recipe=recorded.recipe | {"subject": {
        "kind": "command", "command": "x {database}"}})  # fmt: skip
    assert "dpjax rerun audit.json --allow-command" in page(program, ".md")


def test_data_do_not_break_out_of_the_page():
    labels = [np.where(np.random.default_rng(s).random(300) < 0.5, "<b>|", "no") for s in (0, 1)]
    result = dpjax.audit(dpjax.Recorded(*labels, name="a|b <script>"))
    html = page(result, ".html")
    assert html.count("<script>") == 1 and "<b>|" not in html
    (row,) = re.findall(r"^\| Event, .*", page(result, ".md"), re.M)
    assert row.count("|") == 3


@pytest.mark.slow
def test_vectors_have_a_report_with_their_score():
    def plane(key, x):
        return x + jax.random.normal(key, (2,))

    pairs = [(np.zeros(2), np.ones(2))]
    boxes = dpjax.Events(2_000, 4_000, region=([-1, -1], [2, 2]))
    for method, words in ((METHODS["events"], "a vector with"), (boxes, "share of outputs")):
        text = page(dpjax.audit(plane, pairs, method=method))
        assert text.count("<svg") == 3 and words in text.partition("How to do it again")[0]


def test_files(results, tmp_path):
    result = results["events"]
    path = result.report(tmp_path / "a.md")
    assert path.read_text() == page(result, ".md")
    assert result.report(tmp_path / "b.html").read_text().startswith("<!doctype")
    with pytest.raises(ValueError, match=r"report file must end in \.html or \.md"):
        result.report(tmp_path / "a.txt")
    with pytest.raises(FileNotFoundError, match="in a folder that does not exist"):
        result.report(tmp_path / "none" / "a.md")


@pytest.mark.parametrize("kind", KINDS)
def test_empirical_privacy(kind):
    records = np.random.default_rng(0).gamma(2.0, size=(30, 5))
    found = dpjax.empirical_privacy(records, "sum", epsilon=1.0)
    text = dpjax.blind_spot(30, "databases")
    assert "mechanism" not in text and "based only on the 30 given databases" in text
    assert text in render_empirical_report(found, kind=kind)


def test_results_have_a_line_for_each_entry():
    """The innermost lists of numbers are on one line. Infinities are rejected."""
    found = result_text({"a": [1, [2, 3]], "b": {"c": [], "d": ["x"]}, "e": None})
    assert found == (
        '{\n  "a": [\n    1,\n    [ 2, 3 ]\n  ],\n  "b": {\n    "c": [],\n    "d": [\n      "x"\n'
        '    ]\n  },\n  "e": null\n}'
    )
    with pytest.raises(ValueError, match="JSON"):
        result_text({"a": float("inf")})
