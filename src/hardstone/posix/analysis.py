"""POSIX in a run: the inventory of POS-B-INV, what part of each amendment works, and HP's
real-time features.

The events are untrusted: what does not hold the contract is left out, and said in `problems`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Literal, get_args

import msgspec

from hardstone import event_names
from hardstone.catalogue import kind_of, load_catalogue
from hardstone.errors import InputError
from hardstone.model import (
    DataValue,
    Event,
    NotRun,
    Result,
    RunDocument,
    Series,
    Status,
    Unit,
    as_integer,
)
from hardstone.stats.conditions import condition_of, names_in
from hardstone.stats.quantiles import median_of


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An amendment of POSIX: its title, and the options that it is known to have."""

    title: str
    options: list[str]


class Measurement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A test that answers a point; without `series` its claims or its decisive series do.

    `labels`: only series with these.
    """

    test: str
    series: str | None = None
    labels: dict[str, str] = {}
    statistic: Literal["min", "max"] = "max"


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One feature of HP's table, the options that stand for it, and the tests that answer it."""

    name: str
    about: str
    tests: list[Measurement]
    options: list[str] = []


class PosixData(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    pathconf: list[str]
    parts: dict[str, Part]
    least: dict[str, int]
    points: list[Point]


@cache
def posix_data() -> PosixData:
    """The data that is part of hardstone."""
    text = resources.files("hardstone.posix").joinpath("posix.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), PosixData)


TEST = event_names.POSIX_TEST
NO_LIMIT = -1

CallState = Literal["works", "partly", "fails", "missing", "denied", "untried"]
Contradiction = Literal[
    "claimed_but_fails",
    "claimed_but_partly",
    "works_but_not_claimed",
    "headers_and_sysconf_differ",
]


class PosixOption(msgspec.Struct, kw_only=True, frozen=True):
    """One option by three means.

    `headers`: the value of its macro, -1 (not there) and 0 (asked at run time) too; null: not
    defined. `sysconf`: its value, for some that of pathconf; null: not supported, or not known if
    not `is_sysconf_known`.
    `why`: the failed call and the reason, where the probe gives one.
    """

    name: str
    part: str
    headers: int | None
    sysconf: int | None
    is_sysconf_known: bool
    call: CallState
    why: str = ""
    contradictions: list[Contradiction] = []

    @property
    def is_claimed(self) -> bool:
        """Whether sysconf claims the option; if that is not known, whether the headers do."""
        return self.claims(self.sysconf if self.is_sysconf_known else self.headers)

    def claims(self, value: int | None) -> bool:
        """Whether `value`, of headers or sysconf, claims the option; of pathconf 0 does too."""
        least = 0 if self.name in posix_data().pathconf else 1
        return value is not None and value >= least


class PosixProfile(msgspec.Struct, kw_only=True, frozen=True):
    """A profile of 1003.13, and the options that are missing from it.

    `denied_count` of the missing were denied or not tried. `next_missing` are those that the
    profile before it does not need.
    """

    name: str
    is_satisfied: bool
    missing_count: int
    missing: list[str]
    denied_count: int = 0
    next_missing: list[str] = []


class PosixLimit(msgspec.Struct, kw_only=True, frozen=True):
    """A limit; -1: sysconf tells none. `least` is what POSIX requires, null if nothing."""

    name: str
    value: int
    least: int | None

    @property
    def is_below(self) -> bool:
        """Whether the system allows less than POSIX requires."""
        return self.least is not None and self.value != NO_LIMIT and self.value < self.least


class PosixClaim(msgspec.Struct, kw_only=True, frozen=True):
    """A verdict of the test."""

    name: str
    is_true: bool
    evidence: str


class PosixInventory(msgspec.Struct, kw_only=True, frozen=True):
    """What one result of POS-B-INV says. `clocks` has the resolutions that clock_getres claims.

    `is_whole`: the test ended as planned, and its stream too. `named_only`: parts of which nothing
    was asked. `problems`: what was left out.
    """

    status: Status
    is_whole: bool
    reason: str | None
    remedy: str | None
    command: str | None
    options: list[PosixOption]
    limits: list[PosixLimit]
    clocks: dict[str, int]
    profiles: list[PosixProfile]
    claims: list[PosixClaim]
    named_only: list[str]
    problems: list[str]

    def option(self, name: str) -> PosixOption | None:
        """The option called `name`; None if it was not reported."""
        return next((one for one in self.options if one.name == name), None)

    def parts(self) -> dict[str, list[PosixOption]]:
        """The options by part: known parts first, others in the order of the stream."""
        found: dict[str, list[PosixOption]] = {part: [] for part in posix_data().parts}
        for one in self.options:
            found.setdefault(one.part, []).append(one)
        return {part: options for part, options in found.items() if options}


MOST_OPTIONS = 256
MOST_LIMITS = 256
MOST_PARTS = 16
MOST_PROBLEMS = 16
_WHY_CHARACTERS = 300
_NAME = re.compile(r"[a-z][a-z0-9_]{0,47}", re.ASCII)
_NUMBER = re.compile(r"-1|[0-9]{1,9}", re.ASCII)
_PART = re.compile(r"1003\.[0-9a-z-]{1,12}", re.ASCII)
_PROFILE_NAME = re.compile(r"PSE5[1-4]", re.ASCII)
_NONE, _UNKNOWN = "none", "unknown"

_ABSENT = -1
_CALLS = get_args(CallState)
_FAILING = ("fails", "missing")


def inventory_of(result: Result) -> PosixInventory:
    """The inventory of a result of POS-B-INV; never raises, whatever its events hold."""
    reader = _Reader()
    for event in result.events:
        reader.take(event)
    return PosixInventory(
        status=result.status,
        is_whole=result.status == "measured" and result.complete and not result.interrupted,
        reason=result.reason,
        remedy=result.remedy,
        command=result.command,
        options=[reader.with_why(one) for one in reader.options.values()],
        limits=list(reader.limits.values()),
        clocks=reader.clocks,
        profiles=sorted(reader.profiles.values(), key=lambda one: one.name),
        claims=[
            PosixClaim(name=one.name[:80], is_true=one.passed, evidence=one.evidence)
            for one in result.verdicts[:MOST_OPTIONS]
        ],
        named_only=list(reader.named),
        problems=list(reader.problems()),
    )


class _Reader:
    """Collects what events say, within the bounds."""

    def __init__(self) -> None:
        self.options: dict[str, PosixOption] = {}
        self.limits: dict[str, PosixLimit] = {}
        self.clocks: dict[str, int] = {}
        self.profiles: dict[str, PosixProfile] = {}
        self.named: dict[str, None] = {}
        self._whys: dict[str, str] = {}
        self._problems: dict[str, None] = {}

    def take(self, event: Event) -> None:
        taker = {
            event_names.POSIX_OPTIONS: self._take_options,
            event_names.POSIX_WHY: self._take_why,
            event_names.POSIX_LIMITS: self._take_limits,
            event_names.POSIX_CLOCKS: self._take_clocks,
            event_names.POSIX_PROFILE: self._take_profile,
            event_names.POSIX_NAMED: self._take_named,
        }.get(event.name)
        if taker:
            taker(event.data)

    def problems(self) -> Iterator[str]:
        """The first problems, and how many more there are."""
        found = list(self._problems)
        yield from found[:MOST_PROBLEMS]
        if len(found) > MOST_PROBLEMS:
            yield f"and {len(found) - MOST_PROBLEMS} more"

    def with_why(self, option: PosixOption) -> PosixOption:
        why = self._whys.get(option.name, "")
        return msgspec.structs.replace(option, why=why) if why else option

    def _miss(self, what: str, value: object, why: str) -> None:
        self._problems[f"{what} {str(value)[:60]!r} left out: {why}"] = None

    def _take_options(self, data: Mapping[str, DataValue]) -> None:
        part = data.get("part")
        if not isinstance(part, str) or not _PART.fullmatch(part):
            self._miss("options of part", part, "not the name of a part")
            return
        for name, value in data.items():
            if name not in ("part", "data_dropped_count"):
                self._take_option(part, name, value)
        self._note_dropped(data)

    def _take_option(self, part: str, name: str, value: DataValue) -> None:
        option = _option(part, name, value)
        known = self.options.get(name)
        if option is None:
            self._miss("option", f"{name}: {value}", "not HEADERS SYSCONF CALL")
        elif known is not None:
            if known != option:
                self._miss("option", name, "reported twice, and the reports differ")
        elif len(self.options) >= MOST_OPTIONS:
            self._miss("options beyond", MOST_OPTIONS, "too many")
        else:
            self.options[name] = option

    def _take_why(self, data: Mapping[str, DataValue]) -> None:
        name = data.get("option")
        texts = [text for key in ("call", "why") if isinstance(text := data.get(key), str)]
        texts = [text for text in texts if text and text not in _CALLS]  # no call, but a state
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not texts:
            self._miss("reason of option", name, "no option or no text")
        elif len(self._whys) < MOST_OPTIONS:
            self._whys.setdefault(name, ": ".join(texts)[:_WHY_CHARACTERS])

    def _take_limits(self, data: Mapping[str, DataValue]) -> None:
        for name, value in _counts(data):
            if not _NAME.fullmatch(name) or value is None or value < NO_LIMIT:
                self._miss("limit", f"{name}: {data[name]}", "not a limit")
            elif len(self.limits) >= MOST_LIMITS:
                self._miss("limits beyond", MOST_LIMITS, "too many")
            else:
                least = posix_data().least.get(name)
                self.limits.setdefault(name, PosixLimit(name=name, value=value, least=least))
        self._note_dropped(data)

    def _take_clocks(self, data: Mapping[str, DataValue]) -> None:
        for name, value in _counts(data):
            is_time = _NAME.fullmatch(name) and name.endswith("_ns")
            if not is_time or value is None or value <= 0:
                self._miss("resolution", f"{name}: {data[name]}", "not a time in ns")
            elif len(self.clocks) < MOST_LIMITS:
                self.clocks.setdefault(name.removesuffix("_ns"), value)

    def _take_profile(self, data: Mapping[str, DataValue]) -> None:
        name, is_satisfied = data.get("profile"), _claim(data.get("is_satisfied"))
        count, denied = as_integer(data.get("missing_count")), as_integer(data.get("denied_count"))
        missing = self._names(data.get("missing"), "missing options")
        if not isinstance(name, str) or not _PROFILE_NAME.fullmatch(name):
            self._miss("profile", name, "not the name of a profile")
        elif is_satisfied is None or count is None or count < len(missing):
            self._miss("profile", name, "no count of what is missing")
        elif is_satisfied != (count == 0):
            self._miss("profile", name, "what is missing contradicts whether it is satisfied")
        else:
            found = PosixProfile(
                name=name,
                is_satisfied=is_satisfied,
                missing_count=count,
                missing=missing,
                denied_count=min(max(denied or 0, 0), count),
                next_missing=self._names(data.get("next_missing"), "missing options"),
            )
            self.profiles.setdefault(name, found)

    def _take_named(self, data: Mapping[str, DataValue]) -> None:
        for part in str(data.get("parts") or "").split(","):
            if not _PART.fullmatch(part.strip()):
                self._miss("part", part, "not the name of a part")
            elif len(self.named) < MOST_PARTS:
                self.named[part.strip()] = None

    def _names(self, text: DataValue, what: str) -> list[str]:
        """The names of options in `text`, separated by commas; others are left out."""
        words = [one.strip() for one in text.split(",")] if isinstance(text, str) else []
        kept = [one for one in words if _NAME.fullmatch(one)][:MOST_OPTIONS]
        if len(kept) < sum(map(bool, words)):
            self._miss(what, text, "not names of options")
        return list(dict.fromkeys(kept))

    def _note_dropped(self, data: Mapping[str, DataValue]) -> None:
        dropped = as_integer(data.get("data_dropped_count"))
        if dropped:
            self._miss("values", dropped, "the probe had no room for them")


def _option(part: str, name: str, value: DataValue) -> PosixOption | None:
    words = value.split(" ") if isinstance(value, str) and len(value) < 80 else []
    if not _NAME.fullmatch(name) or len(words) != 3:
        return None
    headers, sysconf, call = words
    is_number = all(map(_NUMBER.fullmatch, (_plain(headers), _plain(sysconf))))
    if not is_number or headers == _UNKNOWN or call not in _CALLS:
        return None
    option = PosixOption(
        name=name,
        part=part,
        headers=None if headers == _NONE else int(headers),
        sysconf=None if sysconf in (_NONE, _UNKNOWN) else int(sysconf),
        is_sysconf_known=sysconf != _UNKNOWN,
        call=call,  # type: ignore[arg-type]
    )
    return msgspec.structs.replace(option, contradictions=list(_contradictions(option)))


def _plain(word: str) -> str:
    return "0" if word in (_NONE, _UNKNOWN) else word


def _contradictions(option: PosixOption) -> Iterator[Contradiction]:
    """Where two of the three means say the opposite. What was not tried contradicts nothing."""
    if option.is_claimed and option.call in _FAILING:
        yield "claimed_but_fails"
    if option.is_claimed and option.call == "partly":
        yield "claimed_but_partly"
    is_left_open = option.headers in (None, 0) and not option.is_sysconf_known
    if not option.is_claimed and option.call == "works" and not is_left_open:
        yield "works_but_not_claimed"
    by_headers, by_sysconf = option.claims(option.headers), option.claims(option.sysconf)
    is_stated = by_headers or option.headers == _ABSENT
    if is_stated and option.is_sysconf_known and by_headers != by_sysconf:
        yield "headers_and_sysconf_differ"


def _counts(data: Mapping[str, DataValue]) -> Iterator[tuple[str, int | None]]:
    for name, value in data.items():
        if name != "data_dropped_count":
            yield name, as_integer(value)


def _claim(value: DataValue) -> bool | None:
    """The probe sends 0 and 1 for no and yes."""
    return bool(value) if isinstance(value, int) and value in (0, 1) else None


POSIX_SCHEMA = "hardstone.posix/1"
_RESOLUTION = "CLK-B-RES"
_CLOCK_NAMES = {
    "CLOCK_REALTIME": "realtime",
    "CLOCK_MONOTONIC": "monotonic",
    "CLOCK_PROCESS_CPUTIME_ID": "process_cputime",
    "CLOCK_THREAD_CPUTIME_ID": "thread_cputime",
}
_COVERED = ("1003.1a", "1003.1b", "1003.1c")
_NOT_TRIED = ("denied", "untried")

Answer = Literal["yes", "partly", "no", "not known", "no option"]
Judgement = Literal["holds", "fails", "figures", "nothing", "absent"]
Coverage = Literal["full", "partial", "none", "not known"]


class Measured(msgspec.Struct, kw_only=True, frozen=True):
    """What a test of the run says of a point.

    `judgement`: "holds" and "fails" are those of its claims that count for a rating; "figures": it
    judges nothing; "nothing": it has the status and reason instead; "absent": the run lacks it.
    `value` in `unit` is the `statistic` of the series, `median` of the same series.
    """

    test: str
    judgement: Judgement
    status: str = ""
    reason: str = ""
    claims_count: int = 0
    failed: list[str] = []
    series: str = ""
    labels: dict[str, int | str] = {}
    statistic: str = ""
    value: int | None = None
    median: int | None = None
    unit: Unit = "ns"
    values_count: int = 0


class PointAnswer(msgspec.Struct, kw_only=True, frozen=True):
    """One feature of HP's table. `by_options`: "no option" if POSIX has none for it."""

    name: str
    about: str
    by_options: Answer
    options: dict[str, str]
    measured: list[Measured]


class PartCoverage(msgspec.Struct, kw_only=True, frozen=True):
    """How much of a part works.

    full: a real call of every option works. partial: the calls of some do not, or work in part.
    none: none does. not known: what was tried works, and the rest was not tried or not reported.
    """

    part: str
    coverage: Coverage
    options_count: int
    working_count: int
    partly: list[str]
    missing: list[str]
    not_known: list[str]


class ClockStep(msgspec.Struct, kw_only=True, frozen=True):
    """A clock or timer. `claimed_ns` by clock_getres; `seen_ns` the smallest step that CLK-B-RES
    of the same run saw. Null: not known."""

    name: str
    kind: Literal["clock", "timer"]
    claimed_ns: int | None
    seen_ns: int | None


class PosixAnswer(msgspec.Struct, kw_only=True, frozen=True):
    """One result of POS-B-INV. `under` is its condition where the run has several."""

    run: str
    target: str
    under: str
    inventory: PosixInventory
    coverage: list[PartCoverage]
    clocks: list[ClockStep]
    points: list[PointAnswer]


class PosixDocument(msgspec.Struct, kw_only=True):
    """`hardstone.posix/1`: an answer for each result of POS-B-INV of the runs."""

    schema: str
    answers: list[PosixAnswer]
    not_run: list[NotRun] = []


def answers_in(document: RunDocument) -> list[PosixAnswer]:
    """An answer for each result of POS-B-INV, in the order of the run."""
    names = names_in(document)
    answers = []
    for result in document.results:
        if result.test != TEST:
            continue
        condition = condition_of(result)
        results = [one for one in document.results if condition_of(one) == condition]
        inventory = inventory_of(result)
        answers.append(
            PosixAnswer(
                run=document.id,
                target=document.plan.target,
                under=names.label(condition),
                inventory=inventory,
                coverage=[coverage_of(inventory, part) for part in _COVERED],
                clocks=list(_clocks(inventory, results)),
                points=[_point(point, inventory, results) for point in posix_data().points],
            )
        )
    return answers


def to_measure(answer: PosixAnswer) -> list[str]:
    """The tests that would answer a point and that the run lacks, if this version has them."""
    known = set(load_catalogue().ids())
    lacking = (
        one.test for point in answer.points for one in point.measured if (one.judgement == "absent")
    )
    return [test for test in dict.fromkeys(lacking) if test in known]


# ---- options ----


def coverage_of(inventory: PosixInventory, part: str) -> PartCoverage:
    """How much of `part` works; an option that it is known to have and that was not reported is
    not known to work."""
    reported = [one for one in inventory.options if one.part == part]
    named = {one.name for one in reported}
    absent = [name for name in posix_data().parts[part].options if name not in named]
    works = [one for one in reported if one.call == "works"]
    partly = [one.name for one in reported if one.call == "partly"]
    missing = [one.name for one in reported if one.call in _FAILING]
    not_known = [one.name for one in reported if one.call in _NOT_TRIED] + absent
    coverage: Coverage
    if missing and not (works or partly or not_known):
        coverage = "none"
    elif missing or partly:
        coverage = "partial"
    else:
        coverage = "full" if works and not not_known else "not known"
    return PartCoverage(
        part=part,
        coverage=coverage,
        options_count=len(reported) + len(absent),
        working_count=len(works),
        partly=partly,
        missing=missing,
        not_known=not_known,
    )


def _point(point: Point, inventory: PosixInventory, results: list[Result]) -> PointAnswer:
    found = {name: inventory.option(name) for name in point.options}
    return PointAnswer(
        name=point.name,
        about=point.about,
        by_options=_by_options(list(found.values())),
        options={name: one.call if one else "not reported" for name, one in found.items()},
        measured=[_measured(asked, results) for asked in point.tests],
    )


def _by_options(options: list[PosixOption | None]) -> Answer:
    """What was not tried never makes a yes or a no."""
    if not options:
        return "no option"
    calls = [one.call if one else "untried" for one in options]
    works, fails = calls.count("works"), calls.count("fails") + calls.count("missing")
    if works == len(calls):
        return "yes"
    if fails == len(calls):
        return "no"
    return "partly" if "partly" in calls or (works and fails) else "not known"


# ---- measurements ----


def _measured(asked: Measurement, results: list[Result]) -> Measured:
    found = [one for one in results if one.test == asked.test]
    if not found:
        return Measured(test=asked.test, judgement="absent")
    result = next((one for one in found if _failed(one)), found[-1])
    series = _series(asked, result)
    value = (series.min if asked.statistic == "min" else series.max) if series else None
    failed = _failed(result)
    return Measured(
        test=asked.test,
        judgement=_judgement(result, has_figure=series is not None, has_failed=bool(failed)),
        status=_status(result),
        reason=(result.reason or "")[:200],
        claims_count=len(result.verdicts),
        failed=failed,
        series=series.name if series else "",
        labels=series.labels if series else {},
        statistic=asked.statistic if series else "",
        value=value,
        median=_median(series) if series else None,
        unit=series.unit if series else "ns",
        values_count=series.count if series else 0,
    )


def _failed(result: Result) -> list[str]:
    """The failed claims that count for a rating."""
    entry = load_catalogue().entry(result.test)
    names = (one.name for one in result.verdicts if not one.passed)
    return [name for name in names if not entry.why_uncounted(name)]


def _status(result: Result) -> str:
    if result.status == "measured" and not (result.complete and not result.interrupted):
        return "incomplete"
    return result.status


def _judgement(result: Result, *, has_figure: bool, has_failed: bool) -> Judgement:
    """A test that was cut off may show that a claim fails, and never that all hold."""
    if has_failed:
        return "fails"
    if result.verdicts and _status(result) == "measured":
        return "holds"
    return "figures" if has_figure else "nothing"


def _series(asked: Measurement, result: Result) -> Series | None:
    """The series with the most extreme value, of those asked for; for a timing test, of all."""
    timed = [one for one in result.series if one.unit == "ns" and one.count and one.max is not None]
    timed = [one for one in timed if asked.labels.items() <= one.labels.items()]
    if asked.series:
        timed = [one for one in timed if one.name == asked.series]
    elif kind_of(result.test) == "behaviour":
        return None
    else:
        timed = [one for one in timed if not one.derived] or timed
    if asked.statistic == "min":
        return min(timed, key=lambda one: one.min or 0, default=None)
    return max(timed, key=lambda one: one.max or 0, default=None)


def _median(series: Series) -> int | None:
    try:
        return median_of(series)
    except InputError:  # the top of the page names contradictory series
        return None


def _clocks(inventory: PosixInventory, results: list[Result]) -> Iterator[ClockStep]:
    """Clocks that were claimed or seen, then the timers that CLK-B-RES saw."""
    series = [one for result in results if result.test == _RESOLUTION for one in result.series]
    seen = dict(_least(series, "step", "clock"))
    claimed = dict(_least(series, "claimed", "clock"))
    for shown in dict.fromkeys((*inventory.clocks, *_CLOCK_NAMES.values())):
        said = inventory.clocks.get(shown, claimed.get(shown))
        if said is not None or shown in seen:
            yield ClockStep(name=shown, kind="clock", claimed_ns=said, seen_ns=seen.get(shown))
    for name, least in _least(series, "expiry_step", "mechanism"):
        yield ClockStep(name=name, kind="timer", claimed_ns=None, seen_ns=least)


def _least(series: list[Series], name: str, label: str) -> Iterator[tuple[str, int]]:
    for one in series:
        if one.name == name and one.min is not None and one.count:
            text = str(one.labels.get(label, ""))
            yield _CLOCK_NAMES.get(text, text), one.min
