"""Which scores and coins of canaries are accepted, at each limit, and what a run draws."""

import math

import numpy as np
import pytest

from dpjax import CanaryRuns, OneRun, Recording
from dpjax.sources import Trust
from dpjax.sources._fair_coins import refuse_unfair
from dpjax.sources._one_run import GuessedCanaries, scores_of


def coins(inside, number):
    return np.arange(number) < inside


def refuse(included):
    refuse_unfair(included, "included", "canaries", "were included")


@pytest.mark.parametrize(
    ("number", "most"), [(100, 76), (400, 252), (64, 52), (10_000, 5_260), (25, 25)]
)
def test_coins_deviate_by_at_most_so_many_standard_deviations(number, most):
    """The limit is 5.2 standard deviations; a standard deviation is sqrt(n) / 2."""
    assert most == min(math.floor(number / 2 + 5.2 * math.sqrt(number) / 2), number)
    refuse(coins(most, number))
    refuse(coins(number - most, number))
    if most == number:
        return
    for inside in (most + 1, number - most - 1):
        with pytest.raises(ValueError, match=f"but {inside} of {number} canaries were included, w"):
            refuse(coins(inside, number))


@pytest.mark.parametrize(
    ("inside", "number", "known", "chance"),
    [
        # The chances are comb(n, n/2) / 2^n.
        (20, 40, False, "0.13"), (500, 1000, False, "0.025"), (10**6, 2 * 10**6, False, "0.00056"),
        (20, 40, True, None), (21, 40, False, None), (20, 41, False, None),
    ],
)  # fmt: skip
def test_exactly_half_of_the_canaries_is_doubted(inside, number, known, chance):
    run = OneRun(np.arange(float(number)), coins(inside, number), known)
    doubts = [
        f"Exactly half of {number} canaries were included, as if a fixed number had been chosen; "
        "no bound holds then. If each canary had its own fair coin, the probability of this is "
        f"{chance}."
    ]
    assert run.doubts_about(run.canaries()[1]) == (doubts if chance else [])


@pytest.mark.parametrize(
    ("scores", "error", "said"),
    [
        (np.arange(19.0), ValueError, "at least 20 canaries .* but there were 19"),
        (np.full(20, 0.5), ValueError, "scores must differ, but all were 0.5"),
        (np.where(np.arange(20) < 3, np.nan, 1.0), ValueError, "must not be NaN, but 3 were"),
        (np.zeros((20, 2)), ValueError, "scores must differ, but all were 0, 0"),
        (np.zeros((20, 2, 2)), TypeError, r"but had shape \(20, 2, 2\)"),
        (np.zeros((20, 0)), TypeError, r"but had shape \(20, 0\)"),
        (np.array(["a"] * 20), TypeError, "scores must be numbers, but were of type <U1"),
        (np.ones(20, bool), TypeError, "scores must be numbers, but were of type bool"),
    ],
)
def test_scores_that_are_refused(scores, error, said):
    with pytest.raises(error, match=said):
        scores_of(scores)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint16, np.float64])
def test_scores_of_any_type_of_number(dtype):
    found = scores_of(np.arange(20).astype(dtype))
    assert found.dtype == np.float64 and found.tolist() == list(range(20))
    mostly = np.zeros(20)
    mostly[-1] = np.inf
    assert scores_of(mostly)[-1] == np.inf


@pytest.mark.parametrize(
    "words", [["1", "0"], ["1.0", "0.0"], ["true", "false"], [" True ", "FALSE"]]
)
def test_columns_of_coins(tmp_path, words):
    expected = [True, False, True, False, True, True, False, *[True] * 8, *[False] * 6]
    words = [words[not inside] for inside in expected]
    (tmp_path / "coins.txt").write_text("\n".join(words))
    (tmp_path / "scores.txt").write_text("\n".join(map(str, range(21))))
    scores, included = (Recording(tmp_path / f"{name}.txt") for name in ("scores", "coins"))
    found = OneRun(scores, included).canaries()
    assert found[1].tolist() == expected and found[1].dtype == bool
    assert found[0].tolist() == list(range(21))
    plain = OneRun(scores, included, fair_coins=True, name="mine").to_plain()
    assert plain["scores"] == [[str(tmp_path / "scores.txt")], None]
    assert plain["included"] == [[str(tmp_path / "coins.txt")], None]
    back = OneRun.from_plain(dict(plain), None, Trust(()))
    assert (back.fair_coins, back.name) == (True, "mine")
    assert back.canaries()[1].tolist() == expected
    assert OneRun(np.arange(21.0), np.array(expected)).to_plain() is None


def test_coins_that_are_refused():
    scores = np.arange(30.0)
    for included, said in (
        (np.arange(30) % 2, "of type int64 and shape"), (np.ones((30, 1), bool), r"\(30, 1\)"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"included must be booleans of shape .*{said}"):
            OneRun(scores, included)
    with pytest.raises(ValueError, match="one entry per score, but had 29 entries for 30 scores"):
        OneRun(scores, np.arange(29) % 3 == 0)
    masked = np.ma.array(scores, mask=np.arange(30) < 4)
    with pytest.raises(ValueError, match="scores must not be masked, but 4 entries were"):
        OneRun(masked, np.arange(30) % 3 == 0)
    with pytest.raises(ValueError, match="included must not be masked, but 2 entries were"):
        OneRun(scores, np.ma.array(np.arange(30) % 3 == 0, mask=np.arange(30) < 2))


def scored(included, seed):
    """Return scores that reveal the seed, and change the given coins."""
    found = included + seed / 2**32
    included[:] = True
    found[0] = seed
    return found


@pytest.mark.parametrize("words", [[0, 3], [5, 6]])
@pytest.mark.parametrize("run", [0, 4])
def test_coins_and_seed_of_a_run(words, run):
    """Both come from the stream of the key, the number 3 and the run."""
    generator = np.random.default_rng([*words, 3, run])
    expected = generator.integers(0, 2, 50).astype(bool)
    seed = int(generator.integers(2**31))
    scores, included = CanaryRuns(scored, 50).canaries(words, run)
    assert included.tolist() == expected.tolist() and scores[0] == seed < 2**31
    assert np.array_equal(scores[1:] > 0.999, expected[1:])


def test_runs_of_twenty_canaries_in_recipes():
    runs = CanaryRuns(scored, 20)
    assert runs.parameters == {"num_canaries": 20} and runs.name == "scored"
    assert runs.to_plain() == {"name": f"{__name__}:scored", "num_canaries": 20}
    back = CanaryRuns.from_plain(runs.to_plain(), None, Trust([__name__]))
    assert back.function is scored and back.num_canaries == 20
    assert CanaryRuns(lambda included, seed: included, 20).to_plain() is None
    with pytest.raises(ValueError, match="more"):
        CanaryRuns.from_plain(runs.to_plain() | {"more": 1}, None, Trust([__name__]))
    with pytest.raises(ValueError, match="each of 21 canaries, but returned 20"):
        CanaryRuns(lambda included, seed: np.arange(20.0), 21).canaries([0, 0], 0)


def test_only_guesses_are_made_of_scores():
    source = GuessedCanaries()
    assert source.refuses("guesses") is None
    for method in ("events", "local"):
        assert "without a second database: use method=Guesses()" in source.refuses(method)


@pytest.mark.parametrize("first", [2**60, -(2**62), 2**53])
def test_huge_integers_are_not_rounded(first):
    """Hashes and times in nanoseconds are such numbers; float64 would make most of them equal."""
    order = np.random.default_rng(0).permutation(30)
    assert np.argsort(scores_of(first + order)).tolist() == np.argsort(order).tolist()
    both = scores_of(np.stack([first + order, 30 - order], axis=1))
    assert np.argsort(both[:, 0]).tolist() == np.argsort(order).tolist()
    assert np.argsort(both[:, 1]).tolist() == np.argsort(30 - order).tolist()
    with pytest.raises(ValueError, match="must differ"):
        scores_of(np.full(30, first))
