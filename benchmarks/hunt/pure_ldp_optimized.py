"""Optimized unary encoding keeps a bit with too large a probability."""

from pure_ldp_unary import (
    claim,
    domain,
    encoded,
    like,
    package,
    relation,
    releases,
    reported,
    requires,
)


def draw(value):
    return encoded(value, optimized=True)
