"""Gaussian noise reveals its input in the lowest bits of its outputs."""

package, releases = "python-dp", ["1.1.5"]
claim, delta = 1.0, 0.001
like = 0.0
relation, domain = ("within", 1.0), {"bounds": (0, 10)}
bits = "lowest"
draws = 100_000

_made = []


def draw(value):
    from pydp.algorithms.numerical_mechanisms import GaussianMechanism

    if not _made:
        _made.append(GaussianMechanism(epsilon=1.0, delta=0.001, sensitivity=1.0))
    return _made[0].add_noise(value)
