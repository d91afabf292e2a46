"""The figure of a result shows errors of tests, and curves without visible noise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy import stats

import dpjax
from dpjax import mechanisms
from dpjax.inference import trade_off
from dpjax.plotting import Claimed, Seen
from dpjax.plotting._canvas import CLAIM, DATABASE, NEIGHBOR
from dpjax.plotting._claimed import errors_of
from dpjax.plotting._strips import known_losses, strips_of
from dpjax.plotting._trade_off import Errors, plot_trade_off
from dpjax.results._figures import notions_figures

PAIRS = [(0.0, 1.0)]


def recorded(mechanism, size):
    """Return draws of a mechanism's distribution by SciPy."""
    law = stats.laplace if isinstance(mechanism, mechanisms.Laplace) else stats.norm
    rng = np.random.default_rng(5)
    return dpjax.Recorded(*(law.rvs(at, size=size, random_state=rng) for at in (0, 1)))


X = np.linspace(0, 1, 21)


def divergence(order, p, q):
    """Return the divergence of two outcomes, by definition."""
    total = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
    return np.log(total) / (order - 1)


def allowed(claim, x, miss):
    """Return whether a test with these errors satisfies the claim, by definition."""
    p, q = 1 - miss, x
    if claim.kind == "epsilon":
        factor = np.exp(claim.level)
        within = [a <= factor * b + claim.delta for a, b in ((p, q), (q, p), (1 - p, 1 - q),
                                                             (1 - q, 1 - p))]  # fmt: skip
        return all(within)
    orders = [claim.order] if claim.kind == "renyi" else [2.0, 4.0, 16.0]
    levels = [claim.level if claim.kind == "renyi" else a * claim.level for a in orders]
    both = [max(divergence(a, p, q), divergence(a, q, p)) for a in orders]
    return all(value <= level for value, level in zip(both, levels, strict=True))


@pytest.mark.parametrize(
    "claim",
    [
        Claimed("epsilon", 1.0), Claimed("epsilon", 0.7, 0.05), Claimed("renyi", 0.5, order=4.0),
        Claimed("zcdp", 0.3), Claimed("profile", [[0.7, 0.05]]),
    ],
)  # fmt: skip
def test_the_forbidden_region_is_that_of_the_definition(claim):
    asked = Claimed("epsilon", 0.7, 0.05) if claim.kind == "profile" else claim
    for x, error in zip(X[1:-1], claim.errors(X)[1:-1], strict=True):
        assert 0 <= error <= 1 - x
        assert allowed(asked, x, min(error + 1e-6, 1 - x))
        if claim.kind != "zcdp" and error > 0:
            assert not allowed(asked, x, error - 1e-6)


def test_regions_of_other_claims_have_closed_forms():
    np.testing.assert_allclose(Claimed("total-variation", 0.3).errors(X), np.maximum(0.7 - X, 0))
    assert Claimed(None, None).errors(X) is None
    middle = Claimed("gdp", 1.0).errors(np.array([0.5]))
    np.testing.assert_allclose(middle, 0.15865525393145707)  # Phi(-1)


def test_the_box_holds_both_errors_together():
    """Enumerate the probability that a box of confidence 0.9 misses the point."""
    from scipy.stats import binom

    trials, truth, confidence = (30, 25), (0.2, 0.6), 0.9
    missed = 0.0
    for a in range(trials[0] + 1):
        for b in range(trials[1] + 1):
            (left, right), (low, high) = Seen((a, b), trials, 1, "", confidence).box()
            alarm, miss = Seen((a, b), trials, 1, "", confidence).point()
            assert left <= alarm <= right and low <= miss <= high
            if not (left <= truth[0] <= right and low <= 1 - truth[1] <= high):
                missed += binom.pmf(a, trials[0], truth[0]) * binom.pmf(b, trials[1], truth[1])
    assert 0.02 < missed <= 1 - confidence


METHODS = [
    ({"claim": 0.3}, mechanisms.Laplace(1.0)),
    ({"claim": 0.3, "method": dpjax.Local(2_000, 4_000)}, mechanisms.Laplace(1.0)),
    ({"claim": 0.3, "method": dpjax.Sequential()}, mechanisms.Laplace(1.0)),
    ({"claim": 0.3}, mechanisms.Laplace(200.0)),
    ({"claim": 0.3, "distance": 2}, mechanisms.Laplace(1.0)),
    ({"claim": 0.1, "notion": dpjax.Zcdp()}, mechanisms.Gaussian(1.0)),
    ({"claim": [(0.0, 0.2)], "notion": dpjax.Profile()}, mechanisms.Gaussian(1.0)),
    ({"claim": 0.5, "notion": dpjax.Gdp()}, mechanisms.Gaussian(1.0)),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("options", "mechanism"), METHODS)
def test_every_result_is_a_point_among_claims(options, mechanism):
    pytest.importorskip("matplotlib")
    result = dpjax.audit(mechanism, PAIRS, **options)
    axes = result.plot().axes[0]
    drawn = {line.get_label(): np.array(line.get_data()) for line in axes.get_lines()}
    (point,) = [at for label, at in drawn.items() if label.startswith("witness")]
    shares = np.array(result.witness.event_counts) / result.evidence.trials
    likelier = 1 if result.witness.larger == "neighbor" else 0
    np.testing.assert_allclose(point[:, 0], [shares[1 - likelier], 1 - shares[likelier]])
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    assert left <= point[0, 0] <= right and low <= point[1, 0] <= high
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any(label.startswith("forbidden") for label in labels)
    boxed = any("box" in label for label in labels)
    # A sequential audit stops when it has seen enough, so its counts are not binomial.
    assert boxed == (not isinstance(options.get("method"), dpjax.Sequential))


def test_no_curve_crosses_the_name_of_a_guide_line():
    """The curve of the band passes the corner of epsilon 1, where the label would be."""
    pytest.importorskip("matplotlib")
    result = dpjax.audit(mechanisms.Gaussian(1.0), PAIRS, notion=dpjax.Profile())
    figure = result.plot()
    figure.draw_without_rendering()
    axes = figure.axes[0]
    for curve in axes.get_lines():
        if curve.get_label().startswith("the best test"):
            points = axes.transData.transform(curve.get_xydata())
            points = np.linspace(points[:-1], points[1:], 20).reshape(-1, 2)
            names = [text for text in axes.texts if text.get_text().startswith("ε")]
            assert len(names) == 4
            for name in names:
                box = name.get_window_extent()
                assert not np.any(np.all((points > box.p0) & (points < box.p1), axis=1))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("mechanism", "claim"),
    [
        (mechanisms.Gaussian(1.0), [(0.0, 1.0), (0.2, 0.5), (1.0, 0.0)]),
        (mechanisms.Gaussian(0.3), [(0.0, 1.0), (0.02, 0.9), (1.0, 0.0)]),
        (mechanisms.Laplace(0.2), [(0.0, 1.0), (0.3, 0.4), (1.0, 0.0)]),
    ],
)
def test_a_guide_line_without_room_has_no_name(mechanism, claim):
    pytest.importorskip("matplotlib")
    few = dpjax.Events(2_000, 5_000)
    result = dpjax.audit(mechanism, PAIRS, notion=dpjax.TradeOff(), claim=claim, method=few)
    figure = result.plot()
    figure.draw_without_rendering()
    axes = figure.axes[0]
    names = [text for text in axes.texts if text.get_text().startswith("ε")]
    curves = [line for line in axes.get_lines() if len(line.get_xdata()) > 2
              and line.get_linewidth() >= 1.4]  # fmt: skip
    assert len(curves) == 2
    for name in names:
        box = name.get_window_extent()
        assert box.x0 >= axes.bbox.x0 and box.y0 >= axes.bbox.y0 - 1
        for curve in curves:
            points = axes.transData.transform(curve.get_xydata())
            points = np.linspace(points[:-1], points[1:], 20).reshape(-1, 2)
            assert not np.any(np.all((points > box.p0) & (points < box.p1), axis=1))


def exact_shares(mechanism, strip):
    """Return probabilities [2, cells] for the databases 0 and 1, by SciPy."""
    law = {mechanisms.Laplace: stats.laplace, mechanisms.Gaussian: stats.norm}[type(mechanism)]
    return np.array([np.diff(law.cdf([strip.low, strip.high], at), axis=0)[0] for at in (0, 1)])


def quiet(drawn, exact, top):
    """Return whether the error of the drawn differences is below a fifth of the axis.

    The error is the root mean square over the cells. The error of each cell must be below half of
    the axis, which is 4.7 standard errors of a loss that is just precise enough to be drawn.
    """
    errors = np.abs(drawn - exact) / top
    return np.sqrt(2 * np.mean(errors**2)) < 0.2 and np.max(errors) < 0.5


@pytest.mark.parametrize(
    "audited",
    [
        pytest.param(lambda m: dpjax.audit(m, PAIRS), id="drawn"),
        pytest.param(
            lambda m: dpjax.audit(m, PAIRS, notion=dpjax.Profile(), claim=[(0.0, 0.2)]), id="chain"
        ),
        pytest.param(lambda m: dpjax.audit(recorded(m, 6_000)), id="few recorded"),
        pytest.param(lambda m: dpjax.audit(recorded(m, 30_000)), id="recorded"),
    ],
)
@pytest.mark.parametrize("mechanism", [mechanisms.Laplace(1.0), mechanisms.Gaussian(1.0)])
def test_no_curve_is_louder_than_a_fifth_of_its_range(audited, mechanism):
    """The drawn values are compared with the true values of the cells."""
    result = audited(mechanism)
    (strip,) = strips_of(result.curve, result.num_samples)
    exact, width = exact_shares(mechanism, strip), strip.high - strip.low
    shown = ~strip.tail
    heights = (strip.shares / width)[:, shown]
    assert heights.shape[1] > 4
    assert quiet(heights, (exact / width)[:, shown], heights.max())
    losses = known_losses(strip.steps)
    exact, known = exact_shares(mechanism, strip.steps), np.isfinite(losses) & ~strip.steps.tail
    assert known.sum() > 2
    truth = np.abs(np.diff(np.log(exact[:, known]), axis=0))[0]
    assert quiet(losses[known], truth, max(losses[known].max(), 0.5))
    # The fine cells, which earlier versions drew, are noisier.
    (fine,) = strips_of(result.curve)
    exact, seen = exact_shares(mechanism, fine), np.isfinite(fine.loss) & ~fine.tail
    with np.errstate(divide="ignore"):
        truth = np.abs(np.diff(np.log(exact), axis=0))[0]
    seen &= np.isfinite(truth)
    assert not quiet(fine.loss[seen], truth[seen], max(fine.loss[seen].max(), 0.5))


@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("num_draws", [40_000, 200_000])
def test_boxes_show_a_quiet_curve_and_no_loss_that_is_not_there(turned, num_draws):
    """For Laplace noise on two numbers, densities and losses agree with epsilon 0.6."""
    pair = (jnp.zeros(2), jnp.full(2, 0.3))
    result = dpjax.audit(
        lambda key, database: database + jax.random.laplace(key, (2,)),
        [pair[::-1] if turned else pair],
        method=dpjax.Events(num_draws=num_draws),
    )
    (strip,) = strips_of(result.curve, result.num_samples)
    assert len(strip.low) > 3
    # The event is one band at an end of the axis, with boxes and with a learned score.
    assert np.flatnonzero(np.diff(strip.event)).size == 1
    heights = (strip.shares / (strip.high - strip.low))[:, ~strip.tail]
    if result.evidence.settings["score"]["kind"] == "boxes":
        assert strip.event[0]
        np.testing.assert_allclose(heights.sum(axis=0), 2.0)
    jumps = np.diff(heights, n=2) / heights.max()
    assert np.sqrt(np.mean(jumps**2) / 6) < 0.1
    # Allow 4.5 standard errors for each of about 30 numbers.
    steps, losses = strip.steps, known_losses(strip.steps)
    known = np.isfinite(losses)
    assert known.sum() > 3
    assert np.all(losses[known] < 0.6 + 4.5 * steps.noise[known])


def test_densities_of_the_local_method_are_as_quiet():
    """Compare kernel estimates with the density of the Laplace distribution in the region."""
    result = dpjax.audit(mechanisms.Laplace(1.0), PAIRS, method=dpjax.Local(10_000, 20_000))
    points = np.array(result.curve["points"])
    for name, at in (("density", 0.0), ("neighbor_density", 1.0)):
        drawn = np.array(result.curve[name])
        assert quiet(drawn, stats.laplace.pdf(points, at), drawn.max())
    losses, exact = np.array(result.curve["loss"]), np.abs(np.abs(points - 1) - np.abs(points))
    assert quiet(losses, exact, losses.max())


@pytest.mark.parametrize("name", ["empirical", "profile", "divergences", "errors"])
def test_smooth_curves_do_not_jump_from_point_to_point(name):
    """The noise of a point is the root mean square of second differences, divided by sqrt(6)."""
    pytest.importorskip("matplotlib")
    if name == "empirical":
        answers = np.random.default_rng(0).gamma(2.0, size=(41, 60))
        figure = dpjax.empirical_privacy(answers, "mean", epsilon=np.linspace(0, 3, 31)).plot()
    else:
        few = dpjax.Events(2_000, 5_000)
        result = dpjax.audit(mechanisms.Gaussian(1.0), PAIRS, notion=dpjax.Profile(), method=few)
        figure = notions_figures(result)[name]
    drawn = [np.asarray(line.get_ydata(), float) for axes in figure.axes
             for line in axes.get_lines()]  # fmt: skip
    drawn = [heights[np.isfinite(heights)] for heights in drawn if len(heights) > 20]
    assert drawn
    for heights in drawn:
        noise = np.sqrt(np.mean(np.diff(heights, 2) ** 2) / 6)
        assert noise < np.ptp(heights) / 5


def test_integers_and_bars_are_as_quiet():
    """Compare bars of the two-sided geometric distribution with the formula."""
    mechanism = mechanisms.TwoSidedGeometric(1.0)
    result = dpjax.audit(mechanism, [(0, 1)])
    (strip,) = strips_of(result.curve, result.num_samples)
    at = strip.low + 0.5
    inner = (strip.high - strip.low == 1) & ~strip.tail
    factor = (1 - np.exp(-1)) / (1 + np.exp(-1))
    for share, database in zip(strip.shares, (0, 1), strict=True):
        exact = factor * np.exp(-np.abs(at - database))
        assert quiet(share[inner], exact[inner], share.max())


def test_losses_that_nobody_can_know_are_not_drawn():
    """With noise of scale 1/50, each output occurs on one side only, so no loss is known."""
    result = dpjax.audit(mechanisms.Laplace(50.0), PAIRS)
    (strip,) = strips_of(result.curve, result.num_samples)
    assert np.isfinite(known_losses(strip.steps)).sum() <= 1


def test_the_curve_of_a_gaussian_claim():
    """Compare with an integral over the Gaussian of the first database (Balle and Wang, 2018)."""
    claim, epsilons = Claimed("gdp", 1.3), np.array([0.0, 0.5, 2.0])
    x = np.linspace(-12, 14, 400_001)
    p, q = stats.norm.pdf(x, 1.3), stats.norm.pdf(x)
    expected = [np.maximum(p - np.exp(e) * q, 0).sum() * (x[1] - x[0]) for e in epsilons]
    np.testing.assert_allclose(claim.deltas(epsilons), expected, rtol=1e-4)
    assert Claimed("gdp", 0.0).deltas(epsilons) is None
    assert Claimed("epsilon", 1.0).deltas(epsilons) is None


def test_names_of_guide_lines_stand_beside_their_lines():
    """Labels are to the upper right of the point at which a guide line crosses the diagonal."""
    pytest.importorskip("matplotlib")
    axes = dpjax.audit(mechanisms.Gaussian(1.0), PAIRS, notion=dpjax.Profile()).plot().axes[0]
    names = [text for text in axes.texts if text.get_text().startswith("ε")]
    assert names
    for name in names:
        x, y = name.get_position()
        at = 1 / (1 + np.exp(float(name.get_text().removeprefix("ε = "))))
        assert abs(y - at) < 0.05 and 0 < abs(x - at) < 0.05
        assert (x > at) == (name.get_ha() == "left")


SEEN = Seen((400, 620), (1000, 1000), 1, "output above 0.123456789", 0.9)
NOTHING = Claimed(None, None)


def drawn(claim=NOTHING, lower=NOTHING, seen=SEEN, band=None):
    shown = Errors(claim, lower, "claim of 1", "bound of 0.4", seen, band)
    return plot_trade_off("what", shown).axes[0]


def test_the_witness_is_a_point_in_a_box():
    pytest.importorskip("matplotlib")
    axes = drawn()
    (point,) = [line for line in axes.get_lines() if line.get_marker() == "o"]
    assert point.get_xydata().tolist() == [[0.4, 0.38]]
    assert point.get_label() == "witness: output above 0.123457\n(box: confidence 0.9)"
    (box,), ((left, right), (low, high)) = axes.patches, SEEN.box()
    assert box.get_bbox().extents.tolist() == pytest.approx([left, low, right, high])
    assert to_hex(box.get_facecolor()) == to_hex(point.get_color()) == NEIGHBOR
    assert box.get_alpha() < 0.5 and box.zorder < point.zorder
    assert axes.get_xlabel() == "false alarm: event under the database"
    assert axes.get_ylabel() == "miss: no event under the neighbor"
    alone = drawn(seen=SEEN._replace(confidence=None))
    assert not alone.patches
    other = drawn(seen=SEEN._replace(larger=0))
    assert other.get_xlabel() == "false alarm: event under the neighbor"
    assert other.get_ylabel() == "miss: no event under the database"
    nothing = drawn(seen=None)
    assert nothing.get_xlabel() == "probability of a false alarm"
    assert nothing.get_ylabel() == "probability of a miss"
    assert nothing.get_xlim() == nothing.get_ylim() == (0, 1) and nothing.get_aspect() == 1
    for ticks in (nothing.get_xticks(), nothing.get_yticks()):
        np.testing.assert_allclose(ticks, np.linspace(0, 1, 6))
    assert nothing.figure.get_suptitle() == "what"
    assert nothing.figure.get_size_inches().tolist() == [4.2, 4.2]


def test_claim_and_bound_are_curves_with_names():
    axes = drawn(Claimed("epsilon", 1.0), Claimed("epsilon", 0.4))
    (bound,) = [line for line in axes.get_lines() if line.get_label() == "bound of 0.4"]
    x = bound.get_xdata()
    assert (x[0], x[-1], len(x)) == (0, 1, 401)
    np.testing.assert_allclose(bound.get_ydata(), errors_of(0.4, 0.0, x))
    assert (bound.get_linestyle(), bound.get_color(), bound.get_linewidth()) == (
        "--", DATABASE, 1.4,
    )  # fmt: skip
    (claim,) = [line for line in axes.get_lines() if line.get_color() == CLAIM]
    np.testing.assert_allclose(claim.get_ydata(), errors_of(1.0, 0.0, x))
    assert claim.get_linewidth() == 1.4
    (area,) = [c for c in axes.collections if c.get_label() == "forbidden by the claim of 1"]
    vertices = area.get_paths()[0].vertices
    assert vertices[:, 1].min() == 0 and vertices[:, 1].max() == pytest.approx(1)
    assert to_hex(area.get_facecolor()[0]) == CLAIM and area.get_alpha() == 0.18
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert {"bound of 0.4", "forbidden by the claim of 1"} <= set(names)


@pytest.mark.parametrize(
    ("levels", "guides"),
    [
        ((), [0.5, 1, 2, 3]), ((1.0,), [0.5, 2, 3]), ((0.84, 3.5), [0.5, 1, 2, 3]),
        ((0.86, 2.6), [0.5, 2]), ((2.0, 3.0), [0.5, 1]),
    ],
)  # fmt: skip
def test_guide_lines_keep_away_from_claim_and_bound(levels, guides):
    """The distance is at least 0.15 of the guide line's epsilon."""
    both = [Claimed("epsilon", level) for level in levels]
    axes = drawn(*both, seen=None)
    thin = [line for line in axes.get_lines() if line.get_linewidth() == 0.6]
    assert len(thin) == len(guides)
    for line, epsilon in zip(thin, guides, strict=True):
        x, y = line.get_data()
        np.testing.assert_allclose(y, errors_of(epsilon, 0.0, x))
        assert line.get_alpha() == 0.5
    names = {text.get_text(): text for text in axes.texts}
    assert set(names) <= {f"ε = {epsilon:g}" for epsilon in guides}
    if not levels:
        at = 1 / (1 + np.e)
        name = names["ε = 1"]
        assert name.get_position() == pytest.approx((at + 0.01, at))
        assert (name.get_ha(), name.get_va()) == ("left", "baseline")


def test_a_name_on_a_curve_moves_to_the_left_of_its_corner():
    """The claim passes 0.05 above the corner of epsilon 1, where the label would be."""
    at = 1 / (1 + np.e)
    claim = Claimed("trade-off", [[0.0, 1.0], [at + 0.04, 0.95], [at + 0.05, at + 0.03], [1.0, 0]])
    names = {text.get_text(): text for text in drawn(claim, seen=None).texts}
    name = names["ε = 1"]
    assert name.get_position() == pytest.approx((at - 0.01, at))
    assert (name.get_ha(), name.get_va()) == ("right", "top")


def test_a_band_takes_the_place_of_the_bound():
    method = dpjax.Events(2_000, 5_000, also=True)
    counted = dpjax.audit(mechanisms.Laplace(1.0), PAIRS, method=method).evidence.counted
    band = counted.simultaneous(0.999)
    x, y = trade_off(band)
    for larger, (alarms, misses) in ((0, (x, y)), (1, (y, x))):
        axes = drawn(lower=Claimed("epsilon", 0.4), seen=SEEN._replace(larger=larger), band=band)
        labels = {line.get_label(): line for line in axes.get_lines()}
        curve = labels["the best test is on or\nbelow this line"]
        np.testing.assert_array_equal(curve.get_xydata().T, [alarms, misses])
        assert curve.get_color() == DATABASE and "bound of 0.4" not in labels
    np.testing.assert_array_equal(
        drawn(seen=None, band=band).get_lines()[-1].get_xydata().T, [x, y]
    )
