"""Outcomes that a function or a user's mechanism promised not to return."""

import numpy as np

from dpjax.partitions import Outcomes, Region


def refuse_lost_outcomes(outputs: np.ndarray, size: int) -> None:
    """Refuses integers outside of 0, ..., size - 1, which a count of these would lose.

    Args:
        outputs: Integers [n] of a pilot.
        size: num_outcomes, or that of the mechanism's finite space.

    Raises:
        ValueError: There is one.
    """
    outside = outputs[(outputs < 0) | (outputs >= size)]
    if outside.size:
        raise ValueError(
            f"num_outcomes is {size}, but {int(outside[0])} and others outside of 0 .. {size - 1} "
            f"were returned in {outside.size / outputs.size:.2%} of a pilot's outputs: give a "
            "larger num_outcomes (or FiniteSpace), or use guarantee='exact', which counts those "
            "below and those above as one outcome each."
        )


def note_lost_outcomes(shares: np.ndarray, region: Region, size: int, *, exact: bool) -> list[str]:
    """Says what share of the outputs was outside of 0, ..., size - 1.

    Args:
        shares: [2, outcomes], of the search stage at the chosen pair.
        region: Whose outcomes they are.
        size: As in `refuse_lost_outcomes`.
        exact: Whether the others were counted, as one outcome below and one above.
    """
    if not isinstance(region, Outcomes) or region.low != 0 or region.size != size:
        return []
    lost = 1 - shares.sum(axis=1).min()
    if lost < 1e-6:
        return []
    what = (
        "counted as one outcome below and one above: what tells them apart was not seen"
        if exact
        else "in no event; guarantee='exact' counts them too"
    )
    return [
        f"{lost:.2%} of the outputs at one side of the chosen pair were integers outside of 0 .. "
        f"{size - 1} (num_outcomes) and were {what}."
    ]
