"""`dpjax audit`: a built-in mechanism, a function, a program, or files of outputs."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from dpjax.cli._audit_histogram import audit_by_histogram, check_method, write_report
from dpjax.cli._options import counting, number_or_text, say_written, working
from dpjax.cli._subject import host_and_pairs, mechanism_and_pairs
from dpjax.results._result import ASSUMPTION_REFUTED, VIOLATED, AuditResult

# Headings of `dpjax audit --help`.
_LOCAL = "Options of --method local"
_HISTOGRAM = "Options of --method histogram"
_HOST = "Options of --host and --command"
_SAMPLES = "Options of --samples"
_COUNTED = "Options of --host, --command and --samples"

_OF_HOST = ("one_by_one", "workers", "timeout", "time_limit", "special")
_OF_DENSITIES = ("region", "bandwidth", "floor", "kernel")


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
    host: str = typer.Option(
        None,
        metavar="MODULE:NAME",
        help="Any Python function (database, num_samples) -> outputs.",
    ),
    command: str = typer.Option(
        None,
        help="Any program that prints outputs, one a line, such as "
        "'prog {database} {num_samples}'; without {num_samples} it is run once an output.",
    ),
    samples: tuple[str, str] = typer.Option(
        None,
        metavar="X Y",
        help="Recorded outputs at both databases (npy, npz, csv, tsv, txt, parquet): a file each, "
        "or several with commas or a pattern.",
    ),
    column: list[str] = typer.Option(
        [],
        help="The column of the outputs, by name or number from 0; twice if Y has another than X.",
        rich_help_panel=_SAMPLES,
    ),
    search_fraction: float = typer.Option(
        0.3, help="Share of the outputs that searches.", rich_help_panel=_SAMPLES
    ),
    discrete: bool = typer.Option(
        None,
        "--discrete/--continuous",
        help="What recorded outputs are; found out if not said.",
        rich_help_panel=_SAMPLES,
    ),
    one_by_one: bool = typer.Option(
        False,
        "--one-by-one",
        help="The function is (database) -> one output; an exception is then an outcome.",
        rich_help_panel=_HOST,
    ),
    workers: int = typer.Option(
        None, help="Processes that draw at the same time.", rich_help_panel=_HOST
    ),
    timeout: float = typer.Option(
        None, help="Seconds that one run of the program may take.", rich_help_panel=_HOST
    ),
    time_limit: float = typer.Option(
        None, help="Seconds of drawing in all; fewer draws to keep it.", rich_help_panel=_HOST
    ),
    bits: str = typer.Option(
        None,
        metavar="lowest|K",
        help="Look at the lowest set bit of each real too, or at its K lowest mantissa bits.",
        rich_help_panel=_COUNTED,
    ),
    special: str = typer.Option(
        "outcomes",
        help="What NaN, infinities, empty answers and exceptions are: outcomes or error.",
        rich_help_panel=_HOST,
    ),
    delta: float = typer.Option(
        0.0, help="Of (epsilon, delta)-DP, where an event is counted (--guarantee exact)."
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
        "every kind of output, and always with --host, --command and --samples if no option of "
        "densities is given.",
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
        "all-intervals",
        help="Union bound: all-intervals, or published as in the paper.",
        rich_help_panel=_HISTOGRAM,
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead."),
    plot: Path = typer.Option(None, help="Write a figure (png, svg, pdf).", rich_help_panel=_LOCAL),
    report: Path = typer.Option(None, help="Write a report (html or md)."),
) -> None:
    """Audits a mechanism: a confidence bound on its epsilon, with a witness.

    Exits with 0 if the claim is not refuted or none was given, 1 if it is violated, 2 on bad input
    (an assumption that the counts refute and a file that cannot be written among it), 3 on an error
    of dpjax itself.
    """
    given = check_method(context, method)
    if sum(source is not None for source in (name, function, host, command, samples)) != 1:
        raise ValueError(
            "name one thing to audit: a mechanism, --function, --host, --command or --samples."
        )
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
    _refuse_foreign(given, samples is not None, host is not None or command is not None, method)
    if host is not None or command is not None:
        import dpjax

        with counting("outputs drawn") as progress:
            options = {"progress": progress} | _host_options(given)
            mechanism, pairs_given = host_and_pairs(host, command, pairs, options)
            result = dpjax.audit(
                mechanism,
                pairs=pairs_given,
                delta=delta,
                num_claims=num_claims,
                **sizes,
                **common,
            )
    elif samples is not None:
        in_memory = given.get("guarantee") == "normal" or any(o in given for o in _OF_DENSITIES)
        with working("reading and comparing outputs ..."):
            result = _audit_files(
                samples,
                column,
                in_memory,
                local if in_memory else {**common, "num_claims": num_claims},
                discrete=discrete,
                search_fraction=search_fraction,
                delta=delta,
                **_bits(given),
            )
    else:
        with working("drawing and comparing outputs ..."):
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
                    mechanism,
                    pairs=pairs_given,
                    num_outcomes=num_outcomes,
                    delta=delta,
                    **sizes,
                    **local,
                )
    print(result.to_json() if as_json else result)
    written = _write(result, plot, report)
    unsure = not written or result.verdict == ASSUMPTION_REFUTED
    raise typer.Exit(1 if result.verdict == VIOLATED else 2 if unsure else 0)


def _write(result: Any, plot: Path | None, report: Path | None) -> bool:
    """Writes figure and report, and returns whether all that was asked for could be.

    The result is printed by then: an audit of hours must not be lost to a folder.
    """
    written = True
    for path, write in ((plot, lambda r, p: r.plot(p)), (report, write_report)):
        if path is None:
            continue
        try:
            write(result, path)
        except (ValueError, OSError) as error:
            print(f"error: {path} was not written: {error}", file=sys.stderr)
            written = False
        else:
            say_written(path)
    return written


def _refuse_foreign(given: dict[str, Any], samples: bool, host: bool, method: str) -> None:
    """Options that what is audited does not have."""
    foreign = {} if samples else {"column": "--samples", "search_fraction": "--samples"}
    if not samples:
        foreign["discrete"] = "--samples"
    if not host:
        foreign |= {option: "--host and --command" for option in _OF_HOST}
    if not host and not samples:
        foreign["bits"] = "--host, --command and --samples"
    if host:
        foreign |= {option: "density estimates" for option in (*_OF_DENSITIES, "num_outcomes")}
    if host or samples:
        foreign |= {option: "built-in mechanisms" for option in ("epsilon", "param")}
    if samples:
        foreign |= {
            option: "mechanisms (--samples brings its outputs along and splits them itself)"
            for option in ("pairs", "num_outcomes", "num_samples", "num_confirm")
        }
    for option, owner in foreign.items():
        if option in given:
            raise ValueError(f"--{option.replace('_', '-')} is for {owner}.")
    if host and given.get("guarantee") == "normal":
        raise ValueError("--guarantee must be exact for outputs of the host, but was normal.")
    if method != "local" and (host or samples):
        raise ValueError(f"--method {method} is for JAX mechanisms, not for outputs of the host.")


def _host_options(given: dict[str, Any]) -> dict[str, Any]:
    options = {name: given[name] for name in _OF_HOST if name in given}
    if options.pop("one_by_one", False):
        options["batched"] = False
    return options | _bits(given)


def _bits(given: dict[str, Any]) -> dict[str, Any]:
    if "bits" not in given:
        return {}
    text = given["bits"]
    return {"bits": int(text) if text.isdecimal() else text}


def _audit_files(
    samples: tuple[str, str],
    columns: Sequence[str],
    in_memory: bool,
    settings: dict[str, Any],
    **options: Any,
) -> AuditResult:
    """Files are counted in chunks; the local approach's densities and regions need arrays."""
    import dpjax
    from dpjax.sources._shared_draws import refuse_same_origin
    from dpjax.sources.readers import read_samples

    if len(columns) > 2:
        raise ValueError(
            f"--column must be given at most twice, for X and for Y, but was {len(columns)} times."
        )
    column_of_each = [columns[0], columns[-1]] if columns else [None, None]
    places = list(zip(samples, column_of_each, strict=True))
    x, y = (dpjax.Recording(*place) for place in places)
    refuse_same_origin(x, y)
    names = (
        [f"{x.name}:{x.column}", f"{y.name}:{y.column}"] if len(columns) > 1 else [x.name, y.name]
    )
    title = " / ".join(names)
    if in_memory:
        x, y = (read_samples(*place) for place in places)
    return dpjax.audit_samples(x, y, name=title, **options, **settings)
