"""Sources of outputs: a JAX mechanism, a Python function, a program, or recorded outputs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpjax.partitions import Search as Search
    from dpjax.sources._arriving import Arriving as Arriving
    from dpjax.sources._arriving import Chunk as Chunk
    from dpjax.sources._canary_runs import CanaryRuns as CanaryRuns
    from dpjax.sources._command import CommandMechanism as CommandMechanism
    from dpjax.sources._counting import Tally as Tally
    from dpjax.sources._drawn import Drawn as Drawn
    from dpjax.sources._family import Family as Family
    from dpjax.sources._family import Member as Member
    from dpjax.sources._flips import Flipped as Flipped
    from dpjax.sources._flips import Flips as Flips
    from dpjax.sources._host import HostMechanism as HostMechanism
    from dpjax.sources._on_host import OnHost as OnHost
    from dpjax.sources._one_run import OneRun as OneRun
    from dpjax.sources._opened import ONE_RUN as ONE_RUN
    from dpjax.sources._opened import Arrays as Arrays
    from dpjax.sources._opened import Marked as Marked
    from dpjax.sources._opened import Opened as Opened
    from dpjax.sources._opened import OpenedInTurn as OpenedInTurn
    from dpjax.sources._opened import Request as Request
    from dpjax.sources._opened import Smoothing as Smoothing
    from dpjax.sources._pairs import RECORDED as RECORDED
    from dpjax.sources._pairs import AnyPairs as AnyPairs
    from dpjax.sources._passages import Passages as Passages
    from dpjax.sources._recorded import Recorded as Recorded
    from dpjax.sources._repeats import Repeats as Repeats
    from dpjax.sources._rounds import Rounds as Rounds
    from dpjax.sources._rounds import rounds_of as rounds_of
    from dpjax.sources._rounds import rounds_within as rounds_within
    from dpjax.sources._same_databases import numbers_of_databases as numbers_of_databases
    from dpjax.sources._source import Source as Source
    from dpjax.sources._source import Trust as Trust
    from dpjax.sources._table import SOURCES as SOURCES
    from dpjax.sources._table import as_source as as_source
    from dpjax.sources._table import family_of as family_of
    from dpjax.sources._workers import WorkerLost as WorkerLost
    from dpjax.sources.libraries import LibraryMechanism as LibraryMechanism
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
