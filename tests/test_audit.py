"""The front door: results, verdicts, recorded outputs and refusals."""

import dataclasses
import json
import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax
from dpjax import mechanisms
from dpjax._types import MixedSpace, VectorSpace


@pytest.fixture(scope="module")
def laplace():
    return dpjax.audit(mechanisms.Laplace(1.0), claim=0.5, key=3)


def test_a_result_says_all(laplace):
    assert laplace.verdict == "violated"
    assert 0.85 < laplace.lower_bound < 1.0
    # The estimate's standard error is 0.03 at most; seed fixed, 5 of them allowed.
    assert abs(laplace.estimate - 1) < 0.15
    assert laplace.witness.pair == "shift 1"
    first, second = laplace.witness.densities
    assert laplace.estimate == pytest.approx(abs(np.log(first / second)), rel=1e-6)
    assert laplace.lower_bound == pytest.approx(
        laplace.estimate - 1.6448536 * laplace.standard_error, rel=1e-5
    )
    assert len(laplace.pair_estimates) == 10
    losses = [loss for _, loss in laplace.pair_estimates]
    assert losses == sorted(losses, reverse=True)
    assert {"dpjax", "jax", "numpy"} <= set(laplace.versions)
    assert laplace.seed == 3 and laplace.device.startswith(jax.default_backend())
    text = str(laplace)
    assert "VIOLATED" in text and f"{laplace.lower_bound:.4f}" in text and "0.5" in text


def test_a_result_goes_to_json_and_back(laplace):
    text = laplace.to_json()
    assert dpjax.AuditResult.from_json(text) == laplace
    keys = "lower_bound estimate confidence verdict witness num_samples num_confirm seed"
    assert set(keys.split()) <= set(json.loads(text))
    with pytest.raises(ValueError, match="not an audit result"):
        dpjax.AuditResult.from_json('{"a": 1}')


def test_the_same_seed_gives_the_same_result(laplace):
    again = dpjax.audit(mechanisms.Laplace(1.0), claim=0.5, key=dpjax._random.as_key(3))
    assert again.lower_bound == laplace.lower_bound and again.witness == laplace.witness
    other = dpjax.audit(mechanisms.Laplace(1.0), claim=0.5, key=4)
    assert other.lower_bound != laplace.lower_bound


@pytest.mark.parametrize(
    "arguments",
    [
        {"mechanism": mechanisms.Laplace(1.0), "bandwidth": 0.2, "key": jax.random.key(5)},
        {"mechanism": mechanisms.SVT2(0.7), "region": [0, 9, 10], "claim": 0.7},
        {"mechanism": mechanisms.TwoSidedGeometric(1.0), "confidence": 0.9},
    ],
)
def test_a_result_is_run_again_from_its_json(arguments):
    sizes = {"num_samples": 2000, "num_confirm": 5000}
    result = dpjax.audit(**arguments, **sizes)
    again = dpjax.rerun(dpjax.AuditResult.from_json(result.to_json()))
    assert dataclasses.replace(again, seconds=result.seconds) == result


def test_what_cannot_be_run_again_says_why():
    recorded = dpjax.audit_samples(*rng().normal(size=(2, 300)), guarantee="normal")
    with pytest.raises(ValueError, match="recorded outputs"):
        dpjax.rerun(recorded)
    function = dpjax.audit(two_dimensional, pairs=[(np.zeros(2), np.ones(2))], **TINY)
    with pytest.raises(ValueError, match="mechanism must be given"):
        dpjax.rerun(function)
    assert dpjax.rerun(function, two_dimensional).witness == function.witness


TINY = {"num_samples": 300, "num_confirm": 600, "region": ([-1, -1], [2, 2])}


def test_verdicts_do_not_overclaim(laplace):
    fair = dpjax.audit(mechanisms.Laplace(1.0), claim=1.0, key=3)
    assert fair.verdict == "not refuted" and "no proof" in fair.sentence
    silent = dpjax.audit(mechanisms.Laplace(1.0), key=3)
    assert silent.verdict == "no claim" and silent.claim is None
    assert "above the claimed 0.5" in laplace.sentence


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Atoms:
    """Uniform on [0, 1] with atoms at 3 and -2, of mass 0.04 and 0.015, swapped at the neighbor."""

    def sample(self, key, database, num_samples):
        u = dpjax._random.uniform(key, num_samples)
        rest = dpjax._random.uniform(key, num_samples, row=1)
        p, q = jnp.where(database > 0, 0.015, 0.04), jnp.where(database > 0, 0.04, 0.015)
        return jnp.where(u < p, 3.0, jnp.where(u > 1 - q, -2.0, rest))


def test_atoms_do_not_break_the_bound():
    """The paper's variance takes the density as flat across a bandwidth; at an atom it is not.

    With it alone 8 to 9% of such bounds pass the truth, and so many of 4000 would be seen: at most
    0.05 each, more than 268 have probability 1e-6.
    """
    from dpjax._random import as_key
    from dpjax.methods.local import LocalSettings, mpl_runs
    from dpjax.methods.local._assemble import bounds_of
    from dpjax.partitions import Box

    settings = LocalSettings(2000, 5000, bandwidth=dpjax.densities.Fixed(0.1))
    region = Box(-3.0, 4.0)
    found = mpl_runs(
        Atoms(), np.zeros(1, np.float32), np.ones(1, np.float32), region, settings, as_key(4),
        jnp.arange(4000, dtype=jnp.int32), execution=dpjax.Execution(),
    )  # fmt: skip
    bounds = bounds_of(found, settings, region, 0.95)
    assert not np.any(bounds.exact)
    assert np.sum(bounds.lower_bound > np.log(0.04 / 0.015)) <= 268


def test_few_recorded_labels_are_told_apart():
    x, y = ["a"] * 2 + ["b"] * 3 + ["c"] * 55, ["a"] * 3 + ["b"] * 54 + ["c"] * 3
    result = dpjax.audit_samples(x, y, claim=0.5, guarantee="normal")
    assert result.witness.output in ("b", "c") and result.verdict == "violated"
    assert result.region == "{a, b, c}"


def test_a_witness_on_the_floor_gets_an_exact_bound():
    result = dpjax.audit(mechanisms.SVT5(0.7), claim=0.7, key=1)
    assert result.verdict == "violated"
    assert result.bound == "exact binomial" and result.standard_error is None
    assert result.witness.on_floor and any("floor" in note for note in result.notes)
    # Recomputed with the F quantile form of Clopper and Pearson's bounds.
    from scipy.stats import f

    n, alpha = result.num_confirm, 0.025
    counts = sorted(result.witness.event_counts)
    low = counts[1] / (
        counts[1] + (n - counts[1] + 1) * f.isf(alpha, 2 * (n - counts[1] + 1), 2 * counts[1])
    )
    up = (counts[0] + 1) * f.isf(alpha, 2 * (counts[0] + 1), 2 * (n - counts[0]))
    up = up / (n - counts[0] + up)
    assert result.lower_bound == pytest.approx(np.log(low / up), rel=1e-6)


def test_what_no_sampler_sees_is_not_refuted():
    result = dpjax.audit(mechanisms.TwoPoint(log_rarity=25.0, ratio=6.0), claim=0.1)
    assert result.verdict == "not refuted" and result.lower_bound == 0


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, cls in mechanisms.CATALOGUE.items()
        if not isinstance(cls().output_space, MixedSpace)
    ),
)
def test_every_built_in_mechanism_is_audited(name):
    from dpjax import reference

    mechanism = mechanisms.CATALOGUE[name]()
    result = dpjax.audit(mechanism, num_samples=2000, num_confirm=5000)
    one_number = not isinstance(mechanism.output_space, VectorSpace)
    region = mechanism.standard_region if one_number else None
    exact = reference.best_level(mechanism, mechanism.standard_pairs(), region)
    # One bound a mechanism, seed fixed: at confidence 1 - 1e-6 the bound may not pass the truth.
    strict = dpjax.audit(mechanism, num_samples=2000, num_confirm=5000, confidence=1 - 1e-6)
    assert strict.lower_bound <= exact
    assert strict.lower_bound <= result.lower_bound
    assert dpjax.AuditResult.from_json(result.to_json()) == result


def two_dimensional(key, database):
    return database + jax.random.normal(key, (2,))


def test_user_functions():
    line = dpjax.audit(lambda key, x: x + jax.random.laplace(key), pairs=[(0.0, 1.0)], claim=0.5)
    assert line.verdict == "violated" and any("pilot" in note for note in line.notes)
    bit = dpjax.audit(
        lambda key, x: jax.random.bernoulli(key, 0.2 + 0.5 * x).astype(int),
        pairs=[(0.0, 1.0)],
        num_outcomes=2,
    )
    assert abs(bit.estimate - np.log(3.5)) < 0.15
    plane = dpjax.audit(
        two_dimensional, pairs=[(np.zeros(2), np.ones(2))], region=([-1, -1], [2, 2]),
        num_samples=4000, num_confirm=9000,
    )  # fmt: skip
    assert plane.mechanism == "two_dimensional" and len(plane.witness.output) == 2
    # The loss is |t1 + t2 - 1|, at most 3 on the region; the bound is at confidence 0.95, seed 0.
    assert 1 < plane.lower_bound < 3


def test_a_region_that_needs_a_finer_lattice_gets_one():
    result = dpjax.audit(mechanisms.Laplace(1.0), region=(-60.0, 60.0), claim=0.5)
    assert result.settings["num_cells"] > 2048 and result.verdict == "violated"
    with pytest.raises(ValueError, match=r"region is so wide"):
        dpjax.audit(mechanisms.Laplace(1.0), region=(-1e6, 1e6))


def rng():
    return np.random.default_rng(0)


def test_recorded_reals_far_from_zero():
    noise = rng().laplace(size=(2, 40_000))
    near, far = (
        dpjax.audit_samples(at + noise[0], at + noise[1] + 1, claim=0.5, guarantee="normal")
        for at in (0.0, 1e9)
    )
    assert near.verdict == far.verdict == "violated"
    assert far.lower_bound == pytest.approx(near.lower_bound, abs=1e-3)
    assert far.witness.output == pytest.approx(1e9 + near.witness.output, abs=0.01)
    assert near.lower_bound <= 1.1
    assert near.witness.database == "x" and "reals" in near.notes[0]


def test_recorded_labels_and_integers():
    p, q = [0.6, 0.3, 0.1], [0.3, 0.3, 0.4]
    labels = np.array(["yes", "no", "none"])
    x, y = (labels[rng().choice(3, 5000, p=w)] for w in (p, q))
    normal = partial(dpjax.audit_samples, guarantee="normal")
    result = normal(x, y, claim=1.0)
    assert result.witness.output == "none" and result.witness.larger == "neighbor"
    assert abs(result.estimate - np.log(4)) < 0.3
    assert normal(x, y, region=["yes"]).witness.output == "yes"
    numbers = normal(*rng().integers(0, 9, (2, 900)))
    assert "outcomes" in numbers.notes[0]


LAPLACE = mechanisms.Laplace(1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mechanisms.Laplace(0.0), r"epsilon must be a number > 0, but was 0\.0"),
        (lambda: mechanisms.Laplace(float("nan")), r"epsilon must be .*finite.*nan"),
        (lambda: mechanisms.Laplace("1"), r"epsilon must be a number > 0, but was '1'"),
        (lambda: dpjax.audit(LAPLACE, num_samples=0), r"num_samples must be an integer >= 2"),
        (lambda: dpjax.audit(LAPLACE, num_samples=2e4), r"num_samples must be an integer.*float"),
        (lambda: dpjax.audit(LAPLACE, num_samples=9, num_confirm=9), r"num_confirm \(N\) must be"),
        (lambda: dpjax.audit(LAPLACE, region=(1, 1)), r"region must have low < high"),
        (lambda: dpjax.audit(LAPLACE, region=(0, np.inf)), r"region must have finite bounds"),
        (lambda: dpjax.audit(LAPLACE, region=(50, 51)), r"region .* outside the support"),
        (
            lambda: dpjax.audit(mechanisms.TruncatedLaplace(1.0), region=(2, 3)),
            r"region \[2, 3\] lies outside the support of the outputs, reals in \[0, 1\]",
        ),
        (
            lambda: dpjax.audit(mechanisms.TwoSidedGeometric(), region=(2**25, 2**25 + 64)),
            r"reaches past 2\^24",
        ),
        (lambda: dpjax.audit(mechanisms.ReportNoisyMax(), region=[]), r"region must hold .*one"),
        (
            lambda: dpjax.audit(mechanisms.ReportNoisyMax(), region=[6]),
            r"region must hold .*0\.\.5",
        ),
        (lambda: dpjax.audit(LAPLACE, confidence=1.0), r"confidence must lie strictly between"),
        (lambda: dpjax.audit(LAPLACE, claim=-1), r"claim must be a number >= 0"),
        (lambda: dpjax.audit(LAPLACE, key=1.5), r"key must be an integer seed or a typed key"),
        (lambda: dpjax.audit(LAPLACE, kernel="gausian"), r"kernel 'gausian' .*did you mean 'gauss"),
        (lambda: dpjax.audit(LAPLACE, bandwidth="scot"), r"bandwidth 'scot' .*did you mean 'scott"),
        (lambda: dpjax.audit(LAPLACE, bandwidth=-1.0), r"bandwidth must be a number > 0"),
        (lambda: dpjax.audit(LAPLACE, floor=-1.0), r"floor must be a number >= 0"),
        (lambda: dpjax.audit(LAPLACE, pairs=[]), r"pairs must hold at least one"),
        (lambda: dpjax.audit(LAPLACE, pairs=[(0, [1, 2])]), r"pairs must all have .* one shape"),
        (lambda: dpjax.audit(LAPLACE, pairs=[([0], [1])]), r"pairs must hold single numbers"),
        (
            lambda: dpjax.audit(mechanisms.SVT2(), pairs=[([0.0, 1], [1, 1])]),
            r"pairs must hold databases of 10 query answers",
        ),
        (lambda: dpjax.audit(lambda key, x: x, claim=1), r"pairs must be given"),
        (lambda: dpjax.audit("laplace"), r"was the name 'laplace': make one"),
        (lambda: dpjax.audit(LAPLACE, num_outcomes=3), r"num_outcomes is for functions"),
        (
            lambda: dpjax.audit(lambda key, x: x * jnp.nan, pairs=[(1.0, 2.0)], region=(0, 1)),
            r"the outputs hold NaN or an infinity",
        ),
        (
            lambda: dpjax.audit(lambda key, x: x, pairs=[(0.5, 0.6)], region=(0, 1)),
            r"constant at one of the databases",
        ),
        (lambda: dpjax.audit(3, pairs=[(0.0, 1.0)]), r"mechanism must be .*but was 3"),
        (
            lambda: dpjax.audit(lambda key, x: float(x), pairs=[(0.0, 1.0)]),
            r"cannot be traced by JAX .*HostMechanism",
        ),
        (
            lambda: dpjax.audit(lambda key, x: jnp.zeros((2, 2)), pairs=[(0.0, 1.0)]),
            r"must return one number or one vector",
        ),
        (
            lambda: dpjax.audit(lambda key, x: x + np.random.normal(), pairs=[(0.0, 1.0)]),
            r"different outputs .* for the same key",
        ),
        (
            lambda: dpjax.audit_samples(
                [1.0] * 500, rng().normal(size=500), discrete=False, guarantee="normal"
            ),
            r"x is constant",
        ),
        (
            lambda: dpjax.audit_samples(
                [1.0, np.nan] * 300, rng().normal(size=600), guarantee="normal"
            ),
            r"x must hold finite numbers, but 300 of 600 .*guarantee='exact'",
        ),
        (lambda: dpjax.audit_samples(["a"] * 90, rng().normal(size=90)), r"x and y must be of one"),
        (
            lambda: dpjax.audit_samples(rng().normal(size=(500, 2)), rng().normal(size=500)),
            r"x holds vectors of 2 numbers, such as .* and y holds numbers",
        ),
        (
            lambda: dpjax.audit_samples(
                rng().normal(size=100), rng().normal(size=100), guarantee="normal"
            ),
            r"at least 200 outputs each .*but the shorter had 100",
        ),
        (
            lambda: dpjax.audit_samples(rng().normal(size=39), rng().normal(size=100)),
            r"x must hold at least 40 outputs, but held 39",
        ),
        (
            lambda: dpjax.audit_samples(rng().normal(size=99), rng().normal(size=99), floor=0.1),
            r"floor is of density estimates: .* guarantee='exact'",
        ),
        (
            lambda: dpjax.audit_samples([1, 0] * 99, [0, 1] * 99, guarantee="normal", bits=2),
            r"bits must be left out where a density is estimated, but was 2: use guarantee='exact'",
        ),
    ],
)
def test_bad_input_is_refused_with_a_sentence(call, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert re.search(message, str(caught.value), re.S), str(caught.value)


def test_results_are_plain(laplace):
    """Nothing of JAX or NumPy stays in a result: it can be kept, sent and compared."""

    def check(value):
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list | tuple):
            for item in value:
                check(item)
        else:
            assert type(value) in (float, int, str, bool, type(None)), type(value)

    check(dataclasses.asdict(laplace))
