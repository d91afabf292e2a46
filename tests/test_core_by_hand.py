"""Validation of arguments, messages, wide counters and execution options, case by case."""

import copy
import json
import re
from dataclasses import asdict, dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax
from dpjax.core import categories, errors, validate, wording
from dpjax.core.arrays import packed, unpacked
from dpjax.core.execution import map_batched, over_devices
from dpjax.core.numerics import WideCount, finite_or_none, to_fixed_point

NUMBERS = ("positive", "non_negative", "finite", "open_unit")
ACCEPTED = {  # values that each check accepts and rejects
    "positive": ([1e-300, 5, np.float32(2), np.array([1, 2])], [0, -1.0, np.array([1.0, 0.0])]),
    "non_negative": ([0, 0.0, 7, np.array([0, 3])], [-1e-300, np.array([1.0, -1.0])]),
    "finite": ([0, -5, 1e300], []),
    "open_unit": ([1e-9, 0.5, 1 - 1e-9], [0, 1, 1.5, np.array([0.5, 1.0]), np.array([0.0, 0.5])]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_ranges_of_numbers(name):
    check = getattr(validate, name)
    accepted, refused = ACCEPTED[name]
    for value in accepted:
        check(one=1e-3, number=value)
    for value in refused:
        with pytest.raises(ValueError, match=rf"^number must .*but was {re.escape(repr(value))}"):
            check(number=value)
    for value in (np.nan, np.inf, -np.inf, np.array([1.0, np.nan]), np.array([])):
        with pytest.raises(ValueError, match=r"^number must be .* \(finite\), but was"):
            check(number=value)
    for value in ("1", [1.0], 1j, np.array(["a"]), np.array([True]), {}):
        with pytest.raises(TypeError, match=r"^number must be a number.*, but was"):
            check(number=value)
    jax.jit(lambda x: check(number=x))(0.5)  # The value of a tracer is unknown.


def test_none_is_a_placeholder_except_where_a_number_is_needed():
    validate.positive(number=None), validate.non_negative(number=object())
    for check in (validate.finite, validate.open_unit):
        with pytest.raises(TypeError, match="but was None"):
            check(number=None)
    assert validate.is_traced(object()) and validate.is_traced(None)
    assert not any(map(validate.is_traced, (1.0, "a", np.ones(2), jnp.ones(2), [])))


@pytest.mark.parametrize(
    ("check", "accepted", "refused"),
    [
        (validate.counts, [[0, 5], [], 3, [2.0], 2**63 - 1], [([1, -1], -1), ([2.5, 3], 2.5),
         ([np.nan], np.nan)]),
        (lambda **given: validate.counts(at_most=4, **given), [[0, 4]],
         [([5, 1], 5), ([-2, 9], -2)]),
        (validate.shares, [[0, 1], 0.5, []],
         [([1.5, 0], 1.5), ([-0.5, 2], -0.5), ([np.nan], np.nan)]),
        (lambda **given: validate.shares(above_0=True, **given), [[1e-300, 1]], [([0, 1], 0)]),
    ],
)  # fmt: skip
def test_ranges_of_arrays(check, accepted, refused):
    for value in accepted:
        check(array=value)
    for value, worst in refused:
        with pytest.raises(ValueError, match=rf"^array must be .*, but held {worst}"):
            check(array=value)
    with pytest.raises(TypeError, match=r"^array must be .*, but held <U1"):
        check(array=["a"])


def test_words_of_ranges():
    for call, words in (
        (lambda: validate.counts(a=[-1]), "whole numbers >= 0"),
        (lambda: validate.counts(a=[-1], at_most=4), "whole numbers from 0 to 4"),
        (lambda: validate.shares(a=[2]), r"in \[0, 1\]"),
        (lambda: validate.shares(a=[2], above_0=True), r"in \(0, 1\]"),
    ):
        with pytest.raises(ValueError, match=f"^a must be {words}, but held"):
            call()


def test_intervals():
    validate.increasing([0, 1], [1, 2], name="box")
    for low, high, words in (
        ([0, 1], [1, 1], "low < high on every axis, but was low .0.0, 1.0., high .1.0, 1.0."),
        (2, 1, "low < high on every axis, but was low 2.0, high 1.0"),
        (0, np.inf, "finite bounds, but was low 0.0, high inf"), (np.nan, 1, "finite bounds"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^box must have {words}"):
            validate.increasing(low, high, name="box")


def test_limits(monkeypatch):
    assert validate.limit("labels") == 2**20
    validate.within_limit("labels", 2**20, "too many labels")
    with pytest.raises(ValueError) as raised:
        validate.within_limit("labels", 2**20 + 1, "too many labels")
    assert str(raised.value) == (
        "too many labels: 1048577, above the limit of 1048576; if that is intended, set "
        "DPJAX_MAX_LABELS to a larger number."
    )
    monkeypatch.setenv("DPJAX_MAX_LABELS", "7")
    assert validate.limit("labels") == 7
    for wrong in ("0", "-1", "1e3", "many"):
        monkeypatch.setenv("DPJAX_MAX_LABELS", wrong)
        with pytest.raises(ValueError, match=f"^DPJAX_MAX_LABELS must be .*, but was '{wrong}'"):
            validate.limit("labels")


def test_tables_and_their_names():
    table = {"a": 1}
    copied = validate.check_table("a table", table)
    assert copied == table and copied is not table
    with pytest.raises(TypeError, match=r"^a table must be a table, but was \[1\]\.$"):
        validate.check_table("a table", [1])
    validate.check_names("a table", {"one": 1, "two": 2}, ("one", "two", "three"))
    with pytest.raises(ValueError, match=r"^a table has no 'grud'; did you mean 'grid'\?$"):
        validate.check_names("a table", {"grud": 1}, ("one",), "grid")
    with pytest.raises(ValueError, match=r"^kind 'a' is not known; known: x, y\.$"):
        validate.one_of(("y", "x"), kind="a")
    validate.one_of(("y", "x"), kind="x", other="y")


@pytest.mark.parametrize(
    ("name", "known", "end"),
    [
        ("laplce", ["laplace", "gaussian"], "did you mean 'laplace'?"),
        ("zzz", ["b", "a"], "known: a, b."),
        ("zzz", map(str, range(8)), "known: 0, 1, 2, 3, 4, 5, 6, 7."),
        ("zzz", map(str, range(9)), "known: 0, 1, 2, 3, 4, 5, 6, 7, ... (9 in all)."),
        ("svt", ["svt1", "svt2", "svt3", "svt4"], "did you mean 'svt4' or 'svt3' or 'svt2'?"),
        # The similarity of the second name is only two thirds of that of the first.
        ("reports", ["reports!", "rates"], "did you mean 'reports!'?"),
    ],
)  # fmt: skip
def test_names_that_are_suggested(name, known, end):
    assert errors.nearest(name, known) == end


def test_texts_of_strangers():
    assert errors.neutral("a\x1b[2J\n\x7f\u202e\ud800é") == "a\\x1b[2J\\n\\x7f\\u202e\\ud800é"

    class Bad:
        def __repr__(self):
            raise RuntimeError

    assert errors.text_of(Bad()) == "<Bad without a repr>" and errors.text_of([1]) == "[1]"
    assert errors.name_of_function(len) == "len" and errors.name_of_function(Bad()) == "Bad"
    assert re.fullmatch(
        r"lambda \(test_core_by_hand\.py, line \d+\)", errors.name_of_function(lambda: 0)
    )
    assert [status.sentence for status in errors.Status] == [
        status.value for status in errors.Status
    ]


def test_packages_that_are_missing(monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None if name in "ac" else name)
    errors.needs("tables", "io", "b")
    with pytest.raises(
        ModuleNotFoundError, match=r"^tables need a and c: pip install 'dpjax\[io\]'\.$"
    ):
        errors.needs("tables", "io", "a", "b", "c")


@pytest.mark.parametrize(
    ("error", "raised", "words"),
    [
        (SystemExit(3), ValueError, r"^f called sys\.exit\(3\), but audited code must return"),
        (GeneratorExit("x"), ValueError, r"^f raised GeneratorExit: GeneratorExit\('x'\), but"),
        (KeyError("k"), KeyError, "k"), (KeyboardInterrupt(), KeyboardInterrupt, None),
    ],
)  # fmt: skip
def test_audited_code_ends_nothing(error, raised, words):
    with pytest.raises(raised, match=words), errors.contained("f"):
        raise error


def test_sentences_of_python_and_of_commands():
    first, last = wording.term("num_samples"), wording.term("a_b", "--x y")
    marked = f"{first} must fit {wording.EVENTS}; see {last}."
    sentence = wording.Sentence(marked)
    assert sentence == "num_samples must fit method=Events(); see a_b."
    options = {"num_samples": "--num-samples", "method": "--method"}
    assert sentence.in_options(options) == "--num-samples must fit --method events; see a_b."
    assert sentence.in_options({"a": "--x"}) == "num_samples must fit method=Events(); see --x y."
    assert type(copy.deepcopy(sentence)) is str

    @dataclass
    class Kept:
        text: str

    assert type(asdict(Kept(sentence))["text"]) is str
    error = wording.BadValue("num_samples must be 3.")
    assert str(error) == "num_samples must be 3."
    assert wording.in_options(error, options) == "--num-samples must be 3."
    assert wording.in_options(wording.BadType("method, or more."), options) == "--method, or more."
    assert wording.in_options(wording.BadValue(marked), options).startswith("--num-samples must")
    assert wording.in_options(ValueError("num_samples"), options) == "num_samples"
    assert wording.in_options(ValueError("a", "b"), options) == "('a', 'b')"
    of_file = wording.prefixed("a.csv", error)
    assert of_file == f"a.csv: {error}"
    assert of_file.in_options(options) == "a.csv: --num-samples must be 3."
    # The first argument of this error is the name of the encoding.
    unreadable = UnicodeDecodeError("utf-8", b"x", 0, 1, "no text")
    assert wording.prefixed("a.csv", unreadable) == f"a.csv: {unreadable}"
    assert str(wording.BadValue("")) == ""


def test_confidence_is_never_shown_as_1():
    shown = [wording.confidence_text(c) for c in (0.95, 0.999999, 0.9999996, 1 - 1e-9, 1e-300)]
    assert shown == ["0.95", "0.999999", "1 - 4e-07", "1 - 1e-09", "1e-300"]


def test_printed_rows():
    assert wording.printed_row("claim", "1.0") == "  claim        1.0"
    assert wording.printed_row("claim", "1.0", padded=False) == "  claim 1.0"
    first, second = wording.printed_row("note", "word " * 20).split("\n")
    assert len(first) <= 100 and second.startswith(" " * 15 + "word")
    assert len(f"{first} word") > 100


def test_notes_of_equal_outputs():
    note = wording.Unvaried((5, 7), "pair 3", "error: ValueError")
    assert note.startswith(
        "All 5 outputs from the database were the same, and all 7 outputs from its"
    )
    assert (note.pair, note.failure) == ("pair 3", "error: ValueError")
    assert note.endswith("or draws the same random numbers on every call.")
    assert wording.Unvaried((5, 7), "pair 3", None, ("error: ValueError", None)) == (
        "All 5 outputs from the database were 'error: ValueError', and all 7 outputs from its "
        "neighbor were the same."
    )
    assert wording.Unvaried("a text") == "a text" and wording.Unvaried("a text").pair == ""
    assert wording.Unvaried("a text").failure is None and isinstance(note, wording.Sentence)


@pytest.mark.parametrize(
    "array", [np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::2], np.array(["a", "bc"]),
              np.zeros((0, 2)), np.array([True, False]), np.float32(2.5),
              np.array([1 + 2**60], np.uint64)],
)  # fmt: skip
def test_arrays_as_json(array):
    found = unpacked(json.loads(json.dumps(packed(np.asarray(array)))))
    assert found.dtype == np.asarray(array).dtype
    np.testing.assert_array_equal(found, array)
    kind = np.asarray(array).dtype.kind
    with pytest.raises(ValueError, match="it holds outputs of dtype"):
        unpacked(packed(np.asarray(array)), kinds="biufUS".replace(kind, ""))


def test_wide_counters():
    count = WideCount.zeros((3,)).add(jnp.array([1, 2**30 - 1, 2**30]))
    assert count.low.tolist() == [1, 2**30 - 1, 0] and count.high.tolist() == [0, 0, 1]
    twice = count.add(jnp.array([2**30, 1, 5]))
    assert twice.as_int().tolist() == [1 + 2**30, 2**30, 5 + 2**30]
    np.testing.assert_allclose(twice.as_float(), [1 + 2**30, 2**30, 5 + 2**30], rtol=1e-6)
    rng = np.random.default_rng(1)
    for number in (1, 2, 3, 7, 8):
        whole = rng.integers(0, 2**60 // number, (number, 4))
        wide = WideCount(
            jnp.asarray(whole & (2**30 - 1), jnp.int32), jnp.asarray(whole >> 30, jnp.int32)
        )
        np.testing.assert_array_equal(wide.total().as_int(), whole.sum(axis=0))
    assert WideCount.zeros().as_int() == 0
    assert to_fixed_point(jnp.array([0, 0.5, 1.0])).tolist() == [0, 2**16, 2**17]
    assert [finite_or_none(value) for value in (1, np.inf, np.nan)] == [1.0, None, None]


@pytest.mark.parametrize(("number", "offset"), [(5, 0), (5, -2), (63, 3), (64, 3)])
def test_counts_of_categories(number, offset):
    reducer = categories.category_counts(number, offset)
    samples = np.random.default_rng(2).integers(offset - 3, offset + number + 3, 500)
    valid = np.arange(500) < 450
    counts = reducer.update(reducer.init(), jnp.asarray(samples), jnp.asarray(valid))
    expected = [int(((samples == offset + k) & valid).sum()) for k in range(number)]
    assert counts.as_int().tolist() == [*expected, 500 - sum(expected)]
    again = reducer.update(counts, jnp.asarray(samples), jnp.asarray(valid))
    assert again.as_int().tolist() == [2 * value for value in counts.as_int()]
    assert reducer.reads_once
    assert categories.compared(jnp.array([0, 2, 2, 9]), 4).tolist() == [1, 0, 2, 0]


def test_options_of_execution():
    for name in ("runs_at_once", "pairs_at_once", "blocks_at_once"):
        with pytest.raises(ValueError, match=f"^{name} must be an integer >= 1, but was 0"):
            dpjax.Execution(**{name: 0})
    with pytest.raises(ValueError, match=r"^layout 'wide' is not known; "):
        dpjax.Execution(layout="wide")
    told = dpjax.Execution(progress=print, devices=tuple(jax.devices()))
    assert told == dpjax.Execution() and "progress" not in repr(told)
    assert dpjax.Execution(layout="streamed") != dpjax.Execution()
    assert dpjax.Execution(runs_at_once=4, pairs_at_once=3, blocks_at_once=30).blocks(9, 2) == 3
    assert dpjax.Execution(runs_at_once=4, pairs_at_once=3, blocks_at_once=30).blocks(9) == 7


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_maps_in_batches(monkeypatch, at_once):
    asked = []
    real = jax.lax.map
    monkeypatch.setattr(jax.lax, "map", lambda *a, **k: asked.append(k) or real(*a, **k))
    assert map_batched(lambda x: x + 1, jnp.arange(4), at_once).tolist() == [1, 2, 3, 4]
    assert asked == [{"batch_size": at_once if at_once > 1 else None}]


def test_kernels_on_devices():
    seen = []

    def kernel(*arguments, **static):
        seen.append((arguments, static))
        return "found"

    plain = dpjax.Execution()
    assert over_devices(kernel, (1, 2), "runs", plain, size=3) == "found"
    assert seen.pop() == ((1, 2, "runs"), {"execution": plain, "size": 3})
    one = dpjax.Execution(devices=tuple(jax.devices()[:1]))
    assert over_devices(kernel, (1,), "runs", one) == "found"
    assert seen.pop() == ((1, "runs"), {"execution": one})
