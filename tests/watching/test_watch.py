"""Outputs that arrive in chunks: a single sequential audit counts each output once."""

import errno
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refusal

import dpjax
from dpjax.core.seals import seal_of
from dpjax.sources import Arriving, Chunk, Passages
from dpjax.sources.readers import read_samples
from dpjax.watching._folder import Folder
from dpjax.watching._state import State

SIZES = [(500, 900), (700, 300), (3_000, 2_500), (2_000, 4_000), (5_000, 4_000)]


def laplace(sizes=SIZES, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return [(rng.laplace(0, scale, n), rng.laplace(1, scale, m)) for n, m in sizes]


def names(sizes=SIZES):
    rng = np.random.default_rng(0)
    shares = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    return [
        tuple(
            np.array(["a", "b", "cc"])[rng.choice(3, n, p=p)]
            for n, p in zip(size, shares, strict=True)
        )
        for size in sizes
    ]


def vectors(sizes=SIZES):
    rng = np.random.default_rng(0)
    return [(rng.normal(0, 1, (n, 2)), rng.normal(0.2, 1, (m, 2))) for n, m in sizes]


def counted(result):
    return result.evidence.counted.to_plain()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("chunks", "claim"), [(laplace(), 1.0), (names(), 1.0), (vectors(), 3.0)])
def test_a_watch_is_a_resumed_sequential_audit(chunks, claim):
    """The guarantee is that of `Sequential`: results equal those of `resume` with all outputs."""
    found = list(dpjax.watch(chunks, claim=claim))
    assert [result.settings["drawn"] for result in found] == [500, 1_200, 3_700, 6_200, 11_200]
    expected, most = None, np.cumsum(SIZES, axis=0)
    for result, (n, m) in zip(found, most, strict=True):
        x, y = (np.concatenate([chunk[side] for chunk in chunks]) for side in (0, 1))
        recorded = dpjax.Recorded(x[:n], y[:m])
        if expected is None:
            expected = dpjax.audit(recorded, claim=claim, method=dpjax.Sequential())
        else:
            expected = dpjax.resume(expected, recorded)
        assert counted(result) == counted(expected)
        assert result.statement == expected.statement


def test_a_watch_that_is_killed_after_every_chunk_gives_the_same_bits(tmp_path):
    chunks = [(f"{i}", *chunk) for i, chunk in enumerate(laplace())]
    whole = list(dpjax.watch(chunks, claim=1.0))[-1]
    state = tmp_path / "watch.json"
    for number in range(len(chunks)):
        # All previous chunks are delivered again, but counted once.
        found = list(dpjax.watch(chunks[: number + 1], claim=1.0, state=state))
    assert len(found) == 2
    assert counted(found[-1]) == counted(whole) and found[-1].statement == whole.statement
    assert [path.name for path in tmp_path.iterdir()] == ["watch.json"]


def test_an_interrupt_within_a_chunk_leaves_the_state_before_it(tmp_path, monkeypatch):
    """The interrupt occurs before the bets on a block, or while the state is written."""
    chunks, state = [(f"{i}", *chunk) for i, chunk in enumerate(laplace())], tmp_path / "w.json"
    whole = list(dpjax.watch(chunks, claim=1.0))[-1]
    list(dpjax.watch(chunks[:3], claim=1.0, state=state))
    before = state.read_bytes()
    from dpjax.methods import _walk
    from dpjax.watching import _state

    real, left = _walk.step, [1]

    def step(*given):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return real(*given)

    def killed(files):
        raise KeyboardInterrupt

    for place, name, broken in ((_walk, "step", step), (_state, "write_whole", killed)):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, broken)
            with pytest.raises(KeyboardInterrupt):
                list(dpjax.watch(chunks[:4], claim=1.0, state=state))
        assert state.read_bytes() == before
    assert counted(list(dpjax.watch(chunks, claim=1.0, state=state))[-1]) == counted(whole)


def test_a_wrong_mechanism_is_refuted_and_nothing_more_is_taken():
    """The level is 2; a false alarm for claim 1.9 has probability at most .001."""
    chunks = iter(laplace([(2_000, 2_000)] * 5, scale=0.5))
    found = list(dpjax.watch(chunks, claim=1.0))
    assert found[-1].verdict == "violated" and len(list(chunks)) == 5 - len(found)


def test_one_ended_watch_stays_ended(tmp_path):
    state = tmp_path / "watch.json"
    chunks = laplace([(4_000, 4_000)] * 2, scale=0.5)
    first = list(dpjax.watch(chunks, claim=0.5, state=state))
    again = list(dpjax.watch(iter(laplace(seed=1)), claim=0.5, state=state))
    assert [result.verdict for result in again] == ["violated"]
    assert counted(again[0]) == counted(first[-1])


@pytest.mark.parametrize("kind", ["table", "set"])
def test_other_outputs_are_watched_as_json_texts(kind):
    """The message about such outputs says how; an age, or a name, differs between the sides."""
    rng = np.random.default_rng(0)

    def output(side):
        if kind == "set":
            return {*rng.integers(0, 50, 9).tolist(), *([77] if side else [])}
        return pd.DataFrame({"age": rng.normal(40 + 30 * side, 1, 12), "town": ["x", "y"] * 6})

    def text(output):
        is_set = isinstance(output, set)
        return json.dumps(sorted(output)) if is_set else output.to_json(orient="records")

    chunks = [tuple([output(side) for _ in range(60)] for side in (0, 1)) for _ in range(3)]
    with pytest.raises(TypeError, match=r"Convert such outputs to JSON texts, .* json\.dumps"):
        next(dpjax.watch(chunks, claim=0.5))
    written = [tuple([*map(text, side)] for side in chunk) for chunk in chunks]
    *_, last = dpjax.watch(written, claim=0.5)
    assert last.verdict == "violated"
    assert ("age" if kind == "table" else "entry") in last.witness.output


def test_duplicate_changed_unordered_and_different_chunks_are_refused():
    (x, y), (x2, y2), (x3, y3) = laplace([(1_500, 1_500)] * 3)
    first = [("b", x, y), ("c", x2, y2)]
    wrong = {
        "d contains the same outputs as b": ("d", x, y3),
        "d contains the same outputs as c": ("d", y2, y3),
        "d contains the same outputs on both sides": ("d", x3, x3),
        "c has changed since its outputs were counted": ("c", x3, y3),
        "a is out of order: it sorts before c": ("a", x3, y3),
        "d contains labels, but other outputs were numbers": ("d", names()[0][0], y3),
        "d contains vectors of 2 numbers, but": ("d", *vectors()[0]),
        "of the shape": ("d", np.zeros((3, 2, 2)), y3),
        "chunks must each hold only numbers, only vectors": ("d", [1, "a", None], y3),
        "chunks must contain pairs": (x3,),
        "names of chunks must be strings": (4, x3, y3),
    }
    for message, chunk in wrong.items():
        found = dpjax.watch([*first, chunk], claim=1.0)
        assert [result.settings["drawn"] for result in (next(found), next(found))] == [1500, 3000]
        text = str(refusal(next, found))
        assert message in text or (message == "of the shape" and "shape" in text)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (np.float64, np.int64, "contain integers above 2^53 and floats, which no 64-bit type can"),
        (np.int64, np.float64, "contain integers above 2^53 and floats, which no 64-bit type can"),
        (np.int64, np.uint64, None),
        (np.uint64, np.int64, None),
    ],
)
def test_integers_are_not_rounded_beside_earlier_outputs(first, second, message):
    """Every integer is even for the database and odd for its neighbor."""
    rng = np.random.default_rng(0)
    chunks = []
    for size, dtype in ((40, first), (4_000, second)):
        offset = 0 if dtype is np.float64 else 2**60
        evens = [offset + 2 * rng.integers(0, 9, size) for _ in range(2)]
        chunks.append(tuple((even + side).astype(dtype) for side, even in enumerate(evens)))
    found = dpjax.watch(chunks, claim=1.0, independent=True)
    if message is None:
        assert [*found][-1].verdict == "violated"
    else:
        next(found)
        assert message in str(refusal(next, found))


def test_a_table_whose_columns_change_their_order_is_refused():
    chunks = [
        tuple(pd.DataFrame(side, columns=[*order]) for side in chunk)
        for chunk, order in zip(vectors(), ("ab", "ba"), strict=False)
    ]
    found = dpjax.watch(chunks, claim=3.0)
    assert next(found).settings["drawn"] == 500
    assert "2 numbers in the columns b, a, but other outputs were" in str(refusal(next, found))


def test_bytes_are_not_joined_with_strings():
    (x, y), (x2, y2) = names(SIZES[:2])
    found = dpjax.watch([(x.astype("S"), y.astype("S")), (x2, y2)], claim=1.0)
    next(found)
    assert "contains labels, but other outputs were labels of bytes" in str(refusal(next, found))


def test_a_short_chunk_that_arrives_again_is_refused():
    """Each side has fewer than 32 outputs, but both sides together have more."""
    (x, y), (x2, y2) = laplace([(20, 20)] * 2)
    found = dpjax.watch([(x, y), (x, y2), (x2, y), (x, y)], claim=1.0)
    assert [next(found).settings["drawn"] for _ in range(3)] == [20, 40, 60]
    text = "chunk 000000004 contains the same outputs as chunk 000000001"
    assert text in str(refusal(next, found))


@pytest.mark.parametrize(
    ("name", "columns"),
    [("1.csv", ("x", "x")), ("1.csv", (None, "x")), ("1.csv", (["y"], ["y"])), ("1.npy", ("1", 1))],
)
def test_both_sides_of_a_file_are_different_columns(tmp_path, name, columns):
    (tmp_path / name).write_text("x,y\n1.5,2.5\n")
    with pytest.raises(ValueError, match="must name different columns, but both sides of"):
        next(Folder(tmp_path, columns).chunks())


def test_short_chunks_of_labels_may_be_alike_by_chance():
    chunks = [(["a", "b"], ["b", "a"])] * 3 + names([(2_000, 2_000)])
    (result,) = dpjax.watch(chunks, claim=1.0)
    assert result.settings["drawn"] == 2_006


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("claim", 1.5),
        ("confidence", 0.9),
        ("notion", dpjax.Gdp()),
        ("num_claims", 2),
        ("distance", 2),
        ("key", 1),
        ("discrete", True),
        ("independent", True),
    ],
)
def test_terms_stay(tmp_path, name, value):
    state = tmp_path / "watch.json"
    list(dpjax.watch(laplace([(100, 100)]), claim=1.0, state=state))
    with pytest.raises(ValueError, match=f"^{name} must not change when a watch"):
        dpjax.watch([], **{"claim": 1.0, "state": state, name: value})


def test_another_version_or_a_changed_state_is_refused(tmp_path, monkeypatch):
    state = tmp_path / "watch.json"
    list(dpjax.watch(laplace(), claim=1.0, state=state))
    from dpjax.watching import _watch

    real = _watch.versions
    with monkeypatch.context() as patch:
        patch.setattr(_watch, "versions", lambda: {**real(), "dpjax": "9.9"})
        with pytest.raises(ValueError, match="dpjax must not change when a watch"):
            dpjax.watch([], claim=1.0, state=state)
    content = json.loads(state.read_text())
    content["gone"] += 1
    for text in (json.dumps(content), "[]", "{"):
        state.write_text(text)
        with pytest.raises(ValueError, match="was changed or damaged"):
            dpjax.watch([], claim=1.0, state=state)


def other(place, value):
    """Return a state with one changed value."""

    def change(content):
        *path, last = place
        for part in path:
            content = content[part]
        content[last] = value

    return change


def sizes(moved):
    """Return a state with changed numbers of outputs of the first two chunks."""

    def change(content):
        first, second = content["taken"][:2]
        first[1], second[1] = moved(first[1], second[1])

    return change


@pytest.mark.one_in(7)
@pytest.mark.parametrize(
    "change",
    [
        other(["terms"], []),
        other(["gone"], -1),
        other(["gone"], 10**30),
        other(["gone"], 100.0),
        # With this change, outputs that were counted would be counted again.
        other(["taken"], []),
        other(["result"], None),
        other(["taken", 0, 1], 10**9),
        other(["taken", 0, 0], "5"),
        other(["taken", 0, 0], 3),
        other(["held"], [None, None]),
        other(["held", 0, "dtype"], "|O"),
        other(["held", 0, "dtype"], "<f4"),
        other(["held", 0, "shape"], [10**18]),
        other(["result"], "[" * 10**5),
        lambda content: content["taken"].pop(),
        # These changes do not change the sums.
        sizes(lambda one, other: (float(one), other)),
        sizes(lambda one, other: (one + other + 1, -1)),
        lambda content: content["taken"].reverse(),
    ],
)
def test_a_state_whose_seal_was_made_again_must_still_fit_together(tmp_path, change):
    """A seal is not a signature, so states with valid seals are checked for consistency."""
    state, chunks = tmp_path / "watch.json", [(f"{i}", *c) for i, c in enumerate(laplace())]
    list(dpjax.watch(chunks, claim=1.0, state=state))
    content = json.loads(state.read_text())
    assert content["gone"] > 0
    del content["seal"]
    state.write_text(json.dumps({**content, "seal": seal_of(content)}))
    assert len(list(dpjax.watch(chunks, claim=1.0, state=state))) == 1
    change(content)
    state.write_text(json.dumps({**content, "seal": seal_of(content)}))
    with pytest.raises(ValueError, match="was changed or damaged"):
        dpjax.watch(chunks, claim=1.0, state=state)


def test_a_state_of_another_version_is_not_called_damaged(tmp_path):
    state = tmp_path / "watch.json"
    list(dpjax.watch(laplace(), claim=1.0, state=state))
    state.write_text(json.dumps({**json.loads(state.read_text()), "watch": 4}))
    with pytest.raises(ValueError, match="has the format 4, but this version of dpjax reads 3"):
        dpjax.watch(laplace(), claim=1.0, state=state)


@pytest.mark.parametrize("text", ["[" * 10**5, '{"a":' * 10**5, "1" * 10**5])
def test_a_state_that_is_no_json_to_read_is_refused(tmp_path, text):
    (tmp_path / "watch.json").write_text(text)
    with pytest.raises(ValueError, match="was changed or damaged"):
        dpjax.watch([], claim=1.0, state=tmp_path / "watch.json")


def test_a_removed_state_is_not_said_to_be_written_by_another_process(tmp_path):
    state = tmp_path / "watch.json"
    found = dpjax.watch(laplace([(100, 100)] * 2), claim=1.0, state=state)
    next(found)
    state.unlink()
    with pytest.raises(ValueError, match="was removed while the watch used it"):
        next(found)
    assert not state.exists()


def test_two_watches_cannot_share_a_state(tmp_path):
    state, chunks = tmp_path / "watch.json", laplace([(1_500, 1_500)] * 3)
    one, two = (dpjax.watch(iter(chunks[i:]), claim=1.0, state=state) for i in (0, 1))
    next(one)
    with pytest.raises(ValueError, match="written by another process"):
        next(two)


def test_bad_arguments_are_refused_at_the_call(tmp_path):
    for given, message in (
        ({"claim": "1"}, "claim must be a number"),
        ({"claim": 1.0, "notion": dpjax.Zcdp()}, "notion must be"),
        ({"claim": 1.0, "confidence": 2}, "confidence"),
        ({"claim": 1.0, "state": tmp_path / "no" / "w.json"}, "does not exist"),
    ):
        with pytest.raises((ValueError, TypeError, OSError), match=message):
            dpjax.watch([], **given)


def test_outputs_in_a_sorted_order_are_doubtful_and_end_the_watch():
    chunks = [(np.sort(x), y) for x, y in laplace([(2_000, 2_000)] * 3)]
    (result,) = dpjax.watch(chunks, claim=3.0)
    assert result.verdict == "doubtful"
    (known,) = dpjax.watch(chunks, claim=3.0, independent=True)
    assert known.verdict == "violated" and not known.doubts


def test_arriving_outputs_are_for_sequential_audits():
    x, y = laplace()[2]
    with pytest.raises(TypeError, match="must be dpjax"):
        dpjax.audit(Arriving(x, y), method=dpjax.Events())


def test_digests_do_not_depend_on_the_type_of_numbers():
    whole = np.arange(50)
    one, two = Chunk.of("a", whole, []), Chunk.of("b", whole.astype(float), [])
    assert one.digests == two.digests and one.digests[1] == "" and one.telling == (True, False)


def test_a_sequence_tells_itself_apart_by_values_or_by_order():
    """The order of 100 outcomes of a fair coin has 69 nats; that of distinct values has none."""
    coins = np.random.default_rng(0).integers(0, 2, 100)
    cases = [(coins, True), (coins[:70], False), (np.zeros(10_000), False), (np.arange(32), True),
             (np.arange(31), False), (np.tile([0, 1], 5_000), False)]  # fmt: skip
    for outputs, expected in cases:
        assert Chunk.of("a", outputs, []).telling == (expected, False)
        assert Chunk.of("a", [], outputs.astype(str)).telling == (False, expected)


RECUT = {
    "numbers": lambda rng, n: rng.laplace(size=n),
    "coins": lambda rng, n: rng.integers(0, 2, n),
    "labels": lambda rng, n: np.array(["a", "b", "c"])[rng.integers(0, 3, n)],
    "vectors": lambda rng, n: rng.normal(size=(n, 2)),
}


@pytest.mark.parametrize("kind", RECUT)
def test_outputs_that_arrive_again_in_other_cuts_are_refused(kind, tmp_path):
    """The first 3,000 outputs arrive in short chunks, then in one chunk, and the other way round.

    One window in 256 is kept, so none of 2,872 windows is kept with a probability of 1.3e-5.
    """
    rng, state = np.random.default_rng(41), tmp_path / "watch.json"
    x, y = RECUT[kind](rng, 4_000), RECUT[kind](rng, 4_000)
    small = [(f"{i:04d}", x[i : i + 100], y[i : i + 100]) for i in range(0, 3_000, 100)]
    _, first = _passages(small).after(30, Chunk.of("z", x[:3_000], []).hashes)
    assert first in range(30)
    cut = [("a", x[:700], y[:700]), ("b", x[700:3_000], y[700:3_000])]
    list(dpjax.watch(cut, claim=9.0, state=state))
    before = state.read_bytes()
    with pytest.raises(
        ValueError, match=r"z repeats a long sequence of outputs from [ab], but each"
    ):
        list(dpjax.watch([("z", x[:3_000], y[3_000:])], claim=9.0, state=state))
    assert state.read_bytes() == before
    passages = _passages([("whole", x, y)])
    for number, (name, again, _) in enumerate(small[:30], 1):
        passages, first = passages.after(number, Chunk.of(name, [], again).hashes)
        if first is not None:
            break
    assert first == 0


def test_a_chunk_that_repeats_itself_is_refused():
    rng = np.random.default_rng(44)
    x = rng.laplace(size=4_000)
    with pytest.raises(ValueError, match="b repeats a long sequence of outputs from itself"):
        twice = np.concatenate([rng.laplace(size=10), x, rng.laplace(size=500), x])
        sides = rng.laplace(size=(3, 4_000))
        list(dpjax.watch([("a", *sides[:2]), ("b", twice, sides[2])], claim=9.0))


def _passages(chunks):
    passages = Passages.none()
    for number, chunk in enumerate(chunks):
        passages, first = passages.after(number, Chunk.of(*chunk).hashes)
        assert first is None
    return passages


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.integers(0, 2, n),
        lambda rng, n: rng.choice(3, n, p=[0.98, 0.01, 0.01]),
        lambda rng, n: np.zeros(n, int),
        lambda rng, n: np.sort(rng.integers(0, 5_000, n)),
        lambda rng, n: np.rint(rng.normal(0, 30, n)),
    ],
)
def test_independent_outputs_repeat_no_passage(draw):
    """Test 200 chunks of 2,000. In some distributions, repeated windows are too likely to count."""
    rng = np.random.default_rng(42)
    _passages([(f"{i:04d}", draw(rng, 2_000), draw(rng, 2_000)) for i in range(200)])


@pytest.mark.slow
def test_passages_are_those_of_every_window():
    """For every division of the sequence, the same windows are kept as by plain Python code."""
    rng = np.random.default_rng(43)
    hashes = rng.integers(0, 2**63, 5_000).astype(np.uint64)
    none = np.empty(0, np.uint64)
    whole, _ = Passages.none().after(0, (hashes, none))
    cut = Passages.none()
    for number, part in enumerate(np.split(hashes, [1, 2, 130, 131, 2_000, 2_127, 4_000])):
        cut, first = cut.after(number, (part, none))
        assert first is None
    assert np.array_equal(whole.words, cut.words) and 8 <= whole.words.size <= 40
    mask = 2**64 - 1

    def mix(word):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            word = (word ^ (word >> shift)) * factor & mask
        return word ^ (word >> 31)

    def folded(words):
        if len(words) == 1:
            return words[0]
        half = len(words) // 2
        return mix((mix(folded(words[:half])) + folded(words[half:])) & mask)

    all_windows = (folded([int(w) for w in hashes[i : i + 128]]) for i in range(5_000 - 127))
    assert sorted(w for w in all_windows if w % 256 == 0) == [int(w) for w in whole.words]


def test_a_file_is_read_again_only_if_it_has_changed(tmp_path):
    folder = Folder(tmp_path, (None, None))
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    ((name, x, y),) = folder.chunks()
    assert (name, x.tolist(), y.tolist()) == ("a.csv", [1, 3], [2, 4])
    assert [*folder.chunks()] == []
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n5,6\n")
    (tmp_path / "b.csv").write_text("x,y\n7,8\n")
    assert [(name, x.tolist()) for name, x, _ in folder.chunks()] == [
        ("a.csv", [1, 3, 5]), ("b.csv", [7]),
    ]  # fmt: skip


def test_a_file_that_a_listing_misses_is_read_before_later_files(tmp_path, monkeypatch):
    """A listing of a large folder may contain a file, but not a file that was created earlier."""
    folder, real, listings = Folder(tmp_path), Path.iterdir, []

    def created(*names):
        for name in names:
            (tmp_path / name).write_text("x,y\n1,2\n")

    def listed(path):
        listings.append([*real(path)])
        if len(listings) > 1:
            return iter(listings[-1])
        created("d.csv")
        return (found for found in listings[0] if found.name != "b.csv")

    created("a.csv", "b.csv", "c.csv")
    monkeypatch.setattr(Path, "iterdir", listed)
    assert [name for name, _, _ in folder.chunks()] == ["a.csv", "b.csv", "c.csv"]
    assert [name for name, _, _ in folder.chunks()] == ["d.csv"]


@pytest.mark.parametrize("place", ["dpjax.watching._folder.read_samples", "pathlib.Path.stat"])
def test_a_file_that_is_removed_before_it_is_read_is_skipped(tmp_path, monkeypatch, place):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x,y\n1,2\n")
    folder = Folder(tmp_path)
    real = Path.stat if place.endswith("stat") else read_samples

    def removed(path, *given, **named):
        if path.name == "a.csv":
            path.unlink(missing_ok=True)
        return real(path, *given, **named)

    monkeypatch.setattr(place, removed)
    assert [name for name, _, _ in folder.chunks()] == ["b.csv"]


def test_files_of_spark_without_outputs_are_skipped(tmp_path):
    for name in ("_SUCCESS", "_committed_123", "_started_123"):
        (tmp_path / name).write_text("")
    (tmp_path / "_SUCCESS.csv").write_text("x,y\n1,2\n")
    assert [name for name, _, _ in Folder(tmp_path).chunks()] == ["_SUCCESS.csv"]


def test_a_state_file_in_the_folder_is_not_read_as_outputs(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "state.json").write_text("{}")
    folder = Folder(tmp_path, state=tmp_path / "state.json")
    assert [name for name, _, _ in folder.chunks()] == ["a.csv"]


def test_a_state_that_cannot_be_read_is_not_called_damaged(tmp_path, monkeypatch):
    (tmp_path / "state.json").write_text("{}")

    def denied(path, encoding):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", denied)
    with pytest.raises(PermissionError, match=r"^state .*state\.json cannot be read: Permission"):
        State.read(tmp_path / "state.json")


def test_a_full_disk_leaves_the_state_before_the_chunk(tmp_path, monkeypatch):
    chunks, state = [(f"{i}", *chunk) for i, chunk in enumerate(laplace())], tmp_path / "w.json"
    list(dpjax.watch(chunks[:2], claim=1.0, state=state))
    before = state.read_bytes()

    def full(files):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError) as caught:
        patch.setattr("dpjax.watching._state.write_whole", full)
        list(dpjax.watch(chunks, claim=1.0, state=state))
    assert f"state {state} cannot be written: No space left on device. The" in str(caught.value)
    assert state.read_bytes() == before


@pytest.mark.parametrize(
    ("chunks", "options", "message"),
    [
        (None, {}, "chunks must be an iterable of pairs .x, y., but was None"),
        (7, {}, "chunks must be an iterable of pairs .x, y., but was 7"),
        ([], {"state": 3}, "state must be a string or a path, but was 3"),
        ([], {"claim": "x"}, "claim must be a number for a watch, but was 'x'"),
    ],
)
def test_arguments_are_checked_before_the_first_chunk(chunks, options, message):
    with pytest.raises(TypeError, match=message):
        dpjax.watch(chunks, **{"claim": 1.0, **options})
