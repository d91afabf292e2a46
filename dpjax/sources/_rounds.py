"""How many draws search and how many confirm, where many pairs are searched.

Most pairs are poor. A few draws tell which, and the rest of the search goes to the better ones.
"""

from math import ceil
from typing import NamedTuple

_SEARCH_SHARE, _OF_ONE_PAIR = 0.44, 2 / 7
"""Part of all draws that searches, of several pairs and of a single one."""

_FIRST_SHARE = 5 / 11
"""Part of the search that all pairs take."""

_ALWAYS_KEPT, _KEPT_SHARE = 2, 0.25
"""Pairs that are searched again, at least, and their share of all."""


class Rounds(NamedTuple):
    """Draws a side of one audit.

    Attributes:
        num_samples: Of every pair, in the first round of the search.
        num_kept: Pairs that are searched again; 0 where there are too few to choose from.
        num_again: More draws of each of them.
        num_confirm: N, fresh draws of the pair that was chosen.
    """

    num_samples: int
    num_kept: int
    num_again: int
    num_confirm: int

    def searched(self, num_pairs: int) -> int:
        """Draws a side of both rounds of the search."""
        return num_pairs * self.num_samples + self.num_kept * self.num_again


def rounds_of(num_pairs: int, num_search: int, num_confirm: int) -> Rounds:
    """Rounds of a search whose draws are given.

    Args:
        num_pairs: At least 1.
        num_search: Draws a side that search, those of all pairs together.
        num_confirm: N.
    """
    if num_pairs <= _ALWAYS_KEPT:
        return Rounds(num_search // num_pairs, 0, 0, num_confirm)
    first = max(round(_FIRST_SHARE * num_search / num_pairs), 1)
    kept = max(_ALWAYS_KEPT, ceil(_KEPT_SHARE * num_pairs))
    again = max((num_search - num_pairs * first) // kept, 1)
    return Rounds(first, kept, again, num_confirm)


def rounds_within(num_pairs: int, num_draws: int) -> Rounds:
    """Rounds that spend a total.

    Args:
        num_pairs: At least 1.
        num_draws: Draws a side, to search and to confirm.
    """
    share = _OF_ONE_PAIR if num_pairs == 1 else _SEARCH_SHARE
    search = round(share * num_draws)
    return rounds_of(num_pairs, search, num_draws - search)
