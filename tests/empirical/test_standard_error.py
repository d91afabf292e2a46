"""The standard error of an empirical delta: the jackknife over databases."""

import numpy as np
import pytest

import dpjax
from dpjax.empirical import Adversary, Density, render_empirical_report
from dpjax.empirical._jackknife import jackknife_error

EPSILON = [0.1, 0.5]


def panel(seed, num_databases=30):
    """Return five individuals with independent values in every database, one of them larger."""
    scale = np.array([1.0, 1.0, 1.0, 1.0, 2.0])
    return np.random.default_rng(seed).gamma(2.0, scale, (num_databases, 5))


def error_of_mean(values):
    return jackknife_error(
        lambda left_out: np.atleast_1d(np.delete(values, left_out).mean()),
        [np.arange(len(values))],
        0,
    )


def test_of_a_mean_it_is_the_usual_standard_error():
    values = np.random.default_rng(0).normal(size=50)
    np.testing.assert_allclose(error_of_mean(values), values.std(ddof=1) / np.sqrt(50), rtol=1e-12)


def test_estimates_at_several_points_have_their_own_errors():
    values = np.random.default_rng(2).normal([0.0, 100.0], [1.0, 3.0], (40, 2))
    both = jackknife_error(
        lambda left_out: np.delete(values, left_out, 0).mean(0), [np.arange(40)], 0
    )
    np.testing.assert_allclose(both, values.std(axis=0, ddof=1) / np.sqrt(40), rtol=1e-12)


def test_groups_of_many_databases_give_the_same_but_for_chance():
    values = np.random.default_rng(1).normal(size=1000)
    calls = []
    ratio = error_of_mean(values)[0] / (values.std(ddof=1) / np.sqrt(1000))
    # With 50 groups, the relative error of a deviation is 1 / sqrt(2 49) = 0.10; 4.5 of them: 7e-6.
    assert abs(ratio - 1) < 0.46
    jackknife_error(lambda g: calls.append(len(g)) or np.zeros(1), [np.arange(1010)], 0)
    assert sum(calls) == 1010 and len(calls) == 50 and max(calls) - min(calls) == 1


@pytest.mark.slow
def test_it_is_how_much_delta_varies_between_panels(monkeypatch):
    # Only delta is used, and the checks of the assumptions take most of the time.
    monkeypatch.setattr("dpjax.empirical._privacy.check_independence", lambda *args: None)
    options = {"epsilon": EPSILON, "density": Density(bandwidth="scott")}
    deltas = [dpjax.empirical_privacy(panel(k), "sum", **options).delta for k in range(400)]
    errors = [
        dpjax.empirical_privacy(panel(1000 + k), "sum", **options, uncertainty=True).delta_error
        for k in range(25)
    ]
    truth, told = np.std(deltas, axis=0, ddof=1), np.sqrt(np.mean(np.square(errors), axis=0))
    # The relative error of 400 panels is 3.5%, that of 25 jackknives about 3%. Allow 4.5 times both
    # together. The jackknife is conservative (Efron and Stein) by an order of 1 / 30.
    assert np.all(told > 0.76 * truth) and np.all(told < 1.28 * truth)


def test_every_bucket_is_left_out_of_as_it_is():
    values, known = panel(3, 12), np.repeat([0, 1], 6)

    def asked(kept, **options):
        return dpjax.empirical_privacy(
            values[kept], "sum", epsilon=0.1, adversary=Adversary(known[kept]), **options,
            density=Density(bandwidth=1.0),
        )  # fmt: skip

    result = asked(np.arange(12), uncertainty=True)
    deltas = [asked(np.delete(np.arange(12), k)).delta[0] for k in range(12)]
    # Tukey's formula: (n - 1) / n times the sum of squares about the mean.
    assert result.delta_error[0] == pytest.approx(np.sqrt(11 * np.var(deltas)), rel=1e-9)
    few = Adversary(np.arange(12) < 3)
    with pytest.raises(ValueError, match=r"fewer than 4 databases, but the bucket .* holds 3"):
        dpjax.empirical_privacy(values, "sum", epsilon=0.1, adversary=few, uncertainty=True)


def test_where_it_is_said():
    result = dpjax.empirical_privacy(panel(2, 12), "sum", epsilon=EPSILON, uncertainty=True)
    again = dpjax.EmpiricalPrivacy.from_json(result.to_json())
    np.testing.assert_array_equal(again.delta_error, result.delta_error)
    without = dpjax.empirical_privacy(panel(2, 12), "sum", epsilon=EPSILON)
    assert without.delta_error is None
    assert dpjax.EmpiricalPrivacy.from_json(without.to_json()).delta_error is None
    np.testing.assert_array_equal(without.delta, result.delta)
    for kind in (".md", ".html"):
        text = render_empirical_report(result, kind=kind)
        assert f"± {result.delta_error[0]:.2g}" in text and "jackknife standard error" in text
        assert "jackknife" not in render_empirical_report(without, kind=kind)
    assert "standard error of delta" in str(result) and "standard" not in str(without)
