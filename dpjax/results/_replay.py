"""What a result must carry so that its audit can be run again from the result alone."""

from typing import Any

import numpy as np

from dpjax.databases import Pairs
from dpjax.partitions import Box, Outcomes, Region


def replay_of(pairs: Pairs, region: Region, num_outcomes: int | None) -> dict[str, Any]:
    """Pairs and region of an audit as plain lists and numbers.

    Args:
        pairs: That were searched.
        region: That was searched.
        num_outcomes: As the caller gave it.

    Returns:
        What `arguments_of` reads.
    """
    if isinstance(region, Box):
        ends = [[float(x) for x in side] for side in (region.low, region.high)]
        kind: dict[str, Any] = {"low": ends[0], "high": ends[1], "num_points": region.num_points}
    else:
        allowed = np.flatnonzero(region.allowed).tolist()
        kind = {"first": region.low, "size": region.size, "allowed": allowed}
    return {
        "database": np.asarray(pairs.database).tolist(),
        "neighbor": np.asarray(pairs.neighbor).tolist(),
        "labels": list(pairs.labels),
        "region": kind,
        "num_outcomes": num_outcomes,
    }


def arguments_of(replay: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `dpjax.audit` that `replay_of` wrote down."""
    kind = replay["region"]
    if "low" in kind:
        region: Region = Box(kind["low"], kind["high"], kind["num_points"])
    else:
        allowed = np.isin(np.arange(kind["size"]), kind["allowed"])
        region = Outcomes(kind["first"], kind["size"], allowed)
    return {
        "pairs": Pairs(replay["database"], replay["neighbor"], tuple(replay["labels"])),
        "region": region,
        "num_outcomes": replay["num_outcomes"],
    }
