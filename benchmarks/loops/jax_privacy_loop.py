import dp_accounting
import jax
import jax.numpy as jnp
import jax_privacy
from digits import CLAIM, CLIP, LEARNING_RATE, PAIR, RATE, SIGMA, STEPS
from jax_privacy import noise_addition

import dpjax
from dpjax.mechanisms.training import likelihood_score


def loss(weights, x, y):
    logits = x @ weights
    return jnp.mean(jax.nn.softplus(logits) - y * logits)


gradient = jax_privacy.clipped_grad(loss, l2_clip_norm=CLIP, batch_argnums=(1, 2))
SENSITIVITY = gradient.sensitivity(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)


def train(key, records):
    x, y, present = records[:, :-2], records[:, -2], records[:, -1] == 1
    batches, noise = jax.random.split(key)
    privatizer = noise_addition.gaussian_privatizer(stddev=SIGMA * SENSITIVITY, prng_key=noise)
    weights = jnp.zeros(x.shape[1])

    def step(carry, key):
        weights, state = carry
        taken = present & jax.random.bernoulli(key, RATE, present.shape)
        total = gradient(weights, x, y, is_padding_example=~taken)
        noisy, state = privatizer.update(total, state)
        weights -= LEARNING_RATE * noisy / (RATE * len(y))
        return (weights, state), -noisy[-1] / CLIP  # along the canary, whose label is 1

    keys = jax.random.split(batches, STEPS)
    _, lengths = jax.lax.scan(step, (weights, privatizer.init(weights)), keys)
    return likelihood_score(lengths, SIGMA / 2, RATE)


if __name__ == "__main__":
    draws = dpjax.Events(3000, 7000)
    print(dpjax.audit(train, PAIR, method=draws, notion=dpjax.Epsilon(1e-5), claim=CLAIM))
