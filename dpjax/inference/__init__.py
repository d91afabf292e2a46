"""From statistics to statements: confidence bounds in float64 NumPy, without JAX."""

from dpjax.inference._assumptions import FiniteOutputs as FiniteOutputs
from dpjax.inference._assumptions import InputInterval as InputInterval
from dpjax.inference._assumptions import LipschitzOutputs as LipschitzOutputs
from dpjax.inference._binomial import binomial_lower_bound as binomial_lower_bound
from dpjax.inference._binomial import clopper_pearson as clopper_pearson
from dpjax.inference._choice import choose_event as choose_event
from dpjax.inference._events import Event as Event
from dpjax.inference._events import event_lower_bound as event_lower_bound
from dpjax.inference._events import predicted_bound as predicted_bound
from dpjax.inference._levels import ldp_levels as ldp_levels
from dpjax.inference._levels import renyi_levels as renyi_levels
from dpjax.inference._normal import frequency_standard_error as frequency_standard_error
from dpjax.inference._normal import kernel_exact_standard_error as kernel_exact_standard_error
from dpjax.inference._normal import kernel_standard_error as kernel_standard_error
from dpjax.inference._normal import normal_lower_bound as normal_lower_bound
from dpjax.inference._planner import Plan as Plan
from dpjax.inference._planner import plan as plan
from dpjax.inference._planner import plan_finite as plan_finite
from dpjax.inference._safety import SafetyCheck as SafetyCheck
from dpjax.inference._safety import SafetyVerdict as SafetyVerdict
from dpjax.inference._safety import plan_safety as plan_safety
from dpjax.inference._safety import safety_check as safety_check
from dpjax.inference._unseen import blind_spot as blind_spot
from dpjax.inference._unseen import unseen_log_rarity as unseen_log_rarity
from dpjax.inference._unseen import unseen_probability as unseen_probability
