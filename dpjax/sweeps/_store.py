"""The store of a sweep: a folder with a manifest and one Parquet file per finished block.

The binding in a file states which runs the file holds (see `_binding.py`). A block remains to be
computed if it is in the specification but not in the store. A file is deleted only if it is named
like a block and is broken or incomplete.
"""

import json
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpjax.core.errors import needs
from dpjax.core.files import as_path, read_document, unreadable, write_whole
from dpjax.core.notebook import html_titled
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadValue, term
from dpjax.results import provenance
from dpjax.sweeps._binding import (
    COLUMNS,
    FORMAT,
    UNREPEATABLE,
    difference,
    have_equal_rows,
    identity,
    read_binding,
    repeats_exactly,
    states_of,
)
from dpjax.sweeps._files import is_complete, is_regular, named, write_file
from dpjax.sweeps._folder import (
    BLOCKS,
    MANIFEST,
    Contents,
    DamagedProcessor,
    add_processor,
    manifest_of,
    processors_of,
    refuse_damaged,
    refuse_other_numbers,
    refuse_others,
    refuse_strangers,
)
from dpjax.sweeps._spec import Block, SweepSpec
from dpjax.sweeps._summary import SweepSummary

if TYPE_CHECKING:
    import pyarrow as pa

_STALE_SECONDS = 3600


class Store:
    """A folder with the finished blocks of one sweep.

    Attributes:
        folder: Folder of the store.
        spec: Specification of the sweep.
        manifest: Contents of the manifest file: specification, versions, dtype, generator,
            processor, device and revision.
        processors: Processors from which the store accepts blocks.
        any_processor: Whether this process may add its processor.
    """

    def __init__(
        self,
        folder: Path,
        manifest: JsonObject,
        allow_import: Collection[str] = (),
        any_processor: bool = False,
    ):
        self.folder = folder
        self.manifest = manifest
        self.spec = SweepSpec.from_dict(manifest["spec"], allow_import)
        refuse_damaged(manifest)
        self.processors = processors_of(folder, manifest)
        self.any_processor = any_processor

    @classmethod
    def create(cls, folder: str | Path, spec: SweepSpec, *, any_processor: bool = False) -> "Store":
        """Open the store of a sweep, or create the store if it does not exist.

        A sweep may continue the store of a smaller sweep if the larger sweep has all entries and
        all finished blocks of the smaller sweep. A stored sweep can be extended with more
        entries, more runs or, for sequential entries, more draws. If `more` is larger in the store
        than in `spec`, the larger value is used.

        Args:
            folder: A new folder, or the folder of an existing store.
            spec: Specification of the sweep.
            any_processor: Whether to continue a store that was created on another processor, whose
                results may differ in the last bits. Each row names the processor that computed it.

        Raises:
            ValueError: If the folder contains another sweep, a store created with other versions or
                on another processor, or files but no store.
            OSError: If no file can be written to the folder, or if the manifest cannot be read.
        """
        needs("sweeps", "sweeps", "pyarrow")
        folder = as_path("folder", folder)
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"the store must be a folder, but {folder} is a file.")
        if _has_manifest(folder):
            more = cls.open(folder, spec.modules).spec.more
            spec = replace(spec, more=max(more, spec.more))
        manifest = manifest_of(spec)
        is_new = not _has_manifest(folder)
        if is_new:
            refuse_strangers(folder)
        try:
            # Copies of a store, such as archives, may lack an empty folder of blocks.
            (folder / BLOCKS).mkdir(parents=True, exist_ok=True)
            if is_new:
                write_whole({folder / MANIFEST: json.dumps(manifest, indent=1) + "\n"})
        except OSError as error:
            raise OSError(f"the store {folder} cannot be created: {error.strerror}.") from None
        old = cls.open(folder, spec.modules)
        refuse_others(folder, old.spec, spec, old.contents().finished)
        refuse_other_numbers(folder, old.manifest, manifest)
        manifest["processors"] = old.manifest["processors"]
        if old.spec != spec:
            write_whole({folder / MANIFEST: json.dumps(manifest, indent=1) + "\n"})
        store = cls(folder, manifest, spec.modules, any_processor)
        store._allow(provenance.processor())
        return store

    @classmethod
    def open(cls, folder: str | Path, allow_import: Collection[str] = ()) -> "Store":
        """Open a store for reading.

        Args:
            folder: Folder of the store.
            allow_import: Modules from which mechanisms may be imported, as in `Entry.from_dict`.

        Raises:
            ValueError: If the folder holds no sweep, a sweep in another format, or a sweep with a
                mechanism that may not be imported.
            OSError: If the manifest cannot be read.
        """
        folder = as_path("folder", folder)
        try:
            manifest = json.loads(read_document("manifest", folder / MANIFEST))
            found = manifest["format"]
        except (FileNotFoundError, NotADirectoryError):
            raise ValueError(f"{folder} holds no sweep: {MANIFEST} is missing.") from None
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            said = f"cannot be read: {error!r}. Restore the file, or use a new folder."
            raise ValueError(f"{folder / MANIFEST} {said}") from None
        if found != FORMAT:
            raise ValueError(
                f"{folder} has the store format {found}, but this version of dpjax reads {FORMAT}: "
                "install the version that wrote the store."
            )
        try:
            store = cls(folder, manifest, allow_import)
        except DamagedProcessor:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the sweep in {folder / MANIFEST} cannot be read: {error}") from error
        return store

    def _repr_html_(self) -> str:
        """Return HTML that shows the progress of the sweep in a notebook."""
        contents = self.contents()
        stored = sum(b.stop - b.first for b in self.spec.blocks() if b.name in contents.finished)
        rows = [
            ("folder", str(self.folder)),
            ("entries", str(len(self.spec.entries))),
            ("runs stored", f"{stored:,} of {self.spec.num_runs:,}"),
            ("computed on", " and ".join(self.processors)),
        ]
        if contents.broken:
            rows.append(("broken blocks", str(len(contents.broken))))
        rows += [(str(path), f"not used: {why}") for path, why in contents.strange.items()]
        return html_titled(f"Sweep {self.spec.name}", rows)

    def contents(self) -> Contents:
        """Read and classify all files in the folder of blocks.

        Raises:
            ValueError: If two files for the same block hold different rows.
        """
        # Another process may have added a processor since the store was opened.
        self.processors = processors_of(self.folder, self.manifest)
        found = Contents({}, [], {}, [], [], [])
        blocks = {block.name: block for block in self.spec.blocks()}
        earlier = {block._replace(more=0).name for block in blocks.values() if block.more}
        held = self.folder / BLOCKS
        for path in sorted(held.iterdir() if held.is_dir() else ()):
            name = named(path)
            if name.without_more in earlier and name.block not in blocks:
                found.earlier.append(path)
            elif name.block not in blocks:
                found.strange[path] = "no block of this sweep has this name"
            elif (regular := is_regular(path)) is None:
                continue  # Another process has completed or removed the file.
            elif not regular:
                found.strange[path] = "it is not a regular file"
            elif name.is_begun:
                found.beginnings.append(path)
            else:
                self._judge(path, blocks[name.block], found)
        return found

    def _judge(self, path: Path, block: Block, found: Contents) -> None:
        """Classify a file that is named like a block, and add the file to `found`."""
        try:
            content = path.read_bytes()
        except OSError as error:
            found.strange[path] = f"it cannot be read ({error.strerror})"
            return
        if not is_complete(path, content):
            found.broken.append(path)
            return
        try:
            other = self._other(block, content)
        except ValueError as error:
            other = str(error)
        first = found.finished.get(block.name)
        if other is None and first is not None:
            other = f"it holds the same rows as {first.name}"
            if not have_equal_rows(first, path):
                if repeats_exactly(block.entry, first, path):
                    raise ValueError(
                        f"{path.name} and {first.name} in {path.parent} hold different rows for "
                        "the same runs, so one file is wrong. Remove both files and run the sweep "
                        "again."
                    )
                other = f"another process computed the same runs, which {first.name} holds"
            found.copies.append(path)
        if other is None:
            found.finished[block.name] = path
        else:
            found.strange[path] = other

    def _other(self, block: Block, content: bytes) -> str | None:
        """Return the reason why a file does not hold the given block, or None if it does."""
        said = read_binding(content)
        expected = {
            **identity(block, self.spec.key),
            **{name: self.manifest[name] for name in ("dtype", "generator")},
            **{name: self.manifest["versions"][name] for name in provenance.DECISIVE},
        }
        other = difference(said, expected)
        if other is None and said["processor"] not in self.processors:
            allowed = ", ".join(self.processors)
            other = f"its processor is {said['processor']!r}, not one of {allowed}"
        return other

    def earlier_states(self, block: Block) -> list[bytes] | None:
        """Return stored states from which a block's runs can continue, or None if there are none.

        If multiple stored blocks hold the same runs with fewer draws, the block with the most draws
        is used. Broken or unreadable files and files from other sweeps are ignored.
        """
        if not block.more:
            return None
        found: dict[int, Path] = {}
        for path in (self.folder / BLOCKS).glob(f"{block._replace(more=0).name}*.parquet"):
            name = named(path)
            before = block._replace(more=name.more)
            if name.more >= block.more or before.name != name.block or not is_regular(path):
                continue
            with suppress(OSError, ValueError):
                content = path.read_bytes()
                if is_complete(path, content) and self._other(before, content) is None:
                    found[name.more] = path
        return states_of(found[max(found)]) if found else None

    def clear(self, contents: Contents) -> None:
        """Remove broken blocks, and incomplete files left by killed processes."""
        # Another process may still be writing to a recent file, so recent files are kept.
        now = time.time()
        for path in contents.beginnings:
            with suppress(FileNotFoundError):  # Another process has completed the file.
                if now - path.stat().st_mtime > _STALE_SECONDS:
                    path.unlink()
        for path in contents.broken:
            path.unlink(missing_ok=True)

    def _allow(self, processor: str) -> None:
        """Add a new processor to the store, or raise an error if `any_processor` is False."""
        if processor in self.processors:
            return
        if not self.any_processor:
            raise BadValue(
                f"{self.folder} was computed on {' and '.join(self.processors)}, but this is "
                f"{processor}, whose results may differ in the last bits: continue on the old "
                "processor, use another folder, or allow any processor with "
                f"{term('any_processor')}. Each row names its processor."
            )
        add_processor(self.folder, processor)
        self.processors.append(processor)

    def write(self, block: Block, content: bytes) -> None:
        """Store a computed block.

        Raises:
            ValueError: If the block was computed with other package versions, or on a processor
                that is not allowed.
            OSError: If the file cannot be written, for instance because the disk is full. The
                incomplete file is removed, and all stored blocks stay intact.
        """
        self._allow(read_binding(content)["processor"])
        other = self._other(block, content)
        if other is not None:
            raise ValueError(f"the block {block.name} cannot be stored: {other}.")
        try:
            write_file(self.folder / BLOCKS, block.name, content)
        except OSError as error:
            raise OSError(
                f"a block cannot be stored in {self.folder}: {error.strerror}. All blocks that "
                "were stored earlier are intact. Free disk space and run the same command again."
            ) from error

    def table(self) -> "pa.Table":
        """Return all stored rows as one pyarrow table, sorted by entry and run.

        The columns are entry (the entry's id), run, lower_bound, estimate, pair, output, exact
        (whether the bound is valid for every sample size and without an assumption on densities),
        status, verdict, seconds (mean over the runs of the block) and processor.

        Raises:
            ValueError: If a file is corrupt, or if no block is stored yet.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        whole, broken, *_ = self.contents()
        if broken:
            raise ValueError(
                f"{len(broken)} blocks of {self.folder} are corrupt (the first is "
                f"{broken[0].name}): run the sweep again to recompute them."
            )
        if not whole:
            raise ValueError(f"{self.folder} holds no finished block yet: run the sweep first.")
        order = [block.name for block in self.spec.blocks() if block.name in whole]
        names = [name for name in COLUMNS if name != "state"]
        return pa.concat_tables([pq.read_table(whole[name], columns=names) for name in order])

    def columns(self) -> dict[str, JsonObject]:
        """Return, for each entry's id, the stored runs as a dictionary of NumPy columns."""
        table = self.table()
        columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
        found = {}
        for entry in self.spec.entries:
            rows = columns["entry"] == entry.id
            if rows.any():
                found[entry.id] = {name: values[rows] for name, values in columns.items()}
        return found

    def summary(self) -> SweepSummary:
        """Return a summary of the stored runs, which can be shown as a page, a figure or JSON."""
        return SweepSummary.of(self)


def _has_manifest(folder: Path) -> bool:
    """Return whether a folder contains a manifest, which may be unreadable."""
    try:
        return (folder / MANIFEST).exists()
    except OSError as error:
        raise unreadable("manifest", folder / MANIFEST, error) from None


def rows_equal(first: Store, second: Store) -> bool:
    """Return whether two stores have bitwise equal rows, except for seconds and processor."""
    tables = [store.table().drop_columns(list(UNREPEATABLE)) for store in (first, second)]
    return tables[0].equals(tables[1])
