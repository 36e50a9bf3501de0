"""The plan of a run as commands that do the same again."""

from __future__ import annotations

import shlex

from hardstone.model import ParamValue, Plan, PlannedTest


def run_command(plan: Plan) -> str:
    """One command for the whole plan: the same tests, profile and conditions."""
    tests = list(dict.fromkeys(test.test for test in plan.tests))
    return _joined(["hardstone", "run", *tests, "--profile", plan.profile, *_conditions(plan)])


def test_commands(plan: Plan) -> list[str]:
    """One command for each planned test, with every parameter filled in."""
    return [_test_command(plan, test) for test in plan.tests]


def _test_command(plan: Plan, test: PlannedTest) -> str:
    words = ["hardstone", "run", test.test]
    if test.samples:
        words += ["--samples", str(test.samples)]
    if test.duration_ns:
        words += ["--duration", f"{test.duration_ns}ns"]
    for name, value in test.params.items():
        words += ["-p", f"{name}={_value(value)}"]
    return _joined([*words, *_conditions(plan)])


def _conditions(plan: Plan) -> list[str]:
    words = ["--target", plan.target, "--load", plan.load, "--cpu-config", plan.cpu_config]
    if plan.cpu is not None:
        words += ["--cpu", str(plan.cpu)]
    words += ["--policy", plan.policy]
    if plan.priority is not None:
        words += ["--priority", str(plan.priority)]
    return [*words, "--clock", plan.clock, "--seed", str(plan.seed)]


def _value(value: ParamValue) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _joined(words: list[str]) -> str:
    return shlex.join(words)
