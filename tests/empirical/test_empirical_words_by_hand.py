"""All texts of an empirical result, of its page and of its noise, for given numbers."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.empirical import (
    Density,
    EmpiricalPrivacy,
    LaplaceNoise,
    NoiseCalibration,
    VariableBandwidth,
    _figures,
    _report,
    plot_empirical_curves,
    plot_empirical_densities,
)
from dpjax.empirical._checks import CoverageCheck, IndependenceCheck
from dpjax.empirical._parts import Bucket, plain, worst_row
from dpjax.report import Figure

FREE = IndependenceCheck("mean", 6, 0.5, 0.125, 0.25, 0.4375)
FOUND = EmpiricalPrivacy(
    queries=("mean",),
    individuals=("ann", "bob", "cy"),
    epsilons=np.array([1.0, 0.25, 2.0]),
    deltas=np.array([[0.0, 0.125, 0.0], [0.03, 0.25, 2e-9], [1e-9, 0.0625, 0.0]]),
    delta=np.array([0.03, 0.25, 2e-9]),
    delta_error=None,
    total_risk=np.array([0.04, 0.4375, 3e-9]),
    epsilon_at_zero=1.75,
    tolerance=1e-9,
    density=Density("gaussian", (0.5,)),
    log_likelihood=-1.5,
    integration_error=0.0,
    num_databases=4,
    independence=(FREE,),
    coverage=CoverageCheck(4, 2, 3.0, 1, 0),
    buckets=(),
    notes=("The first note.", "The second note."),
    results=np.array([[1.0], [2.0], [4.0], [3.0]]),
    results_without_worst=np.array([[1.5], [2.0], [math.nan], [2.5]]),
    settings={"query": "mean", "key": 3},
)
KNOWN = replace(
    FOUND,
    queries=("mean", "max"),
    density=None,
    delta_error=np.array([0.01, 0.0625, 0.0]),
    epsilon_at_zero=math.inf,
    integration_error=2.5e-4,
    buckets=(
        Bucket("adversary value 0", 3, "d", (0.5, 0.125, 0.0)),
        Bucket("adversary value 1", 1, "d", (0.25, 0.0625, 0.25)),
    ),
    notes=(),
)
TIED = replace(FOUND, independence=(FREE, replace(FREE, p_value=0.001)))
NOISE = NoiseCalibration(
    query="mean",
    epsilon=0.5,
    noise=LaplaceNoise(3.0),
    scale=3.0,
    rule="wasserstein",
    wasserstein_infinity=1.5,
    hausdorff=1.25,
    hausdorff_log_ratio=0.75,
    achieved_log_ratio=0.375,
    density="one kernel",
    expected_error=3.25,
    classical_error=4.5,
    sensitivity=2.25,
    sensitivity_observed=True,
    independence=(FREE,),
    notes=("The results are ties.",),
)


def test_printed():
    assert str(FOUND) == (
        "Empirical privacy of mean: 3 individuals, 4 databases\n"
        "density: gaussian kernel, bandwidth 0.5\n"
        "\n"
        "   epsilon       delta  total risk\n"
        "         1        0.03        0.04\n"
        "      0.25        0.25      0.4375\n"
        "         2       2e-09       3e-09\n"
        "\n"
        "From epsilon = 1.75 on, every delta is below 1e-09.\n"
        "\n"
        "individuals by delta at epsilon = 0.25:\n"
        "  bob                      0.25\n"
        "  ann                      0.125\n"
        "  cy                       0.0625\n"
        "\n"
        f"independence: {FREE}\n"
        f"coverage: {FOUND.coverage}\n"
        "note: The first note.\n"
        "note: The second note."
    )
    assert str(KNOWN) == (
        "Empirical privacy of mean and max: 3 individuals, 4 databases\n"
        "density: one for each bucket\n"
        "\n"
        "   epsilon       delta  total risk  standard error of delta\n"
        "         1        0.03        0.04        0.01\n"
        "      0.25        0.25      0.4375      0.0625\n"
        "         2       2e-09       3e-09           0\n"
        "\n"
        "For every epsilon up to 500, at least one delta is above 0.\n"
        "\n"
        "individuals by delta at epsilon = 0.25:\n"
        "  bob                      0.25\n"
        "  ann                      0.125\n"
        "  cy                       0.0625\n"
        "given adversary value 0 (3 databases): delta from 0.5 to 0\n"
        "given adversary value 1 (1 databases): delta from 0.25 to 0.0625\n"
        "\n"
        f"independence: {FREE}\n"
        f"coverage: {FOUND.coverage}\n"
        "integrals: error about 2.5e-04 in each delta"
    )
    assert str(TIED).splitlines()[1] == (
        "DOUBTFUL: The privacy levels assume independent databases, but these databases look "
        "dependent."
    )
    assert repr(FOUND) == ("EmpiricalPrivacy(mean: 3 individuals, 4 databases, delta at 0.25 0.25)")
    assert repr(KNOWN).startswith("EmpiricalPrivacy(mean and max: 3 individuals")


def test_only_five_individuals_are_printed():
    names = tuple(range(8))
    many = replace(FOUND, individuals=names, deltas=np.linspace(0.5, 0.25, 24).reshape(8, 3))
    lines = str(many).splitlines()
    start = lines.index("individuals by delta at epsilon = 0.25:")
    assert [line.split()[0] for line in lines[start + 1 : start + 6]] == [*"01234"]
    assert lines[start + 6] == ""
    ranked = [row[0] for row in page(replace(many, individuals=(*names, *range(8, 12)),
        deltas=np.linspace(0.5, 0.25, 36).reshape(12, 3))).sections[2].table.rows]  # fmt: skip
    assert ranked == [str(name) for name in range(10)]


def test_glances():
    glance = FOUND._glance()
    assert glance.title == glance.verdict.headline == "Empirical privacy of mean"
    assert glance.verdict.kind == "estimate"
    assert glance.verdict.sentence == "From epsilon = 1.75 on, every delta is below 1e-09."
    assert list(glance.rows) == [
        ("delta at epsilon = 1", "0.03, total risk 0.04"),
        ("delta at epsilon = 0.25", "0.25, total risk 0.4375"),
        ("delta at epsilon = 2", "2e-09, total risk 3e-09"),
    ]
    doubtful = TIED._glance().verdict
    assert doubtful.kind == "doubtful"
    assert doubtful.headline == "Doubtful: the databases look dependent"
    assert doubtful.sentence == (
        "The privacy levels assume independent databases, but these databases look dependent. "
        "From epsilon = 1.75 on, every delta is below 1e-09."
    )
    assert KNOWN._glance().title == "Empirical privacy of mean and max"
    many = replace(FOUND, epsilons=np.arange(9.0), delta=np.arange(9.0) / 9,
                   total_risk=np.arange(9.0) / 9, deltas=np.zeros((3, 9)))  # fmt: skip
    assert [row[0].split()[-1] for row in many._glance().rows] == ["0", "2", "4", "6", "8"]


def test_rankings():
    assert FOUND.ranking() == [("bob", 0.25), ("ann", 0.125), ("cy", 0.0625)]
    assert FOUND.ranking(1.0) == [("bob", 0.03), ("cy", 1e-9), ("ann", 0.0)]
    assert FOUND.ranking(2 * (1 + 5e-10)) == [("bob", 2e-9), ("ann", 0.0), ("cy", 0.0)]
    assert FOUND.worst_individual == "bob" and worst_row(FOUND.epsilons, FOUND.deltas) == 1
    for wrong in (0.5, 2 * (1 + 2e-9)):
        with pytest.raises(ValueError) as raised:
            FOUND.ranking(wrong)
        assert str(raised.value) == (
            "epsilon must be one of the 3 levels at which delta was computed (from 0.25 to 2), "
            f"but was {wrong!r}."
        )
    zero = replace(FOUND, epsilons=np.array([1.0, 0.0, 2.0]))
    assert zero.ranking(0.0) == FOUND.ranking()
    with pytest.raises(ValueError, match="but was 1e-12"):
        zero.ranking(1e-12)


def test_curves_count_the_individuals_above_the_tolerance():
    assert FOUND.curve(3) == [
        (1.0, 0.03, None, 0.04, 1), (0.25, 0.25, None, 0.4375, 3), (2.0, 2e-9, None, 3e-9, 1),
    ]  # fmt: skip
    assert [row[2] for row in KNOWN.curve(3)] == [0.01, 0.0625, 0.0]
    assert all(type(entry) in (float, int) for row in KNOWN.curve(3) for entry in row)


@pytest.mark.parametrize(
    "count, at_most, shown",
    [
        (1, 5, [0]), (2, 5, [0, 1]), (5, 5, [*range(5)]), (6, 5, [0, 1, 2, 4, 5]),
        (7, 5, [0, 2, 4, 6]), (9, 5, [0, 2, 4, 6, 8]), (10, 5, [0, 3, 6, 9]),
        (8, 5, [0, 2, 4, 5, 7]), (12, 5, [0, 3, 6, 8, 11]), (11, 4, [0, 5, 10]),
    ],
)  # fmt: skip
def test_rows_of_curves(count, at_most, shown):
    levels = np.arange(count, dtype=float)
    many = replace(FOUND, epsilons=levels, delta=levels, total_risk=levels,
                   deltas=np.zeros((3, count)))  # fmt: skip
    assert [row[0] for row in many.curve(at_most)] == shown


def test_plain_values():
    found = plain({
        "a": np.array([1.5, math.inf, math.nan]), "b": (np.int32(2), None, True, "x"),
        "c": FREE, "d": -math.inf, "e": Path("x"), "f": np.float32(0.5), "g": [[-0.0]],
    })  # fmt: skip
    assert found == {
        "a": [1.5, "inf", "nan"], "b": [2, None, True, "x"],
        "c": {"query": "mean", "runs": 6, "runs_p_value": 0.5, "autocorrelation": 0.125,
              "autocorrelation_p_value": 0.25, "p_value": 0.4375},
        "d": "-inf", "e": "x", "f": 0.5, "g": [[0.0]],
    }  # fmt: skip
    assert type(found["b"][0]) is int and type(found["b"][2]) is bool
    assert plain(CoverageCheck) == str(CoverageCheck)


@pytest.mark.parametrize(
    "result",
    [
        FOUND, KNOWN, TIED, replace(FOUND, log_likelihood=math.nan, integration_error=1e-3),
        replace(FOUND, density=Density("laplace", VariableBandwidth(0.5, 3)), tolerance=0.5),
        replace(FOUND, density=Density("laplace", (1.0, 2.0), 8)),
        replace(FOUND, independence=(replace(FREE, p_value=math.nan, runs_p_value=math.nan),)),
    ],
)  # fmt: skip
def test_json_keeps_every_value(result):
    back = EmpiricalPrivacy.from_json(result.to_json())
    for name, value in vars(result).items():
        same = getattr(back, name)
        assert type(same) is type(value), name
        if name == "independence":
            assert repr(same) == repr(value)
        elif isinstance(value, np.ndarray):
            np.testing.assert_array_equal(same, value)
        else:
            assert same == value or math.isnan(value), name
    assert "\n" not in result.to_json() and json.loads(result.to_json(1)) == result.to_dict()


@pytest.mark.parametrize("change", [{"extra": 1}, {"delta": ...}, None])
def test_json_that_is_no_result(change):
    data = FOUND.to_dict() if change is not None else [1]
    if change == {"delta": ...}:
        del data["delta"]
    elif change:
        data.update(change)
    with pytest.raises(
        ValueError, match=r"^text must be JSON written by EmpiricalPrivacy\.to_json"
    ):
        EmpiricalPrivacy.from_json(json.dumps(data))


def page(result, noise=None, figures=None):
    return _report._page(result, noise, figures)


def test_a_page_without_noise():
    found = page(FOUND)
    assert found.title == "Empirical privacy of mean" and found.result == FOUND.to_dict()
    assert found.verdict == (
        "estimate", "An estimate, not a proof",
        "3 individuals, 4 databases. From epsilon = 1.75 on, every delta is below 1e-09.",
    )  # fmt: skip
    titles = [section.title for section in found.sections]
    assert titles == [
        "What was asked", "Privacy", "Individuals", "Method", "What to do now",
        "Checks of the premises", "What was not tested", "How to do it again",
    ]  # fmt: skip
    asked, privacy, individuals, method, advice, checks, untested, again = found.sections
    assert asked.paragraphs == (
        "The mean of 4 databases, with all individuals and without each individual in turn.",
    )
    assert privacy.table.head == ("Epsilon", "Delta", "Total risk", "Individuals with delta > 0")
    assert privacy.table.rows == [
        ("1", "0.03", "0.04", "1"), ("0.25", "0.25", "0.438", "3"), ("2", "2e-09", "3e-09", "1"),
    ]  # fmt: skip
    assert privacy.paragraphs == (_report._MEANING,) and privacy.figures == ()
    assert individuals.table.head == ("Individual", "Delta at epsilon = 0.25")
    assert individuals.table.rows == [("bob", "0.25"), ("ann", "0.125"), ("cy", "0.0625")]
    assert method.paragraphs == (
        "4 query results. Density: gaussian kernel, bandwidth 0.5. The integrals are in closed "
        "form.",
    )
    assert len(advice.items) == 3 and "Look at the individual bob, who has" in advice.items[1]
    assert "dpjax.calibrate_noise" in advice.items[2]
    assert checks.paragraphs == ("The figures need matplotlib, which is not installed.",)
    assert checks.items == (
        f"Independence, {FREE}", f"Coverage: {FOUND.coverage}", *FOUND.notes
    )  # fmt: skip
    assert untested.items == _report._NOT_TESTED and "4 given databases" in untested.paragraphs[0]
    assert again.folded and not any(section.folded for section in found.sections[:-1])
    ((caption, text),) = again.codes
    assert caption == "The settings" and json.loads(text) == FOUND.settings


def test_a_page_with_noise_an_adversary_and_figures():
    figures = {name: Figure(name, path=name) for name in _report.CAPTIONS}
    found = page(KNOWN, NOISE, figures)
    assert [section.title for section in found.sections] == [
        "What was asked", "Privacy", "Individuals", "Adversary", "Noise", "Method",
        "What to do now", "Checks of the premises", "What was not tested", "How to do it again",
    ]  # fmt: skip
    sections = {section.title: section for section in found.sections}
    assert sections["Privacy"].paragraphs == (
        _report._MEANING + " In the delta column, the number after ± is the jackknife standard "
        "error of delta.",
    )
    assert [row[1] for row in sections["Privacy"].table.rows] == [
        "0.03 ± 0.01", "0.25 ± 0.062", "2e-09 ± 0",
    ]  # fmt: skip
    assert sections["Privacy"].figures == (figures["curves"],)
    assert sections["Individuals"].figures == (figures["densities"],)
    assert sections["Noise"].figures == (figures["noise"],)
    table = sections["Adversary"].table
    assert table.head == ("Bucket", "Databases", "Delta at epsilon = 0.25")
    assert table.rows == [("adversary value 0", "3", "0.125"), ("adversary value 1", "1", "0.0625")]
    assert sections["Noise"].paragraphs == (
        "To reach epsilon = 0.5 with delta = 0, add this noise to the mean: Laplace noise of "
        "scale 3.",
    )
    assert sections["Method"].paragraphs == (
        "4 query results. Density: one for each bucket of the adversary. Error of each delta from "
        "numerical integration: about 2.5e-04.",
    )
    assert len(sections["What to do now"].items) == 2
    assert sections["Checks of the premises"].paragraphs == ()
    some = page(KNOWN, NOISE, {"curves": figures["curves"]})
    assert [section.figures for section in some.sections if section.figures] == [
        (figures["curves"],)
    ]


def test_a_page_of_dependent_databases():
    found = page(TIED)
    assert found.verdict.kind == "doubtful" and found.verdict.sentence == (
        "The privacy levels assume independent databases, but these databases look dependent. 3 "
        "individuals, 4 databases. From epsilon = 1.75 on, every delta is below 1e-09."
    )
    advice = next(s for s in found.sections if s.title == "What to do now")
    assert advice.items == (
        "Do not use these privacy levels. Use databases that do not depend on each other, such as "
        "years that are far apart.",
    )


def test_words_of_noise():
    assert repr(NOISE) == "NoiseCalibration(mean, epsilon=0.5: Laplace noise of scale 3)"
    assert str(NOISE) == (
        "Noise for mean at epsilon = 0.5: Laplace noise of scale 3\n"
        "scale 3 by the rule 'wasserstein' (W_inf 1.5, Hausdorff 1.25)\n"
        "largest log ratio of releases: 0.375\n"
        "the scale Hausdorff / epsilon, which the paper uses, does NOT suffice: largest log ratio "
        "0.75\n"
        "expected absolute error 3.25; classical Laplace mechanism 4.5 (largest change seen 2.25)\n"
        f"independence: {FREE}\n"
        "note: The results are ties."
    )
    enough = replace(NOISE, hausdorff_log_ratio=0.5 + 5e-10, sensitivity_observed=False)
    assert enough.hausdorff_suffices and not NOISE.hausdorff_suffices
    assert not replace(NOISE, hausdorff_log_ratio=0.5 + 2e-9).hausdorff_suffices
    assert "which the paper uses, suffices: largest" in str(enough)
    assert "4.5 (sensitivity 2.25)\nindependence" in str(enough)
    assert NOISE.rows() == [
        ("Scale, by the rule wasserstein", "3"),
        ("Largest log ratio of releases", "0.375"),
        ("Expected absolute error", "3.25"),
        ("Error of the classical Laplace mechanism (largest change seen 2.25)", "4.5"),
        ("Largest Wasserstein distance W_inf", "1.5"),
        ("Largest Hausdorff distance", "1.25"),
        ("Log ratio at the paper's scale, Hausdorff / epsilon (does NOT suffice)", "0.75"),
    ]
    names = [name for name, _ in enough.rows()]
    assert names[3].endswith("(sensitivity 2.25)") and names[6].endswith("(suffices)")
    found = NOISE.to_dict()
    assert found["noise"] == "Laplace noise of scale 3" and found["hausdorff_suffices"] is False
    assert found.keys() == {*vars(NOISE), "hausdorff_suffices"}
    glance = NOISE._glance()
    assert glance.title == "Noise for the mean" and list(glance.rows) == NOISE.rows()
    assert glance.verdict == ("estimate", "Noise for the mean", "Laplace noise of scale 3.")
    assert NOISE.sample(5, 3).tolist() == NOISE.noise.sample(5, np.random.default_rng(3)).tolist()
    assert len({NOISE.release(1.0) for _ in range(4)}) == 4 and isinstance(NOISE.release(1), float)


def test_small_figures_have_fewer_draws():
    assert NOISE._small_figure().get_suptitle() == "100,000 draws of the noise"
    assert NOISE._figure().get_suptitle() == "1,000,000 draws of the noise"


def test_a_page_of_noise(tmp_path, monkeypatch):
    found, files = _report.noise_document(NOISE, tmp_path / "n.md")
    assert found.title == "Noise for the mean" and found.result == NOISE.to_dict()
    assert found.verdict == (
        "estimate", "Noise for these databases, not a proof",
        "With this noise, the largest log ratio of releases is 0.375 for the given databases.",
    )  # fmt: skip
    noise, checks, untested = found.sections
    assert checks.items == (f"Independence, {FREE}", "The results are ties.")
    assert noise.figures == (Figure(_report.CAPTIONS["noise"], path="n-noise.png"),)
    assert [path.name for path in files] == [
        "n-noise.png"
    ] and untested.items == _report._NOT_TESTED
    assert next(iter(files.values())).startswith(b"\x89PNG")
    within, none = _report.noise_document(NOISE, tmp_path / "n.HTML")
    assert none == {} and "<svg" in within.sections[0].figures[0].svg
    monkeypatch.setattr(_report, "find_spec", lambda name: None)
    bare, none = _report.noise_document(NOISE, tmp_path / "n.md")
    assert none == {} and bare.sections[0].figures == ()


def test_which_figures_a_page_has():
    one = replace(FOUND, epsilons=np.array([1.0]), delta=FOUND.delta[:1],
                  total_risk=FOUND.total_risk[:1], deltas=FOUND.deltas[:, :1])  # fmt: skip
    two = replace(FOUND, epsilons=FOUND.epsilons[:2], delta=FOUND.delta[:2],
                  total_risk=FOUND.total_risk[:2], deltas=FOUND.deltas[:, :2])  # fmt: skip
    assert [*_report._pictures(FOUND, NOISE)] == ["curves", "densities", "noise"]
    assert [*_report._pictures(two, None)] == ["curves", "densities"]
    assert [*_report._pictures(one, None)] == ["densities"]
    assert [*_report._pictures(KNOWN, None)] == ["curves"]
    assert [*_report._pictures(replace(one, density=None), NOISE)] == ["noise"]
    for result, panels in ((FOUND, 2), (KNOWN, 2), (one, 1), (replace(one, density=None), 2)):
        assert len(_figures.plot_empirical(result).axes) == panels


def test_the_curves():
    figure = plot_empirical_curves(KNOWN)
    assert figure.get_suptitle() == "Empirical privacy of mean and max"
    for axes, values in zip(figure.axes, (KNOWN.delta, KNOWN.total_risk), strict=True):
        (line,) = axes.lines
        np.testing.assert_array_equal(line.get_data(), [[0.25, 1, 2], values[[1, 0, 2]]])
        assert line.get_linestyle() == "-" and line.get_marker() == "."
    (band,) = figure.axes[0].collections
    assert band.get_label() == "2 standard errors" and band.get_alpha() == 0.2
    end = replace(FOUND, epsilon_at_zero=2.0)
    for axes in plot_empirical_curves(end).axes:
        assert [line.get_label() for line in axes.lines][1:] == ["delta vanishes at 2"]
        assert axes.lines[1].get_xdata() == [2.0, 2.0] and axes.lines[1].get_linestyle() == ":"


def test_the_densities():
    axes = plot_empirical_densities(FOUND).axes[0]
    first, ticks, second, others = axes.lines
    assert [line.get_label() for line in (first, second)] == ["with everybody", "without bob"]
    np.testing.assert_array_equal(ticks.get_data(), [[1, 2, 4, 3], [0.055] * 4])
    np.testing.assert_array_equal(others.get_xdata(), [1.5, 2, 2.5])
    np.testing.assert_allclose(others.get_ydata(), 0.02)
    for line, sample in ((first, [1, 2, 4, 3]), (second, [1.5, 2, 2.5])):
        x, y = line.get_data()
        assert (x[0], x[-1]) == (-1.0, 6.0) and {*sample} <= {*x}
        expected = np.exp(-((x[:, None] - sample) ** 2) * 2).mean(axis=1) / (0.5 * 2.5066282746)
        np.testing.assert_allclose(y, expected)
    # If no result is defined without an individual, no curve is drawn for the individual.
    lost = replace(FOUND, results_without_worst=np.full((4, 1), math.nan))
    assert len(plot_empirical_densities(lost).axes[0].lines) == 2
    with pytest.raises(ValueError) as raised:
        plot_empirical_densities(KNOWN)
    assert str(raised.value) == (
        "result must be for one query and without an adversary to have one density, but had 2 "
        "queries and 2 buckets."
    )
    with pytest.raises(ValueError, match="had 2 queries and 0 buckets"):
        plot_empirical_densities(replace(FOUND, queries=("a", "b")))


def test_steps_of_distribution_functions():
    results = np.array([[0.0], [0.0], [0.0], [1.0], [3.0], [3.0], [3.0], [9.0]])
    tied = replace(FOUND, density=Density("ecdf"), results=results)
    axes = plot_empirical_densities(tied).axes[0]
    heights, edges, _ = axes.patches[0].get_data()
    # The knots at ranks 0, 3, 6 and 7 are 0, 1, 3 and 9, with 3, 3 and 1 of 7 parts between them.
    np.testing.assert_allclose(edges, [0, 1, 3, 9])
    np.testing.assert_allclose(heights, [3 / 7, 3 / 14, 1 / 42])
    assert axes.patches[0].get_linestyle() in ("-", "solid")
    assert axes.patches[1].get_linestyle() in ("--", "dashed")


def test_the_reach_of_wide_densities():
    wide = replace(FOUND, density=Density("laplace", VariableBandwidth(1.0, 1)))
    axes = plot_empirical_densities(wide).axes[0]
    # All distances to the nearest result are 1 with all individuals, and 0.5 without bob.
    assert axes.lines[0].get_xdata()[[0, -1]].tolist() == [-3.0, 8.0]
    assert _figures._widths(wide, np.zeros(0)).size == 0
    assert _figures._widths(SimpleNamespace(density=None), np.ones(3)).size == 0


def test_sizes_of_figures():
    sizes = [plot_empirical_curves(FOUND), plot_empirical_densities(FOUND), NOISE._small_figure()]
    width = sizes[0].get_size_inches()[0]
    assert [tuple(figure.get_size_inches()) for figure in sizes] == [
        (width, 5.0), (width, 3.4), (width, 3.4),
    ]  # fmt: skip
    for figure in sizes:
        for axes in figure.axes:
            shown = {side: spine.get_visible() for side, spine in axes.spines.items()}
            assert shown == {"left": True, "bottom": True, "right": False, "top": False}


def test_dependence_is_judged_by_the_adjusted_p_value():
    """The p-value of one of several tests is below 0.01 in more than one of 100 analyses."""
    check = IndependenceCheck("mean", 5, 0.004, 0.8, 0.006, 0.012)
    assert not check.dependent and replace(check, p_value=0.01).dependent
    assert not replace(check, p_value=math.nan).dependent
