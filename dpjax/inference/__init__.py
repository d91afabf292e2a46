"""Statements with a confidence attached, in NumPy and SciPy float64; no module here imports jax."""

from ._assumptions import FiniteOutputs as FiniteOutputs
from ._assumptions import LipschitzOutputs as LipschitzOutputs
from ._planner import Plan as Plan
from ._planner import plan as plan
from ._planner import plan_finite as plan_finite
from ._safety import SafetyCheck as SafetyCheck
from ._safety import SafetyVerdict as SafetyVerdict
from ._safety import plan_safety as plan_safety
from ._safety import safety_check as safety_check
