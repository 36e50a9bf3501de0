"""Limits on figures: what a limit says, and files of them in TOML.

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
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil
from typing import Any, Literal

import msgspec

from hardstone.errors import InputError, printable
from hardstone.files import parse_toml
from hardstone.model import Unit
from hardstone.systems.published import Address, parse_address
from hardstone.units import MAX_DURATION_NS, parse_duration_ns

CLAIMS = "claims"
ABOVE = "above"
_QUANTILE = re.compile(r"p[0-9]{1,2}(\.[0-9]{1,8})?", re.ASCII)
_PLAIN = re.compile(r"[0-9]{1,18}", re.ASCII)
_RATE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([kMG]?B)/s", re.ASCII)
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,15})?) ?%", re.ASCII)
_ONE_IN = re.compile(r"1 in ([0-9]{1,18})", re.ASCII)
_BYTES = {"GB": 10**9, "MB": 10**6, "kB": 10**3, "B": 1}
_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_LARGEST = 10**18
Kind = Literal["ns", "bytes_per_s", "count", "share"]


@dataclass(frozen=True)
class Value:
    """A number in the unit of `kind`; a share is between 0 and 1."""

    number: float
    kind: Kind

    def __str__(self) -> str:
        if self.kind == "share":
            return share_text(self.number)
        return amount_text(self.number, self.kind)


NO_BOUND = Value(0.0, "count")  # of claims


@dataclass(frozen=True)
class Limit:
    """A figure may be at most, or at least, `bound`. `number` is its place in the file, from 1.

    `statistic`: "max", "min", "mean", a quantile such as "p99.9", ABOVE (how many values are above
    `deadline_ns`, as a count or as a share) or CLAIMS (all claims of a test hold; NO_BOUND).
    None for `load`, `cpu_config` or `policy`: whatever it is. `is_emulated`: figures of an emulated
    processor may pass too.
    """

    number: int
    address: Address
    statistic: str
    bound: Value = NO_BOUND
    is_at_most: bool = True
    deadline_ns: int | None = None
    load: str | None = None
    cpu_config: str | None = None
    policy: str | None = None
    is_emulated: bool = False

    @property
    def wanted(self) -> str:
        """What it asks for, as words: "at most 100 us"."""
        if self.statistic == CLAIMS:
            return "all claims hold"
        return f"{'at most' if self.is_at_most else 'at least'} {self.bound}"

    @property
    def figure(self) -> str:
        """The statistic as words: "max", "above 100 us"."""
        if self.deadline_ns is None:
            return self.statistic
        return f"above {amount_text(self.deadline_ns, 'ns')}"

    @property
    def quantile(self) -> float | None:
        return _quantile_of(self.statistic)


def _quantile_of(statistic: str) -> float | None:
    """0.999 of "p99.9"; None for any other statistic, and for "p0"."""
    if not _QUANTILE.fullmatch(statistic):
        return None
    q = float(Decimal(statistic[1:]) / 100)
    return q if 0 < q < 1 else None


def parse_value(raw: object) -> Value | None:
    """The value of a limit as a file has it; None if it has no unit that is known.

    Text with a unit: "100us", "40MB/s", "0.1%", "1 in 10000"; a number is a count.
    """
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return Value(float(raw), "count") if 0 <= raw <= _LARGEST else None  # no NaN either
    return _parse_text(raw.strip()) if isinstance(raw, str) and len(raw) <= 60 else None


def _parse_text(text: str) -> Value | None:
    if _PLAIN.fullmatch(text):
        return Value(float(text), "count")
    if found := _RATE.fullmatch(text):
        return Value(float(Decimal(found[1]) * _BYTES[found[2]]), "bytes_per_s")
    if found := _PERCENT.fullmatch(text):
        share = float(Decimal(found[1]) / 100)
        return Value(share, "share") if share <= 1 else None
    if found := _ONE_IN.fullmatch(text):
        return Value(1 / int(found[1]), "share") if int(found[1]) else None
    try:
        return Value(float(parse_duration_ns(text)), "ns")
    except ValueError:
        return None


def amount_text(number: float, unit: Unit) -> str:
    """A figure with all its digits, so that one just beyond a limit does not look equal to it."""
    if unit == "count":
        return _digits(number, 1)
    scales = _NS if unit == "ns" else {f"{name}/s": scale for name, scale in _BYTES.items()}
    name, scale = next(
        ((name, scale) for name, scale in scales.items() if abs(number) >= scale),
        list(scales.items())[-1],
    )
    return f"{_digits(number, scale)} {name}"


def _digits(number: float, scale: int) -> str:
    if number == int(number):
        whole = Decimal(int(number)) / scale
        return f"{whole.normalize():f}"
    return f"{number / scale:.6g}"


def share_text(share: float) -> str:
    """A share as people say it: "5 %", "1 in 10000"; its denominator is rounded down."""
    if share <= 0:
        return "0"
    if share >= 0.01:
        return f"{100 * share:.4g} %"
    whole = int(1 / share + 1e-6)
    step = 10 ** max(len(str(whole)) - 4, 0)
    return f"1 in {whole // step * step}"


def typed_amount(number: float, unit: Unit, *, is_up: bool) -> str:
    """A value as a limits file has it: three digits, rounded up or down, and exact in its unit."""
    whole = ceil(number) if is_up else int(number)
    step = int(10 ** max(len(str(whole)) - 3, 0))
    rounded = whole // step * step
    if is_up and rounded < whole:
        rounded += step
    if unit == "ns":
        return amount_text(min(rounded, MAX_DURATION_NS), "ns").replace(" ", "")
    return amount_text(rounded, unit).replace(" ", "")


LIMITS_SCHEMA = "hardstone.limits/1"
_MOST_LIMITS = 10_000
_MOST_SHOWN = 20
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
        more = len(problems) - _MOST_SHOWN
        shown = problems[:_MOST_SHOWN] + ([f"and {more} more problems"] if more > 0 else [])
        raise LimitsError([f"{name}: {one}" for one in shown])
    return [one.limit for one in read if one.limit is not None]


def _decoded(data: bytes, name: str) -> dict[str, Any]:
    try:
        return parse_toml(data)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise LimitsError([f"{name}: line {line} is not UTF-8"]) from None
    except (ValueError, RecursionError) as error:
        said = str(error).splitlines()[0] if str(error) else "not TOML"
        raise LimitsError([f"{name}: {printable(said)}"]) from None


def _of_document(document: Mapping[str, Any]) -> Iterator[str]:
    schema = document.get("schema")
    if schema != LIMITS_SCHEMA:
        found = f"schema is {_quoted(schema)}" if "schema" in document else "there is no schema"
        yield f'{found}; start with: schema = "{LIMITS_SCHEMA}"'
    for key in document:
        if key not in ("schema", "limit"):
            yield f"unknown key {_quoted(key)}; each limit starts with [[limit]]"
    entries = document.get("limit")
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        yield "there are no limits; each starts with [[limit]]"
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
            self._add(f"{printable(error.cause)}; {error.remedy}")
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
        is_known = isinstance(raw, str) and (raw in ("max", "min", "mean") or _quantile_of(raw))
        if not is_known:
            self._add(f"unknown statistic {_quoted(raw)}; choose {_STATISTICS}")
        return str(raw) if is_known else None

    def _of_kind(self, limit: Limit) -> Limit | None:
        if limit.statistic == CLAIMS:
            for key in ("at_most", "at_least"):
                if key in self._raw:
                    self._add(f"{key} does not apply to claims; leave it out")
            if limit.address.parts:
                self._add('claims belong to a whole test; write address = "TEST"')
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
            self._add('above needs at_most, a count or a share: at_most = 3, at_most = "0.1%"')
        return replace(limit, deadline_ns=int(deadline.number))

    def _of_statistic(self, limit: Limit, bound: Value) -> Limit:
        if bound.kind == "share":
            self._add(
                "a share applies to values above a deadline; write above instead of statistic"
            )
        if limit.statistic == "max" and not limit.is_at_most:
            self._add("a maximum grows with the length of a run; max needs at_most")
        if limit.statistic == "min" and limit.is_at_most:
            self._add("a minimum falls with the length of a run; min needs at_least")
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
            yield f"limit {one.number}: the same as limit {first}; leave one out"


def _nearest(text: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(str(text)[:100], list(known), n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    return "see hardstone list" if len(known) > len(_KEYS) else f"there are {', '.join(known)}"


def _quoted(raw: object) -> str:
    return f"'{printable(str(raw))[:60]}'"
