"""OpenDP and diffprivlib objects: dpjax reads their claims and compares them with their outputs."""

import functools
import json
import math
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dpjax
from dpjax import Domain, Epsilon, LibraryMechanism, Profile, Zcdp, neighbors
from dpjax.sources import as_source
from dpjax.sources.libraries._read import read

dp = pytest.importorskip("opendp.prelude")
mechanisms = pytest.importorskip("diffprivlib.mechanisms")
from diffprivlib import BudgetAccountant, models, tools  # noqa: E402

dp.enable_features("contrib")

CONFIDENCE = 1 - 1e-6
"""These draws cannot be seeded, so a correct mechanism may fail once in a million runs.

The objects have no time limit, because numbers of draws would depend on the machine.
"""

FEW = dpjax.Events(num_draws=4000)
SAFE = dpjax.Events(num_samples=2000, num_confirm=2000)
"""Numbers of draws of the audits.

With 500 search draws, one event in a thousand is chosen badly. With these numbers, none of 3,000
audits of seeded Laplace noise at CONFIDENCE had a bound below half of the level.
"""
FLOAT, INT = dp.atom_domain(T=float, nan=False), dp.atom_domain(T=int)
ABSOLUTE = dp.absolute_distance(T=float)
BOUNDED = dp.vector_domain(dp.atom_domain(bounds=(0.0, 10.0)), size=5)
STRINGS = dp.vector_domain(dp.atom_domain(T=str))
RECORDS = dp.symmetric_distance()


def gaussian():
    return dp.m.make_gaussian(FLOAT, ABSOLUTE, scale=1.0)


def threshold():
    count = dp.t.make_count_by(STRINGS, RECORDS, TV=int)
    return count >> dp.m.then_laplace_threshold(scale=1.0, threshold=5)


def test_claims_by_the_output_measure():
    """In closed form, a Laplace scale of 2 gives 1/2, and a Gaussian scale of 1 gives rho = 1/2."""
    laplace = dp.m.make_laplace(FLOAT, ABSOLUTE, scale=2.0)
    notion, claim = as_source(laplace).stated
    assert notion == Epsilon() and claim == pytest.approx(0.5, rel=1e-6) and claim >= 0.5
    assert LibraryMechanism(laplace, d_in=3.0).stated[1] == pytest.approx(1.5, rel=1e-6)
    notion, claim = as_source(gaussian()).stated
    assert notion == Zcdp() and claim == pytest.approx(0.5, rel=1e-6)
    curve = dp.c.make_zCDP_to_approxDP(gaussian())
    notion, claim = as_source(curve).stated
    assert notion == Profile() and 0 < claim.delta(1.0) < 1
    notion, claim = as_source(dp.c.make_fix_delta(curve, 1e-3)).stated
    assert notion == Epsilon(1e-3) and claim == curve.map(1.0).epsilon(1e-3)
    # The claim is the exact number, not a rounded number.
    fixed = dp.t.make_sum(BOUNDED, RECORDS) >> dp.m.then_laplace(scale=10.0)
    assert as_source(fixed).stated[1] == fixed.map(2) > 1


def stating(metric, measure, privacy_map):
    """Return a measurement of records in [0, 1] with the given claim."""
    dp.enable_features("honest-but-curious")
    records = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0)))
    return dp.m.make_user_measurement(records, metric, measure, lambda rows: 0.0, privacy_map)


@pytest.mark.parametrize(
    ("measure", "privacy_map", "notion", "claim"),
    [
        (dp.max_divergence(), lambda d: 2.0 * d, Epsilon(), 6.0),
        (dp.approximate(dp.max_divergence()), lambda d: (2.0 * d, 1e-6), Epsilon(1e-6), 6.0),
        (dp.zero_concentrated_divergence(), lambda d: 0.5 * d**2, Zcdp(), 4.5),
        (dp.approximate(dp.zero_concentrated_divergence()), lambda d: (0.5 * d, 0.0), Zcdp(), 1.5),
        (dp.renyi_divergence(), lambda d: lambda order: 0.25 * order * d, dpjax.Renyi(2), 1.5),
    ],
)
def test_each_measure_is_a_notion_and_the_map_its_claim(measure, privacy_map, notion, claim):
    subject = LibraryMechanism(stating(RECORDS, measure, privacy_map), d_in=3)
    assert subject.stated == (notion, pytest.approx(claim, rel=1e-12))


@pytest.mark.parametrize(
    ("measure", "stated", "message"),
    [
        (dp.max_divergence(), math.inf, "a finite MaxDivergence at d_in = 1, but states inf"),
        (
            dp.approximate(dp.zero_concentrated_divergence()),
            (0.5, 0.1),
            "convert it with an OpenDP combinator",
        ),
    ],
)
def test_measures_that_nothing_refutes_are_refused(measure, stated, message):
    with pytest.raises(ValueError, match=message):
        as_source(stating(RECORDS, measure, lambda d: stated))


@pytest.mark.parametrize(
    ("metric", "near", "far"),
    [
        (dp.symmetric_distance(), ([0.1, 0.2], [0.2]), ([0.1, 0.2], [0.3, 0.2])),
        (dp.insert_delete_distance(), ([0.1, 0.2], [0.2]), ([0.1, 0.2, 0.3], [0.2, 0.1])),
        (dp.change_one_distance(), ([0.1, 0.2], [0.3, 0.1]), ([0.1, 0.2], [0.2])),
        (dp.hamming_distance(), ([0.1, 0.2], [0.1, 0.3]), ([0.1, 0.2], [0.3, 0.1])),
        (dp.l1_distance(T=float), ([0.1, 0.2], [0.6, 0.7]), ([0.0, 0.2], [0.6, 0.7])),
        (dp.l2_distance(T=float), ([0.1, 0.2], [0.7, 1.0]), ([0.0, 0.0], [0.8, 0.7])),
        (dp.linf_distance(T=float), ([0.0, 0.0], [1.0, 1.0]), None),
    ],
    ids=str,
)
def test_each_metric_is_a_relation(metric, near, far):
    """Two databases at distance 1 are neighbors; two at a larger distance are not."""
    space = as_source(stating(metric, dp.max_divergence(), lambda d: 1.0)).usual_pairs
    assert space.allows(*near) and (far is None or not space.allows(*far))
    answers = []

    def member(database):
        answers.append(space.domain.member(database))
        return answers[-1]

    proposed = replace(space, domain=replace(space.domain, member=member)).proposed()
    # OpenDP takes 14 ms to reject a database, so only databases with allowed values are tried.
    assert answers and all(answers)
    assert all(space.allows(x, y) for x, y, _ in proposed) and len(proposed) > 3


def test_utilities_and_values_of_diffprivlib_are_its_pairs():
    """All pairs of listed values are used; utilities differ by at most the sensitivity."""
    exponential = mechanisms.Exponential(epsilon=1.0, sensitivity=0.5, utility=[0.0, 1.0, 2.0])
    source = as_source(exponential)
    assert source.stated == (Epsilon(), 1.0)
    for pair in source.usual_pairs:
        assert np.max(np.abs(np.subtract(*pair))) == pytest.approx(0.5)
    # A utility that exceeds the others by 60 times the sensitivity always wins.
    for best in range(3):
        assert source._handed.call([30.0 * (place == best) for place in range(3)]) == best
    listed = [["a", "b", 1], ["a", "c", 2], ["b", "c", 2]]
    categorical = as_source(mechanisms.ExponentialCategorical(epsilon=2.0, utility_list=listed))
    pairs = {frozenset(pair) for pair in categorical.usual_pairs}
    assert pairs == {frozenset("ab"), frozenset("ac"), frozenset("bc")}
    binary = as_source(mechanisms.Binary(epsilon=1.0, value0="x", value1="y"))
    assert list(binary.usual_pairs) == [("x", "y")]
    laplace = mechanisms.Laplace(epsilon=1.0, sensitivity=0.0)
    assert as_source(laplace).usual_pairs is None


def in_both_directions(pair):
    moves = np.subtract(*pair)
    return moves.min() < 0 < moves.max()


@pytest.mark.parametrize("monotonic", [False, True])
def test_utilities_that_are_monotonic_move_in_one_direction(monotonic):
    """If utilities are monotonic, half of the noise suffices, and other pairs violate the claim."""
    options = {"epsilon": 1.0, "sensitivity": 1.0, "utility": [0.0, 1.0], "monotonic": monotonic}
    domain = dp.vector_domain(dp.atom_domain(T=int))
    metric = dp.linf_distance(T=int, monotonic=monotonic)
    for subject in (
        mechanisms.Exponential(**options),
        mechanisms.PermuteAndFlip(**options),
        dp.m.make_noisy_max(domain, metric, dp.max_divergence(), scale=1.0),
    ):
        pairs = [*as_source(subject).usual_pairs]
        assert len(pairs) > 3 and any(map(in_both_directions, pairs)) is not monotonic


def test_a_claim_for_secret_samples_is_refused():
    """Such a claim is far below the level at which the measurement itself distinguishes databases.

    The claim of a whole contains the claims of its parts.
    """
    dp.enable_features("honest-but-curious")
    total = dp.t.make_sum(dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0)), size=5), RECORDS)
    amplified = dp.c.make_population_amplification(total >> dp.m.then_laplace(scale=1.0), 100)
    for subject in (amplified, dp.c.make_composition([amplified])):
        with pytest.raises(ValueError, match="make_population_amplification assumes that the"):
            as_source(subject)


def test_objects_are_named_by_their_constructors():
    total = dp.t.make_sum(BOUNDED, RECORDS)
    clamped = dp.t.make_clamp(dp.vector_domain(FLOAT, size=5), RECORDS, (0.0, 10.0))
    laplace = dp.m.make_laplace(FLOAT, ABSOLUTE, scale=2.0)
    three = clamped >> total >> dp.m.then_laplace(scale=1.0)
    for measurement, expected in (
        (laplace, "make_laplace"),
        (total >> dp.m.then_laplace(scale=1.0), "make_sum >> make_laplace"),
        (three, "make_clamp >> make_sum >> make_laplace"),
        (dp.c.make_zCDP_to_approxDP(gaussian()), "make_zCDP_to_approxDP"),
    ):
        assert as_source(measurement).name == expected


def test_domain_and_relation_are_those_of_the_measurement():
    fixed = dp.t.make_mean(BOUNDED, RECORDS) >> dp.m.then_laplace(scale=2.0)
    for x, y in as_source(fixed).usual_pairs:
        assert len(x) == len(y) == 5 and all(0 <= v <= 10 for v in x + y)
        assert BOUNDED.member(x) and BOUNDED.member(y)
    sizes = {len(x) - len(y) for x, y in as_source(threshold()).usual_pairs}
    assert sizes == {-1, 1}
    for x, y in as_source(gaussian()).usual_pairs:
        assert math.isfinite(x) and math.isfinite(y) and 0 < abs(x - y) <= 1
    coin = dp.m.make_randomized_response(categories=["a", "b", "c"], prob=0.6)
    assert {frozenset(pair) for pair in as_source(coin).usual_pairs} == {
        frozenset("ab"), frozenset("ac"), frozenset("bc")
    }  # fmt: skip


RIGHT = {
    "real": (lambda: dp.m.make_laplace(FLOAT, ABSOLUTE, scale=1.0), (0.0, 1.0)),
    "integer": (lambda: dp.m.make_laplace(INT, dp.absolute_distance(T=int), scale=1.0), (0, 1)),
    "bit": (lambda: dp.m.make_randomized_response_bool(prob=0.75), (False, True)),
    "sum": (
        lambda: dp.t.make_sum(BOUNDED, RECORDS) >> dp.m.then_laplace(scale=10.0),
        ([0.0] * 5, [10.0, 0.0, 0.0, 0.0, 0.0]),
    ),
    "truncated": (lambda: mechanisms.GeometricTruncated(epsilon=1.0, lower=0, upper=5), (0, 1)),
    "binary": (lambda: mechanisms.Binary(epsilon=1.0, value0="a", value1="b"), ("a", "b")),
    "snapping": (
        lambda: mechanisms.Snapping(epsilon=1.0, sensitivity=1.0, lower=0.0, upper=10.0),
        (0.0, 1.0),
    ),
}
"""Objects that satisfy their claims, and for each a pair that attains the claim."""


@pytest.mark.one_in(7)
@pytest.mark.parametrize("name", RIGHT)
def test_right_objects_are_not_refuted_and_a_third_of_their_claim_is(name):
    """In 25 audits of each object, bounds average .76 to .84 of the claim, with minimum .63."""
    make, pair = RIGHT[name]
    subject = LibraryMechanism(make(), time_limit=None)
    assert as_source(subject).usual_pairs.allows(*pair)
    result = dpjax.audit(subject, [pair], method=SAFE, confidence=CONFIDENCE)
    assert result.verdict == "not refuted" and result.claim == as_source(subject).stated[1]
    third = result.claim / 3
    assert third < result.lower_bound <= result.claim
    wrong = dpjax.audit(subject, [pair], method=SAFE, claim=third, confidence=CONFIDENCE)
    assert wrong.verdict == "violated"


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_the_pair_of_a_right_object_is_found(name):
    subject = LibraryMechanism(RIGHT[name][0](), time_limit=None)
    result = dpjax.audit(subject, method=SAFE, confidence=CONFIDENCE)
    assert result.claim / 3 < result.lower_bound <= result.claim


@pytest.mark.slow
def test_floating_point_noise_is_refuted():
    """The textbook sampler reveals its input in its lowest bits (Mironov 2012)."""
    method, laplace = dpjax.Events(num_draws=8000), mechanisms.Laplace(epsilon=1.0, sensitivity=1.0)
    result = dpjax.audit(LibraryMechanism(laplace, time_limit=None), method=method)
    assert result.verdict == "violated" and result.lower_bound > 2


@pytest.mark.slow
def test_a_tool_with_a_stated_relation():
    """One NaN among the records makes the mean NaN in every call."""
    tool = functools.partial(tools.mean, epsilon=1.0, bounds=(0, 1))
    space = neighbors([0.2, 0.5, 0.7], "change-one", Domain(bounds=(0, 1), nan=True))
    subject = LibraryMechanism(tool, time_limit=None)
    result = dpjax.audit(subject, space, method=dpjax.Events(num_draws=2000))
    assert result.verdict == "violated" and result.claim == 1.0
    assert "nan" in result.witness.pair and result.lower_bound > 4


def test_warnings_of_a_library_are_no_outcome():
    """Missing bounds cause a warning in every call, which would be raised as an error here."""
    data = np.array([[0.1], [0.5], [0.9]]), np.array([0.1, 0.5, 0.9])
    subjects = [
        (functools.partial(tools.mean, epsilon=1.0), [0.1, 0.5]),
        (models.LinearRegression(epsilon=1.0), data),
    ]
    for subject, database in subjects:
        call = as_source(subject)._handed.call
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(database)


def test_a_model_shows_what_it_fitted():
    model = models.LinearRegression(epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1))
    source = as_source(model)
    assert source.stated == (Epsilon(), 1.0) and source.usual_pairs is None
    data = np.array([[0.1], [0.5], [0.9]]), np.array([0.1, 0.5, 0.9])
    shown = source._handed.call(data)
    assert sorted(shown) == ["coef_", "intercept_"] and not hasattr(model, "coef_")


def test_the_draws_of_an_audit_are_not_entered_in_a_ledger():
    """Neither the default ledger of the process nor a ledger with its own budget is used."""
    budget, data = BudgetAccountant(1.0, 0.0), (np.array([[0.1], [0.9]]), np.array([0.1, 0.9]))
    model = models.LinearRegression(
        epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1), accountant=budget
    )
    mean = functools.partial(tools.mean, epsilon=1.0, bounds=(0, 1), accountant=budget)
    before = len(BudgetAccountant.load_default(None))
    for subject, database in ((model, data), (mean, [0.1, 0.9])):
        for _ in range(3):
            as_source(subject)._handed.call(database)
    assert len(budget) == 0 and model.accountant is budget
    assert len(BudgetAccountant.load_default(None)) == before


FOUR = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]] * 5)


class Remembering(models.DecisionTreeClassifier):
    """A tree that stores the exact number of records of class 1 in its nodes."""

    def fit(self, x, y):
        super().fit(x, y)
        self.tree_.value[:] = np.sum(y)
        return self


@pytest.mark.slow
def test_trees_are_compared_and_not_only_the_numbers_of_a_model():
    y = np.array([0, 1] * 10)
    pair = (FOUR, y), (FOUR, np.where(np.arange(20) == 0, 1, y))
    tree = Remembering(epsilon=1.0, max_depth=2, bounds=(0, 5), classes=[0, 1])
    subject = LibraryMechanism(tree, time_limit=None)
    method = dpjax.Events(num_samples=200, num_confirm=400)
    result = dpjax.audit(subject, [pair], claim=1.0, method=method)
    assert result.verdict == "violated" and result.lower_bound > 4


def test_trees_of_forests_are_compared():
    forest = models.RandomForestClassifier(2, epsilon=1.0, bounds=(0, 5), classes=[0, 1])
    fitted = read(forest, None).call((FOUR, np.array([0, 1] * 10)))
    assert [len(tree["tree_"]["values"]) for tree in fitted["estimators_"]] == [126, 126]


def test_classes_that_are_text_are_compared():
    """diffprivlib reveals which classes occur in the data."""
    y = np.array(["a", "b"] * 10)
    model = models.GaussianNB(epsilon=1.0, bounds=(0, 5))
    fitted = [read(model, None).call((FOUR, labels)) for labels in (y, np.char.add(y, "c"))]
    assert [part["classes_"] for part in fitted] == [["a", "b"], ["ac", "bc"]]
    assert not isinstance(fitted[0]["theta_"], list)


@pytest.mark.slow
def test_a_reported_delta_that_is_too_small_is_refuted():
    """OpenDP issue 2922: a key of count 1 is released with probability 0.0133; delta is 0.0049."""
    # In sixty audits, the bounds are 2.84 +- 0.12, and at least 2.58.
    subject = LibraryMechanism(threshold(), time_limit=None)
    method = dpjax.Events(num_draws=60_000)
    result = dpjax.audit(subject, [([], ["a"])], method=method, confidence=CONFIDENCE)
    assert result.verdict == "violated"


@pytest.mark.slow
def test_a_sensitivity_that_was_forgotten_is_refuted():
    """diffprivlib issues 104 and 105: the sensitivity of the diagonal is missing."""
    # The library's draws have no seed. In a hundred audits, the bounds are 4.46 to 5.53.
    model = models.LinearRegression(
        epsilon=1.0, bounds_X=(0, 100), bounds_y=(0, 100), fit_intercept=False
    )
    far = np.array([[1.0], [1.0], [1.0], [1.0], [100.0]])
    pair = (np.ones((5, 1)), np.zeros(5)), (far, np.zeros(5))
    space = neighbors(pair[0], "change-one", Domain(bounds=(0, 100)))
    assert space.allows(*pair)
    subject = LibraryMechanism(model, time_limit=None)
    method = dpjax.Events(num_samples=1000, num_confirm=1000)
    result = dpjax.audit(subject, [pair], method=method)
    assert result.verdict == "violated"


@pytest.mark.slow
def test_results_are_run_again_from_their_recipe():
    laplace = dp.m.make_laplace(FLOAT, ABSOLUTE, scale=1.0)
    for subject, library in (
        (laplace, "opendp"),
        (mechanisms.Geometric(epsilon=1.0), "diffprivlib"),
    ):
        pairs = [(0.0, 1.0)] if library == "opendp" else [(0, 1)]
        result = dpjax.audit(subject, pairs, method=FEW)
        text = result.to_json()
        assert json.loads(text)["recipe"]["subject"]["library"] == library
        again = dpjax.rerun(dpjax.AuditResult.from_json(text), allow_import=[library])
        assert (again.claim, again.mechanism) == (result.claim, result.mechanism)
        with pytest.raises(ValueError, match=f"allow_import=.'{library}'."):
            dpjax.rerun(result)


def test_measurements_travel_to_workers():
    call = as_source(dp.m.make_laplace(FLOAT, ABSOLUTE, scale=1.0))._handed.call
    assert isinstance(pickle.loads(pickle.dumps(call))(3.0), float)


@pytest.mark.slow
def test_on_the_command_line():
    folder = Path(__file__).parent
    command = ["-m", "dpjax", "audit", "--object", "library_objects.py:release"]
    run = functools.partial(subprocess.run, capture_output=True, text=True, cwd=folder)
    pairs = ["--pairs", "[[0.0, 1.0]]", "--num-samples", "2000", "--num-confirm", "2000"]
    right = run([sys.executable, *command, *pairs, "--confidence", "0.999999"])
    assert right.returncode == 0 and "no proof of the claimed 1" in right.stdout
    wrong = run([sys.executable, *command, *pairs, "--claim", "0.2"])
    assert wrong.returncode == 1 and "above the claimed 0.2" in wrong.stdout


@pytest.mark.slow
def test_in_an_assertion():
    laplace = LibraryMechanism(dp.m.make_laplace(FLOAT, ABSOLUTE, scale=1.0), time_limit=None)
    sizes = {"num_samples": 2000, "num_confirm": 2000}
    dpjax.testing.assert_private(laplace, pairs=[(0.0, 1.0)], **sizes)
    with pytest.raises(AssertionError, match=r"is not 0\.3-differentially private"):
        dpjax.testing.assert_private(laplace, 0.3, [(0.0, 1.0)], **sizes)


@pytest.mark.parametrize(
    ("subject", "error", "message"),
    [
        (lambda: dp.t.make_sum(BOUNDED, RECORDS), TypeError, "audited only if it is a Measurement"),
        (lambda: mechanisms.Laplace, TypeError, "must be an instance, but was the class Laplace"),
        (
            lambda: LibraryMechanism(3),
            TypeError,
            "must be an object from OpenDP, diff",
        ),
    ],
)
def test_refusals(subject, error, message):
    with pytest.raises(error, match=message):
        dpjax.audit(subject(), method=FEW)


def test_what_states_no_pairs_says_so():
    with pytest.raises(ValueError, match="pairs must be given: a list of"):
        dpjax.audit(models.LinearRegression(epsilon=1.0), method=FEW)


def test_options_of_objects_are_those_of_functions():
    subject = dp.m.make_randomized_response_bool(prob=0.75)
    options = {"workers": 2, "special": "error", "bits": None, "time_limit": 7.0, "timeout": 2.5}
    source = LibraryMechanism(subject, **options)
    assert {name: getattr(source._host, name) for name in options} == options
    assert (source._host.batched, source._host.batch_size) == (False, 1000)
    assert not LibraryMechanism.replayable
