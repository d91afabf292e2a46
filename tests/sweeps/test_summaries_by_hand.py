"""Summaries of sweeps, and the entries, blocks and files of specifications, word for word."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax.core import random
from dpjax.mechanisms import Gaussian, Laplace
from dpjax.methods import Events, HistogramEstimate, Local, LocalSearch, Sequential
from dpjax.sweeps import Block, Entry, SweepSpec
from dpjax.sweeps._blocks import _entry_from_json, on_all_devices
from dpjax.sweeps._compute import _columns, compute
from dpjax.sweeps._spec import _expand, _size
from dpjax.sweeps._summary import EntrySummary, SweepSummary, _differing, _labels, shorten

FEW = Events(1000, 2000)
BOUNDS = tuple(np.linspace(0.5, 1.5, 21).tolist())
CLAIMED = EntrySummary("with claim", "laplace", 30, BOUNDS, 1.25)
FREE = EntrySummary("no claim", "gaussian", 40, (0.25, 0.75))
EMPTY = EntrySummary("nothing", "svt2", 50, (), 0.5)


def test_rows_of_entries():
    assert CLAIMED.quantiles() == pytest.approx((0.55, 1.0, 1.45))
    assert CLAIMED.margin == pytest.approx(-0.25) and FREE.margin is EMPTY.margin is None
    assert EMPTY.quantiles() == (None, None, None)
    assert CLAIMED.cells() == (
        "with claim", "21 of 30", "0.5500", "1.0000", "1.4500", "1.25", "-0.2500", "5",
    )  # fmt: skip
    assert FREE.cells() == (
        "no claim", "2 of 40", "0.2750", "0.5000", "0.7250", "-", "-", "-",
    )  # fmt: skip
    assert EMPTY.cells() == ("nothing", "0 of 50", "-", "-", "-", "0.5", "-", "0")


def test_tables_of_sweeps():
    above = replace(CLAIMED, label="above", claim=0.75)
    summary = SweepSummary("s", (EMPTY, CLAIMED, FREE, above))
    assert summary.head == ("entry", "runs", "5%", "median", "95%", "claim", "margin", "above")
    assert [row[0] for row in summary.table] == ["above", "with claim", "nothing", "no claim"]
    assert summary.sentence == "44 of 150 runs have a bound."
    assert summary.rows()[1] == (
        "with claim",
        "21 of 30 runs; quantiles of the bounds (5%, 50%, 95%): 0.5500, 1.0000, 1.4500",
    )  # fmt: skip
    assert summary.rows()[0][1].endswith(
        "0 of 50 runs; quantiles of the bounds (5%, 50%, 95%): -, -, -"
    )
    free = SweepSummary("s", (FREE,))
    assert free.head == ("entry", "runs", "5%", "median", "95%")
    assert free.table == [("no claim", "2 of 40", "0.2750", "0.5000", "0.7250")]
    assert str(free) == (
        "Sweep s: 2 of 40 runs have a bound.\n"
        "entry        runs      5%  median     95%\n"
        "no claim  2 of 40  0.2750  0.5000  0.7250"
    )
    assert repr(free) == "SweepSummary(s: 2 of 40 runs have a bound.)"
    assert free.to_dict() == {
        "name": "s",
        "entries": [{"label": "no claim", "mechanism": "gaussian", "num_runs": 40,
                     "bounds": [0.25, 0.75], "claim": None}],
    }  # fmt: skip
    long = SweepSummary("s", (replace(FREE, label="x" * 35), replace(FREE, label="y" * 34)))
    lines = str(long).splitlines()
    assert lines[2].startswith("x" * 33 + "…  2 of 40") and lines[3].startswith("y" * 34 + "  2 of")
    assert [shorten("abcd", most) for most in (4, 3)] == ["abcd", "ab…"]


def test_pages_of_sweeps(tmp_path):
    page, files = SweepSummary("s", (CLAIMED, FREE))._document(tmp_path / "s.html")
    assert files == {} and page.title == "Sweep s"
    assert page.verdict == ("estimate", "Bounds of many audits", "23 of 70 runs have a bound.")
    (section,) = page.sections
    assert section.table.head == (
        "Entry", "Runs", "5%", "Median", "95%", "Claim", "Margin", "Above",
    )  # fmt: skip
    assert len(section.paragraphs) == 2 and "<svg" in section.figures[0].svg
    assert section.figures[0].caption == (
        "Share of the runs with a bound at or below the value on the horizontal axis."
    )
    free, _ = SweepSummary("s", (FREE,))._document(tmp_path / "s.html")
    assert len(free.sections[0].paragraphs) == 1
    glance = SweepSummary("s", (FREE,))._glance()
    assert glance.title == "s" and glance.verdict.headline == "Sweep s"
    figure = SweepSummary("s", (FREE, EMPTY, CLAIMED))._figure()
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "lower bound (dotted: the claim)", "share of the runs",
    )  # fmt: skip
    assert [line.get_label() for line in axes.lines][:2] == ["no claim", "with claim"]
    plain = SweepSummary("s", tuple(replace(FREE, label=str(k)) for k in range(14)))._figure()
    assert plain.axes[0].get_xlabel() == "lower bound" and len(plain.axes[0].lines) == 12


def test_summaries_of_stores():
    one, two, three = (
        Entry(Laplace(level), FEW, claim=claim, num_runs=9)
        for level, claim in ((1.0, 0.5), (2.0, None), (3.0, None))
    )
    nan, inf = math.nan, math.inf
    columns = {
        # A run with a refuted assumption and a failed run have no bound.
        one.id: {
            "lower_bound": [0.75, nan, 0.25, inf, 3.0, 0.0], "estimate": [9.0] * 6,
            "status": ["OK"] * 5 + ["EMPTY_INTERVAL"],
            "verdict": ["not refuted"] * 4 + ["assumption refuted", "not refuted"],
        },
        two.id: {
            "lower_bound": [nan, nan], "estimate": [0.5, nan], "status": ["OK"] * 2,
            "verdict": [None] * 2,
        },
    }  # fmt: skip
    store = SimpleNamespace(
        spec=SweepSpec("s", (one, two, three)), columns=lambda: columns,
        contents=lambda: SimpleNamespace(finished=["a block"]),
    )  # fmt: skip
    found = SweepSummary.of(store)
    assert found.name == "s" and [entry.mechanism for entry in found.entries] == ["laplace"] * 3
    assert [entry.bounds for entry in found.entries] == [(0.25, 0.75), (0.5,), ()]
    assert [entry.claim for entry in found.entries] == [0.5, None, None]
    assert [entry.num_runs for entry in found.entries] == [9] * 3
    # The labels are equal, so the parameters that differ are added.
    assert [entry.label for entry in found.entries] == [
        "laplace epsilon=1 claim=0.5", "laplace epsilon=2", "laplace epsilon=3",
    ]  # fmt: skip
    store.contents = lambda: SimpleNamespace(finished=[])
    assert not any(entry.bounds for entry in SweepSummary.of(store).entries)


def test_labels_of_entries():
    entries = (Entry(Laplace(1.0), FEW), Entry(Gaussian(2.0), FEW), Entry(Laplace(2.0), FEW))
    assert _labels(SweepSpec("s", entries)) == [
        "laplace epsilon=1",
        "gaussian",
        "laplace epsilon=2",
    ]
    own = {"a": 1.5, "b": 2, "c": 3}
    assert _differing(own, [own, {"a": 1.25, "b": 2}]) == ["a=1.5", "c=3"]
    assert _differing(own, [own]) == []


def test_names_of_blocks():
    entry = Entry(Laplace(), FEW)
    assert Block(entry, 3, 50).name == f"{entry.id}-0000003-0000050"
    assert Block(entry, 3, 50, 7).name == f"{entry.id}-0000003-0000050-more7"
    start, digest = entry.id.split("-")
    assert start == "laplace" and len(digest) == 12
    spec = SweepSpec(
        "s", (replace(entry, num_runs=5), Entry(Gaussian(), FEW, num_runs=4)), block_runs=2
    )
    assert [(b.entry.mechanism_name, b.first, b.stop) for b in spec.blocks()] == [
        ("laplace", 0, 2), ("laplace", 2, 4), ("laplace", 4, 5), ("gaussian", 0, 2),
        ("gaussian", 2, 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"label": "other"}, True), ({"num_runs": 7}, True), ({"claim": 2.0}, False),
        ({"confidence": 0.9}, False), ({"distance": 2}, False),
        ({"method": Events(1000, 2001)}, False),
        ({"mechanism": Laplace(1.5)}, False), ({"notion": dpjax.Gdp()}, False),
        ({"pairs": [(0.0, 2.0)]}, False),
    ],
)  # fmt: skip
def test_what_identifies_an_entry(change, same):
    entry = Entry(Laplace(), FEW)
    other = replace(entry, **change)
    assert (other.id == entry.id) is same
    key = random.fold_in(random.as_key(4), random.stable_hash(other.id))
    assert (other.key(4) == key).all()
    assert other != entry
    assert Entry.from_dict(json.loads(json.dumps(other.to_dict()))) == other
    assert hash(Entry.from_dict(other.to_dict())) == hash(other) and other != other.to_dict()


def test_entries_as_tables():
    entry = Entry(Laplace(), FEW, claim=2, distance=3, num_runs=5)
    found = entry.to_dict()
    assert {name: found[name] for name in found if name not in ("pairs", "options")} == {
        "label": "laplace", "mechanism": "laplace", "parameters": {"epsilon": 1.0},
        "method": "events", "runs": 5, "notion": {"delta": 0.0}, "confidence": 0.95,
        "distance": 3, "claim": 2,
    }  # fmt: skip
    plain = Entry(Laplace(), FEW).to_dict()
    assert "distance" not in plain and "claim" not in plain and "source" not in plain
    assert "notion" not in Entry(Laplace(), LocalSearch(1000, 2000)).to_dict()
    assert Entry(Laplace(), Sequential(1000)).goes_on
    assert not Entry(Laplace(), Sequential(seconds=1.0)).goes_on and not entry.goes_on
    longer = Entry(Laplace(), Sequential(1000)).longer
    assert longer(0) == Sequential(1000) and longer(50).num_draws == 1050
    terms = entry.terms(4)
    assert (terms.claim, terms.confidence, terms.distance, terms.key) == (2, 0.95, 3, 4)
    assert Entry(Laplace(), Local(1000, 2000)).region.low.tolist() == [-1.0]
    assert Entry(Laplace(), FEW).region is None


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Entry(Laplace(), "events"), TypeError, r"^method must be one of Events\("),
        (lambda: Entry(Laplace(), Events), TypeError, "^method must be one of Events"),
        (lambda: Entry(Laplace(), FEW, num_runs=0), ValueError, "num_runs must be an integer >= 1"),
        (lambda: Entry(Laplace(), FEW, label=3), TypeError, "^label must be a string, but was 3"),
        (lambda: Entry(Laplace(), Local(), notion=dpjax.Gdp()), ValueError, "method 'local'"),
        (lambda: Entry(dpjax.Recorded([1.0], [2.0]), FEW), TypeError, "must draw new outputs in"),
        (lambda: Entry(Laplace(), FEW, num_runs=10**10), ValueError, "an entry has too many runs"),
        (lambda: Entry.from_dict({}), ValueError, "^an entry must name its mechanism, but did not"),
        (lambda: Entry.from_dict({"mechanism": "laplace", "sigma": 2.0}), ValueError,
         r"^an entry has no 'sigma': .*parameters = \{sigma = 2\.0\}, .*grid = \{sigma = \["),
        (lambda: Entry.from_dict({"mechanism": "laplace", "method": 3}), TypeError,
         "^method must be a name, but was 3"),
        (lambda: Entry.from_dict({"mechanism": "laplace", "runs": 0}), ValueError, "^runs must"),
    ],
)  # fmt: skip
def test_entries_that_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_tables_of_a_grid():
    table = {"mechanism": "laplace", "parameters": {"a": 1}, "grid": {"b": [2, 0.5], "c": ["x"]}}
    assert _size(table) == 2 and _size({}) == _size(3) == 1 and _size({"grid": {"b": 3}}) == 1
    assert _size({"grid": {"b": [1, 2], "c": [1, 2, 3]}}) == 6
    assert [*_expand(table)] == [
        {
            "mechanism": "laplace",
            "parameters": {"a": 1, "b": b, "c": "x"},
            "label": f"laplace b={b} c=x",
        }
        for b in (2, 0.5)
    ]
    (named,) = _expand({"mechanism": "laplace", "label": "L", "grid": {"b": [1e-7]}})
    assert named["label"] == "L b=1e-07" and named["parameters"] == {"b": 1e-7}
    (bare,) = _expand({"mechanism": "laplace"})
    assert bare == {"mechanism": "laplace", "parameters": {}, "label": "laplace"}
    for wrong in ({"b": []}, {"b": 3}, [1]):
        with pytest.raises(
            TypeError, match=r"^grid must be a table of parameter = \[values\], but"
        ):
            [*_expand({"mechanism": "laplace", "grid": wrong})]


def test_entries_of_workers():
    entry = Entry(Laplace(), FEW)
    text = json.dumps(entry.to_dict())
    assert _entry_from_json(text) == entry and _entry_from_json(text) is _entry_from_json(text)
    assert len(on_all_devices(None).devices) >= 1
    own = dpjax.Execution(devices=on_all_devices(None).devices[:1], runs_at_once=3)
    assert on_all_devices(own) is own
    kept = on_all_devices(dpjax.Execution(runs_at_once=3))
    assert kept.runs_at_once == 3 and kept.devices == on_all_devices(None).devices
    assert HistogramEstimate.bounded is False


def rare(included, seed):
    """A score reveals the coins of 5% of all canaries."""
    draw = np.random.default_rng(seed)
    return np.where(
        draw.random(included.size) < 0.05, 9.0 * included - 4.5, draw.random(included.size)
    )


@pytest.mark.parametrize(
    ("entry", "basis"),
    [
        (Entry(Laplace(8.0), Sequential(200)), "betting, one look"),
        (Entry(Laplace(8.0), Sequential(200), claim=0.1), "betting"),
        (Entry(dpjax.CanaryRuns(rare, 1000), dpjax.Guesses()), "one run"),
    ],
)
def test_bounds_that_are_valid_for_every_sample_size_are_exact(entry, basis):
    options = {} if entry.pairs is None else {"pairs": entry.pairs}
    found = dpjax.audit(entry.source, method=entry.method, claim=entry.claim, key=3, **options)
    assert found.basis == basis and compute(entry, [0], 3)["exact"].all()


@pytest.mark.parametrize("method", [FEW, LocalSearch(1000, 2000)])
def test_columns_of_a_block(method):
    """A method without bounds has no column for bounds or exact bounds."""
    entry = Entry(Laplace(), method)
    rows = [
        SimpleNamespace(
            statement=SimpleNamespace(lower_bound=0.5, estimate=estimate, basis=basis), state=None,
            pair=3, output=[1.0], status="OK", verdict="violated",
        )
        for estimate, basis in ((0.75, "exact binomial"), (None, "normal"))
    ]  # fmt: skip
    found = _columns(entry, replace(entry.terms(0), claim=0.25), np.array([7, 8]), rows)
    bounded = method is FEW
    assert found["exact"].tolist() == [bounded, False]
    assert found["lower_bound"].tolist() == pytest.approx(
        [0.5 if bounded else math.nan] * 2, nan_ok=True
    )
    assert found["estimate"].tolist() == pytest.approx([0.75, math.nan], nan_ok=True)
    assert (found["pair"].tolist(), found["output"]) == ([3, 3], [[1.0], [1.0]])
    assert (found["run"].tolist(), found["status"]) == ([7, 8], ["OK", "OK"])
    assert (found["verdict"], found["state"]) == (["violated"] * 2, [None] * 2)
    for row, verdict in zip(rows, ("no claim", "doubtful"), strict=True):
        row.verdict = verdict
    found = _columns(entry, entry.terms(0), np.array([7, 8]), rows)
    assert found["verdict"] == [None, "doubtful"]
