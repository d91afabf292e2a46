"""Results: what was found, with provenance and what is needed to do it again."""

from dpjax.results._build import Finding as Finding
from dpjax.results._build import build as build
from dpjax.results._plain import plain_database as plain_database
from dpjax.results._result import AuditResult as AuditResult
from dpjax.results._result import Witness as Witness
