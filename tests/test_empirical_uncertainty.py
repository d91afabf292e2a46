"""The standard error of an empirical delta: the jackknife over databases."""

import json

import numpy as np
import pytest
from test_cli import call

import dpjax
from dpjax.empirical import render_empirical_report
from dpjax.empirical._uncertainty import jackknife_error

EPSILON = [0.1, 0.5]


def panel(seed, num_databases=30):
    """Five individuals with values of their own in every database, one of them larger."""
    scale = np.array([1.0, 1.0, 1.0, 1.0, 2.0])
    return np.random.default_rng(seed).gamma(2.0, scale, (num_databases, 5))


def error_of_mean(values, seed=0):
    return jackknife_error(
        lambda left_out: np.atleast_1d(np.delete(values, left_out).mean()), len(values), seed
    )


def test_of_a_mean_it_is_the_usual_standard_error():
    values = np.random.default_rng(0).normal(size=50)
    np.testing.assert_allclose(error_of_mean(values), values.std(ddof=1) / np.sqrt(50), rtol=1e-12)


def test_groups_of_many_databases_give_the_same_but_for_chance():
    values = np.random.default_rng(1).normal(size=1000)
    calls = []
    ratio = error_of_mean(values)[0] / (values.std(ddof=1) / np.sqrt(1000))
    # 50 groups tell a deviation to 1 / sqrt(2 49) = 0.10: 4.5 standard errors, 7e-6.
    assert abs(ratio - 1) < 0.46
    jackknife_error(lambda g: calls.append(len(g)) or np.zeros(1), 1010, 0)
    assert sum(calls) == 1010 and len(calls) == 50 and max(calls) - min(calls) == 1


def test_it_is_how_much_delta_varies_between_panels():
    deltas = np.array([
        dpjax.empirical_privacy(panel(seed), "sum", epsilon=EPSILON, bandwidth="scott").delta
        for seed in range(400)
    ])  # fmt: skip
    errors = np.array([
        dpjax.empirical_privacy(
            panel(seed), "sum", epsilon=EPSILON, bandwidth="scott", uncertainty=True
        ).delta_error
        for seed in range(1000, 1025)
    ])  # fmt: skip
    truth, told = deltas.std(axis=0, ddof=1), np.sqrt(np.mean(errors**2, axis=0))
    # 400 panels tell the deviation to 3.5%, 25 jackknives to about 3%: 4.5 times both together. It
    # is conservative (Efron and Stein) by an order of 1 / 30.
    assert np.all(told > 0.76 * truth) and np.all(told < 1.28 * truth)


def test_an_adversarys_buckets_stay_as_they_are():
    given = np.repeat([0, 1], 15)
    result = dpjax.empirical_privacy(
        panel(3), "sum", epsilon=0.1, adversary=given, uncertainty=True, bandwidth=1.0
    )

    def delta(kept):
        part = dpjax.empirical_privacy(
            panel(3)[kept], "sum", epsilon=0.1, adversary=given[kept], bandwidth=1.0
        )
        return part.delta

    naive = jackknife_error(lambda left_out: delta(np.setdiff1d(np.arange(30), left_out)), 30, 0)
    np.testing.assert_allclose(result.delta_error, naive, rtol=1e-9)
    with pytest.raises(ValueError, match=r"fewer than 4 databases, but the bucket .* holds 3"):
        dpjax.empirical_privacy(
            panel(3), "sum", epsilon=0.1, adversary=np.arange(30) < 3, uncertainty=True
        )


def test_where_it_is_said(tmp_path, capsys, monkeypatch):
    result = dpjax.empirical_privacy(panel(2), "sum", epsilon=EPSILON, uncertainty=True)
    again = dpjax.EmpiricalPrivacy.from_json(result.to_json())
    np.testing.assert_array_equal(again.delta_error, result.delta_error)
    without = dpjax.empirical_privacy(panel(2), "sum", epsilon=EPSILON)
    assert without.delta_error is None
    assert dpjax.EmpiricalPrivacy.from_json(without.to_json()).delta_error is None
    np.testing.assert_array_equal(without.delta, result.delta)
    for kind, sign in ((".md", "+-"), (".html", "&plusmn;")):
        text = render_empirical_report(result, kind=kind)
        assert f"{sign} {result.delta_error[0]:.1e}" in text and "(jackknife)" in text
        assert "jackknife" not in render_empirical_report(without, kind=kind)
    assert "standard error of delta" in str(result) and "standard" not in str(without)
    rows = [f"{d},{i},{v}" for d, row in enumerate(panel(2)) for i, v in enumerate(row)]
    (tmp_path / "t.csv").write_text("\n".join(["database,individual,value", *rows]))
    options = ("--query", "sum", "--epsilon", 0.1, "--epsilon", 0.5, "--uncertainty", "--json")
    code, out, _ = call(
        capsys, monkeypatch, "empirical", tmp_path / "t.csv", "--value", "value", *options
    )
    assert code == 0
    np.testing.assert_allclose(json.loads(out)["delta_error"], result.delta_error, rtol=1e-9)
