"""Built-in queries compared with naive code that drops the rows and runs the query again."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from dpjax.empirical import (
    Count,
    Density,
    HostQuery,
    JaxQuery,
    Maximum,
    Mean,
    Minimum,
    Quantile,
    RegressionCoefficient,
    Sum,
    Variance,
    empirical_privacy,
    panel_from_table,
)
from dpjax.empirical._panel_tables import as_panel
from dpjax.empirical._queries import parse_query
from dpjax.empirical._samples import sample_query


def ragged_table(seed=0, decimals=1):
    """Return 4 databases with 6 individuals of 0 to 4 records each, values with ties."""
    rng = np.random.default_rng(seed)
    rows = [
        (d, f"i{i}", *np.round(rng.normal(size=3), decimals))
        for d in range(4)
        for i in range(6)
        for _ in range(rng.integers(0, 5))
    ]
    return pd.DataFrame(rows, columns=["database", "individual", "x", "y", "z"])


def slope(frame):
    design = np.column_stack([np.ones(len(frame)), frame["x"], frame["z"]])
    return np.linalg.lstsq(design, frame["y"], rcond=None)[0][1]


NAIVE = {
    "count": (Count(), len),
    "sum": (Sum("x"), lambda f: f["x"].sum()),
    "mean": (Mean("x"), lambda f: f["x"].mean()),
    "variance": (Variance("x"), lambda f: f["x"].var()),
    "variance, ddof 0": (Variance("x", ddof=0), lambda f: f["x"].var(ddof=0)),
    "min": (Minimum("x"), lambda f: f["x"].min()),
    "max": (Maximum("x"), lambda f: f["x"].max()),
    "lowest": (Quantile(0.0, "x"), lambda f: f["x"].quantile(0.0)),
    "median": (Quantile(0.5, "x"), lambda f: f["x"].quantile(0.5)),
    "quantile 0.37": (Quantile(0.37, "x"), lambda f: f["x"].quantile(0.37)),
    "highest": (Quantile(1.0, "x"), lambda f: f["x"].quantile(1.0)),
    "regression": (RegressionCoefficient("y", ("x", "z")), slope),
}


@pytest.mark.parametrize("name", NAIVE)
@pytest.mark.parametrize("seed", [0, 1])
def test_leave_one_out_is_exact(name, seed):
    query, naive = NAIVE[name]
    table = ragged_table(seed)
    panel = as_panel(table)
    samples = sample_query(query, panel)
    for d, database in enumerate(panel.databases):
        here = table[table["database"] == database]
        assert samples.full[d, 0] == pytest.approx(naive(here), abs=1e-10)
        for i, individual in enumerate(panel.individuals):
            rest = here[here["individual"] != individual]
            assert samples.without[i, d, 0] == pytest.approx(naive(rest), abs=1e-9), (d, i)


def test_a_dominating_individual_leaves_no_rounding_behind():
    values = np.array([[1e15, 0.1, 0.2, 0.3], [3e15, 0.5, 0.25, 0.1]])
    panel = as_panel(values)
    rest = values[:, 1:]
    for query, naive in (
        (Sum(), rest.sum(1)),
        (Mean(), rest.mean(1)),
        (Variance(), rest.var(1, ddof=1)),
    ):
        np.testing.assert_allclose(
            sample_query(query, panel).without[0, :, 0], naive, rtol=1e-12, err_msg=query.name
        )  # fmt: skip


def test_variances_far_from_zero_are_precise():
    """A difference of squares of numbers near 1e8 would have a rounding error of about 1."""
    near = np.random.default_rng(1).normal(size=(2, 6))
    samples = sample_query(Variance(), as_panel(1e8 + near))
    moved = 1e8 + near - 1e8
    np.testing.assert_allclose(samples.full[:, 0], moved.var(axis=1, ddof=1), rtol=1e-9)
    np.testing.assert_allclose(
        samples.without[0, :, 0], moved[:, 1:].var(axis=1, ddof=1), rtol=1e-9
    )


def test_slopes_far_from_zero_are_precise():
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=(2, 12)), 0.1 * rng.normal(size=(2, 12))
    panel = as_panel(np.stack([1e7 + x, 1e7 + 2 * x + noise], axis=2))
    query = RegressionCoefficient("value_1", ("value_0",))
    moved = [side - 1e7 for side in (1e7 + x, 1e7 + 2 * x + noise)]
    expected = [np.polyfit(a, b, 1)[0] for a, b in zip(*moved, strict=True)]
    np.testing.assert_allclose(sample_query(query, panel).full[:, 0], expected, rtol=1e-7)


def test_results_that_are_undefined_without_an_individual_are_nan_and_noted():
    panel = as_panel(np.array([[1.0, np.nan], [2.0, 3.0], [5.0, 1.0]]))
    samples = sample_query(Mean(), panel)
    np.testing.assert_array_equal(samples.without[0, :, 0], [np.nan, 3.0, 1.0])
    np.testing.assert_array_equal(samples.without[1, :, 0], [1.0, 2.0, 5.0])
    assert "undefined" in samples.notes[0]
    assert sample_query(Count(), panel).without[0, 0, 0] == 0


def test_jax_and_host_queries_agree_with_the_built_in_mean():
    table = ragged_table(2)
    panel = panel_from_table(table, value="x")
    truth = sample_query(Mean(), panel)
    in_jax = JaxQuery(lambda values, present: jnp.sum(values) / jnp.sum(present), batch_size=2)
    steps = []
    on_host = sample_query(np.mean, panel, progress=lambda *step: steps.append(step))
    np.testing.assert_allclose(sample_query(in_jax, panel).without, truth.without, atol=1e-6)
    np.testing.assert_allclose(on_host.without, truth.without, atol=1e-14)
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_an_individual_who_is_absent_changes_no_jax_result_at_all():
    values = np.random.default_rng(0).normal(size=(3, 50))
    values[:, 7] = np.nan
    query = JaxQuery(lambda values, present: jnp.sum(values) / jnp.sum(present))
    samples = sample_query(query, as_panel(values))
    np.testing.assert_array_equal(samples.without[7], samples.full)


def test_randomised_queries_share_their_draw_between_individuals():
    import jax

    panel = as_panel(np.random.default_rng(0).normal(size=(5, 4)))
    noisy_jax = JaxQuery(
        lambda key, values, present: jnp.sum(values) + jax.random.laplace(key), num_draws=3
    )
    noisy_host = HostQuery(lambda rng, values: values.sum() + rng.laplace(), num_draws=3)
    plain = sample_query(Sum(), panel)
    for query in (noisy_jax, noisy_host):
        samples = sample_query(query, panel, key=1)
        assert samples.full.shape == (15, 1)
        assert len(np.unique(samples.full)) == 15
        np.testing.assert_array_equal(samples.database, np.repeat(np.arange(5), 3))
        noise = samples.full - np.repeat(plain.full, 3, axis=0)
        again = samples.without - np.repeat(plain.without, 3, axis=1)
        np.testing.assert_allclose(again, np.broadcast_to(noise, again.shape), atol=1e-5)
        repeated = sample_query(("count", query), panel, key=1)
        np.testing.assert_array_equal(repeated.full[:, 1:], samples.full)
        np.testing.assert_array_equal(repeated.full[:, 0], 4)


def test_joint_queries_stand_side_by_side():
    panel = as_panel(ragged_table())
    samples = sample_query(("count", Mean("x"), "max:y"), panel)
    assert samples.names == ("count", "mean of x", "max of y")
    np.testing.assert_array_equal(samples.full[:, 1], sample_query("mean:x", panel).full[:, 0])
    pair = HostQuery(lambda v: (v[:, 0].mean(), v[:, 1].mean()), "means")
    assert sample_query(pair, panel).names == ("means [0]", "means [1]")


def test_short_forms():
    assert parse_query("mean") == Mean()
    assert parse_query("max:income") == Maximum("income")
    assert parse_query("quantile:0.9:income") == Quantile(0.9, "income")
    assert parse_query("regression:y~x + z") == RegressionCoefficient("y", ("x", "z"))


@pytest.mark.parametrize(
    "text", ["men", "quantile", "quantile:high", "regression:y", "count:x", ""]
)
def test_invalid_short_forms(text):
    with pytest.raises(ValueError, match="query"):
        parse_query(text)


def test_bad_queries():
    panel = as_panel(ragged_table())
    with pytest.raises(TypeError, match=r"query must be .*but was 3"):
        sample_query(3, panel)
    with pytest.raises(ValueError, match="column 'w' is not in the data"):
        sample_query("mean:w", panel)
    with pytest.raises(ValueError, match="column must be named"):
        sample_query("mean", panel)
    with pytest.raises(ValueError, match="level must be a number from 0 to 1"):
        Quantile(1.5)
    with pytest.raises(ValueError, match=r"query must be finite in every database.*database 0"):
        sample_query(HostQuery(lambda v: float("nan")), panel)
    for kind in (JaxQuery, HostQuery):
        with pytest.raises(ValueError, match="num_draws must be an integer >= 1"):
            kind(np.mean, num_draws=0)
    draws = (HostQuery(lambda rng, v: rng.random(), num_draws=n) for n in (2, 3))
    with pytest.raises(ValueError, match=r"num_draws must be the same .* but was \[1, 2, 3\]"):
        sample_query(("count", *draws), panel)


@pytest.mark.parametrize("level", [-0.1, 1.1, np.nan])
def test_levels_of_quantiles_are_from_0_to_1(level):
    with pytest.raises(ValueError, match="level must be a"):
        Quantile(level)


def test_one_name_of_a_regression_is_no_sequence_of_letters():
    table = ragged_table().rename(columns={"x": "height"})
    alone, listed = (RegressionCoefficient("y", on) for on in ("height", ["height"]))
    assert alone == listed and alone.on == ("height",) and hash(alone) == hash(listed)
    with pytest.raises(ValueError, match="coefficient 'h' is not known; known: height"):
        RegressionCoefficient("y", "height", "h")
    found = sample_query(alone, panel_from_table(table, value=("height", "y")))
    rows = [rows for _, rows in table.groupby("database")]
    expected = [np.polyfit(some["height"], some["y"], 1)[0] for some in rows]
    np.testing.assert_allclose(found.full[:, 0], expected, rtol=1e-9)


def test_the_database_without_a_finite_result_is_named():
    values = np.arange(12.0).reshape(4, 3)
    query = HostQuery(lambda records: np.nan if 20 < np.sum(records) < 30 else 1.0)
    with pytest.raises(ValueError, match=r"was \[nan\] in database 2 \(1 such results\)"):
        sample_query(query, as_panel(values))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: JaxQuery(lambda values: values.mean()), r"\(values, present\), but lambda .* key"),
        (lambda: JaxQuery(lambda v, p: v.mean(), num_draws=2), r"\(key, values, present\), but"),
        (lambda: HostQuery(lambda g, v: 1.0), r"\(values\), but lambda .* takes generator"),
        (lambda: HostQuery(lambda v: 1.0, num_draws=2), r"\(generator, values\), but lambda"),
        (lambda: HostQuery("mean"), "be callable, but was 'mean'"),
    ],
)
def test_arguments_of_query_functions_are_checked_where_they_are_given(make, words):
    with pytest.raises(TypeError, match=rf"^function must (take the arguments )?.*{words}"):
        make()


def test_functions_without_a_signature_are_accepted():
    values = np.arange(12.0).reshape(4, 3)
    found = empirical_privacy(values, HostQuery(max), epsilon=1.0, density=Density(bandwidth=1.0))
    same = empirical_privacy(values, "max", epsilon=1.0, density=Density(bandwidth=1.0))
    np.testing.assert_array_equal(found.delta, same.delta)
