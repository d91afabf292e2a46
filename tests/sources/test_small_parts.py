"""Small parts of sources: batches, restarts, archives and values of a cell."""

import io
import os
import time
import zipfile
from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax import HostMechanism, OneRun, Recorded, Recording
from dpjax.methods._families import _Together
from dpjax.methods.local._lattices import _of_each
from dpjax.partitions import PILOT, Encoder, Partition, pilot_size
from dpjax.partitions.missing import MASKED, Raised, missing
from dpjax.sources import _drawn_counts, _hashes, _workers
from dpjax.sources._calls import draw_batch, draw_several
from dpjax.sources._deadline import Deadline
from dpjax.sources._family import _Interval, _range_of
from dpjax.sources._hashes import hashes_of
from dpjax.sources._kept import Kept
from dpjax.sources._one_run import scores_of
from dpjax.sources._plain import files_of, place_of
from dpjax.sources._process import Programs
from dpjax.sources._schedule import Span
from dpjax.sources._searched import _is_value
from dpjax.sources._serial import effective_size
from dpjax.sources.libraries._opendp import _name_of
from dpjax.sources.readers import read_samples
from dpjax.sources.readers._numpy import npz_array
from dpjax.sources.streams import SEARCH, SEARCH_AGAIN


class Pool:
    """A pool of processes that runs calls immediately in this process."""

    _processes = None

    def __init__(self, *given, **options):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        pass

    def submit(self, call, *given):
        """Run the call; return its result."""
        found = Future()
        found.set_result(call(*given))
        return found


def failing(database):
    raise KeyError(database)


@pytest.mark.parametrize("special", ["outcomes", "error"])
def test_a_restart_draws_as_the_audit_does(monkeypatch, special):
    """In new processes, exceptions of single calls are outcomes, unless they are fatal errors."""
    monkeypatch.setattr(_workers, "futures", SimpleNamespace(ProcessPoolExecutor=Pool))
    source = HostMechanism(failing, batched=False, restart=True, special=special)
    if special == "error":
        with pytest.raises(ValueError, match="KeyError"):
            source.restarted((0, 1), 3)
        return
    what, runs = source.restarted((0, 1), 3)
    assert what == "processes" and len(runs) == 2
    for run in runs:
        assert [len(side) for side in run] == [3, 3]
        assert all(isinstance(output, Raised) for side in run for output in side)
    assert HostMechanism(failing, batched=False).restarted((0, 1), 3) is None


def ends(database):
    os._exit(3)


@pytest.mark.slow
def test_a_process_that_ends_in_a_restart_is_an_error_with_a_way_out():
    source = HostMechanism(ends, batched=False, restart=True)
    words = r'function ends ended without an answer\. .* "__main__":`; or use restart=False\.'
    with pytest.raises(ValueError, match=words):
        source.restarted((0, 1), 3)


class Foreign:
    """An array of another library that NumPy may be unable to read."""

    def __init__(self, content):
        self.content = content

    def __array__(self, dtype=None, copy=None):
        if self.content is None:
            raise RuntimeError("on another device")
        return np.asarray(self.content)

    def __repr__(self):
        return "Foreign"


def called(batch, num_samples=3):
    source = HostMechanism(lambda database, n: batch)
    with source.drawing() as draw:
        return [*draw(0.0, Span(range(num_samples), (1,), lambda count: None))]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_workers_are_killed_where_the_audit_fails(monkeypatch, error):
    """Their calls may never return, and a pool waits for them when it ends."""
    killed = []
    processes = {n: SimpleNamespace(kill=lambda n=n: killed.append(n)) for n in (3, 5)}

    class Waiting(Pool):
        _processes = processes

        def __exit__(self, *raised):
            ended.append([*killed])

    ended = []
    monkeypatch.setattr(_workers.futures, "ProcessPoolExecutor", Waiting)
    source = HostMechanism(np.negative, batched=False, workers=2)
    with pytest.raises(error), source.drawing():
        raise error
    with source.drawing():
        pass
    assert ended == [[3, 5], [3, 5]]
    Waiting._processes = None  # No worker has started.
    with pytest.raises(error), source.drawing():
        raise error


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ([1.0, 2.0], r"was asked for 3 outputs .* but returned a list of length 2\."),
        (np.float64(3.0), "but returned an array of float64"),
        (np.array(3.0), r"but returned an array of float64 of the shape \[\]"),
        ("abc", "return an array or a list, or be used with"),
        (b"abc", "return an array or a list, or be used with"),
        (None, "return an array or a list, or be used with"),
        (Foreign(None), "Foreign.*, which NumPy cannot convert to an array: .*on another device"),
        (Foreign([1.0, 2.0]), r"but returned an array of float64 of the shape \[2\]"),
        ({"a": [1, 2, 3], "b": [1, 2]}, "returned a dict in which not every value has 3 entries"),
        ({"a": 3}, "returned a dict in which not every value has 3 entries"),
    ],
)
def test_what_is_no_batch_is_refused(batch, message):
    with pytest.raises(ValueError, match=message):
        called(batch)


@pytest.mark.parametrize("batch", [[1, 2, 3], (1, 2, 3), np.arange(1, 4), Foreign([1, 2, 3])])
def test_what_is_a_batch_is_taken(batch):
    (found,) = called(batch)
    assert np.asarray(found).tolist() == [1, 2, 3]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("saved", [np.savez, np.savez_compressed])
def test_arrays_of_archives_in_either_order(tmp_path, order, saved):
    table = np.asarray(np.arange(12.0).reshape(4, 3), order=order)
    saved(tmp_path / "x.npz", table=table, deep=np.zeros((2, 2, 2)), line=np.arange(3))
    for number in (0, 2):
        saved(tmp_path / "one.npz", table)
        assert read_samples(tmp_path / "one.npz", number).tolist() == table[:, number].tolist()
    assert read_samples(tmp_path / "x.npz", "table").tolist() == table.tolist()
    assert npz_array(tmp_path / "x.npz", "table").tolist() == table.tolist()
    assert npz_array(tmp_path / "x.npz", "deep").shape == (2, 2, 2)
    with pytest.raises(ValueError, match=r"it holds the arrays .*'table', 'deep', 'line'"):
        read_samples(tmp_path / "x.npz")


@pytest.mark.parametrize("packed", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("shape", [(4,), (4, 3)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("more", "message"), [(1, "more than the one array"), (-1, "cut short")])
def test_arrays_of_archives_end_where_their_headers_say(
    tmp_path, packed, shape, order, more, message
):
    file, table = io.BytesIO(), np.ones(shape)
    np.save(file, np.asarray(table, order=order))
    content = file.getvalue()
    for damaged in (False, True):
        with zipfile.ZipFile(tmp_path / "x.npz", "w", packed) as archive:
            changed = content + b"x" if more > 0 else content[:more]
            archive.writestr("t.npy", changed if damaged else content)
        for read in (npz_array, read_samples):
            if damaged:
                with pytest.raises(ValueError, match=message):
                    read(tmp_path / "x.npz", "t")
            else:
                assert read(tmp_path / "x.npz", "t").tolist() == table.tolist()


def test_values_of_cells():
    """An atom, or the only integer of an interval; but not a label or an interval of reals."""
    for whole, values in ((False, [1]), (True, [1, 2])):
        cells = Partition(
            ("a number", "a"),
            (np.array([2.0, np.nextafter(2.0, 3)]) if not whole else np.array([2.0, 3.0, 4.0]),),
            (np.array([2.0]),),
            np.zeros(1, int),
            whole,
        )
        found = [_is_value(cells, cell) for cell in range(cells.size)]
        expected = [False] * cells.num_alone + [False] * (cells.size - cells.num_alone)
        for value in values:
            expected[cells.num_alone + value] = True
        assert found == expected


def test_files_of_recordings_come_back(tmp_path):
    for name in ("x.csv", "y.csv"):
        (tmp_path / name).write_text("1\n2\n")
    paths = [tmp_path / "x.csv", tmp_path / "y.csv"]
    for column in (None, 0, "a", [0, 1]):
        content = files_of(Recording(paths, column))
        assert content == [[str(path) for path in paths], column]
        assert place_of(content) == (paths, column)
    assert files_of(np.zeros(3)) is None
    for wrong in (None, "x.csv", [], ["x.csv", None], [[3], None], [[], None, 1]):
        with pytest.raises(TypeError, match=r"recorded files must be \[\[name, ...\], column\]"):
            place_of(wrong)


def test_hashes_of_labels_do_not_depend_on_those_that_are_known(monkeypatch):
    labels = np.array([f"label {number % 7}" for number in range(50)])
    expected = hashes_of(labels)
    assert len(np.unique(expected)) == 7
    monkeypatch.setattr(_hashes, "_KNOWN", 3)
    known = {}
    for part in (labels[:2], labels[:20], labels, labels.astype(object)):
        np.testing.assert_array_equal(hashes_of(part, known), expected[: len(part)])
        assert len(known) <= 3


@pytest.mark.parametrize(
    ("item", "name"),
    [
        (None, "None"), (np.ma.masked, "masked"), (MASKED, "masked"), ("", "empty text"),
        (b"", "empty bytes"), ([], "empty"), ({}, "empty"), (np.datetime64("NaT", "s"), "NaT"),
        (np.timedelta64("NaT", "s"), "NaT"), (np.datetime64("2020-01-01"), None),
        (np.timedelta64(3, "s"), None), ("None", None), (0, None), (0.0, None), ([None], None),
        (float("nan"), None), (Raised("error: ValueError"), "error: ValueError"),
    ],
)  # fmt: skip
def test_names_of_what_is_missing(item, name):
    assert missing(item) == name


DEFINITION = {"python": "3", "mechanism": "", "pairs": ""}


def test_damaged_kept_outputs_are_refused():
    kept = Kept([Encoder("it")], 10, lambda: DEFINITION)
    for plain in ({}, {"encoders": [None]}, {"encoders": []}, {"streams": []}):
        with pytest.raises(ValueError, match="the outputs that the result stores are damaged"):
            kept.restore(plain)


def test_single_draws_of_a_function_of_a_seed():
    """In a batch of calls, each call gets its own seed."""
    found = draw_batch(lambda database, seed: database + seed, True, None, None, 10, 3, range(3))
    assert [*found] == [10, 11, 12]


def test_labels_are_not_compared_with_vectors():
    vectors = np.random.default_rng(0).normal(size=(400, 2))
    labels = np.array(["a", "b"] * 200)
    for sides in ((labels, vectors), (vectors, labels)):
        with pytest.raises(TypeError, match="one kind"):
            dpjax.audit(Recorded(*sides))


@pytest.mark.parametrize("content", ["0\n1\n2\n", "yes\nno\nmaybe\n", "0\n1\n-1\n"])
def test_recorded_coins_are_0_and_1(tmp_path, content):
    (tmp_path / "coins.csv").write_text(10 * content)
    source = OneRun(np.arange(30.0), Recording(tmp_path / "coins.csv"))
    with pytest.raises(ValueError, match="column of 1 and 0, or of true and false, but held '"):
        source.canaries()


def test_empty_texts_and_masked_entries_are_missing():
    """In arrays of strings, of objects, and of numbers with a mask."""
    encoder = Encoder("it")
    for raw in (np.array(["", "a"]), np.array(["", "a"], object), ["", "a"]):
        names = [encoder.names[label] for label in encoder.encode(raw).labels]
        assert names == ["empty text", "'a'"]
    for raw in (
        np.ma.array([1.0, 2.0], mask=[True, False]),
        np.ma.array([1, 2], mask=[True, False]),
        np.ma.array(["u", "v"], mask=[True, False]),
    ):
        first, second = encoder.encode(raw).labels
        assert encoder.names[first] == "masked" and encoder.names[second] in ("a number", "'v'")
    masked = Encoder("it").encode(np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[1, 0], [0, 0]]))
    assert masked.values.tolist() == [[0, 2], [3, 4]] and masked.labels.tolist() == [1, 0]


def test_a_family_is_asked_by_its_first_member():
    first = HostMechanism(failing, batched=False, timeout=3.0)
    together = _Together([first, HostMechanism(failing, batched=False)])
    assert together.name == first.name and together.timeout == 3.0 and together.batched is False
    assert together.time_limit is None
    for name in ("__deepcopy__", "no_such_option"):
        with pytest.raises(AttributeError, match=name):
            getattr(together, name)


def test_refined_runs_take_the_place_of_coarse_ones():
    chosen = np.array([True, False, True])
    old = {"a": np.zeros((3, 2)), "b": np.zeros(3)}
    new = {"a": np.ones((3, 2)), "b": np.full(3, 2.0)}
    found = _of_each(chosen, new, old)
    assert found["a"].tolist() == [[1, 1], [0, 0], [1, 1]] and found["b"].tolist() == [2, 0, 2]


def test_correlations_are_summed_up_to_a_pair_that_is_not_positive():
    """The size is divided by twice the sum of pairs minus one."""
    assert effective_size(np.array([1.0, 0.5, 0.0, 0.0, 0.5, 0.5]), 100) == 50
    assert effective_size(np.array([1.0, 0.5, 0.25, 0.25, 0.5, -0.6]), 90) == 30
    assert effective_size(np.array([1.0, -0.9]), 90) == 90


@pytest.mark.parametrize(
    ("given", "values"),
    [([1, 2], [1, 2]), ([2, 1], [2, 1]), (np.array([1, 2]), [1, 2]), (range(2), [0, 1]),
     (("a", "b"), ["a", "b"]), ((True, False), [True, False]), ((1, 2, 3), [1, 2, 3])],
)  # fmt: skip
def test_only_two_numbers_in_a_tuple_are_an_interval(given, values):
    assert _range_of("x", given) == values
    assert _range_of("x", (1, 2.5)) == _Interval(1, 2.5)
    with pytest.raises(ValueError, match="increasing intervals"):
        _range_of("x", (1.0, 1.0))


def test_scores_of_twenty_canaries_are_enough():
    scores = np.arange(20.0)
    assert scores_of(scores).tolist() == scores.tolist()
    with pytest.raises(ValueError, match=r"scores of at least 20 canaries .* but there were 19"):
        scores_of(scores[:19])


def test_a_program_may_print_as_many_bytes_as_the_limit(monkeypatch):
    monkeypatch.setenv("DPJAX_MAX_PROGRAM_BYTES", "64")
    programs = Programs()
    for number, lines in ((63, ["x" * 62]), (64, ["x" * 63])):
        words = ["printf", "x" * (number - 1) + "\\n"]
        assert programs.run(words, 2, None)[:2] == (lines, 0)
    with pytest.raises(ValueError, match="printed too many bytes"):
        programs.run(["printf", "x" * 64 + "\\n"], 2, None)
    programs.stop()


def test_measurements_of_opendp_are_named_by_their_constructors():
    """The names are in the order of execution; the arguments of a chain end in 0 and 1."""

    def made(function, **arguments):
        stated = {"__function__": function, "__kwargs__": arguments}
        return SimpleNamespace(__opendp_dict__=stated)

    total = made("make_sum", input_domain=None, bounds=(0, 1))
    both = made("make_chain_tt", transformation0=made("make_clamp"), transformation1=total)
    whole = made("make_chain_mt", measurement1=made("make_laplace"), transformation0=both)
    assert _name_of(whole) == "make_clamp >> make_sum >> make_laplace"
    assert _name_of(total) == "make_sum" and _name_of(object()) == "OpenDP measurement"


def test_each_run_searches_its_own_pairs_again(monkeypatch):
    """Runs 5 and 6 keep two of three pairs each; the counts encode run, pair and side."""
    asked = []

    def batches(run, pair, side, stage, number):
        asked.append((stage, number))
        return 100 * run + 10 * pair + side

    monkeypatch.setattr(
        _drawn_counts, "count_halves", lambda cells, sides: np.array(sides)[:, None]
    )
    laid = {n: SimpleNamespace(partition=SimpleNamespace(size=2 + n)) for n in range(3)}
    opened = SimpleNamespace(
        _rounds=SimpleNamespace(num_again=50), _streamed=False, _laid=laid, _batches=batches,
        _request=SimpleNamespace(runs=np.array([5, 6])), tally=SimpleNamespace(searched=7),
    )  # fmt: skip
    counts = _drawn_counts.OpenedDrawn.search_again(opened, np.array([[2, 0], [1, 2]]))
    assert counts.shape == (2, 2, 2, 2, 4) and set(asked) == {(SEARCH_AGAIN, 50)}
    assert counts[0, 0, :, :, 0].tolist() == [[520, 521], [520, 521]]
    assert counts[0, 1, :, :, 1].tolist() == [[500, 501], [500, 501]]
    assert counts[1, 0, 0, 0].tolist() == [610, 610, 610, 0]
    assert counts[1, 1, 1, 1].tolist() == [621] * 4
    assert opened.tally.searched == 7 + 4 * 2 * 50


@pytest.mark.parametrize("region", [None, (0.0, 1.0)])
def test_pilots_of_vectors_are_larger_without_a_region(region):
    """Scores of many features need more outputs; a region does not allow scores."""
    asked = []

    def draw(run, pair, side, stage, count):
        asked.append((pair, side, stage, count))

    draws = SimpleNamespace(keeps_last=True, draw=draw)
    opened = SimpleNamespace(
        _laid={}, _region=region, _width=40, pairs=["one"], _draws=draws,
        _rounds=SimpleNamespace(num_samples=10**9), _lay_by=lambda pair, raw: "laid",
    )  # fmt: skip
    most = pilot_size(40)
    assert most > PILOT
    assert _drawn_counts.OpenedDrawn._lay(opened, 0) == "laid"
    number = PILOT if region else most
    assert asked == [(0, 0, SEARCH, number), (0, 1, SEARCH, number)]


def test_several_outputs_of_one_call():
    told = []
    repeat, sleep = (lambda database, count: [database] * count), (lambda *given: time.sleep(5))
    found = draw_several(repeat, "draw", None, told.append, 7, 3, [0])
    assert found == [7, 7, 7] and told == [3]
    late = Deadline(None, time.monotonic() + 0.05, 0.01)
    with pytest.raises(ValueError, match="draw, called with the database 7, was still running"):
        draw_several(sleep, "draw", late, None, 7, 3, [0])
