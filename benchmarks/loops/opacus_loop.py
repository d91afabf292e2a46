import logging

import numpy as np
import torch
from digits import CLAIM, CLIP, LEARNING_RATE, PAIR, RATE, SIGMA
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

import dpjax
from dpjax.mechanisms.training import likelihood_score

logging.getLogger("opacus").setLevel("ERROR")  # no warnings of empty first batches


def train(records, seed):
    torch.manual_seed(seed)
    x, y, present = (torch.tensor(part) for part in np.split(records, [-2, -1], axis=1))
    model = torch.nn.Linear(x.shape[1], 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    data = TensorDataset(x * present, y)  # absent: a record of zeros, whose gradient is zero
    size = round(RATE * len(y))
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=LEARNING_RATE),
        data_loader=DataLoader(data, batch_size=size),
        noise_multiplier=SIGMA,
        max_grad_norm=CLIP,
    )
    lengths = []
    for features, labels in loader:
        optimizer.zero_grad()
        logits = model(features)
        torch.nn.functional.binary_cross_entropy_with_logits(logits, labels).backward()
        optimizer.step()
        lengths.append(-float(next(model.parameters()).grad[0, -1]) * size / CLIP)
    return likelihood_score(np.array(lengths), SIGMA / 2, RATE)


def scores(records, num_samples, seed):
    seeds = np.random.default_rng(seed).integers(2**62, size=num_samples)
    return np.array([train(np.float32(records), int(seed)) for seed in seeds])


if __name__ == "__main__":
    draws, curve = dpjax.Events(300, 700), dpjax.Profile()
    loop = dpjax.HostMechanism(scores)
    print(dpjax.audit(loop, PAIR, method=draws, notion=curve, claim=CLAIM))
