"""Scores and coins of one run in files: what is read, and what is refused."""

import numpy as np
import pytest
from refusals import refusal

import dpjax


def table(path, scores, included):
    """Write a table with the columns score and included."""
    lines = [f"{score},{coin}" for score, coin in zip(scores, included, strict=True)]
    path.write_text("\n".join(["score,included", *lines]) + "\n")
    return path


def coins(number=41):
    return np.random.default_rng(0).random(number) < 0.5


def run(path, score="score", included="included"):
    return dpjax.OneRun(dpjax.Recording(path, score), dpjax.Recording(path, included))


@pytest.mark.parametrize("strange", ["", "in"])
def test_a_coin_that_is_neither_true_nor_false_is_refused(strange, tmp_path):
    words = [strange, *(str(coin) for coin in coins()[1:])]
    path = table(tmp_path / "run.csv", range(41), words)
    assert f"included must be a column of 1 and 0, or of true and false, but held {strange!r}" in (
        str(refusal(dpjax.audit, run(path)))
    )


def test_one_column_for_scores_and_coins_is_refused(tmp_path):
    """Otherwise, every guess would be right, and every claim would be violated."""
    path = table(tmp_path / "run.csv", range(41), coins().astype(int))
    message = str(refusal(run, path, "included"))
    assert message.startswith("scores must not be the same column as included")
    assert message.endswith("but both were 'included'.")
    assert dpjax.audit(run(path), claim=1.0).verdict == "not refuted"


@pytest.mark.parametrize(
    ("score", "wrong"), [("included", "not be the same"), ("word", "be numbers")]
)
def test_the_command_line_names_its_own_option(score, wrong, tmp_path, monkeypatch, capsys):
    pytest.importorskip("click")
    from dpjax.cli import _app

    path = tmp_path / "run.csv"
    path.write_text("word,included\n" + "".join(f"w,{int(coin)}\n" for coin in coins()))
    words = ["dpjax", "audit", "--one-run", path, "--included", "included", "--score", score]
    monkeypatch.setattr("sys.argv", [*map(str, words)])
    assert _app.run() == 2
    assert f"error: --score must {wrong}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("missing", "found"),
    [
        ("", "run.csv has an empty entry in row 9"),
        ("nan", "not be NaN, but 1 were: write a number"),
    ],
)
def test_the_advice_about_a_missing_score_is_a_number(missing, found, tmp_path):
    scores = [missing if place == 7 else place / 4 for place in range(41)]
    path = table(tmp_path / "run.csv", scores, coins())
    message = str(refusal(dpjax.audit, run(path)))
    assert message.startswith("scores must not be") and found in message
    assert message.endswith(
        ": write a number that does not depend on the coin in place of each missing score, such as "
        "the lowest score."
    )
    masked = np.ma.masked_array(np.arange(41.0), mask=np.arange(41) == 7)
    message = str(refusal(dpjax.OneRun, masked, coins()))
    assert message.startswith("scores must not be masked, but 1 entries were: write a number that")
    path = table(
        tmp_path / "run.csv", [7 if score == missing else score for score in scores], coins()
    )
    assert dpjax.audit(run(path)).verdict == "no claim"


def test_a_missing_coin_in_a_column_of_numbers_is_named(tmp_path):
    words = ["" if place == 7 else str(int(coin)) for place, coin in enumerate(coins())]
    message = str(refusal(dpjax.audit, run(table(tmp_path / "run.csv", range(41), words))))
    assert message.startswith("included must not be missing, but samples file ")
    assert "has an empty entry in row 9 among numbers: write 1 or 0, or leave out" in message
