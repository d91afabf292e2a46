"""How everything here is timed: contenders in turn, so that the machine's noise hits all alike.

A contender's first call (compilation, caches) is timed apart, then all are called in rounds. A
contender that has used up its share of seconds leaves the rounds; how often it ran is recorded.
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
    """One timed contender of one case.

    Attributes:
        suite: Which file of this folder measured it.
        case: What was computed, in a few words.
        name: Who computed it.
        seconds: Median of the rounds, per unit.
        spread: Standard deviation of the rounds per unit, from their quartiles; 0 for one round.
        rounds: How many.
        first: Seconds of the first call, compilation included (not per unit).
        unit: What the seconds are for.
        facts: What else is known: errors, sizes, remarks.
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
    """A ratio that was aimed at.

    Attributes:
        suite: Which file of this folder measured it.
        what: The ratio in words.
        value: As measured.
        target: As aimed at.
        at_least: Whether the target is a least (a speed-up) or a most (an overhead, seconds).
    """

    suite: str
    what: str
    value: float
    target: float
    at_least: bool = True

    @property
    def held(self) -> bool:
        """Whether the measured ratio reaches the target."""
        return self.value >= self.target if self.at_least else self.value <= self.target


class Contender(NamedTuple):
    """A call and how many units of work one call does.

    Attributes:
        call: Takes nothing; what it returns is waited for if it lives on a device.
        units: Data sets, draws or runs in one call.
        facts: What the entry shall state.
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
    """Times contenders in turn.

    Args:
        suite: For the entries.
        case: For the entries.
        contenders: Name -> call.
        unit: For the entries.
        rounds: Most rounds.
        seconds_each: A contender leaves once its calls have taken this long; each runs once.

    Returns:
        One entry a contender, in their order.
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
    """A standard deviation from the quartiles, which one slow round does not set; 0 of one time."""
    if len(times) < 2:
        return 0.0
    lower, _, upper = statistics.quantiles(times, n=4, method="inclusive")
    return (upper - lower) / 1.349


def by_name(entries: list[Timing]) -> dict[str, Timing]:
    """Entries of one case by contender."""
    return {entry.name: entry for entry in entries}


def ratio(slow: Timing, fast: Timing) -> float:
    """How many times faster `fast` is."""
    return slow.seconds / fast.seconds


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
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
    """Plain dictionaries, as they are written to the result file."""
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
