import jax
import jax.numpy as jnp
import optax
from digits import CLAIM, CLIP, LEARNING_RATE, PAIR, RATE, SIGMA, STEPS
from optax.contrib import differentially_private_aggregate

import dpjax
from dpjax.mechanisms.training import likelihood_score


def loss(weights, x, y):
    logits = x @ weights
    return jax.nn.softplus(logits) - y * logits


def train(key, records):
    x, y, present = records[:, :-2], records[:, -2], records[:, -1] == 1
    batches, noise = jax.random.split(key)
    aggregate = differentially_private_aggregate(CLIP, SIGMA, noise)
    optimizer = optax.chain(aggregate, optax.sgd(LEARNING_RATE))
    weights = jnp.zeros(x.shape[1])

    def step(carry, key):
        weights, state = carry
        taken = present & jax.random.bernoulli(key, RATE, present.shape)
        each = jax.vmap(jax.grad(loss), (None, 0, 0))(weights, x, y)
        updates, state = optimizer.update(each * taken[:, None], state)
        # The aggregate divides by the number of all records, including the padding.
        length = updates[-1] * len(y) / (LEARNING_RATE * CLIP)
        return (optax.apply_updates(weights, updates), state), length

    keys = jax.random.split(batches, STEPS)
    _, lengths = jax.lax.scan(step, (weights, optimizer.init(weights)), keys)
    return likelihood_score(lengths, SIGMA / 2, RATE)


if __name__ == "__main__":
    draws = dpjax.Events(3000, 7000)
    print(dpjax.audit(train, PAIR, method=draws, notion=dpjax.Epsilon(1e-5), claim=CLAIM))
