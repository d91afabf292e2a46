"""Data frames, some of which look like records and others like groups of records."""

import json

import numpy as np
import pandas as pd
import pytest

import dpjax
from dpjax.partitions.outputs import Encoder


def frame(rng, *, twice, rows=12):
    """Return a frame of unique names, one of which may occur twice."""
    names = rng.integers(0, 10**9, rows)
    names[-1] = names[0] if twice else names[-1]
    return pd.DataFrame({"name": [f"n{name}" for name in names], "v": rng.normal(size=rows)})


def batch(rng, *twice):
    return [frame(rng, twice=each) for each in twice]


def encoder_of(*batches):
    """Return an encoder and the first outputs of both sides in their final form."""
    encoder = Encoder("f")
    return encoder, encoder.fixed([encoder.encode(part) for part in batches])


@pytest.mark.parametrize("first", [True, False])
def test_all_frames_have_one_form(first):
    """The first batch decides; equal frames are encoded alike in any batch."""
    rng = np.random.default_rng(0)
    one, other = batch(rng, *[first] * 20), batch(rng, *[not first] * 20)
    encoder, (before, after) = encoder_of(one, other)
    for part, outputs in ((one, before), (other, after)):
        again = encoder.encode(part)
        assert not again.labels.any() and not outputs.labels.any()
        assert np.allclose(again.values, outputs.values)
    place = encoder.parts.index("['different values of name']")
    assert set(before.values[:, place]) == {11 if first else 12}
    assert set(after.values[:, place]) == {12 if first else 11}


@pytest.mark.parametrize(("number", "as_records"), [(3, False), (5, True), (8, True)])
def test_the_form_of_most_frames_of_the_first_batch(number, as_records):
    rng = np.random.default_rng(1)
    encoder = Encoder("f")
    outputs = encoder.encode(batch(rng, *[True] * number, *[False] * (10 - number)))
    assert encoder.to_plain()["as_records"] is as_records
    assert len({*outputs.labels.tolist()}) == (1 if as_records else 10)


def test_small_frames_are_summarized_like_most_frames():
    rng = np.random.default_rng(2)
    sizes = [12, 12, 9, 12]
    outputs = Encoder("f").encode([frame(rng, twice=True, rows=size) for size in sizes])
    assert len({*outputs.labels.tolist()}) == 1


@pytest.mark.parametrize("first", [True, False])
def test_forms_are_stored_and_restored(first):
    rng = np.random.default_rng(3)
    encoder, _ = encoder_of(batch(rng, *[first] * 20), batch(rng, *[not first] * 20))
    again = Encoder("f")
    again.restore(json.loads(json.dumps(encoder.to_plain())))
    later = batch(rng, True, False)
    assert again.encode(later).values.tolist() == encoder.encode(later).values.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0, 1), (1, 0)])
def test_independent_frames_of_two_forms_are_not_doubtful(shares):
    """A doubt about independent draws has a probability below 1e-6."""

    def release(database, rng):
        return frame(rng, twice=rng.random() < shares[int(database)])

    method = dpjax.Events(num_draws=300)
    found = dpjax.audit(release, [(0, 1)], claim=1.0, method=method, key=0)
    assert found.verdict == ("not refuted" if shares[0] == shares[1] else "violated")


def test_frames_that_occur_late_do_not_change_the_form_of_others():
    rng = np.random.default_rng(4)
    encoder, _ = encoder_of([1.5, 2.5], [3.5])
    frames = batch(rng, True, True, False)
    encoder.encode(frames)
    assert encoder.to_plain()["as_records"] is None
