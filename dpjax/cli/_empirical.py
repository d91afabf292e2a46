"""`dpjax empirical`: empirical privacy of a query on a csv or Parquet file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from dpjax.cli._options import AS_JSON, QUIET, number_or_text, say_written
from dpjax.cli._progress import progress_bar
from dpjax.cli._table import Table, Value, argument, chosen, option

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpjax.empirical import Panel

_NOISE = {"noise_kind": "noise", "noise_rule": "rule", "sensitivity": "sensitivity"}
"""Map from each parameter of the command to the argument of `calibrate_noise` that it sets."""

_PANEL = ("database", "individual", "missing")
_DENSITY = ("kernel", "bandwidth")

TABLE: Table = {
    "data": argument(Path, "A csv or Parquet file of records; csv also as gz, bz2, xz or zst."),
    "database": option(str, "Column that names the database.", default="database"),
    "individual": option(str, "Column that names the individual.", default="individual"),
    "value": option(list[str], "Column of values; may be repeated."),
    "query": option(
        list[str],
        "The query: count, sum, mean, variance, min, max, median (each with an optional :COLUMN), "
        "quantile:LEVEL or regression:Y~X. Repeat the option for a joint query. Default: mean.",
    ),
    "epsilon": option(
        list[str], "A value of epsilon, or FROM:TO:COUNT; may be repeated. Default: 0:1:51."
    ),
    "kernel": option(
        str,
        "Kernel of the density estimate: laplace, gaussian, likelihood or ecdf.",
        default="laplace",
        choices=("laplace", "gaussian", "likelihood", "ecdf"),
    ),
    "bandwidth": option(
        str,
        "Bandwidth of the kernel: a number, likelihood, silverman, scott or variable.",
        default="likelihood",
        parser=number_or_text,
        metavar="RULE|NUMBER",
    ),
    "adversary": option(str, "A query whose answer the adversary knows."),
    "num_buckets": option(
        int,
        "With --adversary: number of buckets into which the adversary's knowledge is divided. "
        "Default: 2.",
    ),
    "uncertainty": option(
        bool,
        "Also estimate the standard error of delta, by leaving out each database in turn.",
        "--uncertainty",
        default=False,
    ),
    "missing": option(
        str,
        "What to do with records that lack a value: error or drop.",
        default="error",
        choices=("error", "drop"),
    ),
    "noise": option(float, "Also find the scale of noise that is sufficient for this epsilon."),
    "noise_kind": option(str, "With --noise: kind of noise, laplace (default) or deconvolution."),
    "noise_rule": option(
        str,
        "With --noise: rule for the noise scale, wasserstein (default), smallest or hausdorff.",
    ),
    "sensitivity": option(
        float,
        "With --noise: global sensitivity of the query, for a comparison with the classical "
        "Laplace mechanism. Default: the largest observed change of an answer.",
    ),
    "as_json": AS_JSON,
    "report": option(Path, "Write a report with its figures (html or md)."),
    "quiet": QUIET,
}


EXAMPLES = (
    "dpjax empirical firms.csv --database year --individual firm --value profit",
    "dpjax empirical firms.csv.gz --query mean:profit --report firms.html",
    "dpjax empirical firms.parquet --query median --noise 0.5",
)


def command(**given: Value) -> None:
    """Estimate what a query reveals about each individual, from the data alone."""
    noise, report = given["noise"], given["report"]
    noise_options = {_NOISE[name]: value for name, value in chosen(given, _NOISE).items()}
    if noise is None and noise_options:
        raise ValueError(
            "--noise-kind, --noise-rule and --sensitivity have an effect only with --noise."
        )
    knows, buckets = given["adversary"], given["num_buckets"]
    if knows is None and buckets is not None:
        raise ValueError("--num-buckets has an effect only with --adversary.")
    if report is not None:
        from dpjax.report import check_report_path

        check_report_path(report)
    from dpjax.core import validate
    from dpjax.empirical import (
        Adversary,
        Density,
        calibrate_noise,
        empirical_privacy,
        panel_from_table,
        write_empirical_report,
    )
    from dpjax.empirical._calibrate import NOISES, RULES

    # Report a misspelled name before the computation rather than after it.
    for accepted, name in ((NOISES, "noise_kind"), (RULES, "noise_rule")):
        if given[name] is not None:
            validate.one_of(accepted, **{name: given[name]})
    if noise is not None:
        validate.positive(noise=noise)
    names = given["query"] or ["mean"]
    query = tuple(names) if len(names) > 1 else names[0]
    levels = _levels(given["epsilon"] or ["0:1:51"])
    columns, density = ({name: given[name] for name in names} for names in (_PANEL, _DENSITY))
    density = Density(**density)
    adversary = None
    if knows is not None:
        adversary = Adversary(knows) if buckets is None else Adversary(knows, buckets)
    panel = panel_from_table(given["data"], value=given["value"] or None, **columns)
    for text in names:
        _refuse_query("--query", text, panel)
    if knows is not None:
        _refuse_query("--adversary", knows, panel)
    with progress_bar("estimates without an individual", quiet=given["quiet"]) as progress:
        result = empirical_privacy(
            panel,
            query,
            epsilon=levels,
            adversary=adversary,
            uncertainty=given["uncertainty"],
            progress=progress,
            density=density,
        )
    calibration = None
    if noise is not None:
        with progress_bar("calibrating noise", quiet=given["quiet"]):
            calibration = calibrate_noise(
                panel, query, epsilon=noise, density=density, **noise_options
            )
    if report is not None:
        write_empirical_report(result, report, calibration)
    if given["as_json"]:
        extra = {} if calibration is None else {"noise": calibration.to_dict()}
        print(json.dumps(result.to_dict() | extra, allow_nan=False))
    else:
        print(result if calibration is None else f"{result}\n\n{calibration}")
    say_written(report)


def _refuse_query(option: str, text: str, panel: "Panel") -> None:
    """Raise an error that names an option if its query, or a column of the query, is not known."""
    from dpjax.empirical._queries import parse_query

    try:
        query = parse_query(text)
        if hasattr(query, "response"):
            columns = [query.response, *query.on]
        else:
            columns = [query.column] if text != "count" else []
        for column in columns:
            panel.column(column)
    except ValueError as error:
        raise ValueError(f"{option} {text!r}: {error}") from None


def _levels(texts: list[str]) -> "NDArray":
    import numpy as np

    from dpjax.core import validate

    levels: list[float] = []
    for text in texts:
        first, *rest = text.split(":")
        try:
            stop, count = rest or (first, 1)
            ends, number = (float(first), float(stop)), int(count)
            if number < 1 + bool(rest):
                raise ValueError
        except ValueError:
            raise ValueError(
                "--epsilon must be a number or FROM:TO:COUNT with a COUNT of at least 2, as in "
                f"0:1:51, but was {text!r}."
            ) from None
        if not np.isfinite(ends).all():
            raise ValueError(f"--epsilon must be finite, but was {text!r}.")
        if ends[0] < 0:
            raise ValueError(f"--epsilon must be at least 0, but was {text!r}.")
        if number > 1 and ends[0] >= ends[1]:
            raise ValueError(f"--epsilon must have FROM below TO, as in 0:1:51, but was {text!r}.")
        validate.within_limit("levels", len(levels) + number, "--epsilon has too many levels")
        levels += np.linspace(*ends, number).tolist()
    return np.array(levels)
