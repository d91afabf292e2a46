"""The kind of source for a subject that is not a source yet."""

from dpjax.mechanisms import Mechanism
from dpjax.mechanisms.host_form import is_batched
from dpjax.sources.libraries import knows


def recognized(subject: object) -> tuple[str, dict[str, bool]]:
    """Return the kind of source that audits an object or a function, and its options.

    Returns:
        A key of `SOURCES`, and keyword arguments for the class: "object" for an object from a
        privacy library, "host" for a Python function that draws its own random numbers, and
        "mechanism" for everything else, which includes JAX functions.
    """
    if knows(subject):
        return "object", {}
    if not isinstance(subject, type | Mechanism) and (batched := is_batched(subject)) is not None:
        return "host", {"batched": batched}
    return "mechanism", {}
