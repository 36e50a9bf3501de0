"""The command that makes a plan again, as words of a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hardstone.model import Plan
from hardstone.units import write_ns


def measuring_words(
    plan: Plan,
    *,
    tests: Sequence[str],
    name: str,
    samples: int | None,
    duration_ns: int | None,
    params: Mapping[str, str],
    is_recording: bool = False,
    folder: str | None = None,
) -> list[str]:
    """Words after `hardstone` that make `plan` again on the same machine.

    `tests`, `name` and `params` are those of the request. Resolved values come from `plan`: loads
    in their one form, the number of priority "max". Defaults are written out, because a later
    version may have others.
    """
    words = ["evaluate"] if tuple(tests) == ("*",) else ["run", *tests]
    if is_recording:
        words = ["latstat"]
    words += _option("--name", name or None)
    words += [] if is_recording else ["--profile", plan.profile]
    words += ["--target", plan.target]
    words += _option("--samples", samples)
    words += _option("--duration", None if duration_ns is None else write_ns(duration_ns))
    for key, text in params.items():
        words += ["--param" if is_recording else "-p", f"{key}={text}"]
    for load in plan.loads:  # one option each: the options of stress-ng may hold commas
        words += ["--load", load]
    words += ["--cpu-config", plan.cpu_config]
    words += _option("--cpu", plan.cpu)
    words += ["--policy", plan.policy]
    words += _option("--priority", plan.priority)
    words += _option("--dma-latency", plan.dma_latency_us)
    words += _option("--dir", folder)
    words += ["--trace"] if plan.trace else []
    words += ["--compare-preemption"] if plan.preemption_models else []
    if plan.watched_ns is not None:
        words += ["--threshold", write_ns(plan.watched_ns), "--go-on"]
    return [*words, "--clock", plan.clock, "--seed", str(plan.seed)]


def proving_words(plan: Plan, rule: str, pairs: int) -> list[str]:
    """Words after `hardstone` that prove `rule` again; `plan` holds one test in `pairs` pairs."""
    one = plan.tests[0]
    words = ["doctor", "--prove", rule, "--pairs", str(pairs), "--test", one.test]
    words += ["--duration", write_ns(one.duration_ns), "--load", one.load]
    return [*words, "--target", plan.target, "--seed", str(plan.seed)]


def _option(name: str, value: str | int | None) -> list[str]:
    return [] if value is None else [name, str(value)]
