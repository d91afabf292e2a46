"""The ways in which dpjax refuses, and the outcomes that are not numbers.

Bad arguments raise the built-in `ValueError` and `TypeError`, on the host and before any compile.
What can only be seen in the data is a `Status`: an outcome with a full sentence and what to do
next, never a NaN that travels on.
"""

import enum
from difflib import get_close_matches


class Status(enum.Enum):
    """Outcome of an estimation; the value is the sentence that people read."""

    OK = "The estimate stands."
    ON_FLOOR = (
        "A density at the witness lies at the floor, so the loss there is only known to be at "
        "least this large; the lower bound is an exact binomial one for an event at the witness."
    )
    EMPTY_INTERVAL = (
        "An interval received no sample, so the ratio there is undefined and the run failed: draw "
        "more samples, or ask for a coarser precision."
    )

    @property
    def sentence(self) -> str:
        """The human-readable meaning of this outcome."""
        return self.value


def nearest(name: str, known: list[str]) -> str:
    """Ends a message about an unknown name with the nearest known ones."""
    close = get_close_matches(name, known, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(repr(c) for c in close)}? " if close else ""
    return f"{hint}known: {', '.join(sorted(known))}"
