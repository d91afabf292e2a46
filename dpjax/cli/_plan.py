"""`dpjax plan`: how many samples a histogram estimate needs, before anything is drawn."""

import json
from typing import Any

import typer

from dpjax.cli._table import Table, add_command, completing, option

_INTERVAL = ("lipschitz", "width")
_INPUTS = ("input_lipschitz", "input_width")
_COMMON = ("precision", "confidence", "num_samples", "order", "bound")

TABLE: Table = {
    "lipschitz": option(float, "C: steepest slope of a density in the output."),
    "width": option(float, "W: length of the output interval; 1 if not given."),
    "precision": option(float, "Largest error of the estimate wanted."),
    "confidence": option(float, "Least probability of that precision."),
    "num_samples": option(int, "Draws per input; give it in place of precision or confidence."),
    "order": option(float, "Order of Renyi privacy; LDP without it."),
    "input_lipschitz": option(
        float, "D: steepest slope of a density in the input; asks for all inputs."
    ),
    "input_width": option(float, "Length of the input interval, with D."),
    "num_inputs": option(int, "Inputs compared, where they are finitely many."),
    "num_outputs": option(int, "Outputs, where they are finitely many."),
    "least_probability": option(float, "Below the probability of each of those outputs."),
    "bound": option(
        str,
        "Union bound: all-intervals, or published as in the paper.",
        default="all-intervals",
        autocompletion=completing("all-intervals", "published"),
    ),
    "rate": option(float, "Draws per second; measured here if not given."),
    "as_json": option(bool, "Print one JSON object instead.", "--json", default=False),
}
"""The options."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(
        app,
        "plan",
        plan,
        TABLE,
        "dpjax plan --lipschitz 0.64 --width 1 --precision 0.1 --confidence 0.9",
        "dpjax plan --num-outputs 10 --least-probability 0.01 --num-samples 100000 "
        "--confidence 0.95",
    )


def plan(**given: Any) -> None:
    """Plans a histogram estimate: intervals, samples, inputs and time.

    Give two of --precision, --confidence and --num-samples; the third is answered.
    """
    planned = _planned(given)
    seconds = planned.seconds(_measured_rate() if given["rate"] is None else given["rate"])
    if given["as_json"]:
        print(json.dumps({**planned.to_dict(), "seconds": seconds}))
    else:
        print(_text(planned, seconds))


def _planned(given: dict[str, Any]) -> Any:
    from dpjax.inference import plan as plan_intervals
    from dpjax.inference import plan_finite

    asked = {name: given[name] for name in _COMMON}
    intervals = {name: given[name] for name in _INTERVAL if given[name] is not None}
    number = {} if given["num_inputs"] is None else {"num_inputs": given["num_inputs"]}
    if given["num_outputs"] is None:
        if given["least_probability"] is not None:
            raise ValueError("--least-probability is for finite outputs: give --num-outputs too.")
        if given["lipschitz"] is None:
            raise ValueError(
                "one assumption must be given: --lipschitz for outputs in an interval, or "
                "--num-outputs and --least-probability for finitely many."
            )
        return plan_intervals(**intervals, inputs=_inputs(given), **asked)
    if intervals or any(given[name] is not None for name in _INPUTS):
        raise ValueError(
            "--num-outputs is for finite outputs, which have no --lipschitz, --width, "
            "--input-lipschitz or --input-width."
        )
    finite = {name: given[name] for name in ("num_outputs", "least_probability")}
    return plan_finite(**finite, **number, **asked)


def _inputs(given: dict[str, Any]) -> Any:
    """How many inputs, or the interval of which all are."""
    from dpjax.core import validate
    from dpjax.inference import InputInterval

    lipschitz, width, number = (given[name] for name in (*_INPUTS, "num_inputs"))
    if (lipschitz is None) != (width is None):
        raise ValueError(
            "--input-lipschitz and --input-width are given together or not at all, but were "
            f"{lipschitz!r} and {width!r}."
        )
    if lipschitz is None:
        number = 2 if number is None else number
        validate.positive_int(at_least=2, num_inputs=number)
        return number
    if number is not None:
        raise ValueError(f"--num-inputs follows from --input-lipschitz, but was {number!r}.")
    return InputInterval(width, lipschitz)


def _measured_rate() -> float:
    # Only here does the command need a device.
    from dpjax.methods.histogram import draws_per_second

    return draws_per_second()


def _text(planned: Any, seconds: float) -> str:
    from dpjax.inference import FiniteOutputs

    what = "LDP epsilon" if planned.order is None else f"Renyi level of order {planned.order:g}"
    finite = isinstance(planned.assumption, FiniteOutputs)
    rows = [
        ("estimate of", what),
        ("precision", f"{planned.precision:.6g}"),
        ("confidence", f"{planned.confidence:.6g}"),
        ("outputs" if finite else "intervals", str(planned.num_intervals)),
        ("inputs", str(planned.num_inputs)),
        ("samples per input", str(planned.num_samples)),
        ("samples in all", str(planned.total_samples)),
        ("time here, about", _duration(seconds)),
        ("union bound", planned.bound),
    ]
    pad = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{pad}}  {value}" for name, value in rows)


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
