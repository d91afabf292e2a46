"""Search of a large space of pairs by successive halving: few draws on poor pairs, many on good.

A rung estimates the loss of every pair that is still in (DPL) with draws of its own, and keeps the
best share of them for the next rung, which draws more for each. Choosing pairs costs no
confidence, as long as the bound rests on other draws: those of every rung come from keys that
`dpjax.audit` never uses, whichever seed it is given.
"""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from dpjax.core import random, validate
from dpjax.core.execution import Execution, default_execution
from dpjax.core.types import MixedSpace
from dpjax.core.wording import BadValue
from dpjax.databases import Pairs
from dpjax.databases.trees import nth
from dpjax.methods.local import Local, dpl_runs
from dpjax.partitions import as_region
from dpjax.sources import ONE_RUN
from dpjax.sources._subject import check_shape, mechanism_at
from dpjax.sources.streams import DrawnStreams

_STAGE = "search of pairs"
_FEWEST = 128


@dataclass(frozen=True)
class FoundPairs:
    """The best pairs of a search.

    Attributes:
        pairs: The best few, best first; what `dpjax.audit` takes.
        estimates: Their estimated losses in the last rung.
        rungs: (pairs, draws at each side of a pair) of every rung.
    """

    pairs: Pairs
    estimates: tuple[float, ...]
    rungs: tuple[tuple[int, int], ...]

    @property
    def num_draws(self) -> int:
        """Draws that were spent, both sides of all pairs in all rungs."""
        return sum(2 * num_pairs * num_samples for num_pairs, num_samples in self.rungs)


def search_pairs(
    mechanism: Any,
    pairs: Any,
    *,
    budget: int,
    keep: int = 3,
    factor: int = 4,
    region: Any = None,
    key: Any = 0,
    execution: Execution | None = None,
) -> FoundPairs:
    """The pairs with the largest estimated loss, by successive halving.

    Args:
        mechanism: As in `dpjax.audit`.
        pairs: `dpjax.Pairs` or a list of (database, neighbor), as many as one likes; see
            `dpjax.databases` for designs.
        budget: Most draws that may be spent, on both sides of all pairs together; every rung gets
            an equal part.
        keep: How many pairs are wanted.
        factor: Each rung but the last keeps one pair in `factor`, at least `keep`.
        region: As in `dpjax.audit`, but without a pilot: it must be given for a function whose
            outputs are not 0 .. num_outcomes - 1.
        key: Integer seed or typed key; that of the audit may be the same.
        execution: Layout on the machine; never changes the result.

    Returns:
        The best pairs, to be given to `dpjax.audit`, whose search and bound draw afresh.

    Raises:
        ValueError: An argument is out of range, or the budget is less than 128 draws a side of
            every pair in the first rung.
        TypeError: An argument is of the wrong kind.

    References:
        Jamieson, Talwalkar (2016), Algorithm 1 (successive halving); Askin, Kutta, Dette (2022),
        Algorithm 3, in every rung.
    """
    validate.positive_int(budget=budget, keep=keep)
    validate.positive_int(at_least=2, factor=factor)
    root = random.fold_in(random.as_key(key), random.stable_hash(_STAGE))
    pairs = Pairs.of(pairs)
    mechanism = mechanism_at(mechanism, pairs)
    check_shape(mechanism, pairs)
    if isinstance(mechanism.output_space, MixedSpace):
        raise ValueError(
            f"pairs cannot be searched for outputs that are {mechanism.output_space}: beside an "
            "atom there is no density; give them all to dpjax.audit(...)."
        )
    if region is None:
        region = getattr(mechanism, "standard_region", None)
    region = as_region(region, mechanism.output_space)
    sizes = _rung_sizes(len(pairs), keep, factor)
    rungs = [(size, budget // (2 * len(sizes) * size)) for size in sizes]
    if rungs[0][1] < _FEWEST:
        raise BadValue(
            f"budget must be at least {2 * _FEWEST * len(sizes) * len(pairs)} draws for "
            f"{len(pairs)} pairs in {len(sizes)} rungs, but was {budget}."
        )
    alive = np.arange(len(pairs))
    losses, spent, tell = np.zeros(len(pairs)), 0, execution.progress if execution else None
    for number, (size, num_samples) in enumerate(rungs):
        key = random.fold_in(root, number)
        found = dpl_runs(
            DrawnStreams(mechanism, nth(pairs.database, alive), nth(pairs.neighbor, alive), key),
            region,
            # num_confirm only sets the penalty of the search.
            Local(num_samples=num_samples, num_confirm=num_samples + 1),
            ONE_RUN,
            execution=execution or default_execution(),
        )
        score, losses = (np.asarray(jax.device_get(x))[0] for x in (found.score, found.loss))
        after = rungs[number + 1][0] if number + 1 < len(rungs) else min(keep, size)
        best = np.argsort(-score, kind="stable")[:after]
        alive, losses = alive[best], losses[best]
        spent += 2 * size * num_samples
        if tell is not None:
            tell(spent, sum(2 * size * num_samples for size, num_samples in rungs))
    return FoundPairs(
        pairs=Pairs(
            nth(pairs.database, alive),
            nth(pairs.neighbor, alive),
            tuple(pairs.labels[i] for i in alive),
        ),
        estimates=tuple(float(loss) for loss in losses),
        rungs=tuple(rungs),
    )


def _rung_sizes(num_pairs: int, keep: int, factor: int) -> list[int]:
    """Pairs that enter each rung; the last one still has more than `keep` to choose from."""
    sizes = [num_pairs]
    while sizes[-1] > keep * factor:
        sizes.append(max(keep, -(-sizes[-1] // factor)))
    return sizes
