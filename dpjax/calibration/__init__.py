"""Calibration of noise to the randomness that the databases have already."""

from ._calibrate import NoiseCalibration as NoiseCalibration
from ._calibrate import calibrate_noise as calibrate_noise
from ._distances import hausdorff_distance as hausdorff_distance
from ._distances import wasserstein_infinity as wasserstein_infinity
from ._noise import LaplaceDeconvolution as LaplaceDeconvolution
from ._noise import LaplaceNoise as LaplaceNoise
from ._noise import TaperedDeconvolution as TaperedDeconvolution
