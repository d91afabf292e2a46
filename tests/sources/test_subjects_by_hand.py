"""Subjects, databases and pilots that JAX can draw from, and messages about the others."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import Pairs
from dpjax.core import random
from dpjax.core.types import FiniteSpace, IntegerSpace, RealSpace, VectorSpace
from dpjax.mechanisms import Laplace, ReportNoisyMax
from dpjax.partitions import Box, Encoder, Outcomes
from dpjax.partitions._columns import parts_note
from dpjax.partitions._entries import NO_ENTRIES
from dpjax.sources import Rounds, _drawn_counts, _pilots
from dpjax.sources._drawn_arrays import DrawnArrays, _refuse_lost_outcomes
from dpjax.sources._layouts import block_size
from dpjax.sources._pilots import Laid, kept_draws, options_of
from dpjax.sources._subject import (
    _PILOT_SAMPLES,
    check_shape,
    inner_range,
    mechanism_at,
    pairs_of,
    pilot_outputs,
)

ONE = Pairs(np.array([0.0]), np.array([1.0]))


def test_pairs_of_subjects():
    assert pairs_of(Laplace(), [(0.0, 2.0)]).neighbor.tolist() == [2.0]
    assert len(pairs_of(ReportNoisyMax(), None)) == len(ReportNoisyMax().standard_pairs())
    for subject, error, said in (
        ("laplace", TypeError, r"but was the name 'laplace': make .*find_mechanism\('laplace'\)"),
        (Laplace, TypeError, r"but was the class Laplace: write Laplace\(\.\.\.\) with"),
        (np.zeros(3), TypeError, "but was of type ndarray: pass outputs that were recorded"),
        (lambda key, x: x, ValueError, "pairs must be given for a mechanism that is not built in"),
    ):
        with pytest.raises(error, match=said):
            pairs_of(subject, None)

    class Module:
        def __call__(self):
            pass

    Module.__module__ = "torch.nn"
    with pytest.raises(TypeError, match="but was the torch module Module: to audit its training"):
        pairs_of(Module(), None)
    Module.__module__ = "mine"
    assert len(pairs_of(Module(), ONE)) == 1


def shaped(*sides):
    return Pairs(*(np.array(side) for side in sides))


def test_shapes_of_databases():
    six = SimpleNamespace(num_queries=2)
    single = SimpleNamespace(standard_pairs=None)
    check_shape(six, shaped([[0.0, 1.0]], [[1.0, 1.0]]))
    check_shape(single, ONE)
    check_shape(SimpleNamespace(), shaped([[0.0, 1.0]], [[1.0, 1.0]]))
    for mechanism, pairs, said in (
        (six, ONE, r"with 2 query answers .*, but had the shape \(\)"),
        (six, shaped([[0.0]], [[1.0]]), r"but had the shape \(1,\)"),
        (
            single,
            shaped([[0.0, 1.0]], [[1.0, 1.0]]),
            r"single numbers .*, but had the shape \(2,\)",
        ),
        (six, Pairs({"a": np.zeros(1)}, {"a": np.ones(1)}), "databases of the same shape"),
    ):
        with pytest.raises(ValueError, match=f"pairs must hold .*{said}"):
            check_shape(mechanism, pairs)


def reals(key, database):
    return jnp.sum(database)


def changing(key, database):
    return jnp.sum(database) if database.shape == (2,) else database


def test_outputs_of_both_databases_are_of_one_kind():
    different = Pairs(np.zeros((1, 2)), np.zeros((1, 3)))
    assert mechanism_at(reals, different).output_space == RealSpace()
    with pytest.raises(ValueError, match=r"changing has outputs that are .* for the database and "):
        mechanism_at(changing, different)
    assert mechanism_at(Laplace(3.0), ONE).epsilon == 3.0


def test_the_inner_range_is_that_of_99_percent():
    outputs = np.arange(1001.0)
    assert inner_range(outputs) == (pytest.approx(5.0), pytest.approx(995.0))
    low, high = inner_range(np.stack([outputs, -2 * outputs], axis=1))
    assert low.tolist() == pytest.approx([5, -1990]) and high.tolist() == pytest.approx([995, -10])
    for wrong, said in (
        (np.append(outputs, np.nan), "in a pilot, the mechanism returned NaN or an infinity"),
        (np.append(outputs, -np.inf), "in a pilot, the mechanism returned NaN or an infinity"),
        (np.zeros(100), "in a pilot, the mechanism returned a constant"),
        (
            np.stack([outputs, np.ones(1001)], axis=1),
            "in a pilot, the mechanism returned a constant",
        ),
    ):
        with pytest.raises(ValueError, match=said):
            inner_range(wrong)


def test_a_pilot_is_of_all_databases():
    """Keys differ between the sides, and all databases of one side share a key."""
    pairs = Pairs(np.array([0.0, 100.0]), np.array([200.0, 300.0]))
    found = pilot_outputs(Laplace(1.0), pairs, random.as_key(3))
    assert found.shape == (4 * _PILOT_SAMPLES,)
    parts = found.reshape(4, -1) - 100 * np.arange(4)[:, None]
    np.testing.assert_allclose(parts[0], parts[1], atol=1e-3)
    np.testing.assert_allclose(parts[2], parts[3], atol=1e-3)
    assert np.abs(parts[0] - parts[2]).max() > 1 and np.abs(parts).max() < 20
    again = pilot_outputs(Laplace(1.0), pairs, random.as_key(4))
    assert not np.array_equal(again, found)


def test_outcomes_that_are_lost():
    _refuse_lost_outcomes(np.array([0, 1, 4]), 5)
    for outputs, said in (
        ([0, 5, 7, 1], "num_outcomes is 5, but 5 and other integers outside 0 .. 4 make up 50.00%"),
        ([-1, 0, 0, 0], "num_outcomes is 5, but -1 and other integers outside 0 .. 4 make up 25"),
    ):
        with pytest.raises(ValueError, match=said):
            _refuse_lost_outcomes(np.array(outputs), 5)


def arrays(space, region):
    found = DrawnArrays.__new__(DrawnArrays)
    found._space, found.region = space, region
    return found


def test_notes_of_lost_outcomes():
    whole = Outcomes(0, 3, np.ones(3, bool))
    found = arrays(FiniteSpace(3), whole)
    (note,) = found.notes_of_lost(np.array([[0.5, 0.25, 0.25], [0.5, 0.25, 0.125]]))
    assert note.startswith(
        "12.50% of the outputs on one side of the chosen pair were integers outs"
    )
    assert "0 .. 2 (num_outcomes)" in note
    assert found.notes_of_lost(np.array([[1.0, 0.0, 0.0], [1 - 0.9e-6, 0.0, 0.0]])) == []
    assert len(found.notes_of_lost(np.array([[1.0, 0.0, 0.0], [1 - 1.1e-6, 0.0, 0.0]]))) == 1
    lost = np.array([[0.5, 0.0, 0.0]] * 2)
    for space, region in (
        (RealSpace(), whole), (FiniteSpace(3), Box([0.0], [1.0])),
        (FiniteSpace(3), Outcomes(1, 3, np.ones(3, bool))),
        (FiniteSpace(3), Outcomes(0, 2, np.ones(2, bool))),
    ):  # fmt: skip
        assert arrays(space, region).notes_of_lost(lost) == []
    assert found.relabel(7) == 7


def test_options_of_cells():
    assert options_of(FiniteSpace(3), None) == {
        "outcomes": 3, "ordered": FiniteSpace(3).ordered, "whole": True, "region": None,
    }  # fmt: skip
    box = Box([0.0], [1.0])
    assert options_of(RealSpace(), box) == {
        "outcomes": None, "ordered": True, "whole": False, "region": box,
    }  # fmt: skip
    assert options_of(IntegerSpace(), None)["whole"] and options_of(VectorSpace(2), None)["ordered"]
    unordered = FiniteSpace(3, ordered=False) if not FiniteSpace(3).ordered else FiniteSpace(3)
    assert options_of(unordered, None)["ordered"] == unordered.ordered


def test_how_many_first_draws_are_kept():
    assert kept_draws(2) == 2**21 and kept_draws(2**15) == 128 and kept_draws(2**16) == 128


def test_cells_of_first_draws(monkeypatch):
    asked = []
    monkeypatch.setattr(
        _pilots, "lay_best", lambda *parts, **options: asked.append((parts, options))
    )
    raw = [np.arange(6.0), np.arange(6.0) + 1]
    found = Laid.by(raw, RealSpace(), "promise", 4, {"region": None})
    assert found.first.tolist() == [0, 1, 2, 3] and found.first.base is None
    ((pilots, folds, names, promise, entries), options) = asked[0]
    assert entries is NO_ENTRIES
    assert found.pilots == pilots and promise == "promise" and options == {"region": None}
    assert [len(fold) for fold in folds] == [6, 6] and list(names) == found.encoder.names
    assert [pilot.values[:, 0].tolist() for pilot in pilots] == [part.tolist() for part in raw]
    assert isinstance(found.encoder, Encoder) and found.partition is None


def test_parts_of_outputs_are_listed_up_to_twenty():
    names = [f"p{number}" for number in range(22)]
    assert parts_note(names[:20]).endswith("order: " + ", ".join(names[:20]) + ".")
    assert parts_note(names[:21]).endswith(f"{names[19]} and 1 more.")
    assert parts_note(names).endswith(f"{names[19]} and 2 more.")


@pytest.mark.parametrize(
    ("rounds", "size"),
    [
        # Blocks stay small if more than 250 pairs are searched again with at most 1,024 first
        # draws.
        ((1_024, 251, 2**21, 500), 512), ((1_025, 251, 2**21, 500), 8_192),
        ((1_024, 250, 2**21, 500), 8_192), ((100, 251, 60, 2**21), 128),
    ],
)  # fmt: skip
def test_blocks_of_many_pairs(rounds, size):
    assert block_size(Rounds(*rounds)) == size
    assert _drawn_counts._FIRST_RUN == 0
