"""The head of a report: what, on what, when, and everything a reader must be told first."""

from __future__ import annotations

from dataclasses import dataclass, field

from hardstone.model import Result, RunDocument
from hardstone.stats.conditions import LEFT_EVENT, LEFT_REMEDY, names_in
from hardstone.stats.contradictions import TITLE, told, trust_of

_GRANT = (
    "Grant the probe CAP_SYS_NICE and CAP_IPC_LOCK, or raise rtprio and memlock for the user "
    "(/etc/security/limits.conf, then log in again), or run it as root."
)
_SUBJECT_FACTS = (("kernel.name", "kernel.release"), ("cpu.model",), ("machine.arch",))
_NO_FACTS_AT_THE_END = (
    "The target did not tell its facts at the end: what moved during the run is not known."
)
_THE_REST = "All other results are whole."
_MOST_NAMED = 6
_TRUST_WORDS = {
    "full": "Full",
    "indicative": "Indicative only",
    "untrustworthy": "Not trustworthy",
}


@dataclass(frozen=True)
class Banner:
    """Something that stands above all figures: `grave` in the colour of failure."""

    title: str
    lines: list[str]
    grave: bool = False


@dataclass(frozen=True)
class Head:
    name: str
    subject: str
    banners: list[Banner]
    status: str
    trust: str
    trust_grade: str
    trust_reasons: list[str]
    facts: list[tuple[str, str]] = field(default_factory=list)


def did_run(result: Result) -> bool:
    """Whether the test measured at all, to its end or not."""
    return result.status == "measured" or bool(result.series or result.verdicts)


def head_of(document: RunDocument) -> Head:
    trust = trust_of(document)
    return Head(
        name=document.name or document.id,
        subject=_subject(document),
        banners=_banners(document),
        status=document.status,
        trust=_TRUST_WORDS[trust.grade],
        trust_grade=trust.grade,
        trust_reasons=trust.reasons,
        facts=_facts(document),
    )


def _subject(document: RunDocument) -> str:
    parts = [
        " ".join(str(document.system[name]) for name in names if document.system.get(name))
        for names in _SUBJECT_FACTS
    ]
    return ", ".join(part for part in parts if part) or document.plan.target


def _facts(document: RunDocument) -> list[tuple[str, str]]:
    tool, plan = document.tool, document.plan
    built = ", ".join(part for part in (tool.compiler, tool.libc) if part)
    found = [
        ("Target", plan.target),
        ("Node", str(document.system.get("machine.node") or "")),
        ("Profile", plan.profile),
        ("Load", ", ".join(plan.loads) or plan.load),
        ("CPU configuration", ", ".join(plan.cpu_configs) or plan.cpu_config),
        ("Started", _moment(document.started_utc)),
        ("Finished", _moment(document.finished_utc) or "not finished"),
        ("hardstone", tool.version),
        ("Probe", " ".join(part for part in (tool.probe_version, built and f"({built})") if part)),
        ("Probe SHA-256", (tool.probe_sha256 or "")[:16]),
        ("Run", document.id),
    ]
    return [(name, value) for name, value in found if value]


def _moment(text: str | None) -> str:
    if not text:
        return ""
    return text.replace("T", " ").removesuffix("Z").removesuffix("+00:00") + " UTC"


def _banners(document: RunDocument) -> list[Banner]:
    found = (
        _contradictory(document),
        _not_put_back(document),
        _not_realtime(document),
        _unfinished(document),
        _untrustworthy(document),
    )
    return [banner for banner in found if banner is not None]


def _not_put_back(document: RunDocument) -> Banner | None:
    """It concerns more than this run: the machine is still as a shield left it."""
    names = names_in(document)
    told = [
        f"{names.name(result)}: {event.text.rstrip('.')}."
        for result in document.results
        for event in result.events
        if event.name == LEFT_EVENT
    ]
    if not told:
        return None
    lines = list(dict.fromkeys(told))
    more = len(lines) - _MOST_NAMED
    rest = [f"And {more} more, in the sections of the results."] if more > 0 else []
    remedy = f"Type {LEFT_REMEDY}; what was measured afterwards was measured on a changed machine."
    return Banner(
        "The machine was not put back as it was",
        [*lines[:_MOST_NAMED], *rest, remedy],
        grave=True,
    )


def _not_realtime(document: RunDocument) -> Banner | None:
    ran = [result for result in document.results if did_run(result)]
    names = names_in(document)
    ordinary = [names.name(result) for result in ran if result.conditions.realtime is False]
    if not ordinary:
        return None
    which = "All tests" if len(ordinary) == len(ran) else ", ".join(dict.fromkeys(ordinary))
    reason = document.system.get("limits.realtime_reason")
    lines = [
        f"{which} ran as ordinary time-shared threads. The figures tell how the system "
        "treats such threads, not what it can do for real-time ones.",
        f"Reason: {reason}." if reason else "",
        _remedy(document),
    ]
    return Banner("Not scheduled as real-time", [line for line in lines if line], grave=True)


def _remedy(document: RunDocument) -> str:
    if document.plan.policy == "other":
        return "The plan asked for policy other. Repeat with --policy fifo."
    remedy = document.system.get("limits.realtime_remedy")
    return f"What to grant: {remedy}" if remedy else _GRANT


def _unfinished(document: RunDocument) -> Banner | None:
    if document.status == "complete":
        return None
    cut, missing = _cut_results(document), _missing(document)
    if document.status == "interrupted":
        said = "The run was stopped before its end. What was measured until then is shown."
        return Banner("Interrupted run", [said, *cut, *missing])
    lines = [*_end_of_tool(document), *cut, *missing] or [_NO_FACTS_AT_THE_END]
    return Banner("Incomplete run", [*lines, _THE_REST], grave=True)


def _end_of_tool(document: RunDocument) -> list[str]:
    """Of a run that was recovered nobody knows more than that it has no end."""
    if document.finished_utc is not None:
        return []
    return ["The tool, or the machine that it ran on, was ended before the run was."]


def _cut_results(document: RunDocument) -> list[str]:
    """Each result that is not whole, with the reason that it has."""
    cut = [one for one in document.results if not one.complete]
    names = names_in(document)
    said = [
        f"{names.name(one)}: {one.reason or 'its record ends early'}." for one in cut[:_MOST_NAMED]
    ]
    more = len(cut) - len(said)
    return [*said, f"And {more} more, see the table of all results."] if more else said


def _missing(document: RunDocument) -> list[str]:
    """What was asked for and has no result, or one that says that it was not run."""
    names = names_in(document)
    reasons: dict[str, list[str]] = {}
    for one in document.results:
        if one.status == "skipped":
            reason = (one.reason or "").removeprefix("not run: ")
            reasons.setdefault(reason, []).append(names.name(one))
    left = [names.name(one) for one in document.plan.tests[len(document.results) :]]
    if left:
        reasons.setdefault("", []).extend(left)
    return [
        f"Did not run: {', '.join(tests)}{f' ({reason})' if reason else ''}."
        for reason, tests in reasons.items()
    ]


def _contradictory(document: RunDocument) -> Banner | None:
    lines = told(document)
    return Banner(TITLE, lines, grave=True) if lines else None


def _untrustworthy(document: RunDocument) -> Banner | None:
    if document.trust.grade != "untrustworthy":
        return None
    return Banner("Do not rely on these figures", document.trust.reasons, grave=True)
