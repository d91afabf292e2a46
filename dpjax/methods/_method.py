"""The protocol of audit methods."""

from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpjax.core.options import Dataclass
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


def within_limit_of(method: Method, source: Source) -> Source:
    """Return a source with the method's time limit if the method has one, or with its own limit."""
    seconds = getattr(method, "seconds", None)
    return source if seconds is None else source.with_time_limit(seconds)
