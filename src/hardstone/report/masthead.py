"""The head of a report: run, machine, time, status, trust and banners."""

from __future__ import annotations

from dataclasses import dataclass, field

from hardstone.model import RunDocument
from hardstone.present.headline import (
    conditions_text,
    kernel_text,
    moment_text,
    status_text,
    target_text,
)
from hardstone.present.notices import Banner, caveats
from hardstone.stats.conditions import conditions_in
from hardstone.stats.contradictions import trust_of

_TRUST_WORDS = {
    "full": "Full",
    "indicative": "Indicative only",
    "untrustworthy": "Not trustworthy",
}


@dataclass(frozen=True)
class Head:
    name: str
    subject: str
    summary: str
    banners: list[Banner]
    status: str
    trust: str
    trust_grade: str
    trust_reasons: list[str]
    facts: list[tuple[str, str]] = field(default_factory=list)


def head_of(document: RunDocument) -> Head:
    """The values of the head, as texts."""
    trust = trust_of(document)
    return Head(
        name=document.name or document.id,
        subject=f"{target_text(document)}; {kernel_text(document.system)}",
        summary=_summary(document),
        banners=caveats(document),
        status=status_text(document),
        trust=_TRUST_WORDS[trust.grade],
        trust_grade=trust.grade,
        trust_reasons=trust.reasons,
        facts=_facts(document),
    )


def _summary(document: RunDocument) -> str:
    """Start, profile and conditions. The section on the system has the rest."""
    started, profile = moment_text(document.started_utc), document.plan.profile
    return f"{started}; profile {profile}; {conditions_text(document)}"


def _loads(document: RunDocument) -> str:
    """The loads of the plan, or of the results if the plan has no list."""
    plan = document.plan
    said = plan.loads or dict.fromkeys(one.load for one in conditions_in(document))
    return ", ".join(said) or plan.load


def _configs(document: RunDocument) -> str:
    plan = document.plan
    said = plan.cpu_configs or dict.fromkeys(one.cpu_config for one in conditions_in(document))
    return ", ".join(said) or plan.cpu_config


def _facts(document: RunDocument) -> list[tuple[str, str]]:
    tool, plan = document.tool, document.plan
    built = ", ".join(part for part in (tool.compiler, tool.libc) if part)
    found = [
        ("Target", plan.target),
        ("Node", str(document.system.get("machine.node") or "")),
        ("Profile", plan.profile),
        ("Load", _loads(document)),
        ("CPU configuration", _configs(document)),
        ("Started", moment_text(document.started_utc)),
        ("Finished", moment_text(document.finished_utc) or "not finished"),
        ("hardstone", tool.version),
        ("Probe", " ".join(part for part in (tool.probe_version, built and f"({built})") if part)),
        ("Probe SHA-256", (tool.probe_sha256 or "")[:16]),
        ("Run", document.id),
    ]
    return [(name, value) for name, value in found if value]
