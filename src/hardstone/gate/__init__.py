"""Limits on the figures of runs and published systems: PASS, FAIL or INCONCLUSIVE."""

from hardstone.gate.against_limits import check_limits
from hardstone.gate.against_run import check_against_runs, more_runs, why_other_system
from hardstone.gate.against_study import limits_of_study
from hardstone.gate.github_summary import github_summary
from hardstone.gate.junit import junit_xml
from hardstone.gate.limit import Limit
from hardstone.gate.limits_file import LIMITS_SCHEMA, LimitsError, LimitsFile, read_limits
from hardstone.gate.limits_text import limits_text
from hardstone.gate.measured_pairs import MeasuredPairs, pairs_asked, read_measured_pairs, run_name
from hardstone.gate.outcome_document import (
    GATE_SCHEMA,
    Check,
    GateDocument,
    JudgedBy,
    Pair,
    gate_document,
)
from hardstone.gate.pair_values import PairedRun, check_pairs, why_left_out
from hardstone.gate.suggest import Suggestion, suggest_limits

__all__ = [
    "GATE_SCHEMA",
    "LIMITS_SCHEMA",
    "Check",
    "GateDocument",
    "JudgedBy",
    "Limit",
    "LimitsError",
    "LimitsFile",
    "MeasuredPairs",
    "Pair",
    "PairedRun",
    "Suggestion",
    "check_against_runs",
    "check_limits",
    "check_pairs",
    "gate_document",
    "github_summary",
    "junit_xml",
    "limits_of_study",
    "limits_text",
    "more_runs",
    "pairs_asked",
    "read_limits",
    "read_measured_pairs",
    "run_name",
    "suggest_limits",
    "why_left_out",
    "why_other_system",
]
