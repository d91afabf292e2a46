"""Time contenders alternately, so that noise of the machine affects all of them equally.

The first call of each contender, which includes compilation, is timed separately. Then all
contenders are called in rounds. A contender whose time limit is used up does not take part in
further rounds; the number of its rounds is recorded.
"""

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import jax

PACKAGES = (
    "dpjax", "jax", "jaxlib", "numpy", "scipy", "statsmodels", "KDEpy", "scikit-learn",
    "boost-histogram",
)  # fmt: skip

Call = Callable[[], Any]


@dataclass(frozen=True)
class Timing:
    """Times of one contender in one case.

    Attributes:
        suite: Name of the module in this folder that measured the times.
        case: Short description of the computation.
        name: Name of the contender.
        seconds: Median time over the rounds, per unit.
        spread: Standard deviation over the rounds, per unit, estimated from the quartiles; 0 for a
            single round.
        rounds: Number of rounds.
        first: Duration of the first call in seconds, including compilation (not per unit).
        unit: Unit of work.
        facts: Further facts, such as errors and sizes.
    """

    suite: str
    case: str
    name: str
    seconds: float
    spread: float
    rounds: int
    first: float
    unit: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Goal:
    """A goal for a measured quantity.

    Attributes:
        suite: Name of the module in this folder that measured the quantity.
        what: Description of the quantity.
        value: Measured value.
        target: Target value.
        at_least: Whether the value must be at least the target, as for a speedup. Otherwise, it
            must be at most the target, as for an overhead.
    """

    suite: str
    what: str
    value: float
    target: float
    at_least: bool = True

    @property
    def held(self) -> bool:
        """Whether the measured value reaches the target."""
        return self.value >= self.target if self.at_least else self.value <= self.target


class Contender(NamedTuple):
    """A function to time.

    Attributes:
        call: Function without arguments. If it returns JAX arrays, the timing includes the wait for
            them.
        units: Units of work per call, such as data sets, draws or runs.
        facts: Facts to record in the timing.
    """

    call: Call
    units: float = 1
    facts: Mapping[str, Any] = {}


def measure(
    suite: str,
    case: str,
    contenders: Mapping[str, Contender],
    *,
    unit: str,
    rounds: int = 7,
    seconds_each: float = 4.0,
) -> list[Timing]:
    """Time contenders alternately.

    Args:
        suite: Recorded in the timings.
        case: Recorded in the timings.
        contenders: Map from a name to a contender.
        unit: Recorded in the timings.
        rounds: Maximum number of rounds.
        seconds_each: Time limit per contender, in seconds. Each contender runs at least once.

    Returns:
        One timing per contender, in the same order.
    """
    first = {name: _seconds(contender.call) for name, contender in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            if sum(times[name]) + max(times[name], default=0) <= seconds_each:
                times[name].append(_seconds(contenders[name].call))
    return [
        Timing(
            suite,
            case,
            name,
            statistics.median(times[name]) / contender.units,
            spread_of(times[name]) / contender.units,
            len(times[name]),
            first[name],
            unit,
            dict(contender.facts),
        )
        for name, contender in contenders.items()
    ]


def spread_of(times: list[float]) -> float:
    """Estimate the standard deviation from the quartiles, which are robust to one slow round.

    The result is 0 for a single time.
    """
    if len(times) < 2:
        return 0.0
    lower, _, upper = statistics.quantiles(times, n=4, method="inclusive")
    return (upper - lower) / 1.349


def by_name(entries: list[Timing]) -> dict[str, Timing]:
    """Return the timings of one case, by contender."""
    return {entry.name: entry for entry in entries}


def ratio(slow: Timing, fast: Timing) -> float:
    """Return how many times faster `fast` is than `slow`."""
    return slow.seconds / fast.seconds


def machine() -> dict[str, Any]:
    """Return properties of the machine and versions of packages, which affect the times."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_at_start": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "device": f"{jax.devices()[0].platform}: {jax.devices()[0].device_kind}",
        "versions": {name: _version(name) for name in PACKAGES},
    }


def as_json(entries: list[Timing], goals: list[Goal]) -> dict[str, Any]:
    """Return dictionaries that can be written to the result file."""
    return {
        "entries": [asdict(entry) for entry in entries],
        "goals": [{**asdict(goal), "held": goal.held} for goal in goals],
    }


def _seconds(call: Call) -> float:
    start = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - start


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
        return names[0]
    except (OSError, IndexError):
        return platform.processor()
