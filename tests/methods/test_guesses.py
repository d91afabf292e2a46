"""Audits of one run: from scores and coins to a result, and rejected inputs."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from refusals import refusal
from scipy import optimize, stats

import dpjax
from dpjax.inference import (
    Guessed,
    delta_of_curves,
    mu_of_chosen,
    mu_of_guesses,
    one_run_lower_bound,
    one_run_p_value,
)
from dpjax.inference._chosen_guesses import refuted_by_chosen
from dpjax.methods._guesses import _chosen
from dpjax.notions import GuessCounts, evidence_from_plain
from dpjax.results import conclude
from dpjax.sources._flips import in_order

SURE = 1 - 1e-5


def run(number=2001, shift=2.0, seed=0):
    """Gaussian canaries: scores N(shift, 1) if included, else N(0, 1); mu is the shift."""
    rng = np.random.default_rng(seed)
    included = rng.random(number) < 0.5
    return rng.normal(size=number) + shift * included, included


@pytest.fixture(scope="module")
def scores_and_coins():
    return run()


def test_given_numbers_of_guesses_are_counted(scores_and_coins):
    scores, included = scores_and_coins
    found = dpjax.audit(
        dpjax.OneRun(scores, included),
        method=dpjax.Guesses(num_in=70, num_out=30),
        notion=dpjax.Epsilon(1e-5),
        confidence=0.95,
    )
    order = np.argsort(-scores)
    right = included[order[:70]].sum() + (~included[order[-30:]]).sum()
    assert found.evidence.counted == GuessCounts(2001, 70, 30, int(right), 0)
    bound = one_run_lower_bound(2001, 100, int(right), delta=1e-5, confidence=0.95)
    assert found.lower_bound == bound > 1
    # All notions are bounded by the same count.
    assert found.bound(dpjax.Epsilon(0.01)).lower_bound < bound
    assert 0 < found.bound(dpjax.Gdp()).lower_bound < 2
    assert 0 < found.bound(dpjax.TotalVariation()).lower_bound < 0.69
    with pytest.raises(ValueError, match="cannot bound rho"):
        found.bound(dpjax.Zcdp())


def leaky(seed=0, number=2001):
    """Scores that reveal three of ten included canaries, and none of the excluded canaries."""
    rng = np.random.default_rng(seed)
    included = rng.random(number) < 0.5
    shown = included & (rng.random(number) < 0.3)
    return rng.normal(size=number) + 8.0 * shown, included


def order_of(scores, included, key):
    """Return the coins by decreasing score, and which of them are revealed in this audit."""
    words = [0, key]
    shuffled = np.random.default_rng([*words, 1]).permutation(len(scores))
    order = shuffled[np.argsort(-scores[shuffled], kind="stable")]
    return order, np.random.default_rng([*words, 2]).permutation(len(scores))[:600]


@pytest.mark.parametrize(("notion", "share"), [(dpjax.Gdp(), 0.1), (dpjax.Epsilon(1e-5), 0.3)])
def test_chosen_numbers_are_judged_by_other_coins(notion, share):
    """Counted coins do not affect the numbers of guesses; coins that choose are not counted."""
    scores, included = leaky()
    first = dpjax.audit(dpjax.OneRun(scores, included), notion=notion, key=3)
    counted = first.evidence.counted
    assert (counted.canaries, counted.revealed, counted.guessed_out) == (1401, 600, 0)
    assert counted.share == pytest.approx(share) and counted.right == counted.guessed_in > 100
    order, chosen = order_of(scores, included, 3)
    judged = np.delete(included[order], chosen)
    assert counted.right == judged[: counted.guessed_in].sum()
    # If other coins change, the revealed coins choose the same numbers.
    flipped = ~included
    flipped[order[chosen]] = included[order[chosen]]
    known = np.isin(np.arange(2001), chosen)
    again = _chosen(flipped[order][~known], flipped[order][known], first_terms(notion), share)
    assert (again.guessed_in, again.guessed_out) == (counted.guessed_in, 0) and again.right == 0


def test_scores_that_point_the_wrong_way_are_noted(scores_and_coins):
    scores, included = scores_and_coins
    found = dpjax.audit(dpjax.OneRun(scores, ~included), notion=dpjax.Gdp(), key=3)
    assert found.lower_bound == 0 and "scores must be higher" in found.notes[0]


def first_terms(notion):
    return dpjax.notions.Terms(notion, None, 0.999, 1, 3)


def test_the_better_of_two_sets_of_guesses_is_reported(scores_and_coins):
    """Planned numbers for Gaussian scores, with their share of the error."""
    scores, included = scores_and_coins
    found = dpjax.audit(dpjax.OneRun(scores, included), notion=dpjax.Gdp(), key=3)
    order, chosen = order_of(scores, included, 3)
    right = included[order[:112]].sum() + (~included[order[-112:]]).sum()
    assert found.evidence.counted == GuessCounts(2001, 112, 112, int(right), 0, 0.9)
    assert found.lower_bound == mu_of_guesses(Guessed(2001, 224, int(right)), 0.9 * (1 - 0.999))
    known, coins = np.isin(np.arange(2001), chosen), included[order]
    other = _chosen(coins[~known], coins[known], first_terms(dpjax.Gdp()), 0.1)
    bound = mu_of_chosen(other.guessed, other.share * (1 - 0.999))
    assert other.answer(dpjax.Gdp(), 0.999, 1, None).lower_bound == bound < found.lower_bound
    assert other.share + found.evidence.counted.share == 1


def test_a_profile_is_refuted_at_one_point_by_chosen_numbers():
    claim = gaussian_profile(0.5)
    found = dpjax.audit(
        dpjax.OneRun(*leaky()), notion=dpjax.Profile(), claim=claim, confidence=0.99
    )
    counted = found.evidence.counted
    assert counted.revealed and found.verdict == "violated"
    place, shown, claimed = found.statement.crossing
    assert shown > claimed == pytest.approx(claim(place))
    assert claimed <= delta_of_curves(1401, counted.share * 0.01) < claim(place - 0.2)
    assert refuted_by_chosen(counted.guessed, place, claimed, counted.share * 0.01)
    # If all points of a claim have a larger delta, it is compared at the smallest delta.
    claim = [(0.0, 0.3), (1.0, 1e-3)]
    short = dpjax.audit(
        dpjax.OneRun(*leaky()), notion=dpjax.Profile(), claim=claim, confidence=0.95
    )
    assert short.verdict == "violated" and short.statement.crossing[0] == 1.0


def gaussian_profile(mu):
    def delta(epsilon):
        first, second = (stats.norm.cdf(s * mu / 2 - epsilon / mu) for s in (1, -1))
        return float(first - math.exp(epsilon) * second)

    return delta


@pytest.mark.parametrize(("notion", "least"), [(dpjax.Epsilon(1e-8), 2.0), (dpjax.Gdp(), 0.5)])
def test_bounds_of_gaussian_canaries(notion, least, scores_and_coins):
    """The true mu is 2; a bound above it has probability 1e-5."""
    found = dpjax.audit(dpjax.OneRun(*scores_and_coins), notion=notion, confidence=SURE)
    truth = 2.0
    if notion.delta:
        truth = optimize.brentq(lambda e: gaussian_profile(2.0)(e) - notion.delta, 0, 30)
    assert least < found.lower_bound < truth


@pytest.mark.slow
def test_no_more_than_the_stated_error_is_above_the_truth():
    """Randomized response at exactly epsilon; more than 26 of 200 at 5% have probability 1e-5."""
    epsilon, above = 1.0, 0
    assert stats.binom.sf(26, 200, 0.05) < 1e-5
    for seed in range(200):
        rng = np.random.default_rng(seed)
        included = rng.random(101) < 0.5
        told = included ^ (rng.random(101) > 1 / (1 + math.exp(-epsilon)))
        found = dpjax.audit(
            dpjax.OneRun(told + 1e-9 * rng.random(101), included), confidence=0.95, key=seed
        )
        above += found.lower_bound > epsilon
    assert above <= 26


def test_claims(scores_and_coins):
    one_run = dpjax.OneRun(*scores_and_coins)
    wrong = dpjax.audit(one_run, notion=dpjax.Epsilon(1e-5), claim=1.0, confidence=0.99)
    assert wrong.verdict == "violated"
    counted = wrong.evidence.counted
    p_value = one_run_p_value(*counted.guessed, 1.0, 1e-5) / counted.share
    assert wrong.smallest_error == pytest.approx(p_value, rel=0.02)
    right = dpjax.audit(one_run, notion=dpjax.Gdp(), claim=2.0, confidence=0.99)
    assert right.verdict == "not refuted"


@pytest.mark.parametrize(("mu", "verdict"), [(2.0, "not refuted"), (0.7, "violated")])
def test_claimed_profiles(mu, verdict, scores_and_coins):
    claim = gaussian_profile(mu)
    found = dpjax.audit(
        dpjax.OneRun(*scores_and_coins), notion=dpjax.Profile(), claim=claim, confidence=0.99
    )
    assert found.verdict == verdict
    assert dpjax.AuditResult.from_json(found.to_json()) == found
    if verdict == "violated":
        place, shown, claimed = found.statement.crossing
        assert shown > claimed == pytest.approx(claim(place))


def test_a_profile_may_have_a_point_at_a_large_epsilon(scores_and_coins):
    claim = [(0.0, 1e-5), (1000.0, 0.0)]
    found = dpjax.audit(dpjax.OneRun(*scores_and_coins), notion=dpjax.Profile(), claim=claim)
    assert found.verdict == "violated" and found.statement.crossing[0] == 0.0


def test_a_profile_can_be_refuted_as_a_whole():
    """The error is between those for which the curve and its worst point are refuted."""
    profile = gaussian_profile(0.5)
    claim = tuple((e, profile(e)) for e in np.arange(0, 8, 0.02).tolist())
    counted = GuessCounts(1000, 1000, 0, 900)
    assert min(one_run_p_value(1000, 1000, 900, *point) for point in claim) > 1e-4
    for error, verdict in ((1e-4, "violated"), (5e-5, "not refuted")):
        terms = dpjax.notions.Terms(dpjax.Profile(), claim, 1 - error, 1, 0)
        stated = conclude(counted, terms)
        assert stated.verdict == verdict and stated.crossing is None
        assert ("refuted as a whole" in stated.sentence) == (verdict == "violated")
        # The curve is that of mu = 1/2, except for its points.
        mu = counted.answer(dpjax.Gdp(), 1 - error, 1, None).lower_bound
        assert (mu > 0.5) == (verdict == "violated")


@pytest.mark.parametrize("fraction", [0.001, 0.3, 0.999])
def test_few_canaries_are_revealed_and_judge(fraction):
    scores, included = run(20, 9.0)
    one_run = dpjax.OneRun(scores, included, fair_coins=True)
    method = dpjax.Guesses(reveal_fraction=fraction)
    found = dpjax.audit(one_run, method=method, notion=dpjax.Gdp(), confidence=0.9)
    assert 0 <= found.lower_bound < 9


def test_ties_are_broken_by_the_key():
    scores = np.repeat([1.0, 0.0], 50)
    orders = [in_order(scores, np.arange(100) % 2 == 0, np.random.default_rng(s)) for s in (0, 1)]
    assert (orders[0] != orders[1]).any()
    for order in orders:
        assert order[:50].sum() == order[50:].sum() == 25
    number = np.arange(100)
    shown = in_order(scores, number, np.random.default_rng(0))
    assert set(shown[:50]) == set(range(50)) and (shown[:50] != number[:50]).any()


def test_it_is_written_shown_and_run_again(scores_and_coins, tmp_path):
    scores, included = scores_and_coins
    path = tmp_path / "run.csv"
    lines = [f"{s!r},{int(c)}" for s, c in zip(scores.tolist(), included, strict=True)]
    path.write_text("\n".join(["score,included", *lines]))
    files = dpjax.OneRun(dpjax.Recording(path, "score"), dpjax.Recording(path, "included"))
    found = dpjax.audit(files, notion=dpjax.Epsilon(1e-5), claim=0.5, key=4)
    arrays = dpjax.OneRun(scores.tolist(), jnp.asarray(included))
    same = dpjax.audit(arrays, notion=dpjax.Epsilon(1e-5), claim=0.5, key=4)
    assert same.statement == found.statement and same.evidence == found.evidence
    read = dpjax.AuditResult.from_json(found.to_json())
    assert read == found and dpjax.rerun(read).statement == found.statement
    right = found.evidence.counted.right
    assert f"{right} of " in str(found) and "of 2001 canaries; using 70% of the error" in str(found)
    assert "estimate" not in str(found) and "witness" not in str(found)
    pytest.importorskip("jinja2")
    page = found.report(tmp_path / "r.md").read_text()
    assert "Canaries with hidden coins" in page and f"{found.lower_bound:.4f}" in page
    assert "pairs on this page" not in page and "A rerun reads the recorded files again" in page


def test_assertions(scores_and_coins):
    from dpjax.testing import assert_not_private, assert_private

    one_run = dpjax.OneRun(*scores_and_coins)
    with pytest.warns(UserWarning, match="even if the scores revealed all coins"):
        assert assert_private(one_run, gdp=2.0).verdict == "not refuted"
    assert assert_not_private(one_run, 1.0, delta=1e-7).verdict == "violated"
    with pytest.raises(
        AssertionError, match=r"is not \(1, 1e-07\)-differentially private"
    ) as failed:
        assert_private(one_run, 1.0, delta=1e-7)
    assert "method=dpjax.Guesses(" in str(failed.value)
    with pytest.raises(ValueError, match="num_samples must be left out"):
        assert_private(one_run, 1.0, num_samples=100)


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (lambda s, c: (s[:19], c[:19]), "there were 19, of the shape [19]"),
        (lambda s, c: (s, c.astype(int)), "included must be booleans"),
        (lambda s, c: (s, c[:-1]), "2000 entries for 2001 scores"),
        (lambda s, c: (s, c & (np.arange(2001) % 4 > 0)), "must come from fair coins"),
        (lambda s, c: (np.where(s > 3, np.nan, s), c), "scores must not be NaN"),
        (lambda s, c: (0 * s, c), "scores must differ"),
        (lambda s, c: (np.stack([s, s]), c), "there were 2, of the shape [2, 2001]"),
        (lambda s, c: (np.stack([s, s])[None], c), "scores must come from one run"),
        (lambda s, c: (s.astype(str), c), "scores must be numbers"),
    ],
)
def test_what_is_no_run_is_refused(broken, sentence, scores_and_coins):
    assert sentence in str(refusal(dpjax.OneRun, *broken(*scores_and_coins)))


def test_one_half_is_doubtful_unless_the_coins_were_fair():
    """A fixed number of canaries makes the coins dependent, so no bound holds."""
    from dpjax.testing import assert_private

    included = np.arange(2000) % 2 == 0
    scores = np.arange(2000.0) + 4000 * included
    terms = {"notion": dpjax.Epsilon(1e-5), "claim": 0.1}
    doubtful = dpjax.audit(dpjax.OneRun(scores, included), **terms)
    assert doubtful.verdict == "doubtful" and doubtful.lower_bound > 1
    assert "Exactly half of 2000 canaries" in doubtful.doubts[0]
    assert "each canary had its own coin, pass fair_coins=True." in doubtful.sentence
    assert doubtful.sure == "confidence 0.999 if the coins are independent"
    assert "pass fair_coins=True to get a verdict" in str(doubtful.page(".md").sections)
    with pytest.raises(AssertionError, match="was not tested"):
        assert_private(dpjax.OneRun(scores, included), 0.1, delta=1e-7)
    stated = dpjax.audit(dpjax.OneRun(scores, included, fair_coins=True), **terms)
    assert (stated.verdict, stated.doubts) == ("violated", ())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": dpjax.Events()}, "use method=Guesses()"),
        ({"method": dpjax.Sequential()}, "use method=Guesses()"),
        ({"method": dpjax.Local()}, "use method=Guesses()"),
        ({"method": dpjax.Histogram(0.1)}, "use method=Guesses()"),
        ({"pairs": [(0, 1)]}, "pairs must be left out"),
        ({"distance": 2}, "distance must be 1 if coins are guessed"),
        ({"notion": dpjax.Zcdp()}, "notion must be dpjax.Epsilon(delta=...)"),
        ({"notion": dpjax.TradeOff()}, "which cannot bound the trade-off curve"),
        ({"method": dpjax.Guesses(2000, 2)}, "canaries whose coins are guessed, 2001"),
    ],
)
def test_what_does_not_fit_is_refused(options, sentence, scores_and_coins):
    one_run = dpjax.OneRun(*scores_and_coins)
    assert sentence in str(refusal(dpjax.audit, one_run, **options))


def test_runs_are_not_drawn_for_a_notion_that_guesses_cannot_bound():
    asked = []

    def scored(included, seed):
        asked.append(seed)
        return np.random.default_rng(seed).normal(size=len(included))

    runs = dpjax.CanaryRuns(scored, 50)
    assert "notion must be" in str(refusal(dpjax.audit, runs, notion=dpjax.Zcdp()))
    assert not asked


def test_options_are_checked():
    with pytest.raises(ValueError, match="must not both be 0"):
        dpjax.Guesses(0, 0)
    with pytest.raises(ValueError, match="num_out"):
        dpjax.Guesses(num_out=-1)
    with pytest.raises(ValueError, match="reveal_fraction"):
        dpjax.Guesses(reveal_fraction=1.0)
    with pytest.raises(TypeError, match="use method=Events"):
        dpjax.audit(dpjax.mechanisms.Laplace(), method=dpjax.Guesses())
    with pytest.raises(ValueError, match="c must be at most r"):
        evidence_from_plain(GuessCounts(100, 5, 5, 11).to_plain())
    with pytest.raises(ValueError, match="whole numbers"):
        evidence_from_plain(GuessCounts(100, 5, 5, -1).to_plain())
    with pytest.raises(ValueError, match="share must lie in"):
        evidence_from_plain(GuessCounts(100, 5, 5, 1, share=1.5).to_plain())


def test_masked_scores_and_coins_are_refused(scores_and_coins):
    """Otherwise, the mask would be lost, and hidden values would be counted."""
    scores, included = scores_and_coins
    hidden = np.arange(len(scores)) % 7 == 0
    with pytest.raises(ValueError, match="scores must not be masked, but 286 entries were"):
        dpjax.OneRun(np.ma.array(scores, mask=hidden), included)
    with pytest.raises(ValueError, match="included must not be masked"):
        dpjax.OneRun(scores, np.ma.array(included, mask=hidden))
    dpjax.OneRun(np.ma.array(scores), included)


def test_the_command_line(scores_and_coins, tmp_path, monkeypatch, capsys):
    pytest.importorskip("click")
    from dpjax.cli import _app

    scores, included = scores_and_coins
    path = tmp_path / "run.csv"
    lines = [f"{s!r},{bool(c)}" for s, c in zip(scores.tolist(), included, strict=True)]
    path.write_text("\n".join(["score,included", *lines]))
    words = ["dpjax", "audit", "--one-run", path, "--included", "included", "--delta", "1e-5"]
    monkeypatch.setattr("sys.argv", [*map(str, words), "--score", "score", "--claim", "1"])
    assert _app.run() == 1
    printed = capsys.readouterr().out
    assert "run.csv" in printed and "above the claimed 1" in printed
    monkeypatch.setattr("sys.argv", [*map(str, words)])
    assert _app.run() == 2 and "--one-run needs --score" in capsys.readouterr().err


def test_a_public_coin_is_not_reported_above_its_truth():
    """With probability 0.2, guesses have accuracy 0.8689: epsilon 1.891 at 1e-5, mu 1.

    More than 34 of 300 bounds exceed the true level with probability below 1e-5.
    benchmarks/one_run.py makes 2,000 runs.
    """
    assert stats.binom.sf(34, 300, 0.05) < 1e-5
    accuracy, above, on = 0.8689, {"epsilon": 0, "mu": 0}, 0
    epsilon = math.log((accuracy - 1e-5 / 0.2) / (1 - accuracy))
    for seed in range(300):
        rng = np.random.default_rng(seed)
        included = rng.random(401) < 0.5
        told = rng.random() < 0.2
        right = rng.random(401) < (accuracy if told else 0.5)
        on += told
        source = dpjax.OneRun((included == right) + 1e-9 * rng.random(401), included)
        method = dpjax.Guesses(num_in=60, num_out=60)
        found = dpjax.audit(
            source, method=method, notion=dpjax.Epsilon(1e-5), confidence=0.95, key=seed
        )
        above["epsilon"] += found.lower_bound > epsilon
        above["mu"] += found.bound(dpjax.Gdp()).lower_bound > 1
        # The coin is visible: runs in which it is on have large bounds.
        assert not told or found.lower_bound > 0.5
    assert on > 30 and max(above.values()) <= 34
