"""Results of audits, each with its provenance and with a recipe that repeats the audit."""

from dpjax.results._build import Finding as Finding
from dpjax.results._build import build as build
from dpjax.results._build import conclude as conclude
from dpjax.results._build import concluded as concluded
from dpjax.results._build import judge as judge
from dpjax.results._build import verdict_of as verdict_of
from dpjax.results._findings import Findings as Findings
from dpjax.results._findings import Row as Row
from dpjax.results._parts import ASSUMPTION_REFUTED as ASSUMPTION_REFUTED
from dpjax.results._parts import DOUBTFUL as DOUBTFUL
from dpjax.results._parts import NO_CLAIM as NO_CLAIM
from dpjax.results._parts import NOT_RANDOM as NOT_RANDOM
from dpjax.results._parts import NOT_REFUTED as NOT_REFUTED
from dpjax.results._parts import REFUTING as REFUTING
from dpjax.results._parts import VIOLATED as VIOLATED
from dpjax.results._parts import Conclusion as Conclusion
from dpjax.results._parts import Observed as Observed
from dpjax.results._parts import Provenance as Provenance
from dpjax.results._parts import Witness as Witness
from dpjax.results._repeats import finding_of_repeats as finding_of_repeats
from dpjax.results._result import AuditResult as AuditResult
from dpjax.results.recipes import as_lists as as_lists
from dpjax.results.recipes import compared as compared
from dpjax.results.recipes import plain_database as plain_database
