"""Sources that wrap objects from other libraries and read each object's claim and neighbors."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpjax.sources.libraries._mechanism import LibraryMechanism as LibraryMechanism
    from dpjax.sources.libraries._read import knows as knows
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
