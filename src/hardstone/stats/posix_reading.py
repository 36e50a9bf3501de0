"""POS-B-INV: its events as an inventory.

The events are untrusted: what does not hold the contract is left out, and said in `problems`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import get_args

import msgspec

from hardstone import event_names
from hardstone.model import DataValue, Event, Result
from hardstone.stats.posix_data import posix_data
from hardstone.stats.posix_inventory import (
    NO_LIMIT,
    CallState,
    Contradiction,
    PosixClaim,
    PosixInventory,
    PosixLimit,
    PosixOption,
    PosixProfile,
)

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

ABSENT = -1
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
    """Takes events one after another, within the bounds."""

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
        told = [text for text in texts if text and text not in _CALLS]  # no call, but a state
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not told:
            self._miss("reason of option", name, "no option or no text")
        elif len(self._whys) < MOST_OPTIONS:
            self._whys.setdefault(name, ": ".join(told)[:_WHY_CHARACTERS])

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
        count, denied = _integer(data.get("missing_count")), _integer(data.get("denied_count"))
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
        dropped = _integer(data.get("data_dropped_count"))
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
    is_stated = by_headers or option.headers == ABSENT
    if is_stated and option.is_sysconf_known and by_headers != by_sysconf:
        yield "headers_and_sysconf_differ"


def _counts(data: Mapping[str, DataValue]) -> Iterator[tuple[str, int | None]]:
    for name, value in data.items():
        if name != "data_dropped_count":
            yield name, _integer(value)


def _claim(value: DataValue) -> bool | None:
    """The probe sends 0 and 1 for no and yes."""
    return bool(value) if isinstance(value, int) and value in (0, 1) else None


def _integer(value: DataValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
