"""Plan: what will be run, checked as a whole and without touching the target."""

from hardstone.plan.make import Request, make_plan, own_time_ns, proving_words
from hardstone.plan.params import (
    NONE,
    SHARED,
    PlanError,
    Problems,
    battery,
    check_load,
    find_tests,
    limits_text,
)

__all__ = [
    "NONE",
    "SHARED",
    "PlanError",
    "Problems",
    "Request",
    "battery",
    "check_load",
    "find_tests",
    "limits_text",
    "make_plan",
    "own_time_ns",
    "proving_words",
]
