"""Recorded outputs in the order of the calls, if fair coins decided which database each call got.

The scores of the outputs are learned from the first calls, whose coins are revealed. The coins of
the other calls are guessed, as in `_coin_flips`.
"""

import numpy as np
from numpy.typing import NDArray

from dpjax.core.arrays import joined
from dpjax.core.wording import BadValue, term
from dpjax.partitions import Encoder, part_of
from dpjax.partitions._batches import joined as joined_outputs
from dpjax.sources._coin_scores import Scorer
from dpjax.sources._coins_in_outputs import notes_of_coins
from dpjax.sources._fair_coins import doubts_about_half, doubts_about_order, refuse_unfair
from dpjax.sources._flips import FEWEST_CALLS, Flipped, Flips
from dpjax.sources._held import Sides, held, names_of_entries
from dpjax.sources._pairs import RECORDED_PAIRS
from dpjax.sources._recorded_counts import refuse_two_kinds, weighed

_GOT = "got the database"


def flip_recorded(source: Sides, coins: NDArray[np.bool_], flips: Flips) -> Flipped:
    """Learn scores from the first recorded calls, and return the others; see `Flipped`.

    Args:
        source: Recorded outputs of both sides.
        coins: For each output, in the order of the calls, whether it belongs to `x`, bool [n].
        flips: Fraction of the calls to learn from, and the key. There is no number of calls,
            because all recorded calls are used.

    Raises:
        ValueError: If there are too few calls, if the coins do not look fair, or if the outputs
            cannot be compared.
        TypeError: If the sides contain outputs of different kinds.
    """
    first = max(round(flips.share * len(coins)), FEWEST_CALLS)
    if len(coins) - first < FEWEST_CALLS:
        raise BadValue(
            f"there must be at least {2 * FEWEST_CALLS} recorded calls, and {FEWEST_CALLS} whose "
            f"coins are guessed, but there were {len(coins)} calls, of which {first} have revealed "
            "coins."
        )
    refuse_unfair(coins, term("coins", "--by"), "calls", _GOT)
    doubts = [*doubts_about_half(coins, "calls", _GOT), *doubts_about_order(coins)]
    outputs = _in_order(source, coins)
    entries = names_of_entries(source.x, source.y)
    encoder = Encoder("x and y", bits=source.bits, names_of_entries=entries)
    scorer = Scorer.learn(encoder, encoder.encode(outputs[:first]), coins[:first])
    later = encoder.encode(outputs[first:])
    whole = joined_outputs([encoder.encode(outputs[:first]), later])
    sides = [part_of(whole, coins), part_of(whole, ~coins)]
    return scorer.judged(
        later,
        coins[first:],
        flips.generator(),
        (RECORDED_PAIRS, 0),
        {"calls_to_learn": first, "calls_to_guess": len(coins) - first},
        [*weighed(doubts, source), *notes_of_coins(sides, encoder), *encoder.notes()],
    )


def _in_order(source: Sides, coins: NDArray[np.bool_]) -> np.ndarray:
    """Return the outputs of both sides in the order of the calls, [n] or [n, d]."""
    sides = [joined([*held(name, getattr(source, name)).chunks()]) for name in "xy"]
    refuse_two_kinds("xy", sides)
    for name, side, number in zip("xy", sides, (coins.sum(), (~coins).sum()), strict=True):
        if len(side) != number:
            raise BadValue(
                f"coins must be true for each output of x and false for each output of y, but name "
                f"{number} calls for {name}, which has {len(side)} outputs."
            )
    places = np.empty(len(coins), np.int64)
    places[np.argsort(~coins, kind="stable")] = np.arange(len(coins))
    return joined(sides)[places]
