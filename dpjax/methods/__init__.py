"""Methods: ways to turn a source of outputs into evidence, and what was found into a result."""

from typing import Any, ClassVar, Protocol

from dpjax.methods._events import Events as Events
from dpjax.methods.histogram import Histogram as Histogram
from dpjax.methods.local import Local as Local
from dpjax.notions import Terms
from dpjax.results import Finding
from dpjax.sources import Source


class Method(Protocol):
    """A frozen dataclass of options that turns a source into a finding."""

    name: ClassVar[str]

    def run(self, source: Source, pairs: Any, terms: Terms) -> Finding:
        """One audit of a source at pairs of databases, under the terms."""
        ...


METHODS: dict[str, type[Events] | type[Local] | type[Histogram]] = {
    method.name: method for method in (Events, Local, Histogram)
}
"""Name on the command line and in recipes -> method."""
