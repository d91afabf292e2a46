"""Numbers of series and frames are named by the labels of their rows."""

import json
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpjax import summarize
from dpjax.partitions.outputs import Encoder

LABELS = ["a", "b"]


def fixed(*outputs):
    """Return an encoder after its first outputs, both as it was and restored from JSON."""
    encoder, restored = Encoder("f"), Encoder("f")
    encoder.fixed([encoder.encode([*outputs])])
    restored.restore(json.loads(json.dumps(encoder.to_plain())))
    assert restored.parts == encoder.parts
    return encoder


SERIES = pd.Series([1.5, 2.5], LABELS)


@pytest.mark.parametrize(
    ("output", "parts"),
    [
        (SERIES, ("['a']", "['b']")),
        (SERIES.to_frame("v"), ("['v']['a']", "['v']['b']")),
        ({"s": SERIES, "n": 1.5}, ("['n']", "['s']['a']", "['s']['b']")),
        ([SERIES, 1.5], ("[0]['a']", "[0]['b']", "[1]")),
        (SimpleNamespace(s=SERIES), ("['s']['a']", "['s']['b']")),
        (pd.Series([1.5, 2.5]), ()),
        (pd.Series([1.5, 2.5], ["a", "a"]), ("[1][0]", "[1][1]")),
        (pd.Series([1.5], [7]), ("[0][0]", "[1][0]")),
        ([LABELS, [1.5, 2.5]], ("[1][0]", "[1][1]")),
    ],
)
def test_numbers_have_the_names_of_their_rows(output, parts):
    encoder = fixed(output, output)
    assert encoder.parts == parts
    assert not parts or ", ".join(parts) in encoder.notes()[0]


def test_numbers_keep_their_places_if_labels_differ():
    other = SERIES.rename({"b": "c"})
    assert fixed(SERIES, other).parts == ("[1][0]", "[1][1]")
    assert fixed(SERIES, {"x": 2.5}).parts == ("[1][0]", "[1][1]", "['x']")
    assert fixed(SERIES, None, "text").parts == ("['a']", "['b']")


@pytest.mark.parametrize(
    ("output", "name"),
    [
        (np.datetime64("1970-01-03"), "value in days since 1970-01-01"),
        (timedelta(days=2), "value in days"),
        (np.timedelta64(48, "h"), "value in days"),
        (2, "value"),
    ],
)
def test_the_numbers_of_dates_have_a_unit(output, name):
    assert summarize(output) == {name: 2}
    inner = name.removeprefix("value")
    assert summarize({"d": output}) == {f"d{inner}": 2}
