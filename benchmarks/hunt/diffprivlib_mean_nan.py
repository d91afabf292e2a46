"""The mean is NaN if a record is NaN."""

from diffprivlib_nan import claim, domain, like, package, relation, released, releases, requires


def draw(values):
    return released("mean", values)
