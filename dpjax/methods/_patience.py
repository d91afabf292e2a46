"""A warning about audits that take long because each output needs a slow call."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from dpjax.core.execution import Execution
from dpjax.core.forecast import Forecast
from dpjax.core.warned import warn
from dpjax.sources import Source


def with_warning(
    execution: Execution | None, source: Source, instead: str = ""
) -> Execution | None:
    """Return execution options that warn once if an audit's draws need more than a minute.

    A Python program shows no progress, so a user who did not choose the number of draws would not
    know how long the audit takes. The warning is given after about a second. Sources that JAX
    draws, recorded outputs, sources with a time limit and audits with a progress callback do not
    warn.

    Args:
        execution: Execution options, or None for the default options.
        source: Source of the audit.
        instead: Sentence that says how to shorten the audit. The default names arguments of
            `dpjax.audit` and of the source.
    """
    shown = execution is not None and execution.progress is not None
    calls = getattr(source, "time_limit", 0.0) is None
    if shown or not calls:
        return execution
    instead = instead or (
        f"Pass dpjax.{type(source).__name__}(..., time_limit=60) to draw as many outputs as fit "
        "into one minute, or method=dpjax.Events(num_samples=..., num_confirm=...) to choose the "
        "number of draws."
    )

    def announce(total: int, seconds: str) -> None:
        # If warnings are errors, a slow machine must not make an audit or a test fail.
        with suppress(UserWarning):
            warn(
                f"{source.name} is slow: drawing {total:,} outputs takes about {seconds} in total. "
                f"{instead}"
            )

    return replace(execution or Execution(), progress=Forecast(announce).told)


def with_warning_about(
    method: Any, execution: Execution | None, source: Source
) -> Execution | None:
    """Return execution options with a warning, unless the caller chose the number of draws.

    The method may be None. Its class need not be imported for a comparison with its name.
    """
    if method is None:
        return with_warning(execution, source)
    if getattr(method, "name", None) != "guesses" or method.num_calls or source.has_canaries:
        return execution
    return with_warning(
        execution,
        source,
        f"Pass dpjax.{type(source).__name__}(..., time_limit=60) to make as many calls as fit into "
        "one minute, or method=dpjax.Guesses(num_calls=...) to choose the number of calls.",
    )


def with_search_warning(execution: Execution | None, source: Source) -> Execution | None:
    """Return execution options that warn once if a search for pairs needs more than a minute."""
    return with_warning(
        execution,
        source,
        f"Pass dpjax.{type(source).__name__}(..., time_limit=60) to limit the search for pairs and "
        "the audit to about one minute, or call dpjax.search_pairs(..., budget=...) to choose the "
        "number of draws.",
    )
