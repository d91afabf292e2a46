"""Samples, panels and queries of small panels, compared with loops."""

import itertools
import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from dpjax.empirical import (
    Adversary,
    Count,
    Density,
    HostQuery,
    JaxQuery,
    Maximum,
    Mean,
    Minimum,
    Panel,
    Quantile,
    RegressionCoefficient,
    Sum,
    Variance,
    calibrate_noise,
    empirical_privacy,
    panel_from_array,
)
from dpjax.empirical._joint import (
    JointGrid,
    _ByRatio,
    _edges,
    _halved,
    _masses,
    _mean_positive_part,
)
from dpjax.empirical._mixture import Mixture
from dpjax.empirical._panel_tables import as_panel
from dpjax.empirical._privacy import _epsilons, total_risk
from dpjax.empirical._queries import leave_one_out, parse_query
from dpjax.empirical._risk import individual_risk
from dpjax.empirical._samples import QuerySamples, sample_query
from dpjax.empirical._user_queries import _record_slots

RECORDS = [  # Columns: database, individual, x, y.
    (0, 0, 1.0, 5.0), (0, 2, 4.0, 1.0), (0, 0, 2.5, 2.0), (0, 1, 8.0, 4.0), (0, 1, -3.0, 2.5),
    (1, 1, 2.0, 1.0), (1, 1, 6.0, 3.0),
    (2, 2, 0.5, 0.0), (2, 0, 7.0, 1.5), (2, 0, 3.0, 2.0), (2, 2, 9.0, 9.0), (2, 2, 1.0, 1.0),
]  # fmt: skip
TABLE = np.array(RECORDS)
PANEL = Panel(
    databases=("a", "b", "c"), individuals=("ann", "bob", "cy", "dee"), columns=("x", "y"),
    database=TABLE[:, 0].astype(int), individual=TABLE[:, 1].astype(int), values=TABLE[:, 2:],
)  # fmt: skip


def naive(function, column=0):
    """Return results of a function of a list of numbers, [databases, 1 + individuals]."""
    found = []
    for d in range(3):
        rows = [row for row in RECORDS if row[0] == d]
        groups = [rows, *([row for row in rows if row[1] != i] for i in range(4))]
        found.append([function([row[2 + column] for row in group]) for group in groups])
    return np.array(found)


def or_nan(function, at_least=1):
    return lambda values: function(values) if len(values) >= at_least else math.nan


@pytest.mark.parametrize(
    "query, function",
    [
        (Count(), len), (Sum("x"), sum), (Mean("x"), or_nan(np.mean)),
        (Variance("x"), or_nan(lambda v: np.var(v, ddof=1), 2)),
        (Variance("x", ddof=0), or_nan(np.var)),
        (Variance("x", ddof=2), or_nan(lambda v: np.var(v, ddof=2), 3)),
        (Minimum("x"), or_nan(min)), (Maximum("x"), or_nan(max)),
        *((Quantile(level, "x"), or_nan(lambda v, level=level: np.quantile(v, level)))
          for level in (0.0, 0.2, 0.5, 0.9, 1.0)),
    ],
)  # fmt: skip
def test_queries_against_loops(query, function):
    np.testing.assert_allclose(query.answers(PANEL)[:, 0, :, 0], naive(function), atol=1e-12)
    assert query.answers(PANEL).shape == (3, 1, 5, 1)


@pytest.mark.parametrize("column, on", [("x", ("x",)), ("x", ("x", "z")), ("z", ("x", "z"))])
def test_regressions_against_least_squares(column, on):
    z = np.array([1.0, 5, 2, 2, 7, 3, 1, 4, 4, 2, 8, 6])
    panel = replace(PANEL, columns=("x", "y", "z"), values=np.column_stack([TABLE[:, 2:], z]))
    query = RegressionCoefficient("y", on, None if len(on) == 1 else column)
    found = query.answers(panel)[:, 0, :, 0]
    for d in (0, 2):
        for i in (-1, 0, 1, 2, 3):
            keep = (panel.database == d) & (panel.individual != i)
            design = np.column_stack([np.ones(keep.sum()), *(panel.column(c)[keep] for c in on)])
            slopes, _, rank, _ = np.linalg.lstsq(design, panel.column("y")[keep], rcond=1e-10)
            expected = slopes[1 + on.index(column)] if rank == len(on) + 1 else math.nan
            np.testing.assert_allclose(found[d, 1 + i], expected, rtol=1e-9)
    assert query.name == f"coefficient of {column} in the regression of y on {on}"


def test_sides_of_leaving_one_out():
    own = np.array([[3.0, 1.0, 2.0], [5.0, 7.0, 6.0]])
    np.testing.assert_array_equal(leave_one_out(own), [[3, 5, 4], [13, 11, 12]])
    np.testing.assert_array_equal(leave_one_out(own, np.minimum), [[1, 2, 1], [6, 5, 5]])
    np.testing.assert_array_equal(leave_one_out(own, np.maximum), [[2, 3, 3], [7, 6, 7]])
    np.testing.assert_array_equal(leave_one_out(own[:, :1]), [[0.0], [0.0]])
    np.testing.assert_array_equal(leave_one_out(own[:, :1], np.minimum), [[np.inf]] * 2)


@pytest.mark.parametrize(
    "text, query",
    [
        ("count", Count()), ("sum", Sum()), ("mean:income", Mean("income")),
        ("variance", Variance()), ("min", Minimum()), ("max:x", Maximum("x")),
        ("median", Quantile(0.5)), ("median:x", Quantile(0.5, "x")),
        ("quantile:0.9", Quantile(0.9)), ("quantile:0.25:x", Quantile(0.25, "x")),
        ("regression:y~x+z", RegressionCoefficient("y", ("x", "z"))),
        ("regression: y ~ x + z ", RegressionCoefficient("y", ("x", "z"))),
    ],
)  # fmt: skip
def test_short_forms_of_queries(text, query):
    assert parse_query(text) == query and type(parse_query(text)) is type(query)


@pytest.mark.parametrize(
    "text", ["count:x", "mean:x:y", "quantile", "quantile:0.5:x:y", "regression:y", "mode",
             "regression:y~x~z", "regression:y~x:z"],
)  # fmt: skip
def test_texts_that_are_no_queries(text):
    with pytest.raises(ValueError, match=f"^query '{text}' is not known; "):
        parse_query(text)


def test_names_of_queries():
    queries = (
        Count(),
        Sum("x"),
        Mean(),
        Variance("y"),
        Minimum(),
        Maximum("x"),
        Quantile(0.25, "x"),
    )
    assert [query.name for query in queries] == [
        "count", "sum of x", "mean", "variance of y", "min", "max of x", "quantile 0.25 of x",
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"^level must be a number from 0 to 1, but was 1\.5\.$"):
        Quantile(1.5)
    assert RegressionCoefficient("y", ["a", "b"]).on == ("a", "b")


@pytest.mark.parametrize("batch", [1, 3, 5, 256])
def test_jax_queries_against_host_queries(batch):
    def total(values, present):
        return jnp.stack([values.sum(), jnp.sum(present), values[..., 1].max()])

    def on_host(values):
        return [values.sum(), len(values), max(values[:, 1].max(), 0.0)]

    jax_table = JaxQuery(total, batch_size=batch).answers(PANEL, 0)
    host_table = HostQuery(on_host).answers(PANEL, 0)
    assert jax_table.shape == host_table.shape == (3, 1, 5, 3)
    known = ~np.isnan(host_table)
    np.testing.assert_allclose(jax_table[known], host_table[known], rtol=1e-6)
    # Without bob, the second database is empty, and only the JAX query has an answer.
    assert [*np.argwhere(~known)[:, :3].tolist()] == [[1, 0, 2]] * 3


def test_keys_of_random_queries():
    seen = []

    def host(generator, values):
        seen.append(generator.integers(2**60))
        return values.sum()

    calls = []
    HostQuery(host, num_draws=2).answers(PANEL, 7, lambda *call: calls.append(call))
    expected = {(d, draw): np.random.default_rng((7, d, draw)).integers(2**60)
                for d in range(3) for draw in range(2)}  # fmt: skip
    called = {0: 3, 1: 0, 2: 2}  # Functions are not called without records.
    order = [key for d in range(3) for draw in range(2) for key in [(d, draw)] * (1 + called[d])]
    assert seen == [expected[key] for key in order]
    assert calls == [(1, 3), (2, 3), (3, 3)]
    found = JaxQuery(lambda key, v, p: jax.random.uniform(key), num_draws=2).answers(PANEL, 7)
    keys = jax.random.split(jax.random.key(7), (3, 2))
    for d, draw in itertools.product(range(3), range(2)):
        np.testing.assert_allclose(found[d, draw, :, 0], float(jax.random.uniform(keys[d, draw])))
    noisy = JaxQuery(lambda key, v, p: jax.random.uniform(key), num_draws=1)
    assert len({noisy.answers(PANEL, key)[0, 0, 0, 0] for key in (7, 2**32 + 7, 2**62 + 7)}) == 3


def test_values_that_functions_of_users_get():
    seen = []
    one = replace(PANEL, columns=("x",), values=PANEL.values[:, :1])
    HostQuery(lambda values: seen.append(values) or 0.0).answers(one, 0)
    np.testing.assert_array_equal(seen[0], [1, 4, 2.5, 8, -3])
    np.testing.assert_array_equal(seen[1], [4, 8, -3])  # Without ann.
    HostQuery(lambda values: seen.append(values) or 0.0).answers(PANEL, 0)
    assert seen[-1].shape == (2, 2)
    assert _record_slots(PANEL).tolist() == [0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 2]


def test_samples_of_several_queries():
    twice = HostQuery(lambda generator, v: [len(v), v[:, 0].sum()], "both", num_draws=2)
    found = sample_query((Mean("x"), twice, lambda v: v[:, 1].max()), PANEL)
    assert found.names == ("mean of x", "both [0]", "both [1]", "<lambda>")
    assert found.full.shape == (6, 4) and found.without.shape == (4, 6, 4)
    assert found.database.tolist() == [0, 0, 1, 1, 2, 2]
    expected = np.stack(
        [naive(or_nan(np.mean)), naive(len), naive(sum), naive(or_nan(max), 1)], axis=-1
    )
    np.testing.assert_allclose(found.full, np.repeat(expected[:, 0], 2, axis=0))
    # Bob is alone in the second database, and functions are not called without records.
    expected[1, 2] = math.nan
    without = np.moveaxis(np.repeat(expected[:, 1:], 2, axis=0), 1, 0)
    np.testing.assert_allclose(found.without, without)
    assert found.notes == (
        "For each of 1 individuals (first: 'bob'), the query is undefined in some databases if the "
        "individual is removed. An undefined result reveals the removal.",
    )
    assert found.full.flags.c_contiguous and found.without.flags.c_contiguous
    part = found.select(np.array([0, 2]))
    np.testing.assert_array_equal(part.full, found.full[[0, 1, 4, 5]])
    np.testing.assert_array_equal(part.without, found.without[:, [0, 1, 4, 5]])
    assert part.database.tolist() == [0, 0, 2, 2]
    assert (part.names, part.notes) == (found.names, found.notes)


@pytest.mark.parametrize("scale", [1e-300, 1e-141, 1e141, 1e300])
def test_results_whose_squares_leave_float64_are_refused(scale):
    """In earlier versions, messages were wrong, and the independence check divided 0 by 0."""
    data = scale * np.random.default_rng(0).normal(size=(30, 8))
    with pytest.raises(ValueError, match=r"^query 'mean' had results from -\S+ to \S+, which are"):
        sample_query("mean", panel_from_array(data))
    if scale > 1:
        with pytest.raises(ValueError, match=r"query (must be finite|'variance' had results)"):
            sample_query("variance", panel_from_array(data))
    # Equal results are accepted, no matter how small they are.
    sample_query("mean", panel_from_array(np.full((3, 2), min(scale, 1e139))))


def test_samples_that_cannot_be():
    def some(values):
        return math.inf if len(values) == 2 else 1.0

    with pytest.raises(ValueError) as raised:
        sample_query(HostQuery(some, "some"), PANEL)
    assert str(raised.value) == (
        "query must be finite in every database, but ['some'] was [inf] in database 'b' (1 such "
        "results)."
    )
    draws = [HostQuery(lambda g, v: 0.0, num_draws=n) for n in (2, 4)]
    with pytest.raises(
        ValueError, match=r"^num_draws must be the same in all random queries, but "
    ):
        sample_query(tuple(draws), PANEL)
    with pytest.raises(ValueError, match=r"^query must hold at least one query, but was empty"):
        sample_query((), PANEL)
    with pytest.raises(TypeError, match=r"^query must be a built-in query, .*but was 3 \(int\)"):
        sample_query(3, PANEL)
    with pytest.raises(ValueError, match="key must be an integer >= 0, but was -1"):
        sample_query("count", PANEL, key=-1)
    with pytest.raises(ValueError, match="num_draws must be an integer >= 1, but was 0"):
        HostQuery(some, num_draws=0)


def test_an_absent_individual_changes_nothing():
    noisy = HostQuery(lambda values: np.random.default_rng().random())
    found = sample_query(noisy, PANEL)
    changed = (found.without[:, :, 0] != found.full[:, 0]).T
    np.testing.assert_array_equal(changed | np.isnan(found.without[:, :, 0].T), PANEL.total() > 0)


def test_panels_by_hand():
    assert (PANEL.num_databases, PANEL.num_individuals) == (3, 4)
    np.testing.assert_array_equal(PANEL.total(), [[2, 2, 1, 0], [0, 2, 0, 0], [2, 0, 3, 0]])
    weights = PANEL.column("y")
    np.testing.assert_array_equal(
        PANEL.total(weights), [[7, 6.5, 1, 0], [0, 4, 0, 0], [3.5, 0, 10, 0]]
    )
    assert PANEL.coverage().tolist() == [2, 2, 2, 0]
    assert [PANEL.rows(d) for d in range(3)] == [slice(0, 5), slice(5, 7), slice(7, 12)]
    with pytest.raises(
        ValueError,
        match=r"the value columns are \['x', 'y'\]\. The name of a query may .*'mean:income'",
    ):
        PANEL.column()
    with pytest.raises(ValueError, match=r"^column 'z' is not in the data; "):
        PANEL.column("z")


def test_panels_of_arrays():
    array = np.array([[[1.0, 2], [3, 4]], [[5, 6], [math.nan, math.nan]]])
    found = panel_from_array(array, databases=["p", "q"], individuals=["i", "j"])
    assert found.columns == ("value_0", "value_1") and found.databases == ("p", "q")
    assert found.individuals == ("i", "j") and found.notes == ()
    assert (found.database.tolist(), found.individual.tolist()) == ([0, 0, 1], [0, 1, 0])
    np.testing.assert_array_equal(found.values, [[1, 2], [3, 4], [5, 6]])
    plain = panel_from_array(np.array([[1, 2, 3]]))
    assert (
        plain.columns == ("value",) and plain.individuals == (0, 1, 2) and plain.databases == (0,)
    )
    named = panel_from_array(array, columns=["u", "v"])
    assert named.columns == ("u", "v")
    half = array.copy()
    half[0, 1, 0] = math.nan
    with pytest.raises(ValueError) as raised:
        panel_from_array(half)
    assert str(raised.value).startswith(
        "databases must be finite where an individual is present, but individual 1 in database 0 "
        "was [nan, 4.0] (in total, 1 values are not finite)"
    )
    hidden = panel_from_array(half, mask=[[True, False], [True, False]])
    assert hidden.notes == (
        "1 of 2 individuals are in no database (first: 1), so their delta is 0 by construction, "
        "which is no evidence of their privacy.",
    )
    with pytest.raises(
        ValueError, match=r"databases must be 2 distinct labels, but were 3 labels, 2"
    ):
        panel_from_array(array, databases=["p", "q", "p"])
    with pytest.raises(ValueError, match=r"individuals must be 2 distinct labels.*1 of them"):
        panel_from_array(array, individuals=["i", "i"])
    with pytest.raises(ValueError, match="database 1 holds none: leave out this database"):
        panel_from_array([[1.0], [math.nan]])
    with pytest.raises(ValueError, match="one individual, but held 0 and 2"):
        panel_from_array(np.zeros((0, 2)))
    with pytest.raises(ValueError, match="one individual, but held 2 and 0"):
        panel_from_array(np.zeros((2, 0)))
    keys = panel_from_array(np.zeros((2, 3, 0)))
    assert keys.values.shape == (6, 0) and keys.columns == ()


def test_data_that_are_panels():
    assert as_panel(PANEL) is PANEL
    frame = pd.DataFrame(RECORDS, columns=["database", "individual", "x", "y"])
    for data in (frame, [[1.0, 2.0]], ([1.0], [2.0]), np.ones((2, 2))):
        assert isinstance(as_panel(data), Panel)
    assert as_panel(frame).columns == ("x", "y")
    with pytest.raises(TypeError, match="a panel, but was dict"):
        as_panel({})


def test_total_risk_by_hand():
    np.testing.assert_allclose(total_risk(np.array([[0.5, 0], [0.25, 0], [0, 0]])), [0.625, 0])
    assert total_risk(np.array([[1.0], [0.5]])).tolist() == [1.0]
    assert total_risk(np.full((3, 1), 1e-18))[0] == pytest.approx(3e-18)
    assert not np.signbit(total_risk(np.zeros((2, 1))))[0]


def test_levels_by_hand():
    assert _epsilons(0.5).tolist() == [0.5] and _epsilons([500, 0]).tolist() == [500.0, 0.0]
    for wrong in (500.5, [[1.0]]):
        with pytest.raises(
            ValueError, match=r"^epsilon must be a number, or a list .* to 500, but"
        ):
            _epsilons(wrong)
    with pytest.raises(ValueError, match="epsilon"):
        _epsilons(-1)


def test_means_of_draws():
    samples = QuerySamples(
        ("a", "b"), np.array([[1.0, 2], [3, 4], [5, 7]]), np.zeros((0, 3, 2)), np.array([0, 0, 1])
    )
    np.testing.assert_array_equal(samples.per_database(), [[2, 3], [5, 7]])


@pytest.mark.parametrize("number, said", [(9, True), (10, False)])
def test_how_few_databases_are_few(number, said):
    values = np.random.default_rng(1).normal(size=(number, 3))
    notes = empirical_privacy(values, "mean", epsilon=1.0, density=Density(bandwidth=1.0)).notes
    words = (
        f"A density estimated from {number} databases mostly has the shape of the kernel, and "
        "every delta depends strongly on the bandwidth."
    )
    assert (words in notes) == said
    one = empirical_privacy(values[:1], "mean", epsilon=1.0, density=Density(bandwidth=1.0)).notes
    assert one[-1].startswith("A density estimated from 1 database mostly")


def test_queries_of_four_numbers_are_refused():
    values = np.random.default_rng(1).normal(size=(9, 3))
    with pytest.raises(
        ValueError, match=r"^query must return at most 3 numbers, but returned 4: a "
    ):
        empirical_privacy(values, ("mean", "max", "min", "sum"), epsilon=1.0)
    with pytest.raises(
        ValueError, match=r"^query must return one number, but returned 2: calibrate"
    ):
        calibrate_noise(values, ("mean", "max"), epsilon=1.0)


def test_risks_of_lost_individuals_and_of_individuals_without_influence():
    full = np.array([[0.0], [1.0], [2.0]])
    without = np.stack([full, full + 0.5, np.full((3, 1), math.nan), full + 1.0])
    samples = QuerySamples(("q",), full, without, np.arange(3))
    calls = []
    risk = individual_risk(
        samples, Density("laplace", (1.0,)), np.array([0.0, 1.0]), tolerance=1e-9,
        progress=lambda *call: calls.append(call),
    )  # fmt: skip
    assert risk.deltas[0].tolist() == [0, 0] and risk.deltas[2].tolist() == [1, 1]
    assert 0 < risk.deltas[1, 0] < risk.deltas[3, 0] < 1 and risk.epsilon_at_zero == math.inf
    assert risk.integration_error == 0.0 and calls == [(2, 2)]
    alive = replace(samples, without=without[[0, 1, 3]])
    found = individual_risk(alive, Density("laplace", (1.0,)), np.array([0.0]), tolerance=1e-9)
    assert found.epsilon_at_zero == pytest.approx(1.0, abs=1e-6)
    assert math.isnan(
        individual_risk(alive, Density("laplace", (1.0,)), np.ones(1)).epsilon_at_zero
    )
    ones = individual_risk(alive, Density("gaussian", (1.0,)), np.array([0.5]),
                           progress=lambda *call: calls.append(call))  # fmt: skip
    assert calls[1:] == [(1, 2), (2, 2)] and ones.integration_error > 0


def test_buckets_by_hand():
    values = np.random.default_rng(1).normal(size=(7, 2))
    panel = panel_from_array(values)
    found = Adversary([3, 1, 2, 5, 4, 1, 0], num_buckets=3).buckets(panel, 0)
    assert [label for label, _ in found] == [
        "adversary value 0 to 1", "adversary value 2 to 3", "adversary value 4 to 5",
    ]  # fmt: skip
    assert [members.tolist() for _, members in found] == [[1, 5, 6], [0, 2], [3, 4]]
    words = Adversary(["b", "a", "b", "a", "c", "c", "b"]).buckets(panel, 0)
    assert [(label, members.tolist()) for label, members in words] == [
        ("adversary value a", [1, 3]), ("adversary value b", [0, 2, 6]),
        ("adversary value c", [4, 5]),
    ]  # fmt: skip
    two = Adversary([0, 1, 0, 1, 1, 0, 0]).buckets(panel, 0)
    assert [label for label, _ in two] == ["adversary value 0", "adversary value 1"]
    # The bucket that contains only 2 is merged with the next one; that of 5 with the previous.
    joined = Adversary([3, 1, 2, 5, 4, 1, 0], num_buckets=4).buckets(panel, 0)
    assert [label for label, _ in joined] == ["adversary value 0 to 1", "adversary value 2 to 5"]
    mixed = Adversary(np.array([1, "1", 1, "1", (2, 3), (2, 3), 1], object)).buckets(panel, 0)
    assert [members.tolist() for _, members in mixed] == [[0, 2, 6], [1, 3], [4, 5]]
    with pytest.raises(
        ValueError, match=r"each of the 7 databases, but its knowledge had shape \(3"
    ):
        Adversary([1, 2, 3]).buckets(panel, 0)
    (_, low), (_, high) = Adversary("sum").buckets(panel, 0)
    order = np.argsort(values.sum(axis=1))
    assert (low.tolist(), high.tolist()) == (sorted(order[:4]), sorted(order[4:]))
    asked = Adversary(JaxQuery(lambda v, p: v.sum())).buckets(panel, 0)
    assert [members.tolist() for _, members in asked] == [low.tolist(), high.tolist()]


def test_positive_parts_of_linear_functions():
    rng = np.random.default_rng(5)
    center, ranges = rng.normal(size=6), rng.uniform(0.2, 1.5, size=(2, 6))
    u = (np.arange(2000) + 0.5) / 1000 - 1
    first, second = np.meshgrid(u, u)
    for k in range(6):
        values = center[k] + ranges[0, k] * first + ranges[1, k] * second
        expected = np.maximum(values, 0).mean()
        assert _mean_positive_part(center, ranges)[k] == pytest.approx(expected, abs=2e-6)
        one = np.maximum(center[k] + ranges[0, k] * u, 0).mean()
        found = _mean_positive_part(center[k : k + 1], ranges[:1, k : k + 1])[0]
        assert found == pytest.approx(one, abs=2e-6)


def test_cells_of_joint_grids():
    p = np.array([[0.5, 0.0], [0.2, 0.3]])
    q = np.array([[0.1, 0.4], [0.0, 0.5]])
    side = _ByRatio(p, q)
    # Beyond the sign changes, delta is the sum of the positive net masses of cells.
    for epsilon in (0.0, 0.5, 1.0):
        net, share = side.excess(np.array([epsilon]))[:, 0]
        assert net - share == pytest.approx(np.maximum(p - math.exp(epsilon) * q, 0).sum())
    assert side._cells[0].size == 4
    kept = _ByRatio(np.array([[1.0, 1e-14], [0.0, 1e-12]]), np.array([[0.0, 1e-14], [1.0, 1e-12]]))
    assert kept._cells[0].tolist() == [1.0, 0.0, 1e-12]
    empty = _ByRatio(np.array([[1.0, 0.0]] * 2) / 2, np.array([[1.0, 0.0]] * 2) / 2)
    assert empty._cells[0].tolist() == [0.5, 0.5]
    np.testing.assert_array_equal(_halved(np.arange(16.0).reshape(4, 4)), [[10, 18], [42, 50]])


@pytest.mark.parametrize("kernel, reach", [("gaussian", 6.0), ("laplace", 16.0)])
def test_edges_of_joint_grids(kernel, reach):
    first, second = np.array([0.0, 3.0]), np.array([1.0])
    edges = _edges(first, second, kernel, 0.5, 64)
    assert edges.shape == (65,) and edges[0] == -np.inf and edges[-1] == np.inf
    inner = np.diff(edges[1:-1])
    assert inner.min() > 0 and edges[1] > -0.5 * reach and edges[-2] < 3 + 0.5 * reach
    assert edges[1] < -0.5 * reach * 0.6 and edges[-2] > 3 + 0.5 * reach * 0.6
    # The shares of a cell of mass and of length sum to two 64ths.
    both = Mixture(kernel, np.array([0.0, 3.0, 1.0]), np.ones(3))
    assert np.diff(both.cdf(edges[1:-1])).max() < 2.2 / 64
    masses = _masses(first, edges, kernel, 0.5)
    one = Mixture(kernel, np.zeros(1), np.array([0.5]))
    for row, center in zip(masses, first, strict=True):
        np.testing.assert_allclose(row.sum(), 1)
        np.testing.assert_allclose(np.cumsum(row)[:-1], one.cdf(edges[1:-1] - center), atol=1e-14)


def test_joint_grids_have_256_cells_for_two_queries_and_64_for_three():
    a = np.zeros((2, 2))
    assert JointGrid(a, a + 1, "laplace", (1.0, 1.0))._fine[0]._falling.size == 256**2
    assert JointGrid(a, a + 1, "laplace", (1.0, 1.0))._coarse[0]._falling.size == 128**2
    b = np.zeros((2, 3))
    assert JointGrid(b, b + 1, "laplace", (1.0,) * 3)._fine[1]._falling.size == 64**3
    assert JointGrid(b, b + 1, "laplace", (1.0,) * 3, cells=4)._fine[0]._falling.size == 64


def test_a_host_query_must_always_return_as_many_numbers():
    for function, said in (
        (
            lambda values: values,
            r"must return a number or have shape \[d\], but returned the shape",
        ),
        (lambda values: [1.0] * len(values), r"returned the shape \[.\] for all records and \[.\]"),
    ):
        with pytest.raises(ValueError, match=said):
            HostQuery(function).answers(PANEL, 0)


@pytest.mark.parametrize(
    ("query", "twice"),
    [
        (("sum", "sum"), "sum of x"),
        (("sum", "mean", "sum:x"), "sum of x"),
        (("median", "quantile:0.5:x"), "quantile 0.5 of x"),
        (("count", "count"), "count"),
        ((Mean("x"), "mean"), "mean of x"),
        (
            ("regression:y~x", RegressionCoefficient("y", "x", "x")),
            "coefficient of x in the regression of y",
        ),
    ],
)
def test_a_query_twice_is_refused(query, twice):
    panel = PANEL if "y" in twice else replace(PANEL, columns=("x",), values=TABLE[:, 2:3])
    with pytest.raises(ValueError, match=f"query must be different each time, but was .{twice}"):
        sample_query(query, panel)


def test_different_queries_of_columns_are_accepted():
    assert sample_query(("sum:x", "sum:y", "mean:x"), PANEL).full.shape == (3, 3)
    assert sample_query(("regression:y~x", "regression:x~y"), PANEL).full.shape == (3, 2)
