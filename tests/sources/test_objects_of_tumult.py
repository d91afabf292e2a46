"""What dpjax reads from Tumult Core objects, tested with stand-ins with the same attributes."""

import sys
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from stand_ins import Exact, TumultMeasurement, kind, named, pretend

import dpjax
from dpjax import Domain, Epsilon, LibraryMechanism, Zcdp
from dpjax.sources import as_source
from dpjax.sources.libraries._read import read
from dpjax.sources.libraries._tumult import _domain_of

CONFIDENCE = 1 - 1e-6
FEW = dpjax.Events(num_samples=2000, num_confirm=2000)
FLOATS = named("NumpyFloatDomain", allow_nan=False, allow_inf=False, carrier_type=np.float64)


@pytest.fixture(autouse=True)
def tumult(monkeypatch):
    """Pretend that the library is imported."""
    pretend(monkeypatch, "tmlt.core")


def stating(domain=FLOATS, metric=None, measure=None, privacy=lambda d: Exact(d), **more):
    """Return a measurement with the given claim that returns its database."""
    attributes = {
        "__call__": lambda self, database: database,
        "input_domain": domain,
        "input_metric": metric or named("AbsoluteDifference"),
        "output_measure": measure or named("PureDP"),
        "is_interactive": False,
        "privacy_function": lambda self, d_in: privacy(d_in),
    }
    return kind("tmlt.core.measurements.base", "Stating", **attributes | more)()


@pytest.mark.parametrize(
    ("measure", "privacy", "notion", "claim"),
    [
        ("PureDP", lambda d: Exact(3 * d), Epsilon(), 3.0),
        ("RhoZCDP", lambda d: Exact(d * d, 2), Zcdp(), 0.5),
        ("ApproxDP", lambda d: (Exact(2 * d), Exact(1, 1000)), Epsilon(1e-3), 2.0),
    ],
)
def test_claims_by_the_output_measure(measure, privacy, notion, claim):
    source = as_source(stating(measure=named(measure), privacy=privacy))
    assert source.stated == (notion, claim) and source.name == "Tumult Stating"


def test_claims_are_rounded_up_and_distances_are_exact():
    third = as_source(stating(privacy=lambda d: Exact(Fraction(d) / 3))).stated[1]
    assert Fraction(third) >= Fraction(1, 3) > Fraction(float(np.nextafter(third, 0)))
    seen = []
    source = LibraryMechanism(stating(privacy=lambda d: seen.append(d) or Exact(d)), d_in=0.1)
    assert source.stated[1] == 0.1 and seen == [Fraction(0.1)]
    assert max(abs(x - y) for x, y in source.usual_pairs) <= 0.1


def test_numbers_keep_the_absolute_distance():
    source = as_source(stating())
    assert max(abs(x - y) for x, y in source.usual_pairs) == 1.0
    values = [value for pair in source.usual_pairs for value in pair]
    assert all(isinstance(value, float) and np.isfinite(value) for value in values)


def test_integers_of_noise_mechanisms_are_int64_and_others_are_exact_floats():
    integers = named("NumpyIntegerDomain", carrier_type=np.int64)
    for subject, limit in ((TumultMeasurement("1"), 2**63), (stating(integers), 2**52)):
        values = [value for pair in as_source(subject).usual_pairs for value in pair]
        assert all(isinstance(value, int) and -limit <= value <= limit for value in values)
        assert max(map(abs, values)) > limit / 4


def test_domains_of_values_by_their_kinds():
    whole = named("NumpyIntegerDomain", allow_nan=True)
    assert _domain_of(whole, (-5, 9)) == Domain(bounds=(-5, 9), nan=True)
    real = named("NumpyFloatDomain", allow_inf=True)
    assert _domain_of(real, (-5, 9), 3) == Domain(infinite=True, size=3)


@pytest.mark.parametrize(
    ("metric", "sizes"),
    [(named("SymmetricDifference"), {-1, 1}), (named("HammingDistance"), {0})],
)
def test_records_by_the_metric(metric, sizes):
    domain = named("PandasSeriesDomain", element_domain=FLOATS)
    pairs = as_source(stating(domain, metric)).usual_pairs
    assert {len(x) - len(y) for x, y in pairs} == sizes


def test_lists_have_the_length_of_their_domain():
    metric = named("HammingDistance")
    pairs = as_source(stating(named("ListDomain", element_domain=FLOATS, length=3), metric))
    assert {len(side) for pair in pairs.usual_pairs for side in pair} == {3}


@pytest.mark.parametrize(
    ("metric", "norm"), [("SumOf", lambda d: np.abs(d).sum()), ("RootSumOfSquared", np.linalg.norm)]
)
def test_sums_of_differences_are_norms(metric, norm):
    domain = named("PandasSeriesDomain", element_domain=FLOATS)
    metric = named(metric, inner_metric=named("AbsoluteDifference"))
    pairs = list(as_source(stating(domain, metric)).usual_pairs)
    distances = [norm(np.subtract(x, y)) for x, y in pairs]
    assert 0.99 < max(distances) <= 1 + 1e-12


@pytest.mark.parametrize(
    ("domain", "metric"),
    [
        (named("SparkDataFrameDomain"), named("SymmetricDifference")),
        (FLOATS, named("AddRemoveIDs")),
        (FLOATS, named("SumOf", inner_metric=named("SymmetricDifference"))),
    ],
)
def test_pairs_are_needed_for_other_domains_and_metrics(domain, metric):
    assert as_source(stating(domain, metric)).usual_pairs is None


def test_series_are_made_of_lists_and_lists_of_series(monkeypatch):
    class Series(list):
        tolist = list.copy

    made = []

    def series(values, dtype):
        made.append((values, dtype))
        return Series(2 * value for value in values)

    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(Series=series))
    domain = named("PandasSeriesDomain", element_domain=FLOATS)
    call = read(stating(domain, named("HammingDistance")), None).call
    assert call([1.0, 2.5]) == [2.0, 5.0]
    assert made == [([1.0, 2.5], np.float64)]


def test_frames_have_the_columns_of_their_domain():
    pandas = pytest.importorskip("pandas")

    def columns(**atoms):
        schema = {key: named("Column", element_domain=atom) for key, atom in atoms.items()}
        return named("PandasDataFrameDomain", schema=schema)

    integers, metric = named("NumpyIntegerDomain"), named("SymmetricDifference")
    subject = stating(columns(a=FLOATS, b=integers, c=named("NumpyStringDomain")), metric)
    pairs = list(as_source(subject).usual_pairs)
    assert {len(x) - len(y) for x, y in pairs} == {-1, 1}
    assert all(list(side.columns) == ["a", "b", "c"] for pair in pairs for side in pair)
    largest = max(int(side.b.abs().max()) for pair in pairs for side in pair if len(side))
    assert 2**50 < largest <= 2**52
    frame = pandas.DataFrame({"a": [0.5], "b": [7], "c": ["x"]})
    assert read(subject, None).call(frame) == {"a": [0.5], "b": [7], "c": ["x"]}
    assert as_source(stating(columns(a=named("Other")), metric)).usual_pairs is None


def test_a_right_measurement_is_not_refuted_and_a_wrong_one_is():
    """For two-sided geometric noise at distance 1, the level is 1 / alpha."""
    right = dpjax.audit(
        LibraryMechanism(TumultMeasurement("1"), time_limit=None),
        [(0, 1)],
        method=FEW,
        confidence=CONFIDENCE,
    )
    assert right.verdict == "not refuted" and 0.5 < right.lower_bound <= right.claim == 1.0
    wrong = dpjax.audit(
        LibraryMechanism(TumultMeasurement("1", too_much=2.0), time_limit=None),
        [(0, 1)],
        method=FEW,
        confidence=CONFIDENCE,
    )
    assert wrong.verdict == "violated" and wrong.lower_bound <= 2


def test_results_are_run_again_from_their_recipe(monkeypatch):
    pretend(
        monkeypatch,
        "tmlt.core.measurements.noise_mechanisms",
        AddGeometricNoise=TumultMeasurement,
    )
    result = dpjax.audit(TumultMeasurement("3/2"), [(0, 1)], method=FEW)
    again = dpjax.rerun(result.from_json(result.to_json()), allow_import=["tmlt"])
    assert again.claim == result.claim == 2 / 3 or again.claim == np.nextafter(2 / 3, 1)
    with pytest.raises(ValueError, match=r"allow_import=.'tmlt'."):
        dpjax.rerun(result)


def test_refusals():
    with pytest.raises(TypeError, match="must be an instance, but was the class"):
        dpjax.audit(TumultMeasurement)
    with pytest.raises(TypeError, match="audited only if it is a Measurement"):
        dpjax.audit(named("FlatMap"))
    with pytest.raises(TypeError, match="Stating is interactive"):
        dpjax.audit(stating(is_interactive=True))
    with pytest.raises(ValueError, match="but states Smoothed"):
        dpjax.audit(stating(measure=named("Smoothed")))

    def endless(d_in):
        return SimpleNamespace(to_float=lambda round_up: float("inf"))

    with pytest.raises(ValueError, match="must state a finite PureDP at d_in = 1"):
        dpjax.audit(stating(privacy=endless))


def test_the_library_itself():
    noise = pytest.importorskip("tmlt.core.measurements.noise_mechanisms")
    from tmlt.core.domains.numpy_domains import NumpyFloatDomain

    gaussian = noise.AddGaussianNoise(NumpyFloatDomain(), "9/4")
    assert as_source(gaussian).stated == (Zcdp(), pytest.approx(2 / 9))
    result = dpjax.audit(noise.AddGeometricNoise(1), [(0, 1)], method=FEW, confidence=CONFIDENCE)
    assert result.verdict == "not refuted" and result.lower_bound > 0.5


def test_labels_of_rows_are_part_of_an_output():
    pandas = pytest.importorskip("pandas")
    call = read(stating(FLOATS), None).call
    assert call(pandas.Series([1.0, 2.0])) == [1.0, 2.0]
    assert call(pandas.Series([1.0, 2.0], ["p", "q"])) == [["p", "q"], [1.0, 2.0]]
    assert call(pandas.DataFrame({"a": [1.0]})) == {"a": [1.0]}
    assert call(pandas.DataFrame({"a": [1.0]}, ["p"])) == [["p"], {"a": [1.0]}]
    call = LibraryMechanism(
        stating(FLOATS, __call__=lambda self, value: pandas.Series([1.0], [value]))
    )
    result = dpjax.audit(call, [(0, 1)], notion=Epsilon(), claim=1.0, method=FEW)
    assert result.verdict in ("violated", "not random")


@pytest.mark.parametrize("measure", ["PureDP", "RhoZCDP"])
def test_an_infinite_claim_is_refused_with_its_measure_and_distance(measure):
    """Both messages state that nothing is private at this distance."""
    nothing = SimpleNamespace(to_float=lambda round_up: float("inf"))
    found = stating(measure=named(measure), privacy=lambda d: nothing)
    with pytest.raises(ValueError, match=f"a finite {measure} at d_in = 1"):
        _ = as_source(found).stated
