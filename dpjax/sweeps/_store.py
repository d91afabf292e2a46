"""The store of a sweep: a folder with a manifest and one Parquet file a finished block.

A block's file carries the hash of its bytes in its name and appears by a rename, so a file is
either whole or recognisably not. Nothing else is written: what is left to do is the spec's blocks
without the stored ones, whoever stored them.
"""

import hashlib
import json
import os
import secrets
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from dpjax import _random
from dpjax._files import read_document, write_whole
from dpjax.results import _provenance
from dpjax.sweeps._blocks import UNREPEATABLE
from dpjax.sweeps._spec import Block, SweepSpec

FORMAT = 2
_MANIFEST, _BLOCKS = "manifest.json", "blocks"
_STALE_SECONDS = 3600


class Store:
    """Finished blocks of one sweep in a folder.

    Attributes:
        folder: The folder.
        spec: The sweep.
        manifest: Spec, versions, dtype, generator, device and revision, as in the file.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any], allow_import: Collection[str] = ()):
        self.folder = folder
        self.manifest = manifest
        self.spec = SweepSpec.from_dict(manifest["spec"], allow_import)

    @classmethod
    def create(cls, folder: str | Path, spec: SweepSpec) -> "Store":
        """Opens the store of a sweep, or makes it.

        A store is taken over by a sweep that has all of its entries and finished blocks, and more:
        so entries and runs can be added.

        Raises:
            ValueError: The folder holds another sweep, was made by other versions, or is not a
                store at all.
            OSError: It cannot be written to.
        """
        folder = Path(folder)
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"the store must be a folder, but {folder} is a file.")
        manifest = _manifest(spec)
        if not (folder / _MANIFEST).exists():
            _refuse_strangers(folder)
            (folder / _BLOCKS).mkdir(parents=True, exist_ok=True)
            write_whole({folder / _MANIFEST: json.dumps(manifest, indent=1) + "\n"})
        old = cls.open(folder, spec.modules)
        _refuse_others(old, manifest, spec)
        if old.spec != spec:
            write_whole({folder / _MANIFEST: json.dumps(manifest, indent=1) + "\n"})
        return cls.open(folder, spec.modules)

    @classmethod
    def open(cls, folder: str | Path, allow_import: Collection[str] = ()) -> "Store":
        """Opens a store for reading.

        Args:
            folder: The store.
            allow_import: As in `Entry.from_dict`.

        Raises:
            ValueError: The folder holds no sweep, or one of another format.
        """
        folder = Path(folder)
        try:
            manifest = json.loads(read_document("manifest", folder / _MANIFEST))
            found = manifest["format"]
        except (FileNotFoundError, NotADirectoryError):
            raise ValueError(f"{folder} holds no sweep: {_MANIFEST} is missing.") from None
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise ValueError(f"{folder / _MANIFEST} cannot be read: {error!r}.") from None
        if found != FORMAT:
            raise ValueError(
                f"{folder} has the store format {found}, but this version of dpjax reads {FORMAT}."
            )
        try:
            return cls(folder, manifest, allow_import)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{folder / _MANIFEST} holds no sweep: {error}") from error

    def finished(self) -> tuple[dict[str, Path], list[Path]]:
        """Verifies every file of the sweep.

        Returns:
            Block name -> its file, and the files whose bytes are not what their names say.
        """
        whole: dict[str, Path] = {}
        corrupt = []
        for path in sorted((self.folder / _BLOCKS).glob("*.parquet")):
            name, _, digest = path.name.removesuffix(".parquet").rpartition(".")
            if _digest(path.read_bytes()) == digest:
                whole.setdefault(name, path)
            else:
                corrupt.append(path)
        expected = {block.name for block in self.spec.blocks()}
        return {name: path for name, path in whole.items() if name in expected}, corrupt

    def clear(self, corrupt: Iterable[Path]) -> None:
        """Removes corrupt files, and what killed processes left half-written."""
        for path in corrupt:
            path.unlink(missing_ok=True)
        for path in (self.folder / _BLOCKS).glob(".*"):
            # Another process may be writing just now.
            if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                path.unlink(missing_ok=True)

    def write(self, block: Block, content: bytes) -> None:
        """Stores a block.

        Raises:
            OSError: The disk is full or gone; nothing half-written stays, and what was stored
                before is whole.
        """
        path = self.folder / _BLOCKS / f"{block.name}.{_digest(content)}.parquet"
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            with open(temporary, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise OSError(
                error.errno,
                f"a block cannot be stored ({error.strerror}); every block that was finished "
                "before is safe: make room and give the same command again",
                str(self.folder),
            ) from error

    def table(self) -> Any:
        """All stored rows as one pyarrow table, ordered by entry and run.

        Columns: entry (id), run, lower_bound, estimate, pair, output, exact, status, seconds (mean
        over the block that the run was computed in).

        Raises:
            ValueError: A file is corrupt, or nothing is stored yet.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        whole, corrupt = self.finished()
        if corrupt:
            raise ValueError(
                f"{len(corrupt)} blocks of {self.folder} are corrupt, first {corrupt[0].name}: "
                "run the sweep again, which computes them anew."
            )
        if not whole:
            raise ValueError(f"{self.folder} holds no finished block yet.")
        order = [block.name for block in self.spec.blocks() if block.name in whole]
        return pa.concat_tables([pq.read_table(whole[name]) for name in order])

    def columns(self) -> dict[str, dict[str, Any]]:
        """Entry id -> column -> NumPy array of its stored runs, in the order of the runs."""
        table = self.table()
        columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
        found = {}
        for entry in self.spec.entries:
            rows = columns["entry"] == entry.id
            if rows.any():
                found[entry.id] = {name: values[rows] for name, values in columns.items()}
        return found


def rows_equal(first: Store, second: Store) -> bool:
    """Whether two stores hold the same rows, bit for bit (seconds aside)."""
    tables = [store.table().drop_columns(list(UNREPEATABLE)) for store in (first, second)]
    return tables[0].equals(tables[1])


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _manifest(spec: SweepSpec) -> dict[str, Any]:
    manifest = {
        "format": FORMAT,
        "spec": spec.to_dict(),
        "versions": _provenance.versions(),
        **_random.numbers_of_process(),
        "device": _provenance.device(),
    }
    revision = _provenance.revision()
    return manifest if revision is None else {**manifest, "revision": revision}


def _refuse_strangers(folder: Path) -> None:
    """Refuses a folder with anything in it but the beginnings of a store.

    Another process may be making the same store just now, or was killed while it did.
    """
    held = folder.iterdir() if folder.exists() else ()
    strange = [
        path
        for path in held
        if path.name not in (_BLOCKS, _MANIFEST) and not path.name.startswith(f".{_MANIFEST}.")
    ]
    # The manifest comes before any block, so it is looked for after them.
    blocks = any((folder / _BLOCKS).glob("*"))
    if strange or (blocks and not (folder / _MANIFEST).exists()):
        raise ValueError(
            f"{folder} is not empty and holds no sweep ({_MANIFEST} is missing): name a new folder."
        )


def _refuse_others(old: Store, new: dict[str, Any], spec: SweepSpec) -> None:
    same_draws = (old.spec.key, old.spec.block_runs) == (spec.key, spec.block_runs)
    if not same_draws or not {e.id for e in old.spec.entries} <= {e.id for e in spec.entries}:
        raise ValueError(
            f"{old.folder} holds another sweep ({old.spec.name!r}, {len(old.spec.entries)} "
            f"entries, key {old.spec.key}, blocks of {old.spec.block_runs} runs): name another "
            "folder."
        )
    names = {block.name for block in spec.blocks()}
    lost = [name for name in old.finished()[0] if name not in names]
    if lost:
        raise ValueError(
            f"{old.folder} holds {len(lost)} finished blocks that are no blocks of this sweep "
            f"(first {lost[0]}): runs can only be added, in whole blocks of {spec.block_runs}."
        )
    # What decides the bits of a row.
    for name in ("dpjax", "jax", "jaxlib"):
        before, now = old.manifest["versions"][name], new["versions"][name]
        if before != now:
            raise ValueError(
                f"{old.folder} was made with {name} {before}, but this is {now}, which may draw or "
                "round otherwise: name another folder, or go on with the old version."
            )
    for name in ("dtype", "generator"):
        if old.manifest[name] != new[name]:
            raise ValueError(
                f"{old.folder} was made with the {name} {old.manifest[name]}, but this process "
                f"has {new[name]}: name another folder."
            )
