"""`dpjax empirical`: empirical privacy of a query on a csv or Parquet file."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dpjax.cli._options import counting, number_or_text, say_written, working


def register(app: typer.Typer) -> None:
    """Adds the command to an application."""
    app.command("empirical")(empirical)


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
    uncertainty: Annotated[
        bool,
        typer.Option(
            "--uncertainty",
            help="Also the standard error of delta, from estimates without one database each.",
        ),
    ] = False,
    missing: Annotated[str, typer.Option(help="Records with a missing value: error or drop.")] = (
        "error"
    ),
    noise: Annotated[
        float | None, typer.Option(help="Also calibrate noise that reaches this epsilon.")
    ] = None,
    noise_kind: Annotated[
        str | None, typer.Option(help="With --noise: laplace (default) or deconvolution.")
    ] = None,
    noise_rule: Annotated[
        str | None,
        typer.Option(
            help="With --noise, what its scale rests on: wasserstein (default), smallest or "
            "hausdorff."
        ),
    ] = None,
    sensitivity: Annotated[
        float | None,
        typer.Option(
            help="With --noise: global sensitivity of the query, to compare with the classical "
            "Laplace mechanism. Default: the largest change seen."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write a report with its figures (html or md).")
    ] = None,
) -> None:
    """Estimates what a query gives away about each individual, from the data alone."""
    wanted = {"noise": noise_kind, "rule": noise_rule, "sensitivity": sensitivity}
    noise_options = {name: value for name, value in wanted.items() if value is not None}
    if noise is None and noise_options:
        raise ValueError(
            "--noise-kind, --noise-rule and --sensitivity are for the noise that --noise asks for."
        )
    if report is not None:
        from dpjax.report import check_report_path

        check_report_path(report)
    from dpjax.empirical import as_panel, calibrate_noise, empirical_privacy

    queries: Any = tuple(query or ["mean"])
    if len(queries) == 1:
        queries = queries[0]
    density = {"kernel": kernel, "bandwidth": number_or_text(bandwidth)}
    levels = _levels(epsilon or ["0:1:51"])
    panel = as_panel(data, database=database, individual=individual, value=value, missing=missing)
    with counting("leaving out individuals") as progress:
        result = empirical_privacy(
            panel,
            queries,
            epsilon=levels,
            adversary=adversary,
            num_buckets=num_buckets,
            uncertainty=uncertainty,
            progress=progress,
            **density,
        )
    calibration = None
    if noise is not None:
        with working("calibrating noise ..."):
            calibration = calibrate_noise(panel, queries, epsilon=noise, **density, **noise_options)
    if report is not None:
        from dpjax.empirical import write_empirical_report

        write_empirical_report(result, report, calibration)
    if as_json:
        extra = {} if calibration is None else {"noise": calibration.to_dict()}
        print(json.dumps(result.to_dict() | extra, allow_nan=False))
    else:
        print(result if calibration is None else f"{result}\n\n{calibration}")
    say_written(report)


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
