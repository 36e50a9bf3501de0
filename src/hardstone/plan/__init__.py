"""Plan: what will be run, checked in one go and without touching the target."""

from hardstone.plan.loads import NONE, SHARED
from hardstone.plan.make import Request, make_plan
from hardstone.plan.params import limits_text
from hardstone.plan.problems import PlanError
from hardstone.plan.select import battery, find_tests

__all__ = [
    "NONE",
    "SHARED",
    "PlanError",
    "Request",
    "battery",
    "find_tests",
    "limits_text",
    "make_plan",
]
