"""What dpjax reads from SmartNoise objects, tested with stand-ins with the same attributes."""

import functools

import pytest
from stand_ins import SmartNoiseLaplace, Synthesizer, kind, pretend

import dpjax
from dpjax import Epsilon, LibraryMechanism
from dpjax.sources import as_source
from dpjax.sources.libraries._read import read

CONFIDENCE = 1 - 1e-6
FEW = dpjax.Events(num_samples=2000, num_confirm=2000)


@pytest.fixture(autouse=True)
def smartnoise(monkeypatch):
    """Pretend that the library is imported."""
    pretend(monkeypatch, "snsql.sql._mechanisms", Laplace=SmartNoiseLaplace)
    pretend(monkeypatch, "snsynth")


@pytest.mark.parametrize(
    ("given", "moved"),
    [
        ({"sensitivity": 2.0}, 2.0),
        ({"lower": -3.0, "upper": 1.0}, 3.0),
        ({"lower": 1.0, "upper": 5.0, "max_contrib": 2}, 10.0),
    ],
)
def test_claims_and_neighbors_are_those_of_the_object(given, moved):
    """A person adds up to `max_contrib` records within the bounds to a sum."""
    source = as_source(SmartNoiseLaplace(0.5, delta=1e-3, **given))
    assert source.stated == (Epsilon(1e-3), 0.5) and source.name == "SmartNoise Laplace"
    assert max(abs(x - y) for x, y in source.usual_pairs) == moved
    half = LibraryMechanism(SmartNoiseLaplace(0.5, **given), d_in=0.25)
    assert max(abs(x - y) for x, y in half.usual_pairs) <= 0.25


@pytest.mark.parametrize("own", [{"sensitivity": 2.0}, {"lower": -3.0, "upper": 1.0}])
def test_recipes_hold_all_parameters(own):
    plain = read(SmartNoiseLaplace(0.5, delta=1e-3, max_contrib=2, **own), None).plain
    said = {"epsilon": 0.5, "delta": 1e-3, "max_contrib": 2, **own}
    assert plain == {"class": "Laplace", "parameters": said}


def test_a_right_mechanism_is_not_refuted_and_a_wrong_one_is():
    def audited(mechanism):
        source = LibraryMechanism(mechanism, time_limit=None)
        return dpjax.audit(source, [(0.0, 1.0)], method=FEW, confidence=CONFIDENCE)

    right = audited(SmartNoiseLaplace(1.0, sensitivity=1.0))
    assert right.verdict == "not refuted" and 0.5 < right.lower_bound <= right.claim == 1.0
    mechanism = SmartNoiseLaplace(1.0, sensitivity=1.0)
    mechanism.scale /= 2
    wrong = audited(mechanism)
    assert wrong.verdict == "violated" and wrong.lower_bound <= 2


@pytest.mark.slow
@pytest.mark.parametrize("given", [{"sensitivity": 1.0}, {"lower": -1.0, "upper": 1.0}])
def test_results_are_run_again_from_their_recipe(given):
    result = dpjax.audit(SmartNoiseLaplace(2.0, **given), [(0.0, 1.0)], method=FEW)
    again = dpjax.rerun(result.from_json(result.to_json()), allow_import=["snsql"])
    assert (again.claim, again.mechanism) == (result.claim, result.mechanism)
    with pytest.raises(ValueError, match=r"allow_import=.'snsql'."):
        dpjax.rerun(result)


def test_synthesizers_are_copied_for_each_fit():
    synthesizer = Synthesizer(1.5)
    handed = read(synthesizer, None)
    assert (handed.notion, handed.claim, handed.pairs) == (Epsilon(1e-6), 1.5, None)
    assert handed.name == "SmartNoise Synthesizer"
    summaries = [handed.call([[1], [0], [1]]) for _ in range(100)]
    assert {summary["mean of 0"] for summary in summaries} == {0, 1}
    assert {summary["rows"] for summary in summaries} == {1000}
    assert synthesizer.positive is None


def test_arguments_of_fit_are_bound():
    call = read(functools.partial(Synthesizer(1000.0).fit, column=1), None).call
    assert call([[0, 1], [0, 1]])["mean of 0"] == 1 and call([[1, 0], [1, 0]])["mean of 0"] == 0
    source = as_source(functools.partial(Synthesizer(2.0).fit, column=1))
    assert source.stated == (Epsilon(1e-6), 2.0)


@pytest.mark.parametrize(
    ("method", "least"),
    [
        # About 34 of 500 outputs of one side are in the event. 0.7 is six standard errors (0.17)
        # below the mean bound, 1.77.
        (dpjax.Events(num_samples=300, num_confirm=500), 0.7),
        pytest.param(FEW, 2.0, marks=pytest.mark.slow),
    ],
)
def test_a_synthesizer_is_audited_at_given_pairs(method, least):
    """A positive majority has the probabilities 1 - exp(-2) / 2 and exp(-2) / 2: a loss of 2.62."""
    source = LibraryMechanism(Synthesizer(2.0), time_limit=None)
    result = dpjax.audit(source, [([[1]], [[0]])], method=method, confidence=CONFIDENCE)
    assert least < result.lower_bound <= 2.63 and result.claim == 2.0
    with pytest.raises(ValueError, match="pairs"):
        dpjax.audit(Synthesizer(2.0))


def test_refusals():
    with pytest.raises(TypeError, match="must be an instance, but was the class Laplace"):
        dpjax.audit(SmartNoiseLaplace)
    reader = kind("snsql.sql.private_reader", "PrivateReader")()
    with pytest.raises(TypeError, match="was of type PrivateReader"):
        dpjax.audit(reader)
    unbounded = SmartNoiseLaplace(1.0, sensitivity=1.0)
    unbounded.upper = float("inf")
    with pytest.raises(ValueError, match="must have a sensitivity that is positive and finite"):
        dpjax.audit(unbounded)
    assert as_source(LibraryMechanism(unbounded, d_in=1.0)).usual_pairs is not None


def test_the_library_itself():
    mechanisms = pytest.importorskip("snsql.sql._mechanisms.laplace")
    mechanism = mechanisms.Laplace(1.0, lower=-1.0, upper=3.0, max_contrib=2)
    assert max(abs(x - y) for x, y in as_source(mechanism).usual_pairs) == 6.0
    result = dpjax.audit(mechanism, [(0.0, 6.0)], method=FEW, confidence=CONFIDENCE)
    assert result.verdict == "not refuted" and result.lower_bound > 0.5
