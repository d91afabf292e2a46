"""`dpjax plan`: the number of draws that an audit or a histogram estimate needs."""

import json
from typing import TYPE_CHECKING

from dpjax.cli._options import AS_JSON
from dpjax.cli._table import Given, Table, Value, chosen, option, option_of

if TYPE_CHECKING:
    from dpjax.inference import InputInterval, Plan

_INTERVAL = ("lipschitz", "width")
_INPUTS = ("input_lipschitz", "input_width")
_OTHERS = ("precision", "num_samples", "order", "num_inputs", "num_outputs", "least_probability")
_COMMON = ("precision", "confidence", "num_samples", "order", "bound")

_REFUTED = "Options of a plan for an audit"
_CLAIM = ("epsilon", "probability", "delta", "power")

TABLE: Table = {
    "lipschitz": option(float, "C: Lipschitz constant of the output densities."),
    "width": option(float, "W: length of the output interval. Default: 1."),
    "precision": option(float, "Maximum error of the estimate."),
    "confidence": option(
        float,
        "Minimum probability that the error is at most the precision; or confidence of the audit, "
        "with --claim.",
    ),
    "num_samples": option(
        int, "Number of draws per input; replaces either the precision or the confidence."
    ),
    "order": option(float, "Order of Renyi privacy. Without an order, the plan is for LDP."),
    "input_lipschitz": option(
        float,
        "D: Lipschitz constant of densities, as functions of the input. The plan then covers all "
        "inputs.",
    ),
    "input_width": option(float, "Length of the input interval, with --input-lipschitz."),
    "num_inputs": option(int, "Number of inputs to compare, if there are finitely many."),
    "num_outputs": option(int, "Number of outputs, if there are finitely many."),
    "least_probability": option(
        float, "Lower bound on the probability of each output, with --num-outputs."
    ),
    "bound": option(
        str,
        "Counts that the union bound covers: all-intervals, or published (only the counts "
        "in the paper).",
        default="all-intervals",
        choices=("all-intervals", "published"),
    ),
    "claim": option(
        float,
        "Claimed epsilon. The plan is then the number of draws with which `dpjax audit` probably "
        "refutes this claim.",
    ),
    "epsilon": option(float, "True epsilon, above the claim."),
    "probability": option(
        float,
        "Probability of the best event on the side where it is less likely. Default: 0.1.",
    ),
    "delta": option(float, "Delta of the claim and of the true privacy level. Default: 0."),
    "power": option(
        float,
        "Probability that the audit refutes the claim if its search finds the best event. "
        "Default: 0.9.",
    ),
    "draws_per_second": option(
        float, "Draws per second. Default: measured on this machine.", "--rate"
    ),
    "as_json": AS_JSON,
}
TABLE |= {name: TABLE[name]._replace(panel=_REFUTED) for name in ("claim", *_CLAIM)}


EXAMPLES = (
    "dpjax plan --lipschitz 0.64 --width 1 --precision 0.1 --confidence 0.9",
    "dpjax plan --lipschitz 0.64 --num-samples 1000000 --confidence 0.9 --order 2",
    "dpjax plan --claim 1 --epsilon 1.2",
)


def command(**given: Value) -> None:
    """Plan an audit or a histogram estimate: number of draws, intervals, inputs and time.

    For an audit by events, pass --claim and --epsilon. For a histogram estimate, pass two of
    --precision, --confidence and --num-samples to compute the third. For finitely many outputs,
    pass --num-outputs and --least-probability instead of --lipschitz and --width.
    """
    if given["claim"] is not None or chosen(given, _CLAIM):
        _plan_refutation(given)
        return
    planned = _planned(given)
    rate = given["draws_per_second"]
    if rate is None:
        # Import jax only in this branch, because the rest of the command does not need jax.
        from dpjax.methods.histogram import draws_per_second

        rate = draws_per_second()
    seconds = planned.seconds(rate)
    if given["as_json"]:
        print(json.dumps({**planned.to_dict(), "seconds": seconds}))
    else:
        print(_text(planned, seconds))


def _plan_refutation(given: Given) -> None:
    """Print the number of draws with which an audit probably refutes a claim."""
    from dpjax.methods import plan_draws

    others = [name for name in (*_INTERVAL, *_INPUTS, *_OTHERS) if given[name] is not None]
    if others:
        raise ValueError(
            f"{option_of(others[0])} is for histogram estimates, and cannot be combined "
            "with --claim, --epsilon, --probability, --delta or --power."
        )
    for name in ("claim", "epsilon"):
        if given[name] is None:
            raise ValueError(f"--{name} must be given: a plan for an audit needs both epsilons.")
    options = chosen(given, ("claim", *_CLAIM, "confidence"))
    number = plan_draws(**options)
    if given["as_json"]:
        print(json.dumps({**options, "num_draws": number}))
    else:
        print(f"draws per side  {number:,} (--num-draws {number})")


def _planned(given: Given) -> "Plan":
    from dpjax.inference import plan as plan_intervals
    from dpjax.inference import plan_finite

    asked = {name: given[name] for name in _COMMON}
    intervals = chosen(given, _INTERVAL)
    number = chosen(given, ["num_inputs"])
    if given["num_outputs"] is None:
        if given["least_probability"] is not None:
            raise ValueError(
                "--least-probability applies only to finitely many possible outputs: also pass "
                "their number as --num-outputs."
            )
        if given["lipschitz"] is None:
            raise ValueError(
                "one assumption must be given: --lipschitz for outputs in an interval, or "
                "--num-outputs and --least-probability for finitely many outputs."
            )
        return plan_intervals(**intervals, inputs=_inputs(given), **asked)
    if intervals or chosen(given, _INPUTS):
        raise ValueError(
            "--num-outputs is for finitely many outputs, and cannot be combined with "
            "--lipschitz, --width, --input-lipschitz or --input-width."
        )
    finite = {name: given[name] for name in ("num_outputs", "least_probability")}
    return plan_finite(**finite, **number, **asked)


def _inputs(given: Given) -> "int | InputInterval":
    """Return the number of inputs, or the interval that contains all inputs."""
    from dpjax.core import validate
    from dpjax.inference import InputInterval

    lipschitz, width, number = (given[name] for name in (*_INPUTS, "num_inputs"))
    if (lipschitz is None) != (width is None):
        raise ValueError(
            "--input-lipschitz and --input-width must be given together or not at all, but only "
            f"--input-{'width' if lipschitz is None else 'lipschitz'} was given."
        )
    if lipschitz is None:
        number = 2 if number is None else number
        validate.positive_int(at_least=2, num_inputs=number)
        return number
    if number is not None:
        raise ValueError(
            f"--num-inputs must be left out with --input-lipschitz, but was {number!r}."
        )
    return InputInterval(width, lipschitz)


def _text(planned: "Plan", seconds: float) -> str:
    *rows, last = planned.rows()
    rows = [*rows, ("time here, about", _duration(seconds)), last]
    pad = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{pad}}  {value}" for name, value in rows)


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
