"""The options of `dpjax empirical` take effect; `tests/empirical/` tests the results."""

import json

import numpy as np
import pytest

import dpjax
from dpjax.empirical import Density

VALUES = np.random.default_rng(2).gamma(2.0, [1.0, 1.0, 1.0, 1.0, 2.0], (12, 5))


@pytest.fixture
def table(tmp_path):
    rows = [f"{d},{i},{v}" for d, row in enumerate(VALUES) for i, v in enumerate(row)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["year,person,pay", *rows]))
    columns = ("--database", "year", "--individual", "person", "--value", "pay")
    return ("empirical", path, *columns, "--query", "sum", "--json")


def test_the_standard_error_of_delta(run, table):
    done = run(*table, "--epsilon", 0.1, "--epsilon", 0.5, "--uncertainty")
    expected = dpjax.empirical_privacy(VALUES, "sum", epsilon=[0.1, 0.5], uncertainty=True)
    assert done.exit_code == 0
    assert expected.delta_error is not None
    found = json.loads(done.output)["delta_error"]
    np.testing.assert_allclose(found, expected.delta_error, rtol=1e-9)


def test_densities_and_noise(run, table):
    noise = ("--noise", 0.5, "--noise-rule", "smallest", "--sensitivity", 9)
    done = run(*table, "--kernel", "gaussian", "--bandwidth", 0.7, "--epsilon", "0:1:3", *noise)
    row = json.loads(done.output)
    density = Density("gaussian", 0.7)
    expected = dpjax.empirical_privacy(VALUES, "sum", epsilon=[0, 0.5, 1], density=density)
    np.testing.assert_allclose(row["delta"], expected.delta, rtol=1e-9)
    options = {"epsilon": 0.5, "rule": "smallest", "sensitivity": 9.0}
    noise = dpjax.calibrate_noise(VALUES, "sum", **options, density=density)
    found, expected = row["noise"], json.loads(json.dumps(noise.to_dict()))
    # The last bit of a sum depends on the memory layout of the table.
    assert found.pop("hausdorff") == pytest.approx(expected.pop("hausdorff"), rel=1e-12)
    assert found == expected


@pytest.mark.slow
def test_joint_queries_and_an_adversary(run, tmp_path):
    values = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 2.5], [4.0, 3.0]])
    rows = [f"{d},{i},{v}" for d, row in enumerate(values) for i, v in enumerate(row)]
    (tmp_path / "t.csv").write_text("\n".join(["database,individual,value", *rows]))
    asked = ("--query", "sum", "--query", "max", "--epsilon", 0.5, "--adversary", "min")
    done = run("empirical", tmp_path / "t.csv", *asked, "--bandwidth", 1, "--json")
    row = json.loads(done.output)
    assert row["queries"] == ["sum", "max"]
    assert [bucket["num_databases"] for bucket in row["buckets"]] == [2, 2]


def test_words_and_a_report(run, table, tmp_path):
    report = tmp_path / "r.md"
    done = run(*table[:-1], "--bandwidth", 1.5, "--noise", 0.5, "--report", report)
    assert "Empirical privacy of sum: 5 individuals, 12 databases" in done.output
    assert "Noise for sum at epsilon = 0.5: Laplace noise" in done.output
    assert done.error == f"wrote {report}\n"
    assert "## Noise" in report.read_text()


def test_bad_files(refused, table, tmp_path):
    assert "there is none" in refused("empirical", tmp_path / "none.csv")
    assert "column 'database' is not in the table" in refused("empirical", table[1])
    (tmp_path / "holes.csv").write_text("database,individual,value\n1,1,2\n2,1,\n")
    assert "; --missing 'drop' leaves such records out" in refused(
        "empirical", tmp_path / "holes.csv"
    )
    (tmp_path / "broken.parquet").write_text("nothing")
    assert "could not be read" in refused("empirical", tmp_path / "broken.parquet")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--noise-rule", "smallest"), "have an effect only with --noise"),
        (("--epsilon", "inf"), "--epsilon must be finite, but was 'inf'"),
        (("--epsilon", "0:inf:3"), "--epsilon must be finite, but was '0:inf:3'"),
        (("--noise", 0), "--noise must be a number > 0, but was 0.0"),
        (("--epsilon", "0:1"), "--epsilon must be a number or FROM:TO:COUNT"),
        (("--epsilon", "0:1:1"), "with a COUNT of at least 2, as in 0:1:51, but was '0:1:1'"),
        (("--num-buckets", "3"), "--num-buckets has an effect only with --adversary"),
        (("--kernel", "ecdf", "--bandwidth", "3"), "no effect with kernel 'ecdf', but was 3"),
        (("--kernel", "box"), "--kernel 'box' is not known"),
        (("--missing", "no"), "--missing 'no' is not known"),
        (("--report", "x.pdf"), "report file must end in"),
        (("--report", "nowhere/x.md"), "in a folder that does not exist"),
        (("--query", "men"), "query 'men' is not known"),
        (("--bandwidth", "-1"), "--bandwidth must be a number > 0"),
        (
            ("--noise", 0.5, "--noise-rule", "smalest"),
            "--noise-rule 'smalest' is not known",
        ),
        (("--noise", 0.5, "--noise-kind", "cauchy"), "--noise-kind 'cauchy' is not"),
        (("--noise", 0.5, "--sensitivity", 0), "--sensitivity must be a number > 0, but was 0.0"),
        (("--noise", "nan"), "--noise must be a number > 0 (finite), but was nan"),
        (("--epsilon", "-1"), "--epsilon must be at least 0, but was '-1'"),
        (("--query", "men"), "--query 'men': query 'men' is not known; did you mean 'mean'?"),
        (("--query", "max:age"), "--query 'max:age': column 'age' is not in the data; known: pay"),
        (("--query", "quantile:2"), "--query 'quantile:2': level must be a number from 0 to 1"),
        (("--query", "regression:pay~age"), "column 'age' is not in the data; known: pay"),
        (("--adversary", "men"), "--adversary 'men': query 'men' is not known"),
        (("--adversary", "max:age"), "--adversary 'max:age': column 'age' is not in the data"),
        (("--adversary", "min", "--num-buckets", 0), "--num-buckets must be an integer >= 1, but"),
        (("--value", "age"), "--value column 'age' is not in the table; known: pay, person, year"),
        (("--database", "age"), "--database column 'age' is not in the table; known: pay, person"),
        (("--individual", "age"), "--individual column 'age' is not in the table; known: pay"),
        (("--individual", "year"), "--database and --individual must be different columns, but"),
    ],
)
def test_bad_input(refused, table, options, sentence):
    assert sentence in refused(*table, *options)


def test_quiet_studies_say_nothing(run, table, lines_at_once):
    asked = (*table, "--epsilon", 0.5, "--noise", 0.5)
    loud, quiet = run(*asked), run(*asked, "--quiet")
    assert "estimates without an individual" in loud.error and "calibrating noise" in loud.error
    assert quiet.error == "" and quiet.output == loud.output


@pytest.mark.parametrize(("name", "words"), [("r.txt", ".html or .md"), ("none/r.md", "folder")])
def test_a_report_that_cannot_be_written_is_refused_first(
    refused, table, tmp_path, monkeypatch, name, words
):
    def estimated(*given, **options):
        raise AssertionError("an estimate was made")

    monkeypatch.setattr("dpjax.empirical.empirical_privacy", estimated)
    assert words in refused(*table, "--report", tmp_path / name)


def test_a_query_that_is_given_twice_is_refused(refused, table):
    said = refused(*table, "--query", "sum", "--query", "mean", "--query", "sum:pay")
    assert "--query must be different each time, but was 'sum of pay' twice." in said
