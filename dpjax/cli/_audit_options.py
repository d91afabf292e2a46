"""The options of `dpjax audit`: what each is, and which sources and methods it is for."""

from pathlib import Path
from typing import Any

import typer

from dpjax.cli._options import QUIET, integer_or_text, number_or_text
from dpjax.cli._table import Row, Table, completing, listed, option, option_of

SOURCES = {
    "mechanism": "NAME",
    "function": "--function",
    "host": "--host",
    "command": "--command",
    "samples": "--samples",
}
"""Parameter that names what is audited -> how it is written."""

METHODS = {name: f"--method {name}" for name in ("events", "local", "histogram")}
"""Method -> how it is written."""

_FUNCTION = "MODULE:NAME|FILE.py:NAME"
_OWNERS = SOURCES, METHODS
_DRAWN = ("mechanism", "function", "host", "command")
_HOST = ("host", "command")


def _option(kind: Any, text: str, *flags: str, owners: tuple[str, ...] = (), **more: Any) -> Row:
    """A row, shown in the help beside the others of its method, or else of its source."""
    panel = None
    for known in _OWNERS:
        of = [known[owner] for owner in owners if owner in known]
        panel = f"Options of {listed(of)}" if of else panel
    return option(kind, text, *flags, owners=owners, rich_help_panel=panel, **more)


def mechanisms_like(incomplete: str) -> list[str]:
    """What a shell offers for a mechanism."""
    from dpjax.mechanisms import CATALOGUE

    return [name for name in CATALOGUE if name.startswith(incomplete)]


# Without a default of their own: what is not given is left to `dpjax.audit` and its objects.
TABLE: Table = {
    "mechanism": Row(
        str,
        typer.Argument(
            None,
            metavar="NAME",
            help="A built-in mechanism; `dpjax mechanisms` lists them.",
            autocompletion=mechanisms_like,
        ),
    ),
    "function": _option(str, "A JAX function (key, database) -> output.", metavar=_FUNCTION),
    "host": _option(
        str, "Any Python function (database, num_samples) -> outputs.", metavar=_FUNCTION
    ),
    "command": _option(
        str,
        "Any program that prints outputs, one a line, such as 'prog {database} {num_samples}'; "
        "without {num_samples} it is run once an output.",
    ),
    "samples": _option(
        tuple[str, str],
        "Recorded outputs at both databases (npy, npz, parquet, csv, tsv, txt, and these three "
        "packed, as in csv.gz): a file each, several with commas or a pattern, or - for standard "
        "input.",
        metavar="X Y",
    ),
    "method": _option(
        str,
        "events: a lower bound from an event's counts, at every sample size and for every kind of "
        "output; local: one from densities, asymptotic; histogram: an interval for densities that "
        "are assumed smooth.",
        default="events",
        autocompletion=completing(*METHODS),
    ),
    "claim": _option(
        str,
        "The level that is claimed, in the notion's unit; of a curve, and of epsilon, also a JSON "
        "file of its points [[epsilon, delta], ...] (trade-off: [[level, error], ...]).",
        metavar="NUMBER|FILE",
        parser=number_or_text,
    ),
    "notion": _option(
        str,
        "What is bounded: epsilon (if not given), gdp, total-variation, zcdp, renyi:ORDER, profile "
        "or trade-off.",
        autocompletion=completing(
            "epsilon", "gdp", "total-variation", "zcdp", "renyi:", "profile", "trade-off"
        ),
    ),
    "also": _option(
        bool,
        "Count a chain of sets too, with half of the error, so that the result answers for every "
        "notion.",
        "--also",
        owners=("events",),
    ),
    "distance": _option(
        int,
        "Records in which the databases of each pair differ; bounds are of one. Default: 1.",
    ),
    "confidence": _option(
        float, "Of the bounds of all --num-claims audits together. Default: 0.999."
    ),
    "num_claims": _option(
        int, "How many audits' bounds shall hold together with the confidence. Default: 1."
    ),
    "key": _option(int, "The same key gives the same result. Default: 0."),
    "as_json": _option(bool, "Print one JSON object instead.", "--json", default=False),
    "report": _option(Path, "Write a report (html or md)."),
    "quiet": QUIET,
    "epsilon": _option(float, "The mechanism's epsilon parameter.", owners=("mechanism",)),
    "param": _option(
        list[str],
        "Another parameter of the mechanism; repeatable.",
        metavar="NAME=VALUE",
        owners=("mechanism",),
    ),
    "num_outcomes": _option(int, "It returns outcomes 0..NUM_OUTCOMES - 1.", owners=("function",)),
    "pairs": _option(
        str,
        "Neighbouring databases: JSON such as '[[0, 1]]', or a file of such JSON, or npz.",
        metavar="JSON|FILE",
        owners=_DRAWN,
    ),
    "num_samples": _option(
        int,
        "n, draws a side and pair to search, 20000 if not given; for histograms, at each input, in "
        "place of --precision.",
        owners=_DRAWN,
    ),
    "one_by_one": _option(
        bool,
        "The function is (database) -> one output; an exception is then an outcome.",
        "--one-by-one",
        owners=("host",),
    ),
    "timeout": _option(
        float,
        "Seconds that one run of the program may take; 600 if not given.",
        owners=("command",),
    ),
    "workers": _option(int, "Processes that draw at the same time.", owners=_HOST),
    "time_limit": _option(
        float, "Seconds of drawing in all; fewer draws to keep it.", owners=_HOST
    ),
    "special": _option(
        str,
        "What NaN, infinities, empty answers and exceptions are: outcomes or error. Default: "
        "outcomes.",
        owners=_HOST,
        autocompletion=completing("outcomes", "error"),
    ),
    "column": _option(
        list[str],
        "The column of the outputs, by name or number from 0; twice if Y has another than X.",
        owners=("samples",),
    ),
    "search_fraction": _option(
        float, "Share of the outputs that searches. Default: 0.3.", owners=("samples",)
    ),
    "blocks": _option(
        int,
        "Length of blocks of outputs that depend on each other, as those of a chain do.",
        owners=("samples", "events"),
    ),
    "discrete": _option(
        bool,
        "What recorded outputs are; found out if not said.",
        "--discrete/--continuous",
        owners=("samples",),
    ),
    "delta": _option(float, "Of (epsilon, delta)-DP. Default: 0.", owners=("events",)),
    "bits": _option(
        str,
        "Look at the lowest set bit of each real too, or at its K lowest mantissa bits.",
        metavar="lowest|K",
        parser=integer_or_text,
        owners=("host", "command", "samples", "events"),
    ),
    "region": _option(
        tuple[float, float],
        "Where outputs are compared.",
        metavar="LOW HIGH",
        owners=("events", "local"),
    ),
    "plot": _option(Path, "Write a figure (png, svg, pdf).", owners=("events", "local")),
    "num_confirm": _option(
        int,
        "N, fresh draws a side to confirm. Default: 50000.",
        owners=(*_DRAWN, "events", "local"),
    ),
    "num_draws": _option(
        int,
        "Draws a side in all, to search and to confirm, in place of both numbers.",
        owners=(*_DRAWN, "events"),
    ),
    "bandwidth": _option(
        str,
        "silverman, scott, hoelder, cross-validated, or a number. Default: scott.",
        metavar="RULE|NUMBER",
        parser=number_or_text,
        owners=("local",),
    ),
    "floor": _option(float, "Densities below it are not believed.", owners=("local",)),
    "kernel": _option(
        str,
        "gaussian, laplace, epanechnikov or biweight. Default: gaussian.",
        owners=("local",),
        autocompletion=completing("gaussian", "laplace", "epanechnikov", "biweight"),
    ),
    "density": _option(
        str,
        "How densities are estimated: binned, direct or auto. Default: auto.",
        owners=("local",),
    ),
    "num_nodes": _option(
        int, "Lattice nodes of binned densities. Default: 512.", owners=("local",)
    ),
    "objective": _option(
        str,
        "What the search maximises: lower-bound, or loss as in the paper. Default: lower-bound.",
        owners=("local",),
    ),
    "undersmoothing": _option(
        float, "gamma of the bandwidth that confirms; follows if not given.", owners=("local",)
    ),
    "lipschitz": _option(
        float, "C: steepest slope of a density in the output, assumed.", owners=("histogram",)
    ),
    "least_probability": _option(
        float,
        "Below the probability of every output, assumed; for finitely many outputs.",
        owners=("histogram",),
    ),
    "precision": _option(float, "Largest error; 0.5 without --num-samples.", owners=("histogram",)),
    "order": _option(float, "Order of Renyi privacy; LDP without it.", owners=("histogram",)),
    "input_lipschitz": _option(
        float,
        "D: steepest slope of a density in the input, assumed; covers all inputs.",
        owners=("histogram",),
    ),
    "input_width": _option(
        float, "With D: the inputs are all of [0, INPUT_WIDTH].", owners=("histogram",)
    ),
    "output_interval": _option(
        tuple[float, float],
        "Holds all outputs, where the mechanism does not say so.",
        metavar="LOW HIGH",
        owners=("histogram",),
    ),
    "bound": _option(
        str,
        "Union bound: all-intervals, or published as in the paper. Default: all-intervals.",
        owners=("histogram",),
    ),
}
"""All of them."""


def source_of(written: dict[str, Any]) -> str:
    """The parameter that names what is audited.

    Args:
        written: Parameter -> value, of those that were written on the command line.

    Raises:
        ValueError: There is not exactly one, or an option is for other sources or methods.
    """
    chosen = [source for source in SOURCES if source in written]
    if len(chosen) != 1:
        raise ValueError(
            "name one thing to audit: a mechanism, --function, --host, --command or --samples."
        )
    method = written["method"]
    if method not in METHODS:
        from dpjax._errors import nearest

        raise ValueError(f"--method {method!r} is not known; {nearest(method, list(METHODS))}")
    for name in written:
        for known, ours in zip(_OWNERS, (chosen[0], method), strict=True):
            owners = [owner for owner in TABLE[name].owners if owner in known]
            if owners and ours not in owners:
                right = listed([known[owner] for owner in owners])
                raise ValueError(f"{option_of(name)} is for {right}, not for {known[ours]}.")
    return chosen[0]
