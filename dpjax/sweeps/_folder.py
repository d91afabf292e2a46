"""The folder of a sweep's store: manifest, files, and checks made before the store is used."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from dpjax.core import random
from dpjax.core.files import read_document, write_whole
from dpjax.core.types import JsonObject
from dpjax.results import provenance
from dpjax.sweeps._binding import FORMAT
from dpjax.sweeps._spec import SweepSpec

MANIFEST, BLOCKS = "manifest.json", "blocks"
"""Names of the manifest file and of the folder of blocks within a store's folder."""

_ADDED = "processor-{}.json"
"""Name of the file of a processor that was added to a store."""


class Contents(NamedTuple):
    """The files in a store's folder of blocks, divided into five classes.

    Attributes:
        finished: Dictionary from block names to complete files.
        broken: Files that are named like a block but whose bytes do not match the hash in the name.
        strange: All other files, each with the reason why it is not a block of the sweep. Strange
            files are never changed or deleted.
        beginnings: Incomplete files, which are being written or were left by killed processes.
        earlier: Blocks of sequential entries with fewer draws than the sweep specifies; the sweep
            continues the runs in these blocks.
        copies: Those strange files whose runs are in a finished block, for instance because two
            processes computed them at the same time.
    """

    finished: dict[str, Path]
    broken: list[Path]
    strange: dict[Path, str]
    beginnings: list[Path]
    earlier: list[Path]
    copies: list[Path]


def manifest_of(spec: SweepSpec) -> JsonObject:
    """Return the manifest of a new store; it states everything that can affect a row's values."""
    manifest = {
        "format": FORMAT,
        "spec": spec.to_dict(),
        "versions": provenance.versions(),
        **random.numbers_of_process(),
        "processors": [provenance.processor()],
        "device": provenance.device(),
    }
    revision = provenance.revision()
    return manifest if revision is None else {**manifest, "revision": revision}


def refuse_damaged(manifest: JsonObject) -> None:
    """Reject a manifest whose versions, dtype, generator or processors are not strings."""
    versions, processors = manifest.get("versions"), manifest.get("processors")
    texts = [manifest.get("dtype"), manifest.get("generator")]
    decisive = provenance.DECISIVE
    texts += [versions.get(name) for name in decisive] if isinstance(versions, dict) else [None]
    texts += processors if isinstance(processors, list) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("it does not state the versions, dtype, generator and processors.")


def processors_of(folder: Path, manifest: JsonObject) -> list[str]:
    """Return the processors from which a store accepts blocks.

    Each processor that was added later is stored in a file of its own, because other processes may
    add processors at the same time.

    Raises:
        DamagedProcessor: If a file does not contain the name of the processor for which it was
            written.
    """
    added = []
    for path in sorted(folder.glob(_ADDED.format("*"))):
        try:
            added.append(json.loads(read_document("processor file", path)))
        except (ValueError, OSError, RecursionError):
            added.append(None)
        if not isinstance(added[-1], str) or path != _file_of(folder, added[-1]):
            raise DamagedProcessor(
                f"{path} is damaged: it does not contain the name of a processor. Delete this "
                "file; blocks from its processor will not be used until the processor is added "
                "again."
            )
    return [*manifest["processors"], *added]


class DamagedProcessor(ValueError):
    """The error for a damaged file of a processor, which is not an error of the manifest."""


def _file_of(folder: Path, processor: str) -> Path:
    digest = hashlib.sha256(processor.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return folder / _ADDED.format(digest)


def add_processor(folder: Path, processor: str) -> None:
    """Accept blocks from another processor from now on."""
    write_whole({_file_of(folder, processor): json.dumps(processor) + "\n"})


def refuse_strangers(folder: Path) -> None:
    """Reject a folder that holds any files except those of an unfinished new store.

    Files of an unfinished new store are accepted because another process may be creating the same
    store, or may have been killed before the store was complete.
    """
    held = folder.iterdir() if folder.exists() else ()
    strange = [
        path
        for path in held
        if path.name not in (BLOCKS, MANIFEST) and not path.name.startswith(f".{MANIFEST}.")
    ]
    # Blocks are looked up before the manifest. The manifest is written before any block, so a store
    # that another process is creating never seems to have blocks but no manifest.
    blocks = any((folder / BLOCKS).glob("*"))
    if strange or (blocks and not (folder / MANIFEST).exists()):
        raise ValueError(
            f"{folder} is not empty and holds no sweep ({MANIFEST} is missing): use a new folder."
        )


def refuse_others(folder: Path, old: SweepSpec, new: SweepSpec, finished: Collection[str]) -> None:
    """Reject a store if it belongs to another sweep, or has blocks that the new sweep lacks."""
    same_draws = (old.key, old.block_runs) == (new.key, new.block_runs)
    if not same_draws or not {e.id for e in old.entries} <= {e.id for e in new.entries}:
        raise ValueError(
            f"{folder} holds another sweep ({old.name!r}, {len(old.entries)} entries, key "
            f"{old.key}, blocks of {old.block_runs} runs): use another folder."
        )
    names = {block.name for block in replace(new, more=old.more).blocks()}
    lost = [name for name in finished if name not in names]
    if lost:
        raise ValueError(
            f"{folder} holds {len(lost)} finished blocks that this sweep does not have "
            f"(first {lost[0]}): a stored sweep can only grow, and only by whole blocks of "
            f"{new.block_runs} runs."
        )


def refuse_other_numbers(folder: Path, old: JsonObject, new: JsonObject) -> None:
    """Reject a store whose versions, dtype or generator differ from those of this process."""
    for name in provenance.DECISIVE:
        before, now = old["versions"][name], new["versions"][name]
        if before != now:
            raise ValueError(
                f"{folder} was created with {name} {before}, but {now} is installed, which may "
                "draw or round differently: use another folder, or install the old version."
            )
    for name in ("dtype", "generator"):
        if old[name] != new[name]:
            raise ValueError(
                f"{folder} was created with the {name} {old[name]}, but this process has "
                f"{new[name]}: use another folder."
            )
