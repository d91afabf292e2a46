"""Error messages that tell the user where a misplaced argument belongs."""

import functools
import inspect
from collections.abc import Callable, Collection
from dataclasses import fields
from typing import ParamSpec, TypeVar, get_args

from dpjax.core.errors import nearest
from dpjax.core.options import Dataclass
from dpjax.core.wording import listed
from dpjax.methods import METHODS
from dpjax.notions import NOTIONS
from dpjax.sources import SOURCES

P = ParamSpec("P")
R = TypeVar("R")

_MOST = 3
"""Largest number of suggested calls in a message."""

_OTHER_WORDS = {
    "epsilon": "write claim=EPSILON",
    "gdp": "write notion=dpjax.Gdp(), claim=LEVEL",
    "zcdp": "write notion=dpjax.Zcdp(), claim=LEVEL",
    "total_variation": "write notion=dpjax.TotalVariation(), claim=LEVEL",
    "mu": "write notion=dpjax.Gdp(), claim=LEVEL",
    "rho": "write notion=dpjax.Zcdp(), claim=LEVEL",
    "seed": "write key=INTEGER",
    "rng": "write key=INTEGER",
    "alpha": "write confidence=1 - alpha",
    "method": "leave it out, because an assertion with seconds=... or --dpjax-budget is sequential",
}
"""Advice on arguments, keyed by the names of arguments that users may expect."""


def refuse_misplaced(function: str, given: Collection[str], accepted: Collection[str]) -> None:
    """Raise an error for arguments that a function, which is given by its name, does not have.

    Raises:
        TypeError: If a name is not accepted. The message tells the user where the argument belongs,
            or it suggests a similar name.
    """
    __tracebackhide__ = True
    for name in given:
        if name not in accepted:
            raise TypeError(f"{function}() has no argument {name!r}: {_place_of(name, accepted)}")


def signposted(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that calls with misplaced arguments raise a helpful error."""
    parameters = inspect.signature(function).parameters
    accepted, name = [], getattr(function, "__name__", "function")
    for key, each in parameters.items():
        # The type of **options is Unpack of a TypedDict.
        further = get_args(each.annotation) if each.kind is each.VAR_KEYWORD else ()
        accepted += [*further[0].__annotations__] if further else [key]
    unnamed = [key for key, each in parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
    by_position = listed(unnamed)

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        refuse_misplaced(name, [*kwargs], accepted)
        for key in unnamed[: len(args)]:
            if key in kwargs:
                raise TypeError(
                    f"{name}() got {key} twice, by position and by name: its arguments by position "
                    f"are {by_position}."
                )
        if len(args) > len(unnamed):
            raise TypeError(
                f"{name}() takes only {by_position} by position, but got {len(args)} "
                "positional arguments: write the others with their names, such as claim=1.0."
            )
        return function(*args, **kwargs)

    return called


def _place_of(name: str, accepted: Collection[str]) -> str:
    """Return the end of an error message, which tells the user where an argument belongs."""
    if name in _OTHER_WORDS and "claim" in accepted:
        return f"{_OTHER_WORDS[name]}."
    places = []
    for before, after, kinds in _constructors():
        if before and before.rstrip("=") not in accepted:
            continue
        owners = [kind.__name__ for kind in kinds if name in {f.name for f in fields(kind)}]
        calls = [
            f"{before}dpjax.{owner}({'' if before else '..., '}{name}=...)" for owner in owners
        ]
        places += [f"{' or '.join(calls[:_MOST])}{after}"] * bool(calls)
    if not places:
        return nearest(name, accepted)
    return f"write {', or '.join(places)}."


def _constructors() -> list[tuple[str, str, list[type[Dataclass]]]]:
    """Return the places in a call to `dpjax.audit` that may contain options.

    A place has three parts: the text before a suggested constructor call, the text after the call,
    and the classes whose constructors are suggested. The classes are looked up only for a message,
    because this imports all of them.
    """
    return [
        ("method=", "", [method for method in METHODS.values() if method.bounded]),
        ("notion=", "", [*NOTIONS.values()]),
        ("", " as the subject", [source for source in SOURCES.values() if source.asked[0]]),
    ]
