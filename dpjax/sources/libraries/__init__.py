"""Objects of other libraries as sources, with their claim, domain and neighboring relation."""

from dpjax.sources.libraries._mechanism import LibraryMechanism as LibraryMechanism
from dpjax.sources.libraries._read import knows as knows
