"""`dpjax audit`: a built-in mechanism, a JAX function, or two files of outputs."""

from pathlib import Path
from typing import Any

import typer

from dpjax._result import VIOLATED, AuditResult
from dpjax.cli._audit_histogram import audit_by_histogram, check_method, write_report
from dpjax.cli._options import number_or_text, say_written, working
from dpjax.cli._subject import mechanism_and_pairs

# Headings of `dpjax audit --help`.
_LOCAL = "Options of --method local"
_HISTOGRAM = "Options of --method histogram"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("audit")(audit)


def audit(
    context: typer.Context,
    name: str = typer.Argument(None, help="A built-in mechanism; `dpjax mechanisms` lists them."),
    method: str = typer.Option(
        "local",
        help="local: a lower bound without assumptions; histogram: an interval for densities "
        "that are assumed smooth.",
    ),
    epsilon: float = typer.Option(None, help="The mechanism's epsilon parameter."),
    param: list[str] = typer.Option(
        [], metavar="NAME=VALUE", help="Another parameter of the mechanism; repeatable."
    ),
    function: str = typer.Option(
        None, metavar="MODULE:NAME", help="A JAX function (key, database) -> output."
    ),
    pairs: Path = typer.Option(
        None, help="File of neighbouring databases: JSON pairs (database, neighbor), or npz."
    ),
    num_outcomes: int = typer.Option(
        None, help="For a function that returns outcomes 0..NUM_OUTCOMES - 1."
    ),
    samples: tuple[Path, Path] = typer.Option(
        None,
        metavar="X Y",
        help="Two files of recorded outputs (npy, npz, csv, tsv, txt).",
        rich_help_panel=_LOCAL,
    ),
    discrete: bool = typer.Option(
        None,
        "--discrete/--continuous",
        help="What recorded outputs are; found out if not said.",
        rich_help_panel=_LOCAL,
    ),
    region: tuple[float, float] = typer.Option(
        None,
        metavar="LOW HIGH",
        help="Where outputs are compared; for histograms, the interval that holds them all.",
    ),
    claim: float = typer.Option(None, help="The epsilon (or Renyi level) that is claimed."),
    num_samples: int = typer.Option(
        20_000,
        help="n, draws a side and pair to search; for histograms, at each input, in place of "
        "--precision.",
    ),
    num_confirm: int = typer.Option(
        50_000, help="N > n, fresh draws a side to confirm.", rich_help_panel=_LOCAL
    ),
    confidence: float = typer.Option(0.95, help="Of the lower bound, or of the interval."),
    seed: int = typer.Option(0, help="The same seed gives the same result."),
    bandwidth: str = typer.Option(
        "scott",
        help="silverman, scott, hoelder, cross-validated, or a number.",
        rich_help_panel=_LOCAL,
    ),
    floor: float = typer.Option(
        None, help="Densities below it are not believed.", rich_help_panel=_LOCAL
    ),
    kernel: str = typer.Option(
        "gaussian", help="gaussian, laplace, epanechnikov or biweight.", rich_help_panel=_LOCAL
    ),
    guarantee: str = typer.Option(
        "normal",
        help="normal: at one output, asymptotic; exact: of an event, at every sample size and for "
        "every kind of output.",
        rich_help_panel=_LOCAL,
    ),
    num_claims: int = typer.Option(
        1,
        help="How many audits' bounds shall hold together with the confidence.",
        rich_help_panel=_LOCAL,
    ),
    lipschitz: float = typer.Option(
        None,
        help="C: steepest slope of a density in the output, assumed.",
        rich_help_panel=_HISTOGRAM,
    ),
    least_probability: float = typer.Option(
        None,
        help="Below the probability of every output, assumed; for finitely many outputs.",
        rich_help_panel=_HISTOGRAM,
    ),
    precision: float = typer.Option(
        None, help="Largest error; 0.5 if not given.", rich_help_panel=_HISTOGRAM
    ),
    order: float = typer.Option(
        None, help="Order of Renyi privacy; LDP without it.", rich_help_panel=_HISTOGRAM
    ),
    input_lipschitz: float = typer.Option(
        None,
        help="D: steepest slope of a density in the input, assumed; covers all inputs.",
        rich_help_panel=_HISTOGRAM,
    ),
    input_width: float = typer.Option(
        None, help="With D: the inputs are all of [0, INPUT_WIDTH].", rich_help_panel=_HISTOGRAM
    ),
    bound: str = typer.Option(
        "published", help="Union bound: published or all-intervals.", rich_help_panel=_HISTOGRAM
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead."),
    plot: Path = typer.Option(None, help="Write a figure (png, svg, pdf).", rich_help_panel=_LOCAL),
    report: Path = typer.Option(None, help="Write a report (html or md)."),
) -> None:
    """Audits a mechanism: a confidence bound on its epsilon, with a witness.

    Exits with 0 if the claim is not refuted or none was given, 1 if it is violated, 2 on bad input.
    """
    given = check_method(context, method)
    if sum(source is not None for source in (name, function, samples)) != 1:
        raise ValueError("name one thing to audit: a mechanism, --function or --samples.")
    if plot is not None:
        from dpjax.plotting import check_figure_path

        check_figure_path(plot)
    if report is not None:
        from dpjax.report import check_report_path

        check_report_path(report)
    common: dict[str, Any] = {"claim": claim, "confidence": confidence, "key": seed}
    local: dict[str, Any] = {
        **common,
        "region": region,
        "bandwidth": number_or_text(bandwidth),
        "floor": floor,
        "kernel": kernel,
        "guarantee": guarantee,
        "num_claims": num_claims,
    }
    sizes = {"num_samples": num_samples, "num_confirm": num_confirm}
    with working("drawing and comparing outputs ..."):
        if samples is not None:
            _refuse_with_samples(given)
            result = _audit_files(samples, discrete, local)
        else:
            mechanism, pairs_given = mechanism_and_pairs(name, epsilon, param, function, pairs)
            if method == "histogram":
                result = audit_by_histogram(
                    mechanism,
                    pairs_given,
                    given,
                    output_interval=region,
                    num_outcomes=num_outcomes,
                    **common,
                )
            else:
                import dpjax

                result = dpjax.audit(
                    mechanism, pairs=pairs_given, num_outcomes=num_outcomes, **sizes, **local
                )
    if plot is not None and isinstance(result, AuditResult):
        result.plot(plot)
    if report is not None:
        write_report(result, report)
    print(result.to_json() if as_json else result)
    say_written(plot, report)
    raise typer.Exit(1 if result.verdict == VIOLATED else 0)


def _refuse_with_samples(given: dict[str, Any]) -> None:
    for option in ("epsilon", "param", "pairs", "num_outcomes", "num_samples", "num_confirm"):
        if option in given:
            raise ValueError(
                f"--{option.replace('_', '-')} is for mechanisms; --samples brings its outputs "
                "along and splits them itself."
            )


def _audit_files(
    samples: tuple[Path, Path], discrete: bool | None, local: dict[str, Any]
) -> AuditResult:
    import dpjax
    from dpjax.io import read_samples

    x, y = (read_samples(path) for path in samples)
    title = f"{samples[0].name} / {samples[1].name}"
    return dpjax.audit_samples(x, y, discrete=discrete, name=title, **local)
