"""`--like`, `--relation` and `--bounds`: pairs that are derived from an example of a database."""

import json

import pandas as pd
import pytest

from dpjax.cli._given import pairs_of
from dpjax.cli._neighbors import neighbors_of
from dpjax.databases import Domain, Within, neighbors


def test_options_describe_a_space(tmp_path):
    assert neighbors_of({}) is None and neighbors_of({"pairs": "[[0, 1]]"}) is None
    assert neighbors_of({"like": "[30, 80.5]"}) == neighbors([30, 80.5])
    found = neighbors_of({"like": "[30, 80]", "relation": "change-one", "bounds": "0, 1e2"})
    assert found == neighbors([30, 80], "change-one", Domain(bounds=(0.0, 100.0)))
    found = neighbors_of({"like": "[30, 80]", "relation": "change-one", "size": 2})
    assert found == neighbors([30, 80], "change-one", Domain(size=2))
    assert neighbors_of({"like": "3", "relation": "within:0.5"}) == neighbors(3, Within(0.5))
    near = {"like": "[3, 4]", "relation": "within:2:l1"}
    assert neighbors_of(near) == neighbors([3, 4], Within(2.0, "l1"))
    (tmp_path / "example.json").write_text('{"age": [1, 2]}')
    assert neighbors_of({"like": str(tmp_path / "example.json")}) == neighbors({"age": [1, 2]})


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet"])
def test_a_table_in_a_file_is_an_example(tmp_path, name):
    people = pd.DataFrame({"town": ["x", "y"], "age": [30, 41]})
    path = tmp_path / name
    people.to_parquet(path) if name.endswith("parquet") else people.to_csv(path, index=False)
    found = neighbors_of({"like": str(path), "relation": "change-one"})
    assert found.like.to_dict() == people.to_dict()
    assert found.relation == neighbors(people, "change-one").relation


def test_a_damaged_table_is_refused(tmp_path):
    (tmp_path / "people.csv").write_bytes(b"age\n1\n\0\n")
    with pytest.raises(ValueError, match=r"--like could not be read from 'people.csv': .* NUL"):
        neighbors_of({"like": str(tmp_path / "people.csv")})


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"bounds": "0,1"}, "--bounds needs --like, an example of a database"),
        ({"relation": "any"}, "--relation needs --like"),
        ({"size": 2}, "--size needs --like"),
        ({"like": "[1]", "size": 0}, "size must be an integer >= 1, but was 0"),
        ({"like": "[1]", "pairs": "p.json"}, "give either --pairs, .* or --like"),
        ({"like": "[1"}, r"--like \[1 must be a database as JSON, such as .*, or a file"),
        ({"like": "[1]", "bounds": "1"}, "--bounds must be two numbers, such as 0,100, but was"),
        ({"like": "[1]", "bounds": "a,b"}, "--bounds must be two numbers"),
        ({"like": "[1]", "bounds": "2,1"}, "bounds must have low < high"),
        ({"like": "[1]", "relation": "near"}, "'near' is not known"),
        ({"like": "1", "relation": "within"}, "--relation must be within:DISTANCE or"),
        ({"like": "1", "relation": "within:x"}, "--relation must be within:DISTANCE or"),
        ({"like": "[1]", "relation": "within:1:l2:x"}, "norm 'l2:x' is not known"),
        ({"like": "null"}, "--like: like must be"),
    ],
)
def test_malformed_options_are_refused(written, message):
    with pytest.raises(ValueError, match=message):
        neighbors_of(written)


@pytest.fixture
def release(tmp_path, monkeypatch):
    """Write a module with a sum that is claimed to be 1-DP for entries of at most 1."""
    (tmp_path / "summing.py").write_text(
        "import jax\ndef total(key, x):\n    return x.sum() + jax.random.laplace(key)\n"
    )
    monkeypatch.chdir(tmp_path)


def test_an_example_belongs_to_functions_and_programs(refused, release):
    assert "--like is for" in refused("audit", "laplace", "--like", "[1]")
    both = refused("audit", "--function", "summing:total", "--like", "[1]", "--pairs", "[[0, 1]]")
    assert "give either --pairs" in both
    assert "or --like, an example" in refused("audit", "--function", "summing:total")


@pytest.mark.slow
def test_pairs_are_searched_around_an_example(run, release):
    """The entries are at most 3, so the level is 3."""
    given = ("--function", "summing:total", "--like", "[1.0, 2.5]", "--relation", "change-one")
    done = run("audit", *given, "--bounds", "0,3", "--claim", 1, "--json")
    told = json.loads(done.output)
    assert done.exit_code == 1 and 1 < told["statement"]["lower_bound"] <= 3
    found = json.loads(run("search-pairs", *given, "--bounds", "0,3", "--json").output)
    first, second = found["pairs"][0]
    assert len(first) == len(second)
    assert abs(sum(first) - sum(second)) == pytest.approx(3, rel=1e-3)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_in_files_are_databases_of_functions(tmp_path, suffix):
    people = pd.DataFrame({"town": ["x", "y"], "age": [30, 41]})
    names = [str(tmp_path / f"{name}{suffix}") for name in "ab"]
    for table, name in zip((people, people[:1]), names, strict=True):
        table.to_parquet(name) if suffix == ".parquet" else table.to_csv(name, index=False)
    ((first, second),) = pairs_of(json.dumps([names]), any_kind=True, reads_tables=True)
    pd.testing.assert_frame_equal(first, people, check_dtype=False)
    pd.testing.assert_frame_equal(second, people[:1], check_dtype=False)
    assert pairs_of(json.dumps([names]), any_kind=True) == [tuple(names)]
    for others in ([names[0], "none.csv"], [names[0], "text"], [names[0], 3]):
        read = pairs_of(json.dumps([others]), any_kind=True, reads_tables=True)
        assert read == [tuple(others)]


def test_a_table_that_is_damaged_is_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x\n\xff\n")
    pair = json.dumps([[str(tmp_path / "a.csv")] * 2])
    with pytest.raises(ValueError, match=r"could not be read from 'a\.csv': it is not UTF-8"):
        pairs_of(pair, any_kind=True, reads_tables=True)
