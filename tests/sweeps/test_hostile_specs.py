"""Malicious specs and stores lead to an error message before they use many resources."""

import errno
import json
import os
import random
from pathlib import Path

import pytest

from dpjax.mechanisms import CATALOGUE
from dpjax.sweeps import Entry, Store, SweepSpec

OPTIONS = {"num_samples": 100, "num_confirm": 100}
PLAIN = {"mechanism": "laplace", "options": OPTIONS, "runs": 3, "parameters": {"epsilon": 1.0}}


def spec_of(**more):
    return {"name": "s", "entries": [{**PLAIN, **more}]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"runs": 1e12}, "runs must be an integer >= 1, but was 1000000000000.0"),
        ({"runs": 10**12}, "too many runs: 1000000000000, above the limit of 1000000000"),
        ({"runs": 10**9}, "too many blocks of block_runs runs: 20000000, above"),
        ({"grid": {f"p{i}": [1] * 100 for i in range(20)}}, "a sweep has too many entries"),
        ({"grid": {"epsilon": list(range(1, 20_000))}}, "a sweep has too many entries: 19999"),
        ({"grid": {"epsilon": [1, 1e300]}}, r"epsilon must be at most 3\.4e\+38"),
        (
            {"mechanism": "randomized-response", "parameters": {"num_categories": 10**6}},
            "num_categories is too large: 1000000, above the limit of 10000",
        ),
        (
            {"mechanism": "report-noisy-max", "parameters": {"num_queries": 10**9}},
            "num_queries is too large",
        ),
        ({"mechanism": "svt5", "parameters": {"num_queries": 10**9}}, "num_queries is too large"),
        ({"method": "local", "options": {"num_nodes": 10**12}}, "num_nodes of a lattice is too"),
        ({"options": {"num_samples": 10**12}}, "must be below 2"),
        ({"mechanism": {"laplace": 1}}, "mechanism must be a name"),
        ({"method": ["local"]}, "method must be a name"),
        ({"parameters": [1]}, "parameters must be a table"),
        ({"parameters": {"epsilon": {}}}, "epsilon must be"),
        ({"pairs": {"database": [[0.0]]}}, "neighbor"),
        ({"pairs": {"database": 0, "neighbor": 1}}, "pairs must have"),
        ({"pairs": "none"}, "pairs"),
        ({"options": 3}, "must be a table"),
        ({"options": {"region": {"low": 0}}}, "high"),
        ({"options": {"region": [None, "a"]}}, "a value of the wrong type"),
        ({"method": "local", "options": {"bandwidth": {"rule": "Fixed"}}}, "."),
        ({"method": "local", "options": {"bandwidth": {"rule": ["x"]}}}, "."),
        ({"confidence": "high"}, "confidence"),
        ({"notion": {"delta": []}}, "delta"),
        ({"notion": "gdp"}, r"notion, such as \{name = 'gdp'\} .*, must be a table, but was 'gdp'"),
        ({"mechanism": ""}, "mechanism '' is not known"),
        ({"source": "dice"}, "source 'dice' is not known"),
        ({"mechanism": ":"}, "would import code"),
    ],
)
def test_entries(tmp_path, frugal, changes, message):
    with pytest.raises((ValueError, TypeError), match=rf"entry 1\b.*({message})|{message}"):
        SweepSpec.from_dict(spec_of(**changes))


def noisy(database, num_samples, rng):
    return rng.laplace(database, 1.0, num_samples)


HOST = {"mechanism": f"{__name__}:noisy", "source": "host"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": ["a"]}, "labels must name each of the 2 pairs, but there were 1"),
        (
            {"neighbor": [1.0]},
            r"equal length with at least one pair, .* were \[0.0, 0.0\] and \[1.0\]",
        ),
        ({"database": [], "neighbor": []}, r"at least one pair, but the lists were \[\] and \[\]"),
        ({"database": 0.0, "neighbor": 1.0}, r"two lists .* were 0.0 and 1.0"),
        ({"database": "ab", "neighbor": "cd"}, "two lists"),
    ],
)
def test_pairs_of_a_python_function(changes, message):
    """An earlier version did not audit the second pair if there was a single label."""
    pairs = {"database": [0.0, 0.0], "neighbor": [1.0, 5.0], **changes}
    with pytest.raises(ValueError, match=message):
        Entry.from_dict({**HOST, "pairs": pairs}, [__name__])


def test_pairs_of_a_python_function_need_no_labels():
    pairs = {"database": [0.0, 0.0], "neighbor": [1.0, 5.0]}
    assert Entry.from_dict({**HOST, "pairs": pairs}, [__name__]).pairs.labels == (
        "pair 0",
        "pair 1",
    )
    named = Entry.from_dict({**HOST, "pairs": {**pairs, "labels": [1, "b"]}}, [__name__])
    assert named.pairs.labels == ("1", "b")


@pytest.mark.parametrize("change", [{"block_runs": 0}, {"block_runs": 2.5}, {"more": -1}])
def test_numbers_of_runs(change):
    (name,) = change
    with pytest.raises((ValueError, TypeError), match=rf"^{name} must be an integer"):
        SweepSpec("levels", (Entry(CATALOGUE["laplace"](), num_runs=2),), **change)


@pytest.mark.parametrize("entries", [3, {"a": 1}, "laplace", [3], [[]], [None], ["laplace"]])
def test_invalid_entries(entries):
    with pytest.raises(TypeError, match=r"entries must be tables|must be a table"):
        SweepSpec.from_dict({"entries": entries})


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_sizes_of_every_mechanism(frugal, name):
    """For each integer parameter, a huge value is rejected or does not increase the cost."""
    fields = CATALOGUE[name].__dataclass_fields__
    for field in (f for f in fields if isinstance(fields[f].default, int)):
        for size in (10**6, 10**18, -1, True):
            try:
                Entry.from_dict({**PLAIN, "mechanism": name, "parameters": {field: size}})
            except (ValueError, TypeError) as error:
                assert len(str(error)) < 500


def test_files_that_are_no_specs(tmp_path, frugal):
    path = tmp_path / "s.toml"
    with pytest.raises(ValueError, match="is a folder"):
        SweepSpec.from_file(tmp_path)
    os.mkfifo(path)
    with pytest.raises(ValueError, match="is a pipe or a device"):
        SweepSpec.from_file(path)
    path.unlink()
    contents = {
        b"\xff\xfe": "save it as UTF-8",
        b"x = " + b"[" * 5000 + b"]" * 5000: "is not TOML",
        b"x = {" * 5000: "is not TOML",
        b"a" + b".a" * 5000 + b" = 1": "is not TOML|a sweep has no",
        b"x = 1979-05-27": "a sweep has no",
        b"key = 1979-05-27\n[[entries]]\nmechanism = 'laplace'": "key must be|seed",
        b"name = 3\n[[entries]]\nmechanism = 'laplace'": "name must be a string",
        b"#" * (2**24 + 1): "too many bytes: 16777217, above the limit of 16777216",
    }
    for content, message in contents.items():
        path.write_bytes(content)
        with pytest.raises((ValueError, TypeError), match=rf"sweep file .*s\.toml.*({message})"):
            SweepSpec.from_file(path)


def test_manifests_of_stores(tmp_path, frugal):
    whole = {"format": 6, "spec": SweepSpec.from_dict(spec_of()).to_dict()}
    folder = tmp_path / "s"
    folder.mkdir()
    manifest = folder / "manifest.json"
    texts = ["", "[", "[" * 100_000, "null", "3", '{"format": 6}', '{"format": 6, "spec": []}']
    texts += ['{"format": [], "spec": {}}', json.dumps({**whole, "spec": spec_of(runs=10**12)})]
    texts += ["1" * 5000, " " * (2**24 + 1), '{"format": 6, "spec": {"entries": [null]}}']
    for text in texts:
        manifest.write_text(text)
        with pytest.raises(ValueError, match=r"manifest\.json|store format"):
            Store.open(folder)
    manifest.unlink()
    os.mkfifo(manifest)
    with pytest.raises(ValueError, match="pipe or a device"):
        Store.open(folder)


def test_mutated_specs():
    """Replacing any value by any other value leads to a spec or to an error message."""
    source = random.Random(1)
    values = [None, -1, 0, 1e308, float("nan"), 2**70, "", "\0", "[/red]", [], {}, [[]], True]
    entry = {**PLAIN, "method": "local", "pairs": [[0.0, 1.0]], "notion": {"delta": 0.0}}
    entry |= {"label": "a", "confidence": 0.9, "grid": {"epsilon": [1.0]}}
    for _ in range(300):
        content = json.loads(
            json.dumps({"name": "s", "key": 1, "block_runs": 2, "entries": [entry]})
        )
        place = content if source.random() < 0.2 else content["entries"][0]
        while True:
            key = (
                source.choice([*place]) if isinstance(place, dict) else source.randrange(len(place))
            )
            inner = place[key]
            if not isinstance(inner, dict | list) or not inner or source.random() < 0.4:
                break
            place = inner
        place[key] = source.choice(values)
        try:
            SweepSpec.from_dict(content)
        except (ValueError, TypeError) as error:
            assert 0 < len(str(error)) < 2000


def test_defaults_of_entries_in_files_are_those_of_entries():
    read = Entry.from_dict({"mechanism": "laplace"})
    made = Entry(read.mechanism)
    for name in ("method", "notion", "claim", "confidence", "distance", "num_runs", "label"):
        assert getattr(read, name) == getattr(made, name)
    assert (
        read.pairs.labels == made.pairs.labels and read.confidence == 0.95 and read.num_runs == 1000
    )
    given = {"confidence": 0.5, "distance": 2, "runs": 7, "label": "x", "claim": 1.5}
    read = Entry.from_dict({"mechanism": "laplace", **given})
    values = read.confidence, read.distance, read.num_runs, read.label, read.claim
    assert values == tuple(given.values())


@pytest.mark.parametrize("denied", ["open", "stat"])
def test_a_manifest_that_cannot_be_read(tmp_path, monkeypatch, denied):
    """A manifest without permission to read it, or in a folder that may not be entered."""
    spec = SweepSpec.from_dict(spec_of())
    manifest = Store.create(tmp_path / "s", spec).folder / "manifest.json"
    real = getattr(Path, denied)

    def refused(path, *given, **named):
        if path == manifest:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *given, **named)

    monkeypatch.setattr(Path, denied, refused)
    message = f"^manifest {manifest} cannot be read: Permission denied. Give this user permission"
    for call in (lambda: Store.open(tmp_path / "s"), lambda: Store.create(tmp_path / "s", spec)):
        with pytest.raises(PermissionError, match=message):
            call()
