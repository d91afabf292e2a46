"""Sequential audits that ended early because of an interrupt or the loss of a worker process.

Their bounds hold, since all bounds of a sequential audit hold simultaneously. But such an audit is
incomplete: it must not pass a test, and a sweep must not store it.

If a worker process ends without an answer, the outputs of the current block are lost, and these
outputs may have caused the loss. For equal seeds, a resumed audit draws the lost outputs again. If
a function draws its own randomness, a resumed audit would replace the lost outputs with others. If
certain outputs end the process, then the audit would count only the other outputs, whose
distribution may violate a claim that the function satisfies.

The same is true for an interrupt during a block, by the user or by the time limit, if calls with
certain outputs take longer than others. The cause is usually another one, so such an audit can be
resumed, but its result has a note.
"""

from collections.abc import Sequence

from dpjax.core.types import JsonObject
from dpjax.core.wording import BadValue

_INTERRUPTED, _LOST_WORKER, _LOST_CALL = "interrupted", "lost_worker", "lost_call"

_LOST = (
    "a worker process was terminated, by the function or by the system, for instance because "
    "memory ran out"
)

_NO_RESUME = (
    "the audit cannot be resumed, because the function has no parameter seed or rng, with which "
    "the lost outputs could be drawn again"
)

_LOST_CALLS = (
    "The earlier audit was interrupted during a block, and the mechanism takes no seed with which "
    "the lost outputs could be drawn again. If calls with certain outputs take longer than others, "
    "the bound may be wrong: set a timeout, so that a long call is an outcome, and start a new "
    "audit."
)


def lost_call(source: object) -> dict[str, bool]:
    """Return the settings of an audit that ended during a call, whose outputs are lost."""
    return {} if _draws_again(source) else {_LOST_CALL: True}


def notes_of_resume(settings: JsonObject, notes: Sequence[str], source: object) -> list[str]:
    """Return a note if the earlier audit, or an audit before it, lost outputs of its calls.

    Args:
        settings: Settings of the earlier audit.
        notes: Notes of the earlier audit.
        source: Source of both audits.
    """
    lost = settings.get(_LOST_CALL) or (settings.get(_INTERRUPTED) and not _draws_again(source))
    return [_LOST_CALLS] if lost or _LOST_CALLS in notes else []


def lost_worker(source: object) -> tuple[str, dict[str, bool]]:
    """Return why an audit with a lost worker ended, in words and as settings of the result."""
    after = "dpjax can resume the audit" if _draws_again(source) else _NO_RESUME
    return f"{_LOST}; {after}", {_LOST_WORKER: True}


def is_cut_short(settings: JsonObject) -> bool:
    """Return whether the audit with the given settings is incomplete."""
    return bool(settings.get(_INTERRUPTED) or settings.get(_LOST_WORKER))


def refuse_cut_short(settings: JsonObject) -> None:
    """Raise an error if the audit with the given settings is incomplete.

    Raises:
        KeyboardInterrupt: If the user interrupted the audit.
        ValueError: If a worker process was terminated.
    """
    if settings.get(_INTERRUPTED):
        raise KeyboardInterrupt
    if settings.get(_LOST_WORKER):
        raise BadValue(f"the audit is incomplete, because {_LOST}: run it again.")


def refuse_resume(settings: JsonObject, source: object) -> None:
    """Raise ValueError if a resumed audit would replace the outputs that a worker lost."""
    if settings.get(_LOST_WORKER) and not _draws_again(source):
        raise BadValue(
            f"the audit lost a worker process. {_NO_RESUME[0].upper()}{_NO_RESUME[1:]}: give the "
            "function such a parameter, and start a new audit."
        )


def _draws_again(source: object) -> bool:
    """Return whether a source draws equal outputs for equal seeds."""
    return getattr(source, "replayable", True)
