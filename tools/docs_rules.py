"""The page of all rules of the doctor, from the data."""

from __future__ import annotations

from collections.abc import Iterator

from hardstone.doctor.diagnose import Rule, StepRule, brings_texts, load_rules

LEVELS = {
    "blocks": "real-time work is impossible",
    "hurts": "figures get worse",
    "note": "worth knowing",
}
HEAD = """\
# Rules of the doctor

`hardstone doctor` judges a machine by these rules, from the [facts](facts.md) that the probe
reports. Each rule is *found*, *fine* or *unknown*. It is fine only when the facts prove it: what
the probe cannot see (no privilege, a container, a hypervisor, a system other than Linux) is
unknown. `{fact}` stands for the value of a fact; facts whose names begin with `derived.` are
computed from others. The doctor shows commands for the machine at hand: it leaves out steps that do
not apply, and shows root no `sudo`.

The data is `src/hardstone/doctor/rules.toml`.
"""


def page() -> str:
    rules = load_rules()
    parts = [HEAD, _index(rules)]
    parts += [_section(name, rule) for name, rule in rules.items()]
    return "\n".join(parts)


def _index(rules: dict[str, Rule]) -> str:
    lines = ["| level | rules |", "| --- | --- |"]
    for level, meaning in LEVELS.items():
        names = [f"[{name}](#{name})" for name, rule in rules.items() if rule.level == level]
        lines.append(f"| **{level}**: {meaning} | {', '.join(names)} |")
    return "\n".join(lines) + "\n"


def _section(name: str, rule: Rule) -> str:
    return "\n".join([f"## {name}", "", *_lines(rule), ""])


def _lines(rule: Rule) -> Iterator[str]:
    yield f"**{rule.title}** ({rule.level}; {rule.topic}). {rule.why}"
    yield ""
    yield f"- Found: {_texts(rule.says)}"
    yield f"- Fine: {_texts(rule.says_fine)}"
    yield f"- Unknown: {_texts(rule.unknown)}"
    yield from map(_step, rule.steps)
    for label, text in brings_texts(rule.brings, rule.settings):
        yield f"- {label.capitalize()}: {text}."
    if rule.settings:
        yield f"- `--prove`: with the settings {', '.join(f'`{one}`' for one in rule.settings)}."
    else:
        yield f"- `--prove`: no, {rule.fixed}."


def _texts(text: str) -> str:
    return text.replace("{", "`{").replace("}", "}`").replace("*", r"\*")


def _step(step: StepRule) -> str:
    lasts = f" ({_texts(step.lasts)})" if step.lasts else ""
    if step.command is not None:
        undo = f" Undo: `{step.undo}`" if step.undo else ""
        return f"- Type: `{step.command}`{lasts}{undo}"
    if step.boot is not None:
        return f"- Boot line, takes effect after a reboot: `{step.boot}`{lasts}"
    return f"- Do: {_texts(step.words or '')}{lasts}"
