"""Outcomes that a function promised not to return."""

import numpy as np

from dpjax.loss import Outcomes, Region


def refuse_lost_outcomes(outputs: np.ndarray, size: int) -> None:
    """Refuses integers outside of 0, ..., size - 1, which a count of these would lose.

    Args:
        outputs: Integers [n] of a pilot.
        size: num_outcomes.

    Raises:
        ValueError: There is one.
    """
    outside = outputs[(outputs < 0) | (outputs >= size)]
    if outside.size:
        raise ValueError(
            f"num_outcomes is {size}, but the function returned {int(outside[0])} and others "
            f"outside of 0 .. {size - 1} in {outside.size / outputs.size:.2%} of a pilot's "
            "outputs: give a larger num_outcomes, or use guarantee='exact', which counts all "
            "others as one."
        )


def note_lost_outcomes(shares: np.ndarray, region: Region, size: int) -> list[str]:
    """Says what share of the outputs was outside of 0, ..., size - 1 where the pilot saw none.

    Args:
        shares: [2, outcomes], of the search stage at the chosen pair.
        region: Whose outcomes they are.
        size: num_outcomes.
    """
    if not isinstance(region, Outcomes) or region.low != 0 or region.size != size:
        return []
    lost = 1 - shares.sum(axis=1).min()
    if lost < 1e-6:
        return []
    return [
        f"{lost:.2%} of the outputs at one side of the chosen pair were integers outside of 0 .. "
        f"{size - 1} (num_outcomes) and were in no event; guarantee='exact' counts them too."
    ]
