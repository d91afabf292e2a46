"""Sequential audits that ended early because of an interrupt or the loss of a worker process.

Their bounds hold, since all bounds of a sequential audit hold simultaneously. But such an audit is
incomplete: it must not pass a test, and a sweep must not store it.

If a worker process ends without an answer, the outputs of the current block are lost, and these
outputs may have caused the loss. For equal seeds, a resumed audit draws the lost outputs again. If
a function draws its own randomness, a resumed audit would replace the lost outputs with others. If
certain outputs end the process, then the audit would count only the other outputs, whose
distribution may violate a claim that the function satisfies.
"""

from dpjax.core.types import JsonObject
from dpjax.core.wording import BadValue

_INTERRUPTED, _LOST_WORKER = "interrupted", "lost_worker"

_LOST = (
    "a worker process was terminated, by the function or by the system, for instance because "
    "memory ran out"
)

_NO_RESUME = (
    "the audit cannot be resumed, because the function has no parameter seed or rng, with which "
    "the lost outputs could be drawn again"
)


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
