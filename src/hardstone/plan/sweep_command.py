"""The command that makes a sweep again, as words of a command line."""

from __future__ import annotations

from hardstone.model import Plan
from hardstone.plan.sweep_request import SweepRequest
from hardstone.units import write_ns


def sweep_words(request: SweepRequest, plan: Plan) -> list[str]:
    """Words after `hardstone` that make `plan` again on the same machine.

    What depends on the machine is written out: threads, priority, loads in their one form.
    """
    sweep = plan.sweep
    words = ["simulate", request.mode]
    given = {
        "--name": request.base.name or None,
        "--masses": request.masses,
        "--threads": None if sweep is None else ",".join(map(str, sweep.threads)),
        "--solver": request.solver,
        "--policy": request.policy,
        "--step": request.step,
        "--rate": request.rate,
        "--stiffness": request.stiffness,
        "--duration": request.duration,
        "--within": None if sweep is None else _time(sweep.within_ns),
        "--points": request.points,
        "--blocks": request.blocks,
        "--frames": request.frames,
        "--target": plan.target,
        "--cpu-config": plan.cpu_config,
        "--cpu": plan.cpu,
        "--priority": plan.priority,
        "--dma-latency": plan.dma_latency_us,
    }
    for name, value in given.items():
        words += [] if value is None else [name, str(value)]
    for load in plan.loads:  # one option each: the options of stress-ng may hold commas
        words += ["--load", load]
    words += [] if request.has_fast else ["--no-fast"]
    words += ["--trace"] if plan.trace else []
    return [*words, "--clock", plan.clock, "--seed", str(plan.seed)]


def _time(value_ns: int) -> str:
    return write_ns(value_ns) if value_ns else "0"
