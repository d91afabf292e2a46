"""Names and categories of series and frames of pandas are parts of outputs."""

import json

import numpy as np
import pandas as pd
import pytest

import dpjax
from dpjax.partitions.outputs import Encoder

VALUES = [0.5, 1.25]


def with_names(index=None, columns=None, **options):
    frame = pd.DataFrame({"a": VALUES, "b": VALUES}, **options)
    return frame.rename_axis(index=index, columns=columns)


def of_category(categories, *, ordered=False, labels=("x", "z")):
    return pd.Categorical(labels, [*categories], ordered)


APART = {
    "a series": (pd.Series(VALUES, name="n3"), pd.Series(VALUES, name="n4")),
    "a series without a name": (pd.Series(VALUES), pd.Series(VALUES, name="n4")),
    "names of two types": (pd.Series(VALUES, name=1), pd.Series(VALUES, name="1")),
    "a series of labels": (pd.Series(["x", "y"], name="n3"), pd.Series(["x", "y"], name="n4")),
    "an empty series": (pd.Series([], name="n3"), pd.Series([], name="n4")),
    "a single number": (pd.Series([1.5], name="n3"), pd.Series([1.5], name="n4")),
    "an index": (with_names("n3"), with_names("n4")),
    "an index of a series": (with_names("n3")["a"], with_names("n4")["a"]),
    "the columns": (with_names(columns="n3"), with_names(columns="n4")),
    "levels": tuple(
        pd.Series(VALUES, pd.MultiIndex.from_tuples([(1, 2), (1, 3)], names=["a", name]))
        for name in ("n3", "n4")
    ),
    "a part": ({"s": pd.Series(VALUES, name="n3")}, {"s": pd.Series(VALUES, name="n4")}),
    "categories": tuple(pd.Series(of_category(names)) for names in ("xz", "xyz")),
    "their order": tuple(pd.Series(of_category("xz", ordered=order)) for order in (True, False)),
    "numbers": tuple(
        pd.Series(of_category(categories, labels=[1, 2])) for categories in ([1, 2], [1, 2, 3])
    ),
    "a column": tuple(
        pd.DataFrame({"a": of_category(names), "n": VALUES}) for names in ("xz", "xyz")
    ),
    "labels of rows": tuple(pd.Series(VALUES, of_category(names)) for names in ("xz", "xyz")),
    "a table": tuple(
        pd.DataFrame({"a": of_category(names, labels=["x", "z"] * 5), "n": VALUES * 5})
        for names in ("xz", "xyz")
    ),
    "names of a table": tuple(
        pd.DataFrame({"a": VALUES * 5}).rename_axis(index=name) for name in ("n3", "n4")
    ),
}


def differ(outputs, one, other):
    values = outputs.values[one].tolist() != outputs.values[other].tolist()
    return values or outputs.labels[one] != outputs.labels[other]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("two", APART.values(), ids=APART)
def test_outputs_with_different_metadata_differ(two, order):
    one, other = two[::order]
    encoder = Encoder("f")
    first = encoder.encode([one, other, one.copy(), other.copy()])
    encoder.fixed([first])
    restored = Encoder("f")
    restored.restore(json.loads(json.dumps(encoder.to_plain())))
    for outputs in (
        first,
        encoder.encode([one, other, one, other]),
        restored.encode([one, other] * 2),
    ):
        assert differ(outputs, 0, 1)
        assert not differ(outputs, 0, 2) and not differ(outputs, 1, 3)


@pytest.mark.parametrize(
    ("plain", "named"),
    [
        (pd.Series(VALUES), pd.Series(VALUES, name="v")),
        (with_names(), with_names("i", "c")),
        (pd.Series(["x", "z"]), pd.Series(of_category("xz"), name="v")),
    ],
)
def test_equal_metadata_change_nothing(plain, named):
    one, other = Encoder("f"), Encoder("f")
    for found, expected in zip(other.encode([named] * 3), one.encode([plain] * 3), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert other.names == one.names and other.parts == one.parts


def test_the_first_outputs_determine_which_metadata_are_usual():
    """Later outputs have no influence, so that the cell of an output does not depend on them."""
    encoder = Encoder("f")
    encoder.fixed([encoder.encode([1.5, 2.5])])
    for name in ("n3", "n4"):
        (label,) = encoder.encode([pd.Series([1.5], name=name)]).labels.tolist()
        assert encoder.names[label] == f"(number) with the name '{name}'"
    encoder = Encoder("f")
    encoder.fixed([encoder.encode([pd.Series(VALUES, name="n3")])])
    labels = encoder.encode([pd.Series(VALUES, name=name) for name in ("n3", None)]).labels
    assert [encoder.names[label] for label in labels.tolist()] == [
        "a number",
        "(number, number) without a name",
    ]


def test_the_address_of_a_name_is_ignored():
    outputs = [pd.Series(VALUES, name=print), pd.Series(VALUES, name=np.str_("n"))]
    found = Encoder("f").encode([*outputs, pd.Series(VALUES, name="n")])
    assert found.labels[0] != found.labels[1] == found.labels[2]
    texts = [Encoder("f").encode([pd.Series(VALUES), pd.Series(VALUES, name=object())])] * 2
    assert texts[0].labels.tolist() == texts[1].labels.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("form", [lambda x: x, lambda x: [f"{each:.9f}" for each in x]])
def test_a_leak_in_a_name_is_found(form):
    """The second form is summarized, because hardly any two outputs are equal."""

    def release(database, seed):
        return pd.Series(form(np.random.default_rng(seed).laplace(size=2)), name=f"n{database}")

    source = dpjax.HostMechanism(release, batched=False)
    method = dpjax.Events(num_samples=300, num_confirm=600)
    assert dpjax.audit(source, [(3, 4)], method=method, key=1).lower_bound > 3
