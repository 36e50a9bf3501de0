"""What POS-B-INV says, as texts for terminal and page: options, limits, clocks, profiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from hardstone.model import RunDocument, Verdict
from hardstone.present.claims import Claim, claim_of
from hardstone.present.posix_beside import CoverageTable, coverage_table
from hardstone.present.posix_points import POINTS_MEANING, POINTS_TITLE, PointRow, point_rows
from hardstone.present.posix_profiles import (
    PROFILES_MEANING,
    ProfileRow,
    profile_rows,
    satisfied_text,
)
from hardstone.present.wording import one_line, shorten, spoken
from hardstone.stats.posix_answer import ClockStep, PosixAnswer, answers_in, to_measure
from hardstone.stats.posix_data import posix_data
from hardstone.stats.posix_inventory import (
    NO_LIMIT,
    TEST,
    PosixClaim,
    PosixInventory,
    PosixLimit,
    PosixOption,
)
from hardstone.units import format_count, format_ns

MEANS = (
    "headers: value of the macro _POSIX_...; none: not defined, -1: absent, 0: asked at run time. "
    "sysconf: what the running system claims; none: not supported, unknown: it has no name for it. "
    "chown restricted, no trunc and vdisable: pathconf, where 0 is a claim. call: what a real call "
    "did."
)
CLOCKS_MEANING = (
    "claimed: clock_getres. seen: the smallest step that CLK-B-RES of this run saw; of a timer, "
    "between two expiries, and its resolution is at most that."
)
_REMARKS = {
    "claimed_but_fails": "claimed, but fails",
    "claimed_but_partly": "claimed, works in part",
    "works_but_not_claimed": "works, not claimed",
    "headers_and_sysconf_differ": "headers and sysconf differ",
}
_MISSING_CALL = "claimed, but missing"
_LEAST_PRIORITIES = 32
_PRIORITIES = (("priorities_fifo_count", "SCHED_FIFO"), ("priorities_rr_count", "SCHED_RR"))
_MOST_LINES = 2
_MOST_NAMED = 4
_SHORT = ("1003.1b", "1003.1c")
Look = Literal["passed", "failed", "partly", "quiet"]
_LOOKS: dict[str, Look] = {
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
    means: str = MEANS
    clocks_meaning: str = CLOCKS_MEANING
    profiles_meaning: str = PROFILES_MEANING
    points_title: str = POINTS_TITLE
    points_meaning: str = POINTS_MEANING


def posix_tables(document: RunDocument) -> list[PosixTable]:
    """A table for each result of POS-B-INV; none where the run has none."""
    return [posix_table(document, answer) for answer in answers_in(document)]


def posix_table(document: RunDocument, answer: PosixAnswer) -> PosixTable:
    """The texts of one answer of `document`."""
    found = answer.inventory
    lacking = to_measure(answer)
    return PosixTable(
        title=f"{TEST} under {answer.under}" if answer.under else TEST,
        state=_state(found),
        summary=summary(found),
        parts=[_part(part, options) for part, options in found.parts().items()],
        limits=[_limit(one) for one in found.limits if not _is_priority(one)],
        priorities=_priorities(found.limits),
        clocks=[_clock(one) for one in answer.clocks],
        profiles=profile_rows(found.profiles),
        claims=[_claim(one) for one in found.claims],
        points=point_rows(document, answer.points),
        command=_command(lacking),
        coverage=coverage_table(document, answer.coverage),
        named_only=_named_only(found.named_only),
        problems=[one_line(text) for text in found.problems],
    )


def _command(lacking: Sequence[str]) -> str:
    if len(lacking) > _MOST_NAMED:
        return "hardstone evaluate"
    return f"hardstone run {TEST} {' '.join(lacking)}" if lacking else ""


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
    parts = [f"{_working(found.options)} options work{apart}", satisfied_text(found.profiles)]
    if contradictory:
        are = "contradicts" if contradictory == 1 else "contradict"
        parts.append(f"{contradictory} {are} the claim")
    return "; ".join(part for part in parts if part)


def _working(options: Sequence[PosixOption]) -> str:
    return f"{sum(one.call == 'works' for one in options)} of {len(options)}"


def _claim(one: PosixClaim) -> Claim:
    evidence = shorten(one.evidence, 300)
    return claim_of(Verdict(name=one.name, passed=one.is_true, evidence=evidence), TEST)


def _state(found: PosixInventory) -> str:
    if found.is_whole:
        return ""
    ended = found.status if found.status != "measured" else "cut off before its end"
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
    are = "is" if len(parts) == 1 else "are"
    of = "it" if len(parts) == 1 else "them"
    told = " and ".join(parts)
    return f"{told} {are} named only: POSIX has no macro and no call of {of}." if parts else ""


def _row(option: PosixOption) -> OptionRow:
    sysconf = "none" if option.is_sysconf_known else "unknown"
    return OptionRow(
        option=spoken(option.name),
        headers="none" if option.headers is None else str(option.headers),
        sysconf=sysconf if option.sysconf is None else str(option.sysconf),
        call=option.call,
        look=_LOOKS.get(option.call, "quiet"),
        remark=", ".join(_remarks(option)),
        why=shorten(option.why, 200),
    )


def _remarks(option: PosixOption) -> Iterator[str]:
    for one in option.contradictions:
        is_missing = one == "claimed_but_fails" and option.call == "missing"
        yield _MISSING_CALL if is_missing else _REMARKS[one]


# ---- limits, clocks ----


def _limit(one: PosixLimit) -> LimitRow:
    value = "not told" if one.value == NO_LIMIT else format_count(one.value)
    value += " (too low)" if one.is_below else ""
    least = "" if one.least is None else format_count(one.least)
    return LimitRow(spoken(one.name), value, least, one.is_below)


def _is_priority(one: PosixLimit) -> bool:
    return one.name in dict(_PRIORITIES)


def _priorities(limits: Sequence[PosixLimit]) -> str:
    """ "SCHED_FIFO 99, SCHED_RR 99 priorities; POSIX requires 32"."""
    found = {one.name: one.value for one in limits}
    told = [f"{policy} {found[name]}" for name, policy in _PRIORITIES if name in found]
    if not told:
        return ""
    return f"{', '.join(told)} priorities; POSIX requires {_LEAST_PRIORITIES}"


def _clock(one: ClockStep) -> tuple[str, str, str]:
    name = spoken(one.name) + (" timer" if one.kind == "timer" else "")
    return name, format_ns(one.claimed_ns), format_ns(one.seen_ns)
