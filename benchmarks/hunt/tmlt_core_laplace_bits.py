"""Laplace noise on real numbers, audited with the lowest bits of its outputs."""

package, releases = "tmlt.core", ["0.20.0"]
claim = 1.0
like = 0.0
relation, domain = ("within", 1.0), {"bounds": (0, 10)}
bits = "lowest"
draws = 100_000

_made = []


def draw(value):
    from tmlt.core.domains.numpy_domains import NumpyFloatDomain
    from tmlt.core.measurements.noise_mechanisms import AddLaplaceNoise

    if not _made:
        _made.append(AddLaplaceNoise(input_domain=NumpyFloatDomain(), scale=1))
    return _made[0](value)
