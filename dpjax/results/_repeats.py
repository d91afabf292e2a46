"""The finding of an audit that ended because two runs gave the same outputs."""

from dpjax.notions import Terms
from dpjax.results._build import Finding, concluded
from dpjax.results._parts import NOT_RANDOM, Observed, Witness
from dpjax.results.recipes import compared
from dpjax.sources import Repeats


def finding_of_repeats(found: Repeats, terms: Terms) -> Finding:
    """Return the finding, with the verdict "not random", that two runs gave the same outputs."""
    stated = found.counted.state(terms.notion, terms.own_confidence)
    verdict = NOT_RANDOM, found.sentence
    return Finding(
        statement=concluded(stated, terms, terms.notion.symbol, verdict),
        evidence=Observed(found.counted, settings=found.settings),
        notes=[*terms.notes(), found.advice],
        witness=Witness(**compared(found.pairs, 0)),
        pairs=found.pairs,
    )
