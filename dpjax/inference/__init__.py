"""Statements with a confidence attached, in NumPy and SciPy float64; no module here imports jax."""

from ._assumptions import FiniteOutputs as FiniteOutputs
from ._assumptions import LipschitzOutputs as LipschitzOutputs
from ._levels import ldp_levels as ldp_levels
from ._levels import renyi_levels as renyi_levels
from ._planner import Plan as Plan
from ._planner import plan as plan
from ._planner import plan_finite as plan_finite
from ._safety import SafetyCheck as SafetyCheck
from ._safety import SafetyVerdict as SafetyVerdict
from ._safety import plan_safety as plan_safety
from ._safety import safety_check as safety_check
from ._unseen import blind_spot as blind_spot
from ._unseen import unseen_log_rarity as unseen_log_rarity
from ._unseen import unseen_probability as unseen_probability
