"""The privacy loss, the region it is maximised over, and its maximum."""

from dpjax.loss._loss import largest_loss as largest_loss
from dpjax.loss._loss import privacy_loss as privacy_loss
from dpjax.loss._region import Box as Box
from dpjax.loss._region import Outcomes as Outcomes
from dpjax.loss._region import Region as Region
from dpjax.loss._region import as_region as as_region
from dpjax.loss._region import product_grid as product_grid
