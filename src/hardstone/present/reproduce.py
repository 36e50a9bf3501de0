"""A run as commands that do the same again."""

from __future__ import annotations

import shlex

from hardstone.model import ParamValue, Plan, PlannedTest, Result, RunDocument
from hardstone.older.old_loads import is_of_today


def run_command(plan: Plan) -> str:
    """The command that makes `plan` again. Plans from before they held it lose duration, samples
    and parameters."""
    if plan.command:
        return shlex.join(["hardstone", *plan.command])
    tests = list(dict.fromkeys(test.test for test in plan.tests))
    under = _under(plan.loads or [plan.load], plan.cpu_configs or [plan.cpu_config])
    return shlex.join(["hardstone", "run", *tests, "--profile", plan.profile, *_how(plan, under)])


def has_commands(plan: Plan) -> bool:
    """Whether there is a load today for each of the plan."""
    return all(map(is_of_today, [plan.load, *plan.loads]))


def test_commands(document: RunDocument) -> list[str]:
    """One command for each test, with the parameters that it had: those that it was given from
    results before it, or calibrated, too. A test that did not run has those of the plan."""
    plan, results = document.plan, document.results
    had = [_had(result) for result in results] + [{}] * (len(plan.tests) - len(results))
    return [_test_command(plan, test, one) for test, one in zip(plan.tests, had, strict=False)]


def _had(result: Result) -> dict[str, ParamValue]:
    return {**result.params, **result.calibrated}


def _test_command(plan: Plan, test: PlannedTest, had: dict[str, ParamValue]) -> str:
    words = ["hardstone", "run", test.test]
    if test.samples:
        words += ["--samples", str(test.samples)]
    if test.duration_ns:
        words += ["--duration", f"{test.duration_ns}ns"]
    for name, value in {**test.params, **had}.items():
        words += ["-p", f"{name}={_value(value)}"]
    # In runs from before loads a planned test has no condition of its own.
    load, config = (test.load, test.cpu_config) if plan.loads else (plan.load, plan.cpu_config)
    return shlex.join([*words, *_how(plan, _under([load], [config]))])


def _under(loads: list[str], configs: list[str]) -> list[str]:
    """Each load by an option of its own: the options of stress-ng may hold commas."""
    words = [word for load in loads for word in ("--load", load)]
    return [*words, "--cpu-config", ",".join(configs)]


def _how(plan: Plan, under: list[str]) -> list[str]:
    words = ["--target", plan.target, *under]
    if plan.cpu is not None:
        words += ["--cpu", str(plan.cpu)]
    words += ["--policy", plan.policy]
    if plan.priority is not None:
        words += ["--priority", str(plan.priority)]
    if plan.dma_latency_us is not None:
        words += ["--dma-latency", str(plan.dma_latency_us)]
    return [*words, "--clock", plan.clock, "--seed", str(plan.seed)]


def _value(value: ParamValue) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
