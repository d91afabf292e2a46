"""Error messages of methods and sources that name the only wrong option."""

import sys

import numpy as np
import pytest

import dpjax
from dpjax import Local, Recorded, Sequential
from dpjax.core import validate
from dpjax.mechanisms import RandomizedResponse, TruncatedLaplace
from dpjax.methods.histogram import Unplanned, histogram_levels, midpoints
from dpjax.partitions import Encoder
from dpjax.results.recipes import notion_from_plain
from dpjax.sources import CommandMechanism
from dpjax.sources.readers._entries import as_outputs

PRINT = f"{sys.executable} -c 'print(0)' {{database}}"
NUMBERS = np.random.default_rng(0).normal(size=(2, 400))
FEW = Unplanned(4, 100)

REFUSED = {
    "draws, 0": (lambda: Sequential(num_draws=0), "num_draws must be"),
    "seconds, 0": (lambda: Sequential(seconds=0.0), "seconds must be"),
    "draws of a search, 0": (lambda: Local(num_samples=0, num_confirm=100), "num_samples must be"),
    "draws to confirm, 0": (lambda: Local(num_samples=10, num_confirm=0), "num_confirm must be"),
    "fewer draws to confirm": (
        lambda: Local(num_samples=10, num_confirm=10),
        "num_confirm .* must be larger than",
    ),
    "nodes": (
        lambda: Local(num_nodes=1 + validate.limit("cells")),
        "num_nodes of a lattice is too large",
    ),
    "intervals": (lambda: Unplanned(0, 100), "num_intervals must be an integer >= 1"),
    "samples": (lambda: Unplanned(4, 0), "num_samples must be an integer >= 1"),
    "an output interval of no width": (
        lambda: histogram_levels(
            TruncatedLaplace(1.0), [0.0, 1.0], FEW, 0, output_interval=(1.0, 1.0)
        ),
        "output_interval must have low < high",
    ),
    "inputs of no width": (lambda: midpoints(1.0, 1.0, 3), "interval must have low < high"),
    "inputs of infinite width": (
        lambda: midpoints(-1e308, 1e308, 3),
        "the input interval is too wide",
    ),
    "no inputs": (lambda: midpoints(0.0, 1.0, 0), "num_inputs must be an integer >= 1"),
    "an input interval of no width": (
        lambda: dpjax.audit(
            TruncatedLaplace(1.0),
            method=dpjax.Histogram(lipschitz=0.8, precision=1.0, input_interval=(1.0, 0.0)),
        ),
        "input_interval must have low < high",
    ),
    **{
        f"{name} of finitely many outputs": (
            lambda given={name: value}: dpjax.audit(
                RandomizedResponse(1.0),
                method=dpjax.Histogram(precision=1.0, least_probability=0.1, **given),
            ),
            "are for outputs in an interval, but the mechanism has 2 outputs",
        )
        for name, value in (
            ("lipschitz", 0.8),
            ("input_lipschitz", 0.8),
            ("output_interval", (0.0, 1.0)),
        )
    },
    "pairs of different shapes in a histogram": (
        lambda: dpjax.Histogram(precision=1.0)._inputs(None, [([0.0] * 3, [1.0] * 4)]),
        "pairs must hold arrays of equal shape for a histogram",
    ),
    "workers": (lambda: CommandMechanism(PRINT, workers=0), "workers must be an integer >= 1"),
    "sizes of batches": (
        lambda: CommandMechanism(PRINT, batch_size=0),
        "batch_size must be",
    ),
    "special outputs of programs": (lambda: CommandMechanism(PRINT, special="none"), "special"),
    "special outputs": (lambda: Encoder("it", special="none"), "special"),
    "timeout": (lambda: CommandMechanism(PRINT, timeout=0.0), "timeout must be"),
    "time limit": (lambda: CommandMechanism(PRINT, time_limit=-1.0), "time_limit must be"),
    "quotes of a command": (
        lambda: CommandMechanism("print '{database}"),
        "cannot be split",
    ),
    "no command": (lambda: CommandMechanism(" "), "command must name a program, but was empty"),
    "blocks": (lambda: Recorded(*NUMBERS, blocks=0), "blocks must be an integer >= 1"),
    "a region of no width": (
        lambda: dpjax.audit(Recorded(*NUMBERS), method=Local(region=(1.0, 1.0))),
        "region must have low < high",
    ),
    "a region in the other order": (
        lambda: dpjax.audit(Recorded(*NUMBERS), method=Local(region=(1.0, 0.0))),
        "region must have low < high",
    ),
    "a name of no notion": (lambda: notion_from_plain({"name": "none"}), "notion 'none'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_lines_of_labels_have_a_longest(monkeypatch):
    monkeypatch.setattr(validate, "limit", lambda name: 5)
    assert as_outputs(["abcde", "1"]) == ["abcde", 1]
    with pytest.raises(ValueError, match="too many characters"):
        as_outputs(["abcdef", "1"])
