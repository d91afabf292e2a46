"""Partitions: any output has a cell, so that it can be counted, and events of cells have words."""

from dpjax.partitions._cells import CellAxis as CellAxis
from dpjax.partitions._cells import Cells as Cells
from dpjax.partitions._cells import Partition as Partition
from dpjax.partitions._cells import count_cells as count_cells
from dpjax.partitions._cells import integer_cells as integer_cells
from dpjax.partitions._cells import interval_cells as interval_cells
from dpjax.partitions._cells import mixed_cells as mixed_cells
from dpjax.partitions._cells import outcome_cells as outcome_cells
from dpjax.partitions._cells import product_cells as product_cells
from dpjax.partitions._region import Box as Box
from dpjax.partitions._region import Outcomes as Outcomes
from dpjax.partitions._region import Region as Region
from dpjax.partitions._region import as_region as as_region
from dpjax.partitions._region import product_grid as product_grid
