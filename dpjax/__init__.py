"""dpjax: how private is it really? Black-box estimation and auditing of differential privacy.

Names are imported on first use, so that neither `dpjax --version` nor pytest, which always loads
this package's plugin, has to wait for jax.
"""

from typing import TYPE_CHECKING

from dpjax.core.version import __version__ as __version__

if TYPE_CHECKING:
    from dpjax import databases as databases
    from dpjax import densities as densities
    from dpjax import empirical as empirical
    from dpjax import inference as inference
    from dpjax import mechanisms as mechanisms
    from dpjax import methods as methods
    from dpjax import sources as sources
    from dpjax import sweeps as sweeps
    from dpjax import testing as testing
    from dpjax.audit import audit as audit
    from dpjax.audit import rerun as rerun
    from dpjax.audit import resume as resume
    from dpjax.core.execution import Execution as Execution
    from dpjax.databases import Domain as Domain
    from dpjax.databases import Pairs as Pairs
    from dpjax.databases import neighbors as neighbors
    from dpjax.densities import truncated_frequencies as truncated_frequencies
    from dpjax.densities import truncated_kde as truncated_kde
    from dpjax.empirical import EmpiricalPrivacy as EmpiricalPrivacy
    from dpjax.empirical import HostQuery as HostQuery
    from dpjax.empirical import JaxQuery as JaxQuery
    from dpjax.empirical import NoiseCalibration as NoiseCalibration
    from dpjax.empirical import calibrate_noise as calibrate_noise
    from dpjax.empirical import empirical_privacy as empirical_privacy
    from dpjax.inference import Plan as Plan
    from dpjax.inference import blind_spot as blind_spot
    from dpjax.inference import plan as plan
    from dpjax.inference import plan_finite as plan_finite
    from dpjax.inference import plan_safety as plan_safety
    from dpjax.inference import safety_check as safety_check
    from dpjax.mechanisms import from_function as from_function
    from dpjax.methods import Events as Events
    from dpjax.methods import FoundPairs as FoundPairs
    from dpjax.methods import Guesses as Guesses
    from dpjax.methods import Histogram as Histogram
    from dpjax.methods import Local as Local
    from dpjax.methods import Sequential as Sequential
    from dpjax.methods import plan_draws as plan_draws
    from dpjax.methods import search_pairs as search_pairs
    from dpjax.methods.histogram import histogram_levels as histogram_levels
    from dpjax.methods.histogram import midpoints as midpoints
    from dpjax.methods.local import privacy_loss as privacy_loss
    from dpjax.notions import Epsilon as Epsilon
    from dpjax.notions import Gdp as Gdp
    from dpjax.notions import Profile as Profile
    from dpjax.notions import Renyi as Renyi
    from dpjax.notions import TotalVariation as TotalVariation
    from dpjax.notions import TradeOff as TradeOff
    from dpjax.notions import Zcdp as Zcdp
    from dpjax.partitions import Box as Box
    from dpjax.partitions import summarize as summarize
    from dpjax.results import AuditResult as AuditResult
    from dpjax.results import Witness as Witness
    from dpjax.sources import CanaryRuns as CanaryRuns
    from dpjax.sources import CommandMechanism as CommandMechanism
    from dpjax.sources import Family as Family
    from dpjax.sources import HostMechanism as HostMechanism
    from dpjax.sources import LibraryMechanism as LibraryMechanism
    from dpjax.sources import OneRun as OneRun
    from dpjax.sources import Recorded as Recorded
    from dpjax.sources.readers import Recording as Recording
    from dpjax.watching import watch as watch
else:
    from dpjax.core.lazy import lazy as _lazy

    __getattr__, __dir__, __all__ = _lazy(__name__)
