"""Pairs of databases that are PyTorch tensors, with a stand-in for PyTorch."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import dpjax
from dpjax.databases import Domain, Within, neighbors


class Tensor:
    """An array in whose place a function would not accept a NumPy array."""

    requires_grad, device = False, "cpu"

    def __init__(self, values, dtype="float32"):
        self.values, self.dtype = np.asarray(values, "float32" if dtype == "half" else dtype), dtype
        if dtype == "half":
            with np.errstate(over="ignore"):
                self.values = self.values.astype(np.float16).astype(np.float32)

    def __len__(self):
        return len(self.values)

    def __repr__(self):
        return f"tensor({self.values})"

    def to_dense(self):
        return self

    def numpy(self, force=False):
        return self.values


@pytest.fixture(autouse=True)
def torch(monkeypatch):
    """Replace the module torch."""

    def as_tensor(values, dtype, device):
        assert isinstance(values, np.ndarray) and device == "cpu"
        return Tensor(values, dtype)

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor, as_tensor=as_tensor))


X, Y = np.array([[0.5, -1.0], [2.0, 3.0], [4.0, 5.0]], np.float32), np.array([0, 1, 1])
LIKES = {
    "a tensor": (Tensor(X), X),
    "a vector": (Tensor(Y, "int64"), Y),
    "a tuple": ((Tensor(X), Tensor(Y, "int64")), (X, Y)),
    "a tuple with an array": ((Tensor(X), Y), (X, Y)),
    "a dict": ({"x": Tensor(X), "y": Tensor(Y, "int64")}, {"x": X, "y": Y}),
}


def parts(database):
    if isinstance(database, dict):
        return [*database.values()]
    return [*database] if isinstance(database, tuple) else [database]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize(("like", "arrays"), LIKES.values(), ids=LIKES)
def test_pairs_of_tensors_are_those_of_arrays(like, arrays, relation):
    space = neighbors(like, relation)
    found, expected = ([*neighbors(x, relation)] for x in (like, arrays))
    assert len(found) == len(expected) > 20
    for pair, other in zip(found, expected, strict=True):
        assert space.allows(*pair)
        for side, wanted in zip(pair, other, strict=True):
            assert type(side) is type(like)
            triples = zip(parts(side), parts(wanted), parts(like), strict=True)
            for part, array, example in triples:
                assert type(part) is type(example) and part.dtype == example.dtype
                values = part.values if isinstance(part, Tensor) else part
                np.testing.assert_array_equal(values, array)
                assert values.shape == array.shape and values.dtype == array.dtype


REFUSED = {
    "images": (Tensor(np.ones((4, 1, 2))), r"was an array of shape \[4, 1, 2\]: reshape each"),
    "a nested tuple": (
        ((Tensor(X), Tensor(X)), Tensor(Y)),
        "like must be a tensor, .* but contained a tuple of tensors: pass its tensors as entries",
    ),
}


NUMBERS = {
    "a tensor": (Tensor(3.0), TypeError, r"was tensor\(3.0\), a tensor without axes: for a number"),
    "a tensor in a dict": ({"a": Tensor(3.0)}, ValueError, "a dict of equally long columns"),
    "an array in a dict": ({"a": np.array(3.0)}, ValueError, "a dict of equally long columns"),
}


@pytest.mark.parametrize(("like", "error", "said"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_are_refused_by_their_kind(like, error, said):
    with pytest.raises(error, match=said):
        neighbors(like)


@pytest.mark.parametrize(("like", "said"), REFUSED.values(), ids=REFUSED)
def test_tensors_that_are_refused(like, said):
    with pytest.raises(TypeError, match=said):
        neighbors(like)


def test_no_value_is_rounded_out_of_the_domain():
    domain = Domain(bounds=(0.0, 65519.0))
    sides = [side.values for pair in neighbors(Tensor([1.0, 2.0], "half"), "change-one", domain)
             for side in pair]  # fmt: skip
    assert len(sides) > 20 and max(map(np.max, sides)) <= 65504
    # In half precision, the upper bound would become 1.0009765625.
    narrow = neighbors(Tensor([0.25, 0.5], "half"), "change-one", Domain(bounds=(0.0, 1.0006)))
    assert max(np.max(side.values) for pair in narrow for side in pair) <= 1.0006


def test_an_audit_searches_among_tensors():
    def total(x, num_samples, rng):
        assert isinstance(x, Tensor)
        return np.clip(x.values, 0, 2).sum() + rng.laplace(size=num_samples)

    method = dpjax.Events(1000, 2000)
    space = neighbors(Tensor([0.5, 1.0]), num_pairs=20)
    result = dpjax.audit(total, space, claim=1.0, method=method)
    assert 1.0 < result.lower_bound <= 2.0


def test_a_vector_of_numbers_is_no_tensor():
    with pytest.raises(ValueError, match=r"a number or a vector .*: pass a NumPy array, and let"):
        [*neighbors(Tensor([1.0, 2.0]), Within(1.0, "l1"))]
