"""POSIX in tables: points, profiles, amendments and HP's features, of one run or of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hardstone.model import RunDocument, Verdict
from hardstone.posix.analysis import (
    NO_LIMIT,
    TEST,
    ClockStep,
    Measured,
    PartCoverage,
    PointAnswer,
    PosixAnswer,
    PosixInventory,
    PosixLimit,
    PosixOption,
    PosixProfile,
    answers_in,
    posix_data,
    to_measure,
)
from hardstone.systems.published import load_studies
from hardstone.units import format_count, format_ns
from hardstone.wording import (
    Claim,
    claim_of,
    format_value,
    labels_text,
    one_line,
    short,
    shorten,
    spoken,
    time_mark,
)

_POINTS_TITLE = "real-time features, as HP listed them in 1987"
_POINTS_MEANING = (
    "by options: yes if a real call of each works, no if none works; an option that was not "
    "tried counts as neither. measured: the claims and figures of this run; figures alone do not "
    "make a yes."
)
_POINT_LOOKS = {
    "holds": "passed",
    "fails": "failed",
    "figures": "",
    "nothing": "partly",
}
_ANSWER_LOOKS = {"yes": "passed", "partly": "partly", "no": "failed"}
_ABSENT = "not in this run"
_NO_OPTION = "not in POSIX"
_MOST_FAILED = 3


@dataclass(frozen=True)
class MeasuredText:
    """What one test says: `judged` with its look, then `figure`, which is no judgement."""

    test: str
    judged: str
    look: str
    figure: str = ""
    is_absent: bool = False

    @property
    def text(self) -> str:
        """All of it."""
        return "; ".join(part for part in (self.judged, self.figure) if part)


@dataclass(frozen=True)
class PointRow:
    """One feature. `options` names those that answer it, with what their call did if not all
    work."""

    name: str
    about: str
    answer: str
    look: str
    options: str
    measured: list[MeasuredText]


def _point_rows(document: RunDocument, points: Sequence[PointAnswer]) -> list[PointRow]:
    """A row for each of `points`, answers of `document`."""
    mark = time_mark(document.system)
    return [
        PointRow(
            name=one.name,
            about=one.about,
            answer=_NO_OPTION if one.by_options == "no option" else one.by_options,
            look=_ANSWER_LOOKS.get(one.by_options, "quiet"),
            options=_options(one.options),
            measured=_measured(one.measured, mark),
        )
        for one in points
    ]


def _measured(found: Sequence[Measured], mark: str) -> list[MeasuredText]:
    """A text for each test; those that the run lacks share one."""
    absent = list(dict.fromkeys(one.test for one in found if one.judgement == "absent"))
    texts: list[MeasuredText] = []
    for one in found:
        if one.judgement != "absent":
            is_first = all(before.test != one.test for before in texts)
            texts.append(_measured_text(one, mark, has_claims=is_first))
    if absent:
        texts.append(MeasuredText(", ".join(absent), _ABSENT, "quiet", is_absent=True))
    return texts


def _measured_text(found: Measured, mark: str, *, has_claims: bool) -> MeasuredText:
    """`mark` stands behind figures that are not those of hardware."""
    look = _POINT_LOOKS[found.judgement]
    is_measured = found.status == "measured"
    if found.judgement == "nothing":
        ended = "measured, but without this figure" if is_measured else found.status
        text = ": ".join(filter(None, (ended, shorten(found.reason, 120))))
        return MeasuredText(found.test, text, look)
    cut = "" if is_measured else found.status
    figure = "; ".join(filter(None, (_figure(found, mark), cut)))
    return MeasuredText(found.test, _claims(found) if has_claims else "", look, figure)


def _claims(found: Measured) -> str:
    if found.judgement == "fails":
        more = len(found.failed) - _MOST_FAILED
        names = ", ".join(spoken(name) for name in found.failed[:_MOST_FAILED])
        rest = f" and {more} more" if more > 0 else ""
        return f"{len(found.failed)} of {found.claims_count} claims failed: {names}{rest}"
    if found.judgement == "holds":
        are = "claim holds" if found.claims_count == 1 else "claims hold"
        return f"{found.claims_count} {are}"
    return ""


def _figure(found: Measured, mark: str) -> str:
    if not found.series:
        return ""
    # A label whose value says nothing alone has its name: "locked yes".
    labels = {
        key: f"{spoken(key)} {value}" if value in ("yes", "no") else value
        for key, value in found.labels.items()
    }
    name = ", ".join(filter(None, (spoken(found.series), labels_text(labels))))
    value = format_value(found.value, found.unit)
    if found.statistic == "min":
        text = f"smallest {value}"
    else:
        median = format_value(found.median, found.unit)
        text = f"median {median}, worst observed {value}"
    count = format_count(found.values_count)
    return " ".join(filter(None, (f"{text} ({shorten(name, 60)}; {count} values)", mark)))


def _options(calls: Mapping[str, str]) -> str:
    """The options alone if all work, else each with what its call did."""
    is_all = all(call == "works" for call in calls.values())
    return ", ".join(
        spoken(name) if is_all else f"{spoken(name)} {call}" for name, call in calls.items()
    )


_STUDY = "obenland-2000"
_TABLE = "posix_coverage"
_RULE = (
    "This system, from POS-B-INV: full if a real call of every option of the part works; partial "
    "if some do not, or only in part. Options not tried or not reported never count as working. "
    "The study lists what each system claimed; POSIX has changed since."
)
_SUPPORT_LOOKS = {"full": "passed", "partial": "partly", "none": "failed", "not known": "quiet"}


@dataclass(frozen=True)
class CoverageRow:
    """A system with a cell for each column. `looks` are empty for the study's."""

    system: str
    cells: list[str]
    looks: list[str]
    is_own: bool = False


@dataclass(frozen=True)
class CoverageTable:
    """`study` names the source with its year."""

    study: str
    columns: list[str]
    rows: list[CoverageRow]
    rule: str = _RULE


def _coverage_table(document: RunDocument, own: Sequence[PartCoverage]) -> CoverageTable:
    """The run's system first, then those of the study, as it was transcribed."""
    study = load_studies()[_STUDY]
    table = study.tables[_TABLE]
    by_part = {one.part: one for one in own}
    columns: list[str] = table["columns"]
    mine = [by_part.get(column.partition(" ")[0]) for column in columns]
    facts = document.system
    kernel = f"{short(facts.get('kernel.name'))} {short(facts.get('kernel.release'))}".strip()
    return CoverageTable(
        study=f"{study.reading.short}, {study.title}",
        columns=columns,
        rows=[
            CoverageRow(
                system=f"this system, {kernel or 'kernel unknown'}",
                cells=[_coverage_text(one) if one else "-" for one in mine],
                looks=[_SUPPORT_LOOKS[one.coverage] if one else "quiet" for one in mine],
                is_own=True,
            ),
            *(
                CoverageRow(system, list(cells), [""] * len(cells))
                for system, cells in table["rows"].items()
            ),
        ],
    )


def _coverage_text(found: PartCoverage) -> str:
    """ "full (14 options)", "partial: no message passing; not known: fsync"."""
    if found.coverage == "full":
        return f"full ({found.options_count} options)"
    if found.coverage == "none":
        return f"none of {found.options_count} options works"
    return f"{found.coverage}: {'; '.join(_lacking(found))}" if found.options_count else "not known"


def _lacking(found: PartCoverage) -> Iterator[str]:
    if found.missing:
        yield f"no {_names(found.missing)}"
    if found.partly:
        yield f"{_names(found.partly)} in part"
    if found.not_known:
        known = "" if found.coverage == "not known" else "not known: "
        yield f"{known}{_names(found.not_known)}"
    if found.coverage == "not known":
        yield f"{found.working_count} of {found.options_count} options work"


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(spoken, names))


_PROFILES_MEANING = (
    "1003.13 profiles: PSE51 minimal, PSE52 controller, PSE53 dedicated, PSE54 multi-purpose. "
    "The lists of PSE51 to PSE53 come from public documents that quote the standard. PSE54 is "
    "our reading; it leaves out units for which POS-B-INV has no call (system database, wide "
    "characters)."
)


@dataclass(frozen=True)
class ProfileRow:
    """`is_next`: the first that is not satisfied."""

    profile: str
    state: str
    missing: str
    is_satisfied: bool
    is_next: bool


def _profile_rows(found: Sequence[PosixProfile]) -> list[ProfileRow]:
    """A row for each profile, in their order."""
    first = next((one.name for one in found if not one.is_satisfied), "")
    rows: list[ProfileRow] = []
    for place, one in enumerate(found):
        is_next = one.name == first
        state = "satisfied"
        if not one.is_satisfied:
            denied = f", {one.denied_count} of them not tried" if one.denied_count else ""
            state = f"{'next: ' if is_next else ''}{one.missing_count} missing{denied}"
        rows.append(
            ProfileRow(
                profile=one.name,
                state=state,
                missing=_missing(one, found[place - 1] if place else None),
                is_satisfied=one.is_satisfied,
                is_next=is_next,
            )
        )
    return rows


def _missing(one: PosixProfile, before: PosixProfile | None) -> str:
    """What is missing. For a profile that lacks all that the one before it lacks: only what it
    lacks beyond that."""
    more = one.missing_count - len(one.missing)
    rest = f" and {more} more" if more > 0 else ""
    beyond = [name for name in one.missing if before is None or name not in before.missing]
    if before is None or not before.missing or not set(before.missing) <= set(one.missing):
        return _profile_names(one.missing) + rest if one.missing else ""
    also = f" and {_profile_names(beyond)}" if beyond else ""
    return f"as {before.name}{also}{rest}"


def _profile_names(names: Sequence[str]) -> str:
    return ", ".join(spoken(name) for name in dict.fromkeys(names))


_MEANS = (
    "headers: value of the macro _POSIX_... (none: not defined; -1: absent; 0: ask at run time). "
    "sysconf: what the running system claims (none: not supported; unknown: no name for it). "
    "chown restricted, no trunc and vdisable use pathconf, where 0 is a claim. call: what a real "
    "call did."
)
_CLOCKS_MEANING = (
    "claimed: clock_getres. seen: the smallest step that CLK-B-RES of this run saw; for a timer "
    "the smallest step between two expiries, which its resolution does not exceed."
)
_REMARKS = {
    "claimed_but_fails": "claimed, but fails",
    "claimed_but_partly": "claimed, works in part",
    "works_but_not_claimed": "works, not claimed",
    "headers_and_sysconf_differ": "headers and sysconf differ",
}
_MISSING_CALL = "claimed, but missing"
_LEAST_PRIORITIES = 32
_PRIORITIES = {"priorities_fifo_count": "SCHED_FIFO", "priorities_rr_count": "SCHED_RR"}
_MOST_LINES = 2
_MOST_NAMED = 4
_SHORT = ("1003.1b", "1003.1c")
Look = Literal["passed", "failed", "partly", "quiet"]
_PART_LOOKS: dict[str, Look] = {
    "works": "passed",
    "partly": "partly",
    "fails": "failed",
    "missing": "failed",
}


@dataclass(frozen=True)
class OptionRow:
    """One option. `remark`: contradictions between the means; `why` the failed call."""

    option: str
    headers: str
    sysconf: str
    call: str
    look: Look
    remark: str
    why: str


@dataclass(frozen=True)
class PartTable:
    """The options of one amendment, under a title that counts those that work."""

    title: str
    rows: list[OptionRow]


@dataclass(frozen=True)
class LimitRow:
    limit: str
    value: str
    least: str
    is_below: bool


@dataclass(frozen=True)
class PosixTable:
    """Both views of one result of POS-B-INV. `state`: why it is not whole, empty if it is.

    `command` measures what the points lack; empty if nothing. `problems`: what was not readable.
    """

    title: str
    state: str
    summary: str
    parts: list[PartTable]
    limits: list[LimitRow]
    priorities: str
    clocks: list[tuple[str, str, str]]
    profiles: list[ProfileRow]
    claims: list[Claim]
    points: list[PointRow]
    command: str
    coverage: CoverageTable
    named_only: str
    problems: list[str]
    means: str = _MEANS
    clocks_meaning: str = _CLOCKS_MEANING
    profiles_meaning: str = _PROFILES_MEANING
    points_title: str = _POINTS_TITLE
    points_meaning: str = _POINTS_MEANING


def posix_tables(document: RunDocument) -> list[PosixTable]:
    """A table for each result of POS-B-INV; none where the run has none."""
    return [_posix_table(document, answer) for answer in answers_in(document)]


def _posix_table(document: RunDocument, answer: PosixAnswer) -> PosixTable:
    found = answer.inventory
    claims = [
        Verdict(name=one.name, passed=one.is_true, evidence=shorten(one.evidence, 300))
        for one in found.claims
    ]
    lacking = to_measure(answer)
    command = f"hardstone run {TEST} {' '.join(lacking)}" if lacking else ""
    if len(lacking) > _MOST_NAMED:
        command = "hardstone evaluate"
    return PosixTable(
        title=f"{TEST} under {answer.under}" if answer.under else TEST,
        state=_state(found),
        summary=summary(found),
        parts=[_part(part, options) for part, options in found.parts().items()],
        limits=[_limit(one) for one in found.limits if one.name not in _PRIORITIES],
        priorities=_priorities(found.limits),
        clocks=[_clock(one) for one in answer.clocks],
        profiles=_profile_rows(found.profiles),
        claims=[claim_of(one, TEST) for one in claims],
        points=_point_rows(document, answer.points),
        command=command,
        coverage=_coverage_table(document, answer.coverage),
        named_only=_named_only(found.named_only),
        problems=[one_line(text) for text in found.problems],
    )


def posix_lines(document: RunDocument) -> list[str]:
    """A line for each of the first results of POS-B-INV that reported something."""
    found = [summary(answer.inventory, _SHORT) for answer in answers_in(document)]
    return [text for text in found if text][:_MOST_LINES]


def summary(found: PosixInventory, of: Sequence[str] | None = None) -> str:
    """ "50 of 68 options work (1003.1b 13 of 14); satisfies PSE51; 2 contradict the claim".

    `of`: the parts that are counted apart, by default each.
    """
    if not found.options:
        return ""
    counts = ", ".join(
        f"{part} {_working(options)}"
        for part, options in found.parts().items()
        if of is None or part in of
    )
    contradictory = sum(bool(one.contradictions) for one in found.options)
    apart = f" ({counts})" if counts else ""
    parts = [f"{_working(found.options)} options work{apart}"]
    if found.profiles:
        satisfied = ", ".join(one.name for one in found.profiles if one.is_satisfied)
        parts.append(f"satisfies {satisfied or 'no profile'}")
    if contradictory:
        are = "contradicts" if contradictory == 1 else "contradict"
        parts.append(f"{contradictory} {are} the claim")
    return "; ".join(parts)


def _working(options: Sequence[PosixOption]) -> str:
    return f"{sum(one.call == 'works' for one in options)} of {len(options)}"


def _state(found: PosixInventory) -> str:
    if found.is_whole:
        return ""
    ended = found.status if found.status != "measured" else "cut off before it ended"
    parts = (ended, shorten(found.reason or "", 200), shorten(found.remedy or "", 200))
    return ": ".join(part for part in parts if part)


# ---- options ----


def _part(part: str, options: Sequence[PosixOption]) -> PartTable:
    known = posix_data().parts.get(part)
    name = f"{part} {known.title}" if known else part
    title = f"{name}: {_working(options)} options work"
    return PartTable(title, [_row(one) for one in options])


def _named_only(parts: Sequence[str]) -> str:
    """Empty if the test names none."""
    are, of = ("is", "it") if len(parts) == 1 else ("are", "them")
    names = " and ".join(parts)
    return f"{names} {are} only named: POSIX has no macro and no call for {of}." if parts else ""


def _row(option: PosixOption) -> OptionRow:
    sysconf = "none" if option.is_sysconf_known else "unknown"
    is_missing = option.call == "missing"
    remarks = [
        _MISSING_CALL if is_missing and one == "claimed_but_fails" else _REMARKS[one]
        for one in option.contradictions
    ]
    return OptionRow(
        option=spoken(option.name),
        headers="none" if option.headers is None else str(option.headers),
        sysconf=sysconf if option.sysconf is None else str(option.sysconf),
        call=option.call,
        look=_PART_LOOKS.get(option.call, "quiet"),
        remark=", ".join(remarks),
        why=shorten(option.why, 200),
    )


# ---- limits, clocks ----


def _limit(one: PosixLimit) -> LimitRow:
    value = "not reported" if one.value == NO_LIMIT else format_count(one.value)
    value += " (too low)" if one.is_below else ""
    least = "" if one.least is None else format_count(one.least)
    return LimitRow(spoken(one.name), value, least, one.is_below)


def _priorities(limits: Sequence[PosixLimit]) -> str:
    """ "SCHED_FIFO 99, SCHED_RR 99 priorities; POSIX requires 32"."""
    found = {one.name: one.value for one in limits}
    counts = [f"{policy} {found[name]}" for name, policy in _PRIORITIES.items() if name in found]
    if not counts:
        return ""
    return f"{', '.join(counts)} priorities; POSIX requires {_LEAST_PRIORITIES}"


def _clock(one: ClockStep) -> tuple[str, str, str]:
    name = spoken(one.name) + (" timer" if one.kind == "timer" else "")
    return name, format_ns(one.claimed_ns), format_ns(one.seen_ns)
