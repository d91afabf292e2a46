"""Division of draws between search and confirmation, and between the rounds of a search.

If there are many pairs, most pairs have small bounds. The first round of the search ranks all pairs
with few draws, and the second round spends the remaining draws on the best pairs.
"""

from math import ceil
from typing import NamedTuple

_SEARCH_SHARE, _OF_ONE_PAIR = 0.44, 2 / 7
"""Share of all draws that the search uses: _SEARCH_SHARE for multiple pairs, and _OF_ONE_PAIR for a
single pair.
"""

_FIRST_SHARE = 5 / 11
"""Share of all search draws that the first round uses, for all pairs together."""

_ALWAYS_KEPT, _KEPT_SHARE, _MOST_KEPT = 2, 0.25, 2_500
"""Number of pairs in the second round: at least _ALWAYS_KEPT, usually the share _KEPT_SHARE of all
pairs, and at most _MOST_KEPT.
"""


class Rounds(NamedTuple):
    """Numbers of samples per side in the stages of one audit.

    Attributes:
        num_samples: Number of samples per side of every pair in the first round of the search.
        num_kept: Number of pairs in the second round of the search, or 0 if there is only one
            round.
        num_again: Number of samples per side of each pair in the second round of the search.
        num_confirm: Number N of fresh samples per side of the chosen pair.
    """

    num_samples: int
    num_kept: int
    num_again: int
    num_confirm: int

    def searched(self, num_pairs: int) -> int:
        """Return the number of samples per side in the search, summed over all pairs."""
        return num_pairs * self.num_samples + self.num_kept * self.num_again


def rounds_of(num_pairs: int, num_search: int, num_confirm: int) -> Rounds:
    """Divide the draws of a search into rounds.

    Args:
        num_pairs: Number of pairs, at least 1.
        num_search: Number of samples per side in the search, summed over all pairs.
        num_confirm: Number N of fresh samples per side of the chosen pair.
    """
    if num_pairs <= _ALWAYS_KEPT:
        return Rounds(num_search // num_pairs, 0, 0, num_confirm)
    first = max(round(_FIRST_SHARE * num_search / num_pairs), 1)
    kept = min(max(_ALWAYS_KEPT, ceil(_KEPT_SHARE * num_pairs)), _MOST_KEPT)
    again = max((num_search - num_pairs * first) // kept, 1)
    return Rounds(first, kept, again, num_confirm)


def rounds_within(num_pairs: int, num_draws: int) -> Rounds:
    """Divide a total number of samples per side between search and confirmation."""
    share = _OF_ONE_PAIR if num_pairs == 1 else _SEARCH_SHARE
    search = round(share * num_draws)
    return rounds_of(num_pairs, search, num_draws - search)
