"""Guides: every block runs, its output is up to date, and the command line shows the guides."""

import re

import pytest

import dpjax
from dpjax.guides import NAMES, citation, read_guide, title_of
from scripts.site.blocks import GUIDES, Block, blocks_of, run, same, updated

FAST = "citing"
"""The guide whose blocks the fast tests run."""


@pytest.mark.parametrize(
    "name", [name if name == FAST else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_the_blocks_print_what_is_shown(name, tmp_path):
    for block in blocks_of(read_guide(name)):
        printed = run(block, tmp_path)
        assert same(block.shown or "", printed), f"{block.code}\n{printed}"


def test_every_file_is_a_guide():
    assert {path.stem for path in GUIDES.glob("*.md")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_guides_are_short_and_name_what_exists(name):
    text = read_guide(name)
    assert text.startswith(f"# {title_of(name)}\n") and len(title_of(name)) < 50
    lines = text.splitlines()
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M).splitlines()
    assert 60 <= len(lines) <= 170 or name in ("citing", "changelog")
    assert not [line for line in prose if len(line) > 112 and "|" not in line]
    # A fence that is not recognized as a block would be neither run nor compared.
    assert text.count("```") == sum(2 + 2 * (b.shown is not None) for b in blocks_of(text))
    for other in re.findall(r"dpjax guide ([a-z-]+)", text):
        assert other in NAMES


@pytest.mark.parametrize(
    ("shown", "printed", "equal"),
    [
        ("bound 1.1829\n", "bound 1.1829\n", True),
        ("bound 1.1829\n", "bound 1.1830\n", True),
        ("bound 1.1829\n", "bound 1.1831\n", False),
        ("bound 1.1829\n", "bound 1.18\n", False),
        ("bound -0.3\n", "bound 0.3\n", False),
        ("error 1.2e-09\n", "error 1.3e-09\n", True),
        ("error 1.2e-09\n", "error 1.2e-08\n", False),
        ("50000 draws\n", "50001 draws\n", False),
        ("violated\n", "not refuted\n", False),
        ("1 passed in 2.31s\n", "1 passed in 12.90s\n", True),
        ("1 passed in 2.31s\n", "2 passed in 2.31s\n", False),
        ("laplace  1   0.97\n", "laplace 1 0.97\n", True),
        ("", "1\n", False),
    ],
)
def test_the_comparison(shown, printed, equal):
    assert same(shown, printed) is same(printed, shown) is equal


def test_a_wrong_output_is_written_again(tmp_path):
    """An output that agrees, except for durations, is unchanged."""
    kept = "```python\nprint('took 2.0 s')\n```\n\n```text\ntook 1.5 s\n```\n"
    wrong = "```bash\necho 5; touch there\n```\n\n```text\n6\n```\n"
    silent, new = "```bash\nls there > /dev/null\n```\n", "```bash\nls\n```\n"
    path = tmp_path / "a.md"
    path.write_text(f"# A\n\n{kept}\n{wrong}\n{silent}\n{new}end\n")
    right = wrong.replace("6", "5")
    assert updated(path, all_shown=False) == f"# A\n\n{kept}\n{right}\n{silent}\n{new}end\n"
    shown = f"{new}\n```text\nthere\n```\n"
    assert updated(path, all_shown=True) == f"# A\n\n{kept}\n{right}\n{silent}\n{shown}end\n"


def test_a_block_that_fails_is_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run(Block("python", "1 / 0\n", None, 0, 0), tmp_path)


def test_the_citation_is_of_this_version():
    assert f"\nversion: {dpjax.__version__}\n" in citation()
    assert f"## {dpjax.__version__} " in read_guide("changelog")
