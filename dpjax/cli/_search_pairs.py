"""`dpjax search-pairs`: find the most promising pairs of databases among many pairs."""

import json
from contextlib import ExitStack
from pathlib import Path

from dpjax.cli._audit_options import SOURCES
from dpjax.cli._audit_options import TABLE as _AUDIT
from dpjax.cli._options import AS_JSON, QUIET, say_written
from dpjax.cli._progress import progress_bar, shown_by
from dpjax.cli._recognized import recognized
from dpjax.cli._subject import subject_and_pairs
from dpjax.cli._table import Table, Value, chosen, option, written_of

_SUBJECT = (
    "mechanism", "function", "epsilon", "param", "num_outcomes", "pairs", "like", "relation",
    "bounds", "size", "region", "key",
)  # fmt: skip
_ANYWHERE = ("pairs", "like", "relation", "bounds", "size", "region")
_SEARCH = ("budget", "keep", "factor", "region", "key")

TABLE: Table = {
    **{name: _AUDIT[name] for name in _SUBJECT},
    # The help of `dpjax audit` lists these options under sources and methods that the search lacks.
    **{name: _AUDIT[name]._replace(panel="Options") for name in _ANYWHERE},
    "budget": option(
        int, "Maximum total number of draws, on both sides of all pairs.", default=1_000_000
    ),
    "keep": option(int, "Number of pairs to find. Default: 3."),
    "factor": option(
        int, "Factor by which each round, except the last, reduces the number of pairs. Default: 4."
    ),
    "out": option(Path, "JSON file to which the pairs are written, for `dpjax audit --pairs`."),
    "as_json": AS_JSON,
    "quiet": QUIET,
}


EXAMPLES = (
    "dpjax search-pairs noisy-histogram-2 --epsilon 0.5 --keep 2",
    "dpjax search-pairs release.py:release --pairs p.npz --out best.json",
    "dpjax audit release.py:release --pairs best.json",
    "dpjax search-pairs f.py:release --like '[30, 80]' --bounds 0,100",
)


def command(**given: Value) -> None:
    """Find the pairs with the largest estimated privacy loss, by successive halving.

    The choice of pairs does not affect the confidence of a later audit, because `dpjax audit` draws
    new outputs. The reported losses are estimates, not bounds.
    """
    written = written_of(given)
    if ("mechanism" in written) == ("function" in written):
        raise ValueError("to search pairs, name either a mechanism or --function.")
    if written.get("out") is not None:
        from dpjax.core.files import refuse_unwritable

        refuse_unwritable("file of pairs", written["out"])
    with progress_bar("draws", quiet=given["quiet"]) as show, ExitStack() as stack:
        written, _ = recognized(written, stack)
        (source,) = {*SOURCES} & {*written}
        from dpjax.methods._pairs import search_pairs

        subject, pairs = subject_and_pairs(source, written, stack)
        pairs = subject.standard_pairs() if pairs is None else pairs
        options = chosen(written, _SEARCH)
        found = search_pairs(subject, pairs, **options, execution=shown_by(show))
    from dpjax.results import as_lists
    from dpjax.sources import AnyPairs

    sides = [map(as_lists, side) for side in AnyPairs.of(found.pairs).sides]
    pairs = [list(pair) for pair in zip(*sides, strict=True)]
    if written["as_json"]:
        content = {"estimates": found.estimates, "pairs": pairs, "labels": found.pairs.labels}
        print(json.dumps({**content, "rungs": found.rungs, "num_draws": found.num_draws}))
    else:
        print(found)
    if written.get("out") is not None:
        from dpjax.core.files import write_whole

        write_whole({written["out"]: json.dumps(pairs) + "\n"})
        say_written(written["out"])
