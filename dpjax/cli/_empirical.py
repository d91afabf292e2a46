"""`dpjax empirical`: empirical privacy of a query on a csv or Parquet file."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer


def empirical(
    data: Annotated[Path, typer.Argument(help="A csv or Parquet file of records.")],
    database: Annotated[str, typer.Option(help="Column that names the database.")] = "database",
    individual: Annotated[
        str, typer.Option(help="Column that names the individual.")
    ] = "individual",
    value: Annotated[
        list[str] | None, typer.Option(help="Column of values; may be repeated.")
    ] = None,
    query: Annotated[
        list[str] | None,
        typer.Option(
            help="count, sum, mean, variance, min, max, median (each with an optional :COLUMN), "
            "quantile:LEVEL, regression:Y~X; repeat it for a joint query. Default: mean."
        ),
    ] = None,
    epsilon: Annotated[
        list[str] | None,
        typer.Option(help="A level, or FROM:TO:COUNT; may be repeated. Default: 0:1:51."),
    ] = None,
    kernel: Annotated[str, typer.Option(help="laplace, gaussian, likelihood or ecdf.")] = "laplace",
    bandwidth: Annotated[
        str, typer.Option(help="A number, likelihood, silverman, scott or variable.")
    ] = "likelihood",
    adversary: Annotated[
        str | None, typer.Option(help="A query whose answer the adversary knows.")
    ] = None,
    num_buckets: Annotated[int, typer.Option(help="Buckets of the adversary's answer.")] = 2,
    missing: Annotated[str, typer.Option(help="Records with a missing value: error or drop.")] = (
        "error"
    ),
    noise: Annotated[
        float | None, typer.Option(help="Also calibrate noise that reaches this epsilon.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write a report, with figures, to a .md or .html file.")
    ] = None,
) -> None:
    """Estimate what a query gives away about each individual, from the data alone."""
    from dpjax.calibration import calibrate_noise
    from dpjax.databases import as_panel
    from dpjax.estimators import empirical_privacy
    from dpjax.report._empirical import check_report_path, write_empirical_report

    queries: Any = tuple(query or ["mean"])
    if len(queries) == 1:
        queries = queries[0]
    try:
        if report is not None:
            check_report_path(report)
        panel = as_panel(
            data, database=database, individual=individual, value=value, missing=missing
        )
        density = {"kernel": kernel, "bandwidth": _number_or_name(bandwidth)}
        result = empirical_privacy(
            panel,
            queries,
            epsilon=_levels(epsilon or ["0:1:51"]),
            adversary=adversary,
            num_buckets=num_buckets,
            progress=_progress if sys.stderr.isatty() else None,
            **density,
        )
        calibration = None
        if noise is not None:
            calibration = calibrate_noise(panel, queries, epsilon=noise, **density)
        if report is not None:
            write_empirical_report(report, result, calibration)
    except (ValueError, TypeError, ImportError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    if as_json:
        extra = {} if calibration is None else {"noise": calibration.to_dict()}
        typer.echo(json.dumps(result.to_dict() | extra, allow_nan=False))
        return
    typer.echo(str(result))
    if calibration is not None:
        typer.echo(f"\n{calibration}")
    if report is not None:
        typer.echo(f"\nreport: {report}")


def register(app: typer.Typer) -> None:
    """Adds the command to an application."""
    app.command("empirical")(empirical)


def _levels(texts: list[str]) -> np.ndarray:
    levels: list[float] = []
    for text in texts:
        try:
            parts = text.split(":")
            if len(parts) == 1:
                levels.append(float(text))
                continue
            start, stop, count = parts
            levels += np.linspace(float(start), float(stop), int(count)).tolist()
        except ValueError:
            raise ValueError(
                f"epsilon must be a number or FROM:TO:COUNT, as in 0:1:51, but was {text!r}."
            ) from None
    return np.array(levels)


def _number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _progress(done: int, total: int) -> None:
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r{done} of {total}{end}")
    sys.stderr.flush()
