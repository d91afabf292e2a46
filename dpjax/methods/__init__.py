"""Audit methods. Each method computes evidence and findings from the outputs of a source."""

from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpjax.core.options import Dataclass
from dpjax.methods._events import Events as Events
from dpjax.methods._families import settled as settled
from dpjax.methods._guesses import Guesses as Guesses
from dpjax.methods._pairs import FoundPairs as FoundPairs
from dpjax.methods._pairs import pairs_to_audit as pairs_to_audit
from dpjax.methods._pairs import search_pairs as search_pairs
from dpjax.methods._sequential import Sequential as Sequential
from dpjax.methods.histogram import Histogram as Histogram
from dpjax.methods.histogram import HistogramEstimate as HistogramEstimate
from dpjax.methods.local import Local as Local
from dpjax.methods.local import LocalSearch as LocalSearch
from dpjax.notions import Terms
from dpjax.results import Findings
from dpjax.sources import Source


@runtime_checkable
class Method(Dataclass, Protocol):
    """An audit method. Each method is a frozen dataclass whose fields are its options.

    Attributes:
        name: Name of the method on the command line, in recipes and in sweeps.
        bounded: Whether the method computes a lower bound on the level. A method that computes no
            bound can be used only in sweeps.
    """

    name: ClassVar[str]
    bounded: ClassVar[bool]

    def accepts(self, source: Source) -> str | None:
        """Return None if the method can audit a source; otherwise, return a message for the user.

        The message explains why the method cannot audit the source, and what to use instead.
        """
        ...

    def run(self, source: Source, pairs: object, terms: Terms, runs: NDArray[np.int32]) -> Findings:
        """Audit a source with pairs of databases, in a batch of runs.

        Args:
            source: Source that the method accepts.
            pairs: Pairs of databases, in any form that `dpjax.audit` accepts.
            terms: Notion, claim and confidence of the audit.
            runs: int32 [runs], indices of the runs.
        """
        ...


METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        Events,
        Sequential,
        Local,
        LocalSearch,
        Histogram,
        HistogramEstimate,
        Guesses,
    )
}
"""Class of each method, by the name used on the command line and in files."""
