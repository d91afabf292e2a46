"""Formulas and text about the limits of black-box audits.

If an event has a probability below about 1 / n, then n draws are likely to miss the event. The
privacy loss on such an event may be arbitrarily large. Therefore, without an assumption about the
densities, no sample size guarantees the precision of an estimate (Theorem 1; Theorem 5 for Renyi
levels).

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Theorems 1 and 5.
"""

import math

from dpjax.core import validate


def unseen_probability(num_samples: int, chance: float = 0.5) -> float:
    """Return the probability of an event that n draws miss with probability `chance`.

    Args:
        num_samples: n, the number of draws for one input.
        chance: Probability that all draws miss the event, strictly between 0 and 1.

    Returns:
        The probability p of the event, for which (1 - p)^n = chance.

    Raises:
        TypeError: If `num_samples` is not an integer.
        ValueError: If an argument is out of range.

    References:
        Gorla et al., proof of Theorem 1.
    """
    validate.positive_int(num_samples=num_samples)
    validate.open_unit(chance=chance)
    return -math.expm1(math.log(chance) / num_samples)


def unseen_log_rarity(num_samples: int, chance: float = 0.95) -> float:
    """Return a log rarity for which all draws from a two-point mechanism are likely to be 0.

    The mechanism outputs 0 or 1. For one input, the probability of the output 1 is e^-log_rarity.
    For the other input, the probability of the output 1 is even smaller. All draws for both inputs
    are 0 with probability at least `chance`, no matter how large the privacy level is.

    Args:
        num_samples: n, the number of draws for each input.
        chance: Smallest probability that all 2 n draws are 0, strictly between 0 and 1.

    Returns:
        The log rarity, which is an argument of `dpjax.mechanisms.TwoPoint`.

    Raises:
        TypeError: If `num_samples` is not an integer.
        ValueError: If an argument is out of range.

    References:
        Gorla et al., Theorems 1 and 5.
    """
    validate.positive_int(num_samples=num_samples)
    return -math.log(unseen_probability(2 * num_samples, chance))


def blind_spot(num_samples: int, seen: str = "draws") -> str:
    """Return the paragraph of a report that describes the limits of black-box audits.

    Args:
        num_samples: n, the number of draws for each input, or the number of databases.
        seen: Unit of n: "draws" for draws from a mechanism, or "databases" for databases with query
            results.

    Raises:
        TypeError: If `num_samples` is not an integer.
        ValueError: If an argument is out of range.
    """
    validate.one_of(("draws", "databases"), seen=seen)
    rare = unseen_probability(num_samples, 0.05)
    number = f"{num_samples:,}"
    if seen == "databases":
        return (
            f"This estimate cannot rule out every leak, because it is based only on the {number} "
            f"given databases. If a kind of database has a probability of {rare:.1e} or less, then "
            "with a probability of at least 5%, none of the given databases is of this kind. Such "
            "a database may reveal an individual without limit. Between and beyond the given "
            "results, the kernel alone determines which results are likely. Therefore, each delta "
            "is not a bound but an estimate, which depends on the smoothness of the kernel."
        )
    return (
        "This audit cannot rule out every leak, because it saw only outputs of the mechanism. With "
        f"a probability of at least 5%, {number} draws miss an event of probability {rare:.1e} or "
        "less, and on such an event the mechanism may leak without limit. This holds for every "
        "black-box method. The lower bound remains valid. However, a small estimate is evidence of "
        "privacy only if the densities satisfy an assumption: a Lipschitz constant, or a lower "
        "bound on the probability of every output. Outputs can refute such an assumption, but "
        "never confirm it."
    )
