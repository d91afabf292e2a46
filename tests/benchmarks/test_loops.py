"""Training loops of other libraries: the guide shows the programs, and each error changes one."""

import ast

import pytest

from benchmarks.loops.__main__ import CASES, FOLDER, LOOPS
from dpjax.guides import read_guide


@pytest.mark.parametrize("name", ["digits", "jax_privacy_loop", "opacus_loop"])
def test_the_guide_has_the_programs_that_are_audited(name):
    text = (FOLDER / f"{name}.py").read_text()
    assert f"cat > {name}.py <<'PROGRAM'\n{text}PROGRAM\n" in read_guide("library-loops")


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.name)
def test_every_error_makes_another_program(loop):
    texts = [loop.text(replaced) for replaced in ((), loop.half, loop.unclipped, loop.fixed)]
    assert len({ast.dump(ast.parse(text)) for text in texts}) == len(CASES) == 4


def test_words_that_a_program_does_not_have_once_are_refused():
    for words in ("no such words", "SIGMA"):
        with pytest.raises(ValueError, match="once"):
            LOOPS[0].text(((words, ""),))
