"""Refusals of bad input, as tests read them."""

import pytest


def refusal(call, *arguments, **options):
    """The ValueError or TypeError that a call raises."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call(*arguments, **options)
    return caught.value
