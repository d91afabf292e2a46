"""States of watches that are inconsistent, although their checksums are valid."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.inference import LAYING
from dpjax.sources import Passages
from dpjax.watching._state import State, Taken


def state(**changes):
    """Return two chunks of outputs, 3 and 4 of one side and 2 and 5 of the other, all kept."""
    parts = {
        "terms": {"claim": 1.0},
        "taken": [Taken("a", (3, 2), ("k", "l")), Taken("b", (4, 5), ("m", "n"))],
        "held": (np.zeros(7), np.zeros(7)),
    }
    return State(**parts | changes)


def result(drawn):
    return SimpleNamespace(settings={"drawn": drawn})


def passages(*chunks):
    return replace(Passages.none(), chunks=np.array(chunks, np.int32))


MANY = LAYING + 100
LARGE = [Taken("a", (MANY, MANY + 5), ("k", "l"))]
HELD = (np.zeros(LAYING), np.zeros(LAYING + 5))


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"taken": [], "held": (None, None)}, {"passages": passages(0, 1, 1)},
        {"taken": [Taken("a", (7, 0), ("k", "l"))], "held": (np.zeros(7), None)},
        {"result": result(7)}, {"result": result(0)},
        {"taken": LARGE, "held": HELD, "gone": 100, "result": result(MANY)},
    ],
)  # fmt: skip
def test_states_that_fit(changes):
    state(**changes)._refuse_misfits()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"terms": ["claim"]}, "its terms or chunk names are invalid"),
        ({"taken": state().taken[::-1]}, "its terms or chunk names are invalid"),
        ({"taken": [state().taken[0]] * 2}, "its terms or chunk names are invalid"),
        ({"gone": -1}, "a number of outputs in it is negative or not an integer"),
        ({"gone": 0.0}, "a number of outputs in it is negative or not an integer"),
        ({"gone": False}, "a number of outputs in it is negative or not an integer"),
        ({"taken": [Taken("a", (-1, 2), ("k", "l"))]}, "a number of outputs in it is negative"),
        ({"taken": [Taken("a", (2, "2"), ("k", "l"))]}, "a number of outputs in it is negative"),
        ({"passages": passages(0, 2)}, "it contains hashes for chunks that it does not list"),
        ({"gone": 1}, "its result is for a different number of outputs"),
        ({"result": result(LAYING + 1)}, "its result is for a different number of outputs"),
        ({"held": (np.zeros(6), np.zeros(7))}, "some outputs of its chunks are missing"),
        ({"held": (np.zeros(7), np.zeros(8))}, "some outputs of its chunks are missing"),
        ({"held": (None, np.zeros(7))}, "some outputs of its chunks are missing"),
        ({"result": result(8)}, "some outputs that determine its cells are missing"),
        (
            {"taken": LARGE, "held": HELD, "gone": 100, "result": result(MANY + 1)},
            "its result is for a different number of outputs",
        ),
    ],
)
def test_states_that_contradict_themselves(changes, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        state(**changes)._refuse_misfits()
