"""Division of an audit's draws among two search rounds and the confirmation.

If there are many pairs, most of them have small bounds. Therefore the first search round ranks all
pairs with only some of the search draws. The second round uses the remaining draws for the best
pairs.
"""

from math import ceil
from typing import NamedTuple

_SEARCH_SHARE, _OF_ONE_PAIR = 0.44, 2 / 7
"""Share of an audit's draws that the search uses: _SEARCH_SHARE if there are multiple pairs, and
_OF_ONE_PAIR if there is a single pair.
"""

_FIRST_SHARE = 5 / 11
"""Share of all search draws that the first round uses. The draws of the first round are divided
among all pairs.
"""

_ALWAYS_KEPT, _KEPT_SHARE, _MOST_KEPT = 2, 0.25, 2_500
"""The second round searches the share _KEPT_SHARE of all pairs, but at least _ALWAYS_KEPT pairs and
at most _MOST_KEPT pairs.
"""


class Rounds(NamedTuple):
    """Numbers of samples per side in the stages of one audit.

    Attributes:
        num_samples: Number of samples per side of each pair in the first search round.
        num_kept: Number of pairs in the second search round, or 0 if there is only one round.
        num_again: Number of samples per side of each pair in the second search round.
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
    """Divide the search draws between the two search rounds.

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
    """Divide a total number of samples per side among the search rounds and the confirmation."""
    share = _OF_ONE_PAIR if num_pairs == 1 else _SEARCH_SHARE
    search = round(share * num_draws)
    return rounds_of(num_pairs, search, num_draws - search)
