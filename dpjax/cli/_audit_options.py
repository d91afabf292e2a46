"""The options of `dpjax audit`: what each is, and which sources and methods it is for."""

from pathlib import Path
from typing import Any

import typer

from dpjax.cli._method_options import (
    DRAWN,
    FUNCTION,
    HOST,
    METHOD_TABLE,
    METHODS,
    OWNERS,
    SOURCES,
    owned_option,
)
from dpjax.cli._options import QUIET, number_or_text
from dpjax.cli._table import Row, Table, completing, listed, option_of


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
    "function": owned_option(str, "A JAX function (key, database) -> output.", metavar=FUNCTION),
    "host": owned_option(
        str, "Any Python function (database, num_samples) -> outputs.", metavar=FUNCTION
    ),
    "command": owned_option(
        str,
        "Any program that prints outputs, one a line, such as 'prog {database} {num_samples}'; "
        "without {num_samples} it is run once an output.",
    ),
    "samples": owned_option(
        tuple[str, str],
        "Recorded outputs at both databases (npy, npz, parquet, csv, tsv, txt, and these three "
        "packed, as in csv.gz): a file each, several with commas or a pattern, or - for standard "
        "input.",
        metavar="X Y",
    ),
    "method": owned_option(
        str,
        "events: a lower bound from an event's counts, at every sample size and for every kind of "
        "output; local: one from densities, asymptotic; histogram: an interval for densities that "
        "are assumed smooth.",
        default="events",
        autocompletion=completing(*METHODS),
    ),
    "claim": owned_option(
        str,
        "The level that is claimed, in the notion's unit; of a curve, and of epsilon, also a JSON "
        "file of its points [[epsilon, delta], ...] (trade-off: [[level, error], ...]).",
        metavar="NUMBER|FILE",
        parser=number_or_text,
    ),
    "notion": owned_option(
        str,
        "What is bounded: epsilon (if not given), gdp, total-variation, zcdp, renyi:ORDER, profile "
        "or trade-off.",
        autocompletion=completing(
            "epsilon", "gdp", "total-variation", "zcdp", "renyi:", "profile", "trade-off"
        ),
    ),
    "also": owned_option(
        bool,
        "Count a chain of sets too, with half of the error, so that the result answers for every "
        "notion.",
        "--also",
        owners=("events",),
    ),
    "distance": owned_option(
        int,
        "Records in which the databases of each pair differ; bounds are of one. Default: 1.",
    ),
    "confidence": owned_option(
        float, "Of the bounds of all --num-claims audits together. Default: 0.999."
    ),
    "num_claims": owned_option(
        int, "How many audits' bounds shall hold together with the confidence. Default: 1."
    ),
    "key": owned_option(int, "The same key gives the same result. Default: 0."),
    "as_json": owned_option(bool, "Print one JSON object instead.", "--json", default=False),
    "report": owned_option(Path, "Write a report (html or md)."),
    "quiet": QUIET,
    "epsilon": owned_option(float, "The mechanism's epsilon parameter.", owners=("mechanism",)),
    "param": owned_option(
        list[str],
        "Another parameter of the mechanism; repeatable.",
        metavar="NAME=VALUE",
        owners=("mechanism",),
    ),
    "num_outcomes": owned_option(
        int, "It returns outcomes 0..NUM_OUTCOMES - 1.", owners=("function",)
    ),
    "pairs": owned_option(
        str,
        "Neighbouring databases: JSON such as '[[0, 1]]', or a file of such JSON, or npz.",
        metavar="JSON|FILE",
        owners=DRAWN,
    ),
    "num_samples": owned_option(
        int,
        "n, draws a side and pair to search, 20000 if not given; for histograms, at each input, in "
        "place of --precision.",
        owners=DRAWN,
    ),
    "one_by_one": owned_option(
        bool,
        "The function is (database) -> one output; an exception is then an outcome.",
        "--one-by-one",
        owners=("host",),
    ),
    "timeout": owned_option(
        float,
        "Seconds that one run of the program may take; 600 if not given.",
        owners=("command",),
    ),
    "workers": owned_option(int, "Processes that draw at the same time.", owners=HOST),
    "time_limit": owned_option(
        float, "Seconds of drawing in all; fewer draws to keep it.", owners=HOST
    ),
    "special": owned_option(
        str,
        "What NaN, infinities, empty answers and exceptions are: outcomes or error. Default: "
        "outcomes.",
        owners=HOST,
        autocompletion=completing("outcomes", "error"),
    ),
    "column": owned_option(
        list[str],
        "The column of the outputs, by name or number from 0; twice if Y has another than X.",
        owners=("samples",),
    ),
    "search_fraction": owned_option(
        float, "Share of the outputs that searches. Default: 0.3.", owners=("samples",)
    ),
    "blocks": owned_option(
        int,
        "Length of blocks of outputs that depend on each other, as those of a chain do.",
        owners=("samples", "events"),
    ),
    "discrete": owned_option(
        bool,
        "What recorded outputs are; found out if not said.",
        "--discrete/--continuous",
        owners=("samples",),
    ),
    **METHOD_TABLE,
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
        from dpjax.core.errors import nearest

        raise ValueError(f"--method {method!r} is not known; {nearest(method, list(METHODS))}")
    for name in written:
        for known, ours in zip(OWNERS, (chosen[0], method), strict=True):
            owners = [owner for owner in TABLE[name].owners if owner in known]
            if owners and ours not in owners:
                right = listed([known[owner] for owner in owners])
                raise ValueError(f"{option_of(name)} is for {right}, not for {known[ours]}.")
    return chosen[0]
