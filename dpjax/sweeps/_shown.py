"""The display of a store in a notebook."""

from typing import TYPE_CHECKING

from dpjax.core.notebook import html_titled

if TYPE_CHECKING:
    from dpjax.sweeps._store import Store


def store_html(store: "Store") -> str:
    """Return the HTML of a store's sweep and its progress.

    Args:
        store: Open store; each of its blocks is read once.
    """
    spec, contents = store.spec, store.contents()
    stored = sum(
        block.stop - block.first for block in spec.blocks() if block.name in contents.finished
    )
    rows = [
        ("folder", str(store.folder)),
        ("entries", str(len(spec.entries))),
        ("runs stored", f"{stored:,} of {spec.num_runs:,}"),
        ("made on", " and ".join(store.manifest["processors"])),
    ]
    if contents.broken:
        rows.append(("broken blocks", str(len(contents.broken))))
    rows += [(str(path), f"not used: {why}") for path, why in contents.strange.items()]
    return html_titled(f"Sweep {spec.name}", rows)
