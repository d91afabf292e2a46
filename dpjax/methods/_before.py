"""The source and the pairs of an audit, which a search may have to find first.

Each search has its own module, which is imported only if there is something to search.
"""

from typing import NamedTuple

from dpjax.databases.spaces import Space, as_space
from dpjax.notions import Notion, Terms
from dpjax.sources import Source, family_of


class Settled(NamedTuple):
    """Source and pairs to audit in place of a family.

    Attributes:
        source: Source to audit. If the caller passed a family, this is the chosen member.
        pairs: Pairs to audit. If the source is a family, these are the best pairs that were found.
        notes: Sentences about the search that are added to the finding.
    """

    source: Source
    pairs: object
    notes: list[str]


def settled(
    source: Source,
    pairs: object,
    asked: tuple[Notion | None, object],
    terms: Terms,
    seconds: float | None = None,
) -> Settled:
    """Replace a family by the member whose expected bound exceeds its claim by the largest margin.

    Args:
        source: Source of the audit. A source that is not a family is returned unchanged.
        pairs: Pairs in any form that `dpjax.audit` accepts. If `pairs` is None, each member's own
            pairs are used.
        asked: Notion and claim for all members. If both are None, each member's own notion and
            claim are used.
        terms: Terms of the audit. The search makes its own draws, which the audit does not use.
        seconds: Time limit of the audit that replaces the time limits of all members, or None.

    Raises:
        ValueError: If no member can be created, or if a member has no pairs or no claim.
        TypeError: If a claim is not a number.
    """
    family = family_of(source)
    if family is None:
        return Settled(source, pairs, [])
    from dpjax.methods._families import best_member

    limited = family if seconds is None else family.with_time_limit(seconds)
    return Settled(*best_member(limited, pairs, asked, terms))


def pairs_to_audit(
    source: Source, pairs: object, terms: Terms, least: int = 0
) -> tuple[object, list[str]]:
    """Return the pairs to audit, and notes about the search for these pairs.

    Args:
        source: Source of the audit.
        pairs: Pairs in any form that `dpjax.audit` accepts, or None for the default pairs of the
            source. If `pairs` is a result of `dpjax.neighbors`, or a Hypothesis strategy for pairs,
            the function searches for the best pairs and returns them. All other pairs are returned
            unchanged.
        terms: Terms of the audit. The search makes its own draws, which the audit does not use.
        least: Minimum total number of draws in each rung of the search, if the source has no
            sampler and its time limit allows. A search for rare events needs many draws.

    Raises:
        ValueError: If no pair of the space is allowed.
    """
    pairs = source.usual_pairs if pairs is None else as_space(pairs)
    if not isinstance(pairs, Space):
        return pairs, []
    from dpjax.methods._pairs import best_pairs

    return best_pairs(source, pairs, terms, least)
