"""The head of a run: what was measured, where, how far it can be trusted; and the commands that
repeat it.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from hardstone.model import (
    Conditions,
    Instrument,
    ParamValue,
    Plan,
    PlannedTest,
    Result,
    RunDocument,
    RunStatus,
)
from hardstone.present.notices import idle_remark
from hardstone.stats.conditions import NOT_KNOWN, config_text
from hardstone.stats.consistency import MARK
from hardstone.stats.identity import duration_problem
from hardstone.stats.trust import has_run, lacking_text, stopped_least_ns
from hardstone.units import format_ns, format_span
from hardstone.wording import kernel_text, target_text


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


_LOCKED = "memory locked"
_IDLE = "idle states allowed"


def headline(document: RunDocument) -> list[str]:
    """Run, state, machine, kernel, conditions, and the instrument if it is known."""
    lines = [
        f"{document.id}  {document.name}",
        state_text(document),
        target_text(document),
        kernel_text(document.system),
        conditions_text(document),
    ]
    return [*lines, instrument_text(document.instrument)] if document.instrument else lines


def state_text(document: RunDocument, *, has_start: bool = True) -> str:
    """Status, start (omitted where the ID shows it), and the total measuring time."""
    spent_ns = sum(result.duration_ns for result in document.results)
    is_wrong = any(duration_problem(result.duration_ns) for result in document.results)
    mark = MARK if is_wrong else ""
    started = f"{moment_text(document.started_utc)}, " if has_start else ""
    spent = f"{format_span(spent_ns)}{mark} of measuring"
    stopped_ns = sum(map(stopped_least_ns, document.results))
    if stopped_ns > 0:
        spent += f" ({format_span(stopped_ns)} or more of it stopped)"
    return f"{status_text(document)}, {started}{spent}"


def status_text(document: RunDocument) -> str:
    results = document.results
    return status_words(document.status, lacking_text(results), len(results))


def status_words(status: RunStatus, lacking: str, tests: int) -> str:
    """The status of a run; of one that came to its end how many of its tests did not: "2 failed of
    3". `lacking` as `lacking_text` says it."""
    return f"{lacking} of {tests}" if status == "complete" and lacking else status


def moment_text(utc: str | None) -> str:
    """Date and time: "2026-11-23 03:32:03 UTC"; empty if unknown."""
    if not utc:
        return ""
    return utc.replace("T", " ").removesuffix("Z").removesuffix("+00:00") + " UTC"


def conditions_text(document: RunDocument, *, is_brief: bool = False) -> str:
    """How the tests ran. A value that not all of them share is followed by its count.

    `is_brief` leaves out that memory was locked, as it should be.
    """
    text = _ran_text(document, is_brief=is_brief)
    repeat = repeat_text(document)
    return f"{text}, repeat {repeat}" if repeat else text


def repeat_text(document: RunDocument) -> str:
    """Which of several runs of one plan it is: "3 of 10"; empty if it was asked for once."""
    repeat = document.plan.repeat
    return f"{repeat.number} of {repeat.count}" if repeat is not None else ""


def _ran_text(document: RunDocument, *, is_brief: bool) -> str:
    # A truncated stream does not report its conditions.
    results = [
        one
        for one in document.results
        if has_run(one) and (one.complete or one.status == "measured")
    ]
    ran = [one.conditions for one in results]
    if not ran:
        is_empty = not any(one.series or one.verdicts for one in document.results)
        state = "nothing was measured" if is_empty else "how the tests ran is not known"
        return f"load {document.plan.load}, CPUs {document.plan.cpu_config}, {state}"
    kinds = zip(*(_one_condition(conditions) for conditions in ran), strict=True)
    parts = [_most_common(texts) for texts in kinds]
    parts += _idle_texts(results)
    left_out = {"", _LOCKED} if is_brief else {""}
    how = ", ".join(part for part in parts if part not in left_out)
    loads = list(dict.fromkeys(conditions.load or NOT_KNOWN for conditions in ran))
    under: dict[str, list[Conditions]] = {}
    for conditions in ran:
        under.setdefault(conditions.cpu_config or NOT_KNOWN, []).append(conditions)
    configs = [config_text(*alike) for alike in under.values()]
    models = list(dict.fromkeys(one.preemption for one in ran if one.preemption))
    switched = f", preemption {', '.join(models)}" if models else ""
    return f"{how}, load {', '.join(loads)}, CPUs {', '.join(configs)}{switched}"


def result_conditions_text(conditions: Conditions) -> str:
    """The conditions of one result: "load heavy, CPUs shared, CPU 1, policy fifo 98"."""
    return ", ".join(
        (
            f"load {conditions.load or NOT_KNOWN}",
            f"CPUs {config_text(conditions)}",
            *([f"preemption {conditions.preemption}"] if conditions.preemption else []),
            cpu_text(conditions),
            policy_text(conditions),
        )
    )


def _most_common(texts: Sequence[str]) -> str:
    text, count = Counter(texts).most_common(1)[0]
    return text if count == len(texts) or not text else f"{text} ({count} of {len(texts)})"


def _one_condition(conditions: Conditions) -> tuple[str, ...]:
    return policy_text(conditions), cpu_text(conditions), memory_text(conditions)


def _idle_texts(results: Sequence[Result]) -> list[str]:
    """Which idle states were allowed; of tests that hold no exit from one, only a bound is said."""
    found = Counter(text for one in results if (text := _idle_text(one)))
    if list(found) == [_IDLE]:
        return [_IDLE]
    return [
        text if count == len(results) else f"{text} ({count} of {len(results)})"
        for text, count in found.items()
    ]


def _idle_text(result: Result) -> str:
    held = result.conditions.dma_latency_us
    if held is not None:
        return f"cpu_dma_latency {held} us"
    return _IDLE if idle_remark(result) else ""


def cpu_text(conditions: Conditions) -> str:
    """ "CPU 1", "not bound to a CPU", "CPU not known"."""
    if conditions.cpu is not None:
        return f"CPU {conditions.cpu}"
    # A probe that reports its scheduling reports a CPU whenever it is bound to one.
    return f"CPU {NOT_KNOWN}" if conditions.policy is None else "not bound to a CPU"


def policy_text(conditions: Conditions) -> str:
    """ "policy fifo 98", "policy other", "policy not known"."""
    policy, priority = conditions.policy or NOT_KNOWN, conditions.priority
    # Time-shared policies have no priority; old documents say 0.
    return f"policy {policy} {priority}" if priority else f"policy {policy}"


def memory_text(conditions: Conditions) -> str:
    if conditions.memory_locked is None:
        return "memory lock not known"
    return _LOCKED if conditions.memory_locked else "memory not locked"


def instrument_text(instrument: Instrument) -> str:
    """The clock, the cost of a pair of time stamps, and why the clock is not trusted."""
    pair = instrument.pair
    text = (
        f"clock {instrument.clock}: a pair of time stamps costs {format_ns(pair.median)} "
        f"(median), {format_ns(pair.max)} (worst observed)"
    )
    why = f"; not trusted: {instrument.reason}" if not instrument.trusted else ""
    return text + why
