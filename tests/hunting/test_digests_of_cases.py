"""Recorded draws belong to a case as long as the code that draws the outputs is unchanged."""

import pytest

from dpjax.hunting import read_case


def write(folder, **files):
    """Write Python files of the given names; a file may be in a subfolder."""
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


RESPONSE = "package, pairs = 'nothing', [(0, 1)]\nclaim = {claim}\ndef draw(value):\n    {body}\n"


def mark_of(folder, text, **modules):
    write(folder, case=text, **modules)
    return read_case(folder / "case.py").mark


@pytest.mark.parametrize(
    ("body", "reads"),
    [
        ("return value", False), ("claim = 3; return value", False), ("return claim", True),
        ("return f'{claim}'", True), ("return globals()['claim']", True),
        ("import case; return case.claim", True), ("from case import claim as c", True),
    ],
)  # fmt: skip
def test_a_new_claim_is_a_new_case_if_the_code_reads_it(tmp_path, body, reads):
    first, second = (
        mark_of(tmp_path, RESPONSE.replace("{claim}", claim).replace("{body}", body))
        for claim in ("0.5", "0.25")
    )
    assert (first != second) is reads


def test_a_claim_of_a_shared_module_is_no_part_of_a_case_unless_it_is_read(tmp_path):
    text = "from helper import claim\npackage, pairs = 'nothing', [(0, 1)]\ndef draw(value): {}\n"
    for body, reads in (("pass", False), ("return claim", True)):
        marks = {mark_of(tmp_path, text.format(body), helper=f"claim = {n}\n") for n in (1, 2)}
        assert (len(marks) == 2) is reads


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("import helper", "helper"), ("from helper import P", "helper"),
        ("import parts.helper", "parts/helper"), ("from parts import helper", "parts/helper"),
        ("from parts.helper import *", "parts/helper"),
        ("import between", "helper"), ("import parts.between", "parts/helper"),
        ("def draw(value): import helper", "helper"),
    ],
)  # fmt: skip
def test_a_changed_module_is_a_new_case(tmp_path, line, module):
    """Two modules import others: one next to the case, and one in a package."""
    text = f"package, claim, pairs = 'nothing', 1.0, [(0, 1)]\ndef draw(value): pass\n{line}\n"
    others = {"between": "import helper\n", "parts/between": "from .helper import P\n",
              "helper": "P = 1\n", "parts/helper": "P = 1\n"}  # fmt: skip
    first = mark_of(tmp_path, text, **others)
    for changed, differs in ((module, True), ("unused", False)):
        found = mark_of(tmp_path, text, **others | {changed: "P = 2  # A new value.\n"})
        assert (found != first) is differs
    # Comments and modules outside of the folder do not matter.
    assert mark_of(tmp_path, f"import json\n{text}# New.", **others) != first
    assert mark_of(tmp_path, f"{text}# New.", **others) == first


def test_imports_beyond_the_folder_are_no_part_of_a_case(tmp_path):
    line = "try:\n    from ....... import helper\nexcept ImportError: pass\n"
    text = f"package, claim, pairs = 'nothing', 1.0, [(0, 1)]\ndef draw(value): pass\n{line}"
    assert mark_of(tmp_path / "inner", text, helper="P = 1\n") == mark_of(
        tmp_path / "inner", text, helper="P = 2\n"
    )
