"""Joint search for the best member of a family of mechanisms and for that member's best pairs."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from dpjax.core import random
from dpjax.core.errors import text_of
from dpjax.core.wording import BadType, BadValue, amount
from dpjax.databases._pairs import distinct_labels
from dpjax.databases.spaces import Proposed, Space, as_space
from dpjax.methods._pairs import TIME_SHARE
from dpjax.methods._pairs_counted import notes_of_untried, search_counted
from dpjax.methods._rungs import Ladder
from dpjax.notions import Epsilon, Notion, Terms
from dpjax.partitions import Encoder
from dpjax.sources import AnyPairs, Family, Member, OnHost, Source
from dpjax.sources._schedule import Draw, Raw, Span

_STAGE = "search of a family"

_PAIRS = 300
"""Maximum number of pairs in the first rung; the members have equal shares of them."""

_KEPT = 4
"""Number of pairs that the search keeps for the audit."""


class Placed(NamedTuple):
    """A database, and the family member whose outputs on this database are drawn.

    Attributes:
        member: Index of the member.
        database: Database, in the form that the member accepts.
    """

    member: int
    database: object


def best_member(
    family: Family, pairs: object, asked: tuple[Notion | None, object], terms: Terms
) -> tuple[Source, object, list[str]]:
    """Find the member whose expected bound exceeds its claim by the largest margin, and its pairs.

    Args:
        family: Family of mechanisms.
        pairs: Pairs, as in `settled`.
        asked: Notion and claim, as in `settled`.
        terms: Terms of the audit, as in `settled`.

    Returns:
        The member, its best pairs, and sentences about the search.

    Raises:
        ValueError: If no member can be created, or if a member has no pairs or no claim.
        TypeError: If a claim is not a number.
    """
    root = random.fold_in(terms.root, random.stable_hash(_STAGE))
    space = _Members(family, pairs, asked)
    members = space.source()
    ladder = Ladder(None, space.seconds, _KEPT, 4)
    found = search_counted(members, space, ladder, terms, None, root, space.asked_of)
    best, rungs = found.pairs, found.rungs
    number = best[0].database.member
    kept = [pair for pair in best if pair.database.member == number]
    chosen = AnyPairs(
        ([p.database.database for p in kept], [p.neighbor.database for p in kept]),
        distinct_labels(space.label_of(p) for p in kept),
    )
    draws = sum(2 * size * drawn for size, drawn in rungs)
    note = (
        f"The search of the family {family.name} ({amount(len(space.made), 'member')}, "
        f"{amount(rungs[0][0], 'pair')} and variations, {draws} separate draws) chose this "
        "member, whose expected bound exceeds its claim by the largest margin."
    )
    notes = [note, *notes_of_untried(found.untried)]
    if space.failed:
        notes.append(
            f"{family.name} refused {amount(space.failed, 'combination')} of parameters; the "
            f"last error was {space.last}."
        )
    if space.left_out:
        notes.append(
            f"{family.name} is slow, so the time limit left the search no time for "
            f"{amount(space.left_out, 'combination')} of parameters."
        )
    return space.made[number], chosen, notes


@dataclass(frozen=True)
class _Together(OnHost):
    """Source that combines all members of a family and accepts `Placed` databases.

    Attributes:
        made: Members of the family, including members that the search adds later.
        used: Time, in seconds, by which the time limit of each member is reduced.
        time_limit: Always None because each member has its own time limit.
    """

    made: list[Member]
    used: float = 0.0
    time_limit: float | None = None

    @property
    def name(self) -> str:
        """Name of the family."""
        return self.made[0].name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "made":
            raise AttributeError(name)
        return getattr(self.made[0], name)

    def with_time_used(self, seconds: float) -> Self:
        """See `Source`.

        The argument `seconds` is subtracted from the time limit of every member.
        """
        return replace(self, used=self.used + seconds)

    def encoder(self) -> Encoder:
        """Return the encoder of the first member."""
        return self.made[0].encoder()

    @contextmanager
    def drawing(self) -> Iterator[Draw]:
        """See `OnHost`. A member is opened when the first output of this member is requested."""
        draws: dict[int, Draw] = {}
        with ExitStack() as stack:

            def draw(placed: object, span: Span) -> Iterator[Raw]:
                assert isinstance(placed, Placed)
                if placed.member not in draws:
                    member = self.made[placed.member].with_time_used(self.used)
                    draws[placed.member] = stack.enter_context(member.drawing())
                return draws[placed.member](placed.database, span)

            yield draw


class _Members(Space):
    """Space that contains the pairs of all members of a family.

    Args:
        family: Family to search.
        pairs: Pairs to use for every member. If `pairs` is None, each member's own pairs are used.
        asked: Notion and claim for all members. If both are None, each member's own notion and
            claim are used.

    Attributes:
        made: Members created so far.
        failed: Number of parameter combinations for which the family's function raised an error.
        last: Error message for the last parameter combination that failed.
        left_out: Number of parameter combinations for which the time limit left no time.
    """

    def __init__(self, family: Family, pairs: object, asked: tuple[Notion | None, object]):
        super().__init__(num_pairs=_PAIRS)
        self._family, self._pairs, self._asked = family, pairs, asked
        self.made: list[Member] = []
        self.failed, self.last = 0, ""
        self._numbers: dict[str, int | None] = {}
        self._own: dict[int, Space | AnyPairs] = {}
        self._took, self.left_out = 0.0, 0
        tried = family.tried(np.random.default_rng(0))
        for number, chosen in enumerate(tried):
            if self._is_late:
                self.left_out = len(tried) - number
                break
            self._number(chosen)
        if not self.made:
            raise BadValue(
                f"ranges must contain parameters that {family.name} accepts, but it refused all "
                f"{self.failed} combinations; the last error was {self.last}."
            )

    @property
    def seconds(self) -> float | None:
        """Time limit of the whole search, in seconds."""
        limit = self.made[0].time_limit
        return None if limit is None else TIME_SHARE * limit

    @property
    def _is_late(self) -> bool:
        """Whether the creation of members has taken the time of the whole search."""
        return bool(self.made) and self.seconds is not None and self._took > self.seconds

    def source(self) -> _Together:
        """Return all members as one source."""
        return _Together(self.made)

    def asked_of(self, pair: Proposed) -> tuple[Notion, float]:
        """Return the notion and the claim of the member to which a pair belongs."""
        notion, claim = self._asked
        stated = self.made[pair.database.member].stated
        if notion is None and claim is None and stated is not None:
            notion, claim = stated
        notion = notion or Epsilon()
        claimed = 0.0 if claim is None else notion.claimed(claim)
        if not isinstance(claimed, float):
            raise BadType(
                "claim must be one number for a family because members are compared by this "
                "number, but was a curve: audit one member, or claim an epsilon at a delta."
            )
        return notion, claimed

    def label_of(self, pair: Proposed) -> str:
        """Return the label of a pair, without the member's parameters."""
        return pair.label.removeprefix(self._prefix(pair.database.member))

    def proposed(self) -> list[Proposed]:
        """See `Space`. Pairs are taken from all members in turn."""
        each = self.num_pairs // len(self.made)
        rows = [self._proposed_of(number, each) for number in range(len(self.made))]
        longest = max(map(len, rows))
        return [row[place] for place in range(longest) for row in rows if place < len(row)]

    def varied(self, pair: Proposed, seed: Sequence[int]) -> Proposed | None:
        """See `Space`. A variation changes either one parameter of the member or the databases."""
        rng = np.random.default_rng([*seed, 1])
        number = pair.database.member
        if rng.integers(2) and not self._is_late:
            chosen = self._family.varied(self.made[number].chosen, rng)
            other = self._number(chosen)
            if other is not None and other != number and self._allows(other, pair):
                return self._placed(other, self._inner(pair))
        space = self._space_of(number)
        found = space.varied(self._inner(pair), seed) if isinstance(space, Space) else None
        return None if found is None else self._placed(number, found)

    def smallest(self, pairs: Sequence[Proposed]) -> list[Proposed]:
        """See `Space`. Only pairs that belong to the member of the first pair are returned."""
        number = pairs[0].database.member
        space = self._space_of(number)
        own = [pair for pair in pairs if pair.database.member == number]
        if not isinstance(space, Space):
            return []
        inner = [self._inner(pair) for pair in own]
        places = {id(one): place for place, one in enumerate(inner)}
        return [own[places[id(one)]] for one in space.smallest(inner)]

    def _number(self, chosen: dict[str, object]) -> int | None:
        """Return the index of the member with given parameters; create the member if necessary.

        The result is None if the family's function raises an error for the parameters.
        """
        name = text_of(sorted(chosen.items()))
        if name not in self._numbers:
            start = time.perf_counter()
            try:
                member = self._family.member(chosen)
            except BadType:
                raise
            except Exception as error:  # user code may refuse some combinations
                self.failed, self.last = self.failed + 1, _text_of_error(error)
                self._numbers[name] = None
            else:
                self._numbers[name] = len(self.made)
                self.made.append(member)
            self._took += time.perf_counter() - start
        return self._numbers[name]

    def _space_of(self, number: int) -> Space | AnyPairs:
        """Return the space of a member's pairs, or an `AnyPairs` if the pairs are not a space."""
        if number not in self._own:
            given = self.made[number].usual_pairs if self._pairs is None else self._pairs
            given = as_space(given)
            self._own[number] = given if isinstance(given, Space) else AnyPairs.of(given)
        return self._own[number]

    def _proposed_of(self, number: int, count: int) -> list[Proposed]:
        space = self._space_of(number)
        if isinstance(space, Space):
            pairs = replace(space, num_pairs=min(count, space.num_pairs)).proposed()
        else:
            pairs = [Proposed(*row) for row in zip(*space.sides, space.labels, strict=True)]
        return [self._placed(number, pair) for pair in pairs]

    def _allows(self, number: int, pair: Proposed) -> bool:
        space = self._space_of(number)
        inner = self._inner(pair)
        return not isinstance(space, Space) or space.allows(inner.database, inner.neighbor)

    def _placed(self, number: int, pair: Proposed) -> Proposed:
        label = f"{self._prefix(number)}{pair.label}"
        return Proposed(Placed(number, pair.database), Placed(number, pair.neighbor), label)

    def _inner(self, pair: Proposed) -> Proposed:
        return Proposed(pair.database.database, pair.neighbor.database, self.label_of(pair))

    def _prefix(self, number: int) -> str:
        shown = self.made[number].parameters.items()
        return ", ".join(f"{name}={value}" for name, value in shown) + ": "


def _text_of_error(error: Exception) -> str:
    """Return an error's type and message, without a final period."""
    # BadValue is a private subclass of ValueError.
    kind = ValueError if isinstance(error, BadValue) else type(error)
    return f"{kind.__name__}: {str(error).rstrip('.')}"
