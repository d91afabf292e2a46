"""Kinds of evidence. Evidence contains a method's counts, from which statements are derived."""

from dpjax.notions.evidence._counts import ChainCounts as ChainCounts
from dpjax.notions.evidence._counts import EventAndChain as EventAndChain
from dpjax.notions.evidence._counts import EventCounts as EventCounts
from dpjax.notions.evidence._evidence import Evidence as Evidence
from dpjax.notions.evidence._evidence import Part as Part
from dpjax.notions.evidence._evidence import Rows as Rows
from dpjax.notions.evidence._evidence import evidence_from_plain as evidence_from_plain
from dpjax.notions.evidence._evidence import register as register
from dpjax.notions.evidence._guesses import GuessCounts as GuessCounts
from dpjax.notions.evidence._guesses import guesses_of as guesses_of
from dpjax.notions.evidence._guesses import level_of as level_of
from dpjax.notions.evidence._guesses_of_calls import CallGuessCounts as CallGuessCounts
from dpjax.notions.evidence._guesses_of_calls import level_of_calls as level_of_calls
from dpjax.notions.evidence._histogram import RAREST as RAREST
from dpjax.notions.evidence._histogram import SAFETY_CHECK as SAFETY_CHECK
from dpjax.notions.evidence._histogram import HistogramLevel as HistogramLevel
from dpjax.notions.evidence._local import LocalSums as LocalSums
from dpjax.notions.evidence._repeats import RepeatedRuns as RepeatedRuns
from dpjax.notions.evidence._wealth import BetWealth as BetWealth
from dpjax.notions.evidence._wealth import bets_of as bets_of
