"""Interrupted audits: their messages, and a decorator that restores an object's attributes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from dpjax.core.errors import Stopped
from dpjax.core.wording import Sentence, confidence_text, term
from dpjax.methods._alarm import TimeUp
from dpjax.notions import Evidence, Terms
from dpjax.sources import Tally, WorkerLost

Owner = TypeVar("Owner")
Given = ParamSpec("Given")
Value = TypeVar("Value")


class SoFar:
    """State of an audit; if the user interrupts the audit, the error message reports this state.

    Attributes:
        tally: Counts of the source's outputs so far.
        evidence: Function that maps confirmation counts to evidence. `evidence` is None until an
            event is chosen. For methods whose evidence is complete only at the end, `evidence` is
            always None.
    """

    def __init__(self, tally: Tally):
        self.tally = tally
        self.evidence: Callable[[np.ndarray], Evidence] | None = None


@contextmanager
def saying_so_far(tally: Tally, terms: Terms) -> Iterator[SoFar]:
    """Return a context manager that converts KeyboardInterrupt to `Stopped` with a message."""
    so_far = SoFar(tally)
    try:
        yield so_far
    except TimeUp:
        raise
    except KeyboardInterrupt:
        raise Stopped(_sentence(so_far, terms)) from None


def _sentence(so_far: SoFar, terms: Terms) -> str:
    searched, counts = so_far.tally.searched, so_far.tally.confirmed
    if not searched:
        return "Stopped before any output was counted: there is no result."
    drawn = f"Stopped after {searched} search outputs"
    if counts is None:
        return f"{drawn} and no confirmation outputs: there is no result."
    sides = counts.sum(axis=1)
    drawn += (
        f", and {sides[0]} confirmation outputs from the database and {sides[1]} from the neighbor"
    )
    if so_far.evidence is None or not sides.all():
        return f"{drawn}, which are too few for a bound."
    evidence, sure = so_far.evidence(counts), terms.own_confidence
    bound = evidence.state(terms.notion, sure, distance=terms.distance).lower_bound
    return (
        f"{drawn}. So far, with confidence {confidence_text(terms.confidence)}, "
        f"{terms.notion.symbol} is at least {bound:.4f}, provided that the decision to stop "
        "did not depend on the outputs."
    )


def ending(drawn: int, blocks: int, reason: str) -> str:
    """Return the note that says when and why a sequential audit ended.

    Args:
        drawn: Number of draws per side, summed over all pairs.
        blocks: Number of blocks, including the block that determined the cells.
        reason: The reason in words.
    """
    said = f"Ended after {drawn:,} draws per side, summed over all pairs"
    if blocks > 1:
        return f"{said}, in {blocks} blocks: {reason}."
    resume = term("dpjax.resume(result)", "--resume")
    return Sentence(
        f"{said}: {reason}. These draws only determine the cells, so there were no bets, and the "
        f"bound is 0. Continue the audit with {resume}, or allow more time or draws."
    )


def whole(
    method: Callable[Concatenate[Owner, Given], Value],
) -> Callable[Concatenate[Owner, Given], Value]:
    """Wrap a method so that an interrupt or a lost worker undoes all changes of the attributes.

    Otherwise, some attributes could describe new cells while others contain counts in old cells.
    """

    @wraps(method)
    def run(owner: Owner, /, *args: Given.args, **kwargs: Given.kwargs) -> Value:
        state = vars(owner)
        # Lists and arrays may be changed in place.
        before = {n: copy(v) if isinstance(v, list | np.ndarray) else v for n, v in state.items()}
        try:
            return method(owner, *args, **kwargs)
        except (KeyboardInterrupt, WorkerLost):
            state.update(before)
            raise

    return run
