"""Python functions as mechanisms: every outcome counts, bounds hold, failures are said."""

import copy
import dataclasses
import datetime
import re
import threading

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom, laplace

import dpjax
from dpjax import HostMechanism
from dpjax.partitions._output_cells import lay_cells
from dpjax.partitions._outputs import Encoder, Raised, lowest_set_bit
from dpjax.report import render_report

SMALL = {"num_samples": 4000, "num_confirm": 10_000}
PAIR = [(0.0, 1.0)]


def noisy(database, num_samples, seed):
    return database + np.random.default_rng(seed).laplace(size=num_samples)


def inverse_cdf(database, num_samples, rng):
    """The textbook Laplace: one uniform double through a logarithm."""
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


def spoiling(database, num_samples, seed):
    """Sorts, extends and empties what it was handed, after it has used it."""
    result = noisy(len(database["rows"]), num_samples, seed)
    database["rows"].append(database["rows"][0])
    database["rows"].sort()
    return result


def spoiling_one(database, rng):
    database["rows"].append(0)
    return len(database["rows"]) + rng.laplace()


def audit(function, pairs=PAIR, **options):
    sizes = {name: options.pop(name, value) for name, value in SMALL.items()}
    common = {name: options.pop(name) for name in ("claim", "key", "delta") if name in options}
    return dpjax.audit(HostMechanism(function, **options), pairs=pairs, **sizes, **common)


def probability(event, location):
    """Of an event in the words of a witness, under the Laplace distribution."""
    total = 0.0
    for low, high in re.findall(r"in \[(\S+), (\S+?)\)", event):
        total += laplace.cdf(float(high), location) - laplace.cdf(float(low), location)
    total += sum(laplace.cdf(float(end), location) for end in re.findall(r"below (\S+)", event))
    total += sum(laplace.sf(float(end), location) for end in re.findall(r"least (\S+)", event))
    return 1 - total if event.startswith("the output is not ") else total


# Truth.


def test_laplace_is_found_and_not_exceeded():
    """At confidence 0.95, 20 audits exceed the truth more than 7 times at a rate of 3e-6."""
    bounds = [audit(noisy, key=key).lower_bound for key in range(20)]
    assert binom.sf(7, 20, 0.05) < 1e-5
    assert sum(bound > 1 for bound in bounds) <= 7
    assert np.median(bounds) > 0.9


def test_the_event_of_the_witness_has_the_probabilities_that_were_counted():
    result = audit(noisy, num_confirm=100_000)
    for side, count in enumerate(result.witness.event_counts):
        truth = probability(result.witness.event, side)
        # 4.6 standard errors: a rate of 4e-6 a side.
        assert abs(count / 1e5 - truth) < 4.6 * np.sqrt(truth * (1 - truth) / 1e5)


def test_a_gaussian_keeps_epsilon_at_its_delta_and_not_at_half():
    """Sigma 1: the curve of Balle and Wang gives epsilon 1.0 at delta 0.1269."""

    def gaussian(database, num_samples, rng):
        return database + rng.normal(size=num_samples)

    delta = 0.126936737507
    options = {"delta": delta, "num_confirm": 50_000, "num_samples": 20_000}
    bounds = [audit(gaussian, key=key, **options).lower_bound for key in range(8)]
    # More than 5 of 8 at an error of 0.05 have a rate of 4e-7.
    assert sum(bound > 1.0 for bound in bounds) <= 5
    assert np.median(bounds) > 0.8
    assert audit(gaussian).lower_bound > 1.2


def test_vectors_and_labels():
    def vectors(database, num_samples, rng):
        return np.array([database, -database]) + rng.laplace(size=(num_samples, 2))

    result = audit(vectors)
    assert 1.2 < result.lower_bound < 2.0 and "and entry 1" in result.witness.event

    def responses(database, num_samples, rng):
        truth = np.array(["no", "yes"])[int(database)]
        other = np.array(["yes", "no"])[int(database)]
        return np.where(rng.random(num_samples) < np.e / (1 + np.e), truth, other)

    result = audit(responses)
    assert 0.85 < result.lower_bound < 1.0
    assert result.witness.event in ("the output is 'no'", "the output is 'yes'")


# Special outcomes.


def test_a_crash_that_depends_on_the_data_is_found():
    """ln(0.07 / 0.02) = 1.25; 4000 draws a side find it."""
    result = audit(one, batched=False, claim=0.5, num_samples=3000, num_confirm=6000)
    assert result.verdict == "violated" and "error: KeyError" in result.witness.event
    assert result.lower_bound < np.log(0.07 / 0.02)


def test_every_outcome_has_its_label():
    encoder = Encoder("it")
    raw = [1, 2.5, None, "", [], Raised("error: OSError"), np.nan, np.inf, -np.inf, -0.0, "NaN"]
    outputs = encoder.encode(raw)
    names = [encoder.names[label] for label in outputs.labels]
    number, empty = "a number", "empty"
    assert names == [
        number, number, empty, empty, empty, "error: OSError", "NaN", "+inf", "-inf", number,
        "'NaN'",
    ]  # fmt: skip
    assert outputs.values[:, 0].tolist() == [1, 2.5, *[0] * 9]
    assert not np.signbit(outputs.values[9, 0])
    assert outputs.alone.tolist() == [name != number for name in names]


def test_specials_of_arrays_and_of_vectors():
    encoder = Encoder("it")
    rows = np.array([[1.0, np.nan], [np.inf, 2.0], [3.0, 4.0]])
    outputs = encoder.encode(rows)
    names = [encoder.names[label] for label in outputs.labels]
    assert names == ["(number, NaN)", "(+inf, number)", "a number"]


@pytest.mark.parametrize("value", [np.nan, -np.inf, None, "", []])
def test_specials_can_be_errors(value):
    with pytest.raises(ValueError, match="special='error' refuses"):
        Encoder("it", special="error").encode([1.0, value])


def test_integers_past_2_to_53_stay_apart():
    encoder = Encoder("it")
    outputs = encoder.encode(np.array([2**53 + 1, 2**53 + 2, 5]))
    assert len(set(outputs.labels.tolist())) == 3 and outputs.alone.tolist() == [True, True, False]


# Bits.


def test_lowest_set_bits_are_those_of_exact_arithmetic():
    values = np.concatenate(
        [np.random.default_rng(0).laplace(size=200), [1.0, -6.0, 5e-324, 2.0**1023, 0.1]]
    )
    for value, found in zip(values, lowest_set_bit(values), strict=True):
        numerator, denominator = float(value).as_integer_ratio()
        exponent = (numerator & -numerator).bit_length() - 1 - (denominator.bit_length() - 1)
        assert found == exponent


@pytest.mark.parametrize(
    "options", [{"bits": "lowest"}, {"bits": 4, "num_samples": 10_000}], ids=["lowest", "4"]
)
@pytest.mark.parametrize("pairs", [[(0.0, 1.0)], [(1.0, 2.0)]], ids=str)
def test_the_textbook_laplace_is_refuted_by_its_bits(pairs, options):
    """The sum of 1 and a smaller number has no bit below 2^-53, the number alone has."""
    result = audit(inverse_cdf, pairs, claim=2.0, **options)
    assert result.verdict == "violated"
    assert audit(inverse_cdf, pairs, claim=1.05).verdict == "not refuted"


def test_a_snapped_laplace_is_not_refuted_by_its_bits():
    """Rounding to a lattice of 1/8 is post-processing; epsilon stays 1."""
    bounds = [audit(snapped, bits="lowest", key=key).lower_bound for key in range(12)]
    # More than 6 of 12 at an error of 0.05 have a rate of 5e-7.
    assert sum(bound > 1 for bound in bounds) <= 6 and np.median(bounds) > 0.6


def test_the_two_zeros_are_one_unless_bits_are_looked_at():
    def zeros(database, num_samples):
        half = np.random.default_rng().random(num_samples) < 0.5
        return np.where(half, 1.0, -0.0 if database else 0.0)

    assert audit(zeros, num_samples=1000, num_confirm=2000).lower_bound < 0.3
    assert audit(zeros, bits="lowest", num_samples=1000, num_confirm=2000).lower_bound > 4


def test_the_bits_of_a_float32_are_its_own():
    encoder = Encoder("it", bits=2)
    values = np.array([1.0, 1.0 + 2.0**-23, 1.0 + 2.0**-22], np.float32)
    names = [encoder.names[label] for label in encoder.encode(values).labels]
    assert names == ["lowest 2 bits 00", "lowest 2 bits 01", "lowest 2 bits 10"]
    doubled = [encoder.names[label] for label in encoder.encode(values.astype(float)).labels]
    assert set(doubled) == {"lowest 2 bits 00"}


# Batches, workers, seeds.


def test_workers_give_what_one_process_gives():
    options = {"num_samples": 500, "num_confirm": 1200, "batch_size": 300}
    alone, spread = audit(noisy, **options), audit(noisy, workers=2, **options)
    assert alone.witness == spread.witness and alone.lower_bound == spread.lower_bound
    assert audit(noisy, key=1, **options).witness != alone.witness


def test_randomness_that_repeats_is_refused():
    def fixed(database, num_samples):
        return database + np.random.default_rng(0).laplace(size=num_samples)

    with pytest.raises(ValueError, match="two batches with the same first 100 outputs"):
        audit(fixed)


def test_what_cannot_be_replayed_is_said():
    note = "cannot be replayed bit for bit"
    assert any(note in line for line in audit(unseeded).notes)
    assert not any(note in line for line in audit(noisy).notes)


def test_a_time_limit_makes_fewer_draws():
    seen = []
    result = audit(
        noisy, num_confirm=10**9, num_samples=10**9, time_limit=0.3, batch_size=1000,
        progress=lambda done, total: seen.append(done),
    )  # fmt: skip
    assert result.num_confirm < 10**9 and any("time limit" in note for note in result.notes)
    assert seen == sorted(seen) and seen[-1] >= result.num_samples + 2 * result.num_confirm


def test_databases_may_be_anything_and_results_are_json():
    def count(database, num_samples, rng):
        return len(database["rows"]) + rng.laplace(size=num_samples)

    pair = ({"rows": ["a", "b"]}, {"rows": ["a"]})
    result = audit(count, [pair])
    assert dpjax.AuditResult.from_json(result.to_json()).witness.database == repr(pair[0])


ROWS = [{"rows": [2, 1]}, {"rows": [1]}]
SOME = {"num_samples": 300, "num_confirm": 600, "batch_size": 100}


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(
    ("function", "options"),
    [(spoiling, {}), (spoiling_one, {"batched": False})],
    ids=["batches", "one by one"],
)
def test_a_function_may_change_its_database(function, options, workers):
    """The database of every call is the one that was given, so outputs lie around 1, 2 or 3."""
    given = copy.deepcopy(ROWS)
    result = audit(function, [tuple(given)], workers=workers, **SOME, **options)
    assert given == ROWS
    # Shifted Laplace distributions of scale 1, one apart; grown databases would be hundreds apart.
    assert 0.3 < result.lower_bound < 1.2
    assert result.witness.database == repr(ROWS[0])


@pytest.mark.parametrize(
    "database",
    [
        [3.0, 1.0],
        [[3.0], [1.0]],
        np.array([3.0, 1.0]),
        np.array([[3.0], None], object),
        {"a": [3.0]},
        ([3.0], 1.0),
        [lambda: 1.0],
    ],
    ids=lambda database: type(database).__name__,
)
def test_every_call_has_a_database_of_its_own(database):
    seen = []
    dpjax.audit(
        HostMechanism(lambda d: seen.append(d) or np.random.default_rng().random(), batched=False),
        pairs=[(database, database)], num_samples=20, num_confirm=20,
    )  # fmt: skip
    assert len({id(d) for d in seen} | {id(database)}) == 81
    assert all(type(d) is type(database) for d in seen)


def test_what_cannot_change_is_not_copied():
    still = np.arange(3.0)
    still.setflags(write=False)
    for database in (1.5, "text", (1, (2.0, "x")), still, np.float32(2), jnp.arange(3)):
        seen = []
        audit(lambda d, n, seen=seen: seen.append(d) or np.random.default_rng().random(n),
              [(database, database)], num_samples=20, num_confirm=20)  # fmt: skip
        assert all(d is database for d in seen)


class Connection:
    """Known by its identity, and not to be copied."""

    def __init__(self):
        self.lock = threading.Lock()


CONNECTIONS = Connection(), Connection()


def asks(database, num_samples, seed):
    """Laplace noise about 1 at the second connection."""
    noise = np.random.default_rng(seed).laplace(size=num_samples)
    return float(database is CONNECTIONS[1]) + noise


def test_what_is_no_container_is_handed_over_as_it_is():
    result = dpjax.audit(dpjax.HostMechanism(asks), pairs=[CONNECTIONS], claim=0.5)
    assert result.verdict == "violated"


# Words of events.


@pytest.mark.parametrize("delta", [2, 1.0, -0.1, np.nan])
def test_delta_is_a_probability_below_1(delta):
    with pytest.raises(ValueError, match=r"delta must (lie in|be a number)"):
        audit(noisy, delta=delta)
    x, y = (np.random.default_rng(side).laplace(size=500) for side in (0, 1))
    with pytest.raises(ValueError, match="delta must"):
        dpjax.audit_samples(HostRecording(x), HostRecording(y), delta=delta)


class HostRecording:
    name, origins = "numbers", {}

    def __init__(self, values):
        self.values = values

    def chunks(self):
        yield self.values


@pytest.mark.parametrize("delta", [0.5, 0.999])
def test_where_nothing_exceeds_delta_no_event_has_a_bound_of_0(delta):
    """The total variation distance of the two is 0.39."""
    result = audit(noisy, delta=delta)
    assert result.lower_bound == 0 and result.estimate == 0
    if delta == 0.999:
        assert "no event: nothing exceeds delta" in result.witness.event
        assert result.witness.densities == (1, 1)


def test_no_witness_has_a_probability_of_0_on_both_sides():
    """Labels that are all distinct: no event of the search happens again."""
    result = audit(lambda d, n, rng: [str(v) for v in rng.random(n)], num_samples=90)
    assert result.lower_bound == 0 and max(result.witness.densities) > 0
    rare = audit(lambda d, n, rng: np.where(rng.random(n) < 0.001 + 0.001 * d, "a", "b"),
                 num_samples=2000, num_confirm=50)  # fmt: skip
    assert rare.lower_bound == 0 and max(rare.witness.densities) > 0


def laid(pilot):
    encoder = Encoder("it")
    sides = [encoder.encode(side) for side in pilot]
    return lay_cells(sides, encoder.names)


def test_a_complement_is_said_by_its_own_parts():
    values = np.random.default_rng(0).laplace(size=2000)
    cells = laid([values, values])
    middle = (cells.edges[0] >= -0.3) & (cells.edges[0] < 0.3)
    inside = np.concatenate([np.zeros(cells.num_alone + 1, bool), middle])
    seen = np.arange(cells.size) >= cells.num_alone
    event = cells.settled(~inside & seen, seen)
    low, high = (float(cells.edges[0][np.flatnonzero(middle)[i] + j]) for i, j in ((0, 0), (-1, 1)))
    assert cells.describe(event) == f"the output is not in [{low:.6g}, {high:.6g})"
    assert cells.describe(event, whole=True) == f"the output is not in [{low:.17g}, {high:.17g})"
    # Counted outputs and the words are the same event, also for labels that nobody saw.
    encoder = Encoder("it")
    outputs = encoder.encode([low, np.nextafter(low, -9), high, np.nextafter(high, -9), 99.0, "x"])
    assert event[cells.index(outputs)].tolist() == [False, True, True, False, True, True]
    # A half-line is said as one, without the labels that never happened.
    half = cells.settled(np.arange(cells.size) >= cells.num_alone + 10, seen)
    assert cells.describe(half) == f"the output is a number of at least {cells.edges[0][9]:.6g}"
    assert not half[: cells.num_alone].any()
    assert cells.describe(np.zeros(cells.size, bool)) == "no event: nothing exceeds delta"


def test_ends_have_the_digits_that_tell_neighbours_apart():
    near = 1234.5 + np.arange(400) * 1e-5
    cells = laid([near, near])
    edges = cells.edges[0]
    texts = {cells.describe(np.arange(cells.size) == i) for i in range(cells.num_alone, cells.size)}
    assert len(texts) == len(edges) + 1
    for number in re.findall(r"[\d.]{4,}", " ".join(texts)):
        assert len(number.replace(".", "")) <= 9
    far = laid([near * 1e3 - 1234e3, near]).edges[0]
    assert len(far) == len(np.unique(far))
    plain = laid([np.random.default_rng(0).laplace(size=3000)] * 2)
    digits = [
        len(number.replace(".", "").lstrip("0"))
        for number in re.findall(r"[\d.]{4,}", plain.describe(np.arange(plain.size) % 9 == 5))
    ]
    assert max(digits) <= 6


def test_the_end_beside_an_atom_is_open_in_short_and_exact_in_whole():
    rng = np.random.default_rng(0)
    values = np.where(rng.random(3000) < 0.3, 0.5, rng.random(3000))
    cells = laid([values, values])
    edges = cells.edges[0]
    at = int(np.flatnonzero(edges == 0.5)[0])
    first = cells.num_alone + at + 2
    event = np.isin(np.arange(cells.size), [first, first + 1])
    assert cells.describe(event) == f"the output is a number in (0.5, {edges[at + 3]:.6g})"
    low = float(np.nextafter(0.5, 1))
    assert f"in [{low:.17g}, " in cells.describe(event, whole=True)
    atom = np.arange(cells.size) == cells.num_alone + at + 1
    assert cells.describe(atom) == "the output is a number equal to 0.5"


def test_what_never_happened_goes_with_its_neighbours():
    """Whole numbers: nothing lies between two of them, so that a run of them is one interval."""
    rng = np.random.default_rng(1)
    cells = laid([rng.integers(0, 10, 500).astype(float) for _ in range(2)])
    bins = cells.edges[0]
    seen, event = np.zeros((2, cells.size), bool)
    for number in range(10):
        place = cells.num_alone + int(np.flatnonzero(bins == number)[0]) + 1
        seen[place], event[place] = True, number in (2, 3, 4, 6, 9)
    settled = cells.settled(event, seen)
    np.testing.assert_array_equal(settled & seen, event & seen)
    assert cells.describe(settled) == (
        "the output is a number in [2, 4], of at least 9 or equal to 6"
    )
    assert cells.describe(event & seen) == "the output is a number equal to 2, 3, 4, 6 or 9"
    # All that happened, and what says nothing, stay as they are.
    np.testing.assert_array_equal(cells.settled(seen, seen), seen)


def test_words_of_an_audit_are_short():
    """A witness over half of the cells, as users met it."""
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
        (returns([{}, [1, [2]]] * 2000), {}, TypeError, r"gave \(1, \[2\]\)"),
        (returns([[1, 2], [1, 2, 3]] * 2000), {}, ValueError, r"one length, but gave \[2, 3\]"),
        (returns(np.zeros(4000, complex)), {}, TypeError, "complex128"),
        (lambda d, n: 1 / 0, {}, ValueError, "raised ZeroDivisionError .*use|batched=False"),
        (lambda d: 1 / 0, {"batched": False, "special": "error"}, ValueError, "ZeroDivision"),
        (lambda d: 1, {}, TypeError, r"must take the arguments \(database, num_samples\)"),
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


def test_a_change_of_shape_is_said():
    calls = []

    def changing(database, num_samples):
        calls.append(1)
        return np.random.default_rng().random((num_samples, len(calls)))

    with pytest.raises(ValueError, match=r"1 number\(s\) an output at first and 2 later"):
        audit(changing, batch_size=1000)


def test_options_of_densities_are_refused():
    with pytest.raises(ValueError, match="bandwidth is of density estimates"):
        dpjax.audit(HostMechanism(noisy), pairs=PAIR, bandwidth=0.1)
    with pytest.raises(ValueError, match="pairs must be given"):
        dpjax.audit(HostMechanism(noisy))


# Reports.


@pytest.mark.parametrize("kind", [".html", ".md"])
def test_a_report_counts_each_side_and_names_what_is_there(kind):
    result = audit(noisy)
    sided = dataclasses.replace(
        result,
        settings={**result.settings, "confirmed": [141, 3476]},
        witness=dataclasses.replace(result.witness, event_counts=(68, 1871)),
    )
    text = render_report(sided, kind)
    assert "68 of 141 fresh draws at the database, 1871 of 3476 at the neighbor" in text
    assert "Expected bound" in text and "estimated loss" not in text.lower()
    assert "Outputs outside the region" not in text
    assert datetime.date.today().isoformat() in text
    assert f"dpjax {result.versions['dpjax']}" in text and "same pairs and seed 0" in text
    partial = dataclasses.replace(result, region="[-1, 1]", standard_error=0.1)
    text = render_report(partial, kind)
    assert "Outputs outside the region" in text and "estimated loss" in text


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
        return [f"run-{number}" for number in rng.integers(0, 2**60, num_samples)]

    with pytest.raises(
        ValueError, match=r"outputs of .* labels, such as 'run-.*nothing to compare"
    ):
        dpjax.audit(dpjax.HostMechanism(identified), pairs=[(0, 1)], num_samples=500)
