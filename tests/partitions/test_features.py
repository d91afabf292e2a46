"""Features computed by hand, at the limits of their rules."""

import numpy as np
import pytest

from dpjax.partitions import Outputs, _features
from dpjax.partitions._batches import Pooled
from dpjax.partitions._columns_of_outputs import rows_of
from dpjax.partitions._curve import curve_of, ranked_boxes
from dpjax.partitions._features import Columns, Features
from dpjax.partitions._nested import Label, Nested, form_of, usual
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
    """They use the median and the interquartile range; atoms and labels without numbers are 0."""
    values = np.concatenate([np.arange(-500, 501) / 10, np.full(99, 7.0), [1e6]])[:, None]
    outputs = vectors(values)
    columns = Columns.of(outputs)
    low, centre, high = np.quantile(values[values != 7.0], [0.25, 0.5, 0.75])
    assert columns.centre[0] == centre
    assert columns.scale[0] == pytest.approx((high - low) / 1.349)
    assert columns.atoms[0].tolist() == [7.0] and not len(columns.labels)
    given = vectors([[7.0], [20.0], [-1e9], [1e9], [20.0]], alone=[0, 0, 0, 0, 1])
    found, _ = columns.standardize(given)
    scaled = (20.0 - centre) / columns.scale[0]
    np.testing.assert_allclose(found[:, 0], [0.0, scaled, -10.0, 10.0, 0.0])
    indicated = columns.standardize(vectors([[7.0], [20.0], [7.0]], alone=[0, 0, 1]))[1]
    assert indicated.tolist() == [[1.0], [0.0], [0.0]]


@pytest.mark.parametrize(
    ("count", "size", "found"), [(5, 1000, True), (4, 1000, False), (2, 100, True), (1, 100, False)]
)
def test_values_that_are_frequent(count, size, found):
    """They have at least 0.005 of the outputs, and occur at least twice."""
    values = np.concatenate([np.arange(size - count) + 0.5, np.full(count, -3.0)])[:, None]
    assert Columns.of(vectors(values)).atoms[0].tolist() == [-3.0] * found


def test_entries_that_hardly_vary():
    """Atoms are ignored; the deviation is used if half of the rest is equal, 1 if all is."""
    half = np.r_[np.zeros(800), np.arange(1.0, 201)]
    # The rarest of nine frequent values is not an atom; of equally rare ones, the largest.
    ninth = np.r_[np.repeat(np.arange(-8.0, 0), 20), np.full(640, 100.0), 1000.5 + np.arange(200)]
    columns = Columns.of(vectors(np.stack([half, np.full(1000, 4.0), ninth], axis=1)))
    spread = np.diff(np.quantile(half[800:], [0.25, 0.75]))[0] / 1.349
    rest = ninth[(ninth == -1) | (ninth > 100)]
    iqr = np.diff(np.quantile(rest, [0.25, 0.75]))[0]
    np.testing.assert_allclose(columns.scale, [spread, 1.0, iqr / 1.349])
    assert columns.centre.tolist() == [100.5, 4.0, np.median(rest)]
    # In the second column, all values are frequent: an ordinary number.
    assert columns.atoms[1].size == 0 and columns.atoms[0].tolist() == [0.0]
    assert columns.atoms[2].tolist() == [*range(-8, -1), 100.0]


def test_many_entries_have_few_atoms_and_use_a_sample(monkeypatch):
    values = np.random.default_rng(1).integers(0, 300, size=(4000, 12)) * 1.0
    values[::2] = np.arange(12)
    values[::4] += 0.5
    many = Columns.of(vectors(values))
    assert [atoms.tolist() for atoms in many.atoms] == [[n, n + 0.5] for n in range(12)]
    monkeypatch.setattr(_features, "_MOST_INDICATORS", 35)
    few = Columns.of(vectors(values))
    assert [len(atoms) for atoms in few.atoms] == [1] * 12
    monkeypatch.setattr(_features, "_SAMPLE", 4000 * 4)
    every = Columns.of(vectors(values))
    some = Columns.of(vectors(values[::3]))
    np.testing.assert_array_equal(every.centre, some.centre)
    np.testing.assert_array_equal(every.scale, some.scale)
    assert np.any(some.scale != few.scale)


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
    table = columns.standardize(outputs)[0]
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
    inner = columns.standardize(vectors(np.arange(1.0, distinct - 1)[:, None]))[0][:, 0]
    np.testing.assert_allclose(features.knots[0], inner)


def test_entries_of_nine_values_have_hinges_at_quantiles():
    outputs = vectors((np.arange(900) % 9).astype(float)[:, None])
    columns = Columns.of(outputs)
    expected = np.unique(np.quantile(columns.standardize(outputs)[0][:, 0], np.arange(1, 8) / 8))
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
    z = columns.standardize(outputs)[0]
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
    """This depends on how much the score varies with them, not on standardized coefficients."""
    rng, n = np.random.default_rng(4), 4000
    side = np.repeat([0, 1], n // 2)
    values = rng.normal(size=(n, 5))
    for entry, shift in ((3, 1.0), (1, 0.5), (4, 0.25)):
        values[:, entry] += shift * side
    outputs = vectors(values)
    features = Features.of("additive", Columns.of(outputs), outputs)
    score = fit_combination(features, Pooled(outputs, side, np.arange(n) % 5))
    assert isinstance(score, Combination) and score.entries == (3, 1, 4)
    assert score.words(False) == "the additive score of the entries 3, 1, 4 and 2 more"
    assert np.abs(score.weights.mean(axis=0)).max() == pytest.approx(1.0)
    # Small values are likelier on side 0, and have large scores.
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
    assert form_of((1.0, "a")) == Nested("(number, 'a')", (1.0,), ("[0]",), False, "(number, 'a')")
    # A dict that contains only labels is nested; a tuple of them is a label.
    assert form_of({"a": "x"}).numbers == ()
    assert form_of({1: 1.0, "1": 2.0}).entries == ("[1]", "['1']")
    with pytest.raises(TypeError):
        form_of({"a": bytearray(b"x")})


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
    """60 labels are chosen by losses times frequencies, and 2,000 numbers by counts."""
    labels = np.stack([np.arange(1, 71), np.full(70, 1000)])
    numbers = np.stack([np.full(2100, 2), np.arange(1, 2101)])
    counts = np.concatenate([labels, numbers], axis=1)
    bounds = np.full((2170, 2), np.nan)
    bounds[70:] = np.arange(2100)[:, None] + np.array([0.0, 1.0])
    found = curve_of(counts, np.zeros(2170, bool), bounds, str)
    assert found["points"][:60] == [str(cell) for cell in range(10, 70)]
    assert found["points"][60:] == [place + 0.5 for place in range(100, 2100)]


def test_boxes_on_a_line_by_the_ratios_of_the_other_half():
    """Cells: a label, the event, and two others whose halves disagree about their order."""
    halves = np.array([[[10, 20, 12, 8], [10, 10, 4, 26]], [[10, 20, 8, 12], [10, 10, 26, 4]]])
    event = np.array([False, True, False, False])
    counts, member, ends = ranked_boxes(halves, event, [np.arange(4)], 1)
    # Of the others, the first cell is the one whose other half has the higher ratio.
    assert counts.tolist() == [[20, 20, 20, 8, 8, 12, 12], [20, 10, 10, 26, 26, 4, 4]]
    assert member.tolist() == [False, True, True, False, False, False, False]
    assert np.isnan(ends[0]).all()
    np.testing.assert_allclose(ends[1:, 0], [0.0, 0.15, 0.3, 0.47, 0.64, 0.72])
    np.testing.assert_allclose(ends[1:, 1], [0.15, 0.3, 0.47, 0.64, 0.72, 0.8])
    # If the neighbor's outputs are more often in the event, the order is reversed.
    swapped, member, same = ranked_boxes(halves[:, ::-1], event, [np.arange(4)], 1)
    assert swapped.tolist() == counts[::-1].tolist()
    np.testing.assert_array_equal(same, ends)


def test_boxes_are_ordered_by_groups_where_these_predict_better():
    """Cells of a group share a ratio; single cells have too few outputs to show it."""
    halves = np.random.default_rng(0).poisson(1.0, (2, 2, 400))
    halves[:, 0, :200] = np.random.default_rng(1).poisson(2.0, (2, 200))
    fine, groups = np.arange(400), np.arange(400) // 200
    counts, _, _ = ranked_boxes(halves, np.zeros(400, bool), [fine, groups], 0)
    shares = np.cumsum(counts, axis=1) / counts.sum(axis=1, keepdims=True)
    # At the end of the groups: 2/3 of the database's outputs, and 1/2 of the neighbor's, with
    # standard errors of about 0.015 and 0.018.
    middle = np.argmin(np.abs(shares[1] - 0.5))
    assert abs(shares[0, middle] - 2 / 3) < 0.08


def test_boxes_without_outputs_have_no_place():
    halves = np.zeros((2, 2, 5), int)
    halves[:, :, 0] = 7
    counts, member, ends = ranked_boxes(halves, np.zeros(5, bool), [np.arange(5)], 1)
    assert counts.tolist() == [[14], [14]] and member.tolist() == [False]
    assert np.isnan(ends).all() and ends.shape == (1, 2)


def test_equal_distributions_show_no_loss_where_boxes_are_sorted():
    """Half of the outputs in 1,000 boxes: the first boxes have half, within 4.5 errors."""
    halves = np.random.default_rng(2).poisson(10.0, (2, 2, 1000))
    counts, _, _ = ranked_boxes(halves, np.zeros(1000, bool), [np.arange(1000)], 0)
    first = counts[:, : counts.shape[1] // 10].sum(axis=1)
    assert abs(np.log(first[0] / first[1])) < 4.5 * np.sqrt((1 / first).sum())
