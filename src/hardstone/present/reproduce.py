"""Commands that repeat a run."""

from __future__ import annotations

import shlex

from hardstone.model import ParamValue, Plan, PlannedTest, Result, RunDocument


def run_command(plan: Plan) -> str:
    """The command that makes `plan` again. For older plans without a stored command it lacks
    duration, samples and parameters."""
    if plan.command:
        return shlex.join(["hardstone", *plan.command])
    tests = list(dict.fromkeys(test.test for test in plan.tests))
    under = _under(plan.loads or [plan.load], plan.cpu_configs or [plan.cpu_config])
    return shlex.join(["hardstone", "run", *tests, "--profile", plan.profile, *_how(plan, under)])


def test_commands(document: RunDocument) -> list[str]:
    """One command for each test, with its parameters, including those that were calibrated or
    taken from earlier results. A test that did not run has the parameters of the plan."""
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
    if test.folder is not None:
        words += ["--dir", test.folder]
    # In plans without a list of loads a test has no condition of its own.
    load, config = (test.load, test.cpu_config) if plan.loads else (plan.load, plan.cpu_config)
    return shlex.join([*words, *_how(plan, _under([load], [config]))])


def _under(loads: list[str], configs: list[str]) -> list[str]:
    """One option for each load: options of stress-ng may contain commas."""
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
    if plan.trace:
        words.append("--trace")
    if plan.preemption_models:
        words.append("--compare-preemption")
    return [*words, "--clock", plan.clock, "--seed", str(plan.seed)]


def _value(value: ParamValue) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
