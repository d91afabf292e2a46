"""`dpjax audit`: a built-in mechanism, a JAX function, or two files of outputs."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import typer

from dpjax._result import VIOLATED, AuditResult
from dpjax.cli._options import number_or_text, say_written, working


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("audit")(audit)


def audit(
    name: str = typer.Argument(None, help="A built-in mechanism; `dpjax mechanisms` lists them."),
    epsilon: float = typer.Option(None, help="The mechanism's epsilon parameter."),
    param: list[str] = typer.Option(
        [], metavar="NAME=VALUE", help="Another parameter of the mechanism; repeatable."
    ),
    function: str = typer.Option(
        None, metavar="MODULE:NAME", help="A JAX function (key, database) -> output."
    ),
    pairs: Path = typer.Option(
        None, help="File of neighbouring databases: JSON [[database, neighbor], ...] or npz."
    ),
    num_outcomes: int = typer.Option(
        None, help="For a function that returns outcomes 0..NUM_OUTCOMES - 1."
    ),
    samples: tuple[Path, Path] = typer.Option(
        None, metavar="X Y", help="Two files of recorded outputs (npy, npz, csv, tsv, txt)."
    ),
    discrete: bool = typer.Option(
        None, "--discrete/--continuous", help="What recorded outputs are; found out if not said."
    ),
    region: tuple[float, float] = typer.Option(
        None, metavar="LOW HIGH", help="Where outputs are compared."
    ),
    claim: float = typer.Option(None, help="The epsilon that is claimed."),
    num_samples: int = typer.Option(20_000, help="n, draws a side and pair to search."),
    num_confirm: int = typer.Option(50_000, help="N > n, fresh draws a side to confirm."),
    confidence: float = typer.Option(0.95, help="Of the lower bound."),
    seed: int = typer.Option(0, help="The same seed gives the same result."),
    bandwidth: str = typer.Option(
        "scott", help="silverman, scott, hoelder, cross-validated, or a number."
    ),
    floor: float = typer.Option(None, help="Densities below it are not believed."),
    kernel: str = typer.Option("gaussian", help="gaussian, laplace, epanechnikov or biweight."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead."),
    plot: Path = typer.Option(None, help="Write a figure (png, svg, pdf)."),
    report: Path = typer.Option(None, help="Write a report (html or md)."),
) -> None:
    """Audits a mechanism: a lower confidence bound on its epsilon, with a witness.

    Exits with 0 if the claim is not refuted or none was given, 1 if it is violated, 2 on bad input.
    """
    if sum(source is not None for source in (name, function, samples)) != 1:
        raise ValueError("name one thing to audit: a mechanism, --function or --samples.")
    if plot is not None:
        from dpjax.plotting import check_figure_path

        check_figure_path(plot)
    if report is not None:
        from dpjax.report import check_report_path

        check_report_path(report)
    common: dict[str, Any] = {
        "region": region,
        "claim": claim,
        "confidence": confidence,
        "key": seed,
        "bandwidth": number_or_text(bandwidth),
        "floor": floor,
        "kernel": kernel,
    }
    sizes = {"num_samples": num_samples, "num_confirm": num_confirm}
    with working("drawing and comparing outputs ..."):
        if samples is not None:
            result = _audit_files(samples, discrete, common)
        else:
            mechanism, pairs_given = _mechanism(name, epsilon, param, function, pairs)
            import dpjax

            result = dpjax.audit(
                mechanism, pairs=pairs_given, num_outcomes=num_outcomes, **sizes, **common
            )
    if plot is not None:
        result.plot(plot)
    if report is not None:
        from dpjax.report import write_report

        write_report(result, report)
    print(result.to_json() if as_json else result)
    say_written(plot, report)
    raise typer.Exit(1 if result.verdict == VIOLATED else 0)


def _audit_files(
    samples: tuple[Path, Path], discrete: bool | None, common: dict[str, Any]
) -> AuditResult:
    import dpjax
    from dpjax.io import read_samples

    x, y = (read_samples(path) for path in samples)
    title = f"{samples[0].name} / {samples[1].name}"
    return dpjax.audit_samples(x, y, discrete=discrete, name=title, **common)


def _mechanism(
    name: str | None, epsilon: float | None, param: list[str], function: str | None, pairs: Any
) -> tuple[Any, Any]:
    given = None if pairs is None else _read_pairs(pairs)
    if function is not None:
        if epsilon is not None or param:
            raise ValueError("--epsilon and --param are for built-in mechanisms, not --function.")
        return _import_function(function), given
    import dataclasses

    from dpjax._errors import nearest
    from dpjax.mechanisms import find_mechanism

    cls = find_mechanism(name or "")
    fields = {field.name: field for field in dataclasses.fields(cls)}
    settings = [] if epsilon is None else [f"epsilon={epsilon!r}"]
    values: dict[str, Any] = {}
    for setting in settings + list(param):
        key, _, text = setting.partition("=")
        key = key.replace("-", "_")
        if key not in fields:
            raise ValueError(f"{name} has no parameter {key!r}; {nearest(key, list(fields))}.")
        kind = int if isinstance(fields[key].default, int) else float
        try:
            values[key] = kind(text)
        except ValueError:
            raise ValueError(
                f"--param {key} must be {'an integer' if kind is int else 'a number'}, but was "
                f"{text!r}."
            ) from None
    return cls(**values), given


def _import_function(path: str) -> Any:
    module, _, attribute = path.partition(":")
    if not module or not attribute:
        raise ValueError(f"--function must be MODULE:NAME, but was {path!r}.")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"--function {path!r}: the module cannot be imported: {error}.") from None
    try:
        return getattr(found, attribute)
    except AttributeError:
        raise ValueError(f"--function {path!r}: the module has no {attribute!r}.") from None


def _read_pairs(path: Path) -> Any:
    import numpy as np

    from dpjax.databases import Pairs

    if not path.is_file():
        raise ValueError(f"--pairs {path} is not a file.")
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as content:
                return Pairs(content["database"], content["neighbor"])
        return Pairs.of(json.loads(path.read_text()))
    except (KeyError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"--pairs {path} must be JSON [[database, neighbor], ...] or an npz file with the "
            f"arrays database and neighbor: {error}."
        ) from None
