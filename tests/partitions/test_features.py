"""Features by hand, at the borders of their limits."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpjax.partitions import Outputs
from dpjax.partitions._curve import curve_of, ranked_bounds
from dpjax.partitions._features import Columns, Features
from dpjax.partitions._nested import Label, Nested, form_of, rows_of, usual
from dpjax.partitions._scores import Combination, fit_combination
from dpjax.partitions.missing import Raised


def vectors(values, labels=None, alone=None):
    n = len(values)
    return Outputs(
        np.zeros(n, np.int32) if labels is None else np.asarray(labels, np.int32),
        np.asarray(values, float),
        np.zeros(n, bool) if alone is None else np.asarray(alone, bool),
    )


def test_standardized_numbers():
    """By the median and the interquartile range; atoms and labels alone are 0."""
    values = np.concatenate([np.arange(-500, 501) / 10, np.full(99, 7.0), [1e6]])[:, None]
    outputs = vectors(values)
    columns = Columns.of(outputs)
    low, centre, high = np.quantile(values[values != 7.0], [0.25, 0.5, 0.75])
    assert columns.centre[0] == centre
    assert columns.scale[0] == pytest.approx((high - low) / 1.349)
    assert columns.atoms[0].tolist() == [7.0] and not len(columns.labels)
    found = columns.numbers(vectors([[7.0], [20.0], [-1e9], [1e9], [20.0]], alone=[0, 0, 0, 0, 1]))
    scaled = (20.0 - centre) / columns.scale[0]
    np.testing.assert_allclose(found[:, 0], [0.0, scaled, -10.0, 10.0, 0.0])
    indicated = columns.indicators(vectors([[7.0], [20.0], [7.0]], alone=[0, 0, 1]))
    assert indicated.tolist() == [[1.0], [0.0], [0.0]]


@pytest.mark.parametrize(
    ("count", "size", "found"), [(5, 1000, True), (4, 1000, False), (2, 100, True), (1, 100, False)]
)
def test_values_that_are_frequent(count, size, found):
    """At least 0.005 of the outputs, and twice."""
    values = np.concatenate([np.arange(size - count) + 0.5, np.full(count, -3.0)])[:, None]
    assert Columns.of(vectors(values)).atoms[0].tolist() == [-3.0] * found


def test_entries_that_hardly_vary():
    """Atoms count for nothing; the deviation is taken if half of the rest is equal, 1 if all is."""
    half = np.r_[np.zeros(800), np.arange(1.0, 201)]
    # The ninth of nine frequent values is no atom.
    ninth = np.r_[np.repeat(np.arange(-8.0, 0), 20), np.full(640, 100.0), 1000.5 + np.arange(200)]
    columns = Columns.of(vectors(np.stack([half, np.full(1000, 4.0), ninth], axis=1)))
    spread = np.diff(np.quantile(half[800:], [0.25, 0.75]))[0] / 1.349
    np.testing.assert_allclose(columns.scale, [spread, 1.0, ninth[160:].std()])
    assert columns.centre.tolist() == [100.5, 4.0, 100.0]
    # All values are frequent in the second: an ordinary number.
    assert columns.atoms[1].size == 0 and columns.atoms[0].tolist() == [0.0]
    assert columns.atoms[2].tolist() == list(range(-8, 0))


def test_outputs_without_numbers():
    columns = Columns.of(vectors(np.zeros((4, 2)), [1, 1, 2, 1], [True] * 4))
    assert columns.labels.tolist() == [1, 2] and columns.centre.tolist() == [0.0, 0.0]
    assert columns.scale.tolist() == [1.0, 1.0]
    assert Columns.of(vectors(np.zeros((2, 1)), [1, 1], [True] * 2)).labels.size == 0


def normal(n, d, seed=0):
    return vectors(np.random.default_rng(seed).normal(size=(n, d)))


@pytest.mark.parametrize(("dimension", "knots"), [(1, 7), (20, 7), (21, 3)])
def test_numbers_of_knots(dimension, knots):
    outputs = normal(300, dimension)
    columns = Columns.of(outputs)
    features = Features.of("additive", columns, outputs)
    assert [len(found) for found in features.knots] == [knots] * dimension
    table = columns.numbers(outputs)
    expected = np.quantile(table[:, 0], np.arange(1, knots + 1) / (knots + 1))
    np.testing.assert_allclose(features.knots[0], expected)
    hinges = features(outputs)[:, dimension : dimension + knots]
    np.testing.assert_allclose(hinges, np.maximum(table[:, :1] - expected, 0))
    assert features.owners().tolist() == [*range(dimension), *np.repeat(range(dimension), knots)]
    for kind in ("linear", "clipped", "products"):
        assert Features.of(kind, columns, outputs).knots == ()


@pytest.mark.parametrize("distinct", [2, 3, 8])
def test_entries_of_few_values_have_hinges_between_them(distinct):
    values = (np.arange(900) % distinct).astype(float)[:, None]
    outputs = vectors(values)
    columns = Columns.of(outputs)
    features = Features.of("additive", columns, outputs)
    inner = columns.numbers(vectors(np.arange(1.0, distinct - 1)[:, None]))[:, 0]
    np.testing.assert_allclose(features.knots[0], inner)


def test_entries_of_nine_values_have_hinges_at_quantiles():
    outputs = vectors((np.arange(900) % 9).astype(float)[:, None])
    columns = Columns.of(outputs)
    expected = np.unique(np.quantile(columns.numbers(outputs)[:, 0], np.arange(1, 8) / 8))
    np.testing.assert_allclose(Features.of("additive", columns, outputs).knots[0], expected)


def test_common_features_are_a_sum():
    outputs = vectors([[0.1, 5.0], [-5.0, -0.25]])
    columns = Columns(np.zeros(2), np.ones(2), np.empty(0, int), (np.empty(0),) * 2)
    features = Features.of("common", columns, outputs)
    np.testing.assert_allclose(features(outputs), [[0.6], [-0.75]])
    assert features.owners().tolist() == [-1]


@pytest.mark.parametrize("dimension", [2, 20, 21])
def test_products_by_hand(dimension):
    outputs = vectors(6 * np.random.default_rng(1).normal(size=(50, dimension)))
    columns = Columns.of(normal(1000, dimension))
    features = Features.of("products", columns, outputs)
    z = columns.numbers(outputs)
    pairs = [
        np.clip(z[:, i] * z[:, j], -25, 25)
        for i in range(dimension)
        for j in range(i + 1, dimension)
    ]
    parts = [z, np.abs(z), np.minimum(z**2, 25.0)]
    expected = np.concatenate([*parts, np.stack(pairs, 1)] if dimension <= 20 else parts, axis=1)
    np.testing.assert_allclose(features(outputs), expected)
    owners = [*range(dimension)] * 3 + [-1] * (len(pairs) if dimension <= 20 else 0)
    assert features.owners().tolist() == owners


def test_clipped_features():
    outputs = vectors([[0.1], [5.0], [-5.0]])
    columns = Columns(np.zeros(1), np.ones(1), np.empty(0, int), (np.empty(0),))
    assert Features.of("clipped", columns, outputs)(outputs)[:, 0].tolist() == [0.1, 0.5, -0.5]
    assert Features.of("linear", columns, outputs)(outputs)[:, 0].tolist() == [0.1, 5.0, -5.0]


def test_the_entries_that_matter_most_are_named():
    """By how much the score varies with them, not by the coefficients of standardized features."""
    rng, n = np.random.default_rng(4), 4000
    side = np.repeat([0, 1], n // 2)
    values = rng.normal(size=(n, 5))
    for entry, shift in ((3, 1.0), (1, 0.5), (4, 0.25)):
        values[:, entry] += shift * side
    outputs = vectors(values)
    features = Features.of("additive", Columns.of(outputs), outputs)
    score = fit_combination(features, outputs, side, np.arange(n) % 5)
    assert isinstance(score, Combination) and score.entries == (3, 1, 4)
    assert score.words(False) == "the additive score of the entries 3, 1, 4 and 2 more"
    assert np.abs(score.weights.mean(axis=0)).max() == pytest.approx(1.0)
    # Likelier at side 0 are small values, which have large scores.
    found = score.values(outputs)
    assert found[side == 0].mean() > found[side == 1].mean()


def form(item):
    return form_of(item)


@pytest.mark.parametrize(
    ("item", "found"),
    [
        (np.array(3.0), (3.0,)), (np.array([1.0, 2.0]), (1.0, 2.0)), ([1, 2.5], (1.0, 2.5)),
        (3, (3.0,)), (True, (1.0,)), (np.float32(0.5), (0.5,)), ("a", Label("a")),
        (2**53, (2.0**53,)), (2**53 + 1, Label(2**53 + 1)), (-(2**53) - 1, Label(-(2**53) - 1)),
        ((2**53, 1), (2.0**53, 1.0)), (None, Raised("None")), (("a", "b"), Label(("a", "b"))),
        (["a", "b"], Label(("a", "b"))), ([], Raised("empty")), (np.array([]), Raised("empty")),
        ((), Raised("empty")), ({}, Raised("empty")), (b"", Raised("empty bytes")),
    ],
)  # fmt: skip
def test_forms_of_outputs(item, found):
    given = form_of(item)
    assert given == found and type(given) is type(found)


def test_vectors_of_integers_that_are_too_large():
    for item in ((2**53 + 1, 1.0), [1.0, -(2**53) - 1]):
        with pytest.raises(ValueError, match="integers above 2"):
            form_of(item)


def test_forms_of_nested_outputs():
    found = form_of({"b": [1, np.array([2.0, 3.0])], "a": "x", "c": 2**53 + 1})
    assert found.structure == "{'a': 'x', 'b': (number, (number, number)), 'c': 9007199254740993}"
    assert found.numbers == (1.0, 2.0, 3.0) and not found.numeric
    assert found.entries == ("['b'][0]", "['b'][1][0]", "['b'][1][1]")
    assert form_of({"a": 1}).numeric and form_of({"a": (2**53,)}).numbers == (2.0**53,)
    assert form_of((1.0, "a")) == Nested("(number, 'a')", (1.0,), ("[0]",), False)
    # A dict of labels alone is nested; a tuple of these is a label.
    assert form_of({"a": "x"}).numbers == ()
    assert form_of({1: 1.0, "1": 2.0}).entries == ("[1]", "['1']")
    with pytest.raises(TypeError):
        form_of({"a": {1}})


def test_the_usual_structure():
    found = [form_of(item) for item in ({"a": 1}, {"b": 1}, {"b": 2}, {"a": 5}, {"b": 7})]
    assert usual(found) == found[1]
    assert rows_of({"a": [1, 2], "b": {"c": [3, 4]}}) == [
        {"a": 1, "b": {"c": 3}}, {"a": 2, "b": {"c": 4}},
    ]  # fmt: skip
    with pytest.raises(ValueError, match="zip"):
        rows_of({"a": [1, 2], "b": [3]})


def test_the_curve_of_counts():
    counts = np.array([[6, 0, 0, 2, 2], [2, 0, 4, 4, 10]])
    bounds = np.array([[np.nan] * 2, [0.0, 1.0], [1.0, 3.0], [3.0, np.inf], [-np.inf, 0.0]])
    event = np.array([True, False, True, False, True])
    found = curve_of(counts, event, bounds, lambda cell: f"label {cell}")
    assert found["points"] == ["label 0", 2.0, 3.0, 0.0]
    assert found["bounds"] == [None, [1.0, 3.0], [3.0, None], [None, 0.0]]
    assert found["density"] == [0.6, 0.0, 0.2, 0.2]
    assert found["neighbor_density"] == [0.1, 0.2, 0.2, 0.5]
    assert found["event"] == [True, True, False, True]
    losses = np.log([(6.5 / 11) / (2.5 / 21), (4.5 / 21) / (0.5 / 11), (2.5 / 11) / (4.5 / 21),
                     (10.5 / 21) / (2.5 / 11)])  # fmt: skip
    np.testing.assert_allclose(found["loss"], losses)


def test_a_curve_shows_the_labels_and_numbers_that_matter():
    """60 labels by losses times shares, which rise with the count; 2,000 numbers by counts."""
    labels = np.stack([np.arange(1, 71), np.full(70, 1000)])
    numbers = np.stack([np.full(2100, 2), np.arange(1, 2101)])
    counts = np.concatenate([labels, numbers], axis=1)
    bounds = np.full((2170, 2), np.nan)
    bounds[70:] = np.arange(2100)[:, None] + np.array([0.0, 1.0])
    found = curve_of(counts, np.zeros(2170, bool), bounds, str)
    assert found["points"][:60] == [str(cell) for cell in range(10, 70)]
    assert found["points"][60:] == [place + 0.5 for place in range(100, 2100)]


def test_boxes_on_a_line_by_their_ratios():
    counts = np.array([[10, 1, 8, 1], [10, 6, 2, 2]])
    bounds = ranked_bounds(counts, 1)
    shares = (counts / 20).mean(axis=0)
    assert np.isnan(bounds[0]).all()
    np.testing.assert_allclose(bounds[2], [0.0, shares[2]])
    np.testing.assert_allclose(bounds[3], [shares[2], shares[2] + shares[3]])
    np.testing.assert_allclose(bounds[1], [shares[2] + shares[3], shares[1:].sum()])


def test_rare_boxes_are_ordered_as_if_each_side_had_half_an_output_more():
    """All pairs of counts up to 6, in the order of exact fractions."""
    counts = np.array([(x, y) for x in range(7) for y in range(7) if x != y or not x]).T
    ratios = [Fraction(2 * x + 1, 2 * y + 1) for x, y in counts.T.tolist()]
    places = ranked_bounds(counts, 0)[:, 0]
    for one, other in itertools.combinations(range(counts.shape[1]), 2):
        if ratios[one] > ratios[other]:
            assert places[one] <= places[other]
        elif ratios[one] < ratios[other]:
            assert places[one] >= places[other]
