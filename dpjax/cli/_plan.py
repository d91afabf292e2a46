"""`dpjax plan`: how many samples a histogram estimate needs, before anything is drawn."""

import json

import typer

from dpjax.inference import FiniteOutputs, Plan, plan_finite
from dpjax.inference import plan as plan_lipschitz


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("plan")(plan)


def plan(
    lipschitz: float = typer.Option(None, help="C: steepest slope of a density in the output."),
    width: float = typer.Option(None, help="W: length of the output interval; 1 if not given."),
    precision: float = typer.Option(None, help="Largest error of the estimate wanted."),
    confidence: float = typer.Option(None, help="Least probability of that precision."),
    num_samples: int = typer.Option(
        None, help="Draws per input; give it in place of precision or confidence."
    ),
    order: float = typer.Option(None, help="Order of Renyi privacy; LDP without it."),
    input_lipschitz: float = typer.Option(
        None, help="D: steepest slope of a density in the input; asks for all inputs."
    ),
    input_width: float = typer.Option(None, help="Length of the input interval, with D."),
    num_inputs: int = typer.Option(None, help="Inputs compared, where they are finitely many."),
    num_outputs: int = typer.Option(None, help="Outputs, where they are finitely many."),
    least_probability: float = typer.Option(
        None, help="Below the probability of each of those outputs."
    ),
    bound: str = typer.Option(
        "all-intervals", help="Union bound: all-intervals, or published as in the paper."
    ),
    rate: float = typer.Option(None, help="Draws per second; measured here if not given."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead."),
) -> None:
    """Plans a histogram estimate: intervals, samples, inputs and time.

    Give two of --precision, --confidence and --num-samples; the third is answered.
    """
    asked = {
        "precision": precision,
        "confidence": confidence,
        "num_samples": num_samples,
        "order": order,
        "bound": bound,
    }
    if num_outputs is None:
        if least_probability is not None:
            raise ValueError("--least-probability is for finite outputs: give --num-outputs too.")
        if lipschitz is None:
            raise ValueError(
                "one assumption must be given: --lipschitz for outputs in an interval, or "
                "--num-outputs and --least-probability for finitely many."
            )
        planned = plan_lipschitz(
            lipschitz=lipschitz,
            width=1.0 if width is None else width,
            input_lipschitz=input_lipschitz,
            input_width=input_width,
            num_inputs=num_inputs,
            **asked,
        )
    else:
        intervals = (lipschitz, width, input_lipschitz, input_width)
        if any(value is not None for value in intervals):
            raise ValueError(
                "--num-outputs is for finite outputs, which have no --lipschitz, --width, "
                "--input-lipschitz or --input-width."
            )
        planned = plan_finite(
            num_outputs=num_outputs,
            least_probability=least_probability,
            num_inputs=2 if num_inputs is None else num_inputs,
            **asked,
        )
    seconds = planned.seconds(_measured_rate() if rate is None else rate)
    if as_json:
        print(json.dumps({**planned.to_dict(), "seconds": seconds}))
    else:
        print(_text(planned, seconds))


def _measured_rate() -> float:
    # Only here does the command need a device.
    from dpjax.methods.histogram import draws_per_second

    return draws_per_second()


def _text(planned: Plan, seconds: float) -> str:
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
