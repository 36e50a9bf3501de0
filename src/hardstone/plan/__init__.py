"""Plan: what will be run, checked as a whole and without touching the target."""

from hardstone.plan.command import proving_words
from hardstone.plan.condition_options import SHARED, check_load
from hardstone.plan.make import Request, make_plan
from hardstone.plan.mixes import NONE
from hardstone.plan.params import limits_text
from hardstone.plan.preemption_models import Models, booted_models, switched_models
from hardstone.plan.problems import PlanError, Problems
from hardstone.plan.select import battery, find_tests
from hardstone.plan.times import own_time_ns

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
