"""Audits whose evidence is a chain: later questions, split errors, regions and sweeps."""

import jax
import numpy as np
import pytest

import dpjax
from dpjax import Epsilon, Events, Gdp, Profile, Recorded, Renyi, TotalVariation, TradeOff, Zcdp
from dpjax.inference import Event
from dpjax.mechanisms import Gaussian, Laplace, RandomizedResponse
from dpjax.methods._candidates import Candidate
from dpjax.partitions import Encoder, Search, lay
from dpjax.sweeps import Entry
from dpjax.sweeps._compute import compute

PAIR = [(0.0, 1.0)]
SIZES = {"num_samples": 4_000, "num_confirm": 10_000}
SURE = 1 - 1e-5


def audit(subject, notion, pairs=PAIR, *, method=None, **options):
    options = {"confidence": SURE, "key": 3, **options}
    return dpjax.audit(subject, pairs, notion=notion, method=method or Events(**SIZES), **options)


TRUTHS = {
    Epsilon(): np.inf, Epsilon(1e-3): 3.138671, Gdp(): 1.0, Renyi(2): 1.0, Renyi(8): 4.0,
    Zcdp(): 0.5, TotalVariation(): 0.3829249, Profile(): 0.3829249, TradeOff(): 0.3829249,
}  # fmt: skip


def test_every_later_question_is_answered_without_a_draw(monkeypatch):
    rng = np.random.default_rng(0)
    result = audit(Recorded(rng.normal(size=20_000), rng.normal(1, 1, 20_000)), Profile(), None)
    monkeypatch.setattr("dpjax.partitions.Partition.index", None)
    read = dpjax.AuditResult.from_json(result.to_json())
    for notion, truth in TRUTHS.items():
        stated = read.bound(notion)
        assert 0.4 * min(truth, 3) < stated.lower_bound <= truth
        assert stated == result.bound(notion) and stated.basis == "simultaneous band"
    assert result.bound(Profile()).lower_bound == result.lower_bound
    columns = result.bound(Profile()).curve
    truth = [delta for delta in columns["delta"][1:] if delta > columns["delta"][0]]
    assert not truth and columns["epsilon"][-1] == pytest.approx(
        result.bound(Epsilon()).lower_bound
    )


def test_a_band_is_lower_at_a_higher_confidence_and_for_more_claims():
    low, high = (audit(Laplace(1.0), Zcdp(), confidence=c).lower_bound for c in (0.9, SURE))
    several = audit(Laplace(1.0), Zcdp(), confidence=0.9, num_claims=10).lower_bound
    assert high < several < low <= 0.3678794


@pytest.mark.slow
def test_named_beside_the_chain_each_has_half_of_the_error():
    # Its best event has equal variances on both sides, so both get equal numbers of draws.
    named = TotalVariation()
    alone = audit(Gaussian(1.0), named, confidence=0.99)
    both = audit(Gaussian(1.0), named, method=Events(**SIZES, also=True), confidence=0.99)
    half = audit(Gaussian(1.0), named, confidence=0.995)
    assert len(set(both.evidence.trials)) == 1
    chain = audit(Gaussian(1.0), Profile(), confidence=0.995)
    assert both.lower_bound < alone.lower_bound
    assert both.lower_bound == pytest.approx(half.lower_bound, rel=1e-3)
    assert both.basis == "exact binomial"
    assert both.bound(named).lower_bound == both.lower_bound
    for notion in (Zcdp(), Epsilon(1e-3), Renyi(2), Gdp()):
        assert both.bound(notion).lower_bound == pytest.approx(chain.bound(notion).lower_bound)
    assert dpjax.rerun(both).evidence == both.evidence


def test_evidence_of_one_event_answers_one_question():
    result = audit(Gaussian(1.0), Gdp())
    assert result.bound(Gdp()).lower_bound == result.lower_bound
    with pytest.raises(
        ValueError, match=r"only one event.*notion=Zcdp\(\), or with method=Events\(also"
    ):
        result.bound(Zcdp())
    with pytest.raises(ValueError, match="counted no events"):
        dpjax.audit(Laplace(1.0), PAIR, method=dpjax.Local(2000, 5000)).bound(Gdp())
    with pytest.raises(TypeError, match="a dpjax notion"):
        result.bound(8)


def test_the_witness_of_a_chain_is_an_event_with_its_own_counts():
    """Compared with counts by NumPy in the same draws."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 6, 9_000), np.minimum(rng.integers(0, 7, 9_000), 5)
    result = audit(Recorded(x, y), Zcdp(), None)
    assert result.witness.output == "a number of at most 4" and result.witness.larger == "database"
    inside, trials = (
        np.array(getattr(result.evidence.counted, name)) for name in ("counts", "trials")
    )
    assert result.witness.event_counts == tuple(inside[:, -1])
    assert result.witness.densities == pytest.approx(inside[:, -1] / trials)


def test_only_what_is_in_the_region_is_in_an_event():
    """Outside of the region, the databases differ much; inside, they differ little."""

    def release(key, database):
        return jax.random.laplace(key) + database * 0.1

    inner = audit(release, TotalVariation(), method=Events(**SIZES, region=(-1.0, 1.0), also=True))
    chain = audit(release, Epsilon(), method=Events(**SIZES, region=(-1.0, 1.0), also=True))
    end, start = chain.evidence.counted.chain.usable
    assert end <= start and inner.lower_bound <= chain.bound(TotalVariation()).estimate + 0.05


def test_cells_without_outputs_join_an_event_only_inside_the_region():
    """Of the integers 0 to 9, the region contains 3, 4 and 6, each as a separate interval."""
    encoder = Encoder("it")
    outputs = encoder.encode(np.repeat(np.arange(10.0), 50))
    cells = lay([outputs, outputs], encoder.names)
    places = cells.index(encoder.encode(np.arange(10.0)))
    halves = np.zeros((2, 2, cells.size), np.int64)
    halves[..., places] = 50
    allowed = np.isin(np.arange(cells.size), places[[3, 4, 6]])
    event = Event(np.isin(np.arange(cells.size), places[[3, 4]]), np.array(0), np.array(1.0))
    found = Candidate(event, None, 1.0).settled(Search(cells, halves, allowed))
    np.testing.assert_array_equal(found.event.cells, event.cells)
    # Without a region, the numbers between 3 and 4, which were never seen, join the event.
    wider = Candidate(event, None, 1.0).settled(Search(cells, halves, None)).event.cells
    assert np.array_equal(wider[places], event.cells[places]) and wider.sum() > event.cells.sum()


@pytest.mark.parametrize("distance", [1, 3])
def test_pairs_at_a_distance_are_bounded_for_one_record(distance):
    result = audit(Laplace(1.0), Profile(), [(0.0, float(distance))], distance=distance)
    truths = {Epsilon(): 1.0, Epsilon(1e-3): 0.997999, Gdp(): 1.030064, Zcdp(): 0.3678794}
    for notion, truth in {**truths, TotalVariation(): 0.3934693}.items():
        assert 0.3 * truth < result.bound(notion).lower_bound <= truth
    assert dpjax.rerun(result).evidence == result.evidence
    named = audit(Laplace(1.0), Epsilon(1e-3), [(0.0, float(distance))], distance=distance)
    assert 0.8 < named.lower_bound <= 0.997999


def test_a_curve_is_refuted_where_the_band_crosses_it():
    def claimed(epsilon):
        return max(1 - np.exp((epsilon - 0.7) / 2), 0.0)

    right = audit(Laplace(0.7), Profile(), claim=claimed)
    assert right.verdict == "not refuted" and "no proof of the claimed curve." in right.sentence
    wrong = audit(Laplace(1.0), Profile(), claim=claimed)
    assert wrong.verdict == "violated" and wrong.smallest_error < 1e-5
    assert "delta is at least" in wrong.sentence and "above the claimed" in wrong.sentence
    assert dpjax.rerun(wrong).sentence == wrong.sentence
    at_delta = audit(Laplace(1.0), Epsilon(1e-2), claim=claimed)
    assert at_delta.claim == pytest.approx(0.7 + 2 * np.log(0.99), abs=1e-6)
    assert at_delta.verdict == "violated"


@pytest.mark.parametrize(
    ("mechanism", "notion", "also"),
    [
        (Laplace(1.0), Gdp(), True),
        pytest.param(RandomizedResponse(1.0), Renyi(2), False, marks=pytest.mark.slow),
    ],
)
def test_sweeps_bound_chains_of_many_runs_at_once(mechanism, notion, also):
    """Rows do not depend on blocks; bounds are below the true level with probability 1 - 1e-5."""
    method = Events(**SIZES, also=also)
    pairs = PAIR if isinstance(mechanism, Laplace) else [(0, 1), (1, 0)]
    entry = Entry(mechanism, method, pairs, notion=notion, confidence=SURE, num_runs=4)
    assert Entry.from_dict(entry.to_dict()) == entry
    # Use the same number of runs in both, so that they share a program.
    rows, again = compute(entry, range(4), 5), compute(entry, [2, 3, 7, 5], 5)
    truth = {"laplace": (0.6191236, 1.030064), "randomized-response": (0.7353257, 1.232035)}
    most = truth[mechanism.name][also]
    assert np.all((rows["lower_bound"] > 0.5 * most) & (rows["lower_bound"] <= most))
    np.testing.assert_array_equal(rows["lower_bound"][2:], again["lower_bound"][:2])
