"""Facts computed from other facts; left out when those are unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hardstone.model import Scalar

_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
_GROUP = re.compile(r"@([A-Za-z_][\w.-]{0,31})=(\d{1,2})", re.ASCII)
_MOST_CPUS = 65_536


def derive(facts: Mapping[str, Scalar], probe_path: str | None = None) -> dict[str, Scalar]:
    """`facts`, with those computed from them under names that begin with "derived."."""
    return {**facts, **dict(_derived(facts, probe_path))}


def cpus_of(text: Scalar) -> list[int]:
    """CPUs of a list such as "0-3,6", ascending; empty for anything else."""
    found: set[int] = set()
    for part in str(text).split(",") if isinstance(text, str) else ():
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            return []
        first, last = int(match[1]), int(match[2] or match[1])
        if last - first > _MOST_CPUS:
            return []
        found.update(range(first, last + 1))
    return sorted(found)


def _derived(facts: Mapping[str, Scalar], probe_path: str | None) -> Iterator[tuple[str, Scalar]]:
    if probe_path is not None:
        yield "derived.probe_path", probe_path
    allowed = cpus_of(facts.get("cpu.allowed"))
    if allowed:
        # where the probe measures by default
        yield "derived.measuring_cpu", allowed[-1]
        # the default affinity lacks isolated ones; --cpu may name them
        isolated = cpus_of(facts.get("kernel.isolated_cpus"))
        yield "derived.allowed_count", len({*allowed, *isolated})
        if len(allowed) > 1:
            yield "derived.other_cpu", allowed[0]
        if "interrupts.quiet_cpus" in facts:
            quiet = cpus_of(facts["interrupts.quiet_cpus"])
            yield "derived.is_measuring_cpu_quiet", allowed[-1] in quiet
    highest = facts.get("limits.priority_max")
    if isinstance(highest, int):
        yield "derived.measuring_priority", highest - 1
    runtime, period = facts.get("kernel.rt_runtime_us"), facts.get("kernel.rt_period_us")
    if isinstance(runtime, int) and isinstance(period, int) and runtime >= 0 and period > 0:
        yield "derived.realtime_percent", min(100, runtime * 100 // period)
    yield from _group_limits(facts)
    line = facts.get("kernel.cmdline")
    if isinstance(line, str):
        yield "derived.is_lab_guest", any(w.startswith("hardstone.lab=") for w in line.split())
    governors = facts.get("power.governors")
    if isinstance(governors, str):
        yield "derived.governor_count", len(governors.split(","))
    yield from _granting_group(facts)
    yield from _by_release(facts)


def _group_limits(facts: Mapping[str, Scalar]) -> Iterator[tuple[str, Scalar]]:
    """Where a control group is tighter than the system. Without a limit of the system
    (sched_rt_runtime_us -1) the kernel holds no group to its budget."""
    system = _ratio(facts.get("kernel.rt_runtime_us"), facts.get("kernel.rt_period_us"))
    period = facts.get("limits.group_rt_period_us")
    used = _ratio(facts.get("limits.group_rt_runtime_us"), period)
    group, above = facts.get("limits.group_path"), facts.get("limits.group_rt_above_ppm")
    is_lifted = facts.get("kernel.rt_runtime_us") == -1
    if "limits.group_path" in facts and (group is None or is_lifted):
        yield "derived.throttling_group", None
    elif system is not None and used is not None:
        yield "derived.throttling_group", group if used < system else None
    if isinstance(period, int) and isinstance(above, int):
        most = min(above / 1e6, 1.0 if system is None else system)
        yield "derived.group_raised_us", int(most * period)
    file, quota = facts.get("limits.quota_file"), facts.get("limits.quota_us")
    if isinstance(file, str):
        is_second = file.endswith("max")
        every = f" {facts.get('limits.quota_period_us')}" if is_second else ""
        yield "derived.quota_lifted", "max" if is_second else "-1"
        yield "derived.quota_set", f"{quota}{every}"


def _ratio(runtime: Scalar, period: Scalar) -> float | None:
    if not isinstance(runtime, int) or not isinstance(period, int) or runtime < 0 or period <= 0:
        return None
    return runtime / period


def _granting_group(facts: Mapping[str, Scalar]) -> Iterator[tuple[str, Scalar]]:
    """The group with the highest granted priority, unless the user is a member."""
    granted = facts.get("limits.granted_rtprio")
    groups = _GROUP.findall(granted) if isinstance(granted, str) else []
    if groups:
        name, priority = max(groups, key=lambda group: int(group[1]))
        member = str(facts.get("user.groups")).split(",")
        if int(priority) > 0 and name not in member:
            yield "derived.granting_group", name


def _by_release(facts: Mapping[str, Scalar]) -> Iterator[tuple[str, Scalar]]:
    """What differs between releases of Linux and is in no file that every user may read."""
    runtime, period = (facts.get(f"kernel.fair_server_{one}_ns") for one in ("runtime", "period"))
    is_seen = isinstance(runtime, int) and isinstance(period, int) and period > 0
    release = re.match(r"(\d{1,4})\.(\d{1,4})", str(facts.get("kernel.release")), re.ASCII)
    if facts.get("kernel.name") != "Linux" or release is None:
        return
    number = (int(release[1]), int(release[2]))
    # 6.12: a fair server serves starving ordinary tasks; real-time throttling is gone
    yield "derived.has_fair_server", is_seen or number >= (6, 12)
    yield "derived.fair_share", _share(runtime, period)
    # 6.9: other CPUs fetch the timer-wheel timers of an idle CPU ("pull model")
    wheel = "" if number >= (6, 9) else " and those of the timer wheel"
    yield "derived.migrating_timers", f"high-resolution timers{wheel}"


def _share(runtime_ns: Scalar, period_ns: Scalar) -> str:
    """The share in force, else the default of the kernel's source, named as such."""
    if not isinstance(runtime_ns, int) or not isinstance(period_ns, int):
        return "50 ms of each second by default; the value in force cannot be read here"
    return f"{runtime_ns / 1e6:.10g} ms of each {period_ns / 1e6:.10g} ms"
