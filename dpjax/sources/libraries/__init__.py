"""Sources that wrap objects from other libraries and read each object's claim and neighbors."""

from dpjax.sources.libraries._mechanism import LibraryMechanism as LibraryMechanism
from dpjax.sources.libraries._read import knows as knows
