"""The command `plan`: how many samples a histogram estimate needs, before anything is drawn."""

import json
from typing import Annotated

import typer

from dpjax.inference import FiniteOutputs, Plan, plan, plan_finite


def register(app: typer.Typer) -> None:
    """Adds the command `plan` to an application."""

    @app.command("plan")
    def command(
        lipschitz: Annotated[
            float | None, typer.Option(help="C: steepest slope of a density in the output.")
        ] = None,
        width: Annotated[float, typer.Option(help="W: length of the output interval.")] = 1.0,
        precision: Annotated[
            float | None, typer.Option(help="Largest error of the estimate wanted.")
        ] = None,
        confidence: Annotated[
            float | None, typer.Option(help="Least probability of that precision.")
        ] = None,
        samples: Annotated[
            int | None,
            typer.Option(help="Draws per input; give it in place of precision or confidence."),
        ] = None,
        order: Annotated[
            float | None, typer.Option(help="Order of Renyi privacy; LDP without it.")
        ] = None,
        input_lipschitz: Annotated[
            float | None, typer.Option(help="D: steepest slope of a density in the input.")
        ] = None,
        input_width: Annotated[
            float | None, typer.Option(help="Length of the input interval; asks for all inputs.")
        ] = None,
        inputs: Annotated[
            int | None,
            typer.Option(help="Number of inputs compared, where they are finitely many."),
        ] = None,
        outputs: Annotated[
            int | None, typer.Option(help="Number of outputs, where they are finitely many.")
        ] = None,
        least_probability: Annotated[
            float | None, typer.Option(help="Below the probability of each of those outputs.")
        ] = None,
        bound: Annotated[
            str, typer.Option(help="Union bound: published or all-intervals.")
        ] = "published",
        rate: Annotated[
            float | None, typer.Option(help="Draws per second; measured here if not given.")
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Machine-readable answer.")] = False,
    ) -> None:
        """Plan a histogram estimate: intervals, samples, inputs and time.

        Give two of --precision, --confidence and --samples; the third is answered.
        """
        try:
            if outputs is None:
                planned = plan(
                    lipschitz=lipschitz,  # type: ignore[arg-type]
                    width=width,
                    precision=precision,
                    confidence=confidence,
                    num_samples=samples,
                    order=order,
                    input_lipschitz=input_lipschitz,
                    input_width=input_width,
                    num_inputs=inputs,
                    bound=bound,
                )
            else:
                planned = plan_finite(
                    num_outputs=outputs,
                    least_probability=least_probability,  # type: ignore[arg-type]
                    precision=precision,
                    confidence=confidence,
                    num_samples=samples,
                    order=order,
                    num_inputs=inputs or 2,
                    bound=bound,
                )
            seconds = planned.seconds(_measured_rate() if rate is None else rate)
        except (TypeError, ValueError) as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from error
        if as_json:
            typer.echo(json.dumps({**planned.to_dict(), "seconds": seconds}))
        else:
            typer.echo(_text(planned, seconds))


def _measured_rate() -> float:
    # Only here does the command need a device.
    from dpjax.estimators import draws_per_second

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
        ("time, about", _duration(seconds)),
        ("union bound", planned.bound),
    ]
    pad = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{pad}}  {value}" for name, value in rows)


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
