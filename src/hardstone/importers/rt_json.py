"""The JSON that the tools of rt-tests write, and checks of figures that several of them have.

From `rt_write_json` in src/lib/rt-utils.c of rt-tests 1.9 to 2.10. Keys end in a colon in part
("cmdline:"), and `file_version` is 1 for every tool: the tool is the first word of its command. The
mean of no value is -nan, which is no JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

import msgspec

from hardstone.importers.fields import count, mean_ns, quoted, refuse, whole, without_doubles
from hardstone.importers.reading import Reading, ReadSeries
from hardstone.importers.recognise import text_of
from hardstone.model import Conditions, Event, Scalar

US = 1000
MOST_THREADS = 4096
_ONCE = "import one result a file"


@dataclass(frozen=True)
class RtJson:
    """The JSON of any tool of rt-tests: `body` has the keys that differ between them, without the
    colon at their end. `base` is a reading without series, with all that the head says."""

    body: Mapping[str, Any]
    base: Reading

    def threads(self) -> list[tuple[int, Mapping[str, Any]]]:
        """Those of "thread", by number, as many as `num_threads` says."""
        threads = mapping(self.body.get("thread"), "thread")
        if not 1 <= len(threads) <= MOST_THREADS:
            refuse("thread", f"{len(threads)} threads")
        number = self.body.get("num_threads")
        if number is not None and number != len(threads):
            refuse("num_threads", f"{quoted(number)}, but there are {len(threads)} threads")
        found = [
            (count(key, f"thread.{key}"), mapping(one, f"thread.{key}"))
            for key, one in threads.items()
        ]
        return sorted(found, key=lambda each: each[0])


_MOST_OF_AN_END = 1 << 18
_FILE_VERSION = b'"file_version"'
_TOOL_OF = re.compile(r'"(?:test_name|cmdline):?"\s*:\s*"([^"\s\\]{1,4096})')
_NAN = re.compile(r'("avg"\s*:\s*)-?nan\b')
_HEAD = {"file_version", "cmdline", "rt_test_version", "start_time", "end_time", "return_code"}
_FACTS = {
    "sysname": "kernel.name",
    "nodename": "machine.node",
    "release": "kernel.release",
    "version": "kernel.version",
    "machine": "machine.arch",
}


def ends_of(content: bytes) -> bytes:
    """The begin and the end of a long file: enough to recognise a text, also one of single values
    with a summary at its end."""
    if len(content) <= 2 * _MOST_OF_AN_END:
        return content
    return content[:_MOST_OF_AN_END] + b"\n" + content[-_MOST_OF_AN_END:]


@lru_cache(maxsize=1)
def json_tool(content: bytes) -> str | None:
    """The tool whose JSON is in `content`, also after its text; None: there is none."""
    at = content.find(_FILE_VERSION)
    if at < 0:
        return None
    found = _TOOL_OF.search(content[at : at + 65_536].decode("utf-8", "replace"))
    return found[1].rpartition("/")[2] if found else None


def is_json_of(tool: str) -> Callable[[bytes], bool]:
    """Whether it is the JSON of this tool."""
    return lambda content: json_tool(content) == tool


def read_json(tool: str, content: bytes) -> RtJson:
    """The JSON of one result; the tool's text may be before it. InputError names the line or the
    key."""
    text = text_of(content)
    results = text.count(_FILE_VERSION.decode())
    if results > 1:
        refuse("", f"it has {results} results", _ONCE)
    begin = text.rfind("{", 0, text.find(_FILE_VERSION.decode()))
    if begin < 0:
        refuse("", "it has no JSON")
    document, rest = _decoded(_NAN.sub(r"\1null", text[begin:]), text.count("\n", 0, begin))
    plain = {key.removesuffix(":"): value for key, value in document.items()}
    body = {key: value for key, value in plain.items() if key not in {*_HEAD, "sysinfo"}}
    base = _head(tool, plain)
    if rest:
        base = replace(base, unknown={**base.unknown, "text after it": json.dumps(rest[:1000])})
    return RtJson(body, base)


def _decoded(text: str, lines_before: int) -> tuple[Mapping[str, Any], str]:
    """The object at the begin of `text`, and what comes after it."""
    try:
        decoder = json.JSONDecoder(object_pairs_hook=without_doubles)
        document, end = decoder.raw_decode(text)
    except json.JSONDecodeError as error:
        place = f"line {lines_before + error.lineno}"
        refuse(place, f"it is no JSON from here on ({error.msg})")
    except (ValueError, RecursionError) as error:
        refuse("", f"it is no JSON ({quoted(error)})")
    return mapping(document, "the JSON"), text[end:].strip()


def mapping(value: object, place: str) -> Mapping[str, Any]:
    """An object of JSON."""
    if not isinstance(value, dict):
        refuse(place, "it is not an object" if value is not None else "it is missing")
    return value


def number(found: Mapping[str, Any], key: str, place: str) -> int:
    """A whole number of JSON, which may be negative."""
    value = found.get(key)
    if value is None:
        refuse(f"{place}.{key}", "it is missing")
    if isinstance(value, bool) or not isinstance(value, int):
        refuse(f"{place}.{key}", f"{quoted(value)} is not a whole number")
    return whole(str(value), f"{place}.{key}")


def amount(found: Mapping[str, Any], key: str, place: str) -> int:
    """A whole number of at least 0."""
    value = number(found, key, place)
    if value < 0:
        refuse(f"{place}.{key}", f"{value} is not a count")
    return value


def mean_of(found: Mapping[str, Any], key: str, place: str, unit_ns: int = US) -> float | None:
    """A mean in ns; None: there is none."""
    value = found.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse(f"{place}.{key}", f"{quoted(value)} is not a mean")
    if not abs(value) < 2**63 / unit_ns:
        refuse(f"{place}.{key}", f"{quoted(value)} is out of range")
    return mean_ns(f"{value:.6f}", unit_ns, f"{place}.{key}")


def unknown_of(found: Mapping[str, Any], known: set[str], path: str = "") -> dict[str, str]:
    """The keys that are not known, by path, with their values as JSON."""
    return {
        f"{path}{key}": msgspec.json.encode(value).decode()
        for key, value in found.items()
        if key not in known
    }


def _head(tool: str, found: Mapping[str, Any]) -> Reading:
    started, ended = _moment(found.get("start_time")), _moment(found.get("end_time"))
    system = found.get("sysinfo")
    system = {} if system is None else mapping(system, "sysinfo")
    unknown = unknown_of(system, {*_FACTS, "realtime"}, "sysinfo.")
    for key, moment in (("start_time", started), ("end_time", ended)):
        if key in found and moment is None:
            unknown[key] = msgspec.json.encode(found[key]).decode()
    code = found.get("return_code")
    return Reading(
        tool=tool,
        format="JSON",
        series=(),
        version=_text(found.get("rt_test_version")),
        command=_text(found.get("cmdline")),
        facts=_facts(system),
        started_utc=None if started is None else f"{started:%Y-%m-%dT%H:%M:%SZ}",
        duration_ns=_span(started, ended),
        unknown=unknown,
        events=[_returned(code)] if isinstance(code, int) and code != 0 else (),
    )


def _returned(code: int) -> Event:
    return Event(name="return_code", text=f"It ended with the code {code}.", data={"code": code})


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _facts(system: Mapping[str, Any]) -> dict[str, Scalar]:
    facts: dict[str, Scalar] = {
        name: system[key] for key, name in _FACTS.items() if isinstance(system.get(key), str)
    }
    if system.get("realtime") in (0, 1):
        facts["kernel.realtime"] = bool(system["realtime"])
    return facts


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str) or not value.isascii():
        return None
    try:
        return parsedate_to_datetime(value).astimezone(UTC)
    except (ValueError, OverflowError, TypeError):
        return None


def _span(started: datetime | None, ended: datetime | None) -> int | None:
    if started is None or ended is None or ended < started:
        return None
    return int((ended - started).total_seconds()) * 10**9 or None  # stamps of whole seconds


def checked(one: ReadSeries, place: str) -> ReadSeries:
    """`one` if its figures can be of one series: minimum, mean and maximum in this order."""
    low, mean, high = one.min, one.mean, one.max
    if low is not None and high is not None and low > high:
        refuse(place, f"the minimum {low} ns is above the maximum {high} ns")
    if mean is None or low is None or high is None:
        return one
    slack = US  # means are rounded or cut to a microsecond
    if not low - slack <= mean <= high + slack:
        refuse(place, f"the mean {mean:.0f} ns is not between {low} ns and {high} ns")
    return one


def of_priority(priorities: Sequence[int], **more: Any) -> Conditions:
    """Conditions of threads that the tool runs with SCHED_FIFO, with priority 0 as ordinary ones.
    Threads of different priorities have no single one."""
    policy = None
    if priorities and (all(priorities) or not any(priorities)):
        policy = "fifo" if priorities[0] else "other"
    priority = priorities[0] if policy == "fifo" and len(set(priorities)) == 1 else None
    return Conditions(policy=policy, priority=priority, **more)


def option_of(command: str | None, short: str, long: str) -> int | None:
    """The number that a command has for an option: of "-p 80", "-p80", "--prio=80"."""
    found = re.search(rf" (?:-{short} *|--{long}[ =])([0-9]{{1,3}})\b", command or "")
    return int(found[1]) if found else None


def interval(intervals_us: Sequence[int]) -> dict[str, int | str]:
    """The parameter of the interval, if all threads have the same."""
    one = set(intervals_us)
    return {"interval_ns": intervals_us[0] * US} if len(one) == 1 and intervals_us[0] > 0 else {}
