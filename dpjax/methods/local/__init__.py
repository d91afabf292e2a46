"""The local method: privacy losses, the DPL and MPL algorithms, and lower bounds."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpjax.methods.local._confirm import Confirmation as Confirmation
    from dpjax.methods.local._kernels import LocalStatistics as LocalStatistics
    from dpjax.methods.local._kernels import dpl_runs as dpl_runs
    from dpjax.methods.local._kernels import mpl_runs as mpl_runs
    from dpjax.methods.local._loss import largest_loss as largest_loss
    from dpjax.methods.local._loss import privacy_loss as privacy_loss
    from dpjax.methods.local._method import Local as Local
    from dpjax.methods.local._method import LocalSearch as LocalSearch
    from dpjax.methods.local._options import LocalOptions as LocalOptions
    from dpjax.methods.local._search import Curves as Curves
    from dpjax.methods.local._search import PairSearch as PairSearch
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
