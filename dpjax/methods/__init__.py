"""Methods: ways to turn a source of outputs into evidence, and what was found into a result."""

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpjax.methods._events import Events as Events
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
class Method(Protocol):
    """A frozen dataclass of options that turns a source into findings.

    Attributes:
        name: On the command line, in recipes and in sweeps.
        bounded: Whether it states a bound; else it estimates alone, which a sweep can run.
    """

    name: ClassVar[str]
    bounded: ClassVar[bool]

    def accepts(self, source: Source) -> str | None:
        """Why a source cannot be audited, in a sentence that says what would work; or None."""
        ...

    def run(self, source: Source, pairs: Any, terms: Terms, runs: NDArray[np.int32]) -> Findings:
        """A batch of runs of a source at pairs of databases, under the terms.

        Args:
            source: That is accepted.
            pairs: Of databases, as a person writes them.
            terms: Of the audit.
            runs: int32 [runs], numbers of the runs.
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
"""Name on the command line, in recipes and in sweeps -> method."""
