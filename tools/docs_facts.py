"""The page of all facts about a machine, from the register."""

from __future__ import annotations

from hardstone.facts import Fact, load_facts

HEAD = """\
# Facts about a machine

`hardstone-probe facts` reports them, and every run keeps them under `system`. What a system does
not tell is left out; a fact that is known to be nothing (no hypervisor) is null. The unit is at the
end of the name. The probe sends facts as they are; the toolkit judges what follows from them.

A run document therefore names the machine (`machine.node`) and its boot line (`kernel.cmdline`):
look through them before you publish one.

The data is `src/hardstone/facts.toml`.
"""
TAIL = """\
Some facts can only be read by root (`tracing.*`, `power.dma_latency_us`, the active model of a
dynamic kernel). Where debugfs or tracefs is mounted nowhere, the probe as root reads it through a
private mount that ends with the call; it writes nothing there.
"""
SECTIONS = (
    ("probe", "On every system"),
    ("linux", "On Linux"),
    ("doctor", "What the doctor derives from them"),
)


def page() -> str:
    facts = load_facts().values()
    parts = [HEAD]
    for sender, title in SECTIONS:
        rows = [_row(fact) for fact in facts if fact.sender == sender]
        parts.append(f"## {title}\n")
        parts.append("\n".join(["| fact | type | what it is |", "| --- | --- | --- |", *rows, ""]))
    return "\n".join([*parts, TAIL])


def _row(fact: Fact) -> str:
    unit = f", {fact.unit}" if fact.unit else ""
    return f"| `{fact.name}` | {fact.type}{unit} | {fact.meaning} |"
