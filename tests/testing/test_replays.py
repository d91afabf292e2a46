"""The code printed by a failed assertion, for every kind of mechanism."""

import functools
from dataclasses import dataclass

import jax
import numpy as np
import pytest

import dpjax
from dpjax.mechanisms import Laplace, RealSpace
from dpjax.testing import assert_private
from dpjax.testing._replay import _key, _region

PAIRS = [(0.0, 1.0)]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Scaled:
    """Laplace noise of a scale."""

    scale: float
    output_space = RealSpace()

    def sample(self, key, database, num_samples):
        """Draw reals [num_samples]."""
        return database + self.scale * jax.random.laplace(key, (num_samples,))


def release(key, count, scale=0.5):
    return count + scale * jax.random.laplace(key)


def failure(mechanism, **options):
    with pytest.raises(AssertionError) as caught:
        assert_private(
            mechanism, 1.0, num_samples=8_000, num_confirm=12_000, **{"pairs": PAIRS, **options}
        )
    return str(caught.value)


def snippet(message):
    return "\n".join(line[4:] for line in message.split("  replay\n")[1].splitlines())


@pytest.mark.parametrize(
    "mechanism", [Laplace(2.0), Scaled(0.5), release], ids=["built-in", "class", "function"]
)
def test_what_can_be_imported_is_drawn_again_as_it_stands(mechanism, capsys):
    message = failure(mechanism)
    code = snippet(message)
    assert "..." not in code
    exec(code, {})
    bound = message.split("lower bound  ")[1].split(",")[0]
    assert f"lower bound  {bound}," in capsys.readouterr().out


def test_a_claim_about_one_record_at_databases_that_differ_in_two(capsys):
    sizes = {"num_samples": 8_000, "num_confirm": 12_000}
    assert assert_private(Laplace(1.8), 1.0, PAIRS, distance=2, **sizes).lower_bound < 0.9
    message = failure(Laplace(3.0), distance=2)
    exec(snippet(message), {})
    bound = message.split("lower bound  ")[1].split(",")[0]
    assert 1.0 < float(bound) < 1.5
    assert f"lower bound  {bound}," in capsys.readouterr().out


def host(count, num_samples, seed):
    return np.random.default_rng(seed).laplace(count, 0.5, num_samples)


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (functools.partial(release, scale=0.5), "subject = ...  # the partial in the test"),
        (
            lambda key, count: count + 0.5 * jax.random.laplace(key),
            "# lambda (test_replays.py, line",
        ),
        (dpjax.HostMechanism(host), "subject = ...  # the HostMechanism in the test"),
    ],
    ids=["partial", "lambda", "host"],
)
def test_what_cannot_be_written_is_left_open(mechanism, words):
    code = snippet(failure(mechanism))
    assert words in code and "pairs=[(0.0, 1.0)]" in code
    compile(code, "replay", "exec")
    seen = []

    class Recorder:
        Events, Epsilon = dpjax.Events, dpjax.Epsilon
        audit = staticmethod(lambda subject, **arguments: seen.append(arguments))

    # With the gap filled in, the call is complete.
    exec(code.replace("import dpjax\n", ""), {"dpjax": Recorder})
    assert seen[0]["pairs"] == PAIRS and seen[0]["method"] == dpjax.Events(8_000, 12_000)


def test_regions_are_numbers_and_the_test_is_named():
    message = failure(Laplace(2.0), region=dpjax.Box(-2.0, 3.0))
    assert "region=([-2.0], [3.0])" in snippet(message)
    assert "test         pytest tests/testing/test_replays.py::test_regions_are_numbers" in message


def test_notes_are_part_of_the_message():
    def unseeded(count, num_samples):
        return np.random.default_rng().laplace(count, 0.3, num_samples)

    message = failure(dpjax.HostMechanism(unseeded))
    assert "  note         The mechanism draws its own randomness" in message


def test_a_typed_key_is_written_as_its_words():
    words = [7, 2**32 - 1]
    made = eval(_key(words), {"jax": jax})
    assert jax.random.key_data(made).tolist() == words
    assert _key(3) == "3"
    assert _region({"outcomes": ["a"]}) == ["a"] and _region(None) is None
    assert _region({"low": [0.0], "high": [2.0]}) == ([0.0], [2.0])
