"""Programs with endless or invalid output: memory is bounded, distinct outputs stay distinct."""

import sys
import time

import pytest

import dpjax
from dpjax import CommandMechanism, Events
from dpjax.sources._process import Programs
from dpjax.sources.readers._entries import as_outputs

PYTHON = f"{sys.executable} -S"
FEW = Events(num_samples=200, num_confirm=300)


def program(folder, code):
    """Write code to a file; return the command that runs it."""
    path = folder / "program.py"
    path.write_text(f"import os, random, sys\n{code}")
    return f"{PYTHON} {path} {{database}} {{num_samples}}"


def ran(command, num_lines=10, timeout=60.0):
    words = command.replace("{database}", "0").replace("{num_samples}", str(num_lines)).split()
    programs = Programs()
    try:
        return programs.run(words, num_lines, timeout)
    finally:
        programs.stop()


@pytest.mark.parametrize("text", ["b'x' * 65536", "b'1.5' * 65536", "b'\\0' * 65536"])
def test_an_endless_line(tmp_path, monkeypatch, text):
    """The program is killed at the limit, with an error message and bounded memory."""
    monkeypatch.setenv("DPJAX_MAX_PROGRAM_BYTES", str(2**22))
    endless = program(tmp_path, f"while True: os.write(1, {text})")
    message = "printed too many bytes: 4194305, above the limit of 4194304"
    with pytest.raises(ValueError, match=message):
        dpjax.audit(CommandMechanism(endless), [(0, 1)], method=FEW)
    with pytest.raises(ValueError, match="printed too many bytes"):
        ran(program(tmp_path, "while True: os.write(1, b'x' * 2**20 + b'\\n')"))


@pytest.mark.slow
def test_endless_errors_take_no_memory_and_no_disk(tmp_path):
    """The program writes 50 MB of errors; the end is kept, and unread text must not block it."""
    code = "for _ in range(800): os.write(2, b'e' * 65536)\nos.write(2, b'\\nlast\\n')\nprint(1)"
    ended = ran(program(tmp_path, code))
    assert (ended.lines, ended.code) == (["1"], 0)
    assert ended.last.endswith("| last") and len(ended.last) < 11_000
    endless = program(tmp_path, "while True: os.write(2, b'e' * 65536)")
    start = time.monotonic()
    assert ran(endless, timeout=1.0).code is None and time.monotonic() - start < 30


def test_a_run_has_a_time_limit_unless_told():
    assert CommandMechanism("prog {database}").timeout == 600.0
    assert CommandMechanism("prog {database}", timeout=None).timeout is None


LINES = [
    *(b"a", b"a\0", b"\0a", b"a\r", b"a ", b" a", b"a\x1f", b"a\xff", b"a\xfe", "a\ufffd".encode()),
    *(b"1", b"1\0", b"1_0", "1\u00a0".encode(), "\u0661".encode(), b"\xed\xb2\x80", b"", b"\0"),
]
"""Lines that are distinct outputs, except for numbers that are written in two ways."""


def test_lines_stay_apart(tmp_path):
    """Lines are kept apart both in a batch and one by one."""
    text = b"".join(line + b"\n" for line in LINES)
    ended = ran(program(tmp_path, f"os.write(1, {text!r})"), len(LINES))
    assert len(ended.lines) == len(set(ended.lines)) == len(LINES)
    outputs = as_outputs(ended.lines)
    assert len({repr(output) for output in outputs}) == len(LINES)
    assert [as_outputs([line])[0] for line in ended.lines] == outputs
    assert outputs[LINES.index(b"1")] == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [("a", "a\\0"), ("1", "1\\0"), ("\\xff", "\\xfe"), ("\\xff", "\\xef\\xbf\\xbd")],
)
def test_an_audit_tells_them_apart(tmp_path, first, second):
    """Nine in ten outputs are the first or the second, depending on the side: epsilon is log 9."""
    code = f"""
draw = random.Random(sys.argv[1])
for _ in range(int(sys.argv[2])):
    one = draw.random() < (0.9 if sys.argv[1][0] == "0" else 0.1)
    os.write(1, (b"{first}" if one else b"{second}") + b"\\n")
"""
    result = dpjax.audit(CommandMechanism(program(tmp_path, code)), [("0", "1")], method=FEW)
    assert 1.0 < result.lower_bound < 2.2
    result.to_json().encode()


@pytest.mark.parametrize("database", ["a\0b", "\ud800"])
def test_a_database_that_is_no_argument(tmp_path, database):
    mechanism = CommandMechanism(program(tmp_path, "print(1)"))
    with pytest.raises(ValueError, match="strings without NUL characters or unpaired surrogates"):
        dpjax.audit(mechanism, [(database, "b")], method=FEW)


def test_a_long_label_of_a_program(tmp_path):
    code = "print('\\n'.join(['x' * 70_000] * int(sys.argv[2])))"
    with pytest.raises(ValueError, match="too many characters: 70000, above the limit of 65536"):
        dpjax.audit(CommandMechanism(program(tmp_path, code)), [(0, 1)], method=FEW)
