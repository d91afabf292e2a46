"""Recordings of any size: the split and the counts do not depend on how they are read."""

import json
import tracemalloc
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpjax
from dpjax import Events, Local, Recorded, Recording
from dpjax.core import random
from dpjax.sources._split import key_of_side, random_words
from dpjax.sources.readers import _recording, read_samples

RNG = np.random.default_rng(3)
X, Y = RNG.laplace(0, 1, 20_000), RNG.laplace(1, 1, 20_000)


def chunks_of(monkeypatch, rows):
    monkeypatch.setattr(_recording, "_ROWS", rows)


def write_all(folder):
    """Write the same recording in every format."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = np.stack([np.arange(len(X), dtype=float), X], axis=1)
    np.save(folder / "a.npy", X)
    np.savez(folder / "a.npz", other=np.arange(3), v=X)
    np.savez_compressed(folder / "b.npz", table)
    np.save(folder / "fortran.npy", np.asfortranarray(table))
    np.savetxt(folder / "a.csv", table, "%.17g", ",", header="i,v", comments="")
    np.savetxt(folder / "a.txt", X, "%.17g")
    pq.write_table(pa.table({"i": table[:, 0], "v": X}), folder / "a.parquet")
    np.save(folder / "part1.npy", X[:7001])
    np.savetxt(folder / "part2.csv", X[7001:], "%.17g")
    return {
        "a.npy": None, "a.npz": "v", "b.npz": 1, "fortran.npy": "1", "a.csv": "v", "a.txt": None,
        "a.parquet": "v", "part*": None,
    }  # fmt: skip


def test_every_format_in_every_chunk_size_holds_the_same(tmp_path, monkeypatch):
    columns = write_all(tmp_path)
    for rows in (2**18, 977):
        chunks_of(monkeypatch, rows)
        for name, column in columns.items():
            chunks = list(Recording(str(tmp_path / name), column).chunks())
            assert max(map(len, chunks)) <= max(rows, 1)
            np.testing.assert_array_equal(np.concatenate(chunks), X)


def test_an_audit_depends_on_neither_format_nor_chunks(tmp_path, monkeypatch):
    write_all(tmp_path)
    np.save(tmp_path / "y.npy", Y)
    results = []
    for rows, where, column in ((2**18, "a.npy", None), (501, "a.csv", "v"), (7001, "part*", None)):
        chunks_of(monkeypatch, rows)
        x, y = Recording(str(tmp_path / where), column), Recording(tmp_path / "y.npy")
        results.append(dpjax.audit(Recorded(x, y), claim=0.5))
    assert results[0].verdict == "violated" and 0.85 < results[0].lower_bound < 1.02
    assert len({result.lower_bound for result in results}) == 1
    assert len({json.dumps(result.to_dict()["witness"]) for result in results}) == 1


def test_words_can_be_entered_anywhere_and_are_even():
    key = np.array([5, 1], np.uint64)
    words = random_words(key, 0, 100_000)
    for start in (1, 2, 3, 4, 77_777):
        np.testing.assert_array_equal(random_words(key, start, 10), words[start : start + 10])
    # The tolerance is 4.6 standard errors, which are exceeded with probability 4e-6 each.
    assert abs(np.mean(words < 0.3 * 2**64) - 0.3) < 4.6 * np.sqrt(0.21 / 100_000)
    assert abs(np.mean(words & np.uint64(1)) - 0.5) < 4.6 * np.sqrt(0.25 / 100_000)


def test_each_key_and_each_side_has_words_of_its_own():
    """No two of four streams share a word; among 240,000 words, this is unlikely to be chance."""
    keys = [key_of_side(random.as_key(seed), side) for seed in (0, 1, 2**40) for side in (0, 1)]
    words = np.concatenate([random_words(key, 0, 100) for key in keys])
    assert len(np.unique(words)) == len(words)


def test_the_key_decides_what_searches():
    """With 20,000 outputs per side, the key determines which half is used for confirmation."""
    results = [dpjax.audit(Recorded(X, Y), key=seed) for seed in range(3)]
    # Two sizes near 10,000 are equal with probability 0.004; there are three pairs on two sides.
    assert len({result.evidence.counted.trials for result in results}) == 3
    assert len({result.witness.event_counts for result in results}) == 3


@pytest.mark.parametrize("block", [7, 64])
def test_blocks_may_begin_in_one_chunk_and_end_in_the_next(tmp_path, monkeypatch, block):
    write_all(tmp_path)
    np.save(tmp_path / "y.npy", Y)
    results = []
    for rows in (2**18, 501):
        chunks_of(monkeypatch, rows)
        x, y = Recording(tmp_path / "a.npy"), Recording(tmp_path / "y.npy")
        results.append(dpjax.audit(Recorded(x, y, blocks=block)))
    assert len({result.lower_bound for result in results}) == 1
    for result in results:
        assert result.witness.event_counts == results[0].witness.event_counts
        # Only one output of each confirmation block counts, of 20,000 / block.
        assert max(result.evidence.counted.trials) <= 20_000 // block + 1


def test_search_and_confirm_share_no_output(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    result = dpjax.audit(
        Recorded(Recording(tmp_path / "x.npy"), Recording(tmp_path / "y.npy"), search_fraction=0.2)
    )
    confirmed = list(result.evidence.counted.trials)
    assert confirmed == result.settings["confirmed"]
    # The two sides are split differently; otherwise, both confirmation sets would be equally large.
    assert confirmed[0] != confirmed[1]
    searched = [20_000 - total for total in confirmed]
    assert searched == result.settings["searched"] and min(searched) == result.num_samples
    assert result.evidence.draws() == (
        f"{searched[0]} at the database and {searched[1]} at the neighbor to search, "
        f"{confirmed[0]} at the database and {confirmed[1]} at the neighbor to confirm"
    )
    for total in confirmed:
        assert abs(total - 16_000) < 4.6 * np.sqrt(20_000 * 0.16)


def test_recordings_of_the_least_size_are_audited_whatever_the_key(tmp_path):
    """By chance alone, 10 of 40 outputs would be search outputs for only two of three keys."""
    rng = np.random.default_rng(4)
    for side, p in (("x", 0.2), ("y", 0.8)):
        labels = np.where(rng.random(40) < p, "yes", "no")
        (tmp_path / f"{side}.txt").write_text("\n".join(labels))
    x, y = (Recording(tmp_path / f"{side}.txt") for side in "xy")
    for seed in range(40):
        result = dpjax.audit(Recorded(x, y), key=seed)
        assert all(total <= 30 for total in result.evidence.counted.trials)
    with pytest.raises(
        ValueError, match=r"search_fraction must put .* x \(x.txt\) .* of 40 is only 8"
    ):
        dpjax.audit(Recorded(x, y, search_fraction=0.2))


def test_memory_holds_a_chunk_and_not_the_file(tmp_path, monkeypatch):
    """A file has 12 million bytes; a chunk of 20 000 outputs and the pilots are much smaller.

    The bound at the end has tables of its own, which do not depend on the files' size.
    """
    chunks_of(monkeypatch, 20_000)
    monkeypatch.setattr("dpjax.sources._split.PILOT", 4000)
    monkeypatch.setattr("dpjax.sources._side_values._KEPT", 4000)
    monkeypatch.setattr("dpjax.sources._spacings._KEPT", 1000)
    monkeypatch.setattr("dpjax.notions._notion.event_lower_bound", lambda *_, **__: 0.0)
    x, y = tmp_path / "x.npy", tmp_path / "y.npy"
    # The first audit of a process imports modules.
    for size in (10_000, 1_500_000):
        np.save(x, RNG.laplace(size=size))
        np.save(y, 1 + RNG.laplace(size=size))
        tracemalloc.start()
        dpjax.audit(Recorded(Recording(x), Recording(y)))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 8e6


# Kinds.


def test_atoms_in_a_density_are_counted_apart():
    """A censored Laplace distribution: the atom at 0 has the probabilities 1/2 and e^-1/2."""
    x, y = np.maximum(X, 0), np.maximum(Y, 0)
    result = dpjax.audit(Recorded(x, y), claim=0.5)
    assert result.verdict == "violated" and result.lower_bound < 1.02
    assert any("counted separately from all nearby numbers" in note for note in result.notes)
    assert result.basis == "exact binomial"
    with pytest.raises(
        ValueError, match=r"x holds the value 0 in .*method=Events\(\), which count"
    ):
        dpjax.audit(Recorded(x, y), method=Local())


def test_few_outputs_with_an_atom_are_counted_as_many_are():
    """80 distinct numbers of 200 are not outcomes, and some of them differ from the atom."""
    rng = np.random.default_rng(6)
    x, y = (np.maximum(shift + rng.laplace(size=200), 0) for shift in (-0.5, 0.5))
    assert len(np.unique(x)) <= 100
    result = dpjax.audit(Recorded(x, y))
    assert result.basis == "exact binomial" and result.lower_bound < 1
    with pytest.raises(ValueError, match=r"use method=Events\(\), which counts the value"):
        dpjax.audit(Recorded(x, y), method=Local(region=(0, 3)))


def test_nan_and_infinities_and_none_are_outcomes():
    x, y = X.copy(), RNG.laplace(size=len(X))
    x[::10], y[::5] = np.nan, np.inf
    result = dpjax.audit(Recorded(x, y))
    assert result.lower_bound > 3 and ("NaN" in result.witness.event or "inf" in str(result))
    number = len(X)
    said = f"NaN: {number // 10:,} of {number:,} outputs of x and 0 of {number:,} outputs of y"
    assert any(note.startswith(said) for note in result.notes)
    labels = ["yes", None, "no", 1.5] * 100
    result = dpjax.audit(Recorded(labels, ["yes"] * 400))
    assert result.lower_bound > 0.5
    with pytest.raises(TypeError, match=r"labels, but held the types .*method=Events\(\)"):
        dpjax.audit(Recorded(labels, ["yes"] * 400), method=Local())


def test_columns_that_are_read_as_vectors_are_said(tmp_path):
    for side, values in (("x", X), ("y", Y)):
        pairs = values[:2000].reshape(-1, 2)
        np.savetxt(tmp_path / f"{side}.csv", pairs, "%.17g", ",", header="p,q", comments="")
        np.savetxt(tmp_path / f"{side}.txt", pairs, "%.17g")
    said = {
        ("csv", None): ["x.csv: read 2 columns as vectors: p, q."],
        ("txt", None): ["x.txt: read 2 columns as vectors: 0, 1."],
        ("csv", "p"): [],
    }
    for (ending, column), notes in said.items():
        x, y = (Recording(tmp_path / f"{side}.{ending}", column) for side in "xy")
        result = dpjax.audit(Recorded(x, y))
        assert x.notes == notes
        assert [note for note in result.notes if "as vectors" in note] == x.notes + y.notes


def test_labels_and_integers(tmp_path):
    rng = np.random.default_rng(5)
    sides = [rng.random(4000) < p for p in (0.2, 0.6)]
    for name, side in zip("xy", sides, strict=True):
        (tmp_path / f"{name}.csv").write_text("\n".join(np.where(side, "ja", "nein")))
        np.save(tmp_path / f"{name}.npy", np.where(side, 10**17 + 1, 10**17))
    for ending in ("csv", "npy"):
        recordings = [Recording(tmp_path / f"{name}.{ending}") for name in "xy"]
        result = dpjax.audit(Recorded(*recordings))
        assert 0.7 < result.lower_bound < np.log(3)
    with pytest.raises(ValueError, match=r"all .* outputs are distinct numbers"):
        np.save(tmp_path / "x.npy", X)
        np.save(tmp_path / "y.npy", Y)
        recordings = [Recording(tmp_path / f"{name}.npy") for name in "xy"]
        dpjax.audit(Recorded(*recordings, discrete=True))


def test_all_distinct_reals_are_no_outcomes():
    for method in (Events(), Local()):
        with pytest.raises(ValueError, match="are distinct numbers"):
            dpjax.audit(Recorded(X, Y, discrete=True), method=method)


@pytest.mark.slow
def test_many_labels_that_come_again_are_counted():
    """Each side has 400,000 outputs and 100,000 labels; the first half is twice as likely in x."""
    rng = np.random.default_rng(0)
    weight = np.where(np.arange(100_000) < 50_000, 2.0, 1.0)
    x, y = (rng.choice(100_000, 400_000, p=w / w.sum()) for w in (weight, weight[::-1]))
    result = dpjax.audit(Recorded(x.astype("U6"), y.astype("U6")))
    assert 0 <= result.lower_bound < np.log(2) and not result.doubts


def test_labels_that_are_all_different_are_refused(tmp_path):
    names = [f"run-{number}" for number in range(2000)]
    (tmp_path / "x.txt").write_text("\n".join(names[:1000]))
    (tmp_path / "y.txt").write_text("\n".join(names[1000:]))
    recordings = [Recording(tmp_path / f"{side}.txt") for side in "xy"]
    with pytest.raises(ValueError, match=r"x \(x.txt\) must .* 'number 0' .* row numbers"):
        dpjax.audit(Recorded(*recordings))
    with pytest.raises(ValueError, match=r"hold 2000 labels, such as 'run-0', .* nothing to"):
        dpjax.audit(Recorded(names[:1000], names[1000:]), method=Local())
    ids = [UUID(int=number) for number in range(2000)]
    for method in (Events(), dpjax.Sequential()):
        with pytest.raises(ValueError, match=r"hold 2000 labels, such as UUID.* nothing to"):
            dpjax.audit(Recorded(ids[:1000], ids[1000:]), method=method)
    # A label that occurs can be compared: ln(200 / 1) is 5.3.
    x = ["failed"] * 200 + names[:800]
    assert dpjax.audit(Recorded(x, names[1000:])).lower_bound > 2


def test_integers_of_any_range_are_compared_in_sets():
    """Rounding is post-processing: epsilon is 1 for every scale, and sets come close to it.

    One of four bounds is above 1 with a chance of 8e-6.
    """
    rng = np.random.default_rng(8)
    for scale in (1, 10, 100, 3000):
        x, y = (np.rint(scale * (c + rng.laplace(size=20_000))).astype(int) for c in (0, 1))
        result = dpjax.audit(Recorded(x, y), key=scale, confidence=1 - 2e-6)
        assert 0.85 < result.lower_bound <= 1
        said = any(
            "all other integers were grouped into intervals" in note for note in result.notes
        )
        assert said == (scale >= 100)  # Below this limit, every integer is counted separately.


def test_a_recording_and_an_array_are_compared(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mixed = dpjax.audit(Recorded(Recording(tmp_path / "x.npy"), Y))
    assert mixed.lower_bound == dpjax.audit(Recorded(X, Y)).lower_bound


def test_bits_of_recorded_outputs_are_looked_at():
    """Outputs are even for one database and odd for the other, or multiples of 2^-10."""
    rng = np.random.default_rng(7)
    wide = np.rint(1000 * rng.laplace(size=(2, 20_000))).astype(int)
    grid = np.rint(X * 2**10) / 2**10
    for x, y, event in ((2 * wide[0], 2 * wide[1] + 1, "2^0"), (grid, X[::-1] + 1e-9, "2^-")):
        assert dpjax.audit(Recorded(x, y)).lower_bound < 3
        result = dpjax.audit(Recorded(x, y, bits="lowest"))
        assert result.lower_bound > 5 and event in result.witness.event
        assert result.settings["bits"] == "lowest"


# Refusals.


@pytest.mark.parametrize(
    ("name", "column", "message"),
    [
        ("a.csv", "w", "a.csv has no column 'w'; .*known: i, v"),
        ("a.csv", "2", "a.csv has no column 2: its columns are 0 to 1"),
        ("a.npy", "v", "a.npy cannot be read: it has no column 'v': its only column is 0"),
        ("a.npz", None, "choose one of them with column"),
        ("a.parquet", "w", "a.parquet .*no column 'w'"),
    ],
)
def test_wrong_columns(tmp_path, name, column, message):
    write_all(tmp_path)
    with pytest.raises(ValueError, match=message):
        list(Recording(tmp_path / name, column).chunks())


def test_refused_recordings(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "v.npy", X.reshape(-1, 2))
    np.save(tmp_path / "few.npy", X[:20])
    pq.write_table(pa.table({"v": [1.0, None]}), tmp_path / "gap.parquet")
    pq.write_table(pa.table({"v": [[1.0], [2.0, 3.0]]}), tmp_path / "list.parquet")
    with pytest.raises(ValueError, match="is named twice"):
        Recording([tmp_path / "x.npy", tmp_path / "x.npy"])
    with pytest.raises(FileNotFoundError, match="no file matches this pattern"):
        Recording(str(tmp_path / "none*.npy"))
    with pytest.raises(ValueError, match="at least one file"):
        Recording([])
    with pytest.raises(ValueError, match=r"v\.npy holds vectors of 2 numbers, but the first"):
        list(Recording(f"{tmp_path}/x.npy,{tmp_path}/v.npy").chunks())
    with pytest.raises(ValueError, match="has gaps"):
        read_samples(tmp_path / "gap.parquet")
    with pytest.raises(ValueError, match="lists of 1 and of 2"):
        read_samples(tmp_path / "list.parquet")
    np.save(tmp_path / "y.npy", Y)
    x, y = Recording(tmp_path / "x.npy"), Recording(tmp_path / "y.npy")
    with pytest.raises(ValueError, match=r"y \(few.npy\) must hold at least 40 .* held 20"):
        dpjax.audit(Recorded(x, Recording(tmp_path / "few.npy")))
    with pytest.raises(
        TypeError, match=r"x \(x.npy\) holds numbers.*vectors of 2 numbers, such as"
    ):
        dpjax.audit(Recorded(x, Recording(tmp_path / "v.npy")))
    copy = tmp_path / "copy.npy"
    copy.write_bytes((tmp_path / "x.npy").read_bytes())
    with pytest.raises(ValueError, match=r"x \(x.npy\) and y \(copy.npy\): x and y must be indep"):
        dpjax.audit(Recorded(x, Recording(copy)))
    with pytest.raises(TypeError, match=r"in memory, but y was a Recording: read .* method=Events"):
        dpjax.audit(Recorded(Y, x), method=Local())
    for fraction, message in ((0.6, "must be below 0.5"), (0.0, "must lie strictly")):
        with pytest.raises(ValueError, match=f"search_fraction {message}"):
            Recorded(x, y, search_fraction=fraction)


def test_labels_beside_numbers_are_refused(tmp_path):
    """Otherwise, equal answers written as texts and as numbers would be distinguished."""
    answers = np.random.default_rng(1).random((2, 400)) < 0.5
    (tmp_path / "x.csv").write_text("\n".join(np.where(answers[0], "True", "False")))
    (tmp_path / "y.csv").write_text("\n".join(np.where(answers[1], "1", "0")))
    labels, numbers = (Recording(tmp_path / f"{side}.csv") for side in "xy")
    with pytest.raises(
        TypeError,
        match=r"x \(x\.csv\) holds labels, .* '\w+', and y \(y\.csv\) holds numbers, .* [01]\.",
    ):
        dpjax.audit(Recorded(labels, numbers))
    with pytest.raises(TypeError, match=r"x \(y\.csv\) holds numbers.* y \(x\.csv\) holds labels"):
        dpjax.audit(Recorded(numbers, labels))
    reals = answers[0] + np.where(answers[0], 0.5, np.nan)
    with pytest.raises(TypeError, match="but x holds labels, such as 'yes', and y holds numbers"):
        dpjax.audit(Recorded(np.array(["yes"] * 400), reals))
    # NaN is not a different kind of output.
    dpjax.audit(Recorded(np.full(400, np.nan), reals))


def test_no_advice_to_unpickle(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"not an array")
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    for name in ("x.npy", "o.npy"):
        with pytest.raises(ValueError, match="cannot be read") as refused:
            read_samples(tmp_path / name)
        assert "allow_pickle" not in str(refused.value)


def test_a_note_counts_what_is_nan_among_numbers():
    """The note counts both sets; labels that read NaN are ordinary outcomes."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3_000))
    x[:123] = np.nan
    for first, second, expected in (
        (x, y, ["NaN: 123 of 3,000 outputs of x and 0 of 3,000 outputs of y, counted as an "
                "outcome of its own."]),
        (y, y[::-1] * 2, []),
        (np.where(np.isnan(x), "NaN", "b"), np.where(y > 0, "b", "NaN"), []),
    ):  # fmt: skip
        notes = dpjax.audit(Recorded(first, second, independent=True)).notes
        assert [note for note in notes if note.startswith("NaN")] == expected


def test_vectors_of_one_number_are_numbers(tmp_path):
    values = np.random.default_rng(1).normal(size=(40, 1))
    np.save(tmp_path / "x.npy", values)
    (read,) = dpjax.Recording(tmp_path / "x.npy").chunks()
    np.testing.assert_array_equal(read, values[:, 0])


def people(order):
    """Return a table with two columns of noise, in the given order."""
    pay, age = np.random.default_rng(ord(order[0][0])).normal(size=(2, 500))
    return pd.DataFrame({"pay": pay + 5.0, "age": age})[[*order]]


def test_columns_in_another_order_are_no_leak(tmp_path, monkeypatch):
    """Formerly, columns were compared by position, so pay was compared with age."""
    monkeypatch.chdir(tmp_path)
    x, y = people(("pay", "age")), people(("age", "pay"))
    for side, name in ((x, "x"), (y, "y")):
        side.to_csv(f"{name}.csv", index=False)
        side.to_parquet(f"{name}.parquet")
    said = r"same columns in the same order, but the columns of x are 'pay, age', .* 'age, pay'"
    files = [[Recording(f"{side}.{kind}") for side in "xy"] for kind in ("csv", "parquet")]
    tables = [pa.Table.from_pandas(side) for side in (x, y)]
    for sides in ([x, y], tables, *files):
        for method in (dpjax.Events(), dpjax.Sequential(), dpjax.Local()):
            with pytest.raises(ValueError, match=said):
                dpjax.audit(Recorded(*sides), claim=1.0, method=method)
    with pytest.raises(ValueError, match=said):
        next(iter(dpjax.watch([(x, y)], claim=1.0)))
    both = Recording(["x.csv", "y.csv"])
    with pytest.raises(ValueError, match=r"x\.csv and y\.csv must have the same columns"):
        dpjax.audit(Recorded(both, Recording("x.parquet")), claim=1.0)
    # Chosen columns have an order, and a single column or an array has no names to compare.
    chosen = [Recording(f"{side}.csv", ["pay", "age"]) for side in "xy"]
    renamed = y[["pay"]].rename(columns={"pay": "wage"})
    for sides in (chosen, (x, y[["pay", "age"]].to_numpy()), (x[["pay"]], renamed)):
        assert dpjax.audit(Recorded(*sides), claim=1.0).verdict == "not refuted"
