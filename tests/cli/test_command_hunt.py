"""`dpjax hunt`: the choice of releases, and the table of results."""

import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpjax.cli._hunt_table import markdown_table, text_table
from dpjax.hunting import Environment, hunt, read_case


@pytest.mark.slow
def test_records_are_read_and_a_table_is_written(case, tmp_path, run):
    here = [Environment("nothing==1.0", Path(sys.executable))]
    (found,) = hunt([read_case(case)], lambda case: here, tmp_path / "draws", seconds=60.0)
    table, options = tmp_path / "found.md", ["--cases", case, "--folder", tmp_path]
    done = run("hunt", "--again", *options, "--table", table)
    # The level is 2.2; 200 draws per side fail to show 0.1 with probability below 1e-12.
    bound = found.result.lower_bound
    assert done.exit_code == 1 and f"VIOLATED: epsilon at least {bound:.3f}" in done.output
    head, _, row = table.read_text().splitlines()
    assert head.startswith("| release | case | claim")
    assert row.startswith(f"| nothing==1.0 | coins | 0.1 | {bound:.2f} | violated | pair 0 |")


def test_releases_are_named_or_those_of_the_case(case, refused):
    assert "no release of nothing is named" in refused("hunt", "--cases", case)
    other = case.with_name("other.py")
    other.write_text(case.read_text().replace("nothing", "other"))
    said = refused("hunt", "other==1.0", "--cases", case, "--cases", other)
    assert "no release of nothing is named, but coins.py audits this package" in said
    said = refused("hunt", "nothing==1.0", "--again", "--cases", case)
    assert said.startswith("error: --again audits the recorded draws of every release")
    case.write_text(case.read_text() + "\nreleases = '1.0'\n")
    assert "releases in" in refused("hunt", "--cases", case)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nothign==2.0", "nothign==2.0 is named, but no case audits this package: name releases of "
         "nothing and other."),
        ("no.thing==2.0", "no.thing==2.0 is named, but no case audits this package"),
        ("nothing>=2.0", "packages must be PACKAGE==VERSION, but one was 'nothing>=2.0'."),
        ("nothing == 2.0", "packages must be PACKAGE==VERSION, but one was 'nothing == 2.0'."),
    ],
)  # fmt: skip
def test_a_named_release_that_no_case_audits_is_refused(case, refused, spec, message):
    other = case.with_name("other.py")
    other.write_text(case.read_text().replace("nothing", "other"))
    said = refused("hunt", "nothing==1.0", spec, "other==3.0", "--cases", case, "--cases", other)
    assert message in said


def test_every_verdict_has_its_exit_code_and_labels_are_harmless(case, tmp_path, run, monkeypatch):
    """A doubtful release does not pass. Labels cannot move the cursor or add rows."""
    from dpjax import hunting

    def caught(verdict, label="pair 0"):
        row = {"release": "x==1", "case": "coins", "claim": 0.1, "delta": 0.0, "bound": 0.2,
               "verdict": verdict, "pair": label, "seconds": 1.0, "reported": "",
               "documented": False}  # fmt: skip
        return SimpleNamespace(row=row, result=None, spec="x==1", case=SimpleNamespace(title="c"))

    table, options = tmp_path / "found.md", ["--cases", case, "--again"]
    for verdicts, code in (
        (["not refuted"], 0),
        (["not refuted", "violated"], 1),
        (["doubtful", "not refuted"], 2),
        (["violated", "ValueError('no')"], 2),
        ([], 2),
    ):
        found = [caught(verdict) for verdict in verdicts]
        monkeypatch.setattr(hunting, "hunt", lambda *a, found=found, **k: found)
        assert run("hunt", *options).exit_code == code
    label = "\x1b[2J|\n| y==2 | "
    monkeypatch.setattr(hunting, "hunt", lambda *a, **k: [caught("violated", label)])
    done = run("hunt", *options, "--table", table)
    assert "\x1b[2J" not in done.output and "\n| y" not in done.output
    assert len(table.read_text().splitlines()) == 3 and "\x1b" not in table.read_text()


@pytest.mark.parametrize(
    ("written", "options"),
    [
        ((), {}), (("--seconds", "7"), {"seconds": 7.0}), (("--key", "3"), {"key": 3}),
        (("--confidence", "0.9"), {"confidence": 0.9}),
    ],
)  # fmt: skip
def test_options_of_a_hunt(case, tmp_path, run, monkeypatch, written, options):
    from dpjax import hunting

    asked = []
    monkeypatch.setattr(hunting, "hunt", lambda *given, **more: asked.append((given, more)) or [])
    run("hunt", "--again", "--cases", case, "--folder", tmp_path / "f", *written)
    (((cases, _, folder), more),) = asked
    assert [each.path for each in cases] == [case.resolve()] and folder == tmp_path / "f" / "draws"
    assert more == {"again": True, **options}


def test_releases_that_cannot_be_installed_are_rows_and_no_pass(case, tmp_path, run, monkeypatch):
    """The first release is audited and its violation is shown, although the second is missing."""

    def environment(spec, *given, **options):
        if spec != "nothing==1.0":
            raise ValueError(f"packages: {spec} cannot be installed")
        return Environment(spec, Path(sys.executable))

    monkeypatch.setattr("dpjax.hunting.environment_of", environment)
    options = ["--cases", case, "--folder", tmp_path, "--seconds", "20", "--json"]
    done = run("hunt", "nothing==2.0", "nothing==1.0", *options)
    verdicts = {row["release"]: row["verdict"] for row in json.loads(done.output)}
    assert done.exit_code == 2 and verdicts["nothing==1.0"] == "violated"
    assert verdicts["nothing==2.0"] == "packages: nothing==2.0 cannot be installed"
    done = run("hunt", "--bisect", "2.0,3.0", *options)
    assert done.exit_code == 2 and "Fewer than two versions" in done.output


def wheel(folder, version, chances):
    """Write the wheel of a release whose function returns 1 with a given chance per value."""
    name = f"coinlib-{version}"
    code = (
        f"import random\n\n\ndef flip(value):\n    return int(random.random() < {chances}[value])\n"
    )
    head = f"Metadata-Version: 2.1\nName: coinlib\nVersion: {version}\n"
    kind = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as file:
        file.writestr("coinlib.py", code)
        for entry, text in (("METADATA", head), ("WHEEL", kind), ("RECORD", "")):
            file.writestr(f"{name}.dist-info/{entry}", text)


@pytest.mark.slow
def test_releases_of_a_local_package_are_bisected(tmp_path, run, monkeypatch):
    """Releases up to 1.2 leak ln 9 = 2.2; later ones flip a fair coin; 1.9 does not exist."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    for version, chances in (("1.0", (0.1, 0.9)), ("1.2", (0.1, 0.9)), ("1.10", (0.5, 0.5)),
                             ("2.0", (0.5, 0.5))):  # fmt: skip
        wheel(tmp_path, version, chances)
    case = tmp_path / "coins.py"
    case.write_text(
        "package, claim, pairs, draws = 'coinlib', 0.1, [(0, 1)], 300\n\n\n"
        "def draw(value):\n    import coinlib\n\n    return coinlib.flip(value)\n"
    )
    options = ["--cases", case, "--folder", tmp_path / "hunt", "--seconds", "20", "--json"]
    found = json.loads(run("hunt", "--bisect", "all", *options).output)
    said = "The claim is refuted in 1.2, and not refuted in 1.10."
    assert found["changes"] == {"coins": said}
    releases = [row["release"] for row in found["rows"]]
    assert sorted(releases) == [f"coinlib=={v}" for v in ("1.0", "1.10", "1.2", "2.0")]
    found = json.loads(run("hunt", "--bisect", "1.2,1.9,1.10", *options).output)
    said += " Versions in between that could not be audited: 1.9."
    assert found["changes"] == {"coins": said}


@pytest.mark.parametrize(
    ("verdicts", "code", "said"),
    [
        (["violated", "violated", "not refuted", "not refuted"], 1,
         "The claim is refuted in 2, and not refuted in 3."),
        (["not random", "not refuted", "not refuted", "not refuted"], 1,
         "The claim is refuted in 1, and not refuted in 2."),
        (["violated", None, None, "not refuted"], 1,
         "The claim is refuted in 1, and not refuted in 4. Versions in between that could not be "
         "audited: 2, 3."),
        (["violated", "the process ended", None, "not refuted"], 1,
         "The claim is refuted in 1, and not refuted in 4. Versions in between that could not be "
         "audited: 2, 3."),
        (["not refuted", "not refuted", "the process ended", None], 0,
         "In the oldest and in the newest version that could be audited, the claim is not refuted. "
         "Versions that could not be audited: 3, 4."),
        (["violated", "doubtful", "doubtful", "not refuted"], 2, None),
        (["not refuted", "the process ended", None, None], 2,
         "Fewer than two versions could be audited."),
        ([None] * 4, 2, None),
    ],
)  # fmt: skip
def test_verdicts_of_versions_are_bisected(case, tmp_path, run, monkeypatch, verdicts, code, said):
    """Bisect versions 1 to 4. None means that a version cannot be installed."""
    from dpjax import hunting

    def hunted(cases, environments, folder, *, again, **options):
        assert not again and folder == tmp_path / "draws" and options == {"seconds": 5.0}
        (case,) = cases
        for found in environments(case):
            verdict = verdicts[int(found.spec[-1]) - 1]
            row = {"release": found.spec, "case": "coins", "claim": 0.1, "delta": 0.0,
                   "bound": 0.2, "verdict": verdict, "pair": "", "seconds": 1.0, "reported": "",
                   "documented": False}  # fmt: skip
            yield SimpleNamespace(row=row, spec=found.spec, case=case)

    def environment_of(spec, requires, folder, dependencies):
        assert folder == tmp_path / "environments"
        if verdicts[int(spec[-1]) - 1] is None:
            raise ValueError(f"{spec} cannot be installed")
        return Environment(spec, Path(sys.executable))

    monkeypatch.setattr(hunting, "hunt", hunted)
    monkeypatch.setattr(hunting, "environment_of", environment_of)
    options = ["--cases", case, "--folder", tmp_path, "--seconds", "5", "--json"]
    done = run("hunt", "--bisect", " 1,2 ,3,4", *options)
    found = json.loads(done.output)
    assert done.exit_code == code and (said is None or found["changes"] == {"coins": said})
    assert found["changes"].keys() == {"coins"}
    seen = [row["verdict"] for row in found["rows"]]
    missing = {f"nothing=={n} cannot be installed" for n in range(1, 5) if not verdicts[n - 1]}
    assert missing <= set(seen) <= missing | {*verdicts} - {None}
    text = run("hunt", "--bisect", "1,2,3,4", *options[:-1])
    assert ("  NOT AUDITED: nothing==" in text.output) == (None in verdicts)
    assert text.exit_code == code
    assert text.output.splitlines()[-1] == f"coins: {found['changes']['coins']}"


def test_a_bisection_names_its_versions(case, refused):
    said = refused("hunt", "nothing==1.0", "--bisect", "all", "--cases", case)
    assert said.startswith("error: --bisect names the versions")
    assert "at least two versions, but had 1.0" in refused(
        "hunt", "--bisect", "1.0", "--cases", case
    )


def test_reports_and_documented_behaviour_are_shown():
    row = {"release": "x==1", "case": "coins", "claim": 0.1, "delta": 0.0, "bound": None,
           "verdict": "not random", "pair": "pair|0", "seconds": 1.6, "reported": "issue 7",
           "documented": True}  # fmt: skip
    assert text_table([row, row | {"reported": "", "documented": False}]).split("\n") == [
        "x==1: coins", "  NOT RANDOM: claimed 0.1, 2 s", "  pair      pair|0",
        "  reported  issue 7", "  The library documents this behaviour.",
        "x==1: coins", "  NOT RANDOM: claimed 0.1, 2 s", "  pair      pair|0",
    ]  # fmt: skip
    *_, line = markdown_table([row | {"delta": 1e-5}]).splitlines()
    assert line == (
        "| x==1 | coins | 0.1 at delta 1e-05 |  | not random | pair\\|0 | 2 | "
        "issue 7 (documented) |"
    )
    *_, line = markdown_table([row | {"verdict": "not refuted", "documented": False}]).splitlines()
    assert line == "| x==1 | coins | 0.1 |  | not refuted |  | 2 | issue 7 |"


def test_a_hunt_needs_a_case(refused):
    assert "hunt needs --cases, a Python file that defines a case" in refused("hunt", "x==1")
    assert "but there is no file 'none.py'" in refused("hunt", "x==1", "--cases", "none.py")


@pytest.mark.parametrize(("verdict", "lines"), [("violated", 3), ("not refuted", 2)])
def test_a_refuted_claim_has_its_pair(verdict, lines):
    row = {"release": "x==1", "case": "coins", "claim": 0.1, "delta": 1e-5, "bound": 0.25,
           "verdict": verdict, "pair": "pair 0", "seconds": 1.0, "reported": "",
           "documented": False}  # fmt: skip
    shown = [
        "x==1: coins", f"  {verdict.upper()}: epsilon at least 0.250, claimed (0.1, 1e-05), 1 s",
        "  pair      pair 0",
    ]  # fmt: skip
    assert text_table([row]).split("\n")[:lines] == shown[:lines]
    assert ("pair 0" in text_table([row])) is (lines == 3)
    failed = row | {"verdict": "ValueError: no numbers.", "bound": None, "pair": ""}
    assert text_table([failed]).split("\n") == [
        "x==1: coins",
        "  NOT AUDITED: ValueError: no numbers.",
    ]


def test_a_table_that_cannot_be_written_is_refused_first(tmp_path, refused):
    table = tmp_path / "none" / "found.md"
    said = refused("hunt", "--cases", tmp_path / "missing.py", "--table", table)
    assert "found.md is in a folder that does not exist" in said and "missing.py" not in said
