"""Sources that wrap library objects and read the claim and neighbors that each object states."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Self

from dpjax.core.options import option
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType, BadValue
from dpjax.databases import Neighbors
from dpjax.notions import Notion
from dpjax.partitions.outputs import Encoder
from dpjax.sources._calls import draw_batch
from dpjax.sources._deadline import Deadline
from dpjax.sources._host import HostMechanism
from dpjax.sources._on_host import OnHost
from dpjax.sources._plain import known_options, stated_options
from dpjax.sources._schedule import Draw, Restarted
from dpjax.sources._source import Trust
from dpjax.sources.libraries._handed import Handed
from dpjax.sources.libraries._read import library_of, made, read


@dataclass(frozen=True)
class LibraryMechanism(OnHost):
    """A wrapper for an object from OpenDP, diffprivlib, PyDP, Tumult Core or SmartNoise.

    `dpjax.audit` wraps library objects automatically. Wrap an object explicitly to choose `d_in` or
    another option. The claim, the domain and the neighboring relation are read from the object.

    Attributes:
        subject: Library object. Use `functools.partial` to fix the arguments of a diffprivlib tool,
            or of a SmartNoise synthesizer's `fit` method.
        d_in: Distance between neighboring databases, in the units of the measurement's input
            metric. If `d_in` is None, the distance is 1, or 2 for the symmetric distance between
            databases of a fixed size.
        bits: As in `HostMechanism`. By default, the lowest set bit is observed if outputs are
            single reals.
        workers: As in `HostMechanism`.
        time_limit: Maximum time, in seconds, that an audit spends on drawing, or None for no limit.
        timeout: As in `HostMechanism`.
        special: As in `HostMechanism`.

    Raises:
        TypeError: If the object's library is unknown, or if objects of its kind cannot be audited.
        ValueError: If dpjax has no notion for the object's claim.
    """

    subject: object
    d_in: object = option(
        "Distance between neighboring databases, in units of the input metric.",
        default=None,
        kind="float",
    )
    bits: int | str | None = option("", default="auto")
    workers: int = option("", default=0)
    time_limit: float | None = option("", default=60.0)
    timeout: float | None = option("", default=None)
    special: str = option("", default="outcomes")
    kind: ClassVar[str] = "object"
    asked: ClassVar[tuple[str, str]] = (
        "A library object, such as an OpenDP measurement, with the claim that it states.",
        "MODULE:NAME|FILE.py:NAME",
    )
    batched: ClassVar[bool] = False
    batch_size: ClassVar[int] = 1000
    replayable: ClassVar[bool] = False

    def __post_init__(self):
        if library_of(self.subject) is None:
            raise BadType(
                "subject must be an object from OpenDP, diffprivlib, PyDP, Tumult Core or "
                "SmartNoise, and the library must be imported, but subject was of type "
                f"{type(self.subject).__name__}."
            )
        _ = self._host

    @property
    def name(self) -> str:
        """Description of the object."""
        return self._handed.name

    @property
    def usual_pairs(self) -> Neighbors | None:
        """Search space of the object's neighboring databases, or None if they are unknown."""
        return self._handed.pairs

    @property
    def stated(self) -> tuple[Notion, object] | None:
        """Privacy notion and claimed level that the object states."""
        return None if self._handed.notion is None else (self._handed.notion, self._handed.claim)

    def encoder(self) -> Encoder:
        """Return a new encoder of the outputs."""
        return Encoder(self.name, special=self.special, bits=self.bits)

    def drawing(self) -> AbstractContextManager[Draw]:
        """Return a context manager that provides a function for drawing batches of raw outputs."""
        return self._host.drawing()

    def restarted(self, sides: tuple[object, object], count: int) -> Restarted | None:
        """Draw outputs from two new objects with the same parameters; see `OnHost`."""
        if self._handed.anew is None:
            return None
        deadline, catch = Deadline.of(self.timeout, None), self.special == "outcomes"
        runs = []
        try:
            calls = [self._handed.anew() for _ in range(2)]
        except Exception:  # A subclass may need other arguments.
            return None
        for call in calls:
            draw = partial(draw_batch, call, catch, deadline, None)
            runs.append([draw(side, count, range(count)) for side in sides])
        return "objects", runs

    def to_plain(self) -> JsonObject | None:
        """Return the library's name, the object as JSON values, and the options; see `Source`."""
        plain = self._handed.plain
        if plain is None or not isinstance(self.d_in, int | float | None):
            return None
        return {"library": library_of(self.subject), "object": plain, **stated_options(self)}

    @classmethod
    def from_plain(cls, content: JsonObject, database: object, trust: Trust) -> Self:
        """Rebuild the object if its library may be imported; see `Source`."""
        library, plain = str(content.pop("library", "")), content.pop("object", None)
        if library not in trust.imports:
            raise BadValue(
                "subject must be given, or its library must be allowed by "
                f"allow_import={[library]!r}."
            )
        return cls(made(library, plain), **known_options(cls, content))

    @cached_property
    def _handed(self) -> Handed:
        return read(self.subject, self.d_in)

    @cached_property
    def _host(self) -> HostMechanism:
        return HostMechanism(
            self._handed.call,
            batched=False,
            workers=self.workers,
            batch_size=self.batch_size,
            special=self.special,
            bits=self.bits,
            time_limit=self.time_limit,
            timeout=self.timeout,
        )
