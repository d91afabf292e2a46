"""JUnit XML and SARIF of an audit, as read by CI services."""

import json
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import dpjax
from dpjax.cli._pipelines import Place, junit, place_of, sarif
from dpjax.mechanisms import Laplace

RELEASE = """
import jax


def release(key, count):
    return count + 0.8 * jax.random.laplace(key)
"""
SMALL = ("--num-samples", 2000, "--num-confirm", 5000, "--quiet")


@pytest.fixture
def audited(run, tmp_path, monkeypatch):
    """Return a function (module, arguments) -> exit code, JUnit suite and SARIF run."""
    monkeypatch.chdir(tmp_path)

    def call(name, *arguments):
        (tmp_path / f"{name}.py").write_text(RELEASE)
        files = ("--junit", "verdict.xml", "--sarif", "verdict.sarif")
        subject = ("--function", f"{name}.py:release", "--pairs", "[[0, 1]]")
        done = run("audit", *subject, *SMALL, *arguments, *files)
        log = json.loads((tmp_path / "verdict.sarif").read_text())
        assert log["version"] == "2.1.0" and len(log["runs"]) == 1
        return done, ElementTree.parse(tmp_path / "verdict.xml").getroot()[0], log["runs"][0]

    return call


def test_a_violated_claim_fails_and_names_its_line(audited):
    done, suite, log = audited("piped_violation", "--claim", 0.5)
    assert done.exit_code == 1
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "1", "failures": "1", "errors": "0", "skipped": "0"}
    (case,) = suite
    assert case.get("name") == "release: epsilon at most 0.5"
    failure = case.find("failure")
    assert failure.text.strip() == done.output.strip()
    assert failure.get("message") in done.output.replace("VIOLATED: ", "")
    (found,) = log["results"]
    assert found["level"] == "error" and found["message"]["text"].startswith("release: With")
    assert found["ruleId"] == log["tool"]["driver"]["rules"][found["ruleIndex"]]["id"]
    place = found["locations"][0]["physicalLocation"]
    line = RELEASE.splitlines().index("def release(key, count):") + 1
    assert place["artifactLocation"]["uri"] == "piped_violation.py"
    assert place["region"]["startLine"] == line
    assert log["properties"]["verdict"] == "violated" and log["properties"]["claim"] == 0.5


@pytest.mark.parametrize(
    ("module", "claim", "name"),
    [
        ("piped_pass", ("--claim", 3), "epsilon at most 3"),
        ("piped_bound", (), "epsilon without a claim"),
    ],
)
def test_a_claim_that_is_not_refuted_passes_and_is_no_alert(audited, module, claim, name):
    done, suite, log = audited(module, *claim)
    assert done.exit_code == 0 and suite.get("failures") == suite.get("errors") == "0"
    assert suite[0].get("name") == f"release: {name}"
    assert [part.tag for part in suite[0]] == ["properties", "system-out"]
    rows = {row.get("name"): row.get("value") for row in suite[0].find("properties")}
    assert 0.8 < float(rows["lower_bound"]) < 1.25 and rows["notion"] == "epsilon"
    assert log["results"] == [] and log["properties"]["lower_bound"] == float(rows["lower_bound"])


def test_doubtful_outputs_are_an_error_and_a_warning(run, tmp_path):
    """The outputs are those of a Markov chain and not independent draws."""
    rng = np.random.default_rng(0)
    for name in "xy":
        steps = rng.normal(size=4000)
        for number in range(1, len(steps)):
            steps[number] += 0.98 * steps[number - 1]
        np.savetxt(tmp_path / f"{name}.csv", steps)
    files = [tmp_path / name for name in ("x.csv", "y.csv", "a.xml", "a.sarif")]
    done = run("audit", "--samples", *files[:2], "--claim", 0, "--junit", files[2], "--sarif",
               files[3])  # fmt: skip
    assert done.exit_code == 2 and "DOUBTFUL" in done.output
    assert "--blocks LENGTH" in done.output and "blocks=LENGTH" not in done.output
    suite = ElementTree.parse(files[2]).getroot()[0]
    assert suite.get("errors") == "1" and suite.find("testcase/error").get("type") == "doubtful"
    (found,) = json.loads(files[3].read_text())["runs"][0]["results"]
    assert found["level"] == "warning"
    uri = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == files[0].as_posix()


def test_a_rerun_names_its_file(run, tmp_path):
    old, log = tmp_path / "old.json", tmp_path / "new.sarif"
    result = dpjax.audit(Laplace(1.0), claim=0.2, method=dpjax.Events(2000, 5000))
    old.write_text(result.to_json())
    assert run("rerun", old, "--sarif", log, "--quiet").exit_code == 1
    (found,) = json.loads(log.read_text())["runs"][0]["results"]
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == old.as_posix()


def test_texts_of_others_are_harmless_in_both():
    """The name contains control characters, a surrogate, and markup of XML and JSON."""
    name = 'a\x1b[2J\x00\ud800\ufffe"<&]]>\n::error'
    sides = np.random.default_rng(0).normal([[0.0], [3.0]], size=(2, 500))
    result = dpjax.audit(dpjax.Recorded(*sides, name=name), claim=0.1)
    (found,) = json.loads(sarif(result, None))["runs"][0]["results"]
    assert found["locations"] == [] and "\x1b" not in found["message"]["text"]
    suite = ElementTree.fromstring(junit(result).encode())[0]
    assert '"<&]]>' in suite[0].get("name") and "\\x1b" in suite[0].get("name")
    said = suite[0].find("failure").text
    assert not {"\x1b", "\x00", "\ud800", "\ufffe"} & {*said}


def cyclic():
    """Function whose `__wrapped__` attribute is the function itself."""


cyclic.__wrapped__ = cyclic


class Everything:
    """Object that has every attribute; each is the object itself."""

    def __getattr__(self, name):
        return self


@pytest.mark.parametrize(
    "subject",
    [
        cyclic,
        Everything(),
        SimpleNamespace(__code__=SimpleNamespace(co_filename=5, co_firstlineno=1)),
        SimpleNamespace(__code__=SimpleNamespace(co_filename="a.py", co_firstlineno="x")),
        SimpleNamespace(function=None),
    ],
)
def test_an_object_that_lies_of_its_code_has_no_place(subject):
    assert place_of("object", {}, subject) is None


def test_a_file_whose_name_is_no_utf_8_has_a_place():
    result = dpjax.audit(dpjax.Recorded(*np.eye(2).repeat(500, axis=1)), claim=0.1)
    (found,) = json.loads(sarif(result, Place("a\udcff.csv")))["runs"][0]["results"]
    uri = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%FF.csv"


def test_a_curve_is_named(run):
    claim = [(0.0, 0.9), (1.0, 0.5)]
    result = dpjax.audit(Laplace(1.0), notion=dpjax.Profile(), claim=claim,
                         method=dpjax.Events(2000, 5000))  # fmt: skip
    suite = ElementTree.fromstring(junit(result))[0]
    assert suite[0].get("name") == "laplace: the privacy profile within the claimed curve"


def test_places_are_checked_before_anything_is_drawn(refused):
    for option in ("--junit", "--sarif"):
        said = refused("audit", "laplace", option, "nowhere/verdict")
        assert "is in a folder that does not exist" in said


def test_an_interrupted_audit_is_no_success():
    result = dpjax.audit(Laplace(1.0), claim=1.5, method=dpjax.Sequential(num_draws=2000))
    assert ElementTree.fromstring(junit(result))[0].get("errors") == "0"
    stopped = {**result.evidence.settings, "interrupted": True}
    result = replace(result, evidence=replace(result.evidence, settings=stopped))
    suite = ElementTree.fromstring(junit(result))[0]
    assert suite.get("errors") == "1" and suite.get("failures") == "0"
    assert suite[0].find("error").get("message").startswith("The audit is incomplete. With conf")
