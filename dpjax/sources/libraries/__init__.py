"""Objects of other libraries as sources, with the claim and the neighbors of each object."""

from dpjax.sources.libraries._mechanism import LibraryMechanism as LibraryMechanism
from dpjax.sources.libraries._read import knows as knows
