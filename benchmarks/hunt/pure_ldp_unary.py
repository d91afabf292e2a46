"""Shared settings of the cases of unary encoding."""

package, releases = "pure-ldp", ["1.1.2", "1.2.0"]
requires = ["bitarray", "bitstring", "numpy", "scipy", "scikit-learn", "statsmodels", "xxhash"]
claim = 1.0
like = 1
relation, domain = "any", {"categories": [1, 2, 3, 4]}
reported = "Samuel-Maddock/pure-LDP issue 11"


def encoded(value, optimized):
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    return "".join(str(int(bit)) for bit in UEClient(1.0, 4, use_oue=optimized).privatise(value))
