"""stress-ng: messages (stderr, --log-file) of its cyclic stressor and metrics; its YAML.

From the public source, ColinIanKing/stress-ng, tags V0.11.00 to V0.18.00 and 291fc434 (2026). What
it does not print and its source says:

- No version writes latencies to the YAML: the cyclic stressor prints them as messages only.
- Statistics are of the first --cyclic-samples values (10000 by default) of instance 0; later ones
  are in no figure, a larger maximum neither. Its percentiles are values at ranks, without an
  interval, and its standard deviation divides by n.
- A value is the time between two readings of CLOCK_REALTIME, less the sleep. A negative one is
  counted in bucket 0 of the distribution, or written beside it.
- A bucket of the distribution from 0 on; there are at most 250, and those above are not printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from hardstone.errors import InputError, printable
from hardstone.importers import fields
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.recognise import text_of
from hardstone.model import Conditions, Event, Loss, Scalar

_TOOL = "stress-ng"
_PREFIX = r"cyclic:\s+"
_SCHED = re.compile(
    _PREFIX + r"sched (?P<policy>SCHED_[A-Z]+)(?: \([^)]*\))?: (?P<sleep>\d+) ns delay,"
    r" (?P<count>\d+) samples"
)
_MEAN = re.compile(_PREFIX + r"mean: (?P<mean>\S+) ns, mode: (?P<mode>-?\d+) ns\s*$")
_RANGE = re.compile(
    _PREFIX + r"min: (?P<min>-?\d+) ns, max: (?P<max>-?\d+) ns, std\.dev\. (?P<stddev>\S+)\s*$"
)
_PERCENTILE = re.compile(_PREFIX + r"(?P<share>\d{1,3}\.\d+)%:\s+(?P<value>-?\d+) ns\s*$")
_WIDTH = re.compile(_PREFIX + r"latency distribution \((?P<width>\d+) ns intervals\):")
_BUCKETS = re.compile(_PREFIX + r"\(for the first (?P<shown>\d+) buckets of (?P<all>\d+)\)")
_ROW = re.compile(_PREFIX + r"(?P<low>\d+)\s+(?P<count>\d+)\s*$")
_SKIPPED = re.compile(_PREFIX + r"\.\.\s+\.\.")
_NEEDED = re.compile(_PREFIX + r"Note: --cyclic-samples needed to be (?P<needed>\d+)")
_METHOD = re.compile(_PREFIX + r"using method '(?P<method>\w+)'")
_NONE = re.compile(_PREFIX + r"(?:SCHED_\w+|\S+)?:?\s*no latency information available")
_HOGS = re.compile(r"dispatching hogs: (?P<hogs>[\w ,-]+)")
_VERSION = re.compile(r"\bstress-ng:? (?:version )?(?P<version>\d+\.\d+\.\d+)\b")
_OPS = re.compile(
    r"\bmetrc: \[\d+\] (?P<stressor>[\w-]+)\s+(?P<ops>\d+)(?P<rest>(?:\s+[\d.e+-]+){5,7})\s*$"
)
_OLD_OPS = re.compile(
    r"\binfo:\s+\[\d+\] (?P<stressor>[\w-]+)\s+(?P<ops>\d+)(?P<rest>(?:\s+[\d.e+-]+){5,7})\s*$"
)
_METRIC = re.compile(
    r"\b(?:metrc|info): ?\s*\[\d+\] (?P<stressor>[\w-]+)\s+(?P<value>[\d.e+-]+)"
    r" (?P<what>(?:nano|micro|milli)sec(?:ond)?s? (?:per|to|for|of|between) .*?)"
    r"(?: \((?:geometric|geometic|harmonic) mean of (?P<instances>\d+) instances?\))?\s*$"
)
_UNITS = {"nano": 1, "micro": 1_000, "milli": 1_000_000}
_ENDED = re.compile(r"(?:un)?successful run completed in|run completed in")
_IS_TEXT = re.compile(
    rb"stress-ng: (?:[\d:.x-]+ )?(?:info|metrc|debug|warn|fail|error):|"
    rb"\bcyclic:\s+(?:sched SCHED_|mean: |min: )"
)
_RELATIVE = ("clock_ns", "posix_ns", "pselect", "usleep")


def _is_text(content: bytes) -> bool:
    return bool(_IS_TEXT.search(content[: 1 << 16]))


@dataclass
class _Cyclic:
    """What the messages of the cyclic stressor say; each with the number of its line."""

    policy: str = ""
    sleep_ns: int = 0
    count: int = 0
    at: int = 0
    mean: float | None = None
    min: int | None = None
    max: int | None = None
    stddev: float | None = None
    width_ns: int | None = None
    shown: int | None = None
    needed: int | None = None
    rows: list[tuple[int, int]] = field(default_factory=list)
    may_skip: bool = False
    events: list[Event] = field(default_factory=list)


def _read_text(content: bytes) -> Reading:
    lines = list(fields.rows_of(content))
    if not content.endswith(b"\n") and lines and not _ENDED.search(lines[-1][1]):
        lines.pop()  # its last figure may have lost digits
    text = "\n".join(line for _, line in lines)
    found = _cyclic_of(lines)
    method = _METHOD.search(text)
    series = [] if found is None else [_cyclic_series(found, method)]
    metrics = list(_metrics_of(lines))
    series += metrics
    if not series and _NONE.search(text):
        raise InputError(
            "cyclic: 'no latency information available': stress-ng measured nothing",
            "run it as root, or with --cyclic-policy other",
        )
    if not series:
        raise InputError("it has neither latencies of cyclic nor metrics of other stressors")
    version = _VERSION.search(text)
    hogs = _HOGS.search(text)
    return Reading(
        tool=_TOOL,
        format="text",
        series=series,
        version=None if version is None else version["version"],
        params={} if found is None else {"interval_ns": found.sleep_ns},
        conditions=Conditions(
            policy=None if found is None else found.policy.removeprefix("SCHED_").lower()
        ),
        events=[] if found is None else found.events,
        losses=list(_losses_of(found, method, metrics, hogs)),
        unknown={} if hogs is None else fields.as_json({"dispatching hogs": hogs["hogs"]}),
        is_cut=not _ENDED.search(text),
    )


def _cyclic_of(lines: Sequence[tuple[int, str]]) -> _Cyclic | None:
    """The statistics of instance 0, which prints alone. InputError where it is there twice."""
    found: _Cyclic | None = None
    for number, line in lines:
        if "cyclic:" not in line:
            continue
        begin = _SCHED.search(line)
        if begin is not None:
            if found is not None:
                raise InputError(
                    f"line {number}: a second run begins here, the first in line {found.at}",
                    "import the messages of one run",
                )
            found = _Cyclic(
                policy=begin["policy"],
                sleep_ns=fields.count(begin["sleep"], f"line {number}"),
                count=fields.count(begin["count"], f"line {number}"),
                at=number,
            )
        elif found is not None:
            _add(found, line, f"line {number}")
    return found


def _add(found: _Cyclic, line: str, place: str) -> None:
    """One message after the first."""
    if match := _MEAN.search(line):
        found.mean = float(fields.exact_ns(match["mean"], 1, place))
        mode_ns = fields.count(match["mode"], place, least=-fields.MOST)
        found.events.append(_event("mode", f"The mode is {mode_ns} ns.", {"mode_ns": mode_ns}))
    elif match := _RANGE.search(line):
        found.min = fields.count(match["min"], place, least=-fields.MOST)
        found.max = fields.count(match["max"], place, least=-fields.MOST)
        found.stddev = float(fields.exact_ns(match["stddev"], 1, place))
    elif match := _PERCENTILE.search(line):
        value_ns = fields.count(match["value"], place, least=-fields.MOST)
        text = f"{match['share']} % of the values are at most {value_ns} ns, by stress-ng itself."
        found.events.append(
            _event("percentile", text, {"percent": float(match["share"]), "value_ns": value_ns})
        )
    elif match := _WIDTH.search(line):
        found.width_ns = fields.count(match["width"], place, least=1)
    elif match := _BUCKETS.search(line):
        found.shown = fields.count(match["shown"], place)
    elif match := _NEEDED.search(line):
        found.needed = fields.count(match["needed"], place)
    elif found.width_ns is not None and _SKIPPED.search(line):
        found.may_skip = True
    elif found.width_ns is not None and (match := _ROW.search(line)):
        low, count = fields.count(match["low"], place), fields.count(match["count"], place)
        _add_row(found, found.width_ns, low, count, place)


def _add_row(found: _Cyclic, width_ns: int, low: int, count: int, place: str) -> None:
    """Buckets follow each other; empty ones are skipped after a row of dots."""
    expected = found.rows[-1][0] + width_ns if found.rows else 0
    if low % width_ns or low < expected or (low > expected and not found.may_skip):
        raise InputError(f"{place}: no bucket of {width_ns} ns starts at {low} here")
    found.rows.append((low, count))


def _event(name: str, text: str, data: Mapping[str, int | float]) -> Event:
    return Event(name=name, text=printable(text), data=dict(data))


def _cyclic_series(found: _Cyclic, method: re.Match[str] | None) -> ReadSeries:
    if found.min is not None and found.max is not None:
        mean = found.min if found.mean is None else found.mean
        if not found.min - 0.01 <= mean <= found.max + 0.01:
            raise InputError(
                f"line {found.at}: a mean of {mean} is not from {found.min} to {found.max} ns"
            )
    buckets, overflow = _distribution(found)
    return ReadSeries(
        name=_name_of(method),
        count=found.count,
        min=found.min,
        mean=found.mean,
        max=found.max,
        stddev=found.stddev,
        buckets=buckets,
        bucket_width_ns=found.width_ns or 0 if buckets is not None else 0,
        overflow=overflow,
    )


def _name_of(method: re.Match[str] | None) -> str:
    if method is None:
        return "latency"
    if method["method"] in _RELATIVE:
        return "wakeup-relative"
    return method["method"] if method["method"] in ("itimer", "poll") else "latency"


def _distribution(found: _Cyclic) -> tuple[list[tuple[int, int]] | None, int]:
    """Buckets, and how many values are above them. None: none that can be trusted."""
    if found.width_ns is None or found.shown is None or (found.min is not None and found.min < 0):
        return None, 0
    if not found.rows or found.rows[-1][0] != (found.shown - 1) * found.width_ns:
        return None, 0  # cut
    total = sum(count for _, count in found.rows)
    if total > found.count:
        raise InputError(f"line {found.at}: {found.count} samples, but {total} in the distribution")
    overflow = found.count - total
    end_ns = found.shown * found.width_ns
    if overflow and found.max is not None and found.max < end_ns:
        raise InputError(
            f"line {found.at}: {overflow} of {found.count} samples are missing in the distribution,"
            f" which has all up to {end_ns} ns"
        )
    last = found.rows[-1][0]  # shows where the overflow begins
    return [(low, count) for low, count in found.rows if count or low == last], overflow


def _metrics_of(lines: Sequence[tuple[int, str]]) -> Iterator[ReadSeries]:
    """Operations, and the mean times that stressors state, each as it is printed."""
    for number, line in lines:
        place = f"line {number}"
        if match := _METRIC.search(line):
            yield _metric(match["stressor"], match["what"], match["value"], place)
        elif match := _OPS.search(line) or _OLD_OPS.search(line):
            yield _ops(match["stressor"], match["ops"], place)


def _ops(stressor: str, count: str, place: str) -> ReadSeries:
    ops = fields.count(count, place)
    return ReadSeries(
        name="bogo-ops", labels={"stressor": fields.label(stressor)}, unit="count", values=[ops]
    )


def _metric(stressor: str, what: str, value: str, place: str) -> ReadSeries:
    """A mean time: "nanosecs per context switch", "nanosecs-to-start-a-pthread"."""
    unit, _, operation = re.sub(r"[- ]+", " ", what).partition(" ")
    operation = operation.removeprefix("per ")
    labels = {"stressor": fields.label(stressor), "operation": fields.label(operation)}
    mean = float(fields.exact_ns(value, _UNITS[unit.partition("sec")[0]], place))
    return ReadSeries(
        name="switch" if "context switch" in operation else "operation",
        labels=labels,
        mean=mean,
        derived="time of the run / operations; the geometric or harmonic mean over instances",
    )


def _losses_of(
    found: _Cyclic | None,
    method: re.Match[str] | None,
    metrics: Sequence[ReadSeries],
    hogs: re.Match[str] | None,
) -> Iterator[Loss]:
    if metrics:
        yield _BOGO
    if found is None:
        return
    if method is None:
        yield Loss(
            what="conditions",
            text="The messages do not say how the thread waited (--cyclic-method).",
        )
    if found.needed is not None and found.needed > found.count:
        yield Loss(
            what="values",
            text=f"Only the first {found.count} of {found.needed} values are in the figures: a"
            " later one may be larger than the maximum.",
        )
    instances = re.search(r"(\d+) cyclic\b", "" if hogs is None else hogs["hogs"])
    if instances is not None and int(instances[1][:9]) > 1:
        yield Loss(
            what="values",
            text=f"{int(instances[1][:9])} instances ran, and stress-ng prints the values of one.",
        )
    if found.width_ns is not None and _distribution(found)[0] is None:
        yield Loss(
            what="distribution",
            text="The distribution was left out: "
            + (
                "stress-ng counts negative values in its first bucket, or not at all."
                if found.min is not None and found.min < 0
                else "its end is missing."
            ),
        )


_BOGO = Loss(
    what="distribution",
    text="Bogo operations are counts of rounds, and no latencies; mean times are averages over a"
    " run.",
)


_IS_YAML = re.compile(rb"^[ \t]*stress-ng-version:", re.MULTILINE)
_KEY = re.compile(r"(?P<indent> *)(?P<item>- )?(?P<key>[^\s:#][^:]{0,200}):(?:\s+(?P<value>.*))?$")
_SYSTEM = {
    "sysname": "kernel.name",
    "nodename": "machine.node",
    "release": "kernel.release",
    "version": "kernel.version",
    "machine": "machine.arch",
}
_SYSTEM_COUNTS = {
    "cpus-online": "cpu.count",
    "totalram": "memory.total_bytes",
    "pagesize": "machine.page_bytes",
}
_IS_METRIC = re.compile(r"(?:nano|micro|milli)sec(?:ond)?s?-(?:per|to|for|of|between)-")


def _is_yaml(content: bytes) -> bool:
    return bool(_IS_YAML.search(content[:8192]))


@dataclass(frozen=True)
class _Entry:
    """A line "key: value": the section that it is in, the number of its list item, its line."""

    section: str
    item: int
    key: str
    value: str
    line: int


def _entries_of(content: bytes) -> Iterator[_Entry]:
    """stress-ng's YAML: sections at the margin, keys or lists of keys in them, scalars only."""
    section, item = "", 0
    lines = text_of(content).split("\n")
    for number, line in enumerate(lines[:-1], start=1):  # a last value may have lost digits
        if not line.strip() or line.startswith(("---", "...", "#")):
            continue
        match = _KEY.fullmatch(line.rstrip())
        if match is None:
            raise InputError(f"line {number}: {fields.quoted(line)} is no key of stress-ng's YAML")
        if not match["indent"] and not match["item"]:
            section, item = match["key"], 0
            continue
        item += bool(match["item"])
        value = (match["value"] or "").strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        yield _Entry(section, item, match["key"], value, number)


def _read_yaml(content: bytes) -> Reading:
    entries = list(_entries_of(content))
    system = {one.key: one.value for one in entries if one.section == "system-info"}
    metrics = [one for one in entries if one.section == "metrics"]
    series = [one for part in _items(metrics) for one in _of_stressor(part)]
    if not series:
        raise InputError(
            "it has no metrics: stress-ng was ended, or ran without --metrics",
            "import its messages (stderr or --log-file), which have the latencies of cyclic",
        )
    known = {"stress-ng-version", "epoch-secs", *_SYSTEM, *_SYSTEM_COUNTS}
    rest = {
        f"{one.section}.{one.key}"
        if one.section != "metrics"
        else f"metrics.{one.item}.{one.key}": one.value
        for one in entries
        if not (one.section == "system-info" and one.key in known)
        and not (one.section == "metrics" and _is_read(one.key))
    }
    return Reading(
        tool=_TOOL,
        format="YAML",
        series=series,
        version=system.get("stress-ng-version"),
        facts=_facts_of(system),
        losses=[_BOGO, *([_NO_LATENCY] if any(one.value == "cyclic" for one in metrics) else [])],
        unknown=fields.as_json(rest),
        started_utc=_started(system.get("epoch-secs", "")),
        duration_ns=_duration(metrics),
        is_cut=b"\n..." not in content.rstrip()[-8:],
    )


_NO_LATENCY = Loss(
    what="distribution",
    text="No version of stress-ng writes the latencies of cyclic to its YAML: they are in its"
    " messages only (stderr or --log-file).",
)


def _items(metrics: Sequence[_Entry]) -> list[list[_Entry]]:
    found: dict[int, list[_Entry]] = {}
    for one in metrics:
        found.setdefault(one.item, []).append(one)
    return list(found.values())


def _is_read(key: str) -> bool:
    return key in ("stressor", "bogo-ops") or bool(_IS_METRIC.match(key))


def _of_stressor(entries: Sequence[_Entry]) -> Iterator[ReadSeries]:
    name = next((one.value for one in entries if one.key == "stressor"), None)
    if name is None:
        raise InputError(f"line {entries[0].line}: metrics without the name of their stressor")
    for one in entries:
        if one.key == "bogo-ops":
            yield _ops(name, one.value, f"line {one.line}")
        elif _IS_METRIC.match(one.key):
            yield _metric(name, one.key, one.value, f"line {one.line}")


def _facts_of(system: Mapping[str, str]) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {
        fact: system[key] for key, fact in _SYSTEM.items() if system.get(key)
    }
    for key, fact in _SYSTEM_COUNTS.items():
        if key in system:
            found[fact] = fields.count(system[key], f"system-info.{key}")
    return found


_YEAR_9999 = 253_402_300_799


def _started(seconds: str) -> str | None:
    if not seconds.isascii() or not seconds.isdecimal() or len(seconds) > 12:
        return None
    if int(seconds) > _YEAR_9999:
        return None
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _duration(metrics: Sequence[_Entry]) -> int | None:
    times = [
        fields.in_ns(one.value, 10**9, f"line {one.line}")
        for one in metrics
        if one.key == "wall-clock-time"
    ]
    return max(times, default=None)


FORMATS = [
    Format("stress-ng, YAML", _is_yaml, _read_yaml),
    Format("stress-ng, text", _is_text, _read_text),
]
