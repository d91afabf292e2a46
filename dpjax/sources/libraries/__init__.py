"""Objects of other libraries as sources: their claim, domain and relation are read off them."""

from dpjax.sources.libraries._mechanism import LibraryMechanism as LibraryMechanism
from dpjax.sources.libraries._read import knows as knows
