"""Plan: what will be run, checked as a whole and without touching the target."""

from hardstone.plan.loads import NONE, SHARED, check_load
from hardstone.plan.make import Request, make_plan, own_time_ns, proving_words
from hardstone.plan.params import PlanError, Problems, battery, find_tests, limits_text
from hardstone.preemption.models import Models, booted_models, switched_models

__all__ = [
    "NONE",
    "SHARED",
    "Models",
    "PlanError",
    "Problems",
    "Request",
    "battery",
    "booted_models",
    "check_load",
    "find_tests",
    "limits_text",
    "make_plan",
    "own_time_ns",
    "proving_words",
    "switched_models",
]
