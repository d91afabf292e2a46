"""dpjax: how private is it really? Black-box estimation and auditing of differential privacy."""

from importlib.metadata import version as _version

from dpjax._batching import Execution as Execution
from dpjax._rerun import rerun as rerun
from dpjax._result import AuditResult as AuditResult
from dpjax._result import Witness as Witness
from dpjax.audit import audit as audit
from dpjax.audit import audit_samples as audit_samples
from dpjax.calibration import NoiseCalibration as NoiseCalibration
from dpjax.calibration import calibrate_noise as calibrate_noise
from dpjax.databases import Pairs as Pairs
from dpjax.densities import truncated_frequencies as truncated_frequencies
from dpjax.densities import truncated_kde as truncated_kde
from dpjax.estimators import EmpiricalPrivacy as EmpiricalPrivacy
from dpjax.estimators import HostQuery as HostQuery
from dpjax.estimators import JaxQuery as JaxQuery
from dpjax.estimators import LocalSettings as LocalSettings
from dpjax.estimators import empirical_privacy as empirical_privacy
from dpjax.loss import Box as Box
from dpjax.loss import privacy_loss as privacy_loss
from dpjax.mechanisms import from_function as from_function

__version__ = _version("dpjax")
