"""Every rule on the facts of one machine: found, fine, or unknown. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

import msgspec

from hardstone.doctor.rules import (
    DOCTOR_SCHEMA,
    Diagnosis,
    Finding,
    Rule,
    Rules,
    State,
    Step,
    StepRule,
    Truth,
    evaluate,
    facts_used,
    fill,
    fill_command,
    load_rules,
    names_in,
)
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


LEVELS = ("blocks", "hurts", "note")
_VERBS = ("args", "remove-args")
_PLAIN_OPTION = re.compile(r"[A-Za-z0-9_.,=: -]+", re.ASCII)
_RIGHT_RULE, _GROUP_RULE = "realtime-priority", "group-budget"
_GUEST_WORDS = (
    "boot the guest with {option}: end the target's name with ,append={option} (or give --append)"
)
_GUEST_FORGETS = (
    "nothing to type: a guest of the lab boots anew for each command, and this is no option of its "
    "boot line"
)
_ON_THE_HOST = "on the host, not in the container"
_BOOT_WORDS = "add {option} to the boot line of the kernel, in the configuration of its boot loader"


def diagnose(
    facts: Mapping[str, Scalar],
    *,
    target: str = "local",
    probe_version: str = "",
    probe_path: str | None = None,
    rules: Rules | None = None,
) -> Diagnosis:
    """Judges a machine with `facts` by every rule: found, fine or unknown."""
    known = derive(facts, probe_path)
    every = load_rules() if rules is None else rules
    findings = [judge(name, rule, known) for name, rule in every.items()]
    counts = {
        level: sum(one.state == "found" and one.level == level for one in findings)
        for level in LEVELS
    }
    counts |= {state: sum(one.state == state for one in findings) for state in ("fine", "unknown")}
    return Diagnosis(
        schema=DOCTOR_SCHEMA,
        target=target,
        probe_version=probe_version,
        conclusion=(
            f"{counts['blocks']} block, {counts['hurts']} hurt, {counts['note']} "
            f"note{'' if counts['note'] == 1 else 's'}, "
            f"{counts['fine']} fine, {counts['unknown']} unknown"
        ),
        counts=counts,
        findings=findings,
    )


def realtime_refusal(facts: Mapping[str, Scalar], probe_path: str | None = None) -> Finding | None:
    """What refused real-time scheduling, and the steps that grant it; None if it was granted.

    Whoever speaks of a refusal shows this finding: the doctor, a run's screen and its report.
    """
    known, rules = derive(facts, probe_path), load_rules()
    if known.get("limits.can_realtime") is not False:
        return None
    of_group = judge(_GROUP_RULE, rules[_GROUP_RULE], known)
    is_group = known.get("limits.realtime_cause") == "group_budget" and of_group.state == "found"
    return of_group if is_group else judge(_RIGHT_RULE, rules[_RIGHT_RULE], known)


def blocks(diagnosis: Diagnosis) -> bool:
    """Whether a finding rules out real-time work."""
    return diagnosis.counts["blocks"] > 0


def advice_lines(diagnosis: Diagnosis) -> list[str]:
    """One short line for each finding that blocks or hurts, then the next step."""
    lines = [
        f"{found.level}: {found.title} ({found.rule})"
        for level in ("blocks", "hurts")
        for found in diagnosis.findings
        if found.state == "found" and found.level == level
    ]
    return [*lines, f"what to type: {doctor_command(diagnosis.target)}"] if lines else []


def doctor_command(target: str, *words: str) -> str:
    """The command that asks the doctor about `target`."""
    place = () if target == "local" else ("--target", target)
    return shlex.join(("hardstone", "doctor", *words, *place))


def prove_command(name: str, target: str) -> str:
    """The command that measures the rule `name` on `target`; root may switch all of its settings,
    which the probe is in a guest."""
    command = doctor_command(target, "--prove", name)
    return f"sudo {command}" if target == "local" else command


def why_no_switch(rule: Rule, facts: Mapping[str, Scalar]) -> str | None:
    """Why the settings of `rule` cannot change anything here; None when they may."""
    known = derive(facts)
    met = (one.says for one in rule.cannot if evaluate(one.when, known) is True)
    return next((fill(says, known) for says in met), None)


def judge(name: str, rule: Rule, facts: Mapping[str, Scalar]) -> Finding:
    """Judges by one rule; `facts` include the derived ones."""
    state = _state(evaluate(rule.found, facts), rule, facts)
    texts = {"found": rule.says, "fine": rule.says_fine, "unknown": rule.unknown}
    used = list(dict.fromkeys([*facts_used(rule.found), *facts_used(rule.fine)]))
    shown = [*used, *(names_in(texts[state]))]
    return Finding(
        rule=name,
        title=rule.title,
        level=rule.level,
        state=state,
        found=fill(texts[state], facts),
        why=rule.why,
        steps=_steps(name, rule, facts) if state == "found" else [],
        brings=rule.brings,
        settings=list(rule.settings),
        facts={one: facts[one] for one in dict.fromkeys(shown) if one in facts},
        missing=[one for one in used if one not in facts],
    )


def _state(found: Truth, rule: Rule, facts: Mapping[str, Scalar]) -> State:
    if found:
        return "found"
    is_fine = found is False and (rule.fine is None or evaluate(rule.fine, facts) is True)
    return "fine" if is_fine else "unknown"


def _steps(name: str, rule: Rule, facts: Mapping[str, Scalar]) -> list[Step]:
    """The steps that apply to this machine."""
    steps = [
        step
        for one in rule.steps
        if one.when is None or evaluate(one.when, facts) is True
        if (step := _step(name, one, facts)) is not None
    ]
    if facts.get("derived.is_lab_guest"):  # a command would change the machine of whoever types it
        told = [step for step in steps if step.command is None]
        return told or [Step(words=_GUEST_FORGETS)] * bool(steps)
    is_root = facts.get("user.effective_id") == 0
    return [_without_sudo(step) if is_root and not _is_of_host(step) else step for step in steps]


def _is_of_host(step: Step) -> bool:
    return step.lasts.startswith(_ON_THE_HOST)


def _step(name: str, rule: StepRule, facts: Mapping[str, Scalar]) -> Step | None:
    """None when the step needs an unknown fact."""
    lasts = rule.lasts and fill(rule.lasts, facts)
    if rule.words is not None:
        return Step(words=fill(rule.words, facts), lasts=lasts)
    if rule.boot is not None:
        option = fill_command(rule.boot, facts)
        is_plain = option is not None and _PLAIN_OPTION.fullmatch(option)
        return _boot_step(name, option, facts) if option and is_plain else None
    command, undo = (fill_command(text or "", facts) for text in (rule.command, rule.undo))
    if command is None or undo is None:
        return None
    if not rule.local and facts.get("virtual.container") is not None:
        lasts = "; ".join(filter(None, (_ON_THE_HOST, lasts)))
    return Step(command=command, undo=undo or None, lasts=lasts)


def _boot_step(name: str, option: str, facts: Mapping[str, Scalar]) -> Step:
    if facts.get("derived.is_lab_guest"):
        return Step(words=_GUEST_WORDS.format(option=option))
    tool = facts.get("os.boot_tool")
    if tool == "grubby":
        change, undo = (f"sudo grubby --update-kernel=ALL --{verb}='{option}'" for verb in _VERBS)
        return Step(command=change, undo=undo, needs_reboot=True, lasts="until it is undone")
    if tool == "update-grub":
        place = f"/etc/default/grub.d/hardstone-{name}.cfg"
        line = f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {option}"'
        return Step(
            command=f"echo '{line}' | sudo tee {place} && sudo update-grub",
            undo=f"sudo rm {place} && sudo update-grub",
            needs_reboot=True,
            lasts="until it is undone",
        )
    return Step(words=_BOOT_WORDS.format(option=option), needs_reboot=True)


def _without_sudo(step: Step) -> Step:
    """Root needs no sudo, and small systems have none."""
    texts = {name: getattr(step, name) for name in ("command", "words", "undo", "lasts")}
    plain = {name: text and text.replace("sudo ", "") for name, text in texts.items()}
    return msgspec.structs.replace(step, **plain)
