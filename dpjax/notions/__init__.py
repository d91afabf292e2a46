"""Privacy notions, kinds of evidence from draws, and statements that follow from evidence."""

from dpjax.notions._claims import Claim as Claim
from dpjax.notions._curves import Profile as Profile
from dpjax.notions._curves import TradeOff as TradeOff
from dpjax.notions._epsilon import Epsilon as Epsilon
from dpjax.notions._levels import Gdp as Gdp
from dpjax.notions._levels import Renyi as Renyi
from dpjax.notions._levels import TotalVariation as TotalVariation
from dpjax.notions._levels import Zcdp as Zcdp
from dpjax.notions._notion import Notion as Notion
from dpjax.notions._statement import Statement as Statement
from dpjax.notions._statement import smallest_error as smallest_error
from dpjax.notions._terms import Terms as Terms
from dpjax.notions.evidence import BetWealth as BetWealth
from dpjax.notions.evidence import ChainCounts as ChainCounts
from dpjax.notions.evidence import EventAndChain as EventAndChain
from dpjax.notions.evidence import EventCounts as EventCounts
from dpjax.notions.evidence import Evidence as Evidence
from dpjax.notions.evidence import GuessCounts as GuessCounts
from dpjax.notions.evidence import HistogramLevel as HistogramLevel
from dpjax.notions.evidence import LocalSums as LocalSums
from dpjax.notions.evidence import Part as Part
from dpjax.notions.evidence import RepeatedRuns as RepeatedRuns
from dpjax.notions.evidence import Rows as Rows
from dpjax.notions.evidence import bets_of as bets_of
from dpjax.notions.evidence import evidence_from_plain as evidence_from_plain
from dpjax.notions.evidence import guesses_of as guesses_of
from dpjax.notions.evidence import level_of as level_of
from dpjax.notions.evidence import register as register

NOTIONS = {
    notion.name: notion for notion in (Epsilon, Profile, TradeOff, Gdp, Renyi, Zcdp, TotalVariation)
}
"""Map from each notion's name in recipes and on the command line to its class."""
