"""The textbook Laplace sampler reveals its input in the lowest bits of its outputs."""

package, releases = "diffprivlib", ["0.6.6"]
requires = ["scikit-learn<1.7"]
claim = 1.0
like = 0.0
relation, domain = ("within", 1.0), {"bounds": (0, 10)}
bits = "lowest"
reported = "Mironov (2012)"


def draw(value):
    from diffprivlib.mechanisms import Laplace

    return Laplace(epsilon=1.0, sensitivity=1.0).randomise(value)
