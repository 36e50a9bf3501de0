"""Limits on the figures of runs and published systems: PASS, FAIL or INCONCLUSIVE."""

from hardstone.gate.against_limits import (
    Suggestion,
    check_limits,
    limits_of_study,
    limits_text,
    suggest_limits,
)
from hardstone.gate.against_run import check_against_runs, more_runs, why_other_system
from hardstone.gate.limits import LIMITS_SCHEMA, Limit, LimitsError, LimitsFile, read_limits
from hardstone.gate.outcome import (
    GATE_SCHEMA,
    Check,
    GateDocument,
    JudgedBy,
    Pair,
    gate_document,
    github_summary,
    junit_xml,
)
from hardstone.gate.pairs import (
    MeasuredPairs,
    PairedRun,
    check_pairs,
    pairs_asked,
    read_measured_pairs,
    run_name,
    why_left_out,
)

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
