"""Subset selection with sorted values, which fixes the error of multi_freq_subset.py."""

package, releases = "multi-freq-ldpy", ["0.2.5"]
claim = 1.0
like = 0
relation, domain = "any", {"categories": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}


def draw(value):
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

    return ",".join(str(each) for each in sorted(SS_Client(value, 10, 1.0)))
