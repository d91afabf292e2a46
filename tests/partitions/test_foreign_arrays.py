"""Outputs that are arrays of other libraries."""

import numpy as np
import pytest

import dpjax
from dpjax.core.arrays import to_numpy


class Tensor:
    """Behaves like a PyTorch tensor that NumPy cannot convert."""

    requires_grad = True

    def __init__(self, values, dtype="float32", sparse=False):
        self.values, self.dtype, self.sparse = np.asarray(values, np.float32), dtype, sparse

    def __array__(self, *args, **kwargs):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def __dlpack__(self, *args, **kwargs):
        raise NotImplementedError

    def __len__(self):
        return len(self.values)

    def to_dense(self):
        return Tensor(self.values, self.dtype)

    def float(self):
        return Tensor(self.values, "float32", self.sparse)

    def numpy(self, force=False):
        if not force or self.sparse:
            raise RuntimeError("use tensor.detach().cpu().numpy()")
        if self.dtype == "bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values


@pytest.mark.parametrize("options", [{}, {"dtype": "bfloat16"}, {"sparse": True}])
def test_tensors_that_numpy_cannot_convert(options):
    tensor = Tensor([[0.5, 1.0], [2.0, -3.0]], **options)
    np.testing.assert_array_equal(to_numpy(tensor), tensor.values)


def laplace(database, count, generator):
    return database + generator.laplace(size=count)


BATCHED = {
    "a tensor": Tensor,
    "a list of tensors": lambda values: [Tensor(value) for value in values],
}
ALONE = {
    "a tensor": lambda values: Tensor(values[0]),
    "a vector": lambda values: Tensor(values),
    "a dict of tensors": lambda values: {"weight": Tensor([values]), "bias": Tensor(values)},
}


@pytest.mark.parametrize("form", BATCHED.values(), ids=BATCHED)
def test_batches_of_tensors_are_audited_like_arrays(form):
    results = [
        dpjax.audit(
            lambda database, num_samples, rng, form=form: form(laplace(database, num_samples, rng)),
            [(0.0, 1.0)],
            method=dpjax.Events(400, 800),
        )
        for form in (form, lambda values: values.astype(np.float32))
    ]
    assert results[0].lower_bound == results[1].lower_bound > 0


@pytest.mark.parametrize("form", ALONE.values(), ids=ALONE)
def test_tensors_that_are_single_outputs(form):
    result = dpjax.audit(
        lambda database, rng: form(laplace(database, 1, rng)),
        [(0.0, 1.0)],
        method=dpjax.Events(400, 800),
    )
    assert result.lower_bound > 0.2


def test_recorded_tensors():
    x, y = (np.random.default_rng(seed).laplace(seed, size=2_000) for seed in (0, 1))
    found = dpjax.audit(dpjax.Recorded(Tensor(x), Tensor(y)), claim=0.3)
    expected = dpjax.audit(dpjax.Recorded(*(z.astype(np.float32) for z in (x, y))), claim=0.3)
    assert found.lower_bound == expected.lower_bound > 0.3


def test_tensors_of_scores():
    included = np.random.default_rng(0).random(200) < 0.5
    result = dpjax.audit(dpjax.OneRun(Tensor(included), included), claim=0.5)
    assert result.verdict == "violated"
    runs = dpjax.CanaryRuns(lambda included, seed: Tensor(included), 200)
    assert dpjax.audit(runs, claim=0.5).verdict == "violated"
