"""Partitions of outputs into countable cells, and descriptions of events in words."""

from dpjax.partitions._curve import curve_of as curve_of
from dpjax.partitions._curve import ranked_bounds as ranked_bounds
from dpjax.partitions._intervals import interval_counts as interval_counts
from dpjax.partitions._lay import PILOT as PILOT
from dpjax.partitions._lay import lay as lay
from dpjax.partitions._lookup import Lookup as Lookup
from dpjax.partitions._lookup import encode_drawn as encode_drawn
from dpjax.partitions._lookup import lookup as lookup
from dpjax.partitions._nested import rows_of as rows_of
from dpjax.partitions._partition import Partition as Partition
from dpjax.partitions._region import EVERYWHERE as EVERYWHERE
from dpjax.partitions._region import Box as Box
from dpjax.partitions._region import Outcomes as Outcomes
from dpjax.partitions._region import Region as Region
from dpjax.partitions._region import as_box as as_box
from dpjax.partitions._region import as_region as as_region
from dpjax.partitions._region import product_grid as product_grid
from dpjax.partitions._region import region_text as region_text
from dpjax.partitions._scored import entry_partition as entry_partition
from dpjax.partitions._scored import fold_of as fold_of
from dpjax.partitions._scored import score_partitions as score_partitions
from dpjax.partitions._search import Budget as Budget
from dpjax.partitions._search import Search as Search
from dpjax.partitions.outputs import Encoder as Encoder
from dpjax.partitions.outputs import Outputs as Outputs
