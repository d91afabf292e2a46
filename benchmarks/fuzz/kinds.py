"""Kinds of inputs: valid inputs, how they are read, and which results are correct."""

import io
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

import dpjax
from benchmarks.fuzz import trusted
from benchmarks.fuzz.mutations import mutated, mutated_values
from dpjax.cli._given import pairs_of
from dpjax.core.seals import seal_of
from dpjax.empirical import panel_from_table
from dpjax.partitions import Encoder
from dpjax.sources._process import Programs
from dpjax.sources.readers import read_samples
from dpjax.sources.readers._entries import as_outputs
from dpjax.sweeps import Store, SweepSpec, run_sweep

Case = tuple[str, Callable[[], None]]
"""Name of an input, and a function that reads it.

The function returns if the result is correct. It raises an error of dpjax if dpjax rejects the
input, and `Wrong` if the result is wrong.
"""


class Wrong(Exception):
    """Result that differs from the result of the trusted parser."""


def hold(agree: bool, what: Any) -> None:
    """Check a result.

    Args:
        agree: Whether the result is correct.
        what: Result to show in the error message.

    Raises:
        Wrong: If the result is not correct.
    """
    if not agree:
        raise Wrong(repr(what)[:300])


def _saved(save: Callable[..., None], *arguments: Any, **named: Any) -> bytes:
    buffer = io.BytesIO()
    save(buffer, *arguments, **named)
    return buffer.getvalue()


def _arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    return {
        "reals": rng.normal(size=60),
        "vectors": rng.normal(size=(50, 3)),
        "columns": np.asfortranarray(rng.normal(size=(50, 2))),
        "floats": rng.normal(size=60).astype(np.float32),
        "integers": rng.integers(-3, 9, 60),
        "large": rng.integers(2**62, 2**63, 60).astype(np.uint64),
        "booleans": rng.random(60) < 0.5,
        "labels": np.array([*map(str, rng.choice(["yes", "no", "né"], 60))]),
        "bytes": rng.choice([b"yes", b"no"], 60),
    }


def _recordings() -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name, array in _arrays().items():
        found[f"{name}.npy"] = _saved(np.save, array)
        found[f"{name}.npz"] = _saved(np.savez_compressed, x=array)
        found[f"{name}-stored.npz"] = _saved(np.savez, x=array)
        if name == "bytes":
            continue
        columns = array.reshape(len(array), -1).T.tolist()
        table = pa.table({f"c{i}": column for i, column in enumerate(columns)})
        found[f"{name}.parquet"] = _saved(lambda file, t: pq.write_table(t, file), table)
        for suffix, sign in ((".csv", ","), (".tsv", "\t"), (".txt", " ")):
            rows = [
                sign.join(map(repr if name != "labels" else str, row))
                for row in zip(*columns, strict=True)
            ]
            text = "\n".join(rows) + "\n"
            found[f"{name}{suffix}"] = text.encode()
            head = sign.join(f"c{i}" for i in range(len(columns)))
            found[f"{name}-head{suffix}"] = f"\ufeff{head}\r\n".encode() + text.encode()
    quoted = '"a, b"\n"say ""x"""\n' * 20
    return found | {"quoted.csv": quoted.encode(), "quoted-numbers.csv": b'"1.5"\n"2"\n' * 20}


@contextmanager
def recordings(folder: Path) -> Iterator[Callable[[Random], Case]]:
    """Yield a function that mutates and reads files of outputs; 1 in 30 is also audited."""
    whole = _recordings()

    def case(source: Random) -> Case:
        name = source.choice([*whole])
        path = folder / name
        path.write_bytes(mutated(whole[name], source))
        audited = source.random() < 1 / 30

        def read() -> None:
            outputs = read_samples(path)
            hold(trusted.same_outputs(outputs, trusted.recording(path)), outputs)
            if audited:
                other = np.roll(outputs, 1, axis=0)[: len(outputs) // 2 * 2]
                dpjax.audit(dpjax.Recorded(outputs, other)).to_json()

        return name, read

    yield case


@contextmanager
def panels(folder: Path) -> Iterator[Callable[[Random], Case]]:
    """Yield a function that mutates and reads tables of records."""
    rng = np.random.default_rng(8)
    table = {
        "database": [*range(8)] * 6,
        "individual": [f"p{i}" for i in range(6) for _ in range(8)],
        "value": rng.normal(size=48).round(3).tolist(),
    }
    rows = zip(*table.values(), strict=True)
    text = "database,individual,value\n" + "".join(f"{d},{i},{v}\n" for d, i, v in rows)
    parquet = _saved(lambda file: pq.write_table(pa.table(table), file))
    whole = {"x.csv": text.encode(), "numbers.csv": text.replace("p", "0").encode()}
    whole["x.parquet"] = parquet

    def case(source: Random) -> Case:
        name = source.choice([*whole])
        path = folder / name
        path.write_bytes(mutated(whole[name], source))

        def read() -> None:
            found = panel_from_table(path, value="value")
            records, databases, individuals, values = trusted.panel(path)
            sizes = len(found.values), found.num_databases, found.num_individuals
            hold(sizes == (records, databases, individuals), sizes)
            hold(np.allclose(np.sort(found.values[:, 0]), values, 1e-12, 0), found.values)

        return name, read

    yield case


def _spec() -> dict[str, Any]:
    sizes = {"num_samples": 60, "num_confirm": 90}
    plain = {"mechanism": "laplace", "options": sizes, "runs": 4}
    wide = {"rule": "Fixed", "bandwidth": 0.3}
    local = sizes | {"bandwidth": wide, "region": [-1.0, 2.0]}
    histogram = {"num_intervals": 3, "num_samples": 50, "inputs": [0.0, 1.0]}
    return {
        "name": "fuzz",
        "key": 3,
        "block_runs": 2,
        "entries": [
            plain | {"grid": {"epsilon": [0.5, 1.0]}, "label": "a", "notion": {"delta": 0.01}},
            plain | {"method": "local", "options": local, "pairs": [[0.0, 1.0], [1.0, 0.0]]},
            plain | {"mechanism": "svt4", "parameters": {"num_queries": 4}, "confidence": 0.9},
            plain | {"mechanism": "truncated-laplace", "method": "histogram-estimate"}
            | {"options": histogram},
        ],
    }  # fmt: skip


@contextmanager
def specs(folder: Path) -> Iterator[Callable[[Random], Case]]:
    """Yield a function that mutates the bytes or values of TOML files and reads them."""
    path, content = folder / "s.toml", _spec()
    hold(SweepSpec.from_dict(content).num_runs == 20, content)
    text = tomli_w.dumps(content).encode()

    def case(source: Random) -> Case:
        if source.random() < 0.5:
            path.write_bytes(mutated(text, source))
        else:
            try:
                path.write_text(tomli_w.dumps(mutated_values(content, source)), "utf-8")
            except (TypeError, UnicodeEncodeError):  # TOML has no null.
                path.write_bytes(mutated(text, source))

        def read() -> None:
            spec = SweepSpec.from_file(path)
            hold(len(spec.entries) == trusted.num_entries(path), spec)
            hold(SweepSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec, spec)

        return path.name, read

    yield case


def _as_list(side: Any) -> Any:
    return side.tolist() if isinstance(side, np.ndarray | np.generic) else side


def _numbers(tree: Any) -> list[Any]:
    """Return the numbers in a JSON value; an object is traversed in the order of its keys."""
    if isinstance(tree, dict):
        return [n for name in sorted(tree) for n in _numbers(tree[name])]
    if isinstance(tree, list):
        return [n for part in tree for n in _numbers(part)]
    return [] if tree is None else [tree]


@contextmanager
def pairs(folder: Path) -> Iterator[Callable[[Random], Case]]:
    """Yield a function that mutates and reads JSON and npz files of pairs of databases."""
    rows: list[Any] = [[[1.0, 2.0], [1.0, 3.0]], [[0.5, 2.0], [0.0, 2.0]]]
    sides = {"database": [row[0] for row in rows], "neighbor": [row[1] for row in rows]}
    whole = {
        "p.json": json.dumps(rows).encode(),
        "texts.json": json.dumps([["a", "b"], [{"x": [1]}, None]]).encode(),
        "p.npz": _saved(np.savez_compressed, **{k: np.array(v) for k, v in sides.items()}),
        "stored.npz": _saved(np.savez, **{k: np.array(v) for k, v in sides.items()}),
    }

    def case(source: Random) -> Case:
        name, any_kind = source.choice([*whole]), source.random() < 0.5
        path = folder / name
        if path.suffix == ".json" and source.random() < 0.3:
            path.write_text(json.dumps(mutated_values(json.loads(whole[name]), source)))
        else:
            path.write_bytes(mutated(whole[name], source))

        def read() -> None:
            found, wanted = pairs_of(str(path), any_kind=any_kind), trusted.pairs(path)
            if any_kind:
                lists = [tuple(map(_as_list, row)) for row in found]
                hold(repr(lists) == repr(wanted), lists)
                return
            for side, place in ((found.database, 0), (found.neighbor, 1)):
                leaves = jax.tree.leaves(side)
                for number, row in enumerate(wanted):
                    held = [np.ravel(leaf[number]) for leaf in leaves]
                    values = np.array(_numbers(row[place]), float)
                    hold(np.allclose(np.concatenate(held), values, 1e-3, 1e-6), side)

        return name, read

    yield case


@contextmanager
def stores(folder: Path) -> Iterator[Callable[[Random], Case]]:
    """Yield a function that mutates one file of a complete store and reads the store.

    All rows that can be read must be rows of the original store.
    """
    content = _spec()
    content["entries"] = content["entries"][:1]
    made = Store.create(folder / "whole", SweepSpec.from_dict(content))
    run_sweep(made)
    rows = made.table().drop_columns(["seconds"]).to_pylist()
    files = sorted(path.relative_to(made.folder) for path in made.folder.rglob("*.*"))

    def case(source: Random) -> Case:
        changed = folder / "changed"
        shutil.rmtree(changed, ignore_errors=True)
        shutil.copytree(made.folder, changed)
        # Mutate the manifest more often than other files, because it is parsed as text.
        name = source.choice([Path("manifest.json"), source.choice(files)])
        path = changed / name
        if name.suffix == ".json" and source.random() < 0.5:
            values = mutated_values(json.loads(path.read_text()), source)
            path.write_text(json.dumps(values))
        else:
            path.write_bytes(mutated(path.read_bytes(), source))

        def read() -> None:
            store = Store.open(changed)
            found = store.table().drop_columns(["seconds"]).to_pylist()
            hold(all(repr(row) in known for row in found), found)

        return str(name), read

    known = {repr(row) for row in rows}
    yield case


@contextmanager
def programs(folder: Path) -> Iterator[Callable[[Random], Case]]:
    """Yield a function that mutates and reads what a program prints; each line is an output."""
    whole = [text for name, text in _recordings().items() if name.endswith((".txt", ".csv"))]
    running = Programs()
    path = folder / "output"

    def case(source: Random) -> Case:
        text = mutated(source.choice(whole), source)
        path.write_bytes(text)

        def read() -> None:
            wanted = trusted.lines(text)
            ended = running.run(["cat", str(path)], max(len(wanted), 1), 20.0)
            hold(ended.code == 0 and len(ended.lines) == len(wanted), ended)
            if not wanted:
                return
            outputs = as_outputs(ended.lines)
            for output, line in zip(outputs, wanted, strict=True):
                number = isinstance(output, int | float | np.number)
                hold(number == isinstance(line, int | float), (output, line))
                hold(not number or output == line or line != line, (output, line))
            apart = {(repr(o), isinstance(o, str)) for o in outputs if isinstance(o, str | tuple)}
            lines = {line for line in wanted if isinstance(line, bytes)}
            # Different lines may denote the same vector.
            hold(len(apart) == len(lines) or any(isinstance(o, tuple) for o in outputs), apart)
            encoder = Encoder("the program")
            encoded = encoder.encode(outputs)
            hold(len(encoded.labels) == len(wanted), encoded)

        return "output", read

    try:
        yield case
    finally:
        running.stop()


def _within(given: Any, held: Any) -> bool:
    """Return whether `held` contains all values of `given`; it may also contain defaults."""
    if isinstance(given, dict) and isinstance(held, dict):
        return all(name in held and _within(part, held[name]) for name, part in given.items())
    if isinstance(given, list) and isinstance(held, list):
        return len(given) == len(held) and all(map(_within, given, held))
    # In an array of floats, an integer is read as a float with the same value.
    same_value = type(given) is int and isinstance(held, float) and given == held
    return same_value or repr(given) == repr(held)


def _reread(text: str) -> None:
    """Read a result; check that it contains all values of the text, can be shown and reread."""
    found = dpjax.AuditResult.from_json(text)
    hold(_within(json.loads(text), json.loads(found.to_json())), found)
    hold(dpjax.AuditResult.from_json(found.to_json()).to_json() == found.to_json(), found)
    found.page(".md")


@contextmanager
def results(folder: Path) -> Iterator[Callable[[Random], Case]]:
    """Yield a function that mutates the bytes or values of results in JSON and reads them."""
    rng = np.random.default_rng(9)
    x, y = (rng.laplace(shift, size=600) for shift in (0.0, 1.0))
    recorded = dpjax.Recorded(x, y)
    whole = [
        dpjax.audit(recorded, claim=0.5).to_json(),
        dpjax.audit(recorded, notion=dpjax.Profile(), claim=[(0.0, 0.3)]).to_json(),
        dpjax.audit(recorded, method=dpjax.Sequential(), claim=0.5).to_json(),
    ]
    path = folder / "result.json"

    def case(source: Random) -> Case:
        text = source.choice(whole)
        if source.random() < 0.6:
            path.write_text(json.dumps(mutated_values(json.loads(text), source)))
        else:
            path.write_bytes(mutated(text.encode(), source))

        def read() -> None:
            dpjax.AuditResult.from_file(path)
            _reread(path.read_text())

        return path.name, read

    yield case


@contextmanager
def states(folder: Path) -> Iterator[Callable[[Random], Case]]:
    """Yield a function that mutates a state of `dpjax.watch` and resumes from it.

    Most mutated states get a valid seal. Each output must be counted exactly once.
    """
    rng, path = np.random.default_rng(10), folder / "watch.json"
    sizes = [1_100, 150, 250]
    chunks = [(f"{i}", rng.laplace(0, 1, n), rng.laplace(1, 1, n)) for i, n in enumerate(sizes)]
    [*dpjax.watch(chunks[:2], claim=2.0, state=path)]
    whole = path.read_bytes()
    plain = {name: part for name, part in json.loads(whole).items() if name != "seal"}

    def case(source: Random) -> Case:
        if source.random() < 0.3:
            path.write_bytes(mutated(whole, source))
        else:
            content = mutated_values(plain, source)
            if isinstance(content, dict):
                content["seal"] = seal_of(content)
            path.write_text(json.dumps(content))

        def read() -> None:
            found = [*dpjax.watch(chunks, claim=2.0, state=path)]
            hold(found[-1].settings["drawn"] == sum(sizes), found)

        return path.name, read

    yield case


KINDS = {
    "recordings": (recordings, 8000),
    "panels": (panels, 3000),
    "specs": (specs, 3500),
    "pairs": (pairs, 3000),
    "stores": (stores, 1000),
    "programs": (programs, 1500),
    "results": (results, 3000),
    "states": (states, 600),
}
"""Map from a kind to (its inputs, number of mutations); there are 23,600 mutations in total."""
