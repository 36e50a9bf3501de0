"""Is a machine fit for real-time work? Rules over the facts that a probe reports; pure."""

from __future__ import annotations

from hardstone.doctor.diagnose import (
    DOCTOR_SCHEMA,
    Diagnosis,
    Finding,
    Rule,
    Step,
    advice_lines,
    blocks,
    diagnose,
    doctor_command,
    find_rule,
    load_rules,
    prove_command,
    realtime_refusal,
    why_no_switch,
)

__all__ = [
    "DOCTOR_SCHEMA",
    "Diagnosis",
    "Finding",
    "Rule",
    "Step",
    "advice_lines",
    "blocks",
    "diagnose",
    "doctor_command",
    "find_rule",
    "load_rules",
    "prove_command",
    "realtime_refusal",
    "why_no_switch",
]
