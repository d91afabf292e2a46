"""Verdicts in the formats of other tools: JUnit XML for CI services, SARIF for code scanning."""

import hashlib
import inspect
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

from dpjax.cli._table import Value
from dpjax.core.errors import neutral

if TYPE_CHECKING:
    from dpjax.results import AuditResult

_RULE = "privacy-claim"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_NO_XML = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Place(NamedTuple):
    """Position of the audited code in a file, or the file with the audited outputs.

    Attributes:
        file: Path of the file, either relative to the working folder or absolute.
        line: Line number, from 1.
    """

    file: str
    line: int = 1


def place_of(source: str, written: Value, subject: Value) -> Place | None:
    """Return the position of the audited function, or the file with the audited outputs.

    The result is None if a built-in mechanism or a program was audited.
    """
    if source in ("samples", "one_run"):
        files = written[source]
        return Place(str(files if source == "one_run" else files[0]))
    if source not in ("function", "host", "object"):
        return None
    with suppress(Exception):  # Arbitrary objects may raise anything.
        code = inspect.unwrap(getattr(subject, "function", subject)).__code__
        path, folder = Path(code.co_filename), Path.cwd().resolve()
        path = path.relative_to(folder) if path.is_relative_to(folder) else path
        return Place(path.as_posix(), max(int(code.co_firstlineno), 1))
    return None


def junit(result: "AuditResult") -> str:
    """Return the verdict as a JUnit XML test case, which fails if the claim is violated.

    If the audit has no valid bound, or if it was cut short before it refuted the claim, the test
    case has the status "error".
    """
    from dpjax.results import ASSUMPTION_REFUTED, DOUBTFUL, REFUTING, is_cut_short

    kind = {DOUBTFUL: "error", ASSUMPTION_REFUTED: "error", **dict.fromkeys(REFUTING, "failure")}
    incomplete = is_cut_short(result.settings)
    found = kind.get(result.verdict, "error" if incomplete else None)
    seconds = f"{result.seconds:.3f}"
    counts = {"tests": 1, "failures": found == "failure", "errors": found == "error", "skipped": 0}
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name="dpjax", time=seconds)
    suite.attrib.update({name: str(int(number)) for name, number in counts.items()})
    name = _xml(f"{result.mechanism}: {_asked(result)}")
    case = ElementTree.SubElement(suite, "testcase", classname="dpjax", name=name, time=seconds)
    properties = ElementTree.SubElement(case, "properties")
    for key, value in _row(result).items():
        text = _xml(value if isinstance(value, str) else json.dumps(value))
        ElementTree.SubElement(properties, "property", name=key, value=text)
    if found is not None:
        stopped = "The audit is incomplete. " if incomplete else ""
        sentence = _xml(stopped + result.sentence)
        failed = ElementTree.SubElement(case, found, type=result.verdict, message=sentence)
        failed.text = _xml(str(result))
    ElementTree.SubElement(case, "system-out").text = _xml(str(result))
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(suites, "unicode")}\n'


def sarif(result: "AuditResult", place: Place | None) -> str:
    """Return a SARIF 2.1.0 log of the verdict.

    Code-scanning services show every SARIF result as an alert. The log contains a SARIF result only
    if the claim is violated or the audit has no valid bound.
    """
    from dpjax.results import ASSUMPTION_REFUTED, DOUBTFUL, REFUTING

    level = {DOUBTFUL: "warning", ASSUMPTION_REFUTED: "warning", **dict.fromkeys(REFUTING, "error")}
    found = []
    if result.verdict in level:
        what = f"{result.mechanism}\n{result.level}".encode("utf-8", "backslashreplace")
        found.append(
            {
                "ruleId": _RULE,
                "ruleIndex": 0,
                "level": level[result.verdict],
                "message": {"text": neutral(f"{result.mechanism}: {result.sentence}")},
                "locations": [] if place is None else [_location(place)],
                "partialFingerprints": {"dpjax/v1": hashlib.sha256(what).hexdigest()},
            }
        )
    rule = {
        "id": _RULE,
        "shortDescription": {"text": "A mechanism satisfies its claimed level of privacy."},
        "fullDescription": {
            "text": "Outputs from two neighboring databases give a lower confidence bound on the "
            "privacy level. A claim below the bound is violated."
        },
        "properties": {"tags": ["privacy", "security"]},
    }
    version = result.versions.get("dpjax", "")
    run = {
        "tool": {"driver": {"name": "dpjax", "version": version, "rules": [rule]}},
        "results": found,
        "properties": {"verdict": result.verdict, **_row(result)},
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _asked(result: "AuditResult") -> str:
    """Return the claim in words, as part of the name of a test case."""
    if result.claim is None:
        return f"{result.level} without a claim"
    if isinstance(result.claim, list):
        return f"{result.notion.claimable} within the claimed curve"
    return f"{result.level} at most {result.claim:g}"


def _row(result: "AuditResult") -> dict[str, Value]:
    """Return the values in a result's table row, together with the notion and delta."""
    return {"notion": result.notion.name, "delta": result.delta, **result.row()}


def _location(place: Place) -> dict[str, Value]:
    file = {"uri": quote(os.fsencode(place.file))}
    return {"physicalLocation": {"artifactLocation": file, "region": {"startLine": place.line}}}


def _xml(text: str) -> str:
    """Escape the characters that XML does not allow in text."""
    return _NO_XML.sub(lambda found: repr(found[0])[1:-1], text)
