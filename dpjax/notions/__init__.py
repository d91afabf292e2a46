"""Notions of privacy: what is bounded, what a search looks for, how evidence bounds it."""

from dpjax.notions._claims import Claim as Claim
from dpjax.notions._curves import Profile as Profile
from dpjax.notions._curves import TradeOff as TradeOff
from dpjax.notions._epsilon import Epsilon as Epsilon
from dpjax.notions._evidence import ChainCounts as ChainCounts
from dpjax.notions._evidence import EventCounts as EventCounts
from dpjax.notions._evidence import Evidence as Evidence
from dpjax.notions._evidence import evidence_from_plain as evidence_from_plain
from dpjax.notions._levels import Gdp as Gdp
from dpjax.notions._levels import Renyi as Renyi
from dpjax.notions._levels import TotalVariation as TotalVariation
from dpjax.notions._levels import Zcdp as Zcdp
from dpjax.notions._notion import Notion as Notion
from dpjax.notions._statement import Statement as Statement
from dpjax.notions._statement import smallest_error as smallest_error
from dpjax.notions._terms import Terms as Terms

NOTIONS = {
    notion.name: notion for notion in (Epsilon, Profile, TradeOff, Gdp, Renyi, Zcdp, TotalVariation)
}
"""Name in a recipe and on the command line -> notion."""
