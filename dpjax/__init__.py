"""dpjax: how private is it really? Black-box estimation and auditing of differential privacy."""

from importlib.metadata import version as _version

from dpjax._audit_samples import audit_samples as audit_samples
from dpjax._batching import Execution as Execution
from dpjax._rerun import rerun as rerun
from dpjax.audit import audit as audit
from dpjax.databases import Pairs as Pairs
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
from dpjax.methods._pairs import FoundPairs as FoundPairs
from dpjax.methods._pairs import search_pairs as search_pairs
from dpjax.methods.histogram import histogram_ldp as histogram_ldp
from dpjax.methods.histogram import histogram_rdp as histogram_rdp
from dpjax.methods.histogram import midpoints as midpoints
from dpjax.methods.histogram._audit import HistogramAudit as HistogramAudit
from dpjax.methods.histogram._audit import audit_histogram as audit_histogram
from dpjax.methods.local import LocalSettings as LocalSettings
from dpjax.methods.local import privacy_loss as privacy_loss
from dpjax.partitions import Box as Box
from dpjax.results._result import AuditResult as AuditResult
from dpjax.results._result import Witness as Witness
from dpjax.sources import CommandMechanism as CommandMechanism
from dpjax.sources import HostMechanism as HostMechanism
from dpjax.sources.readers import Recording as Recording

__version__ = _version("dpjax")
