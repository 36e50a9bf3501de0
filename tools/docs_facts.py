"""The page of all facts about a machine, from the register."""

from __future__ import annotations

from hardstone.facts import Fact, load_facts

HEAD = """\
# Facts about a machine

`hardstone-probe facts` reports them, and every run keeps them under `system`. What a system does
not tell is left out; a fact that is known to be nothing (no hypervisor) is null. The unit is at the
end of the name.

The probe sends as facts what it found out itself or acts upon. Of the rest it sends what the
kernel's files hold, with their names, and the toolkit reads the facts from that. A run keeps these
texts under `sources`, so that a later version can read them again. In a source `*` stands for the
number of a CPU or for a name.

A run document therefore names the machine (`machine.node`) and holds its boot line, the path of
the probe, its control groups and the limits of `/etc/security`: look through `system` and
`sources` before you publish one.

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
    ("nuttx", "On NuttX"),
    ("toolkit", "On Linux, read from the text of sources"),
    ("transport", "Of a system that SSH reaches"),
    ("doctor", "What the doctor derives from them"),
)


def page() -> str:
    facts = load_facts().values()
    parts = [HEAD]
    for sender, title in SECTIONS:
        rows = [_row(fact, sender) for fact in facts if sender in (fact.sender, *fact.also)]
        parts.append(f"## {title}\n")
        more = " sources |" if sender == "toolkit" else ""
        head = [
            f"| fact | type | what it is |{more}",
            f"| --- | --- | --- |{' --- |' * bool(more)}",
        ]
        parts.append("\n".join([*head, *rows, ""]))
    return "\n".join([*parts, TAIL])


def _row(fact: Fact, sender: str) -> str:
    unit = f", {fact.unit}" if fact.unit else ""
    sources = ", ".join(f"`{one}`" for one in fact.sources if sender == "toolkit")
    more = f" {sources} |" if sources else ""
    return f"| `{fact.name}` | {fact.type}{unit} | {fact.meaning} |{more}"
