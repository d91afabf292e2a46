"""Invalid files in stores are detected, reported, and not changed."""

import dataclasses
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpjax import Events
from dpjax.mechanisms import Laplace
from dpjax.results import provenance
from dpjax.sweeps import Entry, Store, SweepSpec, rows_equal, run_sweep
from dpjax.sweeps._binding import read_binding
from dpjax.sweeps._folder import MANIFEST

SMALL = Events(num_samples=300, num_confirm=700)
ENTRIES = (
    Entry(Laplace(0.5), SMALL, [(0.0, 1.0)], num_runs=4),
    Entry(Laplace(1.0), SMALL, [(0.0, 1.0)], num_runs=4),
)
SPEC = SweepSpec("test", ENTRIES, key=3, block_runs=2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    store = Store.create(tmp_path_factory.mktemp("store") / "whole", SPEC)
    run_sweep(store)
    return store


@pytest.fixture
def copy(whole, tmp_path):
    """Return a copy of the whole store, and its blocks in the order of their names."""
    folder = shutil.copytree(whole.folder, tmp_path / "s")
    return folder, sorted((folder / "blocks").iterdir())


def resumed(folder, **options):
    """Resume the sweep; return the number of computed runs, the messages, and the store."""
    said = []
    store = Store.create(folder, SPEC, **options)
    state = run_sweep(store, report=said.append)
    return state.num_computed, " ".join(said), store


def test_a_block_of_another_seed_is_found(whole, copy, tmp_path):
    folder, blocks = copy
    other = Store.create(tmp_path / "other", dataclasses.replace(SPEC, key=4))
    run_sweep(other)
    theirs = sorted((tmp_path / "other" / "blocks").iterdir())[0]
    assert theirs.name.partition(".")[0] == blocks[0].name.partition(".")[0]
    blocks[0].unlink()
    shutil.copy(theirs, folder / "blocks")
    computed, said, store = resumed(folder)
    assert computed == 2 and "its key is 4, but should be 3" in said
    assert rows_equal(store, whole) and (folder / "blocks" / theirs.name).exists()


def test_a_renamed_block_is_found(whole, copy):
    folder, blocks = copy
    first, second = (path.name.partition(".") for path in blocks[:2])
    blocks[1].unlink()
    shutil.copy(blocks[0], folder / "blocks" / f"{second[0]}.{first[2]}")
    computed, said, store = resumed(folder)
    assert computed == 2 and "its first is 0, but should be 2" in said
    assert rows_equal(store, whole)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jax", "0.0.1"),
        ("dtype", "float64"),
        ("processor", "TPU v9"),
        ("processor", None),
        ("format", 2),
    ],
)
def test_a_block_made_otherwise_is_found(whole, copy, name, value):
    """The content matches the hash in the file name, but not the sweep."""
    folder, blocks = copy
    table = pq.read_table(blocks[0])
    said = json.loads(table.schema.metadata[b"dpjax"]) | {name: value}
    forged = folder / "blocks" / "forged"
    pq.write_table(table.replace_schema_metadata({"dpjax": json.dumps(said)}), forged)
    digest = hashlib.sha256(forged.read_bytes()).hexdigest()[:32]
    forged.rename(folder / "blocks" / f"{blocks[0].name.partition('.')[0]}.{digest}.parquet")
    blocks[0].unlink()
    computed, sentence, store = resumed(folder)
    assert computed == 2 and f"its {name} is {value!r}" in sentence
    assert rows_equal(store, whole)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda table: table.take([0, 0]), "its rows are not the runs"),
        (lambda table: table.take([1, 0]), "its rows are not the runs"),
        (lambda table: table.take([0]), "its rows are not the runs"),
        (lambda table: table.drop_columns(["pair"]), "its columns are not entry, run"),
        (lambda table: table.append_column("more", [[1, 2]]), "its columns are not entry, run"),
        (lambda table: table.set_column(0, "entry", [["a", "a"]]), "its rows belong to another"),
    ],
)
def test_a_block_with_other_rows_is_found(whole, copy, change, sentence):
    """Rows are repeated, moved or missing, or columns differ; the hash is valid."""
    folder, blocks = copy
    forged = folder / "blocks" / "forged"
    pq.write_table(change(pq.ParquetFile(blocks[0]).read()), forged)
    digest = hashlib.sha256(forged.read_bytes()).hexdigest()[:32]
    forged.rename(folder / "blocks" / f"{blocks[0].name.partition('.')[0]}.{digest}.parquet")
    blocks[0].unlink()
    computed, said, store = resumed(folder)
    assert computed == 2 and sentence in said
    assert rows_equal(store, whole)


def forge(path, change):
    """Write a second file of the same block with different numbers in one column."""
    table = pq.read_table(path)
    column = table.column_names.index(change)
    doubled = pq.ParquetFile(path).read().column(change).to_numpy() + 1
    table = table.set_column(column, table.field(column), [doubled])
    pq.write_table(table, path.with_name("forged"))
    digest = hashlib.sha256(path.with_name("forged").read_bytes()).hexdigest()[:32]
    return path.with_name("forged").rename(
        path.with_name(f"{path.name.partition('.')[0]}.{digest}.parquet")
    )


def test_a_doubled_block_counts_once(whole, copy):
    folder, blocks = copy
    forge(blocks[0], "seconds")
    computed, said, store = resumed(folder)
    assert computed == 0 and "it holds the same rows as" in said
    assert rows_equal(store, whole)


def test_two_blocks_of_other_rows_are_refused(copy):
    folder, blocks = copy
    second = forge(blocks[0], "lower_bound")
    with pytest.raises(ValueError, match="hold different rows for the same runs") as refused:
        resumed(folder)
    assert blocks[0].name in str(refused.value) and second.name in str(refused.value)


def old(path):
    """Set an old modification time, like that of a file of a killed process."""
    os.utime(path, (1e9, 1e9), follow_symlinks=False)


def test_unknown_files_are_kept_and_reported(whole, copy):
    """Test files, folders and links, including old ones and names similar to those of blocks."""
    folder, blocks = copy
    place, name = folder / "blocks", blocks[0].name
    written = [
        place / "my-analysis.parquet",
        place / ".hidden",
        place / f"x{name}",
        place / f".{name}.notes",
        place / f"{name}.bak",
    ]
    for path in written:
        path.write_text("mine")
        old(path)
    (place / "folder").mkdir()
    blocks[0].rename(place / "kept")
    (place / name).mkdir()
    (place / f".{name}.0123abcd").mkdir()
    (place / blocks[1].name.replace(".parquet", ".0123abcd")).symlink_to("nowhere")
    for path in ("folder", name, f".{name}.0123abcd"):
        old(place / path)
    before = set(place.iterdir())
    computed, said, store = resumed(folder)
    assert computed == 2 and rows_equal(store, whole)
    assert before <= set(place.iterdir())
    assert [path.read_text() for path in written] == ["mine"] * len(written)
    for path in written:
        assert f"{path} is not used and is left in place" in said


def test_what_a_killed_process_left_goes_after_a_while(copy):
    folder, blocks = copy
    beginnings = [folder / "blocks" / f".{blocks[0].name}.{n}" for n in ("00000000", "11111111")]
    for path in beginnings:
        path.write_text("half")
    old(beginnings[0])
    assert resumed(folder)[:2] == (0, "")
    assert [path.exists() for path in beginnings] == [False, True]


def test_files_behind_a_linked_folder_are_kept(whole, copy, tmp_path):
    folder, blocks = copy
    elsewhere = (folder / "blocks").rename(tmp_path / "elsewhere")
    (folder / "blocks").symlink_to(elsewhere)
    for name in ("thesis.parquet", ".notes"):
        (elsewhere / name).write_text("mine")
        old(elsewhere / name)
    (elsewhere / blocks[0].name).write_bytes(b"broken")
    computed, said, store = resumed(folder)
    assert computed == 2 and "1 stored blocks are truncated or corrupt" in said
    assert {"thesis.parquet", ".notes"} <= {path.name for path in elsewhere.iterdir()}
    assert rows_equal(store, whole)


def test_another_processor_is_refused_or_noted_in_the_rows(whole, copy, monkeypatch):
    folder, blocks = copy
    here = provenance.processor()
    blocks[0].unlink()
    monkeypatch.setattr(provenance, "processor", lambda: "cpu 01234567")
    with pytest.raises(ValueError, match=f"was computed on {here}, but this is cpu 01234567"):
        resumed(folder)
    computed, _, store = resumed(folder, any_processor=True)
    assert computed == 2 and rows_equal(store, whole)
    column = store.table()["processor"].to_pylist()
    assert sorted(set(column)) == sorted({here, "cpu 01234567"})
    assert column.count("cpu 01234567") == 2
    # From now on, the store accepts this processor.
    assert resumed(folder)[0] == 0


def test_processes_on_other_processors_do_not_lose_each_other(copy, monkeypatch):
    """Each process opens the store before the other process adds its processor."""
    folder, _ = copy
    names = ["cpu 01234567", "tpu v5/lite"]
    stores = [Store.create(folder, SPEC, any_processor=True) for _ in names]
    for store, name in zip(stores, names, strict=True):
        store._allow(name)
    assert sorted(Store.open(folder).processors) == sorted([provenance.processor(), *names])
    for name in names:
        monkeypatch.setattr(provenance, "processor", lambda name=name: name)
        assert resumed(folder)[0] == 0


@pytest.mark.parametrize("text", ["", "[]", "1", "[" * 10**5, '"cpu 01234567"', '"\\ud800"'])
def test_a_damaged_processor_is_refused(copy, text):
    """The message names the file of the processor, not the manifest."""
    folder, _ = copy
    path = folder / "processor-0123.json"
    path.write_text(text)
    said = f"^{re.escape(str(path))} is damaged: it does not contain the name of a processor"
    for use in (resumed, Store.open):
        with pytest.raises(ValueError, match=said):
            use(folder)


def test_other_rows_of_another_processor_are_left_out(whole, copy):
    folder, blocks = copy
    store = Store.create(folder, SPEC, any_processor=True)
    store._allow("cpu 01234567")
    table = pq.read_table(blocks[0])
    said = json.loads(table.schema.metadata[b"dpjax"]) | {"processor": "cpu 01234567"}
    bounds = pa.array(table["lower_bound"].to_numpy() + 1e-15)
    table = table.set_column(2, table.field(2), bounds)
    place = folder / "blocks" / "other"
    pq.write_table(table.replace_schema_metadata({"dpjax": json.dumps(said)}), place)
    stem = blocks[0].name.partition(".")[0]
    digest = hashlib.sha256(place.read_bytes()).hexdigest()[:32]
    first, second = sorted([blocks[0], place.rename(place.with_name(f"{stem}.{digest}.parquet"))])
    contents = store.contents()
    assert contents.finished[stem] == first
    assert f"computed the same runs, which {first.name} holds" in contents.strange[second]


PROCESSOR = "from dpjax.results.provenance import processor; print(processor())"


@pytest.mark.slow
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="flags of CPUs do not change a GPU")
def test_an_older_instruction_set_is_another_processor():
    """It rounds products before it adds; a newer instruction set fuses both operations."""
    found = []
    for flags in ("--xla_cpu_max_isa=SSE4_2", ""):
        environment = {**os.environ, "XLA_FLAGS": flags, "JAX_COMPILATION_CACHE_DIR": ""}
        done = subprocess.run(
            [sys.executable, "-c", PROCESSOR], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.strip())
    features = Path("/proc/cpuinfo")
    if not features.exists() or "fma" not in features.read_text():
        pytest.skip("this processor has no newer one")
    assert found[0] != found[1]


def test_a_block_of_other_runs_is_not_stored(copy):
    folder, blocks = copy
    store = Store.create(folder, SPEC)
    first, second, *_ = store.spec.blocks()
    content = next(path for path in blocks if path.name.startswith(first.name)).read_bytes()
    with pytest.raises(ValueError, match=f"the block {second.name} cannot be stored: its first is"):
        store.write(second, content)
    assert sorted((folder / "blocks").iterdir()) == blocks


def test_a_notebook_shows_blocks_that_are_broken(copy):
    folder, blocks = copy
    assert "broken" not in Store.create(folder, SPEC)._repr_html_()
    blocks[0].write_bytes(blocks[0].read_bytes()[:-9])
    shown = Store.create(folder, SPEC)._repr_html_()
    assert "broken blocks" in shown and "6 of 8" in shown


def test_a_store_without_its_folder_of_blocks_begins_again(copy, whole):
    """Archives and version control omit empty folders."""
    folder, _ = copy
    shutil.rmtree(folder / "blocks")
    assert Store.open(folder).contents().finished == {}
    (folder / "blocks").touch()
    with pytest.raises(OSError, match=r"the store .* cannot be created: File exists"):
        Store.create(folder, SPEC)
    (folder / "blocks").unlink()
    run_sweep(Store.create(folder, SPEC))
    assert rows_equal(Store.open(folder), whole)


def test_folders_that_hold_no_store(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="the store must be a folder, but"):
        Store.create(tmp_path / "file", SPEC)
    empty = Store.create(tmp_path / "s", SPEC)
    with pytest.raises(ValueError, match="holds no finished block yet: run the sweep first"):
        empty.table()
    with pytest.raises(TypeError, match="label must be a string, but was 3"):
        dataclasses.replace(ENTRIES[0], label=3)


def test_the_revision_of_the_code_is_in_the_manifest_if_it_is_known(tmp_path, monkeypatch):
    for revision in ("abc", None):
        monkeypatch.setattr(provenance, "revision", lambda revision=revision: revision)
        manifest = json.loads((Store.create(tmp_path / str(revision), SPEC).folder / MANIFEST)
                              .read_text())  # fmt: skip
        assert manifest.get("revision", "none") == (revision or "none")


def test_a_block_without_a_binding_is_said_to_lack_it():
    content = io.BytesIO()
    pq.write_table(pa.table({"run": [1]}), content)
    with pytest.raises(ValueError, match=r"^it is not a block of a sweep \(KeyError\(b'"):
        read_binding(content.getvalue())


_SAME_SWEEP = """
import sys
from pathlib import Path
from time import sleep

from dpjax import Events
from dpjax.mechanisms import Laplace
from dpjax.sweeps import Entry, Store, SweepSpec, run_sweep

small, folder, me, other = Events(num_samples=300, num_confirm=700), *map(Path, sys.argv[1:])
entries = tuple(Entry(Laplace(e), small, [(0.0, 1.0)], num_runs=4) for e in (0.5, 1.0))
me.touch()
while not other.exists():
    sleep(0.001)
store = Store.create(folder, SweepSpec("test", entries, key=3, block_runs=2))
state = run_sweep(store, report=print)
assert state.num_runs == 8, state
"""


@pytest.mark.slow
def test_two_processes_that_run_the_same_sweep_at_once(whole, tmp_path):
    """Each run is in the table once, and a later call names the copies in two sentences."""
    ready = [tmp_path / "first", tmp_path / "second"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _SAME_SWEEP, tmp_path / "s", *order],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for order in (ready, ready[::-1])
    ]  # fmt: skip
    for process in processes:
        said, failed = process.communicate(timeout=120)
        assert process.returncode == 0, failed
        assert all(
            "holds the same rows" in line or "stored twice" in line for line in said.splitlines()
        )
    said = []
    store = Store.create(tmp_path / "s", SPEC)
    assert run_sweep(store, report=said.append).num_computed == 0
    assert rows_equal(store, whole) and store.table().num_rows == 8
    assert len(store.contents().finished) == 4 and len(said) <= 2
    assert len(list((tmp_path / "s" / "blocks").iterdir())) == 4 + len(store.contents().copies)


def test_many_copies_are_named_in_two_sentences(copy):
    folder, blocks = copy
    for block in blocks:
        forge(block, "seconds")
    computed, said, store = resumed(folder)
    assert computed == 0 and len(store.contents().copies) == 4
    assert said.count("it holds the same rows as") == 1
    assert said.endswith("3 other files of runs that are stored twice are not used, either.")
