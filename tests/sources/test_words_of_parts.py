"""Events of outputs with several parts keep the names of the parts, and texts stay texts."""

import numpy as np

import dpjax
from dpjax import HostMechanism
from dpjax.partitions.outputs import Encoder

FEW = dpjax.Events(2000, 4000)
PAIR = [(0.0, 1.0)]


def event(function, **options):
    result = dpjax.audit(HostMechanism(function, **options), PAIR, method=FEW)
    return result.witness, result


def test_one_key_tells_all():
    """The means are equal, and the counts differ by 4 standard deviations."""

    def release(side, rng):
        return {"mean": rng.normal(), "count": rng.normal(8 * side)}

    witness, result = event(release, batched=False)
    assert "entry 'count' " in witness.output and "entry 'count' " in witness.event
    assert result.settings["score"]["words"] == "entry 'count'"


def test_deeper_keys_and_formulas():
    def release(side, num_samples, rng):
        draws = rng.normal(0, 5, size=(3, num_samples))
        draws += rng.normal(side, size=num_samples) - draws.mean(axis=0)
        return {"a": draws[0], "in": {"b": draws[1], "c": draws[2]}}

    witness, _ = event(release)
    # The databases differ in the sum of three parts; each part alone reveals little.
    for name in ("x['a']", "x['in']['b']", "x['in']['c']"):
        assert name in witness.output


def test_vectors_keep_their_numbers():
    witness, result = event(lambda side, n, rng: rng.normal([0, 8 * side], size=(n, 2)))
    assert "entry 1 " in witness.output and result.settings["score"]["words"] == "entry 1"


def test_recorded_dicts_keep_their_keys():
    rng = np.random.default_rng(0)
    x, y = (
        [{"mean": a, "count": b} for a, b in rng.normal([0, 8 * side], size=(1500, 2)).tolist()]
        for side in (0, 1)
    )
    assert "entry 'count' " in dpjax.audit(dpjax.Recorded(x, y)).witness.output


def test_texts_of_numpy_are_texts():
    """They are shown as texts, and equal the same Python texts."""
    encoder = Encoder("a test")
    labels = encoder.encode([np.str_("b"), "b", np.bytes_(b"b"), b"b"]).labels
    assert labels.tolist() == [1, 1, 2, 2] and encoder.names[1:] == ["'b'", "b'b'"]
    nested = Encoder("a test").encode([{"n": 1, "s": np.str_("ok")}, {"n": 1, "s": "ok"}])
    assert len(set(nested.labels.tolist())) == 1

    def vote(side, num_samples, rng):
        yes = rng.random(num_samples) < 0.2 + 0.6 * side
        return [np.str_("b") if one else "a" for one in yes]

    assert event(vote)[0].output in ("'a'", "'b'")
