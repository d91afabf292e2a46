"""Python functions as mechanisms: every outcome counts, bounds hold, and failures are reported."""

import re
import time
from fractions import Fraction
from uuid import UUID

import numpy as np
import pytest
from scipy.stats import laplace

import dpjax
from dpjax import Epsilon, Events, HostMechanism

SMALL = {"num_samples": 4000, "num_confirm": 10_000}
PAIR = [(0.0, 1.0)]
SURE = 1 - 1e-5
"""Confidence of the audits; a valid bound exceeds the true level with probability 1e-5."""


def noisy(database, num_samples, seed):
    return database + np.random.default_rng(seed).laplace(size=num_samples)


def inverse_cdf(database, num_samples, rng):
    """Return textbook Laplace noise: the logarithm of one uniform double."""
    u = rng.random(num_samples) - 0.5
    return database - np.sign(u) * np.log(1 - 2 * np.abs(u))


def snapped(database, num_samples, rng):
    return np.round(inverse_cdf(database, num_samples, rng) * 8) / 8


def unseeded(database, num_samples):
    return database + np.random.default_rng().laplace(size=num_samples)


def one(database, rng):
    u = rng.random()
    if u < 0.02 + 0.05 * database:
        raise KeyError(str(u))
    return None if u > 0.9 else rng.laplace()


def audit(function, pairs=PAIR, *, delta=0.0, claim=None, key=0, confidence=SURE, **options):
    sizes = {name: options.pop(name, value) for name, value in SMALL.items()}
    execution = options.pop("execution", None)
    return dpjax.audit(
        HostMechanism(function, **options),
        pairs,
        method=Events(**sizes),
        notion=Epsilon(delta),
        claim=claim,
        key=key,
        confidence=confidence,
        execution=execution,
    )


def probability(event, location):
    """Return the Laplace probability of an event that is described in the words of a witness."""
    total = 0.0
    for low, high in re.findall(r"in \[(\S+), (\S+?)\)", event):
        total += laplace.cdf(float(high), location) - laplace.cdf(float(low), location)
    total += sum(laplace.cdf(float(end), location) for end in re.findall(r"below (\S+)", event))
    total += sum(laplace.sf(float(end), location) for end in re.findall(r"least (\S+)", event))
    return 1 - total if event.startswith("the output is not ") else total


# Truth.


@pytest.mark.parametrize("key", range(3))
def test_laplace_is_found_and_not_exceeded(key):
    assert 0.8 < audit(noisy, key=key).lower_bound <= 1


def test_the_event_of_the_witness_has_the_probabilities_that_were_counted():
    result = audit(noisy, num_confirm=100_000)
    for side, count in enumerate(result.witness.event_counts):
        truth = probability(result.witness.event, side)
        # The tolerance is 4.6 standard errors, which are exceeded with probability 4e-6 per side.
        number = result.evidence.trials[side]
        assert abs(count / number - truth) < 4.6 * np.sqrt(truth * (1 - truth) / number)


def test_a_gaussian_keeps_epsilon_at_its_delta_and_not_at_half():
    """For sigma 1, the formula of Balle and Wang gives epsilon 1.0 at delta 0.1269."""

    def gaussian(database, num_samples, rng):
        return database + rng.normal(size=num_samples)

    sizes = {"num_confirm": 50_000, "num_samples": 20_000}
    assert 0.7 < audit(gaussian, delta=0.126936737507, **sizes).lower_bound <= 1.0
    assert audit(gaussian).lower_bound > 1.2


def test_vectors_and_labels():
    def vectors(database, num_samples, rng):
        return np.array([database, -database]) + rng.laplace(size=(num_samples, 2))

    result = audit(vectors)
    assert 1.1 < result.lower_bound <= 2.0 and "entries 1, 0" in result.witness.event

    def responses(database, num_samples, rng):
        truth = np.array(["no", "yes"])[int(database)]
        other = np.array(["yes", "no"])[int(database)]
        return np.where(rng.random(num_samples) < np.e / (1 + np.e), truth, other)

    result = audit(responses)
    assert 0.8 < result.lower_bound <= 1.0
    assert result.witness.event in ("the output is 'no'", "the output is 'yes'")


# Special outcomes.


def test_a_crash_that_depends_on_the_data_is_found():
    """The level is ln(0.07 / 0.02) = 1.25; 4000 draws per side suffice to detect it."""
    result = audit(one, batched=False, claim=0.5, num_samples=3000, num_confirm=6000)
    assert result.verdict == "violated" and "error: KeyError" in result.witness.event
    assert result.lower_bound < np.log(0.07 / 0.02)


# Bits.


@pytest.mark.parametrize(
    "options", [{"bits": "lowest"}, {"bits": 4, "num_samples": 10_000}], ids=["lowest", "4"]
)
@pytest.mark.parametrize("pairs", [[(0.0, 1.0)], [(1.0, 2.0)]], ids=str)
def test_the_textbook_laplace_is_refuted_by_its_bits(pairs, options):
    """The sum of 1 and a smaller number has no bit below 2^-53, but the number itself has."""
    result = audit(inverse_cdf, pairs, claim=2.0, **options)
    assert result.verdict == "violated"
    assert audit(inverse_cdf, pairs, claim=1.05).verdict == "not refuted"


def test_a_snapped_laplace_is_not_refuted_by_its_bits():
    """Rounding to multiples of 1/8 is post-processing, so epsilon is still 1."""
    for key in range(2):
        assert 0.6 < audit(snapped, bits="lowest", key=key).lower_bound <= 1


def test_the_two_zeros_are_one_unless_bits_are_looked_at():
    def zeros(database, num_samples):
        half = np.random.default_rng().random(num_samples) < 0.5
        return np.where(half, 1.0, -0.0 if database else 0.0)

    assert audit(zeros, num_samples=1000, num_confirm=2000).lower_bound < 0.3
    assert audit(zeros, bits="lowest", num_samples=1000, num_confirm=2000).lower_bound > 4


# Batches, workers, seeds.


@pytest.mark.slow
def test_workers_give_what_one_process_gives():
    options = {"num_samples": 500, "num_confirm": 1200, "batch_size": 300}
    alone, spread = audit(noisy, **options), audit(noisy, workers=2, **options)
    assert alone.witness == spread.witness and alone.lower_bound == spread.lower_bound
    assert audit(noisy, key=1, **options).witness != alone.witness


@pytest.mark.parametrize("batched", [True, False])
def test_no_two_calls_share_a_seed(batched):
    """Seeds differ between pairs, sides, stages and batches, because sides must be independent."""
    seeds = []

    def release(database, num_samples=1, *, seed):
        seeds.append(seed)
        noise = np.random.default_rng(seed).laplace(size=num_samples)
        return noise if batched else noise[0]

    options = {"num_samples": 60, "num_confirm": 90, "batch_size": 20, "batched": batched}
    result = audit(release, [(0.0, 1.0), (0.0, 2.0)], **options)
    confirmed = sum(-(-number // 20) for number in result.evidence.trials)
    assert sum(result.evidence.trials) == 180 and confirmed in (9, 10)
    assert len(set(seeds)) == len(seeds) == (12 + confirmed if batched else 420)


def test_what_cannot_be_replayed_is_said():
    note = "cannot be replayed bit for bit"
    assert any(note in line for line in audit(unseeded).notes)
    assert not any(note in line for line in audit(noisy).notes)


@pytest.mark.slow
def test_a_time_limit_makes_fewer_draws():
    def slow(database, num_samples, rng):
        time.sleep(1e-6 * num_samples)
        return noisy(database, num_samples, rng)

    seen = []
    result = audit(
        slow, num_confirm=10**7, num_samples=10**7, time_limit=1.0, batch_size=1000,
        execution=dpjax.Execution(progress=lambda done, total: seen.append(done)),
    )  # fmt: skip
    assert result.num_confirm < 10**6 and any("time limit" in note for note in result.notes)
    assert seen == sorted(seen) and seen[-1] >= result.num_samples + 2 * result.num_confirm


@pytest.mark.slow
@pytest.mark.parametrize("batched", [True, False])
def test_outputs_may_be_dicts(batched):
    """The data-dependent crash is found next to numbers, and so is their order."""

    def one(shift, rng):
        if shift and rng.random() < 0.3:
            return {"status": "timeout"}
        return {"total": (rng.laplace(shift), 3), "status": "ok"}

    def many(shift, num_samples, rng):
        total = rng.laplace([[shift, 0.0]] * num_samples)
        return {"total": total, "status": ["ok"] * num_samples}

    sizes = {} if batched else {"num_samples": 1500, "num_confirm": 5000}
    result = audit(many if batched else one, [(0.0, 3.0)], batched=batched, **sizes)
    assert result.lower_bound > (2.5 if batched else 4)
    places = "['total'][0], ['total'][1]"
    assert (
        f"Outputs have multiple parts; the numbers in each output are, in order: {places}."
        in result.notes
    )
    assert (
        "vector with entry ['total'][0]" in result.witness.event
        or "timeout" in result.witness.event
    )


def test_databases_may_be_anything_and_results_are_json():
    def count(database, num_samples, rng):
        return len(database["rows"]) + rng.laplace(size=num_samples)

    pair = ({"rows": ["a", "b"]}, {"rows": ["a"]})
    result = audit(count, [pair])
    assert dpjax.AuditResult.from_json(result.to_json()).witness.database == pair[0]


def test_a_rerun_gives_arrays_where_the_audit_did():
    """Multiplying a list by 2 repeats it, but multiplying an array by 2 doubles its entries."""

    def doubled(database, num_samples, seed):
        assert len(database * 2) == 2
        return (database * 2).sum() + np.random.default_rng(seed).laplace(size=num_samples)

    result = audit(doubled, [(np.array([1, 2]), np.array([1, 1]))])
    read = dpjax.AuditResult.from_json(result.to_json())
    assert dpjax.rerun(read, HostMechanism(doubled)).witness == result.witness
    mixed = audit(unseeded, [(np.float64(0.0), 1.0), (Fraction(1, 2), 1.0)])
    with pytest.raises(ValueError, match="pairs must be given, because the recipe"):
        dpjax.rerun(mixed, HostMechanism(unseeded))


# Events.


@pytest.mark.parametrize("delta", [2, 1.0, -0.1, np.nan])
def test_delta_is_a_probability_below_1(delta):
    with pytest.raises(ValueError, match=r"delta must (lie in|be a number)"):
        audit(noisy, delta=delta)


@pytest.mark.parametrize("delta", [0.5, 0.999])
def test_where_nothing_exceeds_delta_no_event_has_a_bound_of_0(delta):
    """The total variation distance of the two distributions is 0.39."""
    result = audit(noisy, delta=delta)
    assert result.lower_bound == 0 and result.estimate == 0
    if delta == 0.999:
        assert "no event: no difference in probability" in result.witness.event
        assert result.witness.densities == (1, 1)


def test_no_witness_has_a_probability_of_0_on_both_sides():
    """All labels are distinct, so no event of the search occurs in the confirmation."""
    result = audit(lambda d, n, rng: [str(v) for v in rng.random(n)], num_samples=90)
    assert result.lower_bound == 0 and max(result.witness.densities) > 0
    rare = audit(lambda d, n, rng: np.where(rng.random(n) < 0.001 + 0.001 * d, "a", "b"),
                 num_samples=2000, num_confirm=50)  # fmt: skip
    assert rare.lower_bound == 0 and max(rare.witness.densities) > 0


def test_words_of_an_audit_are_short():
    """The witness is a union of half of the cells, as reported by users."""
    for delta in (0.0, 0.1, 0.3):
        for pair in ((0.0, 1.0), (1.0, 0.0)):
            witness = audit(noisy, [pair], delta=delta).witness
            for text in (witness.event, witness.output):
                assert "some other label" not in text and "not:" not in text


# Refusals.


def returns(value):
    return lambda database, num_samples: value


@pytest.mark.parametrize(
    ("function", "options", "error", "message"),
    [
        (returns([1.0] * 7), {}, ValueError, "asked for 4000 outputs .* returned a list of len"),
        (returns(np.zeros((4000, 2, 2))), {}, ValueError, r"shape \[4000, 2, 2\]"),
        (returns(3.0), {}, ValueError, r"must return an array or a list"),
        (returns([{}, [1, bytearray(b"x")]] * 2000), {}, TypeError, r"gave \[1, bytearray"),
        (returns(np.zeros(4000, "V4")), {}, TypeError, "V4"),
        (lambda d, n: 1 / 0, {}, ValueError, "raised ZeroDivisionError .*use|batched=False"),
        (lambda d: 1 / 0, {"batched": False, "special": "error"}, ValueError, "ZeroDivision"),
        (lambda d: 1, {}, TypeError, r"must have the arguments \(database, num_samples\)"),
        (lambda d, n: 1, {"workers": 1}, TypeError, "workers need a function that can be pickled"),
        (3, {}, TypeError, "function must be callable"),
        (noisy, {"bits": "low"}, ValueError, "bits 'low' is not known"),
        (noisy, {"bits": 9}, ValueError, "bits must be at most 8"),
        (noisy, {"special": "drop"}, ValueError, "special 'drop' is not known"),
        (noisy, {"workers": -1}, ValueError, "workers must be an integer >= 0"),
    ],
)
def test_refusals(function, options, error, message):
    with pytest.raises(error, match=message):
        audit(function, **options)


def test_an_unknown_way_with_special_outputs_is_refused_at_once():
    with pytest.raises(ValueError, match="special 'drop' is not known"):
        HostMechanism(noisy, special="drop")


def test_a_change_of_shape_is_said():
    calls = []

    def changing(database, num_samples):
        calls.append(1)
        return np.random.default_rng().random((num_samples, len(calls)))

    with pytest.raises(ValueError, match=r"first gave 1 number\(s\) per output, and later 2"):
        audit(changing, batch_size=1000)


def test_pairs_must_be_given():
    with pytest.raises(ValueError, match="pairs must be given"):
        dpjax.audit(HostMechanism(noisy))


# Pairs.


@pytest.mark.parametrize(
    ("pairs", "what"),
    [
        ([(0.0, 1.0), (1, 2, 3)], r"entry 1 was \(1, 2, 3\)"),
        ([0.0, 1.0], "entry 0 was 0.0"),
        (["ab"], "entry 0 was 'ab'"),
        ("ab", "but was str"),
        (3, "but was int"),
    ],
)
def test_the_entry_that_is_no_pair_is_named(pairs, what):
    for call in (lambda: audit(noisy, pairs), lambda: dpjax.Pairs.of(pairs)):
        with pytest.raises(TypeError, match=f"list of .database, neighbor., but {what}|{what}"):
            call()


def test_equal_databases_are_said():
    pairs = [(np.array([1.0]), np.array([1.0])), (np.array([0.0]), np.array([1.0]))]
    result = audit(lambda d, n, rng: d[0] + rng.laplace(size=n), pairs)
    notes = [note for note in result.notes if "are equal" in note]
    assert notes == ["database and neighbor are equal in pair 0, so nothing could be found there."]


def test_outputs_that_never_come_again_cannot_be_compared():
    def identified(database, num_samples):
        rng = np.random.default_rng(int(database))
        return [UUID(int=number) for number in rng.integers(0, 2**60, num_samples).tolist()]

    with pytest.raises(ValueError, match=r"outputs of .* labels, such as UUID.*nothing to compare"):
        audit(identified, [(0, 1)], num_samples=500)


def varied(database, rng):
    return float(rng.integers(3))


def fixed(database, rng):
    return database


@pytest.mark.slow
def test_constancy_is_judged_over_all_batches():
    """A function of one output a call makes batches of one, each of which is constant."""
    limits = Events(400, 400)

    def on_one_side(database, rng):
        return varied(database, rng) if database else 0.0

    for function, constant in ((varied, False), (fixed, True), (on_one_side, False)):
        subject = HostMechanism(function, batched=False, batch_size=1)
        result = dpjax.audit(subject, PAIR, method=limits)
        assert any("were the same" in n for n in (result.sentence, *result.notes)) == constant


@pytest.mark.one_in(3)
@pytest.mark.parametrize("silent", [0, 1])
@pytest.mark.parametrize("width", [1, 3, 20])
def test_a_side_without_numbers_is_compared_with_vectors(silent, width):
    """One side always answers None, which no vector is: the level is infinite."""

    def release(database, seed):
        if database == silent:
            return None
        return np.random.default_rng(seed).normal(size=width).tolist()

    subject = HostMechanism(release, batched=False)
    result = dpjax.audit(subject, [(0, 1)], method=Events(2_000, 400), claim=1.0)
    assert result.verdict == "violated" and result.lower_bound > 3
    assert 0 in result.witness.event_counts


def test_a_note_lists_only_some_of_many_parts():
    def release(database, seed):
        return {f"k{number:02}": 1.0 * (number < 30) for number in range(30)}

    source = HostMechanism(release, batched=False)
    notes = dpjax.audit(source, [(0, 1)], method=dpjax.Events(num_draws=500)).notes
    places = ", ".join(f"['k{number:02}']" for number in range(20))
    listed = f"the numbers in each output are, in order: {places} and 10 more."
    assert f"Outputs have multiple parts; {listed}" in notes
