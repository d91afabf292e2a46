"""The limits of black-box audits, in numbers and in words.

An event that is rarer than about 1 / n is missed by n draws, and a mechanism may leak without limit
there. Hence no estimator has a guarantee without an assumption on the densities, at any budget
(Theorem 1; Theorem 5 for Renyi levels).

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Theorems 1 and 5.
"""

import math

from dpjax.core import validate


def unseen_probability(num_samples: int, chance: float = 0.5) -> float:
    """The probability of an event that `num_samples` draws all miss with a given chance.

    Args:
        num_samples: n, draws at one input.
        chance: Probability that all draws miss the event, strictly between 0 and 1.

    Returns:
        p with (1 - p)^n = chance.

    Raises:
        TypeError: `num_samples` is not an integer.
        ValueError: An argument is out of its range.

    References:
        Gorla et al., proof of Theorem 1.
    """
    validate.positive_int(num_samples=num_samples)
    validate.open_unit(chance=chance)
    return -math.expm1(math.log(chance) / num_samples)


def unseen_log_rarity(num_samples: int, chance: float = 0.95) -> float:
    """The log-rarity at which the answer 1 of a two-point mechanism stays hidden.

    With P(1) = e^-log_rarity at one input and less at the other, `num_samples` draws at each input
    give only zeros with at least the given chance, whatever the level is.

    Args:
        num_samples: n, draws at each input.
        chance: Least probability that all 2 n draws are 0, strictly between 0 and 1.

    Returns:
        `log_rarity` of `dpjax.mechanisms.TwoPoint`.

    Raises:
        TypeError: `num_samples` is not an integer.
        ValueError: An argument is out of its range.

    References:
        Gorla et al., Theorems 1 and 5.
    """
    validate.positive_int(num_samples=num_samples)
    return -math.log(unseen_probability(2 * num_samples, chance))


def blind_spot(num_samples: int, seen: str = "draws") -> str:
    """The paragraph of every report on the limits of the method.

    Args:
        num_samples: n, draws at each input, or databases.
        seen: Unit of n: "draws" of a mechanism, or "databases" with results of a query.

    Raises:
        TypeError: `num_samples` is not an integer.
        ValueError: An argument is out of its range.
    """
    validate.one_of(("draws", "databases"), seen=seen)
    rare = unseen_probability(num_samples, 0.05)
    number = f"{num_samples:,}"
    if seen == "databases":
        return (
            "What this estimate cannot rule out: it knows the databases by the "
            f"{number} that were given. A kind of database of probability {rare:.1e} or less is "
            "not among so many with a chance of at least 5 %, and in such a one an individual may "
            "stand out without limit. Between and beyond the results that were seen, the kernel "
            "alone says what is likely: each delta is an estimate that rests on its smoothness, "
            "and no bound."
        )
    return (
        "What this audit cannot rule out: it saw the mechanism only through its outputs. An event "
        f"of probability {rare:.1e} or less at every input stays unseen in {number} draws with a "
        "chance of at least 5 %, and on such an event the mechanism may leak without limit. No "
        "black-box method escapes this. A lower bound stays true, but a small estimate shows that "
        "the mechanism is private only under an assumption on its densities (a Lipschitz "
        "constant, or a least probability), which outputs can refute but never confirm."
    )
