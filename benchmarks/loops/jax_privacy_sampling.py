import jax
import jax.numpy as jnp
import numpy as np
from digits import CLAIM, CLIP, LEARNING_RATE, PAIR, RATE, SIGMA, STEPS
from jax_privacy import noise_addition
from jax_privacy.batch_selection import CyclicPoissonSampling
from jax_privacy_loop import SENSITIVITY, gradient

import dpjax
from dpjax.mechanisms.training import likelihood_score

SAMPLING, WIDEST = CyclicPoissonSampling(sampling_prob=RATE, iterations=STEPS), 32


def batches(num_records, rng):
    """Return the batches of one training, int32 [steps, widest], padded with -1."""
    padded = np.full((STEPS, WIDEST), -1, np.int32)
    for row, batch in zip(padded, SAMPLING.batch_iterator(num_records, rng), strict=True):
        row[: len(batch)] = batch
    return padded


@jax.jit
def train(key, records, chosen):
    x, y, present = records[:, :-2], records[:, -2], records[:, -1] == 1
    privatizer = noise_addition.gaussian_privatizer(stddev=SIGMA * SENSITIVITY, prng_key=key)
    weights = jnp.zeros(x.shape[1])

    def step(carry, batch):
        weights, state = carry
        absent = (batch == -1) | ~present[batch]
        total = gradient(weights, x[batch], y[batch], is_padding_example=absent)
        noisy, state = privatizer.update(total, state)
        weights -= LEARNING_RATE * noisy / (RATE * len(y))
        return (weights, state), -noisy[-1] / CLIP

    _, lengths = jax.lax.scan(step, (weights, privatizer.init(weights)), chosen)
    return likelihood_score(lengths, SIGMA / 2, RATE)


def scores(records, num_samples, seed):
    rng = np.random.default_rng(seed)
    chosen = np.stack([batches(len(records), rng) for _ in range(num_samples)])
    keys = jax.random.split(jax.random.key(seed), num_samples)
    return np.asarray(jax.vmap(train, (0, None, 0))(keys, jnp.float32(records), chosen))


if __name__ == "__main__":
    draws, loop = dpjax.Events(300, 700), dpjax.HostMechanism(scores)
    print(dpjax.audit(loop, PAIR, method=draws, notion=dpjax.Profile(), claim=CLAIM))
