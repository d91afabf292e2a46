"""DP-SGD as a mechanism, compared with autodiff, a naive loop and formulas."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpjax
from dpjax.core import random
from dpjax.databases import Pairs
from dpjax.mechanisms._batches import Keys, _ranks
from dpjax.mechanisms.training import (
    DpSgd,
    FullBatch,
    Logistic,
    Network,
    Poisson,
    Shuffle,
    accounted,
    canary_pair,
    likelihood_score,
)
from dpjax.sweeps import Entry

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(11, 4)).astype(np.float32)
LABELS = (RNG.random(11) < 0.5).astype(np.float32)
PAIR = canary_pair(FEATURES, LABELS, amplitude=5.0)
DATABASE, NEIGHBOR = np.asarray(PAIR.database[0]), np.asarray(PAIR.neighbor[0])
ALONE = canary_pair(np.zeros((0, 2)), np.zeros(0))


@pytest.mark.parametrize("model", [Logistic(), Network(3)])
def test_gradients_are_those_of_autodiff(model):
    parameters = model.start(4, np.dtype(np.float32))
    parameters = parameters + 0.3 * RNG.normal(size=parameters.shape).astype(np.float32)
    found = model.gradients(parameters, FEATURES, LABELS)

    def loss(parameters, x, y):
        return model.losses(parameters, x[None], y[None])[0]

    each = np.asarray(jax.vmap(jax.grad(loss), (None, 0, 0))(parameters, FEATURES, LABELS))
    np.testing.assert_allclose(found.norms, np.linalg.norm(each, axis=1), rtol=2e-5)
    weights = RNG.random(11).astype(np.float32)
    np.testing.assert_allclose(found.total(weights), weights @ each, rtol=1e-4, atol=1e-5)


def test_losses_are_logistic():
    parameters = np.array([0.5, -1, 0, 2, 0.3], np.float32)
    logits = FEATURES @ parameters[:4] + 0.3
    chance = 1 / (1 + np.exp(-logits))
    expected = -np.log(np.where(LABELS == 1, chance, 1 - chance))
    np.testing.assert_allclose(Logistic().losses(parameters, FEATURES, LABELS), expected, rtol=1e-5)


def naive(mechanism, key, records):
    """Run one training of logistic regression, record by record; return x_t of all steps."""
    features, labels, present = records[:, :-2].astype(float), records[:, -2], records[:, -1]
    inputs = np.append(features, np.ones((len(features), 1)), axis=1)
    parameters, lengths = np.zeros(inputs.shape[1]), []
    sampling, n = mechanism.sampling, len(records)
    carried = sampling.start(n)
    for t in range(mechanism.num_steps):
        keys = Keys(random.fold_in(key, 2**32 - 1), random.fold_in(key, 2 * t))
        batch, carried = sampling.batch(keys, carried, jnp.uint32(t), n)
        batch = np.ones(n, bool) if batch is None else np.asarray(batch)
        noise = random.normal(random.fold_in(key, 2 * t + 1), inputs.shape[1], dtype=jnp.float32)
        total = mechanism.noise_multiplier * mechanism.clip * np.asarray(noise, float)
        for i in range(n):
            gradient = (1 / (1 + math.exp(-inputs[i] @ parameters)) - labels[i]) * inputs[i]
            norm = np.linalg.norm(gradient)
            if batch[i] and present[i]:
                total += gradient * min(1, mechanism.clip / norm)
            if i == n - 1:
                own = gradient / norm
        lengths.append(total @ own / mechanism.clip)
        size = {FullBatch: n, Poisson: 0.4 * n, Shuffle: 4}[type(sampling)]
        parameters -= mechanism.learning_rate * total / size
    return np.array(lengths), parameters, own


@pytest.mark.one_in(6)
@pytest.mark.parametrize("sampling", [FullBatch(), Poisson(0.4), Shuffle(4)])
@pytest.mark.parametrize("records", [DATABASE, NEIGHBOR])
def test_trainings_are_those_of_a_naive_loop(sampling, records):
    mechanism = DpSgd(0.7, clip=0.8, learning_rate=0.5, num_steps=8, sampling=sampling)
    key = jax.random.key(3)
    lengths, _, _ = naive(mechanism, key, records)
    expected = {"max": lengths.max(), "range": np.ptp(lengths), "likelihood": lengths.sum()}
    if isinstance(sampling, Poisson):
        ratio = np.exp((lengths - 0.5) / 0.7**2)
        expected["likelihood"] = np.log(0.6 + 0.4 * ratio).sum()
    for score, value in expected.items():
        found = replace(mechanism, score=score).train(key, jnp.asarray(records))
        assert float(found) == pytest.approx(value, rel=1e-3, abs=1e-3)


@pytest.mark.slow
def test_the_last_parameters_show_the_sum_where_the_canary_saturates():
    pair = canary_pair(FEATURES, LABELS)
    options = {"noise_multiplier": 0.5, "num_steps": 30, "clip": 0.7}
    for sampling in (FullBatch(), Poisson(0.3)):
        last = DpSgd(**options, sampling=sampling, score="final")
        key, records = jax.random.key(1), jnp.asarray(pair.database[0])
        total = naive(replace(last, sampling=FullBatch()), key, pair.database[0])[0].sum()
        found = float(last.train(key, records))
        if sampling == FullBatch():
            # Parameters near 0 are accurate to a part in a thousand.
            assert found == pytest.approx(total, rel=2e-3)
        assert np.isfinite(found)


@pytest.mark.slow
def test_full_batches_of_the_canary_alone_are_normal():
    """x_t = present + sigma z, so the score is N(T present, T sigma^2); KS test at 1e-5."""
    mechanism = DpSgd(2.0, num_steps=9)
    for records, mean in ((ALONE.database[0], 9.0), (ALONE.neighbor[0], 0.0)):
        drawn = np.asarray(mechanism.sample(jax.random.key(0), jnp.asarray(records), 3000))
        assert stats.kstest((drawn - mean) / 6, "norm").pvalue > 1e-5
    assert mechanism.mu == 1.5


@pytest.mark.slow
def test_poisson_batches_of_the_canary_alone_are_mixtures():
    """The largest of T draws of (1 - q) N(0, sigma^2) + q N(1, sigma^2); KS test at 1e-5."""
    rate, sigma, steps = 0.3, 0.4, 5
    mechanism = DpSgd(sigma, num_steps=steps, sampling=Poisson(rate), score="max")
    drawn = mechanism.sample(jax.random.key(5), jnp.asarray(ALONE.database[0]), 3000)

    def law(x):
        one = (1 - rate) * stats.norm.cdf(x / sigma) + rate * stats.norm.cdf((x - 1) / sigma)
        return one**steps

    assert stats.kstest(np.asarray(drawn), law).pvalue > 1e-5


def test_the_likelihood_score_is_that_of_densities():
    sigma, lengths = 0.7, np.random.default_rng(1).normal(size=9)
    without = stats.norm.pdf(lengths, 0, sigma)
    mixed = 0.8 * without + 0.2 * stats.norm.pdf(lengths, 1, sigma)
    found = float(likelihood_score(lengths, sigma, 0.2))
    assert found == pytest.approx(np.log(mixed / without).sum(), rel=1e-5)
    # All records are in every batch: the ratio increases with the sum.
    assert float(likelihood_score(lengths, sigma)) == pytest.approx(lengths.sum(), rel=1e-5)


def batches(sampling, key, num_steps, num_records):
    """Return the batches of one training, bool [T, n]."""
    carried, found = sampling.start(num_records), []
    for t in range(num_steps):
        keys = Keys(random.fold_in(key, 2**32 - 1), random.fold_in(key, 2 * t))
        batch, carried = sampling.batch(keys, carried, jnp.uint32(t), num_records)
        found.append(batch)
    return jnp.stack(found)


def test_batches():
    keys = jax.random.split(jax.random.key(0), 2000)
    assert batches(Poisson(1 - 1e-12), keys[0], 3, 7).all()
    taken = np.asarray(jax.vmap(lambda k: batches(Poisson(0.25), k, 1, 7)[0])(keys))
    # 14,000 coins: five standard deviations; adjacent coins in one word are independent.
    assert abs(taken.mean() - 0.25) < 5 * math.sqrt(0.1875 / 14_000)
    assert abs((taken[:, 0] & taken[:, 4]).mean() - 0.0625) < 5 * math.sqrt(0.0586 / 2000)
    shuffled = np.asarray(jax.vmap(lambda k: batches(Shuffle(3), k, 8, 12))(keys))
    first, second = shuffled[:, :4], shuffled[:, 4:]
    for epoch in (first, second):
        assert (epoch.sum(axis=1) == 1).all() and (epoch.sum(axis=2) == 3).all()
        chances = epoch.mean(axis=0)
        assert np.all(abs(chances - 0.25) < 5 * math.sqrt(0.1875 / 2000))
    assert (first != second).any(axis=(1, 2)).all()


@pytest.mark.parametrize("number", [1, 2, 12, 1000, 70_000])
def test_ranks_are_those_of_both_words(number):
    words = np.random.default_rng(0).integers(0, 2**32, (2, number), dtype=np.uint32)
    words[0, number // 2 :] = words[0, 0]  # Ties are broken by the second word.
    expected = np.argsort(np.lexsort((words[1], words[0])))
    index = np.uint32((1 << (number - 1).bit_length()) - 1)
    if number < 2000:
        assert len(np.unique(words[1] & ~index)) == number
        np.testing.assert_array_equal(_ranks(*map(jnp.asarray, words)), expected)
    else:
        words[0] = np.random.default_rng(1).permutation(number)
        np.testing.assert_array_equal(_ranks(*map(jnp.asarray, words)), words[0])


@pytest.mark.slow
def test_blocks_draw_other_trainings():
    mechanism = DpSgd(2.0, num_steps=2)
    drawn = np.asarray(mechanism.sample(jax.random.key(0), jnp.asarray(ALONE.database[0]), 2500))
    assert drawn.shape == (2500,) and len(np.unique(drawn)) > 2400


@pytest.mark.one_in(3)
@pytest.mark.parametrize("sampling", [FullBatch(), Poisson(0.1), Shuffle(20)])
def test_a_training_needs_at_most_16_bytes_per_record(sampling):
    """Compiled memory of a block: two or three float32 arrays, and the order of one epoch."""
    mechanism = DpSgd(2.0, num_steps=50, sampling=sampling)
    assert compiled_memory(mechanism, 256) <= 16 * 200 * 256
    # More trainings need more blocks, one after another; each training has a key and a score.
    assert compiled_memory(mechanism, 1024) <= 16 * 200 * 256 + 20 * 1024


def test_blocks_of_networks_are_smaller():
    """Activations of 16 hidden units alone are 64 bytes per record."""
    network = DpSgd(2.0, num_steps=50, model=Network(16))
    assert compiled_memory(network, 1024) <= 16 * 200 * 256 + 20 * 1024


def compiled_memory(mechanism, num_samples):
    """Return the bytes that the compiled program allocates for temporaries, with 200 records."""
    sample = jax.jit(lambda key: mechanism.sample(key, jnp.zeros((200, 22)), num_samples))
    return sample.lower(jax.random.key(0)).compile().memory_analysis().temp_size_in_bytes


@pytest.mark.slow
def test_a_right_training_is_audited_near_its_level():
    """mu = 2.5 with 10,000 trainings per side at confidence 1 - 1e-5."""
    mechanism = DpSgd(4.0, num_steps=100)
    pair = canary_pair(FEATURES, LABELS)
    method = dpjax.Events(3000, 7000)
    found = dpjax.audit(mechanism, pair, method=method, notion=dpjax.Gdp(), confidence=1 - 1e-5)
    assert 2.0 < found.lower_bound <= 2.5


@pytest.mark.slow
def test_a_users_own_training_is_audited():
    """A function (key, records) -> score of the same records, with half of the noise."""

    def train(key, records):
        noise = jax.random.normal(key, (10, 3))
        gradient = jnp.array([1.0, 0, 0]) * records[-1, -1]
        return (gradient[None] + 2.0 * noise).sum(axis=0)[0]

    claim = math.sqrt(10) / 4
    method = dpjax.Events(600, 1400)
    found = dpjax.audit(
        train, ALONE, method=method, notion=dpjax.Gdp(), claim=claim, confidence=0.99
    )
    assert found.verdict == "violated" and found.lower_bound < 2 * claim


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: DpSgd(score="best"), "score"),
        (lambda: DpSgd(-1.0), "noise_multiplier must"),
        (lambda: DpSgd(num_steps=0), "num_steps must"),
        (lambda: DpSgd(model=Network(2), score="final"), "must not be 'final' for a network"),
        (lambda: DpSgd(np.float32(-1.0)), "noise_multiplier must"),
        (lambda: DpSgd(clip=np.float32(np.nan)), "clip must"),
        (lambda: Poisson(1.0), "rate must"),
        (lambda: Shuffle(0), "size must"),
        (lambda: Network(0), "hidden must"),
        (lambda: DpSgd(sampling=Poisson(0.1)).mu, "mu is defined for FullBatch() only"),
        (lambda: canary_pair(np.zeros((3, 2)), np.zeros(2)), "features must have shape [n, d]"),
        (lambda: canary_pair(np.zeros((3, 2)), np.zeros(3), np.zeros(3)), "canary must be of"),
        (lambda: canary_pair(np.full((3, 2), np.nan), np.zeros(3)), "labels must be finite"),
        (
            lambda: DpSgd(sampling=Shuffle(5)).sample(jax.random.key(0), jnp.asarray(DATABASE), 1),
            "size must divide the number of records, 12",
        ),
    ],
)
def test_what_cannot_be_trained_is_refused(make, sentence):
    with pytest.raises(ValueError) as refused:
        make()
    assert sentence in str(refused.value)


@pytest.mark.parametrize("canary", [12, -13])
def test_a_canary_must_be_a_record(canary):
    """Otherwise, all scores are 0, and no audit finds a fault."""
    mechanism = DpSgd(num_steps=2, canary=canary)
    with pytest.raises(ValueError, match="canary must be the index of one of 12 records, but was"):
        mechanism.sample(jax.random.key(0), jnp.asarray(DATABASE), 3)
    with pytest.raises(TypeError, match="canary must be an integer"):
        DpSgd(canary=1.5)
    ends = [
        DpSgd(num_steps=2, canary=at).train(jax.random.key(0), jnp.asarray(DATABASE))
        for at in (11, -1)
    ]
    assert ends[0] == ends[1]


def test_the_canary_is_a_record_in_which_the_databases_differ():
    """Otherwise, the score hardly depends on the canary, and no audit finds a fault."""
    method = dpjax.Events(num_samples=20, num_confirm=40)
    wrong = DpSgd(num_steps=2, canary=0)
    message = (
        r"^canary must be .* was 0: in the pair .*, they differ in record 11\. Pass canary=11, "
    )
    with pytest.raises(ValueError, match=message):
        dpjax.audit(wrong, PAIR, method=method)
    with pytest.raises(ValueError, match=message):
        Entry(wrong, method, PAIR)
    rows = np.roll(DATABASE, 1, axis=0), np.roll(NEIGHBOR, 1, axis=0)
    for right, pairs in (
        (wrong, [rows]), (wrong, Pairs(*(side[None] for side in rows))),
        (replace(wrong, canary=11), PAIR), (replace(wrong, canary=-1), PAIR),
        (replace(wrong, score="energy"), PAIR), (wrong, [(DATABASE, DATABASE)]),
    ):  # fmt: skip
        assert len(Entry(right, method, pairs).pairs.labels) == 1


@pytest.mark.parametrize(
    ("noise", "sampling", "steps", "delta", "epsilon"),
    [
        (10.0, FullBatch(), 100, 1e-5, 4.377178),
        (2.0, FullBatch(), 4, 1e-6, 4.886554),
        (8.0, Poisson(0.5), 20, 1e-5, 1.077176),
        pytest.param(1.0, Poisson(0.1), 100, 1e-5, 7.046603, marks=pytest.mark.slow),
        pytest.param(0.7, Poisson(0.004), 250, 1e-5, 1.496431, marks=pytest.mark.slow),
    ],
)
def test_claims_of_an_accountant(noise, sampling, steps, delta, epsilon):
    pytest.importorskip("dp_accounting")
    claim = accounted(noise, sampling, steps)
    assert dpjax.Epsilon(delta).claimed(claim) == pytest.approx(epsilon, abs=2e-5)


def test_an_audit_scans_an_accountants_profile():
    pytest.importorskip("dp_accounting")
    claim = accounted(15.0, FullBatch(), 50)
    mechanism = DpSgd(7.5, num_steps=50)
    found = dpjax.audit(
        mechanism, ALONE, method=dpjax.Events(600, 1400), notion=dpjax.Profile(), claim=claim
    )
    assert found.verdict == "violated"
    epsilon, shown, claimed = found.statement.crossing
    mu = 50**0.5 / 15
    first, second = (stats.norm.cdf(s * mu / 2 - epsilon / mu) for s in (1, -1))
    assert shown > claimed == pytest.approx(first - math.exp(epsilon) * second, abs=2e-4)


def test_an_accountant_is_refused_where_it_says_nothing(monkeypatch):
    with pytest.raises(ValueError, match=r"sampling must be FullBatch\(\) or Poisson"):
        accounted(1.0, Shuffle(2), 10)
    with pytest.raises(ValueError, match="noise_multiplier must"):
        accounted(0.0, FullBatch(), 10)
    monkeypatch.setattr("dpjax.core.errors.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"dpjax\[accounting\]"):
        accounted(1.0, FullBatch(), 10)


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda: DpSgd(sampling="full"), TypeError, r"sampling must be FullBatch\(\), .*'full'"),
        (lambda: DpSgd(sampling=FullBatch), TypeError, "sampling must be FullBatch"),
        (lambda: DpSgd(model=None), TypeError, r"model must be Logistic\(\) or .* was None"),
        (lambda: Poisson(1e-10), ValueError, r"rate must be at least 2\^-32, but was 1e-10"),
        (lambda: likelihood_score([1.0], 1.0, 1.5), ValueError, r"rate must be in \(0, 1\]"),
        (lambda: likelihood_score([1.0], 1.0, 0.0), ValueError, r"rate must be in \(0, 1\]"),
        (lambda: canary_pair([[1.0]], [1], amplitude=1e20), ValueError, "the sum of their squares"),
    ],
)
def test_arguments_that_would_hide_the_canary_are_refused(made, error, message):
    with pytest.raises(error, match=message):
        made()
