"""Reads limits: hardstone.limits/1, in TOML.

schema = "hardstone.limits/1"

[[limit]]
address = "TMR-P-LAT/total/wakeup"  # as `hardstone show --all` and the report name it
statistic = "max"                   # max, min, mean, p50, p99, p99.9
at_most = "100us"                   # or at_least = "40MB/s"
load = "heavy"                      # optional, as cpu_config, policy and emulated = true

[[limit]]
address = "TMR-P-LAT/total/wakeup"
above = "50us"                      # how many values are above it:
at_most = 3                         # a count, or a share: "0.1%", "1 in 10000"

[[limit]]
address = "SEM-B-LCK"
claims = "hold"
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from hardstone.errors import InputError
from hardstone.gate.limit import ABOVE, CLAIMS, Limit, Value, parse_value, quantile_of
from hardstone.published import Address, parse_address
from hardstone.toml_text import parse_toml

LIMITS_SCHEMA = "hardstone.limits/1"
_MOST_LIMITS = 10_000
_MOST_TOLD = 20
_WORDS = ("load", "cpu_config", "policy")
_KEYS = ("address", "statistic", ABOVE, CLAIMS, "at_most", "at_least", *_WORDS, "emulated")
_STATISTICS = "max, min, mean, or a quantile such as p99.9"
_UNITS = 'write "100us", "40MB/s", a count such as 3, or for above a share: "0.1%", "1 in 10000"'


class LimitEntry(msgspec.Struct, kw_only=True):
    """One [[limit]]: a figure and what it may be. Exactly one of `statistic`, `above` and
    `claims`, and but for `claims` exactly one of `at_most` and `at_least`."""

    address: str
    statistic: str | None = None
    above: str | None = None
    claims: str | None = None
    at_most: str | int | float | None = None
    at_least: str | int | float | None = None
    load: str | None = None
    cpu_config: str | None = None
    policy: str | None = None
    emulated: bool = False


class LimitsFile(msgspec.Struct, kw_only=True):
    """`hardstone.limits/1`, for its JSON Schema."""

    schema: str
    limit: list[LimitEntry]


class LimitsError(InputError):
    """A file of limits that cannot be used. `problems`: a line for each reason."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)

    def reasons(self) -> list[tuple[str, str]]:
        return [(one, "") for one in self.problems]


def read_limits(data: bytes, tests: Collection[str], name: str = "limits") -> list[Limit]:
    """The limits of a file whose content is `data`. `tests` are the IDs that may be named.

    LimitsError, with a line for each problem: `name`, then the line or the number of the limit.
    """
    document = _decoded(data, name)
    problems = list(_of_document(document))
    if problems:
        raise LimitsError([f"{name}: {one}" for one in problems])
    entries = document["limit"]
    read = [_Entry(number, one, tests) for number, one in enumerate(entries, 1)]
    problems = [f"limit {one.number}: {text}" for one in read for text in one.problems]
    problems += _repeated([one.limit for one in read if one.limit is not None])
    if problems:
        more = len(problems) - _MOST_TOLD
        told = problems[:_MOST_TOLD] + ([f"and {more} more problems"] if more > 0 else [])
        raise LimitsError([f"{name}: {one}" for one in told])
    return [one.limit for one in read if one.limit is not None]


def _decoded(data: bytes, name: str) -> dict[str, Any]:
    try:
        return parse_toml(data)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise LimitsError([f"{name}: line {line} is not UTF-8"]) from None
    except (ValueError, RecursionError) as error:
        said = str(error).splitlines()[0] if str(error) else "not TOML"
        raise LimitsError([f"{name}: {_plain(said)}"]) from None


def _of_document(document: Mapping[str, Any]) -> Iterator[str]:
    schema = document.get("schema")
    if schema != LIMITS_SCHEMA:
        found = f"schema is {_quoted(schema)}" if "schema" in document else "there is no schema"
        yield f'{found}; begin with: schema = "{LIMITS_SCHEMA}"'
    for key in document:
        if key not in ("schema", "limit"):
            yield f"unknown key {_quoted(key)}; a limit begins with [[limit]]"
    entries = document.get("limit")
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        yield "there are no limits; each begins with [[limit]]"
    elif not 0 < len(entries) <= _MOST_LIMITS:
        yield f"{len(entries)} limits; give 1 to {_MOST_LIMITS}"


class _Entry:
    """One [[limit]] as read: the limit, or None with the problems."""

    def __init__(self, number: int, raw: Mapping[str, Any], tests: Collection[str]) -> None:
        self.number = number
        self.problems: list[str] = []
        self._raw = raw
        self._tests = tests
        found = self._read()
        self.limit = None if self.problems else found

    def _read(self) -> Limit | None:
        for key in self._raw:
            if key not in _KEYS:
                self._add(f"unknown key {_quoted(key)}; {_nearest(key, _KEYS)}")
        address, kind = self._address(), self._kind()
        words: dict[str, Any] = {key: self._word(key) for key in _WORDS}
        emulated = self._raw.get("emulated", False)
        if not isinstance(emulated, bool):
            self._add("emulated is true or false")
        if address is None or kind is None:
            return None
        limit = self._of_kind(Limit(self.number, address, kind))
        return None if limit is None else replace(limit, **words, is_emulated=bool(emulated))

    def _address(self) -> Address | None:
        raw = self._raw.get("address")
        if not isinstance(raw, str) or len(raw) > 400:
            self._add('no address; write address = "TEST/labels/series"')
            return None
        try:
            found = parse_address(raw)
        except InputError as error:
            self._add(f"{_plain(error.cause)}; {error.remedy}")
            return None
        if found.test not in self._tests:
            self._add(f"unknown test {_quoted(found.test)}; {_nearest(found.test, self._tests)}")
            return None
        return found

    def _kind(self) -> str | None:
        """The statistic, ABOVE or CLAIMS."""
        given = [key for key in ("statistic", ABOVE, CLAIMS) if key in self._raw]
        if len(given) != 1:
            self._add(f'give one of statistic = "max", above = "50us", {CLAIMS} = "hold"')
            return None
        raw = self._raw[given[0]]
        if given[0] == CLAIMS and raw != "hold":
            self._add(f'{CLAIMS} is {_quoted(raw)}; write {CLAIMS} = "hold"')
            return None
        if given[0] != "statistic":
            return given[0]
        is_known = isinstance(raw, str) and (raw in ("max", "min", "mean") or quantile_of(raw))
        if not is_known:
            self._add(f"unknown statistic {_quoted(raw)}; choose {_STATISTICS}")
        return str(raw) if is_known else None

    def _of_kind(self, limit: Limit) -> Limit | None:
        if limit.statistic == CLAIMS:
            for key in ("at_most", "at_least"):
                if key in self._raw:
                    self._add(f"{key} has no meaning for claims; leave it out")
            if limit.address.parts:
                self._add('claims are those of a whole test; write address = "TEST"')
            return limit
        bound, is_at_most = self._bound()
        if bound is None:
            return None
        limit = replace(limit, bound=bound, is_at_most=is_at_most)
        if limit.statistic != ABOVE:
            return self._of_statistic(limit, bound)
        deadline = parse_value(self._raw[ABOVE])
        if deadline is None or deadline.kind != "ns":
            self._add(f'above is {_quoted(self._raw[ABOVE])}; write a duration: above = "50us"')
            return None
        if bound.kind not in ("count", "share") or not is_at_most:
            self._add('above takes at_most, a count or a share: at_most = 3, at_most = "0.1%"')
        return replace(limit, deadline_ns=int(deadline.number))

    def _of_statistic(self, limit: Limit, bound: Value) -> Limit:
        if bound.kind == "share":
            self._add("a share is of values above a deadline; write above in place of statistic")
        if limit.statistic == "max" and not limit.is_at_most:
            self._add("a maximum grows with the length of a run; max takes at_most")
        if limit.statistic == "min" and limit.is_at_most:
            self._add("a minimum falls with the length of a run; min takes at_least")
        return limit

    def _bound(self) -> tuple[Value | None, bool]:
        given = [key for key in ("at_most", "at_least") if key in self._raw]
        if len(given) != 1:
            self._add('give one of at_most = "100us" and at_least = "40MB/s"')
            return None, True
        found = parse_value(self._raw[given[0]])
        if found is None:
            self._add(f"{given[0]} is {_quoted(self._raw[given[0]])}; {_UNITS}")
        return found, given[0] == "at_most"

    def _word(self, key: str) -> str | None:
        raw = self._raw.get(key)
        if raw is None:
            return None
        if not isinstance(raw, str) or not raw or len(raw) > 4096:
            self._add(f"{key} is {_quoted(raw)}; write {key} as text")
            return None
        return raw

    def _add(self, problem: str) -> None:
        self.problems.append(problem)


def _repeated(limits: Sequence[Limit]) -> Iterator[str]:
    seen: dict[object, int] = {}
    for one in limits:
        key = (
            *(one.address.test, tuple(sorted(one.address.parts)), one.figure, one.is_at_most),
            *(one.load, one.cpu_config, one.policy, one.is_emulated),
            one.bound.kind,
        )
        first = seen.setdefault(key, one.number)
        if first != one.number:
            yield f"limit {one.number}: repeats limit {first}; leave one out"


def _nearest(text: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(str(text)[:100], list(known), n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    return "see hardstone list" if len(known) > len(_KEYS) else f"there are {', '.join(known)}"


def _quoted(raw: object) -> str:
    return f"'{_plain(str(raw))[:60]}'"


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
