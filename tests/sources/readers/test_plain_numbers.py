"""The fast reader of plain numbers agrees with the careful reader, and reads nothing else."""

import gzip
import sys
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from dpjax import Recording
from dpjax.sources.readers import _plain, _recording, _text

PLAIN = ["1", "-2", "0", "-0", "7.5", "-0.0", "1e3", "2.5E-3", ".5", "5.", "1e-400", "12345678901"]
WHOLE = ["1", "-2", "0", "-0", "007", "9007199254740993", "-9007199254740995", "123"]
NASTY = [
    "nan", "NaN", "-nan", "inf", "-Infinity", "+inf", "1e400", "nan(1)", "+1", "+1.5", "1_000",
    "", " ", "NA", "N/A", "null", "None", "True", "yes", "1,000", "1;2", "1 2", " 3 ", "\t4", "#",
    "0x10", "1d5", "1e", "e5", "--1", "1.2.3", ".", "-", "1f", "'1'", '"1.5"', '"1', '"a, b"',
    "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1" * 30, "0" * 25 + "9",
    "\uff11\uff12", "1\u00a0", "\u2003", "\u22121", "é", "1\x00", "1\x0b", "\x1c2",
    "a\x0cb", "1\r2", "\ufeff1",
]  # fmt: skip


@pytest.fixture
def small(monkeypatch):
    """Files of all sizes are read in chunks of 5 rows; the list counts the chunks read fast."""
    monkeypatch.setattr(_plain, "_SMALL", 0)
    monkeypatch.setattr(_plain, "_READ", 50)
    monkeypatch.setattr(_recording, "_ROWS", 5)
    fast: list[int] = []

    def counted(*arguments):
        for chunk, size, last in _plain.plain_chunks(*arguments):
            fast.append(len(chunk))
            yield chunk, size, last

    monkeypatch.setattr(_text, "plain_chunks", counted)
    return fast


def content(path, column):
    """Return the dtype, shape and bits of every chunk, and the error message if there is one."""
    read = []
    try:
        for chunk in Recording(path, column).chunks():
            # Python does not show the sign of NaN.
            bits = np.where(np.isnan(chunk), np.nan, chunk) if chunk.dtype.kind == "f" else chunk
            held = bits.tolist() if bits.dtype.kind == "O" else bits.tobytes()
            read.append((chunk.dtype.str, chunk.shape, held, chunk.flags.writeable))
    except ValueError as error:
        read.append(str(error))
    return read


def careful(path, column):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text, "plain_chunks", lambda *_: iter(()))
        return content(path, column)


def some_file(rng, path):
    """Return a typical file with at most a few unusual places."""
    delimiter = {".csv": ",", ".tsv": "\t", ".txt": " "}[path.suffix]
    width, length = int(rng.integers(1, 4)), int(rng.integers(1, 40))
    pool = [PLAIN, WHOLE, [repr(v) for v in rng.normal(size=50).tolist()]][rng.integers(3)]
    table = rng.choice(np.array(pool, object), (length, width))
    labelled = rng.random() < 0.2
    if labelled:
        table[:, 0] = "a"
    for _ in range(rng.choice([0, 0, 1, 3])):
        entry = NASTY[rng.integers(len(NASTY))]
        table[rng.integers(length), rng.integers(width)] = entry
    lines = [delimiter.join(row) for row in table]
    for _ in range(rng.choice([0, 0, 0, 1])):
        extra = ["", "  ", delimiter, "1", delimiter.join("123"), "\r", '"', "x" * 140_000]
        lines.insert(rng.integers(length + 1), extra[rng.integers(len(extra))])
    head = [None, delimiter.join("uvw"[:width]), '"u\n"' + delimiter.join(" vw"[:width])]
    head = head[rng.choice(3, p=[0.5, 0.4, 0.1])]
    lines = lines if head is None else [head, *lines]
    end = ["\n", "\n", "\r\n", "\r", "\n\n", "\r\r\n"][
        rng.choice(6, p=[0.4, 0.3, 0.2, 0.04, 0.03, 0.03])
    ]
    text = end.join(lines) + (end if rng.random() < 0.8 else "")
    path.write_bytes(b"\xef\xbb\xbf" * (rng.random() < 0.1) + text.encode())
    columns = [None, 0, width - 1, "v", "2"] if not labelled else [width - 1, "v", None]
    return columns[rng.integers(len(columns))]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt"])
def test_all_is_read_and_refused_as_by_the_careful_reader(tmp_path, small, suffix):
    rng = np.random.default_rng(["csv", "tsv", "txt"].index(suffix))
    path = tmp_path / f"x.{suffix}"
    for _ in range(600):
        column = some_file(rng, path)
        assert content(path, column) == careful(path, column), path.read_bytes()
    # Check that the fast reader actually read many chunks.
    assert len(small) > 700


@pytest.mark.one_in(3)
@pytest.mark.parametrize("entry", NASTY)
def test_one_strange_entry_in_a_plain_file(tmp_path, small, entry):
    for suffix, delimiter in (("csv", ","), ("tsv", "\t"), ("txt", " ")):
        for row in (1, 12):
            for whole in (False, True):
                numbers = [[str(i * i), str(-i * i) if whole else f"{i}.5"] for i in range(20)]
                numbers[row][1] = entry
                path = tmp_path / f"x.{suffix}"
                alone, beside = [row[1] for row in numbers], map(delimiter.join, numbers)
                for lines, columns in ((alone, (None,)), (beside, (None, 0, 1))):
                    path.write_text("\n".join(lines), encoding="utf-8", newline="")
                    for column in columns:
                        assert content(path, column) == careful(path, column)


def nearest_double(text):
    """Round to the nearest double by exact rational arithmetic, with ties to even."""
    exact = Fraction(text)
    guess = float(exact)
    near = [np.nextafter(guess, -np.inf), guess, np.nextafter(guess, np.inf)]
    near = [float(value) for value in near]
    gaps = [abs(Fraction(value) - exact) for value in near]
    closest = [value for value, gap in zip(near, gaps, strict=True) if gap == min(gaps)]
    return next(v for v in closest if len(closest) == 1 or np.float64(v).view(np.int64) % 2 == 0)


def test_every_number_is_rounded_correctly(tmp_path, small):
    """Tests numbers with 17 or more digits, and numbers at or near the middle of two doubles."""
    rng = np.random.default_rng(7)
    texts = [
        f"{m}.{f}e{e}" for m, f, e in rng.integers([-9, 10**16, -290], [9, 10**17, 290], (3000, 3))
    ]
    for value in (rng.normal(size=300) * 10.0 ** rng.integers(-20, 20, 300)).tolist():
        half = (Fraction(value) + Fraction(float(np.nextafter(value, np.inf)))) / 2
        digits = 150
        scaled = half * 10**digits
        # Halves of the last places of numbers above 10^-26 end within 140 digits.
        texts += [
            f"{scaled.numerator // scaled.denominator + step}e-{digits}" for step in (-1, 0, 1)
        ]
    texts += ["9007199254740993.0", "2.2250738585072011e-308", "5e-324", "2.4703282292062328e-324"]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(texts))
    expected = np.array([nearest_double(text) for text in texts])
    read = np.concatenate(list(Recording(path).chunks()))
    np.testing.assert_array_equal(read.view(np.int64), expected.view(np.int64))
    assert sum(small) == len(texts)


def test_zeros_keep_their_sign(tmp_path, small):
    path = tmp_path / "x.csv"
    path.write_text("-0.0\n0.0\n1.5\n")
    assert np.signbit(np.concatenate(list(Recording(path).chunks()))).tolist() == [
        True,
        False,
        False,
    ]
    assert small


def test_integers_are_exact_and_chosen_columns_are_fast(tmp_path, small):
    path = tmp_path / "x.csv"
    path.write_text("name,v\n" + "".join(f"a b,{2**53 + i}\n" for i in range(12)))
    chunks = list(Recording(path, "v").chunks())
    assert [len(chunk) for chunk in chunks] == small == [5, 5, 2]
    assert np.concatenate(chunks).tolist() == [2**53 + i for i in range(12)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1.5\n" * 12 + "\n2.5\n", "blank line, line 14:"),
        ("1\n" * 13 + "three\n", "'three' in row 15 is not a number"),
    ],
)
def test_messages_count_the_rows_read_fast(tmp_path, small, rows, message):
    path = tmp_path / "x.csv"
    path.write_text("v\n" + rows)
    with pytest.raises(ValueError, match=message):
        list(Recording(path).chunks())
    assert small == [5, 5]


def test_blank_lines_at_the_end_are_no_rows(tmp_path, small):
    path = tmp_path / "x.csv"
    path.write_text("v\n" + "1.5\n" * 12 + "\n\n")
    assert sum(map(len, Recording(path).chunks())) == 12


def test_entries_too_long_for_the_csv_module_are_refused(tmp_path, small, monkeypatch):
    monkeypatch.setattr(_plain, "_WIDEST", 10**6)
    path = tmp_path / "x.csv"
    path.write_text("1.5\n" * 3 + "0." + "1" * 131_071)
    with pytest.raises(ValueError, match=r"field larger than field limit \(131072\)"):
        list(Recording(path).chunks())


def test_without_pyarrow_all_is_read_carefully(tmp_path, small, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text("1.5\n" * 12)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert np.concatenate(list(Recording(path).chunks())).tolist() == [1.5] * 12
    assert small == []


def test_memory_holds_a_chunk_and_not_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_recording, "_ROWS", 20_000)
    monkeypatch.setattr(_plain, "_READ", 2**18)
    (tmp_path / "x.csv").write_text("0.12345678901234567\n" * 1_000_000)
    (tmp_path / "line.csv").write_text("1" * 20_000_000)
    tracemalloc.start()
    assert sum(map(len, Recording(tmp_path / "x.csv").chunks())) == 1_000_000
    _, peak = tracemalloc.get_traced_memory()
    assert peak < 4e6
    tracemalloc.reset_peak()
    # Lines that are too long for outputs are not collected here.
    with (tmp_path / "line.csv").open("rb") as file:
        assert list(_plain._blocks(file, 10)) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4e6


def test_a_packed_file_of_many_lines_is_read_fast(tmp_path, small, monkeypatch):
    """The size on disk says little: 20,000 lines take only 100 bytes."""
    monkeypatch.setattr(_plain, "_SMALL", 10_000)
    monkeypatch.setattr(_recording, "_ROWS", 2**18)
    for lines, fast in ((20_000, [20_000]), (100, [])):
        small.clear()
        with gzip.open(tmp_path / "x.csv.gz", "wt") as file:
            file.write("1\n" * lines)
        assert np.concatenate(list(Recording(tmp_path / "x.csv.gz").chunks())).sum() == lines
        assert small == fast
