"""A helper for tests of invalid inputs."""

import pytest


def refusal(call, *arguments, **options):
    """Return the ValueError or TypeError that a call raises."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call(*arguments, **options)
    return caught.value
