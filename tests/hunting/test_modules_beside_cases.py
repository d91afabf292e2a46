"""Modules in the folder of a case: each case has separate modules."""

import sys
from pathlib import Path

from dpjax.hunting import Environment, read_case
from dpjax.hunting._draws import serving

CASE = """
from helper import CLAIM
package, claim, pairs = "nothing", CLAIM, [(0, 1)]
def draw(value):
    from late import RESULT
    return [CLAIM, RESULT]
"""


def write(folder, **files):
    """Write Python files of the given names; a file may be in a subfolder."""
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_cases_in_two_folders_have_their_own_modules(tmp_path):
    before = list(sys.path), set(sys.modules)
    for number in (1, 2):
        folder = tmp_path / str(number)
        late = "import helper\nRESULT = helper.CLAIM * 10\n"
        write(folder, helper=f"CLAIM = {number}\n", late=late, case=CASE)
    cases = [read_case(tmp_path / number / "case.py") for number in "12"]
    assert [case.claim for case in cases] == [1, 2]
    assert (list(sys.path), set(sys.modules)) == before
    for case in cases:
        with serving(case, Environment("nothing==1.0", Path(sys.executable))) as server:
            assert server(0) == [case.claim, 10 * case.claim]


def test_packages_and_modules_of_one_folder_are_told_apart(tmp_path):
    """The folders are a package, a package without `__init__`, and a module of the same name."""
    text = "package, pairs = 'nothing', [(0, 1)]\ndef draw(value): pass\n"
    part = f"from parts.inner import CLAIM as claim\n{text}"
    for number in "123":
        write(tmp_path / number, case=part, **{"parts/inner": f"CLAIM = {number}\n"})
    write(tmp_path / "1", **{"parts/__init__": ""})
    write(tmp_path / "4", parts="CLAIM = 4\n", case=f"from parts import CLAIM as claim\n{text}")
    assert [read_case(tmp_path / n / "case.py").claim for n in "1234"] == [1, 2, 3, 4]


def test_a_domain_may_import_a_module_at_each_call(tmp_path):
    for limit in (1, 2):
        member = (
            "package, claim, like = 'nothing', 1.0, [0.0]\n"
            "def member(rows):\n"
            "    import helper\n"
            "    helper.CALLS.append(rows)\n"
            "    return len(rows) <= helper.LIMIT and len(helper.CALLS) < 9\n"
            "domain = {'member': member}\n"
            "def draw(value): pass\n"
        )
        write(tmp_path / str(limit), helper=f"LIMIT, CALLS = {limit}, []\n", case=member)
    members = [read_case(tmp_path / n / "case.py").pairs.domain.member for n in "12"]
    assert [[member([0.0] * size) for size in (1, 2, 3)] for member in members] == [
        [True, False, False], [True, True, False],
    ]  # fmt: skip
    # The module is imported once, so it can count the calls.
    assert [members[0]([]) for _ in range(9)] == [True] * 5 + [False] * 4
