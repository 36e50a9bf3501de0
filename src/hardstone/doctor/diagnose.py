"""From facts to findings. Pure: the same facts always give the same findings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

import msgspec

from hardstone.doctor.derive import derive
from hardstone.doctor.diagnosis import DOCTOR_SCHEMA, Diagnosis, Finding, State, Step
from hardstone.doctor.placeholders import fill, fill_command, names_in
from hardstone.doctor.predicate import Truth, evaluate, facts_used
from hardstone.doctor.rules import Rule, Rules, StepRule, load_rules
from hardstone.model import Scalar

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
