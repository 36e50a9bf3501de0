"""The request: one test as the argument list that the probe takes."""

from __future__ import annotations

from hardstone.model import PlannedTest
from hardstone.targets.base import RunOptions


def probe_arguments(planned: PlannedTest, options: RunOptions, backing: str | None) -> list[str]:
    """Arguments of `hardstone-probe` that run `planned`; never for a shell."""
    arguments = ["run", planned.test, "--json", "--until-eof"]
    for name, value in planned.params.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        if text:
            arguments += ["-p", f"{name}={text}"]
    if planned.samples or planned.duration_ns:  # else the test takes as long as it takes
        arguments += ["--samples", str(planned.samples)]
        arguments += ["--duration-ns", str(planned.duration_ns)]
    arguments += _conditions(planned)
    arguments += ["--deadline-ns", str(planned.deadline_ns)]
    arguments += ["--policy", options.policy, "--clock", options.clock]
    arguments += ["--seed", str(options.seed)]
    arguments += _optional("--cpu", options.cpu)
    arguments += _optional("--priority", options.priority)
    arguments += _optional("--counter-hz", options.counter_hz)
    arguments += _optional("--dma-latency-us", options.dma_latency_us)
    arguments += ["--trace"] if options.trace else []
    return arguments + ([] if backing is None else ["--backing", backing])


def _conditions(planned: PlannedTest) -> list[str]:
    """What is not the probe's default, so that one without load takes all the rest."""
    arguments = []
    if planned.load != "none":
        arguments += ["--load", planned.load]
    if planned.cpu_config != "shared":
        arguments += ["--cpu-config", planned.cpu_config]
    if planned.settings:
        arguments += ["--settings", ",".join(planned.settings)]
    if planned.preemption is not None:
        arguments += ["--preemption", planned.preemption]
    if planned.folder is not None:
        arguments += ["--dir", planned.folder]
    return arguments


def _optional(option: str, value: int | None) -> list[str]:
    return [] if value is None else [option, str(value)]
