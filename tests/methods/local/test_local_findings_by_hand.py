"""Results of the local method for given statistics, without drawing."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax.core.errors import Status
from dpjax.core.numerics import FIXED_POINT, WideCount
from dpjax.densities import find_kernel
from dpjax.methods.local._confirm import Confirmation
from dpjax.methods.local._findings import _plain, evidence_of, finding_of, refuse_empty
from dpjax.methods.local._kernels import LocalStatistics
from dpjax.methods.local._method import _numbers, _refuse_lattice, _rows, _searched
from dpjax.methods.local._options import LocalOptions
from dpjax.methods.local._search import Curves, PairSearch, _floor_share
from dpjax.notions import Terms
from dpjax.partitions import Box, Outcomes
from dpjax.sources import AnyPairs, as_source

OPTIONS = LocalOptions(num_samples=1_000, num_confirm=4_000, num_nodes=64)
REGION = Outcomes(0, 3, np.ones(3, bool))
BOX = Box([-1.0], [2.0])
PAIRS = AnyPairs(([0, 1, 5], [2, 3, 5]), ("zeroth", "first", "same"))
TERMS = Terms(dpjax.Epsilon(), 0.25, 0.99, 2, 3)


def wide(*values):
    values = np.array(values, np.int64)
    return WideCount(values.astype(np.int32), np.zeros(values.shape, np.int32))


def statistics(events=(2_000, 500), densities=(0.5, 0.125), *, point=1, sums=None, floor=0.01,
               scores=(1.0, 2.0, 0.5)):  # fmt: skip
    """Return statistics for outcome 1 of pair 1, or for a point with kernel sums."""
    point = np.int32(point) if sums is None else np.atleast_1d(np.float64(point))
    points = np.arange(3, dtype=np.int32) if sums is None else np.linspace(-1, 2, 3)[:, None]
    curves = Curves(points, np.array([[0.2, 0.5, 0.3], [0.6, 0.125, 0.275]]), np.ones(3, bool))
    found = PairSearch(
        *map(np.float64, (2.0, 1.25)), point, np.array(densities), np.float64(floor),
        np.array([0.5, 0.75]), np.ones(1), np.float64(9.0), curves,
    )  # fmt: skip
    kernel = [None, None]
    if sums is not None:
        kernel = [wide(*(int(value * FIXED_POINT) for value in part)) for part in sums]
    confirmation = Confirmation(wide(*events), *kernel, np.float64(0.0 if sums is None else 0.25))
    return LocalStatistics(np.array(scores), np.int32(1), found, confirmation)


def told(given=None, region=REGION, **options):
    arrays = SimpleNamespace(
        pairs=PAIRS, region=region, region_text=str(region), settings={"generator": "g"},
        notes=["a note"], relabel=lambda output: output, notes_of_lost=lambda shares: [],
    )  # fmt: skip
    vars(arrays).update(options)
    return finding_of(given or statistics(), OPTIONS, arrays, TERMS)


def test_the_finding_of_an_outcome():
    found = told(relabel=lambda output: f"<{output}>")
    witness, evidence = found.witness, found.evidence
    assert (witness.pair, witness.database, witness.neighbor) == ("first", 1, 3)
    assert (witness.output, witness.event) == ("<1>", "the output is <1>")
    assert witness.densities == (0.5, 0.125) and witness.event_counts == (2_000, 500)
    assert (witness.larger, witness.on_floor, witness.floor) == ("database", False, 0.01)
    assert witness.bandwidth is None
    assert evidence.settings["num_nodes"] == 64 and evidence.settings["generator"] == "g"
    assert evidence.settings["undersmoothing"] == OPTIONS.confirm_undersmoothing
    assert (evidence.num_samples, evidence.num_confirm) == (1_000, 4_000)
    assert evidence.region == str(REGION) and told(region_text="words").evidence.region == "words"
    assert evidence.pair_scores == (("first", 2.0), ("zeroth", 1.0), ("same", 0.5))
    assert evidence.curve["points"] == ["<0>", "<1>", "<2>"]
    assert evidence.curve["density"] == [0.2, 0.5, 0.3]
    assert evidence.curve["neighbor_density"] == [0.6, 0.125, 0.275]
    assert evidence.curve["loss"][1] == pytest.approx(math.log(4), rel=1e-6)
    first, equal, note = found.notes
    assert first == TERMS.notes()[0] and "equal in same" in equal and note == "a note"
    assert found.statement.estimate == pytest.approx(math.log(4)) and found.pairs is PAIRS
    assert found.statement.basis == "normal" and found.statement.claim == 0.25
    turned = told(statistics((500, 2_000), (0.125, 0.5)))
    assert turned.witness.larger == "neighbor" and turned.witness.densities == (0.125, 0.5)
    assert told(statistics((500, 500), (0.25, 0.25))).witness.larger == "database"


def test_scores_of_pairs_are_rounded_and_sorted():
    found = told(statistics(scores=(np.nan, 1.0000004, -0.5)))
    assert found.evidence.pair_scores[0] == ("zeroth", None)
    assert found.evidence.pair_scores[1] == ("first", 1.0)
    assert found.evidence.pair_scores[2] == ("same", -0.5)
    tied = told(statistics(scores=(1.000001, 1.000002, 1.00004))).evidence.pair_scores
    assert tied == (("same", 1.00004), ("zeroth", 1.0), ("first", 1.0))


def test_notes_of_bounds_that_are_not_normal():
    on_floor = told(statistics(densities=(0.5, 0.01)))
    assert on_floor.notes[-1] == Status.ON_FLOOR.sentence and on_floor.witness.on_floor
    few = told(statistics((3, 1), (0.002, 0.0004), floor=1e-4))
    assert few.notes[-1].startswith("The lower bound is an exact binomial bound because few draws")
    assert few.statement.basis == "exact binomial" and not few.witness.on_floor


SUMS = ((900.0, 300.0), (700.0, 200.0))


def test_the_finding_of_a_point():
    """Densities are sums of the kernel, divided by N h and scaled by its height."""
    given = statistics((1_500, 700), point=0.5, sums=SUMS)
    found = told(given, BOX)
    kernel = find_kernel("gaussian")
    densities = [kernel.norm(1) * total / (4_000 * 0.25) for total in SUMS[0]]
    assert found.witness.densities == pytest.approx(densities, rel=1e-6)
    assert found.witness.bandwidth == 0.25 and found.witness.output == 0.5
    assert found.witness.event == "the output is within 0.25 of 0.5 and inside the region"
    sums = found.evidence.counted.kernel
    assert sums.total.tolist() == pytest.approx(SUMS[0]) and sums.dimension == 1
    assert sums.squares.tolist() == pytest.approx(SUMS[1])
    assert (sums.height, sums.roughness) == (kernel.norm(1), kernel.roughness(1))
    assert found.statement.estimate == pytest.approx(math.log(3), rel=1e-6)
    assert found.evidence.curve["points"] == [-1.0, 0.5, 2.0]
    # A row of a sweep contains the same numbers.
    stacked = LocalStatistics(*(None,) * 4)._replace(
        pair=np.array([1]), found=given.found._replace(
            densities=given.found.densities[None], floor=given.found.floor[None],
            point=given.found.point[None]),
        confirmation=Confirmation(
            *(WideCount(part.low[None], part.high[None]) for part in given.confirmation[:3]),
            np.array([0.25])),
    )  # fmt: skip
    (row,) = _rows(stacked, OPTIONS, SimpleNamespace(region=BOX), TERMS)
    stated = found.statement
    assert row.statement.lower_bound == pytest.approx(stated.lower_bound, rel=1e-12)
    assert stated.lower_bound > 0.5
    assert row.statement.estimate == pytest.approx(stated.estimate, rel=1e-12)
    assert row.statement.standard_error == pytest.approx(stated.standard_error, rel=1e-12)
    assert (row.pair, row.output, row.status, row.statement.basis) == (1, [0.5], "OK", "normal")
    bounds = evidence_of(stacked, OPTIONS, BOX).bounds(TERMS.own_confidence)
    assert bounds.lower_bound.tolist() == [row.statement.lower_bound]
    exact = stacked._replace(found=stacked.found._replace(densities=np.array([[0.5, 0.01]])))
    (row,) = _rows(exact, OPTIONS, SimpleNamespace(region=BOX), TERMS)
    assert (row.status, row.statement.basis) == ("ON_FLOOR", "exact binomial")
    assert row.statement.standard_error is None


def test_rows_of_a_search():
    found = SimpleNamespace(
        score=np.array([[1.0, 3.0], [2.0, 1.0]]), loss=np.array([[0.5, 0.75], [np.inf, 0.25]]),
        densities=np.array([[[9, 9], [0.5, 0.25]], [[0.5, 0.125], [9, 9]]]),
        floor=np.array([[0.0, 0.25], [0.1, 0.0]]), point=np.array([[0, 1], [2, 0]]),
    )  # fmt: skip
    first, second = _searched(found)
    assert (first.pair, first.output, first.status) == (1, [1.0], "ON_FLOOR")
    assert (second.pair, second.output, second.status) == (0, [2.0], "OK")
    assert (first.statement.estimate, second.statement.estimate) == (0.75, None)
    assert {row.statement.lower_bound for row in (first, second)} == {0.0}
    assert first.statement.basis == "search" and first.verdict is None


def test_plain_outputs():
    assert _plain(np.int32(3)) == 3 and _plain(np.array([0.5])) == 0.5
    assert _plain(np.array([0.5, 1.5])) == [0.5, 1.5]
    assert _numbers(np.int32(3)) == [3.0] and _numbers(np.array([0.5, 1.5])) == [0.5, 1.5]


def test_a_region_without_any_draw():
    densities = np.array([[0.0, 0.5], [0.0, 0.5]])
    curves = Curves(np.arange(2), densities, np.array([True, False]))
    with pytest.raises(
        ValueError, match=r"region R lies outside .*: none of the 77 draws on either"
    ):
        refuse_empty(curves, 77, "R")
    refuse_empty(Curves(np.arange(2), densities, np.array([True, True])), 77, "R")
    stacked = Curves(np.arange(2)[None], densities[None], np.array([[True, False]]))
    with pytest.raises(ValueError, match="region R lies outside"):
        refuse_empty(stacked, 77, "R")


@pytest.mark.parametrize(
    ("spread", "said"),
    [
        ([0.5, np.nan], "the outputs hold NaN or an infinity for one of the databases"),
        ([0.5, 1e-30], "are constant, or nearly constant, for one of the databases"),
        ([0.5, 1e-19], "a spread between 1e-18 and 1e[+]17 .* in 1 dim.* spreads 1e-19 and 0.5:"),
        (
            [0.5, 0.25],
            r"region \[R\] is too wide .* spreads .* are 0.5 and 0.25, so more than",
        ),
    ],
)
def test_runs_without_a_lattice(spread, said):
    search = SimpleNamespace(spread=np.array([[0.5, 0.5], spread]), curves=None)
    arrays = SimpleNamespace(region_text="[R]", region=Box([0.0], [1.0]))
    with pytest.raises(ValueError, match=said):
        _refuse_lattice(arrays, search, OPTIONS, 1)
    with pytest.raises(ValueError, match=r"are 0\.5 and 0\.5, so"):
        _refuse_lattice(arrays, search, OPTIONS, 0)


def test_floors_and_exponents():
    """The floor is twenty draws, but at most one in a hundred."""
    assert _floor_share(2_000) == 0.01 == _floor_share(10) and _floor_share(4_000) == 0.005
    assert OPTIONS.confirm_undersmoothing == pytest.approx(
        max(0.02, 1.01 * (math.log(4_000, 1_000) - 1) / (6 * math.log(4_000, 1_000)))
    )
    assert LocalOptions(1_000, 1_001).confirm_undersmoothing == 0.02
    assert LocalOptions(1_000, 4_000, undersmoothing=0.5).confirm_undersmoothing == 0.5


@pytest.mark.parametrize(
    "options",
    [
        {"num_samples": 4_000}, {"kernel": "box"}, {"density": "none"}, {"objective": "none"},
        {"num_nodes": 15}, {"floor": -0.1}, {"undersmoothing": -0.1}, {"num_samples": 1},
    ],
)  # fmt: skip
def test_options_that_are_refused(options):
    with pytest.raises(ValueError, match=r"num_confirm \(N\) must|" + next(iter(options))):
        LocalOptions(**({"num_samples": 1_000, "num_confirm": 4_000} | options))
    assert LocalOptions(3_999, 4_000, num_nodes=16, floor=0.0, undersmoothing=0.0).floor == 0.0


def test_each_of_many_runs_has_its_own_finding():
    source, pairs = as_source(dpjax.mechanisms.Laplace(1.0)), dpjax.Pairs.of([(0.0, 1.0)])
    terms, method = Terms(dpjax.Epsilon(), None, 0.9, 1, 3), dpjax.Local(500, 1_000)
    together = method.run(source, pairs, terms, np.arange(3, dtype=np.int32))
    for run in (0, 2):
        alone = method.run(source, pairs, terms, np.array([run], np.int32)).finding(0)
        found = together.finding(run)
        assert found.statement == alone.statement and found.witness == alone.witness
    assert together.finding(0).statement != together.finding(2).statement


def test_pairs_with_equal_scores_keep_their_order():
    labels = tuple(f"pair {k}" for k in range(60))
    pairs = AnyPairs(([0] * 60, [1] * 60), labels)
    scores = np.where(np.arange(60) % 3 == 1, 2.0, 1.0 + 1e-8 * np.arange(60))
    scores[4] = np.nan
    found = told(statistics(scores=scores), pairs=pairs)
    first = [k for k in range(60) if k % 3 == 1 and k != 4]
    rest = [k for k in range(60) if k % 3 != 1]
    assert [label for label, _ in found.evidence.pair_scores] == [
        f"pair {k}" for k in (4, *first, *rest)
    ]
    assert found.evidence.pair_scores[0][1] is None and found.evidence.pair_scores[1][1] == 2.0
