"""The histogram method, whose estimates have a precision that is fixed before any draw is made.

A histogram audit computes a two-sided interval for the level. Under an assumption, the interval is
valid at every sample size. The assumption is one of the following: all densities are Lipschitz
continuous, or there are finitely many outputs and their probabilities have a known lower bound. The
result states the assumption and, if possible, the result of a test of the assumption.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Algorithms 1-4, Theorem 3.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpjax.core import validate
from dpjax.core.options import option
from dpjax.core.types import FiniteSpace, JsonObject, OutputSpace, RealSpace
from dpjax.core.wording import EVENTS, BadValue, Sentence, confidence_text, term
from dpjax.databases import Pairs
from dpjax.inference import InputInterval, Plan, check_order, plan, plan_finite
from dpjax.mechanisms import Mechanism
from dpjax.methods.histogram._estimate import midpoints
from dpjax.methods.histogram._findings import finding_of, rows_of
from dpjax.methods.histogram._levels import compared, counts_of_runs
from dpjax.notions import Terms
from dpjax.results import Finding, Findings, Row
from dpjax.sources import ONE_RUN, Source
from dpjax.sources._subject import mechanism_of


class NeedsMechanism:
    """A method that needs a JAX mechanism because it chooses the inputs and the number of draws."""

    def accepts(self, source: Source) -> str | None:
        """Return None if the method supports a source; otherwise, return a message."""
        if source.sampler is not None:
            return None
        return Sentence(
            f"{term('Histogram', '--method histogram')} audits only JAX mechanisms because it "
            f"chooses the number of draws, but {source.name} is not a JAX mechanism: use {EVENTS}."
        )


@dataclass(frozen=True)
class Histogram(NeedsMechanism):
    """Interval for the LDP epsilon or for a Renyi level. The interval is valid under an assumption.

    Attributes:
        lipschitz: C, the assumed Lipschitz constant of every density as a function of the output.
            The option is used if outputs are in an interval.
        least_probability: Assumed lower bound on the probability of every output. The option is
            used if there are finitely many outputs.
        precision: Largest error of the estimate, in nats. If both `precision` and `num_samples` are
            None, the precision is 0.5.
        num_samples: Number of draws for each input. If `precision` is None, the precision is
            computed from `num_samples`.
        inputs: Array [k, ...], inputs to compare, each with every other input, as local privacy
            requires. If `inputs` is None, the databases of each pair are compared.
        input_interval: Ends (low, high) of an interval of inputs. The audit divides the interval
            into equal subintervals and compares their midpoints.
        input_lipschitz: D, the assumed Lipschitz constant of every density as a function of the
            input. `input_lipschitz` is required if `input_interval` is passed.
        output_interval: Ends (low, high) of the output interval, or None if the mechanism specifies
            them.
        order: alpha of a Renyi level, or None for LDP.
        bound: Name of the union bound, "all-intervals" or "published"; see `dpjax.inference.plan`.

    References:
        Gorla et al., Algorithms 1-4, Theorems 2, 4 and 6.
    """

    lipschitz: float | None = option(
        "C: assumed Lipschitz constant of the output densities.", default=None
    )
    least_probability: float | None = option(
        "Assumed lower bound on the probability of every output, for finitely many outputs.",
        default=None,
    )
    precision: float | None = option(
        "Maximum error of the estimate. Default: 0.5, unless --num-samples is given.", default=None
    )
    num_samples: int | None = option(
        "Number of draws for each input, in place of --precision.", default=None
    )
    inputs: object = None
    input_interval: tuple[float, float] | None = option(
        "Compare all inputs in [0, INPUT_WIDTH]; requires --input-lipschitz.",
        default=None,
        kind="width",
        metavar="INPUT_WIDTH",
        flag="--input-width",
    )
    input_lipschitz: float | None = option(
        "D: assumed Lipschitz constant of densities, as functions of the input.", default=None
    )
    output_interval: tuple[float, float] | None = option(
        "Interval that contains all outputs, if the mechanism does not specify one.",
        default=None,
        metavar="LOW HIGH",
    )
    order: float | None = option("Order of Renyi privacy. Default: none, for LDP.", default=None)
    bound: str = option(
        "Counts that the union bound covers: all-intervals, or published, as in the paper.",
        default="all-intervals",
        choices=("all-intervals", "published"),
    )
    name: ClassVar[str] = "histogram"
    bounded: ClassVar[bool] = True

    def __post_init__(self):
        # A sweep constructs its methods before its store, so no store has options that must fail.
        for name in ("lipschitz", "least_probability", "precision", "input_lipschitz"):
            validate.positive(**{name: getattr(self, name)})
        if self.num_samples is not None:
            validate.positive_int(num_samples=self.num_samples)
        if self.order is not None:
            check_order(self.order)

    def run(
        self, source: Source, pairs: object, terms: Terms, runs: NDArray[np.int32] = ONE_RUN
    ) -> Findings:
        """Audit a batch of runs.

        Args:
            source: JAX mechanism.
            pairs: Pairs of databases. If `pairs` is None, the standard pairs of a built-in
                mechanism are used. With `inputs` or `input_interval`, there are no pairs, and every
                input is compared with every other input.
            terms: Notion, claim and confidence of the audit.
            runs: int32 [runs], indices of the runs.

        Raises:
            ValueError: If an option is missing or out of range, or if outputs lie outside the
                output interval.
        """
        terms.refuse_notions("a histogram")
        inputs, places = self._inputs(source.sampler, pairs)
        example = inputs[0] if self.input_interval is None else self.input_interval[0]
        mechanism = mechanism_of(source.sampler, example)
        planned = self._planned(mechanism, inputs, terms.own_confidence)
        if self.input_interval is not None:
            inputs = midpoints(*self.input_interval, planned.num_inputs)
        counts, inputs = counts_of_runs(
            mechanism,
            inputs,
            planned,
            terms.root,
            runs,
            output_interval=self.output_interval,
            execution=terms.layout,
        )
        result = compared(inputs, counts, planned, planned.order, places)

        def finding(run: int) -> Finding:
            return finding_of(result.of_run(run), planned, terms)

        def rows() -> list[Row]:
            findings = map(finding, range(len(runs)))
            return [
                row._replace(statement=found.statement, verdict=found.statement.verdict)
                for row, found in zip(rows_of(result), findings, strict=True)
            ]

        return Findings(finding, rows)

    def _inputs(self, mechanism: Any, pairs: Any) -> tuple[Any, NDArray[np.int64] | None]:
        """Return the inputs, and the indices of the two inputs of each pair.

        The inputs are None if the audit compares the midpoints of an interval. The indices, int64
        [pairs, 2], are None if every input is compared with every other input.
        """
        given = [x is not None for x in (pairs, self.inputs, self.input_interval)]
        if sum(given) > 1:
            raise BadValue(
                "only one of "
                f"{term('pairs, inputs and input_interval', '--pairs and --input-width')} "
                "is accepted."
            )
        if self.input_interval is not None:
            _check_interval("input_interval", self.input_interval)
            return None, None
        if self.inputs is not None:
            validate.numbers("inputs", self.inputs)
            inputs = np.asarray(self.inputs)
            if inputs.ndim == 0 or len(inputs) < 2 or inputs.dtype.kind not in "biuf":
                raise BadValue(
                    f"inputs must be a list of at least two inputs, but was {self.inputs!r:.80}."
                )
            return inputs, None
        if pairs is None and not hasattr(mechanism, "standard_pairs"):
            raise BadValue(
                f"{term('pairs, inputs or input_interval', '--pairs or --input-width')} must be "
                "given for a mechanism that is not built in."
            )
        stacked = mechanism.standard_pairs() if pairs is None else Pairs.of(pairs)
        if not isinstance(stacked.database, np.ndarray) or stacked.database.shape != (
            stacked.neighbor.shape
        ):
            raise BadValue(
                "pairs must hold arrays of equal shape for a histogram, because all databases form "
                f"one array of inputs: use {EVENTS}."
            )
        # Draw only once from a database that occurs in multiple pairs.
        databases = np.concatenate([stacked.database, stacked.neighbor])
        inputs, place = np.unique(databases, axis=0, return_inverse=True)
        # The level of a pair does not depend on the order of its databases.
        places = np.unique(np.sort(place.reshape(2, -1).T, axis=1), axis=0)
        places = places[places[:, 0] < places[:, 1]]
        if not len(places):
            raise BadValue(
                "pairs must hold a pair of different databases, but both are equal in every pair."
            )
        return inputs, places

    def _planned(self, mechanism: Mechanism, inputs: object, confidence: float) -> Plan:
        space, precision = mechanism.output_space, self.precision
        if precision is None and self.num_samples is None:
            precision = 0.5
        both = precision is not None and self.num_samples is not None
        asked = {
            "precision": precision,
            "confidence": None if both else confidence,
            "num_samples": self.num_samples,
            "order": self.order,
            "bound": self.bound,
        }
        finite = isinstance(space, FiniteSpace)
        planned = (
            self._plan_finite(space, inputs, asked) if finite else self._plan(space, inputs, asked)
        )
        if planned.confidence < confidence:
            raise BadValue(
                f"num_samples = {self.num_samples} draws reach the precision {precision} only with "
                f"confidence {planned.confidence:.4g}, which is below the required "
                f"{confidence_text(confidence)}: pass more draws, a coarser precision or a lower "
                "confidence, or leave the precision out."
            )
        return planned

    def _plan_finite(self, space: FiniteSpace, inputs: Any, asked: JsonObject) -> Plan:
        if self.least_probability is None:
            raise BadValue(
                "least_probability must be given for finitely many outputs, but was not."
            )
        if inputs is None:
            raise BadValue("input_interval is not accepted for finitely many outputs.")
        others = (self.lipschitz, self.input_lipschitz, self.output_interval)
        if any(x is not None for x in others):
            raise BadValue(
                f"lipschitz, {term('input_lipschitz')} and {term('output_interval')} are for "
                f"outputs in an interval, but the mechanism has {space.size} outputs: pass only "
                f"{term('least_probability')}."
            )
        return plan_finite(
            num_outputs=space.size,
            least_probability=self.least_probability,
            num_inputs=len(inputs),
            **asked,
        )

    def _plan(self, space: OutputSpace, inputs: Any, asked: JsonObject) -> Plan:
        if self.lipschitz is None:
            raise BadValue("lipschitz must be given for outputs in an interval, but was not.")
        if self.least_probability is not None:
            raise BadValue(
                f"least_probability is for finitely many outputs, but the mechanism has {space}: "
                "pass only lipschitz."
            )
        # Outputs without an interval are rejected before any draw, whatever their width is here.
        width, ends = 1.0, self.input_interval
        if self.output_interval is not None:
            _check_interval("output_interval", self.output_interval)
        if isinstance(space, RealSpace):
            low, high = self.output_interval or (space.low, space.high)
            width = high - low if np.isfinite(high - low) else width
        if (ends is None) != (self.input_lipschitz is None):
            raise BadValue(
                f"input_lipschitz and {term('input_interval')} must be given together or not at "
                f"all, but were {self.input_lipschitz!r} and {ends!r}."
            )
        return plan(
            lipschitz=self.lipschitz,
            width=width,
            inputs=(
                len(inputs)
                if ends is None or self.input_lipschitz is None
                else InputInterval(ends[1] - ends[0], self.input_lipschitz)
            ),
            **asked,
        )


def _check_interval(name: str, ends: Any) -> None:
    """Raise ValueError if an interval is not (low, high) with low < high."""
    if not isinstance(ends, list | tuple | np.ndarray) or [*map(np.ndim, ends)] != [0, 0]:
        raise BadValue(f"{term(name)} must be (low, high), but was {ends!r}.")
    validate.increasing(*ends, name=name)
