"""The rules of the doctor, and every rule on the facts of one machine: found, fine, or unknown.
Pure.

A comparison is unknown when its fact is missing or of a type that cannot be compared. `all` and
`any` follow Kleene's logic: "false and unknown" is false, "true or unknown" is true, any other
combination with an unknown part is unknown. So a missing fact never leads to a conclusion.
"""

from __future__ import annotations

import difflib
import re
import shlex
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from math import inf, isnan
from typing import Literal

import msgspec

from hardstone.errors import InputError, printable
from hardstone.model import Scalar, SelfTest
from hardstone.sources import cpus_of
from hardstone.units import format_ns

DOCTOR_SCHEMA = "hardstone.doctor/1"

Level = Literal["blocks", "hurts", "note"]
State = Literal["found", "fine", "unknown"]


class Step(msgspec.Struct, kw_only=True, frozen=True):
    """One thing to do: a command or, when `command` is null, instructions in words.

    `undo` is the command that reverts it. `lasts` says how long it stays in force.
    """

    command: str | None = None
    words: str = ""
    undo: str | None = None
    needs_reboot: bool = False
    lasts: str = ""


class PublishedEffect(msgspec.Struct, kw_only=True, frozen=True):
    """The published effect of a change, and who measured it.

    `is_history`: measured on a system of another time. It shows the kind of effect, not its size
    on this machine.
    """

    text: str
    source: str
    is_history: bool = False


def brings_texts(brings: PublishedEffect | None, settings: Sequence[str]) -> list[tuple[str, str]]:
    """The effect of a change as labels and texts; old systems are labelled "history"."""
    published = f"{brings.text} ({brings.source})" if brings else ""
    if brings is not None and not brings.is_history:
        return [("effect", published)]
    here = "not known; measure it" if settings else "not known"
    return [("effect", here), *([("history", published)] if published else [])]


class Finding(msgspec.Struct, kw_only=True):
    """One rule on one machine.

    `facts` are the known facts that the rule compares or quotes, `missing` the unknown ones.
    `found` says in every state what was seen. `steps` are for state "found" only. `relieves`: the
    causes of late values (stats/causes.py) that the change would take away.
    """

    rule: str
    title: str
    level: Level
    state: State
    found: str
    why: str
    steps: list[Step] = []
    brings: PublishedEffect | None = None
    settings: list[str] = []
    relieves: list[str] = []
    facts: dict[str, Scalar] = {}
    missing: list[str] = []


class Diagnosis(msgspec.Struct, kw_only=True):
    """All rules on one machine; `counts` has blocks, hurts, note, fine and unknown."""

    schema: str
    target: str
    probe_version: str
    conclusion: str
    counts: dict[str, int]
    findings: list[Finding]


_NAME = re.compile(r"\{([a-z]+\.[a-z_]+)\}")
_MOST_CHARACTERS = 240
_READ_AGAIN = ("-c", "eval")


def fill(text: str, facts: Mapping[str, Scalar]) -> str:
    """`text` with each `{fact}` replaced by its value, or by "(unknown)"."""
    return _replace(text, facts, spoken)


def fill_command(text: str, facts: Mapping[str, Scalar]) -> str | None:
    """The same for a shell command; None when a fact is unknown or null."""
    if any(facts.get(name) is None for name in names_in(text)):
        return None
    return _replace(text, facts, lambda value: shlex.quote(spoken(value)))


def keeps_facts_whole(text: str) -> bool:
    """Whether each fact in a command stays one word, or part of one, whatever its value.

    It does not inside quotes, which the quotes of the value would close, nor in text that another
    shell parses again.
    """
    odd = "'; a \" $(b) `c`"
    try:
        words = shlex.split(text)
        found = shlex.split(_NAME.sub(shlex.quote(odd), text))
    except ValueError:
        return False
    is_read_again = any(
        before in _READ_AGAIN and names_in(word) for before, word in pairwise(words)
    )
    return not is_read_again and found == [_NAME.sub(odd, word) for word in words]


def names_in(text: str) -> list[str]:
    """Names of the facts that `text` quotes."""
    return _NAME.findall(text)


def spoken(value: Scalar) -> str:
    """One value as a short line without control characters."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    line = " ".join("".join(map(_plain, str(value))).split())
    return line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 3] + "..."


def _plain(character: str) -> str:
    if character in "\n\t":
        return " "
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")
    return "?" if hidden else character


def _replace(text: str, facts: Mapping[str, Scalar], shown: Callable[[Scalar], str]) -> str:
    def value(match: re.Match[str]) -> str:
        return shown(facts[match[1]]) if match[1] in facts else "(unknown)"

    return _NAME.sub(value, text)


Facts = Mapping[str, Scalar]
Truth = bool | None


class Predicate(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Either one comparison of a fact, or one combination of predicates.

    `above`, `below` and `at_least` take a number or the name of another fact; "unlimited"
    is above every number. `one_of`: the fact's text is one of these. `has`: the fact's list,
    separated by commas or spaces, holds this word. `null`: the fact is known to be null.
    `known`: the fact is there, null or not; this comparison is never unknown.
    """

    fact: str | None = None
    equals: bool | int | str | None = None
    one_of: list[str] | None = None
    has: str | None = None
    above: int | str | None = None
    below: int | str | None = None
    at_least: int | str | None = None
    null: bool | None = None
    known: bool | None = None
    all: list[Predicate] | None = None
    any: list[Predicate] | None = None
    negate: Predicate | None = msgspec.field(name="not", default=None)

    def __post_init__(self) -> None:
        tests = (self.equals, self.one_of, self.has, self.above, self.below)
        more = (self.at_least, self.null, self.known)
        compared = sum(one is not None for one in (*tests, *more))
        joined = sum(one is not None for one in (self.all, self.any, self.negate))
        if (self.fact is None) != (compared == 0) or compared + joined != 1:
            raise ValueError("a predicate compares one fact once, or combines predicates once")


def evaluate(predicate: Predicate, facts: Facts) -> Truth:
    """Whether `predicate` holds; None when it is unknown."""
    if predicate.all is not None:
        return _all([evaluate(one, facts) for one in predicate.all])
    if predicate.any is not None:
        return _inverse(_all([_inverse(evaluate(one, facts)) for one in predicate.any]))
    if predicate.negate is not None:
        return _inverse(evaluate(predicate.negate, facts))
    return _compare(predicate, facts)


def facts_used(predicate: Predicate | None) -> Iterator[str]:
    """Names of the facts that `predicate` compares, each once."""
    yield from dict.fromkeys(_names(predicate))


def _names(predicate: Predicate | None) -> Iterator[str]:
    if predicate is None:
        return
    if predicate.fact is not None:
        yield predicate.fact
    for limit in (predicate.above, predicate.below, predicate.at_least):
        if isinstance(limit, str):
            yield limit
    for part in (*(predicate.all or ()), *(predicate.any or ()), predicate.negate):
        yield from _names(part)


def _all(parts: Sequence[Truth]) -> Truth:
    if any(part is False for part in parts):
        return False
    return None if any(part is None for part in parts) else True


def _inverse(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _compare(predicate: Predicate, facts: Facts) -> Truth:
    name = predicate.fact or ""
    if predicate.known is not None:
        return (name in facts) == predicate.known
    if name not in facts:
        return None
    value = facts[name]
    if predicate.null is not None:
        return (value is None) == predicate.null
    if all(one is None for one in (predicate.equals, predicate.one_of, predicate.has)):
        return _beyond(predicate, value, facts)
    return _matches(predicate, value)


def _matches(predicate: Predicate, value: Scalar) -> Truth:
    """False for a null fact; unknown for a type that cannot be compared."""
    if value is None:
        return False
    if predicate.equals is not None:
        return value == predicate.equals if type(value) is type(predicate.equals) else None
    if not isinstance(value, str):
        return None
    words = value.replace(",", " ").split()
    return predicate.has in words if predicate.one_of is None else value in predicate.one_of


def _beyond(predicate: Predicate, value: Scalar, facts: Facts) -> Truth:
    number = _number(value)
    limit = _limit(predicate.above, facts)
    if number is not None and limit is not None:
        return number > limit
    limit = _limit(predicate.below, facts)
    if number is not None and limit is not None:
        return number < limit
    limit = _limit(predicate.at_least, facts)
    return None if number is None or limit is None else number >= limit


def _limit(limit: int | str | None, facts: Facts) -> float | None:
    return _number(facts.get(limit)) if isinstance(limit, str) else _number(limit)


def _number(value: Scalar) -> float | None:
    if value == "unlimited":
        return inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return None if isnan(value) else value


class StepRule(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A step as data: exactly one of `command`, `boot` and `words`.

    `boot` is an option of the boot line; how to add it depends on the machine. A step is left out
    when its texts name an unknown fact or its `when` is not certainly true. `undo` is empty when
    no command reverts the step; `lasts` then says how it ends. A `local` command also works in a
    container; others change the kernel that the container shares with its host.
    """

    command: str | None = None
    boot: str | None = None
    words: str | None = None
    undo: str | None = None
    lasts: str = ""
    local: bool = False
    when: Predicate | None = None

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.command, self.boot, self.words)) != 1:
            raise ValueError("a step needs exactly one of command, boot and words")
        if self.command is not None and self.undo is None:
            raise ValueError("a command needs an undo")
        if not all(keeps_facts_whole(one) for one in (self.command, self.undo) if one):
            raise ValueError("a fact in a command must stand outside of quotes")


class Obstacle(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """When `when` certainly holds, switching the setting is impossible or has no effect; `says`
    gives the reason."""

    when: Predicate
    says: str


class Rule(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One rule. `{fact}` in its texts is replaced by the value of the fact.

    The state is "found" when `found` holds. When it does not hold, the state is "fine" if `fine`
    holds or is absent. In every other case it is "unknown". `settings` are the probe's settings
    that switch the subject of the rule at run time (`--prove`); `cannot` lists what prevents
    that. A rule without settings says why in `fixed`.
    """

    title: str
    topic: str
    level: Level
    found: Predicate
    fine: Predicate | None = None
    says: str
    says_fine: str
    unknown: str
    why: str
    steps: list[StepRule]
    brings: PublishedEffect | None = None
    settings: list[str] = []
    relieves: list[str] = []
    fixed: str = ""
    cannot: list[Obstacle] = []

    def __post_init__(self) -> None:
        if bool(self.settings) == bool(self.fixed):
            raise ValueError("a rule needs either settings or fixed, which says why there are none")
        if bool(self.settings) != bool(self.cannot):
            raise ValueError("a rule has settings and cannot, or neither")
        if names_in(self.why + self.title + self.fixed):
            raise ValueError(
                "why, title and fixed must not name facts: they are the same on every machine"
            )


Rules = dict[str, Rule]


def parse_rules(text: str) -> Rules:
    """Rules from TOML, in its order. ValueError when the data is faulty."""
    return msgspec.convert(tomllib.loads(text), Rules)


@cache
def load_rules() -> Rules:
    """The rules that are part of hardstone, by their names."""
    return parse_rules(
        resources.files("hardstone.doctor").joinpath("rules.toml").read_text("utf-8")
    )


def find_rule(name: str) -> tuple[str, Rule]:
    """The rule called `name`, in any case. InputError, with the nearest name, if there is none."""
    rules = load_rules()
    wanted = name.strip().lower()
    if wanted in rules:
        return wanted, rules[wanted]
    shown = printable(name)[:40]
    close = difflib.get_close_matches(wanted[:80], rules, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]}?" if close else "see every rule: hardstone doctor --all"
    raise InputError(f"there is no rule '{shown}'", hint)


_MOST_SEEN = 2000  # characters of what a self-test found: a target is not trusted
_GROUP = re.compile(r"@([A-Za-z_][\w.-]{0,31})=(\d{1,2})", re.ASCII)


def derive(facts: Mapping[str, Scalar], probe_path: str | None = None) -> dict[str, Scalar]:
    """`facts`, with those computed from them under names that begin with "derived."."""
    return {**facts, **dict(_derived(facts, probe_path))}


def selftest_facts(selftest: SelfTest | None) -> dict[str, Scalar]:
    """What the probe's checks of itself found, as facts; None: it has no checks."""
    if selftest is None:
        return {"derived.selftest_reason": "it is older than these checks"}
    count = sum(one.checked for one in selftest.checks)
    failed = [one for one in selftest.checks if not one.passed]
    names, seen = ", ".join(one.name for one in failed), "; ".join(one.why for one in failed)
    found: dict[str, Scalar] = {"derived.selftest_count": count}
    if failed:
        found["derived.selftest_failed"] = f"{names}: {seen}"[:_MOST_SEEN]
    elif count:
        found["derived.selftest_failed"] = None
    else:
        found["derived.selftest_reason"] = "it could make none of them"
    return found


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
    resolution_ns = facts.get("kernel.timer_resolution_ns")
    if isinstance(resolution_ns, int):
        yield "derived.timer_resolution", format_ns(resolution_ns)
    stolen_ppm = facts.get("virtual.steal_ppm")
    if isinstance(stolen_ppm, int) and stolen_ppm >= 0:
        percent = f"{float(f'{stolen_ppm / 1e4:.2g}'):g} %"
        yield "derived.stolen_share", "under 0.01 %" if 0 < stolen_ppm < 100 else percent
    yield from _granting_group(facts)
    yield from _by_release(facts)


def _group_limits(facts: Mapping[str, Scalar]) -> Iterator[tuple[str, Scalar]]:
    """A control group whose limits are tighter than the system's. Without a limit of the system
    (sched_rt_runtime_us -1) the kernel does not enforce the budget of any group."""
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
    share = "50 ms of each second by default; the value in force cannot be read here"
    if isinstance(runtime, int) and isinstance(period, int):
        share = f"{runtime / 1e6:.10g} ms of each {period / 1e6:.10g} ms"
    yield "derived.fair_share", share
    # 6.9: other CPUs fetch the timer-wheel timers of an idle CPU ("pull model")
    wheel = "" if number >= (6, 9) else " and those of the timer wheel"
    yield "derived.migrating_timers", f"high-resolution timers{wheel}"


LEVELS = ("blocks", "hurts", "note")
LEVEL_NAMES = {"blocks": "blocker", "hurts": "problem", "note": "note"}  # as people read them
_VERBS = ("args", "remove-args")
_PLAIN_OPTION = re.compile(r"[A-Za-z0-9_.,=: -]+", re.ASCII)
_RIGHT_RULE, _GROUP_RULE = "realtime-priority", "group-budget"
REALTIME_RULES = (_RIGHT_RULE, _GROUP_RULE)  # what a run says of a refusal has its own commands
_GUEST_WORDS = (
    "boot the guest with {option}: end the target's name with ,append={option} (or give --append)"
)
_GUEST_FORGETS = (
    "nothing to type: a lab guest boots again for each command, and this is not an option of its "
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
    """Judges a machine with `facts` by every rule."""
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
            f"{', '.join(_counted(counts[one], LEVEL_NAMES[one]) for one in LEVELS)}, "
            f"{counts['fine']} fine, {counts['unknown']} unknown"
        ),
        counts=counts,
        findings=findings,
    )


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


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
        f"{LEVEL_NAMES[found.level]}: {found.title} ({found.rule})"
        for level in ("blocks", "hurts")
        for found in diagnosis.findings
        if found.state == "found" and found.level == level
    ]
    return [*lines, f"what to type: {doctor_command(diagnosis.target)}"] if lines else []


def doctor_command(target: str, *words: str) -> str:
    """The command that asks the doctor about `target`."""
    place = () if target == "local" else ("--target", target)
    return shlex.join(("hardstone", "doctor", *words, *place))


def is_here(target: str) -> bool:
    """Whether what the doctor says of `target` is typed on this machine."""
    return target == "local" or target.startswith(("lab:", "fake:"))


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
    holds = evaluate(rule.found, facts)
    is_fine = holds is False and (rule.fine is None or evaluate(rule.fine, facts) is True)
    state: State = "found" if holds else "fine" if is_fine else "unknown"
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
        relieves=list(rule.relieves),
        facts={one: facts[one] for one in dict.fromkeys(shown) if one in facts},
        missing=[one for one in used if one not in facts],
    )


def _steps(name: str, rule: Rule, facts: Mapping[str, Scalar]) -> list[Step]:
    """The steps that apply to this machine."""
    steps = [
        step
        for one in rule.steps
        if one.when is None or evaluate(one.when, facts) is True
        if (step := _step(name, one, facts)) is not None
    ]
    if facts.get("derived.is_lab_guest"):  # a command would change the machine of whoever types it
        in_words = [step for step in steps if step.command is None]
        return in_words or [Step(words=_GUEST_FORGETS)] * bool(steps)
    if facts.get("user.effective_id") != 0:
        return steps
    return [step if step.lasts.startswith(_ON_THE_HOST) else _without_sudo(step) for step in steps]


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
