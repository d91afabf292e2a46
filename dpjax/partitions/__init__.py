"""Partitions: any output has a cell, so that it can be counted, and events of cells have words."""

from dpjax.partitions._lay import PILOT as PILOT
from dpjax.partitions._lay import lay as lay
from dpjax.partitions._lookup import Lookup as Lookup
from dpjax.partitions._lookup import encode_drawn as encode_drawn
from dpjax.partitions._lookup import lookup as lookup
from dpjax.partitions._partition import Partition as Partition
from dpjax.partitions._region import EVERYWHERE as EVERYWHERE
from dpjax.partitions._region import Box as Box
from dpjax.partitions._region import Outcomes as Outcomes
from dpjax.partitions._region import Region as Region
from dpjax.partitions._region import as_box as as_box
from dpjax.partitions._region import as_region as as_region
from dpjax.partitions._region import product_grid as product_grid
from dpjax.partitions._region import region_text as region_text
from dpjax.partitions._scored import score_partitions as score_partitions
from dpjax.partitions._search import Search as Search
from dpjax.partitions.outputs import Encoder as Encoder
from dpjax.partitions.outputs import Outputs as Outputs
