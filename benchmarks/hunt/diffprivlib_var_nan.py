"""The variance of records of which one is NaN is NaN."""

from diffprivlib_nan import claim, domain, like, package, relation, released, releases, requires


def draw(values):
    return released("var", values)
