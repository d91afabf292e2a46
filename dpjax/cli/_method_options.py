"""The options of the methods of `dpjax audit`, and how an option says what it is for."""

from pathlib import Path
from typing import Any

from dpjax.cli._options import integer_or_text, number_or_text
from dpjax.cli._table import Row, Table, completing, listed, option

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

FUNCTION = "MODULE:NAME|FILE.py:NAME"
OWNERS = SOURCES, METHODS
DRAWN = ("mechanism", "function", "host", "command")
HOST = ("host", "command")


def owned_option(
    kind: Any, text: str, *flags: str, owners: tuple[str, ...] = (), **more: Any
) -> Row:
    """A row, shown in the help beside the others of its method, or else of its source."""
    panel = None
    for known in OWNERS:
        of = [known[owner] for owner in owners if owner in known]
        panel = f"Options of {listed(of)}" if of else panel
    return option(kind, text, *flags, owners=owners, rich_help_panel=panel, **more)


METHOD_TABLE: Table = {
    "delta": owned_option(float, "Of (epsilon, delta)-DP. Default: 0.", owners=("events",)),
    "bits": owned_option(
        str,
        "Look at the lowest set bit of each real too, or at its K lowest mantissa bits.",
        metavar="lowest|K",
        parser=integer_or_text,
        owners=("host", "command", "samples", "events"),
    ),
    "region": owned_option(
        tuple[float, float],
        "Where outputs are compared.",
        metavar="LOW HIGH",
        owners=("events", "local"),
    ),
    "plot": owned_option(Path, "Write a figure (png, svg, pdf).", owners=("events", "local")),
    "num_confirm": owned_option(
        int,
        "N, fresh draws a side to confirm. Default: 50000.",
        owners=(*DRAWN, "events", "local"),
    ),
    "num_draws": owned_option(
        int,
        "Draws a side in all, to search and to confirm, in place of both numbers.",
        owners=(*DRAWN, "events"),
    ),
    "bandwidth": owned_option(
        str,
        "silverman, scott, hoelder, cross-validated, or a number. Default: scott.",
        metavar="RULE|NUMBER",
        parser=number_or_text,
        owners=("local",),
    ),
    "floor": owned_option(float, "Densities below it are not believed.", owners=("local",)),
    "kernel": owned_option(
        str,
        "gaussian, laplace, epanechnikov or biweight. Default: gaussian.",
        owners=("local",),
        autocompletion=completing("gaussian", "laplace", "epanechnikov", "biweight"),
    ),
    "density": owned_option(
        str,
        "How densities are estimated: binned, direct or auto. Default: auto.",
        owners=("local",),
    ),
    "num_nodes": owned_option(
        int, "Lattice nodes of binned densities. Default: 512.", owners=("local",)
    ),
    "objective": owned_option(
        str,
        "What the search maximises: lower-bound, or loss as in the paper. Default: lower-bound.",
        owners=("local",),
    ),
    "undersmoothing": owned_option(
        float, "gamma of the bandwidth that confirms; follows if not given.", owners=("local",)
    ),
    "lipschitz": owned_option(
        float, "C: steepest slope of a density in the output, assumed.", owners=("histogram",)
    ),
    "least_probability": owned_option(
        float,
        "Below the probability of every output, assumed; for finitely many outputs.",
        owners=("histogram",),
    ),
    "precision": owned_option(
        float, "Largest error; 0.5 without --num-samples.", owners=("histogram",)
    ),
    "order": owned_option(float, "Order of Renyi privacy; LDP without it.", owners=("histogram",)),
    "input_lipschitz": owned_option(
        float,
        "D: steepest slope of a density in the input, assumed; covers all inputs.",
        owners=("histogram",),
    ),
    "input_width": owned_option(
        float, "With D: the inputs are all of [0, INPUT_WIDTH].", owners=("histogram",)
    ),
    "output_interval": owned_option(
        tuple[float, float],
        "Holds all outputs, where the mechanism does not say so.",
        metavar="LOW HIGH",
        owners=("histogram",),
    ),
    "bound": owned_option(
        str,
        "Union bound: all-intervals, or published as in the paper. Default: all-intervals.",
        owners=("histogram",),
    ),
}
"""Those that are for some methods, or for some methods and sources."""
