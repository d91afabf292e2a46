"""Cases of a hunt, each with a library function, the library's claim, and neighboring databases."""

import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpjax.core import validate
from dpjax.core.types import Database, JsonObject
from dpjax.core.wording import BadType, BadValue
from dpjax.databases import AddRemove, ChangeOne, Domain, Neighbors, Within, neighbors
from dpjax.databases.spaces import Relation
from dpjax.hunting._beside import Beside
from dpjax.hunting._digest import digest_of
from dpjax.notions import Epsilon
from dpjax.partitions.low_bits import check_bits

_RELATIONS = {"add-remove": AddRemove, "change-one": ChangeOne, "within": Within}
_KNOWN = ("package", "releases", "claim", "draw", "like", "pairs", "relation", "domain", "delta",
          "requires", "dependencies", "draws", "bits", "reported", "documented")  # fmt: skip

_KINDS = {"package": str, "reported": str, "dependencies": bool, "documented": bool}
"""Types of the values that a case sets and that are not validated otherwise."""


@dataclass(frozen=True)
class Case:
    """A case of a hunt, defined by a Python file.

    Attributes:
        path: Path of the file.
        title: First line of the file's docstring.
        package: Name of the package on the package index, without a version.
        claim: Epsilon that the library claims.
        delta: Delta that the library claims.
        pairs: Space of neighboring databases, or list of pairs.
        releases: Versions to audit if the user names no releases.
        requires: Requirements to install in addition to the package.
        dependencies: Whether to install the package's declared dependencies, too.
        draws: Maximum number of draws per side, summed over all pairs.
        bits: Bits of each output to observe in addition to its value, as in `dpjax.HostMechanism`.
        reported: Reference to a report of the bug, or "" if the bug was not reported.
        documented: Whether the library documents the bug.
    """

    path: Path
    title: str
    package: str
    claim: float
    delta: float
    pairs: Neighbors | list[tuple[Database, Database]]
    releases: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    dependencies: bool = True
    draws: int = 20_000
    bits: int | str | None = "auto"
    reported: str = ""
    documented: bool = False

    @property
    def mark(self) -> str:
        """Digest of the code that draws the outputs, see `dpjax.hunting._digest`."""
        return digest_of(self.path)


def read_case(path: str | Path) -> Case:
    """Read a case by running its Python file; the file's function `draw` is not called.

    The file sets `package`, `claim`, and either `pairs` (a list of (database, neighbor) tuples) or
    `like` (an example database). If the file sets `like`, it may also set `domain` (the arguments
    of `dpjax.Domain`) and `relation`. The relation is "add-remove", "change-one", or a tuple of a
    name and a distance, such as ("add-remove", 2) or ("within", 1.0). For vectors, the tuple also
    states the norm, as in ("within", 1.0, "l2"). The file's function `draw(database)` imports the
    library and returns one output, made of numbers, strings, lists and dicts. Databases must be
    JSON values. The file may import modules from its own folder, and multiple cases may share these
    modules.

    Raises:
        ValueError: If the file cannot be run, or if a value that the file sets is missing,
            unknown or out of range.
        TypeError: If a value that the file sets has the wrong type.
    """
    path = Path(path)
    if not path.is_file():
        raise BadValue(f"cases must be Python files, but there is no file {str(path)!r}.")
    beside = Beside(path.resolve().parent)
    try:
        with beside.imports():
            content = runpy.run_path(str(path), run_name="dpjax_case")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # The code of a case may raise anything, such as SystemExit.
        raise BadValue(f"cases: {path} cannot be run: {error!r}.") from error
    own = {name: value for name, value in content.items() if not name.startswith("_")}
    for name in ("package", "claim", "draw"):
        if name not in own:
            raise BadValue(f"cases: {path} must set {name}.")
    if not callable(own["draw"]):
        raise BadType(f"cases: {path} must have a function draw(database).")
    if own["claim"] is None:
        raise BadType(f"cases: claim in {path} must be a number >= 0, but was None.")
    validate.non_negative(claim=own["claim"])
    known = {name: own[name] for name in _KNOWN if name in own}
    known.pop("draw")
    made = {name: known.pop(name, None) for name in ("pairs", "like", "relation", "domain")}
    if isinstance(made["domain"], dict) and callable(made["domain"].get("member")):
        made["domain"] = made["domain"] | {"member": beside.calling(made["domain"]["member"])}
    for name in ("releases", "requires"):
        texts = known.get(name, ())
        if not isinstance(texts, list | tuple) or not all(isinstance(t, str) for t in texts):
            raise BadType(f"cases: {name} in {path} must be a list of strings, but was {texts!r}.")
        known[name] = tuple(texts)
    for name, kind in _KINDS.items():
        if not isinstance(known.get(name, kind()), kind):
            raise BadType(
                f"cases: {name} in {path} must be a {kind.__name__}, but was {known[name]!r}."
            )
    validate.positive_int(at_least=2, draws=known.get("draws", 2))
    check_bits(known.get("bits"))
    Epsilon(known.setdefault("delta", 0.0))  # This validates delta.
    title = (content.get("__doc__") or path.stem).strip().partition("\n")[0]
    return Case(path.resolve(), title, pairs=_pairs_of(path, made), **known)


def _pairs_of(path: Path, made: JsonObject) -> Neighbors | list[tuple[Database, Database]]:
    given = made["pairs"]
    if given is not None:
        if not isinstance(given, list | tuple) or not all(
            isinstance(pair, list | tuple) and len(pair) == 2 for pair in given
        ):
            raise BadType(
                f"cases: pairs in {path} must be a list of (database, neighbor), but was "
                f"{given!r:.80}."
            )
        return [(database, neighbor) for database, neighbor in given]
    if made["like"] is None:
        raise BadValue(f"cases: {path} must set either pairs or like.")
    try:
        domain = None if made["domain"] is None else Domain(**made["domain"])
        relation = _relation_of(made["relation"] or "add-remove")
        return neighbors(made["like"], relation, domain)
    except (TypeError, ValueError) as error:
        raise BadValue(f"cases: {path} does not define pairs of databases: {error}") from None


def _relation_of(written: str | tuple[Any, ...]) -> Relation | str:
    if isinstance(written, str):
        return written
    name, distance, *norm = written
    validate.one_of(tuple(_RELATIONS), relation=name)
    if not norm:
        return _RELATIONS[name](distance)
    if name != "within" or len(norm) > 1:
        raise BadValue(f"only 'within' has a norm as its third entry, but relation was {written}.")
    return Within(distance, norm[0])
