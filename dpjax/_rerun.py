"""Runs an audit again, from nothing but its result."""

from typing import Any

import jax
import jax.numpy as jnp

from dpjax import densities
from dpjax.audit import audit
from dpjax.mechanisms import CATALOGUE
from dpjax.results._replay import arguments_of
from dpjax.results._result import AuditResult


def rerun(result: AuditResult, mechanism: Any = None) -> AuditResult:
    """Runs an audit again from its result: the same draws, so the same numbers.

    Args:
        result: Of `audit`, also one that was read back from JSON.
        mechanism: The function that was audited; not needed for a built-in mechanism.

    Returns:
        The new result; it equals the old one but for seconds, device and versions, as far as those
        compute alike.

    Raises:
        ValueError: The result is of recorded outputs, of a mechanism of the host, or of a function
            that was not given.

    References:
        Askin, Kutta, Dette (2022), Algorithm 4.
    """
    if result.replay is None:
        raise ValueError(
            "result is of recorded outputs or of a mechanism of the host, which it does not hold: "
            "call dpjax.audit_samples with the same outputs, or dpjax.audit with the same "
            f"mechanism, and key={result.seed!r}."
        )
    if mechanism is None:
        if result.mechanism not in CATALOGUE:
            raise ValueError(
                f"mechanism must be given, for the result is of {result.mechanism!r}, which is not "
                "built in."
            )
        mechanism = CATALOGUE[result.mechanism](**result.parameters)
    settings = result.settings
    options: dict[str, Any] = {}
    if settings["guarantee"] == "normal":
        prefix = "bandwidth_"
        rule = {k.removeprefix(prefix): v for k, v in settings.items() if k.startswith(prefix)}
        options = {name: settings[name] for name in ("floor", "kernel", "method", "objective")}
        options["bandwidth"] = getattr(densities, settings["bandwidth"])(**rule)
    return audit(
        mechanism,
        **arguments_of(result.replay),
        num_samples=result.num_samples,
        num_confirm=result.num_confirm,
        confidence=result.confidence,
        claim=result.claim,
        key=_key_of(result.seed),
        guarantee=settings["guarantee"],
        num_claims=settings["num_claims"],
        delta=settings.get("delta", 0.0),
        **options,
    )


def _key_of(seed: Any) -> Any:
    if isinstance(seed, int):
        return seed
    return jax.random.wrap_key_data(jnp.array(seed, jnp.uint32), impl="threefry2x32")
