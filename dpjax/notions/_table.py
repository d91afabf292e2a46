"""The privacy notions by name."""

from dpjax.core.lazy import Classes
from dpjax.notions._notion import Notion

NOTIONS: Classes[type[Notion]] = Classes(
    "dpjax.notions",
    {
        "epsilon": "_epsilon:Epsilon",
        "profile": "_curves:Profile",
        "trade-off": "_curves:TradeOff",
        "gdp": "_levels:Gdp",
        "renyi": "_levels:Renyi",
        "zcdp": "_levels:Zcdp",
        "total-variation": "_levels:TotalVariation",
    },
)
"""Class of each notion, by the name used on the command line and in files."""
