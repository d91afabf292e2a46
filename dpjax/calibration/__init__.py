"""Calibration of noise to the randomness that the databases have already."""

from dpjax.calibration._calibrate import NoiseCalibration as NoiseCalibration
from dpjax.calibration._calibrate import calibrate_noise as calibrate_noise
from dpjax.calibration._distances import hausdorff_distance as hausdorff_distance
from dpjax.calibration._distances import wasserstein_infinity as wasserstein_infinity
from dpjax.calibration._noise import LaplaceDeconvolution as LaplaceDeconvolution
from dpjax.calibration._noise import LaplaceNoise as LaplaceNoise
from dpjax.calibration._noise import TaperedDeconvolution as TaperedDeconvolution
