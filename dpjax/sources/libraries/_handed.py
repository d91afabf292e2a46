"""What an object of a library says of itself."""

from collections.abc import Callable
from typing import NamedTuple

from dpjax.core.types import JsonObject
from dpjax.databases import Neighbors
from dpjax.notions import Notion


class Handed(NamedTuple):
    """An object of a library, read.

    Attributes:
        name: For people.
        call: database -> one output, with randomness of its own; it can be pickled.
        notion: In which it states its claim; None if it states none.
        claim: What it states, in the notion's unit.
        pairs: The space of its neighbouring databases; None where it does not tell.
        plain: What makes it again, as JSON holds it; None if nothing does.
        anew: A call of an object that is made anew with the same parameters; None where there is
            no object, or its randomness is the system's.
    """

    name: str
    call: Callable[[object], object]
    notion: Notion | None
    claim: object
    pairs: Neighbors | None
    plain: JsonObject | None
    anew: Callable[[], Callable[[object], object]] | None = None
