import numpy as np
from sklearn.datasets import load_digits

from dpjax.mechanisms.training import Poisson, accounted, canary_pair

SIGMA, RATE, STEPS, CLIP, LEARNING_RATE = 1.0, 0.02, 50, 1.0, 1e-3

digits = load_digits()
pixels = digits.data[:99].reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16) / 16
PAIR = canary_pair(pixels, np.asarray(digits.target[:99] >= 5))
CLAIM = accounted(SIGMA, Poisson(RATE), STEPS)
