"""Checks of a folder that is to hold the store of a sweep."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpjax.core.types import JsonObject
from dpjax.results import provenance
from dpjax.sweeps._spec import SweepSpec

if TYPE_CHECKING:
    from dpjax.sweeps._store import Store

MANIFEST, BLOCKS = "manifest.json", "blocks"
"""Names in the folder of a store."""


def refuse_damaged(manifest: JsonObject) -> None:
    """Refuse a manifest that does not say in texts what made the rows."""
    versions, processors = manifest.get("versions"), manifest.get("processors")
    texts = [manifest.get("dtype"), manifest.get("generator")]
    decisive = provenance.DECISIVE
    texts += [versions.get(name) for name in decisive] if isinstance(versions, dict) else [None]
    texts += processors if isinstance(processors, list) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("it does not say the versions, dtype, generator and processors.")


def refuse_strangers(folder: Path) -> None:
    """Refuse a folder that holds anything but the beginnings of a store.

    Another process may be making the same store just now, or was killed while it did.
    """
    held = folder.iterdir() if folder.exists() else ()
    strange = [
        path
        for path in held
        if path.name not in (BLOCKS, MANIFEST) and not path.name.startswith(f".{MANIFEST}.")
    ]
    # The manifest comes before any block, so it is looked for after them.
    blocks = any((folder / BLOCKS).glob("*"))
    if strange or (blocks and not (folder / MANIFEST).exists()):
        raise ValueError(
            f"{folder} is not empty and holds no sweep ({MANIFEST} is missing): name a new folder."
        )


def refuse_others(old: "Store", new: JsonObject, spec: SweepSpec) -> None:
    same_draws = (old.spec.key, old.spec.block_runs) == (spec.key, spec.block_runs)
    if not same_draws or not {e.id for e in old.spec.entries} <= {e.id for e in spec.entries}:
        raise ValueError(
            f"{old.folder} holds another sweep ({old.spec.name!r}, {len(old.spec.entries)} "
            f"entries, key {old.spec.key}, blocks of {old.spec.block_runs} runs): name another "
            "folder."
        )
    names = {block.name for block in replace(spec, more=old.spec.more).blocks()}
    lost = [name for name in old.contents().finished if name not in names]
    if lost:
        raise ValueError(
            f"{old.folder} holds {len(lost)} finished blocks that are no blocks of this sweep "
            f"(first {lost[0]}): runs can only be added, in whole blocks of {spec.block_runs}."
        )
    # These entries determine the bits of a row.
    for name in provenance.DECISIVE:
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
