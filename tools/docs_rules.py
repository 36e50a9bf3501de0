"""The page of all rules of the doctor, from the data."""

from __future__ import annotations

from collections.abc import Iterator

from hardstone.doctor import Rule, load_rules
from hardstone.doctor.diagnosis import brings_texts
from hardstone.doctor.rules import StepRule

LEVELS = {
    "blocks": "there is no real-time work without it",
    "hurts": "figures are worse for it",
    "note": "good to know",
}
HEAD = """\
# Rules of the doctor

`hardstone doctor` judges a machine by these rules from what the probe tells
([facts](facts.md)). Each is *found*, *fine* or *unknown*: fine only where that is known, so what
cannot be seen (no privilege, a container, a hypervisor, another system than Linux) is unknown.
`{fact}` stands for what the machine says; facts that begin with `derived.` follow from others. What
is typed is shown for the machine at hand: a step that does not apply to it is left out, and root is
shown no `sudo`.

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
        yield f"- `--prove`: by the settings {', '.join(f'`{one}`' for one in rule.settings)}."
    else:
        yield f"- `--prove`: no, {rule.fixed}."


def _texts(text: str) -> str:
    return text.replace("{", "`{").replace("}", "}`")


def _step(step: StepRule) -> str:
    lasts = f" ({_texts(step.lasts)})" if step.lasts else ""
    if step.command is not None:
        undo = f" Undo: `{step.undo}`" if step.undo else ""
        return f"- Type: `{step.command}`{lasts}{undo}"
    if step.boot is not None:
        return f"- Boot line, takes effect after a reboot: `{step.boot}`{lasts}"
    return f"- Do: {_texts(step.words or '')}{lasts}"
