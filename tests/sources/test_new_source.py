"""A new kind of source: a class that only provides counts, without changes to other files.

The example is a device that tosses a coin and reports only the number of heads.
"""

import json
import math
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import dpjax
from dpjax.core import random
from dpjax.methods import METHODS
from dpjax.partitions import Encoder, Search, lay
from dpjax.sources import SOURCES, AnyPairs, Source, Tally
from dpjax.sweeps import Entry, compute

P, Q = 0.6, 0.2
TRUTH = max(math.log(P / Q), math.log((1 - Q) / (1 - P)))

SURE = 1 - 1e-6
"""Confidence such that a valid bound exceeds the true level for one in a million keys."""


@dataclass(frozen=True)
class Coin(Source):
    """Source of counts of a coin whose probability of heads is the database."""

    name: str = "coin"
    kind: ClassVar[str] = "coin of a test"
    repeatable: ClassVar[bool] = True

    @property
    def usual_pairs(self):
        return [(P, Q)]

    @contextmanager
    def opened(self, pairs, request):
        yield OpenedCoin(AnyPairs.of(pairs), request)

    def to_plain(self):
        return {"name": self.name}

    @classmethod
    def from_plain(cls, content, database, trust):
        return cls(**content)


class OpenedCoin:
    def __init__(self, pairs, request):
        self.pairs, self.rounds = pairs, request.rounds(len(pairs))
        self.num_confirm, self.shares = self.rounds.num_confirm, False
        self.settings, self.region, self.notes = {"generator": "PCG64"}, "all outputs", []
        self.tally = Tally(request.execution.progress)
        self.seed = [*random.words_of(request.key).tolist(), *request.runs.tolist()]
        encoder = Encoder("coin")
        both = encoder.encode(["heads", "tails"])
        self.cells = lay([both, both], encoder.names)
        self.places = self.cells.index(both)

    def heads(self, pair, stage, size):
        """Return counts [2, 2] of heads and tails on both sides."""
        chances = [side[pair] for side in self.pairs.sides]
        rng = np.random.default_rng([*self.seed, pair, stage])
        return np.array([[heads, size - heads] for heads in rng.binomial(size, chances)])

    def counted(self, pair, stage, size):
        """Return counts [2, cells]; cells of outputs that never occur have count 0."""
        counts = np.zeros((2, self.cells.size), int)
        counts[:, self.places] = self.heads(pair, stage, size)
        return counts

    def search(self):
        half = self.rounds.num_samples // 2
        return [
            Search(
                self.cells, np.stack([[self.counted(pair, stage, half) for stage in (1, 2)]]), None
            )
            for pair in range(len(self.pairs))
        ]

    def search_again(self, kept):
        return np.zeros((*kept.shape, 2, 2, self.cells.size), int)

    def count(self, marked):
        found = np.zeros((1, 2, marked.num_marks), int)
        for side, counts in enumerate(self.counted(marked.pairs[0], 3, self.num_confirm)):
            np.add.at(found[0, side], marked.marks[0], counts)
        return found


@pytest.fixture
def result(monkeypatch):
    monkeypatch.setitem(SOURCES, Coin.kind, Coin)
    return dpjax.audit(Coin(), claim=0.5, confidence=SURE, key=3)


def test_it_is_audited(result):
    assert result.verdict == "violated" and 0.5 < result.lower_bound < TRUTH
    # The same seed leads to the same tosses, so the witness has exactly these counts.
    draws = result.num_confirm
    seed = [*random.words_of(random.as_key(3)).tolist(), 0, 0, 3]
    heads = np.random.default_rng(seed).binomial(draws, [P, Q])
    assert result.witness.event == "the output is 'heads'"
    assert result.witness.event_counts == tuple(heads)
    assert result.estimate == pytest.approx(math.log(heads[0] / heads[1]))


@pytest.mark.parametrize(
    ("notion", "level"),
    [
        (dpjax.Epsilon(0.1), math.log((P - 0.1) / Q)),
        (dpjax.TotalVariation(), P - Q),
    ],
)
def test_every_notion_has_its_bound(notion, level):
    found = dpjax.audit(Coin(), notion=notion, confidence=SURE, key=4)
    assert 0.8 * level < found.lower_bound < level


def test_a_chain_of_sets_is_counted_too():
    profile = dpjax.audit(Coin(), notion=dpjax.Profile(), confidence=SURE, key=5)
    assert 0.8 * (P - Q) < profile.lower_bound < P - Q
    assert profile.bound(dpjax.Epsilon()).lower_bound < TRUTH


def test_it_is_printed_and_shown(result):
    text = str(result)
    assert "VIOLATED" in text and "coin" in text and "heads" in text
    assert f"{result.lower_bound:.4f}" in result._repr_html_()


def test_it_is_written_and_read(result, tmp_path):
    read = dpjax.AuditResult.from_json(result.to_json())
    assert read == result
    assert json.loads(result.to_json())["recipe"]["subject"] == {
        "kind": Coin.kind, "name": "coin"
    }  # fmt: skip
    pytest.importorskip("jinja2")
    for kind in (".md", ".html"):
        if kind == ".html":
            pytest.importorskip("matplotlib")
        text = result.report(tmp_path / f"r{kind}").read_text()
        assert f"{result.lower_bound:.4f}" in text and "coin" in text
    assert dpjax.AuditResult.from_file(tmp_path / "r.html") == result


def test_it_is_run_again(result):
    again = dpjax.rerun(dpjax.AuditResult.from_json(result.to_json()))
    assert again.statement == result.statement and again.evidence == result.evidence


def test_a_sweep_runs_it():
    entry = Entry(Coin(), pairs=[(P, Q)], claim=0.5)
    rows = compute(entry, [0, 1, 2], 8)
    alone = dpjax.audit(Coin(), [(P, Q)], claim=0.5, confidence=entry.confidence, key=entry.key(8))
    assert rows["lower_bound"][0] == alone.lower_bound
    assert len(set(rows["estimate"].tolist())) == 3 and set(rows["verdict"]) == {"violated"}


@pytest.mark.parametrize("name", ["local", "histogram", "guesses"])
def test_methods_that_need_more_say_what_fits(name):
    options = {"histogram": {"inputs": [0.0, 1.0], "least_probability": 0.1}}.get(name, {})
    with pytest.raises(TypeError, match=r"Events|events"):
        dpjax.audit(Coin(), method=METHODS[name](**options))
